"""Robots from MuJoCo's MJCF files, with separately declared wheels.

The reader supports bodies, joints, inertias (stated, or of boxes, spheres, cylinders, capsules and
ellipsoids), default classes, included files, couplings of joints, gravity compensation, the limits of
actuators and the usual sensors. It does not model the contacts of MuJoCo; the caller declares rolling
contacts. It warns about elements that it does not model, and reads the rest of the robot. It does not need
mesh files, whereas MuJoCo's own compiler stops at a missing one. The format:
https://mujoco.readthedocs.io/en/stable/XMLreference.html.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from draisine.algebra.lie import rot_about, rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ModelError, did_you_mean
from draisine.interop.robots.document import (
    find_numbers,
    is_positive_radius,
    is_xml_text,
    name_file,
    nonnegative,
    number,
    numbers,
    read_root,
    square_angles,
    warn_once,
)
from draisine.interop.robots.robot import (
    DRAWING_FRAME,
    LinkFrame,
    Mass,
    MeshShape,
    Mimic,
    Robot,
    RobotLink,
    RoundShape,
    Vehicle,
    make_names_valid,
    note_friction,
    rename_joints,
    robot_vehicle,
    stated_mass,
)
from draisine.interop.robots.sensors import read_mjcf_sensors
from draisine.model import Motor, inertia
from draisine.model.body import BodyBox

Attributes = Mapping[str, str]
"""Attributes of an XML element."""

SOLID_SHAPES = {
    "sphere": ((0, 0, 0), 4.0 * np.pi / 3.0, (0.2, 0.2, 0.2)),
    "ellipsoid": ((0, 1, 2), 4.0 * np.pi / 3.0, (0.2, 0.2, 0.2)),
    "cylinder": ((0, 0, 1), 2.0 * np.pi, (0.25, 0.25, 1.0 / 3.0)),
    "box": ((0, 1, 2), 8.0, (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)),
}
"""Solid shapes of geoms by type: (indices of the half-axes in `size`, volume, mean squared coordinates).

Volume and mean squared coordinates are those of the shape with unit half-axes.
"""

SIZE_COUNTS = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
"""Number of entries of the attribute `size` of a geom that are used, by type of the geom."""

UNSUPPORTED_ATTRIBUTES = {
    "option": ("density", "viscosity", "wind"),
    "flag": ("passive", "spring", "damper"),
    "joint": ("springdamper",),
    "geom": ("shellinertia",),
}
"""Attributes with an effect on the motion that the reader does not model, by tag of the element."""

FREE_JOINT_ATTRIBUTES = ("damping", "armature", "frictionloss", "stiffness")
"""Attributes of a free joint with an effect on the motion that the reader does not model."""

NEUTRAL_VALUE = re.compile(r"[0. ]+|-1|false|enable|local")
"""Pattern of the values without effect: an unsupported attribute with such a value needs no warning."""

UNSUPPORTED_ELEMENTS = ("attach", "composite", "flexcomp", "deformable")
"""Tags of elements that contain or couple bodies; the reader warns about them and does not model them."""

SERVOS = {"position": "position", "intvelocity": "position", "velocity": "speed"}
"""Quantity that a servo actuator controls (position or speed), by tag of the actuator."""

TENDON_EFFECTS = ("stiffness", "damping", "frictionloss", "range", "armature")
"""Attributes that make a tendon exert passive forces on joints; the reader does not model them."""

BALL_AXES = (("_x", (1, 0, 0)), ("_y", (0, 1, 0)), ("_z", (0, 0, 1)))
"""Suffixes and axes of the three hinges that replace a ball joint."""


def read_mjcf(
    file: str | Path,
    wheels: Mapping[str, Any],
    joints: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    round_angles: bool = True,
) -> Vehicle:
    """Read a robot as a vehicle for `draisine.compile`.

    The top-level body of <worldbody> is the base. If it has no free joint, its joints connect it to a fixed
    base.

    Parameters
    ----------
    file
        MJCF file, or its text.
    wheels
        Radius (m), surface or `RobotWheel` of each rolling body by name. A wheel has its centre at the origin
        of its body and rolls about the axis of its joint.
    joints
        Properties of joints that replace those of the file, by name: spring, damper, rest, armature,
        friction, motion.
    round_angles
        Whether angles within 2e-3 rad of a right angle, such as 1.57, are rounded to it, with a warning.
        Otherwise an axle that the file means to be horizontal is inclined by the rounding of its angle.

    Returns
    -------
    callable
        The vehicle, a function of gravity `g` that returns a `Model`.

    Raises
    ------
    DataError
        If the file cannot be read.
    ModelError
        If the file has no bodies or global coordinates, or if a wheel or joint does not exist.

    Warns
    -----
    FileWarning
        If a part of the file is malformed or not supported. This part is left out or replaced by a default.

    Examples
    --------
    >>> text = '''<mujoco><worldbody><body name="ball"><freejoint/>
    ... <geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>'''
    >>> read_mjcf(text, {})().bodies[0].inertia[0, 0].round(6)
    np.float64(0.008)
    """
    robot = parse_mjcf(file, round_angles)
    with name_file(file):
        return robot_vehicle(robot, wheels, joints)


def parse_mjcf(file: str | Path, round_angles: bool = True) -> Robot:
    """Parse an MJCF file, or MJCF text, and return the content as a `Robot`.

    Angles within 2e-3 rad of a right angle are rounded to it, with a warning, unless `round_angles` is False.
    """
    root = read_root(file, "mujoco")
    folder = Path() if is_xml_text(file) else Path(file).parent
    with name_file(file, round_angles):
        return _robot(root, folder)


def _robot(root: Element, folder: Path) -> Robot:
    """Return the robot in <worldbody>; among several robots, the one with the most bodies."""
    _note_unsupported(root)
    reader = _MjcfReader(root, folder)
    for section in root.findall("worldbody"):
        reader.expand_replicates(section)
    world = root.findall("worldbody")
    top = [
        body
        for section in world
        for body in reader.children(section, "body", DRAWING_FRAME, "main")
    ]
    machines = [body for body in top if _has_joints(body.element)]
    for body in top:
        if body not in machines and len(top) > 1:
            warn_once(f"{_label(body)}: it has no joints; it is scenery and left out.")
    machines = machines or top[:1]
    if not machines:
        raise ModelError("The world has no body.")
    free = [body for body in machines if _is_free(body.element)]
    if free and len(machines) > 1:
        # Only one robot is simulated: that with the most bodies.
        largest = max(machines, key=lambda body: sum(1 for _ in body.element.iter("body")))
        for body in machines:
            if body is not largest:
                warn_once(f"{_label(body)}: it is another machine in the world; it is left out.")
        machines = [largest]
        free = [largest] if _is_free(largest.element) else []
    links = [] if free else [RobotLink("world", "", DRAWING_FRAME, Mass())]
    for body in machines:
        links += reader.links(body, "" if free else "world")
    links = reader.add_motors(rename_joints(_scale_mass(links, root)), root)
    gravity = numbers(_merged(root, "option").get("gravity"), 3, (0, 0, -9.81), "gravity")
    if _merged(root, "option/flag").get("gravity") == "disable":
        gravity = np.zeros(3)
    magnitude = float(np.linalg.norm(gravity))
    down = gravity / magnitude if magnitude else np.array([0.0, 0.0, -1.0])
    base = "SE(3)" if free else "fixed"
    name = root.get("model", "robot")
    sensors, unread = read_mjcf_sensors(root, links, reader.sites)
    notes = [*reader.notes, *unread, *_note_keyframes(root)]
    robot = Robot(name, links, base, magnitude, down, _equalities(root, links), sensors, notes)
    return make_names_valid(robot)


def _label(body: "_Placed") -> str:
    """Return the name of a body for a warning."""
    name = body.element.get("name")
    return f"body {name!r}" if name else "a body without a name"


def _has_joints(body: Element) -> bool:
    """Return whether a body, or any body nested in it, has a joint."""
    return any(element.tag in ("joint", "freejoint") for element in body.iter())


def _is_free(body: Element) -> bool:
    """Return whether a top-level body has a free joint (six degrees of freedom)."""
    children = [*body, *(child for frame in body.iter("frame") for child in frame)]
    return any(each.tag == "freejoint" or each.get("type") == "free" for each in children)


def _scale_mass(links: list[RobotLink], root: Element) -> list[RobotLink]:
    """Return the links, scaled to the total mass (kg) of <compiler settotalmass="..."> if stated."""
    where = "<compiler>, settotalmass"
    target = number(_merged(root, "compiler"), "settotalmass", -1.0, where)
    total = sum(link.mass.mass for link in links)
    if target <= 0.0 or total == 0.0:
        return links
    factor = target / total
    return [
        replace(link, mass=Mass(factor * link.mass.mass, link.mass.com, factor * link.mass.inertia))
        for link in links
    ]


def _equalities(root: Element, links: list[RobotLink]) -> list[Mimic]:
    """Return the linear couplings of joints; warn about other equality constraints."""
    moving = {link.joint for link in links if link.kind}
    mimics = []
    for equality in (each for section in root.findall("equality") for each in section):
        if equality.get("active") == "false":
            continue
        where = f"<equality> {equality.tag} {equality.get('name', '')}".rstrip()
        joint = equality.get("joint1", "")
        leader = equality.get("joint2", "")
        polynomial = np.zeros(5)
        polynomial[1] = 1.0
        words = equality.get("polycoef", "0 1").split()[: len(polynomial)]
        default = polynomial[: len(words)].tolist()
        polynomial[: len(words)] = numbers(
            " ".join(words), len(words), default, f"{where}, polycoef"
        )
        is_linear = not polynomial[2:].any()
        if equality.tag == "joint" and {joint, leader} <= moving and is_linear:
            mimics.append(Mimic(joint, leader, float(polynomial[1]), float(polynomial[0])))
        else:
            warn_once(f"{where}: this constraint is not modelled; add a Coupling or a Loop.")
    return mimics


def _note_unsupported(root: Element) -> None:
    """Warn about elements and attributes with an effect on the motion that the reader does not model."""
    if _merged(root, "compiler").get("coordinate", "local") != "local":
        raise ModelError(
            "<compiler coordinate='global'> is not supported, as in MuJoCo since version 2.3.4. Load and "
            "save the file with MuJoCo 2.3.3, which converts it to local coordinates."
        )
    elements = (e for section in root if section.tag != "default" for e in section.iter())
    for element in elements:
        if element.tag in UNSUPPORTED_ELEMENTS and (len(element) or element.attrib):
            warn_once(f"<{element.tag}> is not modelled; write its bodies explicitly.")
    for tendon in (each for section in root.findall("tendon") for each in section):
        effects = [name for name in TENDON_EFFECTS if tendon.get(name)]
        if effects:
            name = tendon.get("name", "")
            warn_once(f"tendon {name!r}: its {', '.join(effects)} is not modelled.")
    for element in root.iter():
        names = UNSUPPORTED_ATTRIBUTES.get(element.tag, ())
        _note_attributes(element.tag, element.attrib, names)


def _note_attributes(tag: str, attributes: Attributes, names: Iterable[str]) -> None:
    """Warn about each of the attributes `names` whose value has an effect; the reader does not model them."""
    for name in names:
        if not NEUTRAL_VALUE.fullmatch(attributes.get(name, "0")):
            label = f"{tag} {attributes.get('name', '')}".rstrip()
            warn_once(f"<{label}>: {name} = {attributes[name]!r} is not modelled.")


def _merged(root: Element, path: str) -> Attributes:
    """Return the merged attributes of all elements at a path below the root; later ones override."""
    return {name: value for each in root.findall(path) for name, value in each.attrib.items()}


class _Placed(NamedTuple):
    """A child element of a body or of the world, with the frame and the default class around it."""

    element: Element
    outer: LinkFrame  # frame around the element, in the zero configuration
    around: str  # name of the default class that applies to the element


class _MjcfReader:
    """Converts body elements to links by the compiler settings and default classes of a file."""

    def __init__(self, root: Element, folder: Path) -> None:
        self.names: set[str] = {body.get("name", "") for body in root.iter("body")} | {"world"}
        self.sites: dict[str, tuple[str, LinkFrame]] = {}  # link and frame of each site, by name
        self.bodies = {"world"}  # names of the bodies that have been read
        self.meshes = {
            mesh.get("name") or Path(mesh.get("file", "")).stem: mesh
            for mesh in root.findall("asset/mesh")
        }
        compiler = _merged(root, "compiler")
        self.unit = 1.0 if compiler.get("angle", "degree") == "radian" else np.pi / 180.0
        self.order = compiler.get("eulerseq", "xyz")
        self.geoms = compiler.get("inertiafromgeom", "auto")
        if len(self.order) != 3 or not set(self.order.lower()) <= set("xyz"):
            warn_once(
                f"<compiler>: eulerseq {self.order!r} must be three letters of x, y, z, X, Y, Z; 'xyz' is "
                "used."
            )
            self.order = "xyz"
        self.folder = folder / compiler.get("meshdir", compiler.get("assetdir", ""))
        self.notes: list[str] = []
        self.joint_limits: dict[
            str, float
        ] = {}  # N m or N, largest torque of all actuators of a joint
        self.has_auto_limits = compiler.get("autolimits", "true") != "false"
        self.bounds = [
            number(compiler, name, 0.0, "<compiler>") for name in ("boundmass", "boundinertia")
        ]
        self.mass_groups = numbers(
            compiler.get("inertiagrouprange"), 2, (-np.inf, np.inf), "<compiler>"
        )
        self.is_balanced = compiler.get("balanceinertia") == "true"
        self.defaults: dict[str, dict[str, Attributes]] = {"main": {}}
        for each in root.findall("default"):  # several top-level defaults form one class, "main"
            self._read_defaults(each)

    def _read_defaults(self, outermost: Element) -> None:
        """Store the default classes nested in an element; each inherits from the enclosing class."""
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

    def expand_replicates(self, section: Element) -> None:
        """Replace each <replicate> by <frame> elements with copies of its content.

        Each copy is moved and turned relative to the one before. Names get the separator and the number of
        the copy. Copies may contain further replicates.
        """
        stack = [section]
        while stack:
            parent = stack.pop()
            children: list[Element] = []
            for child in parent:
                children += self._copies(child) if child.tag == "replicate" else [child]
            parent[:] = children
            stack += children

    def _copies(self, replicate: Element) -> list[Element]:
        """Return the <frame> elements that replace a <replicate>."""
        where = "<replicate>"
        copies_wanted = int(number(replicate.attrib, "count", 1.0, where))
        offset = numbers(replicate.get("offset"), 3, (0, 0, 0), where)
        turn = numbers(replicate.get("euler"), 3, (0, 0, 0), where)
        digits = len(str(copies_wanted - 1))
        pose = DRAWING_FRAME
        copies = []
        for k in range(copies_wanted):
            # MuJoCo multiplies the angles by the number of the copy, and adds up the turned offsets.
            angles = {"euler": " ".join(map(repr, (k * turn).tolist()))}
            pose = LinkFrame(self._orientation(angles, where), pose.p)
            position = " ".join(map(repr, pose.p.tolist()))
            axes = " ".join(map(repr, pose.R[:, :2].T.ravel().tolist()))
            frame = Element("frame", {"pos": position, "xyaxes": axes})
            frame.extend(deepcopy(child) for child in replicate)
            for each in frame.iter():
                if "name" in each.attrib:
                    each.set("name", f"{each.get('name')}{replicate.get('sep', '')}{k:0{digits}d}")
            copies.append(frame)
            pose = LinkFrame(pose.R, pose.p + pose.R @ offset)
        self.names |= {each.get("name", "") for copy in copies for each in copy.iter("body")}
        return copies

    def _full(self, element: Element, around: str) -> dict[str, str]:
        """Return the attributes of an element, completed by the defaults of its class.

        `around` is the class of the enclosing element, which applies if the element has no class.
        """
        name = element.get("class", around)
        if name not in self.defaults:
            hint = did_you_mean(name, self.defaults)
            warn_once(
                f"<{element.tag}>: no class {name!r} among the defaults; 'main' is used. {hint}"
            )
            name = "main"
        return {**self.defaults[name].get(element.tag, {}), **element.attrib}

    def children(self, element: Element, tag: str, outer: LinkFrame, around: str) -> list[_Placed]:
        """Return the child elements with a tag, including those inside <frame> elements.

        `outer` is the frame and `around` the default class of the parent element.
        """
        placed = []
        stack = [_Placed(element, outer, around)]
        while stack:
            parent, frame, inherited = stack.pop()
            for child in parent:
                if child.tag == tag:
                    placed.append(_Placed(child, frame, inherited))
                elif child.tag == "frame":
                    inner = frame @ self._frame(child.attrib, "<frame>")
                    stack.append(_Placed(child, inner, child.get("childclass", inherited)))
        return placed

    def links(self, outermost: _Placed, parent: str) -> Iterator[RobotLink]:
        """Yield the links of a body and of all bodies in it, parents first."""
        stack = [(outermost, parent)]
        while stack:  # a loop, because files may be nested deeper than Python's recursion limit
            body, parent = stack.pop()
            around = body.element.get("childclass", body.around)
            links = list(self._links(body._replace(around=around), parent))
            yield from links
            inner = self.children(body.element, "body", links[-1].frame, around)
            stack += [(child, links[-1].name) for child in reversed(inner)]

    def _name(self, body: Element, parent: str) -> str:
        """Return the name of a body; a body without a name is named after its parent."""
        stated = body.get("name", "")
        name = stated
        if not stated or stated in self.bodies:
            name = self._new_name(stated or parent or "body")
        if stated and name != stated:
            warn_once(f"body {stated!r}: the name is used twice; the body is called {name!r}.")
        self.bodies.add(name)
        body.set("name", name)
        return name

    def _new_name(self, stem: str) -> str:
        """Return a name that no body of the file has: the stem and a number."""
        name = next(name for k in count(1) if (name := f"{stem}_{k}") not in self.names)
        self.names.add(name)
        return name

    def _links(self, placed: _Placed, parent: str) -> Iterator[RobotLink]:
        """Yield the links of one body: a massless link for each joint except the last, then the body."""
        body, outer, around = placed
        name = self._name(body, parent)
        frame = outer @ self._frame(body.attrib, f"body {name!r}")
        if parent and _is_free(body):
            warn_once(f"body {name!r}: only a body of the world can be free; it is fixed.")
        joints = [
            (part, joint.outer)
            for joint in self.children(body, "joint", frame, around)
            for part in _single_axes(self._full(joint.element, joint.around), name)
        ]
        if joints and not parent:
            warn_once(f"body {name!r}: it is free; its other joints are left out.")
            joints = []
        for site in self.children(body, "site", frame, around):
            attributes = self._full(site.element, site.around)
            place = site.outer @ self._frame(attributes, f"site of body {name!r}")
            self.sites[attributes.get("name", "")] = (name, place)
        mass = self._mass(body, frame, around)
        shapes: dict[str, Any] = {
            "rounds": tuple(self._rounds(body, frame, around)),
            "boxes": tuple(self._boxes(body, frame, around)),
            "meshes": tuple(self._mesh_shapes(body, frame, around)),
            "gravity_compensation": number(body.attrib, "gravcomp", 0.0, f"body {name!r}"),
        }
        if not joints:
            yield RobotLink(name, parent, frame, mass, **shapes)
        for k, (joint, around_joint) in enumerate(joints, start=1):
            last = k == len(joints)
            inner = name if last else self._new_name(name)
            link = self._jointed(inner, parent, around_joint, mass if last else Mass(), joint)
            link = replace(link, frame=frame)
            yield replace(link, **shapes) if last else link
            parent = inner

    def add_motors(self, links: list[RobotLink], root: Element) -> list[RobotLink]:
        """Return links whose joints have the torque limits of their actuators.

        The torque limits of several actuators of a joint add up; an actuator without a limit makes the sum
        unlimited. A note reports servos, and actuators of tendons and sites.
        """
        limits: dict[str, float] = {}
        moving = {link.joint for link in links if link.kind}
        unknown: list[str] = []  # names of actuators of joints that do not exist or were left out
        for actuator in (each for section in root.findall("actuator") for each in section):
            attributes = self._full(actuator, "main")
            joint = attributes.get("joint", attributes.get("jointinparent", ""))
            where = f"actuator {attributes.get('name') or joint or 'without a name'!r}"
            if not joint:
                self.notes.append(
                    f"{where}: it acts on no joint and is left out; inputs act on joints."
                )
                continue
            if joint not in moving:
                unknown.append(attributes.get("name", joint))
                continue
            limits[joint] = limits.get(joint, 0.0) + self._largest_torque(
                actuator.tag, attributes, where
            )
            kind = SERVOS.get(actuator.tag)
            if kind is not None:
                self.notes.append(
                    f"{where}: it is a {kind} servo; the input of {joint!r} is a torque. The law "
                    "'servo' keeps set-points."
                )
            elif actuator.tag != "motor" and not _is_torque(actuator.tag, attributes):
                self.notes.append(
                    f"{where}: gain and bias of this <{actuator.tag}> are not read; the input of {joint!r} "
                    "is a torque."
                )
        if unknown:
            shown = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
            self.notes.append(
                f"actuators {shown}: their joints do not exist or do not move; they are left out."
            )
        of_joints = {**self.joint_limits}
        for joint, limit in limits.items():
            of_joints[joint] = min(limit, of_joints.get(joint, np.inf))
        finite = {joint: Motor(limit) for joint, limit in of_joints.items() if np.isfinite(limit)}
        return [
            replace(link, motor=finite.get(link.joint)) if link.kind else link for link in links
        ]

    def _largest_torque(self, tag: str, attributes: Attributes, where: str) -> float:
        """Return the largest torque (N m or N) of an actuator at its joint; infinite without a limit."""
        words = attributes.get("gear", "1").split()
        gear = abs(number({"gear": words[0] if words else ""}, "gear", 1.0, where))
        largest = np.inf
        for name, flag in (("forcerange", "forcelimited"), ("ctrlrange", "ctrllimited")):
            if name == "ctrlrange" and tag != "motor":
                continue  # the control of a servo is a set-point
            limited = attributes.get(flag, "auto" if self.has_auto_limits else "false")
            bounds = find_numbers(attributes, name, 2, where)
            if bounds is not None and limited != "false":
                largest = min(largest, gear * float(np.abs(bounds).max()))
        return largest if largest > 0.0 else np.inf

    def _jointed(
        self, name: str, parent: str, frame: LinkFrame, mass: Mass, joint: Attributes
    ) -> RobotLink:
        """Return a link with the hinge or slide to its parent; the joint's coordinates refer to `frame`."""
        where = f"joint {joint.get('name', name)!r}"
        kind = joint.get("type", "hinge")
        unit = self.unit if kind == "hinge" else 1.0
        bounds = find_numbers(joint, "actuatorfrcrange", 2, where)
        if bounds is not None and joint.get("actuatorfrclimited", "auto") != "false":
            self.joint_limits[joint.get("name") or name] = float(np.abs(bounds).max())
        return RobotLink(
            name,
            parent,
            frame,
            mass,
            kind,
            joint.get("name", ""),
            frame.R @ numbers(joint.get("axis"), 3, (0, 0, 1), where),
            frame.p + frame.R @ numbers(joint.get("pos"), 3, (0, 0, 0), where),
            number(_linear(joint, "stiffness", where), "stiffness", 0.0, where),
            nonnegative(_linear(joint, "damping", where), "damping", where),
            unit * (number(joint, "springref", 0.0, where) - number(joint, "ref", 0.0, where)),
            nonnegative(joint, "armature", where),
            note_friction(where, nonnegative(joint, "frictionloss", where), kind),
            limited="range" in joint and joint.get("limited", "auto") != "false",
            limits=self._limits(joint, unit, where),
        )

    def _limits(self, joint: Attributes, unit: float, where: str) -> tuple[float, float] | None:
        """Return the limits (rad or m) of a joint relative to its reference coordinate; None if unlimited."""
        limited = joint.get("limited", "auto" if self.has_auto_limits else "false")
        bounds = find_numbers(joint, "range", 2, where)
        if bounds is None or limited == "false":
            return None
        lower, upper = unit * bounds
        reference = unit * number(joint, "ref", 0.0, where)
        if lower > upper:
            warn_once(f"{where}: its lower limit is above the upper one; it has no stops.")
        return (lower - reference, upper - reference) if lower < upper else None

    def _frame(self, attributes: Attributes, where: str) -> LinkFrame:
        """Return the frame of an element from its position and orientation, or from its two end points."""
        if "fromto" in attributes:
            ends = numbers(attributes["fromto"], 6, (), where).reshape(2, 3)
            return LinkFrame(_rotation_from_z(ends[1] - ends[0], where), ends.mean(axis=0))
        position = numbers(attributes.get("pos"), 3, (0, 0, 0), where)
        return LinkFrame(self._orientation(attributes, where), position)

    def _orientation(self, attributes: Attributes, where: str) -> Floats:
        """Return the rotation (3, 3) of an element; the identity with a warning if it is malformed."""
        try:
            return self._stated_orientation(attributes, where)
        except ModelError as error:
            warn_once(f"{error} No rotation is used.")
            return np.eye(3)

    def _stated_orientation(self, attributes: Attributes, where: str) -> Floats:
        """Return the rotation (3, 3) of an element by its quat, euler, axisangle, xyaxes or zaxis."""
        if "quat" in attributes:
            return rotation(_unit(numbers(attributes["quat"], 4, (1, 0, 0, 0), where), where))
        if "axisangle" in attributes:
            *axis, angle = numbers(attributes["axisangle"], 4, (0, 0, 1, 0), where)
            turn = float(square_angles(np.array(self.unit * angle)))
            return rot_about(_unit(np.array(axis), where), turn)
        if "xyaxes" in attributes:
            x, y = numbers(attributes["xyaxes"], 6, (1, 0, 0, 0, 1, 0), where).reshape(2, 3)
            x = _unit(x, where)
            y = _unit(y - (x @ y) * x, where)
            return np.stack([x, y, np.cross(x, y)], axis=1)
        if "zaxis" in attributes:
            return _rotation_from_z(numbers(attributes["zaxis"], 3, (0, 0, 1), where), where)
        R: Floats = np.eye(3)
        angles = square_angles(self.unit * numbers(attributes.get("euler"), 3, (0, 0, 0), where))
        for letter, angle in zip(self.order, angles, strict=True):
            about = rot_about(np.eye(3)["xyz".index(letter.lower())], angle)
            # Lower case: rotating axes; upper case: fixed axes.
            R = R @ about if letter.islower() else about @ R
        return R

    def _geoms(
        self, body: Element, frame: LinkFrame, around: str
    ) -> Iterator[tuple[Attributes, LinkFrame]]:
        """Yield attributes (with defaults) and frame of each geom of a body; leave out malformed geoms."""
        where = f"geom of body {body.get('name')!r}"
        for placed in self.children(body, "geom", frame, around):
            geom = self._full(placed.element, placed.around)
            try:
                if "mesh" not in geom:
                    _sizes(geom, SIZE_COUNTS.get(geom.get("type", "sphere"), 0), where)
                shape = placed.outer @ self._frame(geom, where)
            except ModelError as error:
                warn_once(f"{error} The geom is left out.")
                continue
            yield geom, shape

    def _rounds(self, body: Element, frame: LinkFrame, around: str) -> Iterator[RoundShape]:
        """Yield the spheres, cylinders, capsules and round ellipsoids of a body."""
        where = f"geom of body {body.get('name')!r}"
        for geom, shape in self._geoms(body, frame, around):
            if "size" not in geom or "mesh" in geom:
                continue
            outline = _round_outline(geom, where)
            if outline is not None and is_positive_radius(outline[0], where):
                radius, axis = outline
                along = None if axis is None else shape.R[:, axis]
                collides = geom.get("contype", "1") != "0" or geom.get("conaffinity", "1") != "0"
                yield RoundShape(radius, shape.p, along, collides, geom.get("type", "sphere"))

    def _mesh_shapes(self, body: Element, frame: LinkFrame, around: str) -> Iterator[MeshShape]:
        """Yield the meshes of a body."""
        where = f"geom of body {body.get('name')!r}"
        for geom, shape in self._geoms(body, frame, around):
            if "mesh" not in geom:
                continue
            asset = self.meshes.get(geom["mesh"])
            attributes = {} if asset is None else self._full(asset, "main")
            file = self.folder / attributes.get("file", "")
            scale = numbers(attributes.get("scale"), 3, (1, 1, 1), where)
            yield MeshShape(geom["mesh"], file if file.is_file() else None, shape, scale)

    def _boxes(self, body: Element, frame: LinkFrame, around: str) -> Iterator[BodyBox]:
        """Yield the boxes of a body in the zero configuration."""
        where = f"geom of body {body.get('name')!r}"
        for geom, box in self._geoms(body, frame, around):
            if geom.get("type", "sphere") == "box" and "mesh" not in geom:
                yield BodyBox(box.p, box.R * _sizes(geom, 3, where))

    def _mass(self, body: Element, frame: LinkFrame, around: str) -> Mass:
        """Return the mass properties of a body in the zero configuration; <compiler> may state minima."""
        stated = self._stated_mass(body, frame, around)
        if stated.mass < 0.0:
            name = body.get("name")
            warn_once(f"body {name!r}: its mass {stated.mass:g} kg is negative; it is left out.")
            stated = Mass()
        least_mass, least_inertia = self.bounds
        moments, axes = np.linalg.eigh(stated.inertia)
        moments = np.maximum(moments, least_inertia)
        if self.is_balanced and moments[0] + moments[1] < moments[2]:
            # The moments of a rigid body satisfy the triangle inequality.
            moments = np.full(3, moments.mean())
        elif not least_inertia:
            return Mass(max(stated.mass, least_mass), stated.com, stated.inertia)
        return Mass(max(stated.mass, least_mass), stated.com, axes * moments @ axes.T)

    def _stated_mass(self, body: Element, frame: LinkFrame, around: str) -> Mass:
        """Return the mass of a body in the zero configuration, from <inertial> or from the geoms."""
        inertial = body.find("inertial")
        where = f"body {body.get('name')!r}"
        if inertial is None and self.geoms == "false":
            return Mass()
        if inertial is None or self.geoms == "true":
            first, last = self.mass_groups
            geoms = [
                (geom, shape)
                for geom, shape in self._geoms(body, frame, around)
                if first <= number(geom, "group", 0.0, where) <= last
            ]
            return sum((self._shape(geom, shape, where) for geom, shape in geoms), Mass())
        principal = frame @ self._frame(inertial.attrib, f"inertial of {where}")
        entries = find_numbers(inertial.attrib, "fullinertia", 6, where)
        if entries is not None:
            tensor = inertia(*entries)
        else:
            tensor = np.diag(numbers(inertial.get("diaginertia"), 3, (0, 0, 0), where))
        mass = number(inertial.attrib, "mass", 0.0, where)
        return stated_mass(mass, tensor, principal)

    def _shape(self, attributes: Attributes, shape: LinkFrame, where: str) -> Mass:
        """Return the mass properties of a geom of uniform density with the frame `shape`."""
        # MuJoCo fits a shape with the attribute `mesh` to the mesh: its size is not in the file.
        kind = "mesh" if "mesh" in attributes else attributes.get("type", "sphere")
        # MuJoCo's default density is that of water, 1000 kg/m3.
        density = number(attributes, "density", 1000.0, where)
        stated = find_numbers(attributes, "mass", 1, where)
        if (density if stated is None else stated[0]) == 0.0:
            return Mass()
        if kind not in (*SOLID_SHAPES, "capsule"):
            if kind not in ("plane", "hfield"):  # planes and height fields have no mass
                warn_once(
                    f"{where}: the mass of a {kind} is not known and left out; add <inertial>."
                )
            return Mass()
        if kind == "capsule":
            volume, squares = _capsule(attributes, where)
        else:
            volume, squares = _solid(attributes, kind, where)
        mass = density * volume if stated is None else float(stated[0])
        xx, yy, zz = squares
        tensor = mass * np.diag([yy + zz, zz + xx, xx + yy])
        return Mass(mass, shape.p, shape.R @ tensor @ shape.R.T)


def _linear(joint: Attributes, name: str, where: str) -> Attributes:
    """Return an attribute with its linear coefficient only; warn about nonlinear coefficients."""
    words = joint.get(name, "0").split()
    if any(number({name: word}, name, 0.0, where) for word in words[1:]):
        warn_once(f"{where}: the nonlinear part of {name} = {joint[name]!r} is not modelled.")
    return {name: " ".join(words[:1])}


def _is_torque(tag: str, attributes: Attributes) -> bool:
    """Return whether a general actuator applies its control as a torque (gain 1, no bias, no dynamics)."""
    plain = {"gaintype": "fixed", "biastype": "none", "dyntype": "none"}
    stated = all(attributes.get(name, value) == value for name, value in plain.items())
    return tag == "general" and stated and attributes.get("gainprm", "1").split()[:1] == ["1"]


def _note_keyframes(root: Element) -> list[str]:
    """Return a sentence about keyframes, which are not read."""
    names = [each.get("name") or "key" for section in root.findall("keyframe") for each in section]
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    text = f"<keyframe>: {shown} not read; set the initial state in `draisine.state`."
    return [text] if names else []


def _single_axes(joint: Attributes, body: str) -> list[Attributes]:
    """Split a joint into joints of one axis: none for a free joint, three hinges for a ball joint."""
    kind = joint.get("type", "hinge")
    if kind == "free":
        _note_attributes("joint", joint, FREE_JOINT_ATTRIBUTES)
        return []
    if kind in ("hinge", "slide"):
        return [joint]
    name = joint.get("name", body)
    if kind != "ball":
        warn_once(f"joint {name!r}: type {kind!r} is not supported; the joint is fixed.")
        return []
    warn_once(
        f"joint {name!r}: three hinges replace the ball joint; they are singular at 90 degrees."
    )
    hinge = {key: value for key, value in joint.items() if key not in ("type", "range", "limited")}
    return [
        {**hinge, "name": name + suffix, "axis": " ".join(map(str, axis))}
        for suffix, axis in BALL_AXES
    ]


def _sizes(attributes: Attributes, count: int, where: str) -> Floats:
    """Return `count` sizes (m) of a geom; if `fromto` states two end points, half their distance is the last.

    Sizes that a geom does not use are ignored, as MuJoCo does.
    """
    size = attributes.get("size")
    words = [] if size is None else size.split()
    if "fromto" not in attributes:
        sizes = numbers(None if size is None else " ".join(words[:count]), count, (), where)
        if not (sizes > 0.0).all():
            raise ModelError(f"{where}: {size!r} must be positive.")
        return sizes
    ends = numbers(attributes["fromto"], 6, (), where).reshape(2, 3)
    radius = numbers(None if size is None else " ".join(words[:1]), 1, (), where)
    return np.append(np.repeat(radius, count - 1), np.linalg.norm(ends[1] - ends[0]) / 2.0)


def _round_outline(attributes: Attributes, where: str) -> tuple[float, int | None] | None:
    """Return radius (m) and index of the axis of symmetry (None: any axis) of a geom that can roll."""
    kind = attributes.get("type", "sphere")
    first = {"size": attributes["size"].partition(" ")[0]}
    if kind == "sphere":
        return number(first, "size", 0.0, where), None
    if kind in ("cylinder", "capsule"):
        return number(first, "size", 0.0, where), 2
    if kind != "ellipsoid":
        return None
    halves = _sizes(attributes, 3, where)
    # Two equal half-axes have an axis of symmetry between them.
    axes = [k for k in range(3) if halves[k - 1] == halves[k - 2]]
    if not axes:
        return None
    return float(halves[axes[0] - 1]), axes[0] if len(axes) == 1 else None


def _solid(attributes: Attributes, kind: str, where: str) -> tuple[float, Floats]:
    """Return volume (m3) and mean squared coordinates (3,) (m2) of a solid."""
    indices, fill, squares = SOLID_SHAPES[kind]
    half = _sizes(attributes, max(indices) + 1, where)[list(indices)]
    return fill * float(np.prod(half)), np.array(squares) * half * half


def _capsule(attributes: Attributes, where: str) -> tuple[float, Floats]:
    """Return volume (m3) and mean squared coordinates (3,) (m2) of a capsule.

    A capsule consists of a cylinder of half-length h and two half spheres.
    """
    r, h = _sizes(attributes, 2, where)
    pipe = 2.0 * np.pi * r * r * h
    ball = 4.0 * np.pi / 3.0 * r**3
    xx = (pipe * r * r / 4.0 + ball * r * r / 5.0) / (pipe + ball)
    zz = (pipe * h * h / 3.0 + ball * (r * r / 5.0 + h * h + 0.75 * h * r)) / (pipe + ball)
    return pipe + ball, np.array([xx, xx, zz])


def _rotation_from_z(axis: Floats, where: str) -> Floats:
    """Return the smallest rotation (3, 3) from z to an axis; if the axis is -z, rotate about x."""
    along = _unit(axis, where)
    across = np.cross([0.0, 0.0, 1.0], along)
    sine = float(np.linalg.norm(across))
    if sine < 1e-12:  # parallel up to round-off: the axis of rotation is undefined
        return np.diag([1.0, np.sign(along[2]), np.sign(along[2])])
    return rot_about(across / sine, float(np.arctan2(sine, along[2])))


def _unit(vector: Floats, where: str) -> Floats:
    """Normalise a vector; `where` names the element in the error for a zero vector."""
    length = float(np.linalg.norm(vector))
    if not length > 0.0:
        raise ModelError(f"{where}: {vector.tolist()} has no direction.")
    return np.asarray(vector / length)
