"""Events name the guard that fired: its value is zero there, and results keep it."""

import numpy as np
import pytest

import draisine
from draisine import ContactOptions, simulate, state
from draisine.control._signals.time_inputs import Step, TimeInputs
from draisine.experiment.kinds.run import run_dataset
from draisine.results.events import event_records, read_events, read_guard
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.trajectory import Guard, GuardKind
from draisine.terrain import kerb, plane, ramp

G = 9.81


def guards(run):
    return [None if event.guard is None else event.guard.kind.name for event in run.events]


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def test_a_ball_that_lands_slides_and_rolls():
    """The gap closes at sqrt(2 h / g); the slip ends when v - mu g t = 5/2 mu g t."""
    ball, mu, v, h = draisine.compile("ball"), 0.2, 1.0, 0.05
    start = state(ball, mode={"ground": "open"}, z=h, Vx=v)
    options = ContactOptions(mu=mu, impact="moreau")
    run = simulate(ball, start, 1.0, terrain=plane(), contact=options)
    contact = ("ground", "ground")
    land, stick = run.events
    assert land.guard == Guard(GuardKind.GAP, contact)
    assert land.t == pytest.approx(np.sqrt(2 * h / G), rel=1e-9)
    assert stick.guard == Guard(GuardKind.SLIP, contact)
    # Friction also acts during the impact, by mu times the normal impulse.
    left = v - 3.5 * mu * np.sqrt(2 * G * h)
    assert stick.t - land.t == pytest.approx(left / (3.5 * mu * G), rel=1e-5)


def test_a_wheel_leaves_a_ramp_at_a_border(bicycle):
    """The border of the guard is the one on which the contact point lies."""
    start = state(bicycle, forward_speed=6.0, x=-2.0)
    run = simulate(bicycle, start, 0.2, terrain=ramp(0.2, 0.3))
    (event,) = [event for event in run.events if event.kind == "lift-off"]
    assert event.guard.kind is GuardKind.BORDER
    assert event.guard.contact == ("front", "ramp")
    arc = run.arcs[0]
    query = ContactQuery(arc.machine, arc.terrain, arc.inputs)
    y = arc.machine.enter(event.before, np.zeros(0))
    (contact,) = [
        c
        for c in query.find_surroundings(event.t, y, 1e-3).contacts
        if query.key(c) == event.guard.contact
    ]
    row = query.evaluate_rows(event.t, y, [contact])[0]
    place = np.append(row[query.row.local_point], row[query.row.local_normal])
    beyond = query.feature(contact).borders @ np.append(place, -1.0)
    assert np.abs(beyond).argmin() == event.guard.border
    assert abs(beyond[event.guard.border]) < 1e-9


class GrowingBrake:
    """A brake torque at the rear wheel that grows with time."""

    def __call__(self, readings, z):
        return {"rear_wheel": -400.0 * readings.t}, []


def test_a_braked_wheel_slips_when_its_force_is_on_the_friction_cone(bicycle):
    mu = 0.25
    run = simulate(
        bicycle,
        state(bicycle, forward_speed=6.0),
        0.4,
        terrain=plane(),
        law=GrowingBrake(),
        contact=ContactOptions(mu=mu, impact="moreau"),
    )
    (slip,) = [event for event in run.events if event.kind == "slip"]
    assert slip.guard == Guard(GuardKind.FRICTION_CONE, ("rear", "ground"))
    before = next(arc for arc in run.arcs if arc.t[-1] == slip.t)
    normal, *tangential = before.observations["forces"][:3, -1]
    assert np.hypot(*tangential) == pytest.approx(mu * normal, rel=1e-9)


def test_an_input_that_jumps_fires_no_guard(bicycle):
    jump = TimeInputs((Step("steer", 1.0, 0.05, 0.2),))
    start = state(bicycle, forward_speed=6.0)
    run = simulate(bicycle, start, 0.3, terrain=plane(), law=jump)
    assert [(event.kind, event.guard) for event in run.events] == [("input", None)] * 2


def test_a_change_of_the_solver_keeps_the_guard_that_could_not_be_resolved(bicycle):
    """At the edge of a kerb the wheel's force vanishes, and no contact set is admissible."""
    run = simulate(bicycle, state(bicycle, forward_speed=0.6), 2.5, terrain=kerb(1.3, -0.1))
    changes = [event for event in run.events if event.kind in ("time-stepping", "event-location")]
    entry, leave = changes[:2]
    assert (entry.kind, leave.kind) == ("time-stepping", "event-location")
    assert entry.guard == Guard(GuardKind.NORMAL_FORCE, ("rear", "edge"))
    assert leave.guard is None


def test_guards_are_stored_with_results(bicycle, tmp_path):
    start = state(bicycle, forward_speed=6.0, x=-2.0)
    run = simulate(bicycle, start, 0.5, terrain=ramp(0.2, 0.3))
    assert {"GAP", "BORDER"} <= set(guards(run))
    draisine.save(run_dataset(run), tmp_path / "run.nc")
    stored = read_events(draisine.load(tmp_path / "run.nc"))
    assert [read_guard(event) for event in stored] == [event.guard for event in run.events]


def test_events_without_a_guard_are_stored_without_one():
    records = event_records([]) + [{"time": 0.0}]  # the last one is of an older version
    assert read_guard(records[-1]) is None
