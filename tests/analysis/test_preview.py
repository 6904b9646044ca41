"""Riders who steer into the fall after a delay, and who follow a path that they see ahead."""

import cmath
from dataclasses import replace

import numpy as np
import pytest

import draisine
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.linear import linearise
from draisine.analysis.preview import follow_path
from draisine.control import smooth_step
from draisine.control.steer_into_lean import SteerIntoLean
from draisine.errors import ConfigurationError

SPEED = 5.0


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.fixture(scope="module")
def lane(bicycle):
    """A change of lane by 2 m between 15 and 30 m."""
    return follow_path(
        bicycle,
        lambda s: 2.0 * smooth_step(s, 15.0, 30.0),
        SPEED,
        {"y": 1.0, "yaw": 1.0},
        cost=0.02,
    )


def ride(bicycle, law):
    start = draisine.state(bicycle, forward_speed=SPEED)
    return draisine.simulate(bicycle, start, 16.0, law=law).to_xarray()


def aside(run):
    """How far the bicycle is from its path."""
    s = np.clip((run.position.sel(axis="x").values - 15.0) / 15.0, 0.0, 1.0)
    return run.position.sel(axis="y").values - 2.0 * (s - np.sin(2 * np.pi * s) / (2 * np.pi))


def test_it_changes_its_lane_and_preview_helps(bicycle, lane):
    seen = aside(ride(bicycle, lane))
    blind = aside(ride(bicycle, replace(lane, distances=(0.0,), ahead=(lane.gains[3],))))
    assert abs(seen[-1]) < 0.02
    assert np.abs(seen).max() < 0.5 * np.abs(blind).max()


def test_what_is_seen_ahead_adds_up_to_the_gain_of_the_place(lane):
    """A path that is a shifted straight line must be followed like the line itself."""
    assert sum(lane.ahead) == pytest.approx(lane.gains[lane.states_read.index("y")], rel=1e-9)


def test_a_state_that_steering_does_not_move_is_refused(bicycle):
    with pytest.raises(ConfigurationError, match="'x' is no state that steering moves"):
        follow_path(bicycle, lambda s: 0.0 * s, SPEED, {"x": 1.0})


class TestSteerIntoLean:
    def test_it_steadies_a_slow_bicycle(self, bicycle):
        law = SteerIntoLean(lean_gain=0.0, rate_gain=12.0)
        slow = np.array([3.0])
        assert TwoWheeler(bicycle).eigenmodes(slow).values.real.max() > 0
        assert TwoWheeler(bicycle, law).eigenmodes(slow).values.real.max() < 0

    def test_a_delay_is_that_of_its_exact_function(self, bicycle):
        """Roots of the loop with the Pade delay are nearly roots of the loop with exp(-s T): det(s - A)
        of the bicycle plus what the torque adds vanishes, checked at the weave."""
        T = 0.05
        law = SteerIntoLean(lean_gain=10.0, rate_gain=6.0, delay=T)
        found = TwoWheeler(bicycle, law).eigenmodes([4.0])
        s = complex(found.mode("weave")[0])
        plain = linearise(bicycle, draisine.state(bicycle, forward_speed=4.0))
        push = plain.part(["steer"]).B[:, 0]
        row = np.zeros(len(plain.states), complex)
        row[plain.states.index("lean")], row[plain.states.index("lean_rate")] = -10.0, -6.0
        answer = row @ np.linalg.solve(s * np.eye(len(row)) - plain.A, push)
        assert (
            abs(1.0 - cmath.exp(-s * T) * answer) < 2.0 * abs(s * T) ** 5 / 720
        )  # what Pade leaves

    def test_too_long_a_delay_makes_it_fall(self, bicycle):
        law = SteerIntoLean(lean_gain=0.0, rate_gain=12.0, delay=0.4)
        assert TwoWheeler(bicycle, law).eigenmodes([3.0]).values.real.max() > 0
