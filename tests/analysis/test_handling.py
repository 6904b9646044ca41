"""Handling metrics against closed forms."""

import math

import numpy as np
import pytest

import draisine
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.equilibrium import steady
from draisine.analysis.rider.handling import handling, turning_indices
from draisine.analysis.rider.preview import follow_path
from draisine.errors import ConfigurationError, ParameterError


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.mark.parametrize("speed", [4.0, 7.0])
def test_indices_of_shallow_turns_are_those_of_the_linear_equations(bicycle, speed):
    """K(v) q = (0, T) in a steady turn, Meijaard et al. 2007: steer and torque follow from the lean. The
    yaw rate is v cos(lam) / w times the steer."""
    lean = 1e-4
    found = turning_indices(steady(bicycle, free=["steer"], lean=lean, forward_speed=speed))
    K = canonical_matrices(bicycle).stiffness(speed)
    steer = -K[0, 0] / K[0, 1]
    torque = K[1, 0] + K[1, 1] * steer  # per lean, to the right
    yaw_rate = speed * math.cos(math.pi / 10) / 1.02 * steer
    assert found["roll_index"] == pytest.approx(torque, rel=1e-5)
    assert found["acceleration_index"] == pytest.approx(torque / (speed * yaw_rate), rel=1e-5)


def test_both_sides_have_one_index(bicycle):
    left, right = (
        turning_indices(steady(bicycle, free=["steer"], lean=lean, forward_speed=5.0))
        for lean in (-0.2, 0.2)
    )
    assert left == pytest.approx(right, rel=1e-9)


def test_a_straight_motion_has_no_index(bicycle):
    with pytest.raises(ConfigurationError, match="straight"):
        turning_indices(steady(bicycle, forward_speed=5.0))


def test_metrics_are_those_of_the_series(bicycle):
    rider = follow_path(bicycle, 0.0, 5.0, delay=0.2)
    start = draisine.state(bicycle, forward_speed=5.0, y=0.5, yaw=-0.05)
    run = draisine.simulate(bicycle, start, 6.0, law=rider)
    found, data = handling(run), run.to_xarray()
    y, torque = data.position.sel(axis="y").values, data.inputs.sel(input="steer").values
    assert found.completed
    assert found.max_offset == pytest.approx(np.abs(y).max(), abs=1e-7)
    assert found.rms_offset == pytest.approx(np.sqrt(np.mean(y**2)), rel=0.01)
    assert found.max_heading_error == pytest.approx(np.abs(data.yaw.values).max(), abs=1e-7)
    assert found.max_torque == pytest.approx(np.abs(torque).max(), rel=1e-12)
    expected = found.max_torque / (5.0 * found.max_lean_rate)
    assert found.koch_index == pytest.approx(expected, rel=0.01)  # the speed hardly changes


def test_a_run_without_path_is_refused(bicycle):
    run = draisine.simulate(bicycle, draisine.state(bicycle, forward_speed=5.0), 0.1)
    with pytest.raises(ParameterError, match="no path coordinates"):
        handling(run)
