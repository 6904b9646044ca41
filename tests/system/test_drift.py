"""The correction (2.41) of Mauny's thesis drives the position constraints of every machine to zero."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import draisine
from draisine.mechanics import constraints
from draisine.registry import names

SPEC = importlib.util.spec_from_file_location(
    "drift", Path(__file__).parents[2] / "bench" / "drift.py"
)
drift = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(drift)

EPSILON = drift.EPSILON
DISPLACEMENT = 1e-4  # m or rad, violation at the start
STEP = 1e-5  # s, of the central difference in time; its error is STEP^2 times the cube of the rate


@pytest.mark.parametrize("vehicle", drift.MOTIONS)
def test_the_correction_closes_the_constraints_and_nothing_else_does(vehicle):
    """V = sum kappa psi^2 / 2 is a Lyapunov function of (2.41); the plain motion keeps the violations.

    psi are the height of the first wheel, height differences to it (ten times as stiff), and all other
    violations. Redundant rows follow from the others and have no weight.
    """
    parameters, start = drift.MOTIONS[vehicle]
    system = draisine.compile(vehicle, **parameters)
    plain = system.machine()
    state = draisine.state(system, **start)
    y = plain.enter(state, 0.0)
    n = len(system.model.joints)
    anchors = np.zeros(3 * sum(contact.anchored for contact in system.model.contacts))
    rng = np.random.default_rng(1)
    y[4 : 7 + n] += DISPLACEMENT * rng.uniform(0.5, 1.0, 3 + n)

    def values(t, z):
        return plain.rows(q=z[:4], p=z[4:7], r=z[7 : 7 + n], t=[t], anchors=anchors)["conditions"]

    labels = constraints.row_labels(system.model, plain.mode)
    redundant = {row.label for row in system.survey().redundant}
    holonomic = [k for k in labels if k.split(".")[-1] in HOLONOMIC]
    assert len(holonomic) == len(values(0.0, y)) > 0
    kept = [k for k, label in enumerate(holonomic) if label not in redundant]
    heights = [k for k in kept if holonomic[k].endswith(".normal")]

    def weigh(t, z):
        phi = values(t, z)
        first = phi[heights[0]] if heights else 0.0
        rest = [10.0 * (phi[k] - first) ** 2 for k in heights[1:]]
        rest += [phi[k] ** 2 for k in kept if k not in heights]
        return (first**2 + sum(rest)) / (2.0 * EPSILON)

    def slope(machine):
        size = machine.rate.program.inputs
        memory = {"z": y[-size["z"] :] if size["z"] else [], "w": np.zeros(size["w"])}
        u = y[7 + n :][: size["u"]]
        rate = machine.rate(
            t=[0.0], q=y[:4], p=y[4:7], r=y[7 : 7 + n], u=u, anchors=anchors, **memory
        )["rate"]
        ahead, behind = (weigh(h, y + h * rate[: len(y)]) for h in (STEP, -STEP))
        return (ahead - behind) / (2.0 * STEP)

    V = weigh(0.0, y)
    assert abs(slope(plain)) < 1e-3 * V / EPSILON
    assert slope(system.machine(correction=EPSILON)) < -0.1 * V / EPSILON


HOLONOMIC = {"normal", "motion", "x", "y", "z", "left_link", "right_link"}
"""Ends of the labels of rows that are time derivatives of position constraints."""


def test_every_vehicle_with_position_constraints_is_in_the_table():
    """All others have velocity constraints only, none, or (ball_on_bar) run on a terrain."""
    for vehicle in set(names("vehicle")) - set(drift.MOTIONS) - {"ball_on_bar"}:
        system = draisine.compile(vehicle)
        labels = constraints.row_labels(system.model, system.machine().mode)
        assert not [label for label in labels if label.split(".")[-1] in HOLONOMIC], vehicle
