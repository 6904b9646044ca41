"""Robots from MuJoCo's MJCF files, with their wheels declared beside them.

Bodies, hinges, slides, inertias (given, or of boxes, balls, cylinders, capsules and ellipsoids) and
default classes are read. Actuators, sensors, limits and MuJoCo's own contacts are left to the file: contacts
here are exact, and are declared. What would make another machine of it is an error.
The format: https://mujoco.readthedocs.io/en/stable/XMLreference.html.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from draisine.algebra.lie import rot_about, rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ModelError, did_you_mean
from draisine.interop.robots.robot import (
    ORIGIN,
    LinkFrame,
    Mass,
    Robot,
    RobotLink,
    RoundShape,
    Vehicle,
    name_file,
    number,
    numbers,
    read_root,
    rename_joints,
    robot_vehicle,
    square_angles,
    tell_friction,
)
from draisine.model import inertia
from draisine.model.body import BodyBox

Attributes = Mapping[str, str]

SHAPES = {
    "sphere": ((0, 0, 0), 4.0 * np.pi / 3.0, (0.2, 0.2, 0.2)),
    "ellipsoid": ((0, 1, 2), 4.0 * np.pi / 3.0, (0.2, 0.2, 0.2)),
    "cylinder": ((0, 0, 1), 2.0 * np.pi, (0.25, 0.25, 1.0 / 3.0)),
    "box": ((0, 1, 2), 8.0, (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)),
}
"""Of solid shapes: which of the sizes are the half-axes, the volume and the mean squares of the
coordinates where these are 1.
"""

CHANGES = {
    "compiler": ("settotalmass", "balanceinertia", "boundmass", "boundinertia", "coordinate"),
    "option": ("density", "viscosity", "wind"),
    "flag": ("gravity", "passive", "spring", "damper"),
    "body": ("gravcomp", "mocap"),
    "joint": ("springdamper",),
    "geom": ("shellinertia",),
}
"""Attributes that make another machine of what is read, by element."""

HARMLESS = re.compile(r"[0. ]+|-1|false|enable|local")
"""How such an attribute reads where it changes nothing."""

UNREAD = (
    "equality",
    "tendon",
    "frame",
    "replicate",
    "attach",
    "composite",
    "flexcomp",
    "deformable",
)
"""Elements that couple joints, or hold bodies: they are not read."""


def read_mjcf(
    file: str | Path,
    wheels: Mapping[str, Any],
    joints: Mapping[str, Mapping[str, Any]] | None = None,
) -> Vehicle:
    """Return the robot of a file (or of its text) as a vehicle for `draisine.compile`.

    `wheels` gives the bodies that roll their radius, their surface or a `RobotWheel`; each stands at
    the origin of its body and rolls about the axis of its joint. `joints` gives joints a spring, a
    damper, a rest, an armature, a friction or a motion in place of the file's. The one body in the
    world is the base: free if it has a free joint, else its joints are on a fixed base.

    >>> text = '''<mujoco><worldbody><body name="ball"><freejoint/>
    ... <geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>'''
    >>> read_mjcf(text, {})().bodies[0].inertia[0, 0].round(6)
    np.float64(0.008)
    """
    robot = parse_mjcf(file)
    with name_file(file):
        return robot_vehicle(robot, wheels, joints)


def parse_mjcf(file: str | Path) -> Robot:
    """Return what a file (or its text) says."""
    root = read_root(file, "mujoco")
    with name_file(file):
        return _robot(root)


def _robot(root: Element) -> Robot:
    """Return the one machine in the world."""
    _check_read(root)
    top = root.findall("worldbody/body")
    if len(top) != 1:
        told = ", ".join(each.get("name", "one without a name") for each in top) or "none"
        raise ModelError(
            f"a machine is one body in the world, with others in it; here are {len(top)}: {told}."
        )
    free = top[0].find("freejoint") is not None or any(
        joint.get("type") == "free" for joint in top[0].findall("joint")
    )
    links = [] if free else [RobotLink("world", "", ORIGIN, Mass())]
    links += _MjcfReader(root).links(top[0], "" if free else "world", ORIGIN, "main")
    pull = numbers(_merged(root, "option").get("gravity"), 3, (0, 0, -9.81), "gravity")
    if pull[:2].any():
        raise ModelError(f"gravity {pull.tolist()}: here the ground is level; turn the machine.")
    base = "SE(3)" if free else "fixed"
    return Robot(root.get("model", "robot"), rename_joints(links), base, -float(pull[2]))


def _check_read(root: Element) -> None:
    """Raise where a file says what would make it another machine than the one that is read."""
    for each in (one for part in root if part.tag != "default" for one in part.iter()):
        if each.tag in UNREAD and (len(each) or each.attrib):
            raise ModelError(
                f"<{each.tag}> is not read: write its bodies out, or draw the machine by hand."
            )
    for each in root.iter():
        for name in CHANGES.get(each.tag, ()):
            if not HARMLESS.fullmatch(each.get(name, "0")):
                raise ModelError(
                    f"<{each.tag} {each.get('name', '')}>: {name} = {each.get(name)!r} is not read; "
                    "write out what it does to the machine, and take it away."
                )


def _merged(root: Element, tag: str) -> Attributes:
    """Return the attributes of all elements of a tag at the top, the last first."""
    return {name: value for each in root.findall(tag) for name, value in each.attrib.items()}


class _MjcfReader:
    """What the compiler and the defaults of a file say."""

    def __init__(self, root: Element) -> None:
        told = _merged(root, "compiler")
        self.unit = 1.0 if told.get("angle", "degree") == "radian" else np.pi / 180.0
        self.order = told.get("eulerseq", "xyz")
        self.geoms = told.get("inertiafromgeom", "auto")
        if len(self.order) != 3 or not set(self.order.lower()) <= set("xyz"):
            raise ModelError(
                f"<compiler>: eulerseq {self.order!r} is not of three of x, y, z, X, Y, Z."
            )
        self.defaults: dict[str, dict[str, Attributes]] = {"main": {}}
        for each in root.findall("default"):  # one after the other they are one, "main"
            self._learn(each)

    def _learn(self, outermost: Element) -> None:
        """Keep the classes of defaults in an element; each inherits from the one around it."""
        waiting = [(outermost, self.defaults["main"], "main")]
        while waiting:  # a loop, because files may nest deeper than Python calls functions
            element, inherited, name = waiting.pop()
            own = dict(inherited)
            for child in element:
                if child.tag != "default":
                    own[child.tag] = {**own.get(child.tag, {}), **child.attrib}
            self.defaults[name] = own
            inner = element.findall("default")
            waiting += [(child, own, child.get("class", name)) for child in reversed(inner)]

    def _full(self, element: Element, around: str) -> dict[str, str]:
        """Return the attributes of an element, with what its class gives."""
        name = element.get("class", around)
        if name not in self.defaults:
            told = did_you_mean(name, self.defaults)
            raise ModelError(f"<{element.tag}>: no class {name!r} among the defaults. {told}")
        return {**self.defaults[name].get(element.tag, {}), **element.attrib}

    def links(
        self, outermost: Element, parent: str, outer: LinkFrame, around: str
    ) -> Iterator[RobotLink]:
        """Yield the links of a body and of all bodies in it, parents first."""
        waiting = [(outermost, parent, outer, around)]
        while waiting:  # a loop, because files may nest deeper than Python calls functions
            body, parent, outer, around = waiting.pop()
            around = body.get("childclass", around)
            links = list(self._links(body, parent, outer, around))
            yield from links
            inner = [
                (child, links[-1].name, links[-1].frame, around) for child in body.findall("body")
            ]
            waiting += reversed(inner)

    def _links(
        self, body: Element, parent: str, outer: LinkFrame, around: str
    ) -> Iterator[RobotLink]:
        """Yield the links of one body: one more for each further joint."""
        name = body.get("name", "")
        if not name:
            raise ModelError(f"a body in {parent or 'the world'!r} has no name; give it one.")
        frame = outer @ self._frame(body.attrib, f"body {name!r}")
        joints = [self._full(each, around) for each in body.findall("joint")]
        if not parent:
            joints = [joint for joint in joints if joint.get("type") != "free"]
        elif body.find("freejoint") is not None:
            raise ModelError(f"body {name!r}: only the one in the world can be free.")
        mass = self._mass(body, frame, around)
        rounds = tuple(self._rounds(body, frame, around))
        boxes = tuple(self._boxes(body, frame, around))
        if not joints:
            yield RobotLink(name, parent, frame, mass, rounds=rounds, boxes=boxes)
        for k, joint in enumerate(joints, start=1):
            last = k == len(joints)
            inner = name if last else f"{name}_{k}"
            link = self._jointed(inner, parent, frame, mass if last else Mass(), joint)
            yield replace(link, rounds=rounds, boxes=boxes) if last else link
            parent = inner

    def _jointed(
        self, name: str, parent: str, frame: LinkFrame, mass: Mass, joint: Attributes
    ) -> RobotLink:
        """Return a link on a hinge or a slide."""
        where = f"joint {joint.get('name', name)!r}"
        kind = joint.get("type", "hinge")
        if kind not in ("hinge", "slide"):
            raise ModelError(f"{where}: type {kind!r} is not read; take hinges and slides.")
        unit = self.unit if kind == "hinge" else 1.0
        return RobotLink(
            name,
            parent,
            frame,
            mass,
            kind,
            joint.get("name", ""),
            frame.R @ numbers(joint.get("axis"), 3, (0, 0, 1), where),
            frame.p + frame.R @ numbers(joint.get("pos"), 3, (0, 0, 0), where),
            number(joint, "stiffness", 0.0, where),
            number(joint, "damping", 0.0, where),
            unit * (number(joint, "springref", 0.0, where) - number(joint, "ref", 0.0, where)),
            number(joint, "armature", 0.0, where),
            tell_friction(where, number(joint, "frictionloss", 0.0, where), kind),
            limited="range" in joint and joint.get("limited", "auto") != "false",
        )

    def _frame(self, told: Attributes, where: str) -> LinkFrame:
        """Return where an element is, by its pos and how it is turned, or by its two ends."""
        if "fromto" in told:
            ends = numbers(told["fromto"], 6, (), where).reshape(2, 3)
            return LinkFrame(_turned_up(ends[1] - ends[0], where), ends.mean(axis=0))
        return LinkFrame(self._turned(told, where), numbers(told.get("pos"), 3, (0, 0, 0), where))

    def _turned(self, told: Attributes, where: str) -> Floats:
        """Return how an element is turned: by its quat, euler, axisangle, xyaxes or zaxis."""
        if "quat" in told:
            return rotation(_unit(numbers(told["quat"], 4, (), where), where))
        if "axisangle" in told:
            *axis, angle = numbers(told["axisangle"], 4, (), where)
            turn = float(square_angles(np.array(self.unit * angle)))
            return rot_about(_unit(np.array(axis), where), turn)
        if "xyaxes" in told:
            x, y = numbers(told["xyaxes"], 6, (), where).reshape(2, 3)
            x = _unit(x, where)
            y = _unit(y - (x @ y) * x, where)
            return np.stack([x, y, np.cross(x, y)], axis=1)
        if "zaxis" in told:
            return _turned_up(numbers(told["zaxis"], 3, (), where), where)
        R: Floats = np.eye(3)
        angles = square_angles(self.unit * numbers(told.get("euler"), 3, (0, 0, 0), where))
        for letter, angle in zip(self.order, angles, strict=True):
            one = rot_about(np.eye(3)["xyz".index(letter.lower())], angle)
            R = R @ one if letter.islower() else one @ R
        return R

    def _rounds(self, body: Element, frame: LinkFrame, around: str) -> Iterator[RoundShape]:
        """Yield the balls and cylinders of a body in the drawing."""
        where = f"geom of body {body.get('name')!r}"
        for told in (self._full(geom, around) for geom in body.findall("geom")):
            kind = told.get("type", "sphere")
            if kind in ("sphere", "cylinder") and "size" in told:
                place = frame @ self._frame(told, where)
                first = {"size": told["size"].partition(" ")[0]}
                radius = number(first, "size", 0.0, where)
                yield RoundShape(radius, place.p, None if kind == "sphere" else place.R[:, 2])

    def _boxes(self, body: Element, frame: LinkFrame, around: str) -> Iterator[BodyBox]:
        """Yield the boxes of a body in the drawing."""
        where = f"geom of body {body.get('name')!r}"
        for told in (self._full(geom, around) for geom in body.findall("geom")):
            if told.get("type", "sphere") == "box":
                place = frame @ self._frame(told, where)
                yield BodyBox(place.p, place.R * _sizes(told, 3, where))

    def _mass(self, body: Element, frame: LinkFrame, around: str) -> Mass:
        """Return the mass of a body in the drawing: as it is given, else that of its geoms."""
        inertial = body.find("inertial")
        where = f"body {body.get('name')!r}"
        if inertial is None and self.geoms == "false":
            return Mass()
        if inertial is None or self.geoms == "true":
            shapes = [self._full(geom, around) for geom in body.findall("geom")]
            return sum((self._shape(told, frame, where) for told in shapes), Mass())
        place = frame @ self._frame(inertial.attrib, f"inertial of {where}")
        if "fullinertia" in inertial.attrib:
            own = inertia(*numbers(inertial.get("fullinertia"), 6, (), where))
        else:
            own = np.diag(numbers(inertial.get("diaginertia"), 3, (0, 0, 0), where))
        mass = number(inertial.attrib, "mass", 0.0, where)
        return Mass(mass, place.p, place.R @ own @ place.R.T)

    def _shape(self, told: Attributes, frame: LinkFrame, where: str) -> Mass:
        """Return the mass of a geom of uniform density."""
        place = frame @ self._frame(told, f"geom of {where}")
        kind = told.get("type", "sphere")
        if number(told, "mass" if "mass" in told else "density", 1000.0, where) == 0.0:
            return Mass()
        if kind not in (*SHAPES, "capsule"):
            raise ModelError(f"{where}: the mass of a {kind} is not known; give it an <inertial>.")
        volume, squares = _capsule(told, where) if kind == "capsule" else _solid(told, kind, where)
        mass = number(told, "density", 1000.0, where) * volume
        mass = number(told, "mass", mass, where)
        xx, yy, zz = squares
        own = mass * np.diag([yy + zz, zz + xx, xx + yy])
        return Mass(mass, place.p, place.R @ own @ place.R.T)


def _sizes(told: Attributes, count: int, where: str) -> Floats:
    """Return so many sizes of a geom; one between two ends is as long as they are apart."""
    where = f"size of a geom of {where}"
    if "fromto" not in told:
        return numbers(told.get("size"), count, (), where)
    ends = numbers(told["fromto"], 6, (), where).reshape(2, 3)
    around = numbers(told.get("size"), 1, (), where)
    return np.append(np.repeat(around, count - 1), np.linalg.norm(ends[1] - ends[0]) / 2.0)


def _solid(told: Attributes, kind: str, where: str) -> tuple[float, Floats]:
    """Return the volume of a solid, and the mean squares of the coordinates in it."""
    which, fill, squares = SHAPES[kind]
    half = _sizes(told, max(which) + 1, where)[list(which)]
    return fill * float(np.prod(half)), np.array(squares) * half * half


def _capsule(told: Attributes, where: str) -> tuple[float, Floats]:
    """Return the same of a capsule: a cylinder of half-length h between two halves of a ball."""
    r, h = _sizes(told, 2, where)
    pipe = 2.0 * np.pi * r * r * h
    ball = 4.0 * np.pi / 3.0 * r**3
    xx = (pipe * r * r / 4.0 + ball * r * r / 5.0) / (pipe + ball)
    zz = (pipe * h * h / 3.0 + ball * (r * r / 5.0 + h * h + 0.75 * h * r)) / (pipe + ball)
    return pipe + ball, np.array([xx, xx, zz])


def _turned_up(axis: Floats, where: str) -> Floats:
    """Return the least turn that takes z to an axis; about x where that is opposite."""
    along = _unit(axis, where)
    across = np.cross([0.0, 0.0, 1.0], along)
    sine = float(np.linalg.norm(across))
    if sine < 1e-12:
        return np.diag([1.0, np.sign(along[2]), np.sign(along[2])])
    return rot_about(across / sine, float(np.arctan2(sine, along[2])))


def _unit(vector: Floats, where: str) -> Floats:
    """Return the direction of a vector."""
    size = float(np.linalg.norm(vector))
    if not size > 0.0:
        raise ModelError(f"{where}: {vector.tolist()} has no direction.")
    return np.asarray(vector / size)
