"""Robots from other formats as drawings: a tree of links with joints, wheels declared beside it.

`urdf` and `mjcf` read their files into a `Robot`; here links without a joint become part of what they
are fixed to, joints become screws of the drawing, and what these formats do not know is put on: wheels
that roll, springs, motions of joints. `guess` suggests it.
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

SQUARE = 2e-3
"""Angles so near to a right one, rad, are meant to be it: files have 1.57 and 3.14."""

ROUND = 0.05
"""A wheel whose moments, and whose mass centre, are off by less of its axial moment and of its radius is
meant to be round.
"""

KINDS: dict[str, type[Joint]] = {"hinge": Revolute, "slide": Prismatic}
"""The joints that both formats have."""

Vehicle = Callable[..., Model]

_READ: ContextVar[tuple[str, int]] = ContextVar("the file that is read, and when it was changed")
_TOLD: set[tuple[str, int, str]] = set()
"""Notes that were told, with file and when it was changed."""


class LinkFrame(NamedTuple):
    """A place in the drawing: its axes as columns, and its origin."""

    R: Floats
    p: Floats

    def __matmul__(self, other: "LinkFrame") -> "LinkFrame":
        return LinkFrame(self.R @ other.R, self.p + self.R @ other.p)


ORIGIN = LinkFrame(np.eye(3), np.zeros(3))


@dataclass(frozen=True, eq=False)
class Mass:
    """Mass, mass centre and central inertia, all in the drawing's axes."""

    mass: float = 0.0
    com: Floats = field(default_factory=lambda: np.zeros(3))
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))

    def __add__(self, other: "Mass") -> "Mass":
        mass = self.mass + other.mass
        if mass == 0.0:
            return self
        com = (self.mass * self.com + other.mass * other.com) / mass
        return Mass(mass, com, self.about(com) + other.about(com))

    def about(self, point: Floats) -> Floats:
        """Return the inertia about a point (Huygens and Steiner)."""
        d = self.com - point
        return self.inertia + self.mass * (d @ d * np.eye(3) - np.outer(d, d))


class RoundShape(NamedTuple):
    """A cylinder or a ball of a file, where it stands in the drawing; a ball has no axis."""

    radius: float
    centre: Floats
    axis: Floats | None = None


@dataclass(frozen=True, eq=False)
class RobotLink:
    """A rigid link where it stands in the drawing, with the joint that bears it: `kind` is "hinge",
    "slide" or "" where it is fixed to its parent (or is the base). `boxes` show it. `rounds`, `limited`
    (the joint has limits) and `effort` (what its motor gives, 0 where that is not told) say nothing of
    how it moves; they help to guess what it is for.
    """

    name: str
    parent: str
    frame: LinkFrame
    mass: Mass
    kind: str = ""
    joint: str = ""
    axis: Floats = field(default_factory=lambda: np.zeros(3))
    through: Floats = field(default_factory=lambda: np.zeros(3))
    spring: float = 0.0
    damper: float = 0.0
    rest: float = 0.0
    armature: float = 0.0
    friction: float = 0.0
    rounds: tuple[RoundShape, ...] = ()
    boxes: tuple[BodyBox, ...] = ()
    limited: bool = False
    effort: float = 0.0


class Robot(NamedTuple):
    """What a file says: its name, a tree of links, the base first, what the base can do, and gravity."""

    name: str
    links: Sequence[RobotLink]
    base: str
    gravity: float


@dataclass(frozen=True, eq=False)
class RobotWheel:
    """What a link rolls on: a surface (a number is the radius of a thin disc), its tyre if it slips,
    and where its centre is in the link's own frame.
    """

    surface: Any
    tyre: Tyre | None = None
    centre: Vector = (0.0, 0.0, 0.0)


GIVEN = ("spring", "damper", "rest", "armature", "friction", "motion")
"""What can be told of a joint beside its file."""


def robot_vehicle(
    robot: Robot,
    wheels: Mapping[str, Any],
    joints: Mapping[str, Mapping[str, Any]] | None = None,
) -> Vehicle:
    """Return the vehicle of a robot; `wheels` gives links that roll their radius, their surface or a
    `RobotWheel`, `joints` gives joints a spring, a damper, a rest, an armature, a friction or a motion in
    place of the file's. A wheel stands at the origin of its link, if not told otherwise, and rolls about
    its joint; one that is fixed to the base, beside others that turn, is a caster: it slides.
    """
    links = robot.links
    base = robot.base
    known = _by_name(links)
    rolling = {name: _wheel(name, given, known) for name, given in wheels.items()}
    told = _check_joints(joints or {}, links)
    bears = _merge(links)
    masses = _masses(links, bears, {n: _reach(n, one) for n, one in rolling.items()})
    centres = {n: known[n].frame.p + known[n].frame.R @ one.centre for n, one in rolling.items()}
    lowest = min((float(centres[n][2]) - _reach(n, rolling[n]) for n in rolling), default=0.0)
    lift = np.array([0.0, 0.0, -lowest])
    bodies = [
        Body(n, one.mass, one.com + lift, one.inertia, boxes=_boxes(n, links, bears, lift))
        for n, one in masses.items()
    ]
    moving = [link for link in links if link.kind]
    screws = [_joint(link, bears[link.parent], lift, told.get(link.joint, {})) for link in moving]
    rubbing = _frictions(moving, told)
    origin = links[0].name
    where = links[0].frame.p + lift
    place = ", ".join(f"{x:.4g}" for x in where + 0.0)
    meaning = f"velocity of the origin of {origin}, ({place}) in the drawing, along the heading"
    outputs = [] if base == "fixed" else [forward_speed(origin, where, meaning)]
    turning = any(known[n].kind == "hinge" for n in rolling)
    contacts = []
    for n, one in rolling.items():
        given: dict[str, Any] = {"tyre": one.tyre, "slides": turning and bears[n] == origin}
        centre = centres[n] + lift
        axle = _axle(known[n])
        contacts.append(Wheel(n, bears[n], centre, axle, one.surface, **given))

    def vehicle(*, g: float = robot.gravity) -> Model:
        return Model(bodies, screws, contacts, rubbing, (0.0, 0.0, -g), base, outputs)

    vehicle.__name__ = re.sub(r"\W", "_", robot.name) or "robot"
    vehicle.__doc__ = f"Return the robot {robot.name!r}; g is gravity."
    return vehicle


def _masses(
    links: Sequence[RobotLink], bears: Mapping[str, str], radii: Mapping[str, float]
) -> dict[str, Mass]:
    """Return the masses of bodies, each of all links that are part of it, wheels round."""
    found: dict[str, Mass] = {}
    for link in links:
        where = bears[link.name]
        found[where] = found.get(where, Mass()) + link.mass
    for link in links:
        if link.name in radii and link.kind == "hinge":
            found[link.name] = _round_mass(link, found[link.name], radii[link.name])
    return found


def _boxes(
    name: str, links: Sequence[RobotLink], bears: Mapping[str, str], lift: Floats
) -> tuple[BodyBox, ...]:
    """Return the boxes of all links that are part of a body, where it stands."""
    own = [box for link in links if bears[link.name] == name for box in link.boxes]
    return tuple(BodyBox(box.centre + lift, box.ways) for box in own)


def _round_mass(link: RobotLink, mass: Mass, radius: float) -> Mass:
    """Return the mass of a wheel, round about its axle where it is so but for roundings of the file: or
    the machine would have no steady motion.
    """
    along = link.axis / np.linalg.norm(link.axis)
    P = np.eye(3) - np.outer(along, along)
    axial = float(along @ mass.inertia @ along)
    even = axial * np.outer(along, along) + (np.trace(mass.inertia) - axial) / 2.0 * P
    off = P @ (mass.com - link.through)
    apart = float(np.abs(mass.inertia - even).max())
    if apart > ROUND * axial or float(np.linalg.norm(off)) > ROUND * radius:
        return mass
    if apart > 1e-9 * axial or float(np.linalg.norm(off)) > 1e-9 * radius:
        told = f"wheel {link.name!r}: its mass is all but round about its axle, and taken to be so."
        tell_note(told)
    return Mass(mass.mass, mass.com - off, even)


def _check_joints(
    joints: Mapping[str, Mapping[str, Any]], links: Sequence[RobotLink]
) -> Mapping[str, Mapping[str, Any]]:
    """Return what is told of joints, where they are there and take it."""
    expect_known("no joint", joints, [link.joint for link in links if link.kind], ModelError)
    for name, given in joints.items():
        expect_known(f"joint {name!r} takes no", given, GIVEN, ModelError)
    return joints


def _joint(link: RobotLink, parent: str, lift: Floats, told: Mapping[str, Any]) -> Joint:
    """Return the joint of a link to the body that bears it."""
    given: dict[str, Any] = {name: getattr(link, name) for name in GIVEN if name != "motion"}
    known = {name: value for name, value in (given | dict(told)).items() if name != "friction"}
    through = link.through + lift
    return KINDS[link.kind](link.joint, parent, link.name, link.axis, through, **known)


def _frictions(
    links: Sequence[RobotLink], told: Mapping[str, Mapping[str, Any]]
) -> list[JointFriction]:
    """Return the dry friction of joints that have some, and are moved by no motion."""
    found = {link.joint: told.get(link.joint, {}).get("friction", link.friction) for link in links}
    held = {joint for joint, given in told.items() if given.get("motion") is not None}
    return [JointFriction(joint, x) for joint, x in found.items() if x and joint not in held]


def _by_name(links: Sequence[RobotLink]) -> dict[str, RobotLink]:
    """Return links by their names, of which there is one each."""
    found: dict[str, RobotLink] = {}
    for link in links:
        if found.setdefault(link.name, link) is not link:
            raise ModelError(f"{link.name!r} is there twice; names must differ.")
    return found


def _merge(links: Sequence[RobotLink]) -> dict[str, str]:
    """Return the body that each link is part of."""
    bears: dict[str, str] = {}
    for link in links:
        bears[link.name] = link.name if link.kind or not link.parent else bears[link.parent]
    return bears


def _axle(link: RobotLink) -> Floats:
    """Return what a wheel rolls about; a ball that is fixed has any axle."""
    return link.axis if link.kind == "hinge" else link.frame.R[:, 1]


def _wheel(name: str, given: Any, known: Mapping[str, RobotLink]) -> RobotWheel:
    """Return what a link rolls on, as it was told."""
    if name not in known:
        raise ModelError(f"wheel {name!r}: no such link. {did_you_mean(name, known)}")
    one = given if isinstance(given, RobotWheel) else RobotWheel(given)
    return replace(one, centre=vector(one.centre, f"wheel {name!r}, centre"))


def _reach(name: str, wheel: RobotWheel) -> float:
    """Return how far a wheel reaches."""
    if isinstance(wheel.surface, Surface):
        return float(wheel.surface.reach)
    if not isinstance(wheel.surface, int | float) or not 0.0 < wheel.surface < MAX_NUMBER:
        raise ModelError(
            f"wheel {name!r}: {wheel.surface!r} is neither a radius in m nor a surface."
        )
    return float(wheel.surface)


@contextmanager
def name_file(file: str | Path) -> Iterator[None]:
    """Let errors and notes name the file that they are about; a text has no name."""
    text = str(file).lstrip().startswith("<")
    before = _READ.set(
        ("<robot>", hash(str(file))) if text else (str(file), os.stat(file).st_mtime_ns)
    )
    try:
        yield
    except ModelError as error:
        if text:
            raise
        raise ModelError(f"{file}: {error}") from error
    finally:
        _READ.reset(before)


def tell_note(text: str) -> None:
    """Warn that the file that is read is taken otherwise than it is written; once, however often a
    vehicle is drawn from it, until the file changes.
    """
    file, stamp = _READ.get(("<robot>", 0))
    if (file, stamp, text) not in _TOLD:
        warnings.warn_explicit(text, FileWarning, file, 0)
        _TOLD.add((file, stamp, text))


def read_root(file: str | Path, tag: str) -> Element:
    """Return the root of a file, or of its text; it must have a tag, and be written out."""
    text = str(file)
    name = f"the <{tag}>"
    if not text.lstrip().startswith("<"):
        text, name = _read_text(text), f"{text:.200}"
    try:
        root = fromstring(text)
    except (ParseError, ValueError) as error:
        raise DataError(f"{name}: not an XML file: {error}.") from error
    if root.tag != tag:
        raise DataError(f"{name}: such a file has <{tag}> at its root, not <{root.tag}>.")
    if any(each.tag == "include" or "/xacro}" in each.tag for each in root.iter()):
        raise DataError(
            f"{name}: takes parts from other files, or has macros; write it out first (by xacro, or by "
            "MuJoCo's mj_saveLastXML)."
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
    """Return angles, those that are all but right ones as these; a note tells it.

    >>> [float(angle) for angle in square_angles(np.array([0.0, 1.5707963, 0.25]))]
    [0.0, 1.5707963267948966, 0.25]
    """
    right = np.round(angles / (np.pi / 2.0)) * (np.pi / 2.0)
    near = (np.abs(angles - right) < SQUARE) & (right != 0.0)
    if (np.abs(angles - right)[near] > 1e-5).any():
        told = f"angles within {SQUARE:g} rad of a right one, such as 1.57, are taken for it."
        tell_note(told)
    return np.where(near, right, angles)


def rename_joints(links: Sequence[RobotLink]) -> list[RobotLink]:
    """Return links whose joints have names of their own, those of links where they had none."""
    return [replace(link, joint=link.joint or link.name) if link.kind else link for link in links]


def tell_friction(where: str, friction: float, kind: str) -> float:
    """Return the dry friction of a joint, after telling where it is not quite dry."""
    if friction != 0.0:
        slow = f"{JointFriction.rate:g} {'m/s' if kind == 'slide' else 'rad/s'}"
        told = f"{where}: its friction is smooth below {slow}, a damper there (JointFriction)."
        tell_note(told)
    return friction


def numbers(text: str | None, count: int, default: Sequence[float], where: str) -> Floats:
    """Return so many numbers from an attribute; none by default is one that has to be there."""
    if text is None:
        if len(default) < count:
            raise ModelError(f"{where}: {count} numbers are missing.")
        return np.array(default, float)
    try:
        found = np.array([float(word) for word in text.split()])
    except ValueError:
        raise ModelError(f"{where}: {text!r:.200} is not a list of numbers.") from None
    if len(found) != count:
        raise ModelError(f"{where}: {text!r:.200} has {len(found)} numbers instead of {count}.")
    if not (np.abs(found) < MAX_NUMBER).all():
        raise ModelError(
            f"{where}: {text!r:.200} is not finite, or beyond all that is in SI units."
        )
    return found


def number(told: Mapping[str, str], name: str, default: float, where: str) -> float:
    """Return a number from the attributes of an element."""
    return float(numbers(told.get(name), 1, (default,), f"{where}, {name}")[0])
