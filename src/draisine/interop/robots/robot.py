"""Vehicles from robot files: a tree of links with joints, and wheels that are declared separately.

`urdf` and `mjcf` read robot files into a `Robot`. `robot_vehicle` makes a vehicle of it in four steps: it
merges links without a joint with their parents, converts joints to screw axes in the zero configuration and
`mimic` joints to coupling constraints, places the wheels on the ground, and adds properties that robot files
cannot express: rolling wheels, springs and prescribed motions of joints. `guess` proposes such properties.
"""

import itertools
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats, Vector
from draisine.errors import ModelError, did_you_mean, expect_known
from draisine.interop.robots.document import warn_once
from draisine.interop.robots.sensors import place_sensors, rename_sensors
from draisine.mechanics.forces.gravity_compensation import GravityCompensation
from draisine.mechanics.forces.sticking_friction import StickingFriction
from draisine.model import (
    Body,
    Coupling,
    Joint,
    Model,
    Motor,
    Prismatic,
    Revolute,
    Wheel,
    forward_speed,
)
from draisine.model.body import MAX_NUMBER, BodyBox, vector
from draisine.model.force import Tyre
from draisine.model.model import NAME_PATTERN
from draisine.model.names import RESERVED_RESULT_NAMES
from draisine.model.surface import Disc, Round, Surface

GROUND_TOLERANCE = 2.5e-3
"""Largest height difference (m) between the lowest points of wheels and casters on the same ground plane.

Differences in public robot files range from 3 um (rounding) to 2 mm (clearance of a caster).
"""

MAX_RADIUS_CHANGE = 0.05
"""Largest enlargement of a turning wheel that makes it reach the ground, over its radius."""

ROUND_WHEEL_TOLERANCE = 0.05
"""Largest asymmetry of a wheel that is corrected.

Bound of the deviation of the inertia tensor, over the axial moment of inertia, and of the offset of the
centre of mass from the axle, over the radius.
"""

NEGLIGIBLE_GYRATION = 1e-6
"""Negative moments of inertia above -mass times the square of this length (m) are round-off errors."""

MAX_STEM = 80
"""Length of a shortened name in characters; it leaves room for a suffix (`NAME_PATTERN` allows 100)."""

ROBOT_JOINTS: dict[str, type[Joint]] = {"hinge": Revolute, "slide": Prismatic}
"""Joint class for each value of `RobotLink.kind`."""

Vehicle = Callable[..., Model]
"""Type of a vehicle: a function of parameters that returns a `Model`."""


class LinkFrame(NamedTuple):
    """A frame of a link or shape, relative to the global frame of the zero configuration."""

    R: Floats  # (3, 3), axes as columns
    p: Floats  # (3,), origin, m

    def __matmul__(self, other: "LinkFrame") -> "LinkFrame":
        return LinkFrame(self.R @ other.R, self.p + self.R @ other.p)


DRAWING_FRAME = LinkFrame(np.eye(3), np.zeros(3))
"""The global frame of the zero configuration."""


@dataclass(frozen=True, eq=False)
class Mass:
    """Mass properties of a link in the global frame of the zero configuration."""

    mass: float = 0.0  # kg
    com: Floats = field(default_factory=lambda: np.zeros(3))  # centre of mass, m
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))  # about `com`, kg m2

    def __add__(self, other: "Mass") -> "Mass":
        mass = self.mass + other.mass
        if mass == 0.0:
            return replace(self, inertia=self.inertia + other.inertia)
        com = (self.mass * self.com + other.mass * other.com) / mass
        return Mass(mass, com, self.about(com) + other.about(com))

    def about(self, point: Floats) -> Floats:
        """Return the inertia (3, 3) about a point (3,), by the parallel axis theorem."""
        d = self.com - point
        return self.inertia + self.mass * (d @ d * np.eye(3) - np.outer(d, d))


def stated_mass(mass: float, tensor: Floats, frame: LinkFrame) -> Mass:
    """Return the mass properties of an <inertial> element with a mass (kg) and a tensor (kg m2) in a frame.

    Negative principal moments below the round-off of CAD programs become zero.
    """
    moments, axes = np.linalg.eigh(tensor)
    if -(NEGLIGIBLE_GYRATION**2) * mass <= moments[0] < 0.0:
        tensor = axes * np.maximum(moments, 0.0) @ axes.T
    return Mass(mass, frame.p, frame.R @ tensor @ frame.R.T)


class RoundShape(NamedTuple):
    """A sphere, cylinder, capsule or round ellipsoid of a robot file, in the zero configuration."""

    radius: float  # m
    centre: Floats  # (3,), m
    axis: Floats | None = None  # unit vector of the axis of symmetry, (3,); None for a sphere
    collides: bool = True  # whether it is a collision shape
    kind: str = "cylinder"  # name of the shape in the file


class MeshShape(NamedTuple):
    """A mesh of a robot file; only its extent is used."""

    name: str  # name of the mesh in the robot file
    path: Path | None  # path of the mesh file; None if it was not found
    frame: LinkFrame  # frame of the mesh in the zero configuration
    scale: Floats  # scale factors of the coordinates, (3,)


@dataclass(frozen=True, eq=False)
class RobotLink:
    """A rigid link in the zero configuration, with the joint to its parent.

    The shapes `rounds`, `boxes` and `meshes` do not affect the motion; `guess` uses them to find wheels.
    """

    name: str
    parent: str  # name of the parent link; empty for the base
    frame: LinkFrame
    mass: Mass
    kind: str = ""  # "hinge", "slide", or "" if fixed to the parent or the base
    joint: str = ""  # name of the joint
    axis: Floats = field(default_factory=lambda: np.zeros(3))  # unit vector of the joint axis
    through: Floats = field(default_factory=lambda: np.zeros(3))  # point on the joint axis, m
    spring: float = 0.0  # stiffness of the joint, N m/rad or N/m
    damper: float = 0.0  # viscous damping of the joint, N m s/rad or N s/m
    rest: float = 0.0  # joint coordinate of the unloaded spring, rad or m
    armature: float = 0.0  # inertia of the motor reflected to the joint, kg m2 or kg
    friction: float = 0.0  # dry friction of the joint, N m or N
    rounds: tuple[RoundShape, ...] = ()
    boxes: tuple[BodyBox, ...] = ()  # boxes for pictures
    meshes: tuple[MeshShape, ...] = ()
    limited: bool = False  # whether the joint has limits; their values may be missing
    limits: tuple[float, float] | None = None  # lower and upper joint limit, rad or m
    motor: Motor | None = None  # limits of the drive; None if the file states none
    gravity_compensation: float = 0.0  # fraction of the weight that a drive cancels


class Mimic(NamedTuple):
    """A joint whose coordinate follows that of another joint: r = factor * leader + offset."""

    joint: str
    leader: str
    factor: float  # ratio of joint rates; in rad/m or m/rad between a hinge and a slide
    offset: float  # coordinate of the following joint if that of the leader is zero, rad or m


DOWN = np.array([0.0, 0.0, -1.0])
"""Direction of gravity, unit vector (3,); robot files have z up."""


class Robot(NamedTuple):
    """Content of a robot file."""

    name: str
    links: Sequence[RobotLink]  # tree of links, parents before children
    base: str  # Lie group of the motion of the base: "SE(3)", "fixed", ...
    gravity: float  # gravitational acceleration, m/s2
    down: Floats = DOWN  # (3,), unit vector of gravity in the zero configuration
    mimics: Sequence[Mimic] = ()
    sensors: Sequence[Any] = ()  # sensors on the links, in the zero configuration of the file
    notes: Sequence[str] = ()  # sentences about servo drives, whose set-points are not inputs


@dataclass(frozen=True, eq=False)
class RobotWheel:
    """Geometry and tyre of a wheel that is attached to a link.

    Parameters
    ----------
    surface
        Surface of the wheel, or the radius (m) of a thin disc.
    tyre
        Tyre model; None for rolling without slip.
    centre
        Centre of the wheel in the link's frame, m.
    """

    surface: Any
    tyre: Tyre | None = None
    centre: Vector = (0.0, 0.0, 0.0)


JOINT_PROPERTIES = (
    "spring", "damper", "rest", "armature", "friction", "motion", "stops", "motor",
)  # fmt: skip
"""Names of the joint properties that the argument `joints` of the readers can set."""


def robot_vehicle(
    robot: Robot,
    wheels: Mapping[str, Any],
    joints: Mapping[str, Mapping[str, Any]] | None = None,
) -> Vehicle:
    """Build a vehicle from the content of a robot file and its declared wheels.

    The centre of a wheel is at the origin of its link, unless its `RobotWheel` states another centre. The
    wheel rolls about the axis of its joint. A wheel without a horizontal hinge is a caster, which slides, if
    another wheel has one. Wheels within `GROUND_TOLERANCE` of the lowest wheel are lowered onto the ground.
    Limits of joints are stops in runs on a terrain. Limits of motors apply to inputs and control laws.

    Parameters
    ----------
    robot
        Content of the file.
    wheels
        Radius (m), surface or `RobotWheel` of each link that rolls, by name.
    joints
        Properties of joints that replace those of the file, by name; see `JOINT_PROPERTIES`.
    """
    robot = fix_massless_joints(robot, wheels)
    links = robot.links
    base = robot.base
    by_name = _by_name(links)
    rolling = {name: _wheel(name, wheel, by_name) for name, wheel in wheels.items()}
    changes = _check_joints(joints or {}, links)
    body_of = _merge(links)
    if not any(link.mass.mass or link.armature for link in links):
        raise ModelError("No link has a mass; add <inertial> with a mass to each moving link.")
    masses = _masses(links, body_of, {n: _reach(n, wheel) for n, wheel in rolling.items()})
    turning = {n for n in rolling if turns_about_axle(by_name[n])}
    rolling = _level(rolling, by_name, turning)
    centres = {n: _hub(by_name[n], wheel) for n, wheel in rolling.items()}
    # Lift the zero configuration so that the lowest wheel touches the ground.
    lowest = min((_bottom(by_name[n], rolling[n]) for n in rolling), default=0.0)
    lift = np.array([0.0, 0.0, -lowest])
    bodies = [
        Body(n, mass.mass, mass.com + lift, mass.inertia, boxes=_boxes(n, links, body_of, lift))
        for n, mass in masses.items()
    ]
    moving = [link for link in links if link.kind]
    screws = [
        _joint(link, body_of[link.parent], lift, changes.get(link.joint, {})) for link in moving
    ]
    elements: list[Any] = [*_frictions(moving, changes), *_compensations(links, body_of, robot)]
    origin = links[0].name
    point = links[0].frame.p + lift
    coordinates = ", ".join(f"{x:.4g}" for x in point + 0.0)
    meaning = (
        f"velocity of the origin of {origin}, ({coordinates}) in the drawing, along the heading"
    )
    outputs = [] if base == "fixed" else [forward_speed(origin, point, meaning)]
    contacts = []
    for n, wheel in rolling.items():
        options: dict[str, Any] = {
            "tyre": wheel.tyre,
            "slides": bool(turning) and n not in turning and wheel.tyre is None,
        }
        centre = centres[n] + lift
        axle = _axle(by_name[n])
        contacts.append(Wheel(n, body_of[n], centre, axle, wheel.surface, **options))
    couplings = _couplings(robot.mimics, changes)
    names = [screw.name for screw in screws]
    sensors = place_sensors(robot.sensors, body_of, lift, names, rolling)
    down = robot.down

    def vehicle(*, g: float = robot.gravity) -> Model:
        gravity = tuple(g * float(x) for x in down)
        return Model(
            bodies,
            screws,
            contacts,
            elements,
            gravity,
            base,
            outputs,
            couplings=couplings,
            sensors=sensors,
        )

    vehicle.__name__ = re.sub(r"\W", "_", robot.name) or "robot"
    vehicle.__doc__ = f"Return the robot {robot.name!r}; g is gravity."
    return vehicle


def turns_about_axle(link: RobotLink) -> bool:
    """Return whether a link has a hinge with a nearly horizontal axis (within 30 degrees)."""
    return link.kind == "hinge" and abs(link.axis[2]) < 0.5 * float(np.linalg.norm(link.axis))


def fix_massless_joints(robot: Robot, wheels: Mapping[str, Any]) -> Robot:
    """Return a robot in which all joints that move no mass are fixed: their equations would be singular.

    Such joints belong to virtual wheels or to frames of motion planners. A hinge stays if it moves an inertia
    without a mass; a joint with an armature stays. If several joints mimic a joint that is fixed here, the
    first of them becomes the leader of the others.
    """
    massive = set(wheels)  # names of links that move a mass
    inert = set(wheels)  # names of links that move a mass or an inertia
    for link in reversed(robot.links):  # children first
        # Negative masses are kept: `Body` refuses them by name.
        if link.mass.mass != 0.0 or link.name in massive:
            massive |= {link.name, link.parent}
        if link.name in massive or link.name in inert or link.mass.inertia.any():
            inert |= {link.name, link.parent}
    massless = [
        link
        for link in robot.links
        if link.kind
        and link.armature == 0.0
        and link.name not in (inert if link.kind == "hinge" else massive)
    ]
    if not massless:
        return robot
    names = {link.joint for link in massless}
    for link in massless:
        warn_once(f"joint {link.joint!r}: it moves no mass; it is fixed.")
    links = [replace(link, kind="") if link in massless else link for link in robot.links]
    mimics = [m for m in robot.mimics if m.joint not in names and m.leader not in names]
    for name in names:
        leads = [m for m in robot.mimics if m.leader == name and m.joint not in names]
        followers = [m for m in leads if m.factor]
        for first, other in zip(followers[:1] * len(followers), followers[1:], strict=False):
            factor = other.factor / first.factor
            offset = other.offset - factor * first.offset
            mimics.append(Mimic(other.joint, first.joint, factor, offset))
    return robot._replace(links=links, mimics=mimics)


def _couplings(mimics: Sequence[Mimic], changes: Mapping[str, Mapping[str, Any]]) -> list[Coupling]:
    """Return the coupling constraints of mimic joints; a mimic joint with a prescribed motion has none."""

    def constraint(mimic: Mimic) -> Callable[[Any, Any], Any]:
        return lambda r, leader: r - mimic.factor * leader - mimic.offset

    return [
        Coupling(f"{m.joint} mimics {m.leader}", (m.joint, m.leader), constraint(m))
        for m in mimics
        if changes.get(m.joint, {}).get("motion") is None
    ]


def _compensations(
    links: Sequence[RobotLink], body_of: Mapping[str, str], robot: Robot
) -> list[GravityCompensation]:
    """Return the force elements that cancel a fraction of the weight of bodies."""
    cancelled: dict[str, float] = {}  # compensated mass of each body, kg
    for link in links:
        if link.gravity_compensation:
            body = body_of[link.name]
            cancelled[body] = cancelled.get(body, 0.0) + link.gravity_compensation * link.mass.mass
    forces = {body: -mass * robot.gravity * robot.down for body, mass in cancelled.items()}
    return [GravityCompensation(body, tuple(force.tolist())) for body, force in forces.items()]


def _hub(link: RobotLink, wheel: RobotWheel) -> Floats:
    """Return the centre (3,) of a wheel in the zero configuration, m."""
    return link.frame.p + link.frame.R @ np.asarray(wheel.centre, float)


def _bottom(link: RobotLink, wheel: RobotWheel) -> float:
    """Return the height of the lowest point of a wheel in the zero configuration, m."""
    surface = wheel.surface if isinstance(wheel.surface, Surface) else Disc(float(wheel.surface))
    axle = _axle(link)
    turned = surface.about(axle / np.linalg.norm(axle))
    return float((_hub(link, wheel) + turned.support(-DOWN))[2])


def _level(
    rolling: Mapping[str, RobotWheel], links: Mapping[str, RobotLink], turning: set[str]
) -> dict[str, RobotWheel]:
    """Return the wheels by link; wheels within `GROUND_TOLERANCE` of the lowest point touch the same plane.

    To reach this plane, a wheel in `turning` gets a larger radius, because a lower centre would make it
    eccentric. A caster gets a lower centre.
    """
    bottoms = {n: _bottom(links[n], wheel) for n, wheel in rolling.items()}
    lowest = min(bottoms.values(), default=0.0)
    level: dict[str, RobotWheel] = {}
    for n, wheel in rolling.items():
        clearance = bottoms[n] - lowest
        level[n] = wheel
        if not 0.0 < clearance <= ground_tolerance(_reach(n, wheel), n in turning):
            continue
        if n not in turning:
            shift = links[n].frame.R.T @ (clearance * DOWN)
            level[n] = replace(wheel, centre=np.asarray(wheel.centre, float) + shift)
            change = "its centre is lowered"
        elif isinstance(wheel.surface, Round) or not isinstance(wheel.surface, Surface):
            level[n] = replace(wheel, surface=_enlarged(wheel.surface, clearance))
            change = "its radius is enlarged"
        else:
            continue
        if clearance > 1e-9:  # m; smaller differences are rounding of frames
            warn_once(
                f"wheel {n!r} is {1e3 * clearance:.3g} mm above the lowest wheel; {change} to reach the "
                f"ground (tolerance {1e3 * GROUND_TOLERANCE:g} mm)."
            )
    return level


def ground_tolerance(radius: float, turns: bool) -> float:
    """Return the largest height above the ground (m) from which a wheel is lowered onto the ground.

    `radius` is in m. If the wheel `turns` about its axle, its radius is changed instead, so that the height
    is limited to a small fraction of the radius.
    """
    return min(GROUND_TOLERANCE, MAX_RADIUS_CHANGE * radius) if turns else GROUND_TOLERANCE


def _enlarged(surface: Any, growth: float) -> Any:
    """Return a round surface, or a plain radius (m), with its radius enlarged by `growth` (m)."""
    if isinstance(surface, Round):
        return replace(surface, radius=surface.radius + growth)
    return float(surface) + growth


def _masses(
    links: Sequence[RobotLink], body_of: Mapping[str, str], radii: Mapping[str, float]
) -> dict[str, Mass]:
    """Return the mass properties of each body, the sum of its links; nearly round wheels become round."""
    masses: dict[str, Mass] = {}
    for link in links:
        body = body_of[link.name]
        masses[body] = masses.get(body, Mass()) + link.mass
    for link in links:
        if link.name in radii and turns_about_axle(link):
            masses[link.name] = _round_mass(link, masses[link.name], radii[link.name])
    return masses


def _boxes(
    name: str, links: Sequence[RobotLink], body_of: Mapping[str, str], lift: Floats
) -> tuple[BodyBox, ...]:
    """Return the boxes of all links of the body `name`, moved by the displacement `lift` (3,) (m)."""
    boxes = [box for link in links if body_of[link.name] == name for box in link.boxes]
    return tuple(BodyBox(box.centre + lift, box.ways) for box in boxes)


def _round_mass(link: RobotLink, mass: Mass, radius: float) -> Mass:
    """Return the mass properties of a wheel, symmetric about its axle if the asymmetry is small."""
    # An asymmetric wheel is unbalanced: the vehicle would have no steady motion.
    along = link.axis / np.linalg.norm(link.axis)
    P = np.eye(3) - np.outer(along, along)
    axial = float(along @ mass.inertia @ along)
    even = axial * np.outer(along, along) + (np.trace(mass.inertia) - axial) / 2.0 * P
    off = P @ (mass.com - link.through)
    asymmetry = float(np.abs(mass.inertia - even).max())
    offset = float(np.linalg.norm(off))
    if asymmetry > ROUND_WHEEL_TOLERANCE * axial or offset > ROUND_WHEEL_TOLERANCE * radius:
        return mass
    if asymmetry > 1e-9 * axial or offset > 1e-9 * radius:
        warn_once(
            f"wheel {link.name!r}: its mass is almost symmetric about its axle; made symmetric."
        )
    return Mass(mass.mass, mass.com - off, even)


def _check_joints(
    joints: Mapping[str, Mapping[str, Any]], links: Sequence[RobotLink]
) -> Mapping[str, Mapping[str, Any]]:
    """Return the properties that replace those of the file, by joint.

    Raise `ModelError` for unknown joints or properties.
    """
    expect_known("no joint", joints, [link.joint for link in links if link.kind], ModelError)
    for name, properties in joints.items():
        expect_known(f"joint {name!r} takes no", properties, JOINT_PROPERTIES, ModelError)
    return joints


def _joint(link: RobotLink, parent: str, lift: Floats, changes: Mapping[str, Any]) -> Joint:
    """Return the joint between a link and its parent body."""
    file_values: dict[str, Any] = {
        name: getattr(link, name) for name in ("spring", "damper", "rest", "armature")
    }
    file_values |= {"stops": link.limits, "motor": link.motor}
    # Friction is a force element, not a property of the joint.
    properties = {
        name: value for name, value in (file_values | dict(changes)).items() if name != "friction"
    }
    through = link.through + lift
    return ROBOT_JOINTS[link.kind](link.joint, parent, link.name, link.axis, through, **properties)


def _frictions(
    links: Sequence[RobotLink], changes: Mapping[str, Mapping[str, Any]]
) -> list[StickingFriction]:
    """Return the dry friction of joints that have friction and no prescribed motion."""
    frictions = {
        link.joint: changes.get(link.joint, {}).get("friction", link.friction) for link in links
    }
    driven = {joint for joint, entry in changes.items() if entry.get("motion") is not None}
    return [
        StickingFriction(joint, x) for joint, x in frictions.items() if x and joint not in driven
    ]


def _by_name(links: Sequence[RobotLink]) -> dict[str, RobotLink]:
    """Return links by name; raise `ModelError` for repeated names."""
    by_name: dict[str, RobotLink] = {}
    for link in links:
        if by_name.setdefault(link.name, link) is not link:
            raise ModelError(f"The name {link.name!r} is used twice; names must differ.")
    return by_name


def _merge(links: Sequence[RobotLink]) -> dict[str, str]:
    """Return the body of each link: links without a joint belong to the body of their parent."""
    body_of: dict[str, str] = {}
    for link in links:
        body_of[link.name] = link.name if link.kind or not link.parent else body_of[link.parent]
    return body_of


def _axle(link: RobotLink) -> Floats:
    """Return the axle of a wheel, a unit vector (3,); for a caster, an arbitrary horizontal direction."""
    if turns_about_axle(link):
        return link.axis
    across = link.frame.R[:, 1]
    return across if abs(across[2]) < 0.5 else np.array([0.0, 1.0, 0.0])


def _wheel(name: str, declared: Any, links: Mapping[str, RobotLink]) -> RobotWheel:
    """Return the declared wheel of a link: a `RobotWheel`, a surface or a radius (m)."""
    if name not in links:
        raise ModelError(f"wheel {name!r}: no such link. {did_you_mean(name, links)}")
    wheel = declared if isinstance(declared, RobotWheel) else RobotWheel(declared)
    return replace(wheel, centre=vector(wheel.centre, f"wheel {name!r}, centre"))


def _reach(name: str, wheel: RobotWheel) -> float:
    """Return the radius of a wheel, m."""
    if isinstance(wheel.surface, Surface):
        return float(wheel.surface.reach)
    if not isinstance(wheel.surface, int | float) or not 0.0 < wheel.surface < MAX_NUMBER:
        raise ModelError(
            f"wheel {name!r}: {wheel.surface!r} is neither a radius in m nor a surface."
        )
    return float(wheel.surface)


def rename_joints(links: Sequence[RobotLink]) -> list[RobotLink]:
    """Return links whose joints all have names; a joint without a name gets the name of its link."""
    return [replace(link, joint=link.joint or link.name) if link.kind else link for link in links]


def make_names_valid(robot: Robot) -> Robot:
    """Return a robot whose links and joints have names that results can contain; warn about changes.

    Slashes and line breaks become underscores. A joint with a reserved name, such as `x` or `yaw`, gets the
    suffix `_joint`.
    """
    joints = [link.joint for link in robot.links if link.kind]
    new_links = _new_names([link.name for link in robot.links], "link", frozenset())
    new_joints = _new_names(joints, "joint", RESERVED_RESULT_NAMES)
    if not new_links and not new_joints:
        return robot
    links = [
        replace(
            link,
            name=new_links.get(link.name, link.name),
            parent=new_links.get(link.parent, link.parent),
            joint=new_joints.get(link.joint, link.joint),
        )
        for link in robot.links
    ]
    sensors = rename_sensors(robot.sensors, new_links, new_joints)
    mimics = [
        mimic._replace(
            joint=new_joints.get(mimic.joint, mimic.joint),
            leader=new_joints.get(mimic.leader, mimic.leader),
        )
        for mimic in robot.mimics
    ]
    return robot._replace(links=links, mimics=mimics, sensors=sensors)


def _new_names(names: Sequence[str], kind: str, reserved: Container[str]) -> dict[str, str]:
    """Return a valid name for each invalid or reserved name (old -> new); warn about each change."""
    taken = set(names)
    renamed: dict[str, str] = {}
    for name in names:
        if name not in reserved and NAME_PATTERN.fullmatch(name):
            continue
        stem = re.sub(r"[/\x00-\x1f\x7f]", "_", name)[:MAX_STEM] or kind
        stem += f"_{kind}" if stem in reserved else ""
        choices = itertools.chain([stem], (f"{stem}_{k}" for k in itertools.count(2)))
        renamed[name] = next(choice for choice in choices if choice not in taken)
        taken.add(renamed[name])
        reason = "reserved for results" if name in reserved else "not a valid name in results"
        warn_once(f"{kind} {name!r:.60} is {reason}; it is called {renamed[name]!r:.60}.")
    return renamed


def note_friction(where: str, friction: float, kind: str) -> float:
    """Return the dry friction of a joint (N m or N); warn that the sticking joint deflects."""
    if friction != 0.0:
        deflection = f"{StickingFriction.deflection:g} {'m' if kind == 'slide' else 'rad'}"
        warn_once(
            f"{where}: while its dry friction holds it, it deflects by up to {deflection} "
            "(StickingFriction)."
        )
    return friction
