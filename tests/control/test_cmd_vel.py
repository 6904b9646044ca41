"""Velocity commands: wheel speeds of rigid-body kinematics, and robots that follow them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.control.cmd_vel import CmdVel
from draisine.errors import ParameterError
from draisine.model import Body, Model, Revolute, Wheel, inertia
from draisine.terrain import plane

MECANUM = CmdVel(["fl", "rl"], ["fr", "rr"], 0.05, 0.3, 0.1, kinematics="mecanum", wheelbase=0.4)


def test_wheel_speeds_are_those_of_a_rigid_body():
    """A wheel at (x, y) has the velocity (v - w y, u + w x); rollers at 45 degrees pass a part of it.

    The rollers of the front left and the rear right wheel are parallel to (1, 1), the others to (1, -1).
    """
    v, w, u = 0.5, 0.7, 0.2
    speeds = MECANUM.wheel_speeds(v, w, u)
    places = {"fl": (0.2, 0.15), "rl": (-0.2, 0.15), "fr": (0.2, -0.15), "rr": (-0.2, -0.15)}
    for name, (x, y) in places.items():
        roller = np.array([1.0, 1.0 if name in ("fl", "rr") else -1.0]) / np.sqrt(2.0)
        velocity = np.array([v - w * y, u + w * x])
        # The velocity of the rim relative to the ground has no component along the axis that grips.
        axis = np.array([roller[1], -roller[0]])
        rim = np.array([0.05 * speeds[name], 0.0])
        assert (velocity - rim) @ axis == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "law", [MECANUM, CmdVel(["a", "b"], ["c"], 0.1, 0.4, 1.0, signs=[1, -1, 1])]
)
def test_odometry_inverts_the_kinematics(law):
    side = 0.2 if law is MECANUM else 0.0
    speeds = law.wheel_speeds(0.5, -0.3, side)
    assert_allclose(law.body_velocity(list(speeds.values())), [0.5, -0.3, side], atol=1e-12)


@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_ackermann_wheels_point_along_their_velocity(speed):
    law = CmdVel(
        ["rl"], ["rr"], 0.3, 1.5, 1.0, "ackermann", ["sl", "sr"], wheelbase=2.5, stiffness=9.0
    )
    for (joint, angle), y in zip(law.steer_angles(speed, 0.2).items(), (0.75, -0.75), strict=True):
        assert joint in ("sl", "sr")
        assert np.tan(angle) == pytest.approx(2.5 * 0.2 / (speed - 0.2 * y), rel=1e-5)
        assert abs(angle) < np.pi / 2


def test_a_robot_follows_its_commands():
    """The servos are stiff: centrifugal and drag torques change the speeds by less than 1e-4."""
    robot = draisine.compile("differential_platform")
    joints = [joint.name for joint in robot.model.joints]
    wheels = {wheel.body: wheel for wheel in robot.model.wheels}
    left, right = sorted(joints, key=lambda name: -_side(robot, wheels, name))
    radius = float(next(iter(wheels.values())).surface.reach)
    track = _side(robot, wheels, left) - _side(robot, wheels, right)
    law = CmdVel([left], [right], radius, track, damping=500.0, forward_speed=0.5, yaw_rate=0.4)
    run = draisine.simulate(robot, draisine.state(robot), 5.0, law=law).to_xarray()
    assert float(run.yaw_rate[-1]) == pytest.approx(0.4, rel=1e-4)
    assert float(run.forward_speed[-1]) == pytest.approx(0.5, rel=1e-4)


def _side(robot, wheels, joint):
    """Return the lateral position of the wheel of a joint, m."""
    child = next(each.child for each in robot.model.joints if each.name == joint)
    return float(wheels[child].centre[1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"radius": 0.0}, "radius = 0.0 must be positive"),
        ({"kinematics": "tank"}, "unknown kinematics 'tank'"),
        ({"left": []}, "name the wheel joints of both sides"),
        ({"kinematics": "mecanum"}, "need a wheelbase"),
        ({"kinematics": "mecanum", "wheelbase": 1.0}, "two wheels on each side"),
        ({"kinematics": "ackermann", "wheelbase": 1.0}, "name two steer joints"),
        ({"signs": [1.0]}, "one sign, 1 or -1, for each wheel joint"),
        ({"signs": [2.0, 0.0]}, "one sign, 1 or -1, for each wheel joint"),
        ({"left": "a"}, "both sides, as lists"),
        ({"left": ["b"]}, "named twice"),
        ({"radius": float("inf")}, "must be positive"),
        ({"forward_speed": float("nan")}, "must be finite"),
    ],
)
def test_impossible_commands_are_refused(changes, message):
    options = {"left": ["a"], "right": ["b"], "radius": 0.1, "track": 0.3, "damping": 1.0}
    with pytest.raises(ParameterError, match=message):
        CmdVel(**options | changes)


LENGTH, TRACK, RADIUS = 0.4, 0.5, 0.12  # m
PLACES = {
    "fl": (LENGTH / 2, TRACK / 2),
    "rl": (-LENGTH / 2, TRACK / 2),
    "fr": (LENGTH / 2, -TRACK / 2),
    "rr": (-LENGTH / 2, -TRACK / 2),
}


def skid_rover():
    """Return a rover on four wheels on a rigid frame."""
    frame = Body("deck", 20.0, (0.0, 0.0, RADIUS), inertia(0.3, 0.7, 0.9))
    wheel = inertia(0.004, 0.007, 0.004)
    across = (0.0, 1.0, 0.0)
    hubs = {name: (x, y, RADIUS) for name, (x, y) in PLACES.items()}
    return Model(
        bodies=[frame, *(Body(name, 1.0, hub, wheel) for name, hub in hubs.items())],
        joints=[Revolute(f"{name}_axle", "deck", name, across, hub) for name, hub in hubs.items()],
        contacts=[Wheel(name, name, hub, across, RADIUS) for name, hub in hubs.items()],
        gravity=(0.0, 0.0, -9.81),
    )


@pytest.mark.parametrize("friction", [0.3, 0.8])
def test_a_skid_steered_robot_turns_by_the_coulomb_estimate(friction):
    """Rim speed (w b / 2)(1 + (l / b)^2), drive torque mu N r l / sqrt(l^2 + b^2) at each wheel."""
    joints = {name: f"{name}_axle" for name in PLACES}
    left = [joints["fl"], joints["rl"]]
    right = [joints["fr"], joints["rr"]]
    law = CmdVel(left, right, RADIUS, TRACK, 20.0, "skid_steer", wheelbase=LENGTH, yaw_rate=1.5)
    rover = draisine.compile(skid_rover)
    run = draisine.simulate(
        rover,
        draisine.state(rover, mode=dict.fromkeys(PLACES, "sliding")),
        3.0,
        law=law,
        terrain=plane(),
        contact=draisine.ContactOptions(mu=friction),
    ).to_xarray()
    end = run.isel(time=-1)
    yaw_rate = float(end.yaw_rate)
    for name in PLACES:
        rim = RADIUS * float(end[f"{joints[name]}_rate"])
        side = 1.0 if name in ("fr", "rr") else -1.0
        expected = side * yaw_rate * TRACK / 2 * (1.0 + (LENGTH / TRACK) ** 2)
        assert rim == pytest.approx(expected, rel=1e-3)
        torque = friction * 24.0 * 9.81 / 4 * RADIUS * LENGTH / np.hypot(LENGTH, TRACK)
        assert float(end.inputs.sel(input=joints[name])) == pytest.approx(side * torque, rel=1e-3)
    # Speed servos deviate by torque / damping from their set-points.
    assert yaw_rate == pytest.approx(1.5, rel=0.1)
    speeds = [float(end[f"{joint}_rate"]) for joint in (*left, *right)]
    assert law.body_velocity(speeds)[1] == pytest.approx(yaw_rate, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinematics": "skid_steer"}, "skid_steer kinematics need a wheelbase"),
        ({"kinematics": "skid_steer", "track_factor": 0.9}, "must be at least 1"),
        ({"track_factor": 1.2}, "only skid steering has a track_factor"),
    ],
)
def test_options_of_skid_steering_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        CmdVel(["l"], ["r"], 0.1, 0.4, 1.0, **options)
