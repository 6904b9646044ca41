"""Steady turning: hands-free circles, their families and maps."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from analysis.published import CAPSIZE_SPEED, CIRCLES, REVERSED_START, STATIC_END
from draisine import compile, simulate, state
from draisine.analysis.bicycle.turning import turning_map
from draisine.analysis.continuation import SteadyFamily, family, steady_turns
from draisine.analysis.equilibrium import steady
from draisine.analysis.linear import linearise
from draisine.errors import ConfigurationError, ParameterError

BICYCLE = compile("whipple")
LAM = BICYCLE.parameters["lam"]


@pytest.fixture(scope="module")
def forward() -> SteadyFamily:
    return steady_turns(BICYCLE, step=0.04)


@pytest.mark.parametrize("steer", list(CIRCLES))
def test_hands_free_circles_of_the_benchmark(steer: float) -> None:
    lean, pitch, speed, turn, front, eigenvalues = CIRCLES[steer]
    start = state(BICYCLE, lean=lean, steer=-steer, rear_wheel_speed=speed)
    found = steady(BICYCLE, start=start, steer=-steer)
    for name, exact in (
        ("lean", lean),
        ("rear_wheel_speed", speed),
        ("yaw_rate", -turn),
        ("front_wheel_rate", front),
    ):
        assert_allclose(found.values[name], exact, rtol=0, atol=1e-9)
    assert_allclose(LAM - found.values["pitch"], pitch, rtol=0, atol=1e-9)
    values = linearise(BICYCLE, found.state).eigenvalues()
    assert_allclose(np.sort_complex(values), np.sort_complex(eigenvalues), rtol=0, atol=2e-8)


def test_the_family_runs_from_capsize_to_rest(forward: SteadyFamily) -> None:
    assert_allclose(forward["rear_wheel_speed"][0], CAPSIZE_SPEED, rtol=1e-12)
    assert_allclose(forward["rear_wheel_speed"][-1], 0.0, atol=1e-12)
    assert_allclose(forward["steer"][-1], -STATIC_END["steer"], rtol=0, atol=1e-9)
    assert_allclose(LAM - forward["pitch"][-1], STATIC_END["pitch"], rtol=0, atol=1e-9)
    assert_allclose(forward["lean"][-1], 0.0, atol=1e-9)


def test_the_family_passes_the_known_circles(forward: SteadyFamily) -> None:
    steer = -forward["steer"]
    lean = forward["lean"]
    for known, (exact, *_) in CIRCLES.items():
        assert_allclose(np.interp(known, steer, lean), exact, atol=2e-3)


def test_eigenvalues_along_the_family_are_continuous(forward: SteadyFamily) -> None:
    assert forward.states == ("lean", "steer", "lean_rate", "steer_rate", "rear_wheel_rate")
    assert forward.eigenvalues.shape == (len(forward), 5)
    assert_allclose(np.abs(forward.eigenvalues).min(axis=1), 0.0, atol=1e-6)
    assert np.abs(np.diff(forward.eigenvalues[:-1], axis=0)).max() < 1.5
    assert not forward.stable[1:].any()


def test_a_reversed_handlebar_has_a_family_of_its_own() -> None:
    """The family starts at its capsize speed and has a stable interval."""
    found = steady_turns(BICYCLE, kind="reversed", until={"lean": 0.9}, step=0.04)
    assert_allclose(found["rear_wheel_speed"][0], REVERSED_START["speed"], rtol=1e-12)
    assert_allclose(LAM - found["pitch"][0], REVERSED_START["pitch"], rtol=0, atol=1e-12)
    assert_allclose(found["lean"][-1], 0.9, atol=1e-12)
    assert found.stable[1:].any()
    assert not found.stable.all()


def test_third_family_passes_a_rear_wheel_at_rest() -> None:
    """Basu-Mandal et al. 2007, doi:10.1098/rspa.2007.1849: the family continues to a reversed
    handlebar.

    Small parts of two families are stable, here in the time-reversed motion.
    """
    start = state(BICYCLE, lean=0.4, steer=-0.66, rear_wheel_speed=2.7)
    found = family(
        steady(BICYCLE, start=start, lean=0.4), {"lean": -1.0}, step=0.05, max_motions=75
    )
    speed = found["rear_wheel_speed"]
    assert speed[0] > 2.6
    assert speed.min() < -3.0
    pivot = np.interp(0.0, -speed[: np.argmin(speed)], found["steer"][: np.argmin(speed)])
    assert -math.pi / 2 - 0.2 < pivot < -math.pi / 2
    assert found["steer"].min() < -2.6
    assert found.stable_backwards.any()
    assert len({id(point.machine) for point in found.points}) > 1


def test_a_steady_circle_stays_one() -> None:
    found = steady(BICYCLE, free=["steer"], lean=0.1, forward_speed=4.5)
    run = simulate(BICYCLE, found.state, until=4.0, inputs=found.inputs).to_xarray()
    assert_allclose(run.lean, 0.1, atol=1e-7)
    assert_allclose(run.forward_speed, 4.5, atol=1e-7)


def test_a_map_holds_the_steady_circles() -> None:
    leans = [0.08, 0.2]
    steers = [-0.15, -0.05]
    turns = turning_map(BICYCLE, leans, steers)
    assert turns.speed.shape == turns.torque.shape == turns.growth.shape == (2, 2)
    assert turns.friction.shape == (2, 2, 2)
    for i, lean in enumerate(leans):
        for j, steer in enumerate(steers):
            start = state(BICYCLE, lean=lean, steer=steer, rear_wheel_speed=turns.speed[i, j])
            found = steady(BICYCLE, start=start, free=["steer"], lean=lean, steer=steer)
            assert_allclose(turns.speed[i, j], found.values["rear_wheel_speed"], rtol=1e-11)
            assert_allclose(turns.torque[i, j], found.inputs["steer"], rtol=0, atol=1e-10)
            radius = found.values["rear_wheel_speed"] / abs(found.values["yaw_rate"])
            assert_allclose(turns.radius[i, j], radius, rtol=1e-11)
            values = found.linear().eigenvalues()
            order = np.argsort(np.abs(values))
            assert_allclose(turns.growth[i, j], values[order[1:]].real.max(), atol=1e-8)
            aside = np.hypot(
                *found.machine.observation(found.y, w=found.w)["forces"].reshape(2, 3).T[1:]
            )
            normal = found.machine.observation(found.y, w=found.w)["forces"].reshape(2, 3)[:, 0]
            assert_allclose(turns.friction[i, j], aside / normal, rtol=1e-9)


def test_a_lean_that_nothing_balances_is_left_out() -> None:
    turns = turning_map(BICYCLE, [-0.1, 0.1], [-0.1, 0.0])
    assert np.isnan(turns.speed).tolist() == [[True, True], [False, True]]
    assert np.isnan(turns.torque).tolist() == [[True, True], [False, True]]


def test_error_messages_name_the_reason() -> None:
    with pytest.raises(ParameterError, match="lean"):
        steady(BICYCLE, leen=0.1)
    with pytest.raises(ParameterError, match="no input"):
        steady(BICYCLE, free=["stear"], lean=0.1)
    with pytest.raises(ConfigurationError, match="No steady motion found"):
        steady(BICYCLE, lean=0.2, steer=0.0, forward_speed=3.0)
    upright = steady(BICYCLE, forward_speed=3.0)
    with pytest.raises(ConfigurationError, match="No family"):
        family(upright, {"lean": 1.0})
