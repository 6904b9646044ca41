"""The thesis's bicycle, and its tests as runs that are made once."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import draisine
from draisine.algebra.lie import quaternion, rot_x, rot_y, rot_z
from draisine.control import CombinedLaws, Step, TimeInputs
from draisine.control.wheelie import Wheelie
from draisine.simulation.contact.event_driven.rank import make_rank_work
from draisine.system.state import State
from draisine.terrain import kerb, plane, ramp
from draisine.vehicles import parameter_set

PARAMETERS = parameter_set("whipple", "thesis_table_2_1")


@cache
def bicycle():
    return draisine.compile("whipple", **PARAMETERS)


def classify_rank(query, t, y, closed):
    """Return the rank of the constraint rows of the rolling contacts among closed contacts."""
    packed = query.packed_mode(closed)
    mode = packed.record
    query.fill(t, y)
    work = make_rank_work(len(closed), query.n, query.row.size)
    return query.code.compute_rank(packed, work, mode.which, mode.status, len(closed))


def placed(
    hub, *, lean=0.0, pitch=0.0, V=(0.0, 0.0, 0.0), W=(0.0, 0.0, 0.0), rates=(0.0, 0.0, 0.0)
):
    """Return the state with the rear hub at a place and with a velocity (in the frame's axes);
    rates of steering, rear and front wheel.
    """
    R = rot_z(0.0) @ rot_x(lean) @ rot_y(pitch)
    origin = np.array([0.0, 0.0, -PARAMETERS["rR"]])
    speeds = np.concatenate([np.array(V) + np.cross(W, origin), W, rates])
    return State(quaternion(R), np.array(hub) + R @ origin, np.zeros(3), speeds)


def on_the_ramp():
    slope = math.radians(10)
    up = 5.0 * math.tan(slope) - PARAMETERS["rR"] / math.cos(slope)
    return placed(
        (-5.0, 0.0, -up),
        pitch=-slope,
        V=(10.0, 0.0, 0.0),
        rates=(0.0, 10.0 / PARAMETERS["rR"], 10.0 / PARAMETERS["rF"]),
    )


def on_the_flat(speed, **more):
    rates = (0.0, speed / PARAMETERS["rR"], speed / PARAMETERS["rF"])
    V = (speed, more.pop("Vy", 0.0), 0.0)
    return placed((0.0, 0.0, PARAMETERS["rR"]), V=V, rates=rates, **more)


KICK = Step("steer", 50.0, 2.0, 2.02)
SPINNING = {"spin_gain": 1.0}
STEERED = {"lean_gain": 400.0, "steer_damping": 1.0}
ELASTIC = {"contact": draisine.ContactOptions(impact="newton", fall=math.inf)}


def _wheelie(kick, **law):
    return CombinedLaws((Wheelie(**law), TimeInputs((kick,))))


RUNS = {
    "flat_drop": lambda: (plane(), placed((0.0, 0.0, 0.4)), 0.6, {}),
    "test1_elastic_phi0174": lambda: (
        plane(-math.radians(15)),
        placed((0.0, 0.0, 0.4), lean=0.174, V=(3.0, 0.0, 0.0)),
        1.2,
        ELASTIC,
    ),
    "test1_elastic_phi10deg": lambda: (
        plane(-math.radians(15)),
        placed((0.0, 0.0, 0.4), lean=math.radians(10), V=(3.0, 0.0, 0.0)),
        1.2,
        ELASTIC,
    ),
    "test2_ramp": lambda: (ramp(math.radians(10), 0.5), on_the_ramp(), 1.5, {}),
    "test2_variant_2m": lambda: (
        ramp(math.radians(10), 2.0),
        on_the_ramp(),
        1.4,
        {"law": Wheelie(math.radians(45), 2000.0, 300.0, math.inf, 0.6, held=False)},
    ),
    "test3_liftoffs": lambda: (
        plane(),
        on_the_flat(4.6, Vy=0.15, W=(-0.5, 0.0, 0.0)),
        5.0,
        {
            "law": TimeInputs(
                (Step("front_wheel", -500.0, 1.0, 1.03), Step("rear_wheel", 250.0, 3.0, 3.05))
            )
        },
    ),
    "test4_two_contacts": lambda: (
        plane(),
        placed((0.0, 0.0, PARAMETERS["rR"]), pitch=-math.radians(10), rates=(0.0, 0.0, -200.0)),
        1.0,
        {},
    ),
    "test4_two_contacts_theta0174": lambda: (
        plane(),
        placed((0.0, 0.0, PARAMETERS["rR"]), pitch=-0.174, rates=(0.0, 0.0, -200.0)),
        1.0,
        {},
    ),
    "wheelie_disturbed": lambda: (plane(), on_the_flat(1.0), 6.0, {"law": _wheelie(KICK)}),
    "wheelie_gyro": lambda: (
        plane(),
        on_the_flat(1.0),
        8.0,
        {
            "law": _wheelie(KICK, **SPINNING),
            "contact": draisine.ContactOptions(fall=math.radians(45)),
        },
    ),
    "wheelie_stabilised_50": lambda: (
        plane(),
        on_the_flat(1.0),
        10.0,
        {"law": _wheelie(KICK, **SPINNING, **STEERED)},
    ),
    "wheelie_stabilised_500": lambda: (
        plane(),
        on_the_flat(1.0),
        10.0,
        {"law": _wheelie(Step("steer", 500.0, 2.0, 2.02), **SPINNING, **STEERED)},
    ),
    "kerb_down": lambda: (kerb(2.0, -0.1), on_the_flat(3.0), 1.5, {}),
}


@cache
def ride(name, **more):
    terrain, state, until, options = RUNS[name]()
    contact = replace(options.get("contact", draisine.ContactOptions()), **more)
    options = options | {"contact": contact}
    return draisine.simulate(bicycle(), state, until, terrain=terrain, **options)


@pytest.fixture
def run():
    """Return the function that makes a run by name."""
    return ride
