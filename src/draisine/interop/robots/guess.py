"""Guesses of wheels, sprung joints and servo joints of a robot, as a proposal to be checked.

Robot files do not declare them. The guesses use round shapes, horizontal axles and limits of joints.

"""

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.interop.robots.robot import Mass, Robot, RobotLink

SPRING_DEFLECTION = 0.1
"""Static deflection of guessed springs, relative to the wheel radius, as in usual suspensions."""

MAX_AXLE_OFFSET = 0.05
"""Largest distance between the centre of a round shape and the axle of a wheel, relative to its radius."""

MIN_LEVER_ARM = 0.01
"""m; smallest distance between wheel and hinge; a shorter one would yield a vanishing stiffness."""

DISC_REASON = "a solid disc of its mass and inertia"
"""Reason for the guessed radius of a wheel without a round shape."""


class RollingLink(NamedTuple):
    """A guessed wheel of a robot."""

    shape: str  # "disc" or "ball"
    radius: float  # radius of the wheel, m
    centre: tuple[float, ...]  # (3,), centre of the wheel in the link's frame, m
    reason: str  # explanation of the guessed radius


class SprungJoint(NamedTuple):
    """A joint with guessed spring and damper."""

    spring: float  # stiffness, N m/rad or N/m
    damper: float  # damping coefficient, N m s/rad or N s/m


class Guess(NamedTuple):
    """Guessed wheels, sprung joints and servo joints of a robot."""

    wheels: Mapping[str, RollingLink]  # wheels by name of the link
    springs: Mapping[str, SprungJoint]  # springs by name of the joint
    held: Sequence[str]  # names of joints that servos hold


def guess(robot: Robot) -> Guess:
    """Guess the wheels, sprung joints and servo joints of a robot.

    Wheels have cylinders or spheres about horizontal axles, or are symmetric about such an axle without any
    shape. Links that are fixed to a wheel (the tyre on a hub) belong to it, and the largest shape rolls.
    Spheres that are fixed elsewhere are feet. Wheels and feet reach about as low as the lowest one. Joints
    between the base and a wheel that allow it to move vertically (slides, horizontal hinges) are sprung,
    unless the file has a spring. On a machine with wheels, other joints with limits are held by servos. The
    joints between a fixed base and the first link with mass are free: neither sprung nor held.

    >>> from draisine.interop.robots.urdf import parse_urdf
    >>> cart = parse_urdf('''<robot name="cart"><link name="deck"/><link name="rim"><inertial>
    ... <mass value="1"/><inertia ixx="0.07" iyy="0.125" izz="0.07" ixy="0" ixz="0" iyz="0"/></inertial>
    ... </link><joint name="axle" type="continuous"><parent link="deck"/><child link="rim"/>
    ... <axis xyz="0 1 0"/></joint></robot>''')
    >>> guess(cart).wheels["rim"].radius
    0.5
    """
    links = {link.name: link for link in robot.links}
    parts = _rigid_parts(robot)
    rolling = {n: wheel for n in parts if (wheel := _rolls([links[k] for k in parts[n]], links))}
    turning = {k for n in rolling if links[n].kind for k in parts[n]}
    feet = {n: foot for n in links.keys() - turning if (foot := _foot(links[n]))}
    candidates = {n: wheel for n in links if (wheel := rolling.get(n) or feet.get(n))}
    wheels = _lowest(links, candidates)
    free = _base_joints(robot, links)
    springs = _springs(robot, links, wheels, free)
    moving = {link.joint for link in robot.links if link.name in wheels or link.spring}
    moving |= springs.keys() | free
    held = [link.joint for link in robot.links if link.limited and link.joint not in moving]
    return Guess(wheels, springs, held if wheels else [])


def _base_joints(robot: Robot, links: Mapping[str, RobotLink]) -> set[str]:
    """Return the names of the joints between a fixed base and the first links with mass.

    These joints are the degrees of freedom of the machine in the world, such as two slides and a hinge for
    planar motion.
    """
    if robot.base != "fixed":
        return set()
    light = {""}
    for link in robot.links:  # parents first
        if link.parent in light and (not link.mass.mass or not link.kind):
            light.add(link.name)
    return {link.joint for link in robot.links if link.kind and link.parent in light}


def _is_level(link: RobotLink) -> bool:
    """Return whether the joint of a link is a hinge with a nearly horizontal axis."""
    return link.kind == "hinge" and abs(link.axis[2]) < 0.5 * float(np.linalg.norm(link.axis))


def _rigid_parts(robot: Robot) -> dict[str, list[str]]:
    """Return the links of each rigid body, by the name of the first link, which has the joint."""
    first: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    for link in robot.links:  # parents first
        first[link.name] = link.name if link.kind or not link.parent else first[link.parent]
        parts.setdefault(first[link.name], []).append(link.name)
    return parts


def _rolls(parts: Sequence[RobotLink], links: Mapping[str, RobotLink]) -> RollingLink | None:
    """Return the guessed wheel of a rigid body with a horizontal hinge; None if it does not roll."""
    link = parts[0]
    if not _is_level(link):
        return None
    along = link.axis / np.linalg.norm(link.axis)
    wheels = [wheel for part in parts if (wheel := _round_wheel(part, link, along))]
    if wheels:
        return max(wheels, key=lambda wheel: wheel.radius)
    names = {part.name for part in parts}
    ends_here = all(
        other.parent not in names for other in links.values() if other.name not in names
    )
    mass = sum((part.mass for part in parts), Mass())
    if any(part.rounds for part in parts) or not ends_here:
        return None
    if not _is_symmetric(mass, link.through, along):
        return None
    radius = float(np.sqrt(2.0 * (along @ mass.inertia @ along) / mass.mass))
    return RollingLink("disc", round(radius, 6), (0.0, 0.0, 0.0), DISC_REASON)


def _round_wheel(part: RobotLink, link: RobotLink, along: Floats) -> RollingLink | None:
    """Return the wheel of the first shape of a link that is round about the axle, or None."""
    whose = "its" if part is link else f"{part.name}'s"
    for shape in part.rounds:
        if not _distance(shape.centre, link.through, along) < MAX_AXLE_OFFSET * shape.radius:
            continue
        centre = tuple((link.frame.R.T @ (shape.centre - link.frame.p)).round(6).tolist())
        if shape.axis is None:
            return RollingLink("ball", shape.radius, centre, f"{whose} sphere")
        if abs(shape.axis @ along) > 0.99:
            return RollingLink("disc", shape.radius, centre, f"{whose} cylinder")
    return None


def _foot(link: RobotLink) -> RollingLink | None:
    """Return the sphere of a fixed link that is a foot or the ball of a caster; None if there is none."""
    for shape in link.rounds if not link.kind else ():
        if shape.axis is None:
            centre = tuple((link.frame.R.T @ (shape.centre - link.frame.p)).round(6).tolist())
            return RollingLink("ball", shape.radius, centre, "its sphere")
    return None


def _distance(point: Floats, through: Floats, along: Floats) -> float:
    """Return the distance (m) of a point (3,) from an axis through a point along a unit vector."""
    return float(np.linalg.norm(np.cross(point - through, along)))


def _is_symmetric(mass: Mass, through: Floats, along: Floats) -> bool:
    """Return whether mass and inertia are symmetric about an axis, like those of a disc."""
    if not mass.mass > 0.0:
        return False
    R = np.linalg.svd(along[None])[2]  # rows: the axis, and two perpendicular directions
    inertia = R @ mass.inertia @ R.T
    axial = inertia[0, 0]
    across = inertia[1:, 1:]
    gyration = float(np.sqrt(max(axial, 0.0) / mass.mass))
    even = np.abs(across - across.trace() / 2.0 * np.eye(2)).max() < 0.05 * axial
    centred = _distance(mass.com, through, along) < 0.1 * gyration
    return bool(even and axial > across[0, 0] and centred)


def _lowest(
    links: Mapping[str, RobotLink], candidates: Mapping[str, RollingLink]
) -> dict[str, RollingLink]:
    """Return the wheel candidates that reach about as low as the lowest one (within half a radius)."""
    bottoms = {n: float(_centre(links[n], w)[2]) - w.radius for n, w in candidates.items()}
    ground = min(bottoms.values(), default=0.0)
    return {n: w for n, w in candidates.items() if bottoms[n] - ground < 0.5 * w.radius}


def _centre(link: RobotLink, wheel: RollingLink) -> Floats:
    """Return the centre (3,) of a wheel in the drawing, m."""
    return link.frame.p + link.frame.R @ np.array(wheel.centre)


def _springs(
    robot: Robot,
    links: Mapping[str, RobotLink],
    wheels: Mapping[str, RollingLink],
    free: Container[str],
) -> dict[str, SprungJoint]:
    """Return springs and dampers of joints that allow wheels to move vertically, except joints in `free`.

    A spring carries the share of the weight on its wheel. A damper has half of the critical damping, unless
    the file specifies it.
    """
    share = sum(link.mass.mass for link in robot.links) / max(1, len(wheels))
    springs: dict[str, SprungJoint] = {}
    for name, wheel in wheels.items():
        link = links[links[name].parent] if links[name].parent else links[name]
        while link.parent:
            rises = link.kind == "slide" or _is_level(link)
            if rises and not link.spring and link.joint not in free:
                arm = 1.0 if link.kind == "slide" else _arm(link, _centre(links[name], wheel))
                stiffness = share * robot.gravity / (SPRING_DEFLECTION * wheel.radius)
                spring = stiffness * arm**2
                damper = link.damper or float(np.sqrt(stiffness * share)) * arm**2
                springs[link.joint] = SprungJoint(_rounded(spring), _rounded(damper))
            link = links[link.parent]
    return springs


def _arm(link: RobotLink, wheel: Floats) -> float:
    """Return the lever arm (m) of a wheel about the hinge that allows it to move vertically."""
    along = link.axis / np.linalg.norm(link.axis)
    return max(_distance(wheel, link.through, along), MIN_LEVER_ARM)


def _rounded(value: float) -> float:
    """Round a number to three significant digits.

    >>> _rounded(1234.5)
    1230.0
    """
    return float(f"{value:.3g}")
