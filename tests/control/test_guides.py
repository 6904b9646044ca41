"""Joints that a law guides by their acceleration, and the rider who does so."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.control.balance_assist import BalanceAssist
from draisine.control.rider import RIDER_COMMANDS, Rider, brake_torque
from draisine.errors import ModelError
from draisine.model import Guide
from draisine.model.motion import sine, smooth_step
from draisine.terrain import plane

TURN = smooth_step(0.05, 0.0, 1.0)
START = {"forward_speed": 5.0, "lean_rate": 0.1}


class Guided:
    """A law that gives a joint the acceleration of a motion."""

    def __init__(self, joint, motion, active=True):
        self.joint = joint
        self.motion = motion
        self.active = active

    def __call__(self, readings, z):
        return {self.joint: Guide(self.motion(readings.t)[2], self.active)}, ()


@pytest.fixture(scope="module")
def leaning():
    return draisine.compile("whipple", mU=30.0)


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def test_a_guided_joint_moves_as_a_prescribed_one(bicycle):
    led = draisine.compile("whipple", steering=TURN)
    fine = {"numerics": draisine.Numerics(rtol=1e-12, atol=1e-13)}
    prescribed = draisine.simulate(led, draisine.state(led, **START), 1.0, **fine)
    guided = draisine.simulate(
        bicycle, draisine.state(bicycle, **START), 1.0, law=Guided("steer", TURN), **fine
    )
    for name in ("q", "p", "r", "v"):
        assert_allclose(getattr(guided.final(), name), getattr(prescribed.final(), name), atol=1e-9)
    torque = prescribed.to_xarray()["motion_torque"].values[:, 0]
    inputs = guided.to_xarray()["inputs"].sel(input="steer").values
    assert_allclose(inputs[:-1], torque[:-1], atol=1e-6 * np.abs(torque).max())


def test_a_guided_joint_on_a_terrain_moves_as_on_the_plane(bicycle):
    law = Guided("steer", TURN)
    start = draisine.state(bicycle, **START)
    smooth = draisine.simulate(bicycle, start, 0.5, law=law)
    rough = draisine.simulate(bicycle, start, 0.5, terrain=plane(), law=law)
    assert_allclose(rough.final().v, smooth.final().v, atol=1e-7)
    here, there = (run.to_xarray()["inputs"].sel(input="steer").values for run in (rough, smooth))
    assert_allclose(here[-2], there[-2], rtol=1e-3)


def test_a_guide_that_is_not_active_leaves_the_joint_free(bicycle):
    start = draisine.state(bicycle, **START)
    free = draisine.simulate(bicycle, start, 0.5)
    idle = draisine.simulate(bicycle, start, 0.5, law=Guided("steer", TURN, active=0.0))
    assert_allclose(idle.final().v, free.final().v, atol=1e-12)


def test_an_upper_body_guided_upright_does_not_change_the_motion(bicycle, leaning):
    plain = draisine.simulate(
        bicycle,
        draisine.state(bicycle, **START),
        1.0,
        numerics=draisine.Numerics(integrator="rk4", dt=2**-10),
    )
    start = draisine.state(leaning, **START)
    held = draisine.simulate(
        leaning, start, 1.0, law=Rider(), numerics=draisine.Numerics(integrator="rk4", dt=2**-10)
    )
    whole = held.final().v
    assert_allclose(np.delete(whole, -1), plain.final().v, atol=1e-12)
    assert abs(whole[-1]) < 1e-14


def test_only_joints_are_guided(bicycle):
    from dataclasses import replace

    from draisine.model import Force
    from draisine.vehicles.bicycle.whipple import whipple

    pushed = draisine.compile(lambda: replace(whipple(), forces=[Force("push", "frame")]))
    law = Guided("push.y", TURN)
    with pytest.raises(ModelError, match="only joints can be guided"):
        draisine.simulate(pushed, draisine.state(pushed, **START), 0.1, law=law)


def test_a_prescribed_joint_is_not_guided():
    """Both would decide its acceleration."""
    steered = draisine.compile("whipple", steering=sine(0.05, 0.7))
    start = draisine.state(steered, forward_speed=5.0)
    with pytest.raises(ModelError, match="'steer' follows a prescribed motion"):
        draisine.simulate(steered, start, 0.1, law=Guided("steer", TURN))


def test_a_brake_stops_the_bicycle_and_never_turns_it_back(leaning):
    class Brakes(Rider):
        @property
        def start(self):
            z = super().start
            z[1 + list(RIDER_COMMANDS).index("rear_brake")] = 200.0
            return z

    run = draisine.simulate(leaning, draisine.state(leaning, forward_speed=5.0), 3.0, law=Brakes())
    speed = run.to_xarray()["forward_speed"].values
    assert np.all(np.diff(speed) <= 1e-9)
    assert -1e-9 <= speed[-1] < 0.05
    assert brake_torque(80.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("speed", "lean_rate", "torque"),
    [
        (3.0, 0.1, -8.0 * 1.7 * 0.1),
        (3.0, -0.1, 8.0 * 1.7 * 0.1),
        (5.0, 0.1, 0.0),
        (0.75, 0.1, -8.0 * 1.6 * 0.1),
        (0.0, 0.1, 0.0),
        (3.0, 5.0, -7.0),
    ],
    ids=["falls right", "falls left", "fast", "slower than 1.5 m/s", "at rest", "strongest"],
)
def test_the_balance_assist_is_the_published_law(speed, lean_rate, torque):
    readings = SimpleNamespace(output=lambda name: speed, lean_rate=lean_rate)
    given, _ = BalanceAssist()(readings, np.zeros(0))
    assert_allclose(given["steer"], torque, rtol=1e-14, atol=1e-14)


def test_the_balance_assist_keeps_a_slow_bicycle_upright(bicycle):
    start = draisine.state(bicycle, forward_speed=3.0, lean_rate=0.1)
    lean = draisine.simulate(bicycle, start, 4.0, law=BalanceAssist()).to_xarray()["lean"].values
    assert np.abs(lean).max() < math.radians(5.0)
    assert abs(lean[-1]) < 0.2 * np.abs(lean).max()
    alone = draisine.simulate(bicycle, start, 4.0).to_xarray()["lean"].values
    assert np.abs(alone).max() > math.radians(15.0)
