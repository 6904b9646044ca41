"""Robots from files follow velocity commands on level ground and on hills of 1 cm."""

from pathlib import Path

import numpy as np
import pytest

import draisine
from draisine.control.cmd_vel import CmdVel
from draisine.interop.robots.guess import guess
from draisine.interop.robots.robot import RobotWheel, robot_vehicle
from draisine.interop.robots.urdf import parse_urdf
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.model import Ball
from draisine.terrain import height_field, plane
from interop.robots import RADII, URDF

CORPUS = Path(__file__).parents[3] / "shared" / "robots" / "urdf"
UNTIL = 5.0  # s


def hills():
    """Return hills of at most 1 cm at the corners of cells of 10 cm, level near the start."""
    x = np.arange(-2.0, 4.0, 0.1)
    y = np.arange(-2.0, 4.0, 0.1)
    z = np.random.default_rng(1).uniform(0.0, 0.01, (len(x), len(y)))
    z[np.hypot(*np.meshgrid(x, y, indexing="ij")) < 0.8] = 0.0
    return height_field(x, y, z)


def drive(vehicle, law, ground, **friction):
    """Return distance along the heading (m) and yaw (rad) after a drive, over the commanded values."""
    robot = draisine.compile(vehicle)
    contact = draisine.ContactOptions(solver="time_stepping", **friction)
    run = draisine.simulate(
        robot, draisine.state(robot), UNTIL, terrain=ground, law=law, contact=contact
    ).to_xarray()
    yaw = np.unwrap(run.yaw)
    steps = np.diff(run.position.values[:, :2], axis=0)
    distance = steps[:, 0] @ np.cos(yaw[:-1]) + steps[:, 1] @ np.sin(yaw[:-1])
    return distance / (law.forward_speed * UNTIL), yaw[-1] / (law.yaw_rate * UNTIL)


@pytest.mark.parametrize(("ground", "allowed"), [(plane, 0.05), (hills, 0.1)])
@pytest.mark.filterwarnings("ignore::draisine.errors.FileWarning")
def test_a_robot_on_a_swivel_caster(ground, allowed):
    """Start-up takes a time constant of 0.05 s of 5 s; the joint damper costs 0.02 / 2 of the speed."""
    vehicle = robot_vehicle(parse_urdf(URDF), RADII)
    law = CmdVel(
        ["left_axle"], ["right_axle"], 0.1, 0.4, damping=2.0, forward_speed=0.4, yaw_rate=0.2
    )
    assert drive(vehicle, law, ground(), mu=0.8) == pytest.approx((1.0, 1.0), abs=allowed)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="public robot files are not here")
@pytest.mark.parametrize(
    ("name", "kinematics", "track", "wheelbase", "damping", "allowed"),
    [
        ("tb3_burger", "differential", 0.16, 0.0, 0.01, 0.05),
        ("jackal", "skid_steer", 0.37559, 0.262, 200.0, 0.05),
    ],
)
@pytest.mark.filterwarnings("ignore::draisine.errors.FileWarning")
def test_public_robots(name, kinematics, track, wheelbase, damping, allowed):
    """All wheeled files are driven by `bench/robots.py files`."""
    robot = parse_urdf(CORPUS / f"{name}.urdf")
    links = {link.name: link for link in robot.links}
    wheels, left, right = {}, [], []
    for link, wheel in guess(robot).wheels.items():
        surface = Ball(wheel.radius) if wheel.shape == "ball" else wheel.radius
        is_skid = kinematics == "skid_steer"
        tyre = BrushTyre(10.0, 0.8, wheel.radius) if is_skid else None
        wheels[link] = RobotWheel(surface, tyre, wheel.centre)
        if links[link].kind:
            radius = wheel.radius
            (left if links[link].frame.p[1] > 0.0 else right).append(links[link].joint)
    law = CmdVel(
        left, right, radius, track, damping, kinematics,
        wheelbase=wheelbase, forward_speed=min(0.4, 4.0 * radius), yaw_rate=0.2,
    )  # fmt: skip
    friction = {} if kinematics == "skid_steer" else {"mu": 0.8}
    for ground in (plane(), hills()):
        reached = drive(robot_vehicle(robot, wheels), law, ground, **friction)
        assert reached == pytest.approx((1.0, 1.0), abs=allowed)
