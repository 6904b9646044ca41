"""Text representations of results, error messages for wrong arguments, and matrices of a state."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ParameterError
from draisine.experiment.equations import write_program

BICYCLE = draisine.compile("whipple")
UPRIGHT = draisine.state(BICYCLE, forward_speed=5.0)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: BICYCLE.equations(), "Equations of Whipple: `print` them"),
        (lambda: draisine.critical_speeds(BICYCLE), "weave 4.29238254, capsize 6.02426202"),
        (lambda: draisine.critical_speeds(BICYCLE, c=[0.06, 0.08]), "of 2 bicycles"),
        (lambda: draisine.linearise(BICYCLE, UPRIGHT), "lean_rate  9.4898"),
        (lambda: draisine.linearise(BICYCLE, [UPRIGHT, UPRIGHT]), "at 2 motions: lean, steer"),
        (
            lambda: draisine.steady_turns(BICYCLE, step=0.2),
            "from forward_speed = 6.02426, lean = 0",
        ),
    ],
)
def test_representations_of_results_are_short(made: Callable[[], Any], told: str) -> None:
    text = " ".join(repr(made()).split())
    assert " ".join(told.split()) in text
    assert len(text) < 600


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: draisine.simulate("whipple", UPRIGHT, 1.0), r"compile\('whipple'\) makes one"),  # type: ignore[arg-type]
        (lambda: draisine.simulate(BICYCLE, 5.0, 1.0), "5.0 is not of type State"),  # type: ignore[arg-type]
        (lambda: draisine.state("whipple"), "'whipple' is not of type System"),  # type: ignore[arg-type]
        (lambda: draisine.linearise(BICYCLE, 5.0), "5.0 is not of type State"),  # type: ignore[arg-type]
        (lambda: draisine.eigenvalues(BICYCLE.model, 5.0), "is not of type System"),  # type: ignore[arg-type]
        (lambda: draisine.compile("whipple", rear_tyre="load_tyre"), "rear_tyre = 'load_tyre'"),
        (lambda: draisine.compile("whipple", steering=3), "steering = 3 is a plain value"),
    ],
)
def test_errors_for_arguments_of_wrong_type_name_the_remedy(
    call: Callable[[], Any], told: str
) -> None:
    with pytest.raises(ParameterError, match=told):
        call()


def test_speed_is_a_synonym_of_forward_speed() -> None:
    assert (draisine.state(BICYCLE, speed=5.0).v == UPRIGHT.v).all()


@pytest.mark.parametrize("language", ["c", "javascript", "python", "jax"])
def test_source_text_lists_the_names_of_array_entries(language: str) -> None:
    text = write_program(BICYCLE, language)
    assert "parameters: w, c, lam, g, rR" in text
    assert "w: steer_torque, rear_wheel_torque, front_wheel_torque." in text


@pytest.mark.parametrize("vehicle", ["whipple", "segway", "snakeboard", "cart_pole"])
def test_matrices_satisfy_energy_and_equations_of_motion(vehicle):
    """v' M v / 2 is the kinetic energy; the motion satisfies M vdot + F = C' lam and C vdot = c."""
    system = draisine.compile(vehicle)
    moving = {"forward_speed": 2.0} if "forward_speed" in system.outputs else {}
    start = draisine.state(system, **moving)
    torques = {name: 0.3 * (k + 1) for k, name in enumerate(system.model.inputs)}
    found = system.dynamics(start, torques)
    energy = draisine.simulate(system, start, 0.01).to_xarray().kinetic_energy
    assert start.v @ found.M @ start.v / 2 == pytest.approx(float(energy[0]), rel=1e-12, abs=1e-15)
    vdot, forces = system.accelerate(start, torques)
    needs = found.M @ vdot + found.F
    assert_allclose(needs, found.C.T @ forces, atol=1e-9 * max(1.0, np.abs(found.F).max()))
    assert_allclose(found.C @ vdot, found.c, atol=1e-9 * max(1.0, np.abs(vdot).max()))
    assert len(found.rows) == len(found.C) == len(forces)
