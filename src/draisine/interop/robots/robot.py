"""Vehicles from robot files: a tree of links with joints, and wheels that are declared separately.

`urdf` and `mjcf` read their files into a `Robot`. Here, links without a joint are merged with their parents,
joints become screws of the drawing, and properties beyond these formats are added: rolling wheels, springs,
motions of joints. `guess` suggests them.
"""

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, fromstring

import numpy as np

from draisine.algebra.scalar import Floats, Vector
from draisine.errors import (
    DataError,
    FileWarning,
    ModelError,
    check_file,
    did_you_mean,
    expect_known,
)
from draisine.mechanics.forces.joint_friction import JointFriction
from draisine.model import Body, Joint, Model, Prismatic, Revolute, Wheel, forward_speed
from draisine.model.body import MAX_NUMBER, BodyBox, vector
from draisine.model.force import Tyre
from draisine.model.surface import Surface

RIGHT_ANGLE_TOLERANCE = 2e-3
"""rad; angles nearer to a multiple of 90 degrees are rounded to it: files have 1.57 and 3.14."""

ROUND_WHEEL_TOLERANCE = 0.05
"""Relative to axial moment and radius; wheels with smaller deviations from symmetry are made symmetric."""

NOTED_ANGLE_CHANGE = 1e-5
"""rad; smaller changes of angles are round-off of the file and not reported."""

ROBOT_JOINTS: dict[str, type[Joint]] = {"hinge": Revolute, "slide": Prismatic}
"""Joint classes by their name in `RobotLink.kind`."""

Vehicle = Callable[..., Model]
"""A vehicle: a function that returns a model."""

_CURRENT_FILE: ContextVar[tuple[str, int]] = ContextVar("name and modification time of the file")
_WARNINGS_GIVEN: set[tuple[str, int, str]] = set()
"""Warnings that were given: file, its modification time, text."""


class LinkFrame(NamedTuple):
    """A frame in the drawing."""

    R: Floats  # (3, 3), axes as columns
    p: Floats  # (3,), origin, m

    def __matmul__(self, other: "LinkFrame") -> "LinkFrame":
        return LinkFrame(self.R @ other.R, self.p + self.R @ other.p)


DRAWING_FRAME = LinkFrame(np.eye(3), np.zeros(3))
"""The frame of the drawing itself."""


@dataclass(frozen=True, eq=False)
class Mass:
    """Mass properties in the drawing's axes."""

    mass: float = 0.0  # kg
    com: Floats = field(default_factory=lambda: np.zeros(3))  # m, mass centre
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))  # kg m2, central

    def __add__(self, other: "Mass") -> "Mass":
        mass = self.mass + other.mass
        if mass == 0.0:
            return self
        com = (self.mass * self.com + other.mass * other.com) / mass
        return Mass(mass, com, self.about(com) + other.about(com))

    def about(self, point: Floats) -> Floats:
        """Return the inertia (3, 3) about a point (3,), by the parallel axis theorem."""
        d = self.com - point
        return self.inertia + self.mass * (d @ d * np.eye(3) - np.outer(d, d))


class RoundShape(NamedTuple):
    """A cylinder or a sphere of a file, in the drawing."""

    radius: float  # m
    centre: Floats  # (3,), m
    axis: Floats | None = None  # (3,), unit vector; None for a sphere


@dataclass(frozen=True, eq=False)
class RobotLink:
    """A rigid link in the drawing, with the joint to its parent.

    `rounds`, `limited` and `effort` do not affect the motion; `guess` uses them.
    """

    name: str
    parent: str  # empty for the base
    frame: LinkFrame
    mass: Mass
    kind: str = ""  # "hinge", "slide", or "" if fixed to the parent or the base
    joint: str = ""  # name of the joint
    axis: Floats = field(default_factory=lambda: np.zeros(3))  # axis of the joint
    through: Floats = field(default_factory=lambda: np.zeros(3))  # point of the axis, m
    spring: float = 0.0  # N m/rad or N/m
    damper: float = 0.0  # N m s/rad or N s/m
    rest: float = 0.0  # rad or m, coordinate of the unloaded spring
    armature: float = 0.0  # kg m2 or kg, inertia of the motor
    friction: float = 0.0  # N m or N, dry friction
    rounds: tuple[RoundShape, ...] = ()  # cylinders and spheres
    boxes: tuple[BodyBox, ...] = ()  # boxes for pictures
    limited: bool = False  # whether the joint has limits
    effort: float = 0.0  # N m or N, largest effort of the motor; 0 if unknown


class Robot(NamedTuple):
    """Content of a robot file."""

    name: str
    links: Sequence[RobotLink]  # a tree, the base first
    base: str  # group of the base: "SE(3)", "fixed", ...
    gravity: float  # m/s2, downwards


@dataclass(frozen=True, eq=False)
class RobotWheel:
    """Wheel of a link.

    Parameters
    ----------
    surface
        Surface, or the radius of a thin disc, m.
    tyre
        Tyre model; None for rolling without slip.
    centre
        Centre of the wheel in the link's frame, m.
    """

    surface: Any
    tyre: Tyre | None = None
    centre: Vector = (0.0, 0.0, 0.0)


JOINT_PROPERTIES = ("spring", "damper", "rest", "armature", "friction", "motion")
"""Properties of a joint that can replace those of the file."""


def robot_vehicle(
    robot: Robot,
    wheels: Mapping[str, Any],
    joints: Mapping[str, Mapping[str, Any]] | None = None,
) -> Vehicle:
    """Return the vehicle of a robot.

    A wheel has its centre at the origin of its link, unless its `RobotWheel` states another one, and rolls
    about the axis of its joint. If other wheels turn, a wheel fixed to the base is a caster: it slides.

    Parameters
    ----------
    robot
        Content of the file.
    wheels
        Radius (m), surface or `RobotWheel` of each link that rolls, by name.
    joints
        Properties of joints that replace those of the file, by name; see `JOINT_PROPERTIES`.
    """
    links = robot.links
    base = robot.base
    by_name = _by_name(links)
    rolling = {name: _wheel(name, wheel, by_name) for name, wheel in wheels.items()}
    changes = _check_joints(joints or {}, links)
    body_of = _merge(links)
    masses = _masses(links, body_of, {n: _reach(n, wheel) for n, wheel in rolling.items()})
    centres = {
        n: by_name[n].frame.p + by_name[n].frame.R @ wheel.centre for n, wheel in rolling.items()
    }
    # The drawing is lifted so that the lowest wheel touches the ground.
    lowest = min((float(centres[n][2]) - _reach(n, rolling[n]) for n in rolling), default=0.0)
    lift = np.array([0.0, 0.0, -lowest])
    bodies = [
        Body(n, mass.mass, mass.com + lift, mass.inertia, boxes=_boxes(n, links, body_of, lift))
        for n, mass in masses.items()
    ]
    moving = [link for link in links if link.kind]
    screws = [
        _joint(link, body_of[link.parent], lift, changes.get(link.joint, {})) for link in moving
    ]
    frictions = _frictions(moving, changes)
    origin = links[0].name
    point = links[0].frame.p + lift
    coordinates = ", ".join(f"{x:.4g}" for x in point + 0.0)
    meaning = (
        f"velocity of the origin of {origin}, ({coordinates}) in the drawing, along the heading"
    )
    outputs = [] if base == "fixed" else [forward_speed(origin, point, meaning)]
    turning = any(by_name[n].kind == "hinge" for n in rolling)
    contacts = []
    for n, wheel in rolling.items():
        options: dict[str, Any] = {"tyre": wheel.tyre, "slides": turning and body_of[n] == origin}
        centre = centres[n] + lift
        axle = _axle(by_name[n])
        contacts.append(Wheel(n, body_of[n], centre, axle, wheel.surface, **options))

    def vehicle(*, g: float = robot.gravity) -> Model:
        return Model(bodies, screws, contacts, frictions, (0.0, 0.0, -g), base, outputs)

    vehicle.__name__ = re.sub(r"\W", "_", robot.name) or "robot"
    vehicle.__doc__ = f"Return the robot {robot.name!r}; g is gravity."
    return vehicle


def _masses(
    links: Sequence[RobotLink], body_of: Mapping[str, str], radii: Mapping[str, float]
) -> dict[str, Mass]:
    """Return the masses of bodies, each the sum of its links; wheels are made symmetric."""
    masses: dict[str, Mass] = {}
    for link in links:
        body = body_of[link.name]
        masses[body] = masses.get(body, Mass()) + link.mass
    for link in links:
        if link.name in radii and link.kind == "hinge":
            masses[link.name] = _round_mass(link, masses[link.name], radii[link.name])
    return masses


def _boxes(
    name: str, links: Sequence[RobotLink], body_of: Mapping[str, str], lift: Floats
) -> tuple[BodyBox, ...]:
    """Return the boxes of all links of a body, in the lifted drawing."""
    boxes = [box for link in links if body_of[link.name] == name for box in link.boxes]
    return tuple(BodyBox(box.centre + lift, box.ways) for box in boxes)


def _round_mass(link: RobotLink, mass: Mass, radius: float) -> Mass:
    """Return the mass of a wheel, made symmetric about its axle if it is almost so."""
    # An asymmetric wheel is unbalanced: the machine would have no steady motion.
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
    """Return the changes of joints; raise `ModelError` for unknown joints or properties."""
    expect_known("no joint", joints, [link.joint for link in links if link.kind], ModelError)
    for name, properties in joints.items():
        expect_known(f"joint {name!r} takes no", properties, JOINT_PROPERTIES, ModelError)
    return joints


def _joint(link: RobotLink, parent: str, lift: Floats, changes: Mapping[str, Any]) -> Joint:
    """Return the joint between a link and its parent body."""
    file_values: dict[str, Any] = {
        name: getattr(link, name) for name in JOINT_PROPERTIES if name != "motion"
    }
    # Friction is a force element, not a property of the joint.
    properties = {
        name: value for name, value in (file_values | dict(changes)).items() if name != "friction"
    }
    through = link.through + lift
    return ROBOT_JOINTS[link.kind](link.joint, parent, link.name, link.axis, through, **properties)


def _frictions(
    links: Sequence[RobotLink], changes: Mapping[str, Mapping[str, Any]]
) -> list[JointFriction]:
    """Return the dry friction of joints that have friction and no prescribed motion."""
    frictions = {
        link.joint: changes.get(link.joint, {}).get("friction", link.friction) for link in links
    }
    driven = {joint for joint, entry in changes.items() if entry.get("motion") is not None}
    return [JointFriction(joint, x) for joint, x in frictions.items() if x and joint not in driven]


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
    """Return the axle of a wheel; a fixed ball has an arbitrary one."""
    return link.axis if link.kind == "hinge" else link.frame.R[:, 1]


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


@contextmanager
def name_file(file: str | Path) -> Iterator[None]:
    """Name the file in errors and warnings of this context; XML text has no name."""
    text = str(file).lstrip().startswith("<")
    before = _CURRENT_FILE.set(
        ("<robot>", hash(str(file))) if text else (str(file), os.stat(file).st_mtime_ns)
    )
    try:
        yield
    except ModelError as error:
        if text:
            raise
        raise ModelError(f"{file}: {error}") from error
    finally:
        _CURRENT_FILE.reset(before)


def warn_once(text: str) -> None:
    """Warn about an interpretation of the current file, once until the file changes."""
    file, stamp = _CURRENT_FILE.get(("<robot>", 0))
    if (file, stamp, text) not in _WARNINGS_GIVEN:
        warnings.warn_explicit(text, FileWarning, file, 0)
        _WARNINGS_GIVEN.add((file, stamp, text))


def read_root(file: str | Path, tag: str) -> Element:
    """Return the root element of a file or of XML text; raise `DataError` for another tag or for includes."""
    text = str(file)
    name = f"the <{tag}>"
    if not text.lstrip().startswith("<"):
        name = f"{text:.200}"
        text = _read_text(text)
    try:
        root = fromstring(text)
    except (ParseError, ValueError) as error:
        raise DataError(f"{name}: not an XML file: {error}.") from error
    if root.tag != tag:
        raise DataError(f"{name}: the file must have <{tag}> at its root, not <{root.tag}>.")
    if any(each.tag == "include" or "/xacro}" in each.tag for each in root.iter()):
        raise DataError(
            f"{name}: the file includes other files or has macros. Expand it first (by xacro, or by MuJoCo's "
            "mj_saveLastXML)."
        )
    return root


def _read_text(file: str) -> str:
    """Return the text of a file."""
    check_file(file)
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{file:.200}: cannot be read: {reason}.") from error


def square_angles(angles: Floats) -> Floats:
    """Return angles (rad), with those near multiples of 90 degrees rounded to them, with a warning.

    >>> [float(angle) for angle in square_angles(np.array([0.0, 1.5707963, 0.25]))]
    [0.0, 1.5707963267948966, 0.25]
    """
    right = np.round(angles / (np.pi / 2.0)) * (np.pi / 2.0)
    near = (np.abs(angles - right) < RIGHT_ANGLE_TOLERANCE) & (right != 0.0)
    if (np.abs(angles - right)[near] > NOTED_ANGLE_CHANGE).any():
        limit = f"{RIGHT_ANGLE_TOLERANCE:g} rad"
        warn_once(f"Angles within {limit} of a right angle, such as 1.57, are rounded to it.")
    return np.where(near, right, angles)


def rename_joints(links: Sequence[RobotLink]) -> list[RobotLink]:
    """Return links whose joints have names; joints without a name get that of their link."""
    return [replace(link, joint=link.joint or link.name) if link.kind else link for link in links]


def note_friction(where: str, friction: float, kind: str) -> float:
    """Return the dry friction of a joint; warn that it is smoothed at low rates."""
    if friction != 0.0:
        rate = f"{JointFriction.rate:g} {'m/s' if kind == 'slide' else 'rad/s'}"
        warn_once(f"{where}: its friction is smooth below {rate}, a damper there (JointFriction).")
    return friction


def numbers(text: str | None, count: int, default: Sequence[float], where: str) -> Floats:
    """Return `count` numbers of an attribute, or the default; an empty default means that it is required."""
    if text is None:
        if len(default) < count:
            raise ModelError(f"{where}: {count} numbers are missing.")
        return np.array(default, float)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        raise ModelError(f"{where}: {text!r:.200} is not a list of numbers.") from None
    if len(values) != count:
        raise ModelError(f"{where}: {text!r:.200} has {len(values)} numbers instead of {count}.")
    if not (np.abs(values) < MAX_NUMBER).all():
        raise ModelError(
            f"{where}: {text!r:.200} is not finite or larger than {MAX_NUMBER:g}; use SI units."
        )
    return values


def number(attributes: Mapping[str, str], name: str, default: float, where: str) -> float:
    """Return a number from the attributes of an element."""
    return float(numbers(attributes.get(name), 1, (default,), f"{where}, {name}")[0])
