"""Ground that moves in its own plane: turntable and treadmill."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.model import Ball, Body, Model, Output, Wheel, inertia


def ball_on_ground(
    *,
    mass: float = 0.7,
    radius: float = 0.1,
    turning: float = 2.0,
    belt: float = 0.0,
    pull: float = 0.0,
) -> Model:
    """Return a homogeneous ball on a plane that rotates about the origin and moves along x."""

    def ground(t):
        return (belt + pull * t, 0.0, turning), (pull, 0.0, 0.0)

    centre = (0.0, 0.0, radius)
    return Model(
        bodies=[Body("ball", mass, centre, inertia(*[0.4 * mass * radius * radius] * 3))],
        contacts=[Wheel("ground", "ball", centre, (0.0, 1.0, 0.0), Ball(radius))],
        outputs=[
            Output(
                f"centre_{axis}", lambda readings, k=k: readings.position("ball", centre)[k], "m"
            )
            for k, axis in enumerate("xy")
        ],
        ground=ground,
    )


def test_a_ball_on_a_turntable_circles_at_two_sevenths_of_its_rate():
    """The centre obeys `a = (2/7) Omega z x v` (Earnshaw 1844), a circle for any radius and mass."""
    system = draisine.compile(ball_on_ground)
    start = draisine.state(system, x=0.5)
    period = 2 * math.pi / (2.0 * 2 / 7)
    run = draisine.simulate(
        system, start, period, numerics=draisine.Numerics(dt=period / 50, rtol=1e-13, atol=1e-14)
    ).to_xarray()
    assert_allclose([run.centre_x[-1], run.centre_y[-1]], [0.5, 0.0], atol=2e-10)
    speed, turn = 2.0 * 0.5, 2.0 * 2 / 7
    t = run.time.values
    assert_allclose(run.centre_x, 0.5 - speed / turn * (1 - np.cos(turn * t)), atol=2e-10)
    assert_allclose(run.centre_y, speed / turn * np.sin(turn * t), atol=2e-10)


def test_a_treadmill_that_speeds_up_drags_the_ball_with_two_sevenths_of_its_acceleration():
    system = draisine.compile(ball_on_ground, turning=0.0, pull=0.7)
    run = draisine.simulate(
        system, draisine.state(system), 2.0, numerics=draisine.Numerics(dt=0.1, rtol=1e-12)
    ).to_xarray()
    assert_allclose(run.centre_x_rate, 2 / 7 * 0.7 * run.time, atol=1e-11)
    assert_allclose(run.contact_force.sel(direction="across"), 0.0, atol=1e-11)
    pushed = run.contact_force_world.sel(axis="x")
    assert_allclose(pushed, 0.7 * 2 / 7 * 0.7, rtol=1e-9)


@pytest.mark.parametrize("turning", [0.0, 1.5])
def test_both_formulations_agree_on_moving_ground(turning):
    system = draisine.compile(ball_on_ground, turning=turning, belt=0.3, pull=0.4)
    start = draisine.state(system, x=0.4, y=-0.2, Wz=0.7)
    by_rows = system.accelerate(start)
    closed = system.accelerate(start, formulation="projected")
    for a, b in zip(by_rows, closed, strict=True):
        assert_allclose(a, b, atol=1e-11 * max(1.0, np.abs(b).max()))
