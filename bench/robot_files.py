"""Wheeled robots of public files under velocity commands: `python bench/robots.py files --folder FOLDER`.

Wheels and casters are the guessed ones; wheels that cannot all roll without slip have brush tyres, as in the
files that `draisine new vehicle --from FILE` writes. Joints with limits are held, except steering. A robot
starts from rest and drives for 5 s at a commanded forward speed and yaw rate (`draisine.control.cmd_vel`), on
level ground and on hills of 1 cm. The table lists the distance of the root link along its heading and the yaw
at the end, both over the commanded values, and the CPU time. Speed servos that overcome joint friction are
stiff, so that all runs take time steps, which are implicit in servos. A robot that cannot be driven in this
way is listed with the reason. The exit code is 1 if a run fails, or if a robot on level ground misses the
command by more than `ALLOWED`.
"""

import time
from dataclasses import replace

import numpy as np

import draisine
from draisine import ContactOptions, simulate, state
from draisine.control.cmd_vel import CmdVel
from draisine.errors import DraisineError
from draisine.interop.robots.guess import guess
from draisine.interop.robots.mjcf import parse_mjcf
from draisine.interop.robots.robot import (
    RobotWheel,
    fix_massless_joints,
    robot_vehicle,
    turns_about_axle,
)
from draisine.interop.robots.urdf import parse_urdf
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.model import Ball
from draisine.model.motion import uniform
from draisine.terrain import height_field, plane

UNTIL = 5.0  # s
YAW_RATE = 0.2  # rad/s
MU = 0.8  # friction of wheels without a tyre model
TIME_CONSTANT = 0.05  # s; time in which the speed servos accelerate the robot, for the gain
SPEED_ERROR = (
    0.02  # error of the speed servos by friction, relative to the smallest commanded speed
)
SPEED_MARGIN = 0.5  # largest commanded wheel speed over the no-load speed of the motor
ALLOWED = (
    0.15  # largest relative error of distance and yaw on level ground; R2D2 rocks at the start
)

KINEMATICS = {
    "carlikebot": "straight",
    "diffbot": "differential",
    "hunter_se_description": "ackermann",
    "husky": "skid_steer",
    "jackal": "skid_steer",
    "kobuki": "differential",
    "lino_2wd": "differential",
    "lino_mecanum": "skid_steer",
    "r2d2": "skid_steer",
    "racecar": "ackermann",
    "scout_mini": "skid_steer",
    "scout_v2": "skid_steer",
    "stretch_re1": "differential",
    "tb3_burger": "differential",
    "car": "differential",
    "men_pal_tiago_tiago": "differential",
}
"""Kinematics of each robot, by the name of its file."""

REMARKS = {
    "carlikebot": "straight ahead: its front wheels have no axle, and both rear wheels are coupled",
    "r2d2": "rocks for 2 s after the sudden start: centre of mass at 0.37 m",
    "lino_mecanum": "as plain wheels: mecanum rollers are not modelled",
    "hunter_se_description": "radii assumed: no meshes; without its dry friction, which exceeds its traction",
    "scout_mini": "radii assumed: the mesh is missing",
    "men_pal_tiago_tiago": "radii are heights of axles above z = 0: the meshes are missing",
}
"""Remarks on robots that differ from their files."""

NOT_DRIVEN = {
    "bunker": "tracks are not modelled, and the radii of its 16 rollers are in missing meshes",
    "upkie": "a balancer: it falls without a controller",
    "men_robot_soccer_kit_robot_soccer_kit": "rollers of omnidirectional wheels are not modelled",
    "men_stanford_tidybot_base": "its base slides on three joints; the file has no wheels",
}
"""Reason why a robot is not driven by velocity commands, by the name of its file."""

NO_FRICTION = ("hunter_se_description",)
"""Robots that drive without their dry friction. In the file of Hunter SE, 15 N m at each undriven front wheel
resist with 188 N in total; the traction of the driven rear wheels is 157 N (196 N of load, MU = 0.8).
"""

RADII = {
    "scout_mini": {"": 0.0875},
    "hunter_se_description": {"fr_": 0.159459, "": 0.154959},
    "men_pal_tiago_tiago": {"caster": 0.025, "": 0.0985},
}
"""Radii (m) of wheels whose meshes are missing: the first whose key is part of the name of the link."""


def robot_files(folder):
    """Return the robot files of a folder."""
    return sorted(file for kind in ("urdf", "xml") for file in folder.glob(f"*/*.{kind}"))


def read_robot(file):
    """Return a vehicle with wheels, its velocity law, and its forward direction (3,)."""
    name = file.stem
    parsed = parse_urdf(file) if file.suffix == ".urdf" else parse_mjcf(file)
    robot = fix_massless_joints(parsed, {})
    if name in NO_FRICTION:
        robot = robot._replace(links=[replace(link, friction=0.0) for link in robot.links])
    links = {link.name: link for link in robot.links}
    guesses = guess(robot)
    has_tyres = KINEMATICS[name] in ("skid_steer", "ackermann")
    radii = {n: wheel.radius for n, wheel in guesses.wheels.items()}
    for link, proposal in guesses.unsure.items():
        stated = RADII.get(name, {"": proposal.radius})
        radii[link] = next(radius for part, radius in stated.items() if part in link)
    wheels = {}
    for link, radius in radii.items():
        proposal = guesses.wheels.get(link) or guesses.unsure[link]
        surface = Ball(radius) if proposal.shape == "ball" else radius
        tyre = BrushTyre(10.0, MU, radius) if has_tyres and turns_about_axle(links[link]) else None
        wheels[link] = RobotWheel(surface, tyre, proposal.centre)
    driven, steering = _driven_wheels(links, radii, KINEMATICS[name] == "ackermann")
    held = {
        link.joint: {"motion": uniform(0.0)}
        for link in links.values()
        if link.kind and link.limited and link.name not in wheels
        if link.joint not in steering.values()
    }
    vehicle = robot_vehicle(robot, wheels, held)
    return vehicle, *_velocity_law(name, links, driven, steering, radii)


def _driven_wheels(links, radii, is_steered):
    """Return the driven wheels, and the steering joint of each steered wheel by link.

    Wheels behind a vertical hinge are not driven: they are steered, or swivel casters.
    """
    driven, steering = [], {}
    for name in radii:
        parent = links.get(links[name].parent)
        while parent is not None and not parent.kind and parent.parent:
            parent = links[parent.parent]
        is_vertical = parent is not None and parent.kind and abs(parent.axis[2]) > 0.5
        if is_vertical and is_steered:
            steering[name] = parent.joint
        elif not is_vertical and turns_about_axle(links[name]):
            driven.append(name)
    return driven, steering


def _velocity_law(name, links, driven, steering, radii):
    """Return the velocity law of a robot with its commands, and its forward direction (3,)."""
    across = links[driven[0]].axis / np.linalg.norm(links[driven[0]].axis)
    forward = np.cross(across, [0.0, 0.0, 1.0])
    # The robot drives along x, or along y if its axles are along x.
    forward *= np.sign(forward[np.argmax(np.abs(forward))])
    left = np.cross([0.0, 0.0, 1.0], forward)
    middle = np.mean([links[n].frame.p for n in driven], axis=0)
    sides = {n: float((links[n].frame.p - middle) @ left) for n in (*driven, *steering)}
    lefts = [n for n in driven if sides[n] > 0.0]
    rights = [n for n in driven if sides[n] < 0.0]
    steered = sorted(steering, key=lambda n: -sides[n])
    positions = [float(links[n].frame.p @ forward) for n in (*driven, *steering)]
    signs = [float(np.sign(np.cross(links[n].axis, [0, 0, 1]) @ forward)) for n in lefts + rights]
    mass = sum(link.mass.mass for link in links.values())
    radius = radii[driven[0]]
    kinematics = KINEMATICS[name]
    track = 2.0 * float(np.mean([abs(sides[n]) for n in driven]))
    wheelbase = max(positions) - min(positions)
    speed = float(np.clip(4.0 * radius, 0.1, 0.5))
    yaw_rate = 0.0 if kinematics == "straight" else YAW_RATE
    factor = 1.0 + (wheelbase / track) ** 2 if kinematics == "skid_steer" else 1.0
    fastest = (speed + 0.5 * yaw_rate * track * factor) / radius
    motors = [links[n].motor for n in driven if links[n].motor is not None]
    slower = min((SPEED_MARGIN * m.no_load_speed / fastest for m in motors), default=1.0)
    speed, yaw_rate = min(1.0, slower) * speed, min(1.0, slower) * yaw_rate
    # Servos that accelerate the robot within TIME_CONSTANT, and whose error by friction is SPEED_ERROR.
    gain = mass * radius**2 / (len(driven) * TIME_CONSTANT)
    resisted = speed / radius
    turning = [links[n] for n in (*driven, *steering)]
    torque = sum(link.friction + link.damper * resisted for link in turning) / len(driven)
    if kinematics == "skid_steer":
        torque += MU * mass * 9.81 / 4.0 * radius * wheelbase / np.hypot(wheelbase, track)
        resisted = min(resisted, 0.5 * yaw_rate * track * factor / radius)
    gain = max(gain, torque / (SPEED_ERROR * resisted))
    options = {"wheelbase": wheelbase} if kinematics in ("skid_steer", "ackermann") else {}
    if steered:
        # Steer angles follow within a few degrees of the friction moment of a tyre.
        options |= {"steer": [steering[n] for n in steered], "stiffness": 20.0 * MU * mass * radius}
    law = CmdVel(
        [links[n].joint for n in lefts],
        [links[n].joint for n in rights],
        radius=radius,
        track=track,
        damping=gain,
        kinematics="differential" if kinematics == "straight" else kinematics,
        forward_speed=speed,
        yaw_rate=yaw_rate,
        signs=signs,
        **options,
    )
    return law, forward


def hills(seed=1):
    """Return hills of at most 1 cm at the corners of cells of 10 cm, level near the start."""
    x = np.arange(-2.0, 5.0, 0.1)
    y = np.arange(-3.0, 5.0, 0.1)
    z = np.random.default_rng(seed).uniform(0.0, 0.01, (len(x), len(y)))
    z[np.hypot(*np.meshgrid(x, y, indexing="ij")) < 0.8] = 0.0
    return height_field(x, y, z)


def drive(vehicle, law, forward, ground):
    """Return distance (m), yaw (rad), outcome and CPU time (s per simulated s) of one drive."""
    system = draisine.compile(vehicle)
    tyred = any(wheel.tyre is not None for wheel in system.model.wheels)
    friction = {} if tyred else {"mu": MU}
    contact = ContactOptions(solver="time_stepping", **friction)
    simulate(system, state(system), 0.01, terrain=ground, law=law, contact=contact)  # compiles
    began = time.process_time()
    run = simulate(system, state(system), UNTIL, terrain=ground, law=law, contact=contact)
    cpu = (time.process_time() - began) / UNTIL
    dataset = run.to_xarray()
    yaw = np.unwrap(dataset.yaw)
    steps = np.diff(dataset.position.values[:, :2], axis=0)
    heading = yaw[:-1] + np.arctan2(forward[1], forward[0])
    distance = steps[:, 0] @ np.cos(heading) + steps[:, 1] @ np.sin(heading)
    return float(distance), float(yaw[-1]), run.outcome, cpu


def drive_files(folder):
    """Print the drives of all wheeled robots of a folder; return how many miss their command or fail."""
    bad = 0
    names = {file.stem: file for file in robot_files(folder)}
    print("robot                  command          level ground           hills of 1 cm")
    print("                       m      rad       m/m   rad/rad  CPU     m/m   rad/rad  CPU s/s")
    for name in [name for name in KINEMATICS if name in names]:
        vehicle, law, forward = read_robot(names[name])
        distance, turn = law.forward_speed * UNTIL, law.yaw_rate * UNTIL
        cells = []
        for is_level, ground in ((True, plane()), (False, hills())):
            try:
                path, yaw, outcome, cpu = drive(vehicle, law, forward, ground)
            except DraisineError as error:
                bad += 1
                cells.append(f"{type(error).__name__}: {error}"[:90])
                continue
            ratios = path / distance, yaw / turn if turn else 1.0 + yaw
            bad += is_level and max(abs(ratio - 1.0) for ratio in ratios) > ALLOWED
            ended = "" if outcome == "completed" else f" {outcome}"
            cells.append(f"{ratios[0]:7.3f} {ratios[1]:7.3f} {cpu:8.3f}{ended}")
        remark = f"  ({REMARKS[name]})" if name in REMARKS else ""
        print(f"{name[:20]:20} {distance:5.2f} {turn:6.2f} {'  '.join(cells)}{remark}", flush=True)
    for name, reason in NOT_DRIVEN.items():
        if name in names:
            print(f"{name[:20]:20} not driven: {reason}")
    others = sorted(names.keys() - KINEMATICS.keys() - NOT_DRIVEN.keys())
    print(f"without wheels: {', '.join(others)}")
    return bad
