"""Robots from other formats as drawings: a tree of links with joints, wheels declared beside it.

`urdf` and `mjcf` read their files into `RobotLink`s; here links without a joint become part of what they
are fixed to, joints become screws of the drawing, and the wheels that these formats do not know as
such are put on.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, fromstring

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError, ModelError, check_file, did_you_mean
from draisine.model import Body, Joint, Model, Prismatic, Revolute, Wheel, forward_speed
from draisine.model.body import LARGEST
from draisine.model.surface import Surface

KINDS: dict[str, type[Joint]] = {"hinge": Revolute, "slide": Prismatic}
"""The joints that both formats have."""

Vehicle = Callable[..., Model]


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


@dataclass(frozen=True, eq=False)
class RobotLink:
    """A rigid link where it stands in the drawing, with the joint that bears it: `kind` is "hinge",
    "slide" or "" where it is fixed to its parent (or is the base).
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


def robot_vehicle(
    name: str, links: Sequence[RobotLink], wheels: Mapping[str, Any], base: str, gravity: float
) -> Vehicle:
    """Return the vehicle of a tree of links, the base first; `wheels` gives links that roll their
    radius or their surface. A wheel stands at the origin of its link and rolls about its joint.
    """
    known = _by_name(links)
    radii = {wheel: _radius(wheel, given, known) for wheel, given in wheels.items()}
    bears = _merge(links)
    masses: dict[str, Mass] = {}
    for link in links:
        where = bears[link.name]
        masses[where] = masses.get(where, Mass()) + link.mass
    lowest = min((float(known[n].frame.p[2]) - radius for n, radius in radii.items()), default=0.0)
    lift = np.array([0.0, 0.0, -lowest])
    bodies = [Body(n, one.mass, one.com + lift, one.inertia) for n, one in masses.items()]
    joints = [_joint(link, bears[link.parent], lift) for link in links if link.kind]
    origin, where = links[0].name, links[0].frame.p + lift
    told = f"velocity of the origin of {origin} along the heading"
    outputs = [] if base == "fixed" else [forward_speed(origin, where, told)]
    contacts = [
        Wheel(n, bears[n], known[n].frame.p + lift, _axle(known[n]), surface)
        for n, surface in wheels.items()
    ]

    def vehicle(*, g: float = gravity) -> Model:
        return Model(bodies, joints, contacts, gravity=(0.0, 0.0, -g), base=base, outputs=outputs)

    vehicle.__name__ = re.sub(r"\W", "_", name) or "robot"
    vehicle.__doc__ = f"Return the robot {name!r}; g is gravity."
    return vehicle


def _joint(link: RobotLink, parent: str, lift: Floats) -> Joint:
    """Return the joint of a link to the body that bears it."""
    given: dict[str, Any] = {"spring": link.spring, "damper": link.damper, "rest": link.rest}
    through = link.through + lift
    return KINDS[link.kind](link.joint, parent, link.name, link.axis, through, **given)


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


def _radius(wheel: str, given: Any, known: Mapping[str, RobotLink]) -> float:
    """Return how far a wheel reaches."""
    if wheel not in known:
        raise ModelError(f"wheel {wheel!r}: no such link. {did_you_mean(wheel, known)}")
    if isinstance(given, Surface):
        return float(given.reach)
    if not isinstance(given, int | float) or not 0.0 < given < LARGEST:
        raise ModelError(f"wheel {wheel!r}: {given!r} is neither a radius in m nor a surface.")
    return float(given)


def read_root(file: str | Path, tag: str) -> Element:
    """Return the root of a file, or of its text; it must have a tag, and be written out."""
    text, name = str(file), f"the <{tag}>"
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


def rename_joints(links: Sequence[RobotLink]) -> list[RobotLink]:
    """Return links whose joints have names of their own, those of links where they had none."""
    return [replace(link, joint=link.joint or link.name) if link.kind else link for link in links]


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
    if not (np.abs(found) < LARGEST).all():
        raise ModelError(
            f"{where}: {text!r:.200} is not finite, or beyond all that is in SI units."
        )
    return found


def number(told: Mapping[str, str], name: str, default: float, where: str) -> float:
    """Return a number from the attributes of an element."""
    return float(numbers(told.get(name), 1, (default,), f"{where}, {name}")[0])
