"""Handling metrics against closed forms."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.equilibrium import steady
from draisine.analysis.rider.handling import handling, handling_quality, turning_indices
from draisine.analysis.rider.loops import design_loops
from draisine.analysis.rider.preview import follow_path
from draisine.control.loop_rider import LoopRider
from draisine.errors import ConfigurationError, ParameterError


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.mark.parametrize("speed", [4.0, 7.0])
def test_indices_of_shallow_turns_are_those_of_the_linear_equations(bicycle, speed):
    """In a steady turn K(v) q = (0, T), Meijaard et al. 2007: steer angle and torque follow from
    the lean. The yaw rate is v cos(lam) / w times the steer angle.
    """
    lean = 1e-4
    found = turning_indices(steady(bicycle, free=["steer"], lean=lean, forward_speed=speed))
    K = canonical_matrices(bicycle).stiffness(speed)
    steer = -K[0, 0] / K[0, 1]
    torque = K[1, 0] + K[1, 1] * steer  # steer torque per lean, to the right
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
    found = handling(run)
    data = run.to_xarray()
    y = data.position.sel(axis="y").values
    torque = data.inputs.sel(input="steer").values
    assert found.completed
    assert found.max_offset == pytest.approx(np.abs(y).max(), abs=1e-7)
    assert found.rms_offset == pytest.approx(np.sqrt(np.mean(y**2)), rel=0.01)
    assert found.max_heading_error == pytest.approx(np.abs(data.yaw.values).max(), abs=1e-7)
    assert found.max_torque == pytest.approx(np.abs(torque).max(), rel=1e-12)
    expected = found.max_torque / (5.0 * found.max_lean_rate)
    assert found.koch_index == pytest.approx(expected, rel=0.01)  # the speed is nearly constant


def test_a_run_without_path_is_refused(bicycle):
    run = draisine.simulate(bicycle, draisine.state(bicycle, forward_speed=5.0), 0.1)
    with pytest.raises(ParameterError, match="no path coordinates"):
        handling(run)


# Moore, Hubbard and Hess 2016, An Optimal Handling Bicycle, doi:10.6084/m9.figshare.3806310, with its data
# (github.com/moorepants/BMD2016, hqmbenchmark.csv and hqm05.csv): the metric at some of 100 frequencies.
FREQUENCIES = np.linspace(0.01, 40.0, 100)
QUALITY = {
    0: 1.6133,
    1: 1.6465,
    5: 1.8971,
    13: 1.3463,
    25: 1.7337,
    33: 4.6373,
    40: 1.2306,
    99: 0.013106,
}
OPTIMAL_QUALITY = {0: 0.043202, 3: 0.24992, 6: 0.40833, 16: 0.23713, 25: 0.40962, 50: 0.015378}


def quality_at(found, frequencies):
    return np.abs(found.metric.response(frequencies)[:, 0, 0])


def test_the_handling_quality_of_the_benchmark_is_the_published_one(bicycle):
    """The printed peak, 4.64, is the largest value on a grid of 0.4 rad/s; the exact peak is
    slightly larger.
    """
    found = handling_quality(bicycle, design_loops(bicycle, 5.0), 5.0)
    assert_allclose(
        quality_at(found, FREQUENCIES[list(QUALITY)]), list(QUALITY.values()), rtol=5e-5
    )
    near = quality_at(found, np.linspace(13.2, 13.8, 601))
    assert found.peak == pytest.approx(near.max(), rel=1e-5)
    assert found.peak > 4.6373
    assert found.level == 1


@pytest.mark.filterwarnings("ignore:whipple. with c = -0.239348 m:UserWarning")
def test_the_handling_quality_of_an_optimal_bicycle_is_the_published_one():
    """Negative trail; gains of Optimal05SteerGains.txt, peak 0.41."""
    shape = {"c": -0.239348385100141, "lam": 0.678170610472069, "rF": 0.187689569212885}
    optimal = draisine.compile("whipple", w=1.507286469014997, **shape)
    found = handling_quality(optimal, LoopRider(-0.6068, 3.0111, 17.2088, 0.1442, 0.0989), 5.0)
    assert_allclose(
        quality_at(found, FREQUENCIES[list(OPTIMAL_QUALITY)]),
        list(OPTIMAL_QUALITY.values()),
        rtol=1e-3,
    )
    assert round(found.peak, 2) == 0.41


def test_handling_worsens_as_speed_falls():
    """Peaks over speed in a figure of Hess, Moore and Hubbard 2012: at 2.5 m/s handling is of level
    3.
    """
    slow = draisine.compile("whipple", parameter_set="browserins_jason")
    found = handling_quality(slow, LoopRider(22.0, -0.090, 23.3, 0.058, 0.195), 2.5)
    assert found.level == 3


def test_a_handling_quality_needs_stable_loops(bicycle):
    with pytest.raises(ConfigurationError, match="unstable at 2 m/s"):
        handling_quality(bicycle, LoopRider(46.5457, -0.0522, 12.6611, 0.1849), 2.0)
    with pytest.raises(ParameterError, match="must not be 0"):
        handling_quality(bicycle, LoopRider(0.0, 0.0, 0.0, 0.0), 5.0)
