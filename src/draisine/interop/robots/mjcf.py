"""Import of robots from MJCF files (MuJoCo), with separately declared wheels.

Bodies, hinges, slides, inertias (explicit, or of boxes, spheres, cylinders, capsules and ellipsoids) and
default classes are read. Actuators, sensors, limits and MuJoCo contacts are ignored; rolling contacts are
declared as arguments. Unsupported elements that would change the machine raise an error.
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
    DRAWING_FRAME,
    LinkFrame,
    Mass,
    Robot,
    RobotLink,
    RoundShape,
    Vehicle,
    name_file,
    note_friction,
    parse_number_attribute,
    parse_numbers_attribute,
    read_root,
    rename_joints,
    robot_vehicle,
    square_angles,
)
from draisine.model import inertia
from draisine.model.body import BodyBox

Attributes = Mapping[str, str]
"""Type of the attributes of an XML element."""

SOLID_SHAPES = {
    "sphere": ((0, 0, 0), 4.0 * np.pi / 3.0, (0.2, 0.2, 0.2)),
    "ellipsoid": ((0, 1, 2), 4.0 * np.pi / 3.0, (0.2, 0.2, 0.2)),
    "cylinder": ((0, 0, 1), 2.0 * np.pi, (0.25, 0.25, 1.0 / 3.0)),
    "box": ((0, 1, 2), 8.0, (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)),
}
"""Geometry of solid shapes: indices of the sizes that are half-axes, and for unit half-axes the volume and
mean squares of the coordinates.

"""

UNSUPPORTED_ATTRIBUTES = {
    "compiler": ("settotalmass", "balanceinertia", "boundmass", "boundinertia", "coordinate"),
    "option": ("density", "viscosity", "wind"),
    "flag": ("gravity", "passive", "spring", "damper"),
    "body": ("gravcomp", "mocap"),
    "joint": ("springdamper",),
    "geom": ("shellinertia",),
}
"""Attributes that would change the machine but are not supported, by XML element."""

NEUTRAL_VALUE = re.compile(r"[0. ]+|-1|false|enable|local")
"""Pattern of the values of an unsupported attribute that have no effect."""

UNSUPPORTED_ELEMENTS = (
    "equality",
    "tendon",
    "frame",
    "replicate",
    "attach",
    "composite",
    "flexcomp",
    "deformable",
)
"""XML elements that couple joints or contain bodies; they are not supported."""


def read_mjcf(
    file: str | Path,
    wheels: Mapping[str, Any],
    joints: Mapping[str, Mapping[str, Any]] | None = None,
) -> Vehicle:
    """Read a robot from an MJCF file as a vehicle for `draisine.compile`.

    The only body of the world element is the base. If it has no free joint, the base is fixed and its joints
    connect it to the world.

    Parameters
    ----------
    file
        Path of the MJCF file, or its text.
    wheels
        Radius (m), surface or `RobotWheel` of each rolling body by name. A wheel has its centre at the origin
        of its body and rolls about the axis of its joint.
    joints
        Properties of joints that replace those of the file, by name: spring, damper, rest, armature,
        friction, motion.

    Returns
    -------
    callable
        The vehicle, a function of gravity `g` that returns a `Model`.

    Raises
    ------
    DataError
        If the file cannot be read.
    ModelError
        If the file has unsupported elements, or if a wheel or joint does not exist.

    Examples
    --------
    >>> text = '''<mujoco><worldbody><body name="ball"><freejoint/>
    ... <geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>'''
    >>> read_mjcf(text, {})().bodies[0].inertia[0, 0].round(6)
    np.float64(0.008)
    """
    robot = parse_mjcf(file)
    with name_file(file):
        return robot_vehicle(robot, wheels, joints)


def parse_mjcf(file: str | Path) -> Robot:
    """Parse an MJCF file or its text into a `Robot`."""
    root = read_root(file, "mujoco")
    with name_file(file):
        return _robot(root)


def _robot(root: Element) -> Robot:
    """Return the robot in the world element; raise `ModelError` unless there is exactly one."""
    _check_supported(root)
    top = root.findall("worldbody/body")
    if len(top) != 1:
        bodies = ", ".join(each.get("name", "one without a name") for each in top) or "none"
        raise ModelError(
            f"The world must have one body, which contains the others; it has {len(top)}: {bodies}."
        )
    free = top[0].find("freejoint") is not None or any(
        joint.get("type") == "free" for joint in top[0].findall("joint")
    )
    links = [] if free else [RobotLink("world", "", DRAWING_FRAME, Mass())]
    links += _MjcfReader(root).links(top[0], "" if free else "world", DRAWING_FRAME, "main")
    gravity = parse_numbers_attribute(
        _merged(root, "option").get("gravity"), 3, (0, 0, -9.81), "gravity"
    )
    if gravity[:2].any():
        raise ModelError(
            f"gravity {gravity.tolist()}: gravity must be vertical. Rotate the machine instead."
        )
    base = "SE(3)" if free else "fixed"
    return Robot(root.get("model", "robot"), rename_joints(links), base, -float(gravity[2]))


def _check_supported(root: Element) -> None:
    """Raise `ModelError` for elements and attributes that would change the machine but are not supported."""
    elements = (e for section in root if section.tag != "default" for e in section.iter())
    for element in elements:
        if element.tag in UNSUPPORTED_ELEMENTS and (len(element) or element.attrib):
            raise ModelError(
                f"<{element.tag}> is not supported: write its bodies explicitly, or model the machine in "
                "Python."
            )
    for element in root.iter():
        for name in UNSUPPORTED_ATTRIBUTES.get(element.tag, ()):
            if not NEUTRAL_VALUE.fullmatch(element.get(name, "0")):
                raise ModelError(
                    f"<{element.tag} {element.get('name', '')}>: {name} = {element.get(name)!r} is not "
                    "supported: write its effect explicitly and remove it."
                )


def _merged(root: Element, tag: str) -> Attributes:
    """Return the merged attributes of all top-level elements with a tag; later elements override."""
    return {name: value for each in root.findall(tag) for name, value in each.attrib.items()}


class _MjcfReader:
    """Reader of MJCF bodies with the compiler settings and default classes of a file."""

    def __init__(self, root: Element) -> None:
        """Read compiler settings and default classes of a file."""
        compiler = _merged(root, "compiler")
        self.unit = 1.0 if compiler.get("angle", "degree") == "radian" else np.pi / 180.0
        self.order = compiler.get("eulerseq", "xyz")
        self.geoms = compiler.get("inertiafromgeom", "auto")
        if len(self.order) != 3 or not set(self.order.lower()) <= set("xyz"):
            raise ModelError(
                f"<compiler>: eulerseq {self.order!r} must be three letters of x, y, z, X, Y, Z."
            )
        self.defaults: dict[str, dict[str, Attributes]] = {"main": {}}
        for each in root.findall(
            "default"
        ):  # several top-level default elements form one class, "main"
            self._read_defaults(each)

    def _read_defaults(self, outermost: Element) -> None:
        """Store the default classes in an element; each class inherits from the enclosing one."""
        stack = [(outermost, self.defaults["main"], "main")]
        while stack:  # a loop, because files may be nested deeper than Python's recursion limit
            element, inherited, name = stack.pop()
            defaults = dict(inherited)
            for child in element:
                if child.tag != "default":
                    defaults[child.tag] = {**defaults.get(child.tag, {}), **child.attrib}
            self.defaults[name] = defaults
            inner = element.findall("default")
            stack += [(child, defaults, child.get("class", name)) for child in reversed(inner)]

    def _full(self, element: Element, around: str) -> dict[str, str]:
        """Return the attributes of an element, completed by the defaults of its class."""
        name = element.get("class", around)
        if name not in self.defaults:
            hint = did_you_mean(name, self.defaults)
            raise ModelError(f"<{element.tag}>: no class {name!r} among the defaults. {hint}")
        return {**self.defaults[name].get(element.tag, {}), **element.attrib}

    def links(
        self, outermost: Element, parent: str, outer: LinkFrame, around: str
    ) -> Iterator[RobotLink]:
        """Yield the links of a body and of all bodies inside it, parents first."""
        stack = [(outermost, parent, outer, around)]
        while stack:  # a loop, because files may be nested deeper than Python's recursion limit
            body, parent, outer, around = stack.pop()
            around = body.get("childclass", around)
            links = list(self._links(body, parent, outer, around))
            yield from links
            inner = [
                (child, links[-1].name, links[-1].frame, around) for child in body.findall("body")
            ]
            stack += reversed(inner)

    def _links(
        self, body: Element, parent: str, outer: LinkFrame, around: str
    ) -> Iterator[RobotLink]:
        """Yield the links of one body; every joint except the last has a massless link."""
        name = body.get("name", "")
        if not name:
            raise ModelError(f"A body in {parent or 'the world'!r} has no name; add one.")
        frame = outer @ self._frame(body.attrib, f"body {name!r}")
        joints = [self._full(each, around) for each in body.findall("joint")]
        if not parent:
            joints = [joint for joint in joints if joint.get("type") != "free"]
        elif body.find("freejoint") is not None:
            raise ModelError(f"body {name!r}: only the body of the world can be free.")
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
        """Return a link that is connected by a hinge or a slide."""
        where = f"joint {joint.get('name', name)!r}"
        kind = joint.get("type", "hinge")
        if kind not in ("hinge", "slide"):
            raise ModelError(f"{where}: type {kind!r} is not supported; use hinges and slides.")
        unit = self.unit if kind == "hinge" else 1.0
        return RobotLink(
            name,
            parent,
            frame,
            mass,
            kind,
            joint.get("name", ""),
            frame.R @ parse_numbers_attribute(joint.get("axis"), 3, (0, 0, 1), where),
            frame.p + frame.R @ parse_numbers_attribute(joint.get("pos"), 3, (0, 0, 0), where),
            parse_number_attribute(joint, "stiffness", 0.0, where),
            parse_number_attribute(joint, "damping", 0.0, where),
            unit
            * (
                parse_number_attribute(joint, "springref", 0.0, where)
                - parse_number_attribute(joint, "ref", 0.0, where)
            ),
            parse_number_attribute(joint, "armature", 0.0, where),
            note_friction(where, parse_number_attribute(joint, "frictionloss", 0.0, where), kind),
            limited="range" in joint and joint.get("limited", "auto") != "false",
        )

    def _frame(self, attributes: Attributes, where: str) -> LinkFrame:
        """Return the frame of an element, from position and orientation or from two end points."""
        if "fromto" in attributes:
            ends = parse_numbers_attribute(attributes["fromto"], 6, (), where).reshape(2, 3)
            return LinkFrame(_rotation_from_z(ends[1] - ends[0], where), ends.mean(axis=0))
        position = parse_numbers_attribute(attributes.get("pos"), 3, (0, 0, 0), where)
        return LinkFrame(self._orientation(attributes, where), position)

    def _orientation(self, attributes: Attributes, where: str) -> Floats:
        """Return the rotation matrix (3, 3) of an element from quat, euler, axisangle, xyaxes or zaxis."""
        if "quat" in attributes:
            return rotation(_unit(parse_numbers_attribute(attributes["quat"], 4, (), where), where))
        if "axisangle" in attributes:
            *axis, angle = parse_numbers_attribute(attributes["axisangle"], 4, (), where)
            turn = float(square_angles(np.array(self.unit * angle)))
            return rot_about(_unit(np.array(axis), where), turn)
        if "xyaxes" in attributes:
            x, y = parse_numbers_attribute(attributes["xyaxes"], 6, (), where).reshape(2, 3)
            x = _unit(x, where)
            y = _unit(y - (x @ y) * x, where)
            return np.stack([x, y, np.cross(x, y)], axis=1)
        if "zaxis" in attributes:
            return _rotation_from_z(
                parse_numbers_attribute(attributes["zaxis"], 3, (), where), where
            )
        R: Floats = np.eye(3)
        angles = square_angles(
            self.unit * parse_numbers_attribute(attributes.get("euler"), 3, (0, 0, 0), where)
        )
        for letter, angle in zip(self.order, angles, strict=True):
            about = rot_about(np.eye(3)["xyz".index(letter.lower())], angle)
            # In MJCF, lower-case letters denote rotating axes and upper-case letters fixed axes.
            R = R @ about if letter.islower() else about @ R
        return R

    def _rounds(self, body: Element, frame: LinkFrame, around: str) -> Iterator[RoundShape]:
        """Yield the spheres and cylinders of a body in the drawing."""
        where = f"geom of body {body.get('name')!r}"
        for geom in (self._full(element, around) for element in body.findall("geom")):
            kind = geom.get("type", "sphere")
            if kind in ("sphere", "cylinder") and "size" in geom:
                shape = frame @ self._frame(geom, where)
                first = {"size": geom["size"].partition(" ")[0]}
                radius = parse_number_attribute(first, "size", 0.0, where)
                yield RoundShape(radius, shape.p, None if kind == "sphere" else shape.R[:, 2])

    def _boxes(self, body: Element, frame: LinkFrame, around: str) -> Iterator[BodyBox]:
        """Yield the boxes of a body in the drawing."""
        where = f"geom of body {body.get('name')!r}"
        for geom in (self._full(element, around) for element in body.findall("geom")):
            if geom.get("type", "sphere") == "box":
                box = frame @ self._frame(geom, where)
                yield BodyBox(box.p, box.R * _sizes(geom, 3, where))

    def _mass(self, body: Element, frame: LinkFrame, around: str) -> Mass:
        """Return the mass properties of a body in the drawing: explicit, or the sum of its geoms."""
        inertial = body.find("inertial")
        where = f"body {body.get('name')!r}"
        if inertial is None and self.geoms == "false":
            return Mass()
        if inertial is None or self.geoms == "true":
            shapes = [self._full(geom, around) for geom in body.findall("geom")]
            return sum((self._shape(shape, frame, where) for shape in shapes), Mass())
        principal = frame @ self._frame(inertial.attrib, f"inertial of {where}")
        if "fullinertia" in inertial.attrib:
            tensor = inertia(*parse_numbers_attribute(inertial.get("fullinertia"), 6, (), where))
        else:
            tensor = np.diag(
                parse_numbers_attribute(inertial.get("diaginertia"), 3, (0, 0, 0), where)
            )
        mass = parse_number_attribute(inertial.attrib, "mass", 0.0, where)
        return Mass(mass, principal.p, principal.R @ tensor @ principal.R.T)

    def _shape(self, attributes: Attributes, frame: LinkFrame, where: str) -> Mass:
        """Return the mass properties of a geom of uniform density."""
        shape = frame @ self._frame(attributes, f"geom of {where}")
        kind = attributes.get("type", "sphere")
        # MuJoCo's default density is that of water, 1000 kg/m3.
        weight = "mass" if "mass" in attributes else "density"
        if parse_number_attribute(attributes, weight, 1000.0, where) == 0.0:
            return Mass()
        if kind not in (*SOLID_SHAPES, "capsule"):
            raise ModelError(f"{where}: the mass of a {kind} is not known; add an <inertial>.")
        if kind == "capsule":
            volume, squares = _capsule(attributes, where)
        else:
            volume, squares = _solid(attributes, kind, where)
        mass = parse_number_attribute(attributes, "density", 1000.0, where) * volume
        mass = parse_number_attribute(attributes, "mass", mass, where)
        xx, yy, zz = squares
        tensor = mass * np.diag([yy + zz, zz + xx, xx + yy])
        return Mass(mass, shape.p, shape.R @ tensor @ shape.R.T)


def _sizes(attributes: Attributes, count: int, where: str) -> Floats:
    """Return `count` sizes of a geom in m; the length of a geom between two end points is their distance."""
    where = f"size of a geom of {where}"
    if "fromto" not in attributes:
        return parse_numbers_attribute(attributes.get("size"), count, (), where)
    ends = parse_numbers_attribute(attributes["fromto"], 6, (), where).reshape(2, 3)
    radius = parse_numbers_attribute(attributes.get("size"), 1, (), where)
    return np.append(np.repeat(radius, count - 1), np.linalg.norm(ends[1] - ends[0]) / 2.0)


def _solid(attributes: Attributes, kind: str, where: str) -> tuple[float, Floats]:
    """Return volume (m3) and mean squares (3,) of the coordinates (m2) of a solid shape."""
    indices, fill, squares = SOLID_SHAPES[kind]
    half = _sizes(attributes, max(indices) + 1, where)[list(indices)]
    return fill * float(np.prod(half)), np.array(squares) * half * half


def _capsule(attributes: Attributes, where: str) -> tuple[float, Floats]:
    """Return volume (m3) and mean squares (3,) in m2 of a capsule: a cylinder and two hemispheres."""
    r, h = _sizes(attributes, 2, where)
    pipe = 2.0 * np.pi * r * r * h
    ball = 4.0 * np.pi / 3.0 * r**3
    xx = (pipe * r * r / 4.0 + ball * r * r / 5.0) / (pipe + ball)
    zz = (pipe * h * h / 3.0 + ball * (r * r / 5.0 + h * h + 0.75 * h * r)) / (pipe + ball)
    return pipe + ball, np.array([xx, xx, zz])


def _rotation_from_z(axis: Floats, where: str) -> Floats:
    """Return the smallest rotation (3, 3) from z to an axis; about x if the axis is opposite to z."""
    along = _unit(axis, where)
    across = np.cross([0.0, 0.0, 1.0], along)
    sine = float(np.linalg.norm(across))
    if sine < 1e-12:  # parallel up to round-off, so that the axis of rotation is undefined
        return np.diag([1.0, np.sign(along[2]), np.sign(along[2])])
    return rot_about(across / sine, float(np.arctan2(sine, along[2])))


def _unit(vector: Floats, where: str) -> Floats:
    """Return a vector divided by its length; raise `ModelError` for a zero vector."""
    length = float(np.linalg.norm(vector))
    if not length > 0.0:
        raise ModelError(f"{where}: {vector.tolist()} has no direction.")
    return np.asarray(vector / length)
