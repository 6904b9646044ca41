"""Ideal (bilateral) contacts and unilateral contacts that stay closed are the same mechanics.

A run without a terrain integrates the independent speeds of one contact mode; a run on `plane()` integrates
all speeds and watches guards. As long as every wheel is pressed to the ground and friction has no limit, all
results agree: motion, forces, energies, validity, linear systems, gradients, steady motions.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import Numerics, State, Stepper, System, Trajectory
from draisine.analysis.equilibrium import steady
from draisine.simulation.many import simulate_many
from draisine.terrain import plane

TIGHT = Numerics(rtol=1e-12, atol=1e-14, dt=0.1)
"""Tolerances at which the integration errors of both engines are below the differences that are allowed."""

STARTS: dict[str, dict[str, float]] = {
    "whipple": {"forward_speed": 4.6, "lean_rate": 0.5},
    "rolling_disc": {"forward_speed": 2.0, "lean": 0.1, "yaw_rate": 0.5},
    "car": {"forward_speed": 5.0, "steer": 0.1},  # its wheels have redundant constraint rows
}

VEHICLES = pytest.mark.parametrize("name", STARTS)


@cache
def vehicle(name: str) -> tuple[System, State]:
    """Return a compiled vehicle and its initial state."""
    system = draisine.compile(name)
    return system, draisine.state(system, **STARTS[name])


@cache
def both(name: str) -> tuple[Trajectory, Trajectory]:
    """Return a run of 1 s with ideal contacts, and with unilateral ones."""
    system, start = vehicle(name)
    ideal = draisine.simulate(system, start, 1.0, numerics=TIGHT)
    unilateral = draisine.simulate(system, start, 1.0, terrain=plane(), numerics=TIGHT)
    assert not ideal.is_unilateral
    assert unilateral.is_unilateral
    assert not unilateral.events
    return ideal, unilateral


def assert_same(a: Any, b: Any, tolerance: float) -> None:
    """Assert that two arrays agree relative to one plus the largest magnitude."""
    scale = 1.0 + np.nanmax(np.abs(a), initial=0.0)
    assert_allclose(b, a, rtol=0.0, atol=tolerance * scale)


@VEHICLES
def test_every_variable_of_a_run_agrees(name: str) -> None:
    ideal, unilateral = (run.to_xarray() for run in both(name))
    assert set(ideal.data_vars) == set(unilateral.data_vars)
    for variable in ideal.data_vars:
        assert_same(ideal[variable].values, unilateral[variable].values, 1e-10)


@VEHICLES
def test_final_states_agree(name: str) -> None:
    ideal, unilateral = (run.final() for run in both(name))
    for field in ("q", "p", "r", "v"):
        assert_same(getattr(ideal, field), getattr(unilateral, field), 1e-10)
    assert (ideal.joints, ideal.speeds) == (unilateral.joints, unilateral.speeds)


@VEHICLES
def test_validity_agrees(name: str) -> None:
    ideal, unilateral = (run.validity for run in both(name))
    assert unilateral.start_load == pytest.approx(ideal.start_load, rel=1e-12)
    assert unilateral.start_load_contact == ideal.start_load_contact
    assert unilateral.breaks == ideal.breaks == {}
    # The largest ratio is that at the nodes of steps, which are not the same ones.
    assert unilateral.friction_needed == pytest.approx(ideal.friction_needed, rel=1e-3)
    rows = [row.replace(":ground", "") for row in unilateral.redundant_rows]
    assert rows == list(ideal.redundant_rows)


def test_validity_of_prescribed_joints_agrees() -> None:
    fish = draisine.compile("fish", drive="sine", amplitude=0.0)
    gliding = draisine.state(fish, Vx=0.5)
    ideal = draisine.simulate(fish, gliding, 0.01).validity
    unilateral = draisine.simulate(fish, gliding, 0.01, terrain=plane()).validity
    assert unilateral.start_energy == pytest.approx(ideal.start_energy, rel=1e-12)


@pytest.mark.parametrize("name", ["whipple", "car"])
def test_linear_systems_along_a_run_agree(name: str) -> None:
    ideal, unilateral = (draisine.linearise(run) for run in both(name))
    assert ideal.states == unilateral.states
    assert ideal.outputs == unilateral.outputs
    for matrix in ("A", "B", "C", "D", "x0", "y0"):
        assert_same(getattr(ideal, matrix), getattr(unilateral, matrix), 1e-10)


@VEHICLES
def test_gradients_agree(name: str) -> None:
    system, _ = vehicle(name)
    outputs = list(system.outputs)[:2]
    unknowns = [next(iter(STARTS[name])), *list(system.parameters)[:2]]
    ideal, unilateral = (
        draisine.gradient(
            system, STARTS[name], [0.5, 1.0], outputs, unknowns, terrain=terrain, numerics=TIGHT
        )
        for terrain in (None, plane())
    )
    assert_same(ideal.values, unilateral.values, 1e-10)
    assert_same(ideal.derivatives, unilateral.derivatives, 1e-10)


def test_steady_motions_agree() -> None:
    bicycle, _ = vehicle("whipple")
    ideal, unilateral = (
        steady(bicycle, free=["steer"], lean=-0.2, forward_speed=5.0, terrain=terrain)
        for terrain in (None, plane())
    )
    assert ideal.inputs["steer"] == pytest.approx(unilateral.inputs["steer"], abs=1e-10)
    assert_same(ideal.state.v, unilateral.state.v, 1e-10)
    for wheel, force in ideal.contact_forces.items():
        assert_same(force, unilateral.contact_forces[wheel], 1e-10)
    # A run from either motion has the contacts of the motion.
    assert not ideal.simulate(0.01).is_unilateral
    assert unilateral.simulate(0.01).is_unilateral


@VEHICLES
def test_steppers_and_many_runs_agree(name: str) -> None:
    system, start = vehicle(name)
    ends = []
    for terrain in (None, plane()):
        # The fixed steps of RK4 without a terrain have an error of about 1e-11.
        stepper = Stepper(system, start, terrain=terrain)
        stepper.step(0.25)
        many = simulate_many(system, [start] * 2, 0.25, terrain=terrain, numerics=steps(terrain))
        ends += [stepper.state.v, many["v"][:, 1]]
    for end in ends[1:]:
        assert_same(ends[0], end, 1e-9)


def steps(terrain: Any) -> Numerics:
    """Return numerical options with an error below 1e-9: equal steps for ideal contacts."""
    return TIGHT if terrain else Numerics(integrator="rk4", dt=2.0**-10)
