"""Construction of vehicles from robot files: a tree of links with joints, and declared wheels.

`urdf` and `mjcf` parse files into a `Robot`. Links without a joint are merged with their parents, joints
become screws in the drawing, and properties that these formats do not contain are added: rolling wheels,
springs, prescribed motions. `guess` suggests them.
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
"""rad; angles closer to a multiple of 90 degrees are rounded to it, because files contain 1.57 and 3.14."""

ROUND_WHEEL_TOLERANCE = 0.05
"""Largest asymmetry of a wheel, relative to axial moment and radius, that is removed."""

NOTED_ANGLE_CHANGE = 1e-5
"""rad; larger roundings of angles are reported; smaller ones are round-off in the file."""

ROBOT_JOINTS: dict[str, type[Joint]] = {"hinge": Revolute, "slide": Prismatic}
"""Joint classes of the model by the value of `RobotLink.kind`."""

Vehicle = Callable[..., Model]
"""Type of a vehicle: a function that returns a model."""

_CURRENT_FILE: ContextVar[tuple[str, int]] = ContextVar("name and modification time of the file")
"""Name and modification time of the file that is being read, for warnings."""
_WARNINGS_GIVEN: set[tuple[str, int, str]] = set()
"""Warnings that have been issued, as (file, modification time, text)."""


class LinkFrame(NamedTuple):
    """A frame in the drawing: rotation and origin."""

    R: Floats  # (3, 3), axes of the frame as columns
    p: Floats  # (3,), origin of the frame, m

    def __matmul__(self, other: "LinkFrame") -> "LinkFrame":
        """Return the frame `other`, given relative to this frame, in the drawing."""
        return LinkFrame(self.R @ other.R, self.p + self.R @ other.p)


DRAWING_FRAME = LinkFrame(np.eye(3), np.zeros(3))
"""Frame of the drawing (identity)."""


@dataclass(frozen=True, eq=False)
class Mass:
    """Mass, mass centre and inertia in the axes of the drawing."""

    mass: float = 0.0  # mass, kg
    com: Floats = field(default_factory=lambda: np.zeros(3))  # (3,), mass centre, m
    inertia: Floats = field(
        default_factory=lambda: np.zeros((3, 3))
    )  # (3, 3), inertia about the mass centre, kg m2

    def __add__(self, other: "Mass") -> "Mass":
        """Return the mass properties of two rigidly connected bodies."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return self
        com = (self.mass * self.com + other.mass * other.com) / mass
        return Mass(mass, com, self.about(com) + other.about(com))

    def about(self, point: Floats) -> Floats:
        """Return the inertia (3, 3) in kg m2 about a point (3,), by the parallel axis theorem."""
        d = self.com - point
        return self.inertia + self.mass * (d @ d * np.eye(3) - np.outer(d, d))


class RoundShape(NamedTuple):
    """A cylinder or sphere of a robot file, in the drawing."""

    radius: float  # radius of the shape, m
    centre: Floats  # (3,), centre of the shape, m
    axis: Floats | None = None  # (3,), unit vector along the cylinder; None for a sphere


@dataclass(frozen=True, eq=False)
class RobotLink:
    """A rigid link in the drawing, with the joint to its parent.

    `rounds`, `limited` and `effort` do not affect the motion; the module `guess` uses them.
    """

    name: str
    parent: str  # name of the parent link; empty for the base
    frame: LinkFrame
    mass: Mass
    kind: str = ""  # "hinge", "slide", or "" if fixed to the parent or the base
    joint: str = ""  # name of the joint
    axis: Floats = field(default_factory=lambda: np.zeros(3))  # (3,), direction of the joint axis
    through: Floats = field(default_factory=lambda: np.zeros(3))  # (3,), point on the joint axis, m
    spring: float = 0.0  # joint stiffness, N m/rad or N/m
    damper: float = 0.0  # joint damping, N m s/rad or N s/m
    rest: float = 0.0  # joint coordinate of the unloaded spring, rad or m
    armature: float = 0.0  # reflected inertia of the motor, kg m2 or kg
    friction: float = 0.0  # dry friction of the joint, N m or N
    rounds: tuple[RoundShape, ...] = ()  # cylinders and spheres of the link
    boxes: tuple[BodyBox, ...] = ()  # boxes of the link, for drawings
    limited: bool = False  # whether the file specifies joint limits
    effort: float = 0.0  # largest effort of the motor, N m or N; 0 if unknown


class Robot(NamedTuple):
    """Content of a robot file."""

    name: str
    links: Sequence[RobotLink]  # tree of links, the base first
    base: str  # configuration group of the base: "SE(3)", "fixed", ...
    gravity: float  # gravitational acceleration, m/s2, downwards


@dataclass(frozen=True, eq=False)
class RobotWheel:
    """Declaration of the rolling surface, tyre and centre of a robot wheel.

    Parameters
    ----------
    surface
        Rolling surface (`Torus`, `Ball` ...), or the radius of a thin disc in m.
    tyre
        Tyre model; None for rolling without slip.
    centre
        Centre of the wheel in the link's frame, m.
    """

    surface: Any
    tyre: Tyre | None = None
    centre: Vector = (0.0, 0.0, 0.0)


JOINT_PROPERTIES = ("spring", "damper", "rest", "armature", "friction", "motion")
"""Names of joint properties that can replace those of the robot file."""


def robot_vehicle(
    robot: Robot,
    wheels: Mapping[str, Any],
    joints: Mapping[str, Mapping[str, Any]] | None = None,
) -> Vehicle:
    """Return the vehicle function of a robot.

    A wheel has its centre at the origin of its link, unless its `RobotWheel` specifies another centre, and
    rolls about the axis of its joint. If other wheels have joints, a wheel fixed to the base is a caster that
    slides.

    Parameters
    ----------
    robot
        Parsed content of the robot file.
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
    # The drawing is translated vertically so that the lowest wheel touches the ground.
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
        """Return the model of the robot with gravity g (m/s2)."""
        return Model(bodies, screws, contacts, frictions, (0.0, 0.0, -g), base, outputs)

    vehicle.__name__ = re.sub(r"\W", "_", robot.name) or "robot"
    vehicle.__doc__ = f"Return the robot {robot.name!r}; g is gravity."
    return vehicle


def _masses(
    links: Sequence[RobotLink], body_of: Mapping[str, str], radii: Mapping[str, float]
) -> dict[str, Mass]:
    """Return the mass properties of each body as the sum of its links; wheels are made symmetric."""
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
    """Return the boxes of all links of a body, in the translated drawing."""
    boxes = [box for link in links if body_of[link.name] == name for box in link.boxes]
    return tuple(BodyBox(box.centre + lift, box.ways) for box in boxes)


def _round_mass(link: RobotLink, mass: Mass, radius: float) -> Mass:
    """Return the mass properties of a wheel, made symmetric about its axle if they are almost symmetric."""
    # With an asymmetric (unbalanced) wheel, the machine would have no steady motion.
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
    """Return the replaced joint properties; raise `ModelError` for unknown joints or properties."""
    expect_known("no joint", joints, [link.joint for link in links if link.kind], ModelError)
    for name, properties in joints.items():
        expect_known(f"joint {name!r} takes no", properties, JOINT_PROPERTIES, ModelError)
    return joints


def _joint(link: RobotLink, parent: str, lift: Floats, changes: Mapping[str, Any]) -> Joint:
    """Return the model joint between a link and its parent body."""
    file_values: dict[str, Any] = {
        name: getattr(link, name) for name in JOINT_PROPERTIES if name != "motion"
    }
    # Dry friction is a force element of the model, not a property of the joint.
    properties = {
        name: value for name, value in (file_values | dict(changes)).items() if name != "friction"
    }
    through = link.through + lift
    return ROBOT_JOINTS[link.kind](link.joint, parent, link.name, link.axis, through, **properties)


def _frictions(
    links: Sequence[RobotLink], changes: Mapping[str, Mapping[str, Any]]
) -> list[JointFriction]:
    """Return force elements for the dry friction of joints without prescribed motion."""
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
    """Return the body name of each link; links without a joint belong to the body of their parent."""
    body_of: dict[str, str] = {}
    for link in links:
        body_of[link.name] = link.name if link.kind or not link.parent else body_of[link.parent]
    return body_of


def _axle(link: RobotLink) -> Floats:
    """Return the axle direction (3,) of a wheel; a fixed ball has an arbitrary one."""
    return link.axis if link.kind == "hinge" else link.frame.R[:, 1]


def _wheel(name: str, declared: Any, links: Mapping[str, RobotLink]) -> RobotWheel:
    """Convert the declaration of a wheel (radius in m, surface or `RobotWheel`) to a `RobotWheel`."""
    if name not in links:
        raise ModelError(f"wheel {name!r}: no such link. {did_you_mean(name, links)}")
    wheel = declared if isinstance(declared, RobotWheel) else RobotWheel(declared)
    return replace(wheel, centre=vector(wheel.centre, f"wheel {name!r}, centre"))


def _reach(name: str, wheel: RobotWheel) -> float:
    """Return the outer radius of a wheel, m."""
    if isinstance(wheel.surface, Surface):
        return float(wheel.surface.reach)
    if not isinstance(wheel.surface, int | float) or not 0.0 < wheel.surface < MAX_NUMBER:
        raise ModelError(
            f"wheel {name!r}: {wheel.surface!r} is neither a radius in m nor a surface."
        )
    return float(wheel.surface)


@contextmanager
def name_file(file: str | Path) -> Iterator[None]:
    """Context manager that names the file in errors and warnings; XML text has no name."""
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
    """Issue a warning about the current file, but only once until the file changes."""
    file, stamp = _CURRENT_FILE.get(("<robot>", 0))
    if (file, stamp, text) not in _WARNINGS_GIVEN:
        warnings.warn_explicit(text, FileWarning, file, 0)
        _WARNINGS_GIVEN.add((file, stamp, text))


def read_root(file: str | Path, tag: str) -> Element:
    """Return the root element of an XML file or text; raise `DataError` for a wrong tag or includes."""
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
    """Return the text of a file; raise `DataError` if it cannot be read."""
    check_file(file)
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{file:.200}: cannot be read: {reason}.") from error


def square_angles(angles: Floats) -> Floats:
    """Round angles (rad) close to multiples of 90 degrees to them, with a warning.

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
    """Return links in which every joint has a name; by default the name of the link."""
    return [replace(link, joint=link.joint or link.name) if link.kind else link for link in links]


def note_friction(where: str, friction: float, kind: str) -> float:
    """Return the dry friction of a joint; warn that it is smoothed at low rates."""
    if friction != 0.0:
        rate = f"{JointFriction.rate:g} {'m/s' if kind == 'slide' else 'rad/s'}"
        warn_once(f"{where}: its friction is smooth below {rate}, a damper there (JointFriction).")
    return friction


def parse_numbers_attribute(
    text: str | None, count: int, default: Sequence[float], where: str
) -> Floats:
    """Parse `count` numbers of an XML attribute; an empty default means that the attribute is required."""
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


def parse_number_attribute(
    attributes: Mapping[str, str], name: str, default: float, where: str
) -> float:
    """Parse one number from the attributes of an XML element."""
    return float(
        parse_numbers_attribute(attributes.get(name), 1, (default,), f"{where}, {name}")[0]
    )
