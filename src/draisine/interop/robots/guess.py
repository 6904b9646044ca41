"""What of a robot's file seems to roll, to give and to be held: a first answer, for a person to look over.

Files of robots do not say it. What they have are round shapes, level axles and limits of joints.
"""

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.interop.robots.robot import Mass, Robot, RobotLink

SAG = 0.1
"""So much of a wheel's radius springs give way under the machine's weight, if nothing else is known."""


AS_DISC = "a solid disc of its mass and inertia"
"""What says how large a wheel is that has no shape."""


class RollingLink(NamedTuple):
    """A link that seems to roll: on a disc or a ball, how large, where in its own frame, and what says
    so.
    """

    shape: str
    radius: float
    centre: tuple[float, ...]
    reason: str


class SprungJoint(NamedTuple):
    """A joint that seems to need a spring: its stiffness and damping, in SI units."""

    spring: float
    damper: float


class Guess(NamedTuple):
    """Links that roll, joints that give, joints that servos hold."""

    wheels: Mapping[str, RollingLink]
    springs: Mapping[str, SprungJoint]
    held: Sequence[str]


def guess(robot: Robot) -> Guess:
    """Return what seems to roll, to give and to be held.

    Wheels have cylinders or spheres about level axles, or are symmetric about one without any shape.
    Links that are fixed to a wheel (the tyre on a hub) are parts of it, and the largest shape rolls.
    Spheres that are fixed elsewhere are feet. All reach about as low as the lowest. Joints between the
    base and a wheel that let it rise (slides, level hinges) are sprung, unless the file has a spring
    for them. Joints with limits that do neither are held, on a machine with wheels. The joints between
    a fixed base and the first link with mass are degrees of freedom: they are neither sprung nor held.

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
    feet = {n: foot for n in links.keys() - turning if (foot := _stands(links[n]))}
    found = {n: wheel for n in links if (wheel := rolling.get(n) or feet.get(n))}
    wheels = _lowest(links, found)
    free = _base_joints(robot, links)
    springs = _springs(robot, links, wheels, free)
    left = {link.joint for link in robot.links if link.name in wheels or link.spring}
    left |= springs.keys() | free
    held = [link.joint for link in robot.links if link.limited and link.joint not in left]
    return Guess(wheels, springs, held if wheels else [])


def _base_joints(robot: Robot, links: Mapping[str, RobotLink]) -> set[str]:
    """Return the joints between a fixed base and the first links with mass: freedoms of the machine in
    the world, such as the slides and the hinge of one that moves in a plane.
    """
    if robot.base != "fixed":
        return set()
    light = {""}
    for link in robot.links:  # parents first
        if link.parent in light and (not link.mass.mass or not link.kind):
            light.add(link.name)
    return {link.joint for link in robot.links if link.kind and link.parent in light}


def _is_level(link: RobotLink) -> bool:
    """Return whether a link hangs on a hinge whose axis is level."""
    return link.kind == "hinge" and abs(link.axis[2]) < 0.5 * float(np.linalg.norm(link.axis))


def _rigid_parts(robot: Robot) -> dict[str, list[str]]:
    """Return the links of each rigid body by the name of its first one, which has the joint."""
    first: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    for link in robot.links:  # parents first
        first[link.name] = link.name if link.kind or not link.parent else first[link.parent]
        parts.setdefault(first[link.name], []).append(link.name)
    return parts


def _rolls(parts: Sequence[RobotLink], links: Mapping[str, RobotLink]) -> RollingLink | None:
    """Return what a rigid body on a level hinge seems to roll on; the first of its links has the hinge."""
    link = parts[0]
    if not _is_level(link):
        return None
    along = link.axis / np.linalg.norm(link.axis)
    found = [wheel for part in parts if (wheel := _round_wheel(part, link, along))]
    if found:
        return max(found, key=lambda wheel: wheel.radius)
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
    return RollingLink("disc", round(radius, 6), (0.0, 0.0, 0.0), AS_DISC)


def _round_wheel(part: RobotLink, link: RobotLink, along: Floats) -> RollingLink | None:
    """Return the first shape of a part that is round about the axle of the link that turns it."""
    whose = "its" if part is link else f"{part.name}'s"
    for shape in part.rounds:
        if not _distance(shape.centre, link.through, along) < 0.05 * shape.radius:
            continue
        centre = tuple((link.frame.R.T @ (shape.centre - link.frame.p)).round(6).tolist())
        if shape.axis is None:
            return RollingLink("ball", shape.radius, centre, f"{whose} sphere")
        if abs(shape.axis @ along) > 0.99:
            return RollingLink("disc", shape.radius, centre, f"{whose} cylinder")
    return None


def _stands(link: RobotLink) -> RollingLink | None:
    """Return the sphere on which a fixed link seems to stand: a foot, or the ball of a caster."""
    for shape in link.rounds if not link.kind else ():
        if shape.axis is None:
            centre = tuple((link.frame.R.T @ (shape.centre - link.frame.p)).round(6).tolist())
            return RollingLink("ball", shape.radius, centre, "its sphere")
    return None


def _distance(point: Floats, through: Floats, along: Floats) -> float:
    """Return how far a point is from an axis."""
    return float(np.linalg.norm(np.cross(point - through, along)))


def _is_symmetric(one: Mass, through: Floats, along: Floats) -> bool:
    """Return whether mass and inertia look the same all around an axis, as a disc's do."""
    if not one.mass > 0.0:
        return False
    R = np.linalg.svd(along[None])[2]  # the axis, and two directions across it
    inertia = R @ one.inertia @ R.T
    axial = inertia[0, 0]
    across = inertia[1:, 1:]
    size = float(np.sqrt(max(axial, 0.0) / one.mass))
    even = np.abs(across - across.trace() / 2.0 * np.eye(2)).max() < 0.05 * axial
    return bool(even and axial > across[0, 0] and _distance(one.com, through, along) < 0.1 * size)


def _lowest(
    links: Mapping[str, RobotLink], found: Mapping[str, RollingLink]
) -> dict[str, RollingLink]:
    """Return those that reach about as low as the lowest does."""
    bottoms = {n: float(_centre(links[n], one)[2]) - one.radius for n, one in found.items()}
    ground = min(bottoms.values(), default=0.0)
    return {n: one for n, one in found.items() if bottoms[n] - ground < 0.5 * one.radius}


def _centre(link: RobotLink, wheel: RollingLink) -> Floats:
    """Return where a wheel stands in the drawing."""
    return link.frame.p + link.frame.R @ np.array(wheel.centre)


def _springs(
    robot: Robot,
    links: Mapping[str, RobotLink],
    wheels: Mapping[str, RollingLink],
    free: Container[str],
) -> dict[str, SprungJoint]:
    """Return joints that let wheels rise, but for those that are free, with springs that carry their share
    of the machine, and dampers of half the critical size where the file has none.
    """
    share = sum(link.mass.mass for link in robot.links) / max(1, len(wheels))
    found: dict[str, SprungJoint] = {}
    for name, wheel in wheels.items():
        link = links[links[name].parent] if links[name].parent else links[name]
        while link.parent:
            rises = link.kind == "slide" or _is_level(link)
            if rises and not link.spring and link.joint not in free:
                arm = 1.0 if link.kind == "slide" else _arm(link, _centre(links[name], wheel))
                stiff = share * robot.gravity / (SAG * wheel.radius)
                spring = stiff * arm**2
                damper = link.damper or float(np.sqrt(stiff * share)) * arm**2
                found[link.joint] = SprungJoint(_rounded(spring), _rounded(damper))
            link = links[link.parent]
    return found


def _arm(link: RobotLink, wheel: Floats) -> float:
    """Return how far a wheel is from the hinge that lets it rise."""
    along = link.axis / np.linalg.norm(link.axis)
    return max(_distance(wheel, link.through, along), 0.01)


def _rounded(value: float) -> float:
    """Return a number with three digits.

    >>> _rounded(1234.5)
    1230.0
    """
    return float(f"{value:.3g}")
