"""Guesses of wheels, casters, sprung joints and servo joints of a robot file, as a proposal to be checked.

Robot files do not declare these properties. The radius of a wheel is the first of these that exists: the
radius of the largest round shape about its axle, the extent of its mesh, the radius of another wheel at the
same height, and the height of its axle above the ground of the other contacts. If the radius is only in a
missing mesh, the wheel is proposed without a contact (`Guess.unsure`). Notes report uncertain radii, and
joints that turn freely without a contact.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError
from draisine.interop.robots.document import warn_once
from draisine.interop.robots.mesh import read_vertices
from draisine.interop.robots.robot import (
    GROUND_TOLERANCE,
    Mass,
    MeshShape,
    Robot,
    RobotLink,
    fix_massless_joints,
    ground_tolerance,
    turns_about_axle,
)

SPRING_DEFLECTION = 0.1
"""Static deflection of guessed springs under the weight, over the wheel's radius; typical of suspensions."""

MAX_AXLE_OFFSET = 0.05
"""Largest distance between an axle and the centre of a shape that rolls about it, over the shape's radius."""

SAME_HEIGHT = 0.05
"""Largest height difference between the axles of wheels with equal radii, as a fraction of the radius."""

MIN_LEVER_ARM = 0.01
"""Smallest lever arm (m) of a wheel about its suspension hinge; without it the stiffness could vanish."""

MAX_ROUGH_GAP = 0.3
"""Largest gap (over the radius) between the ground and a wheel whose radius is guessed from its inertia.

The solid disc with the inertia of a thin rim of radius r has the radius R = sqrt(2) r. Its lowest point is
(sqrt(2) - 1) r = 0.29 R below the ground.
"""

LARGEST_USUAL_RADIUS = 3.0
"""Largest plausible wheel radius (m); above it, a note says that the file must be in metres."""

AS_DISC = "a solid disc of its mass and inertia"
"""Text in notes: the radius of a wheel without a shape comes from mass and inertia."""

ABOVE_GROUND = "the height of its axle above the ground of the other contacts"
"""Text in notes: the radius of a wheel with a missing mesh comes from the height of the axle."""

IN_MESH = "radius only in a mesh that was not found"
"""Text in notes: a wheel is proposed without a contact because its mesh is missing."""

TOO_HIGH = "above the ground"
"""Text in notes: a wheel is proposed without a contact because it does not reach the ground."""

UPWARD_GRAVITY = "Gravity points upwards in this file: the wheels lift off the ground."
"""Text in notes: the gravity vector of the file has a positive z component."""

MECANUM_NOTE = "Rollers of mecanum wheels are not modelled: the wheels roll as plain wheels."

ROLLING_NAME = re.compile("wheel|caster|tire|tyre|roller", re.IGNORECASE)
"""Pattern in the names of links that are probably wheels, rollers or casters."""


class RollingLink(NamedTuple):
    """A guessed wheel: shape, radius, centre and the origin of the radius."""

    shape: str  # "disc" or "ball"
    radius: float  # radius of the disc or ball, m
    centre: tuple[float, ...]  # centre of the wheel in the link's frame, m
    reason: str  # origin of the radius, as text


class SprungJoint(NamedTuple):
    """Guessed spring and damper of a joint."""

    spring: float  # stiffness, N m/rad or N/m
    damper: float  # viscous damping, N m s/rad or N s/m


class Guess(NamedTuple):
    """Guessed wheels, sprung joints and servo joints of a robot file, with notes for the user."""

    wheels: Mapping[str, RollingLink]  # guessed wheels by name of the link
    springs: Mapping[str, SprungJoint]  # guessed springs and dampers by name of the joint
    held: Sequence[str]  # names of joints that servos hold at a constant coordinate
    unsure: Mapping[str, RollingLink]  # proposed wheels without a contact, by name of the link
    notes: Sequence[str]  # sentences about guesses and about parts without a contact


def guess(robot: Robot) -> Guess:
    """Return the guessed wheels, sprung joints and servo joints of a robot.

    A wheel is a link with a cylinder, sphere or mesh about a horizontal axle, or a link without shapes whose
    inertia is symmetric about such an axle. Links that are fixed to a wheel (the tyre on a hub) belong to it,
    and the largest shape rolls. Shapes at the height of the ground that do not turn are casters. The lowest
    points of all wheels and casters are at about the same height. Joints between the base and a wheel that
    allow it to move vertically (slides, horizontal hinges) are sprung, unless the file has a spring. On a
    robot with wheels, servos hold the other joints with limits. The joints between a fixed base and the first
    link with mass are degrees of freedom: neither sprung nor held. A robot on a fixed base has wheels only if
    it slides.

    >>> from draisine.interop.robots.urdf import parse_urdf
    >>> cart = parse_urdf('''<robot name="cart"><link name="deck"/><link name="rim"><inertial>
    ... <mass value="1"/><inertia ixx="0.07" iyy="0.125" izz="0.07" ixy="0" ixz="0" iyz="0"/></inertial>
    ... </link><joint name="axle" type="continuous"><parent link="deck"/><child link="rim"/>
    ... <axis xyz="0 1 0"/></joint></robot>''')
    >>> guess(cart).wheels["rim"].radius
    0.5
    """
    robot = fix_massless_joints(robot, {})
    links = {link.name: link for link in robot.links}
    free = _base_joints(robot)
    if robot.base == "fixed" and not any(links[name].kind == "slide" for name in free.values()):
        return Guess({}, {}, [], {}, robot.notes)
    parts = _rigid_parts(robot)
    bodies = {n: [links[k] for k in names] for n, names in parts.items()}
    rolling = {n: wheel for n, body in bodies.items() if (wheel := _rolls(body, links))}
    rolling = _fit_rough_radii(links, rolling)
    rollers = _rollers(links, rolling)
    rolling = {n: w for n, w in rolling.items() if n not in rollers} | _omni_wheels(
        links, rollers, rolling
    )
    unknown = [n for n, body in bodies.items() if n not in rolling and _may_roll(body)]
    rolling |= _same_height(links, rolling, unknown)
    turning = {k for n in (*rolling, *unknown, *rollers) if links[n].kind for k in parts[n]}
    others = [link for name, link in links.items() if name not in turning]
    candidates = rolling | _feet(others)
    # Ground contacts are below the axles of all wheels, including wheels with an unknown radius.
    axles = [float(links[n].frame.p[2]) for n in unknown if n not in rolling]
    low = {n: w for n, w in candidates.items() if _bottom(links[n], w) < min(axles, default=np.inf)}
    wheels = _lowest(links, low)
    casters = _casters(links, wheels, others)
    wheels |= {n: foot for n, foot in casters.items() if n not in wheels}
    wheels |= _above_ground(links, wheels, unknown)
    unsure = {n: _propose_radius(bodies[n]) for n in unknown if n not in wheels}
    wheels = {n: wheels[n] for n in links if n in wheels}  # in the order of the file
    springs = _springs(robot, links, wheels, free)
    wheels, high = _on_ground(links, wheels, springs)
    unsure |= high
    moving = {link.joint for link in robot.links if link.name in wheels or link.spring}
    moving |= springs.keys() | free.keys() | {mimic.joint for mimic in robot.mimics}
    limited = [link.joint for link in robot.links if link.kind and link.limited]
    held = [joint for joint in limited if joint not in moving]
    notes = [
        *robot.notes,
        *([UPWARD_GRAVITY] if wheels and robot.gravity and robot.down[2] > 0.0 else []),
        *_notes_on_wheels(wheels, unsure, bodies),
        *_notes_on_joints(robot, wheels, unsure, rolling, rollers, held),
        *(f"{n}: its rollers are not modelled; it rolls as a plain wheel." for n in _hubs(rollers)),
    ]
    return Guess(wheels, springs, held if wheels else [], unsure, notes)


def _fit_rough_radii(
    links: Mapping[str, RobotLink], rolling: Mapping[str, RollingLink]
) -> dict[str, RollingLink]:
    """Return the wheels after a check of the radii that were guessed from inertia.

    The other wheels define the height of the ground. A small gap to the ground is closed by a change of the
    guessed radius. A link far above or below the ground is not a wheel: it may be an arm or a pulley, which
    also turns freely.
    """
    shaped = {n: wheel for n, wheel in rolling.items() if wheel.reason != AS_DISC}
    if not shaped:
        return dict(rolling)
    ground = min(_bottom(links[n], wheel) for n, wheel in shaped.items())
    fitted: dict[str, RollingLink] = {}
    for n, wheel in rolling.items():
        height = float(_centre(links[n], wheel)[2]) - ground
        gap = abs(height - wheel.radius)
        if n in shaped or gap <= ground_tolerance(wheel.radius, turns=True):
            fitted[n] = wheel
        elif gap < MAX_ROUGH_GAP * wheel.radius:
            fitted[n] = wheel._replace(radius=round(height, 6), reason=ABOVE_GROUND)
    return fitted


def _rollers(links: Mapping[str, RobotLink], rolling: Iterable[str]) -> dict[str, str]:
    """Return the omnidirectional wheel of each roller, by name of the roller.

    A roller is a link on a hinge across the axle of its wheel.
    """
    rollers = {}
    for name in rolling:
        parent = links.get(links[name].parent)
        while parent is not None and not parent.kind and parent.parent:
            parent = links[parent.parent]
        if parent is not None and turns_about_axle(parent):
            axes = np.abs(links[name].axis @ parent.axis)
            lengths = float(np.linalg.norm(links[name].axis) * np.linalg.norm(parent.axis))
            # Rollers of mecanum wheels are at 45 degrees; wheels on a rocker are parallel to its hinge.
            if axes < 0.9 * lengths:
                rollers[name] = parent.name
    return rollers


def _hubs(rollers: Mapping[str, str]) -> list[str]:
    """Return the names of the omnidirectional wheels that have rollers, in the order of the file."""
    return list(dict.fromkeys(rollers.values()))


def _omni_wheels(
    links: Mapping[str, RobotLink],
    rollers: Mapping[str, str],
    rolling: Mapping[str, RollingLink],
) -> dict[str, RollingLink]:
    """Return the omnidirectional wheels by link; the rollers define their outer radius (m)."""
    wheels: dict[str, RollingLink] = {}
    for name, hub in rollers.items():
        along = links[hub].axis / np.linalg.norm(links[hub].axis)
        arm = _distance(_centre(links[name], rolling[name]), links[hub].through, along)
        radius = round(arm + rolling[name].radius, 6)
        if hub not in wheels or radius > wheels[hub].radius:
            reason = "outer radius of its rollers"
            wheels[hub] = RollingLink("disc", radius, (0.0, 0.0, 0.0), reason)
    return wheels


def _base_joints(robot: Robot) -> dict[str, str]:
    """Return the joints that move a robot relative to a fixed base, as pairs joint -> child link.

    They lie between the base and the first links with mass. Planar motion has two slides and a hinge.
    """
    if robot.base != "fixed":
        return {}
    light = {""}
    for link in robot.links:  # parents first
        if link.parent in light and (not link.mass.mass or not link.kind):
            light.add(link.name)
    return {link.joint: link.name for link in robot.links if link.kind and link.parent in light}


def _rigid_parts(robot: Robot) -> dict[str, list[str]]:
    """Return the names of the links of each rigid body; the key is the link with the joint of the body."""
    first: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    for link in robot.links:  # parents first
        first[link.name] = link.name if link.kind or not link.parent else first[link.parent]
        parts.setdefault(first[link.name], []).append(link.name)
    return parts


def _rolls(parts: Sequence[RobotLink], links: Mapping[str, RobotLink]) -> RollingLink | None:
    """Return the guessed wheel of a rigid body, whose first link has the hinge; None if it is not a wheel."""
    link = parts[0]
    named = any(ROLLING_NAME.search(part.name) for part in parts)
    if not turns_about_axle(link) or not (named or _turns_fully(link)):
        return None
    along = link.axis / np.linalg.norm(link.axis)
    wheels = [wheel for part in parts if (wheel := _round_wheel(part, link, along))]
    if wheels:
        return max(wheels, key=lambda wheel: wheel.radius)
    known = [shape for part in parts for shape in part.meshes if shape.path is not None]
    extents = [extent for shape in known if (extent := _mesh_radius(shape, link.through, along))]
    if extents:
        return RollingLink("disc", round(max(extents), 6), (0.0, 0.0, 0.0), "extent of its mesh")
    names = {part.name for part in parts}
    ends_here = all(
        other.parent not in names for other in links.values() if other.name not in names
    )
    has_shape = any(part.rounds or part.meshes or part.boxes for part in parts)
    mass = sum((part.mass for part in parts), Mass())
    if has_shape or not ends_here or not _is_symmetric(mass, link.through, along):
        return None
    return RollingLink("disc", _disc_radius(mass, along), (0.0, 0.0, 0.0), AS_DISC)


def _turns_fully(link: RobotLink) -> bool:
    """Return whether the limits of a hinge allow a full turn; joints of arms and legs do not."""
    return link.limits is None or link.limits[1] - link.limits[0] >= 2.0 * np.pi


def _disc_radius(mass: Mass, along: Floats) -> float:
    """Return the radius (m) of a solid disc with the mass and the axial moment of a wheel."""
    return round(float(np.sqrt(2.0 * (along @ mass.inertia @ along) / mass.mass)), 6)


def _mesh_radius(mesh: MeshShape, through: Floats, along: Floats) -> float | None:
    """Return the largest distance (m) of a mesh from an axis; warn and return None if it cannot be read."""
    assert mesh.path is not None
    try:
        vertices = read_vertices(mesh.path) * mesh.scale
    except DataError as error:
        warn_once(f"mesh {mesh.name!r}: {error}")
        return None
    points = mesh.frame.p + vertices @ mesh.frame.R.T
    return float(np.linalg.norm(np.cross(points - through, along), axis=1).max())


def _may_roll(parts: Sequence[RobotLink]) -> bool:
    """Return whether a body with meshes only may be a wheel, by its name or its hinge without limits."""
    link = parts[0]
    only_meshes = any(part.meshes for part in parts) and not any(part.rounds for part in parts)
    named = any(ROLLING_NAME.search(part.name) for part in parts)
    return turns_about_axle(link) and only_meshes and (named or not link.limited)


def _same_height(
    links: Mapping[str, RobotLink], rolling: Mapping[str, RollingLink], unknown: Iterable[str]
) -> dict[str, RollingLink]:
    """Return wheels for the links `unknown`, with the radius of a wheel whose axle has the same height."""
    wheels = {}
    for name in unknown:
        height = float(links[name].frame.p[2])
        for other, wheel in rolling.items():
            if abs(float(_centre(links[other], wheel)[2]) - height) < SAME_HEIGHT * wheel.radius:
                reason = f"that of {other}, at the same height"
                wheels[name] = RollingLink("disc", wheel.radius, (0.0, 0.0, 0.0), reason)
                break
    return wheels


def _propose_radius(parts: Sequence[RobotLink]) -> RollingLink:
    """Return a proposal for a wheel whose radius is only in a missing mesh."""
    link = parts[0]
    mass = sum((part.mass for part in parts), Mass())
    along = link.axis / np.linalg.norm(link.axis)
    radius = _disc_radius(mass, along) if mass.mass > 0.0 else 0.1
    return RollingLink("disc", radius, (0.0, 0.0, 0.0), f"{IN_MESH}; here {AS_DISC}")


def _above_ground(
    links: Mapping[str, RobotLink], wheels: Mapping[str, RollingLink], unknown: Iterable[str]
) -> dict[str, RollingLink]:
    """Return wheels for the links `unknown`, with the height of the axle above the ground as radius."""
    named = [name for name in unknown if name not in wheels and ROLLING_NAME.search(name)]
    if not wheels:
        return {}
    ground = min(_bottom(links[n], wheel) for n, wheel in wheels.items())
    heights = {name: float(links[name].frame.p[2]) - ground for name in named}
    return {
        name: RollingLink("disc", round(height, 6), (0.0, 0.0, 0.0), ABOVE_GROUND)
        for name, height in heights.items()
        if height > GROUND_TOLERANCE
    }


def _on_ground(
    links: Mapping[str, RobotLink],
    wheels: Mapping[str, RollingLink],
    springs: Mapping[str, SprungJoint],
) -> tuple[dict[str, RollingLink], dict[str, RollingLink]]:
    """Return the wheels that touch the ground in the zero configuration, and those above the ground.

    If the robot has sprung joints, all wheels count as touching, because the springs deflect until they do.
    """
    if springs or not wheels:
        return dict(wheels), {}
    ground = min(_bottom(links[n], wheel) for n, wheel in wheels.items())
    low = {}
    high = {}
    for n, wheel in wheels.items():
        clearance = _bottom(links[n], wheel) - ground
        is_rough = wheel.reason == AS_DISC  # too inaccurate to decide whether the wheel touches
        if is_rough or clearance <= ground_tolerance(wheel.radius, turns_about_axle(links[n])):
            low[n] = wheel
        else:
            high[n] = wheel._replace(reason=f"{1e3 * clearance:.3g} mm {TOO_HIGH}")
    return low, high


def _round_wheel(part: RobotLink, link: RobotLink, along: Floats) -> RollingLink | None:
    """Return the wheel of the largest shape of `part` that is round about the axle; None if there is none.

    `link` is the link of the body with the hinge, and `along` the unit vector of the axle, (3,).
    """
    whose = "its" if part is link else f"{part.name}'s"
    for shape in sorted(part.rounds, key=lambda shape: -shape.radius):
        if not _distance(shape.centre, link.through, along) < MAX_AXLE_OFFSET * shape.radius:
            continue
        centre = _in_link(link, shape.centre)
        if shape.axis is None:
            return RollingLink("ball", shape.radius, centre, f"{whose} sphere")
        if abs(shape.axis @ along) > 0.99:
            return RollingLink("disc", shape.radius, centre, f"{whose} {shape.kind}")
    return None


def _feet(links: Iterable[RobotLink]) -> dict[str, RollingLink]:
    """Return the spheres of links that cannot roll (feet, caster balls) as contacts, by link."""
    feet = {}
    for link in links:
        spheres = [shape for shape in link.rounds if shape.axis is None and shape.collides]
        if spheres and not (turns_about_axle(link) and _turns_fully(link)):
            lowest = min(spheres, key=lambda shape: shape.centre[2] - shape.radius)
            centre = _in_link(link, lowest.centre)
            feet[link.name] = RollingLink("ball", lowest.radius, centre, "its sphere")
    return feet


def _casters(
    links: Mapping[str, RobotLink], wheels: Mapping[str, RollingLink], others: Iterable[RobotLink]
) -> dict[str, RollingLink]:
    """Return the cylinders, capsules and boxes that touch the ground of the wheels, as casters by link.

    Each shape is replaced by a ball that touches the ground at the middle of its lowest face or line.
    """
    if not wheels:
        return {}
    ground = min(_bottom(links[n], wheel) for n, wheel in wheels.items())
    casters = {}
    for link in others:
        if turns_about_axle(link):
            continue
        for centre, half_height, label in _extents(link):
            if abs(centre[2] - half_height - ground) <= GROUND_TOLERANCE:
                radius = round(half_height, 6)
                reason = f"half the height of its {label}"
                casters[link.name] = RollingLink("ball", radius, _in_link(link, centre), reason)
                break
    return casters


def _extents(link: RobotLink) -> list[tuple[Floats, float, str]]:
    """Return centre (3,) (m), half the height (m) and name of each box and each lying cylinder of a link."""
    extents = []
    for shape in link.rounds:
        # An upright cylinder is a leg or a bumper.
        if shape.axis is not None and shape.collides and abs(shape.axis[2]) < 0.1:
            extents.append((shape.centre, shape.radius, shape.kind))
    for box in link.boxes:
        extents.append((np.asarray(box.centre), float(np.abs(box.ways[2]).sum()), "box"))
    return extents


def _in_link(link: RobotLink, point: Floats) -> tuple[float, ...]:
    """Convert a point (3,) (m) from the global frame of the zero configuration to the frame of a link."""
    return tuple((link.frame.R.T @ (point - link.frame.p)).round(6).tolist())


def _distance(point: Floats, through: Floats, along: Floats) -> float:
    """Return the distance (m) of a point from the axis through a point along a unit vector, all (3,)."""
    return float(np.linalg.norm(np.cross(point - through, along)))


def _is_symmetric(mass: Mass, through: Floats, along: Floats) -> bool:
    """Return whether the mass distribution of a body is that of a disc about an axis, within tolerances."""
    if not mass.mass > 0.0:
        return False
    R = np.linalg.svd(along[None])[2]  # the axis, and two directions across it
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
    """Return the candidates whose lowest point is less than half a radius above the lowest of all points."""
    bottoms = {n: _bottom(links[n], wheel) for n, wheel in candidates.items()}
    ground = min(bottoms.values(), default=0.0)
    return {n: w for n, w in candidates.items() if bottoms[n] - ground < 0.5 * w.radius}


def _bottom(link: RobotLink, wheel: RollingLink) -> float:
    """Return the height of the lowest point of a wheel in the zero configuration, m."""
    return float(_centre(link, wheel)[2]) - wheel.radius


def _centre(link: RobotLink, wheel: RollingLink) -> Floats:
    """Return the centre (3,) of a wheel in the zero configuration, m."""
    return link.frame.p + link.frame.R @ np.array(wheel.centre)


def _springs(
    robot: Robot,
    links: Mapping[str, RobotLink],
    wheels: Mapping[str, RollingLink],
    free: Container[str],
) -> dict[str, SprungJoint]:
    """Return springs and dampers by joint: joints, except `free`, that let a wheel move vertically.

    Each spring carries its wheel's share of the weight. Each damper has half of the critical damping unless
    the file states a damping.
    """
    share = sum(link.mass.mass for link in robot.links) / max(1, len(wheels))
    springs: dict[str, SprungJoint] = {}
    for name, wheel in wheels.items():
        link = links[links[name].parent] if links[name].parent else links[name]
        while link.parent:
            # A hinge through the centre, such as those of a ball joint, does not lift the wheel.
            swings = turns_about_axle(link) and not _passes_through(link, links[name], wheel)
            rises = link.kind == "slide" or swings
            if rises and not link.spring and link.joint not in free:
                arm = 1.0 if link.kind == "slide" else _arm(link, _centre(links[name], wheel))
                stiffness = share * robot.gravity / (SPRING_DEFLECTION * wheel.radius)
                spring = stiffness * arm**2
                damper = link.damper or float(np.sqrt(stiffness * share)) * arm**2
                springs[link.joint] = SprungJoint(_rounded(spring), _rounded(damper))
            link = links[link.parent]
    return springs


def _passes_through(link: RobotLink, wheel_link: RobotLink, wheel: RollingLink) -> bool:
    """Return whether the axis of a hinge passes through the centre of a wheel."""
    along = link.axis / np.linalg.norm(link.axis)
    offset = _distance(_centre(wheel_link, wheel), link.through, along)
    return offset < MAX_AXLE_OFFSET * wheel.radius


def _arm(link: RobotLink, wheel: Floats) -> float:
    """Return the distance (m) of a wheel centre (3,) from a suspension hinge, at least `MIN_LEVER_ARM`."""
    along = link.axis / np.linalg.norm(link.axis)
    return max(_distance(wheel, link.through, along), MIN_LEVER_ARM)


def _rounded(value: float) -> float:
    """Return a number rounded to three significant digits.

    >>> _rounded(1234.5)
    1230.0
    """
    return float(f"{value:.3g}")


def _notes_on_wheels(
    wheels: Mapping[str, RollingLink],
    unsure: Mapping[str, RollingLink],
    bodies: Mapping[str, Sequence[RobotLink]],
) -> list[str]:
    """Return sentences about radii that the file does not state."""
    notes = []
    for name, wheel in wheels.items():
        if wheel.radius > LARGEST_USUAL_RADIUS:
            notes.append(f"{name}: the radius is {wheel.radius:g} m; the file must be in metres.")
        if wheel.reason in (AS_DISC, ABOVE_GROUND) or "same height" in wheel.reason:
            notes.append(f"{name}: the radius is guessed, {wheel.reason}.")
        if "half the height" in wheel.reason:
            notes.append(
                f"{name}: it has no horizontal axle; a ball that slides replaces it, {wheel.reason}."
            )
    in_meshes = [name for name, wheel in unsure.items() if IN_MESH in wheel.reason]
    if in_meshes:
        shapes = {
            shape.name for name in in_meshes for part in bodies[name] for shape in part.meshes
        }
        notes.append(
            f"{', '.join(in_meshes)}: the radius is only in meshes that were not found "
            f"({', '.join(sorted(shapes)[:3])}{', ...' if len(shapes) > 3 else ''}); these wheels are "
            "comments in WHEELS."
        )
    for name, wheel in unsure.items():
        if wheel.reason.endswith(TOO_HIGH):
            notes.append(f"{name} is {wheel.reason}; this wheel is a comment in WHEELS.")
    return notes


def _notes_on_joints(
    robot: Robot,
    wheels: Mapping[str, RollingLink],
    unsure: Container[str],
    rolling: Container[str],
    rollers: Container[str],
    held: Container[str],
) -> list[str]:
    """Return sentences about joints that turn freely without a contact, and about mecanum wheels."""
    notes: list[str] = []
    links = {link.name: link for link in robot.links}
    if robot.base == "fixed" and not wheels:
        return notes
    candidates = [name for name in links if name in wheels or name in unsure]
    steering = _steering_joints(links, candidates)
    followers = {mimic.joint for mimic in robot.mimics}
    for link in robot.links:
        is_free_hinge = link.kind == "hinge" and not link.limited and not link.spring
        if not is_free_hinge or link.name in wheels or link.name in unsure:
            continue
        if link.joint in followers or link.name in rollers:
            continue
        if link.joint in steering:
            if any(joint in held for joint in steering if joint != link.joint):
                notes.append(
                    f"joint {link.joint!r} steers a wheel and moves freely, while another steering joint "
                    "is held; add it to HELD, or couple both."
                )
        elif link.name in rolling:
            notes.append(f"joint {link.joint!r} turns freely; its wheel is above the ground.")
        else:
            notes.append(f"joint {link.joint!r} turns freely and has no contact with the ground.")
    meshes = " ".join(shape.name for link in robot.links for shape in link.meshes)
    if re.search("mecanum", f"{robot.name} {meshes} {' '.join(links)}", re.IGNORECASE):
        notes.append(MECANUM_NOTE)
    return notes


def _steering_joints(links: Mapping[str, RobotLink], wheels: Iterable[str]) -> set[str]:
    """Return the vertical hinges between the base and a wheel."""
    steering = set()
    for name in wheels:
        link = links[name]
        while link.parent:
            link = links[link.parent]
            if link.kind == "hinge" and not turns_about_axle(link):
                steering.add(link.joint)
    return steering
