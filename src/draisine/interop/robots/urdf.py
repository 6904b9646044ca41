"""Robots from URDF files, with separately declared wheels.

URDF has links, inertias, joints with limits and motors, and joints that mimic others. It has no rolling
contacts: the caller declares the wheels. The reader ignores transmissions, and uses only the extent of
meshes. The format: https://wiki.ros.org/urdf/XML.

This reader does not use the package yourdfpy. On valid files both read the same links, joints and meshes. On
invalid files yourdfpy accepts loops of joints, unknown parents, masses that are not numbers and truncated
files without a message, or stops with an internal error. It does not read <ros2_control>, and needs trimesh
and lxml.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from draisine.algebra.lie import rot_x, rot_y, rot_z
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
    robot_vehicle,
    stated_mass,
)
from draisine.interop.robots.sensors import read_urdf_sensors
from draisine.model import Motor, inertia
from draisine.model.body import BodyBox

URDF_JOINTS = {"fixed": "", "continuous": "hinge", "revolute": "hinge", "prismatic": "slide"}
"""Value of `RobotLink.kind`, by URDF joint type with at most one degree of freedom."""

TENSOR_ENTRIES = ("xx", "yy", "zz", "xy", "xz", "yz")
"""Entries of an inertia tensor in the order of `model.inertia`."""


def read_urdf(
    file: str | Path,
    wheels: Mapping[str, Any],
    joints: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    base: str | None = None,
    gravity: float = 9.81,
    round_angles: bool = True,
) -> Vehicle:
    """Read a robot as a vehicle for `draisine.compile`.

    Links with fixed joints are merged with their parents.

    Parameters
    ----------
    file
        URDF file, or its text.
    wheels
        Radius (m), surface (`Ball(0.02)`, `Torus(...)`) or `RobotWheel` of each rolling link by name. A wheel
        has its centre at the origin of its link and rolls about the axis of its joint.
    joints
        Properties of joints that the file does not state, by name:
        `{"strut": {"spring": 4000.0, "damper": 200.0}, "axle": {"armature": 0.002},
        "pan": {"motion": uniform(0.0)}}`.
    base
        Lie group of the motion of the root link: "SE(3)", "fixed", ... By default the root link is free
        ("SE(3)"), but a massless link `world` is fixed, as in ROS and Gazebo.
    gravity
        Gravity, m/s2.
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
        If the file has no links, or if a wheel or joint does not exist.

    Warns
    -----
    FileWarning
        If a part of the file is malformed or not supported. This part is left out or replaced by a default.

    Examples
    --------
    >>> text = '''<robot name="wheel"><link name="rim"><inertial><mass value="1"/>
    ... <inertia ixx="0.1" iyy="0.2" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'''
    >>> read_urdf(text, {"rim": 0.5})().wheels[0].name
    'rim'
    """
    robot = parse_urdf(file, base, gravity, round_angles=round_angles)
    with name_file(file):
        return robot_vehicle(robot, wheels, joints)


def parse_urdf(
    file: str | Path,
    base: str | None = None,
    gravity: float = 9.81,
    packages: str | Path | None = None,
    round_angles: bool = True,
) -> Robot:
    """Parse a URDF file, or URDF text, and return the content as a `Robot`.

    Parameters
    ----------
    file
        URDF file, or its text.
    base
        Lie group of the motion of the root link; by default "SE(3)", or "fixed" for a massless link `world`.
    gravity
        Gravity, m/s2.
    packages
        Folder that contains the packages of `package://` addresses of meshes.
    round_angles
        Whether angles within 2e-3 rad of a right angle are rounded to it, with a warning.
    """
    root = read_root(file, "robot")
    folder = Path() if is_xml_text(file) else Path(file).parent
    with name_file(file, round_angles):
        elements = _named_links(root)
        joints = _tree_joints(root, elements)
        links = _links(elements, joints, _MeshFinder(folder, packages))
        links, notes = _add_interfaces(links, root)
        free = bool(links) and _is_floating(links[0].name, joints)
        base = base or _base(links[0], free)
        mimics = _mimics(joints, links)
        name = root.get("name", "robot")
        sensors, unread = read_urdf_sensors(root, links)
        robot = Robot(name, links, base, gravity, mimics=mimics, sensors=sensors)
        return make_names_valid(robot._replace(notes=[*notes, *unread]))


class _MeshFinder:
    """Finds the files of meshes by their addresses in a robot file."""

    def __init__(self, folder: Path, packages: str | Path | None) -> None:
        self.folder = folder
        self.packages = None if packages is None else Path(packages)

    def find(self, address: str) -> Path | None:
        """Return the file of an address `package://...`, `file://...` or a path; None if it is missing."""
        name = address.removeprefix("file://").removeprefix("model://")
        places = [self.folder / name]
        if address.startswith("package://"):
            name = address.removeprefix("package://")
            inner = name.partition("/")[2]  # path without the name of the package
            roots = [self.packages] if self.packages else [self.folder, self.folder.parent]
            # The folder may contain the package, or be the package.
            places = [root / part for root in roots for part in (name, inner)]
        return next((place for place in places if place.is_file()), None)


def _is_floating(root: str, joints: Iterable[Element]) -> bool:
    """Return whether the root link represents the world, to which a floating joint connects the robot."""
    from_root = [joint for joint in joints if _end(joint, "parent") == root]
    return bool(from_root) and all(joint.get("type") == "floating" for joint in from_root)


def _attribute(element: Element, path: str, name: str) -> str | None:
    """Return an attribute of the first element at a path below another one; None if it is missing."""
    found = element.find(path)
    return None if found is None else found.get(name)


def _mimics(joints: Iterable[Element], links: Iterable[RobotLink]) -> list[Mimic]:
    """Return the joints with an element <mimic>: their coordinate follows that of another joint."""
    moving = {link.joint for link in links if link.kind}
    mimics = []
    for joint in joints:
        element = joint.find("mimic")
        if element is None or joint.get("name") not in moving:
            continue
        where = f"joint {joint.get('name')!r}, mimic"
        leader = element.get("joint", "")
        if leader not in moving or leader == joint.get("name"):
            problem = "it mimics itself" if leader in moving else f"no moving joint {leader!r}"
            warn_once(f"{where}: {problem}; the joint moves independently.")
            continue
        factor = number(element.attrib, "multiplier", 1.0, where)
        offset = number(element.attrib, "offset", 0.0, where)
        mimics.append(Mimic(joint.get("name", ""), leader, factor, offset))
    return mimics


def _base(root: RobotLink, free: bool) -> str:
    """Return the Lie group of the base's motion: "fixed" for a massless root link `world`, else "SE(3)"."""
    if root.name != "world" or root.mass.mass or free:
        return "SE(3)"
    warn_once(
        "The root link 'world' is the world, so the base is fixed; base='SE(3)' makes it free."
    )
    return "fixed"


def _links(
    links: Mapping[str, Element], joints: list[Element], meshes: _MeshFinder
) -> list[RobotLink]:
    """Return all links in the zero configuration, parents first."""
    frames: dict[str, LinkFrame] = {}
    robot_links = []
    for name, joint in _order(links, joints):
        parent = "" if joint is None else _end(joint, "parent")
        frame = DRAWING_FRAME if joint is None else frames[parent] @ _frame(joint)
        frames[name] = frame
        shapes: dict[str, Any] = {
            "rounds": _rounds(links[name], frame),
            "boxes": _boxes(links[name], frame),
            "meshes": _meshes(links[name], frame, meshes),
        }
        mass = _mass(links[name], frame)
        robot_links += _jointed(RobotLink(name, parent, frame, mass, **shapes), joint)
    return robot_links


def _named_links(root: Element) -> dict[str, Element]:
    """Return the links by name; links without a name, or with that of another link, are left out."""
    links: dict[str, Element] = {}
    for link in root.findall("link"):
        name = link.get("name", "")
        if not name:
            warn_once("A <link> has no name; it is left out.")
        elif links.setdefault(name, link) is not link:
            warn_once(f"The name of <link> {name!r} is used twice; the second link is left out.")
    return links


def _tree_joints(root: Element, links: Mapping[str, Element]) -> list[Element]:
    """Return joints with unique names that connect the links to one or more trees.

    A joint to a missing link, and a joint that closes a loop, is left out with a warning.
    """
    joints: list[Element] = []
    names: set[str] = set()
    parents: dict[str, str] = {}
    for joint in root.findall("joint"):
        where = f"joint {joint.get('name', '')!r}"
        problem = _find_problem(joint, links, parents)
        if problem:
            warn_once(f"{where}: {problem} The joint is left out.")
            continue
        parents[_end(joint, "child")] = _end(joint, "parent")
        stem = joint.get("name") or _end(joint, "child")
        choices = itertools.chain([stem], (f"{stem}_{k}" for k in itertools.count(2)))
        name = next(choice for choice in choices if choice not in names)
        if name != joint.get("name"):
            reason = "the name is used twice" if joint.get("name") else "it has no name"
            warn_once(f"{where}: {reason}; it is called {name!r}.")
        names.add(name)
        joint.set("name", name)
        joints.append(joint)
    return joints


def _find_problem(joint: Element, links: Iterable[str], parents: Mapping[str, str]) -> str:
    """Return the reason why a joint cannot be added to a tree; empty if it can be.

    `parents` has the parent of each link that is connected already.
    """
    for role in ("parent", "child"):
        name = _end(joint, role)
        if not name:
            return f"<{role} link=...> is missing."
        if name not in links:
            return f"no link {name!r}. {did_you_mean(name, links)}"
    child = _end(joint, "child")
    if child in parents:
        return f"link {child!r} has two parents, but the links must form a tree."
    ancestor: str | None = _end(joint, "parent")
    while ancestor is not None:
        if ancestor == child:
            return f"link {child!r} is in a loop of joints, but the links must form a tree."
        ancestor = parents.get(ancestor)
    return ""


def _end(joint: Element, role: str) -> str:
    """Return the name of the parent or the child link of a joint; empty if the file states none."""
    return _attribute(joint, role, "link") or ""


def _order(links: Mapping[str, Element], joints: list[Element]) -> list[tuple[str, Element | None]]:
    """Return all links with the joints to their parents, parents first.

    Links that are not connected with the largest tree are left out, with a warning.
    """
    if not links:
        raise ModelError("The file has no links.")
    joint_of = {_end(joint, "child"): joint for joint in joints}
    trees: list[list[tuple[str, Element | None]]] = []
    for root in (name for name in links if name not in joint_of):
        order: list[tuple[str, Element | None]] = [(root, None)]
        for name, _ in order:
            order += [
                (child, joint) for child, joint in joint_of.items() if _end(joint, "parent") == name
            ]
        trees.append(order)
    largest = max(trees, key=len)
    for order in trees:
        if order is not largest:
            warn_once(f"Link {order[0][0]!r} is not connected with the robot; it is left out.")
    return largest


def _frame(element: Element) -> LinkFrame:
    """Return the frame of the <origin> of an element: rotations about the fixed axes x, y, z."""
    origin = element.find("origin")
    if origin is None:
        return DRAWING_FRAME
    where = f"origin in <{element.tag} {element.get('name', '')}>"
    roll, pitch, yaw = square_angles(numbers(origin.get("rpy"), 3, (0, 0, 0), where))
    R = rot_z(yaw) @ rot_y(pitch) @ rot_x(roll)
    return LinkFrame(R, numbers(origin.get("xyz"), 3, (0, 0, 0), where))


def _jointed(link: RobotLink, joint: Element | None) -> list[RobotLink]:
    """Return a link with its joint, as a list; a planar joint adds two massless links before it."""
    if joint is None or joint.get("type") == "floating":
        if joint is not None:
            warn_once(
                f"joint {joint.get('name')!r}: its type is floating; its link moves with its parent."
            )
        return [link]
    where = f"joint {joint.get('name')!r}"
    kind = joint.get("type", "")
    along = numbers(_attribute(joint, "axis", "xyz"), 3, (1, 0, 0), where)
    axis = link.frame.R @ along
    if kind not in (*URDF_JOINTS, "planar"):
        known = (*URDF_JOINTS, "planar", "floating")
        hint = did_you_mean(kind, known)
        warn_once(f"{where}: type {kind!r} is not supported; the joint is fixed. {hint}")
        return [link]
    if kind != "fixed" and not axis.any():
        warn_once(f"{where}: the axis is zero; the joint is fixed.")
        return [link]
    if kind == "planar":
        return _planar_links(link, joint.get("name", ""), axis)
    dynamics = joint.find("dynamics")
    limit = joint.find("limit")
    dynamics_attributes: Mapping[str, str] = {} if dynamics is None else dynamics.attrib
    limit_attributes: Mapping[str, str] = {} if limit is None else _finite(limit.attrib)
    properties: dict[str, Any] = {
        "kind": URDF_JOINTS[kind],
        "joint": joint.get("name", ""),
        "axis": axis,
        "through": link.frame.p,
        "damper": nonnegative(dynamics_attributes, "damping", where),
        "friction": note_friction(
            where, nonnegative(dynamics_attributes, "friction", where), URDF_JOINTS[kind]
        ),
        **_limits(kind, limit_attributes, where),
        "motor": _motor(limit_attributes, where),
    }
    return [replace(link, **properties)]


def _finite(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes without infinite values; exporters write these for joints without a limit."""
    return {name: text for name, text in attributes.items() if "inf" not in text.lower()}


def _limits(kind: str, attributes: Mapping[str, str], where: str) -> dict[str, Any]:
    """Return the fields `limited` and `limits` (rad or m, if the file states a range) of a `RobotLink`."""
    if kind not in ("revolute", "prismatic"):
        return {}
    lower = number(attributes, "lower", 0.0, where)
    upper = number(attributes, "upper", 0.0, where)
    if lower > upper:
        warn_once(f"{where}: its lower limit is above the upper one; it has no stops.")
    # CAD exporters write zero for both limits of wheels that turn freely.
    is_empty = bool(attributes) and not lower < upper
    return {"limited": not is_empty, "limits": (lower, upper) if lower < upper else None}


def _motor(attributes: Mapping[str, str], where: str) -> Motor | None:
    """Return the limits of a drive: effort (N m or N) and velocity (rad/s or m/s); None without effort.

    Zero means that the file does not state a limit.
    """
    effort = nonnegative(attributes, "effort", where)
    velocity = nonnegative(attributes, "velocity", where)
    if not effort > 0.0:
        return None
    return Motor(effort, velocity if velocity > 0.0 else np.inf)


def _add_interfaces(links: list[RobotLink], root: Element) -> tuple[list[RobotLink], list[str]]:
    """Return links with the effort limits of the command interfaces of <ros2_control>, and notes.

    If the joint also has an effort limit, the smaller one applies. A note reports position and velocity
    interfaces, because the inputs of a vehicle are torques.
    """
    limits: dict[str, float] = {}
    servos: dict[str, list[str]] = {}
    for joint in root.findall("ros2_control/joint"):
        name = joint.get("name", "")
        for interface in joint.findall("command_interface"):
            kind = interface.get("name", "")
            values = {each.get("name", ""): each.text or "" for each in interface.findall("param")}
            where = f"<ros2_control> joint {name!r}"
            bounds = [abs(number(values, key, 0.0, where)) for key in ("min", "max")]
            if kind == "effort" and max(bounds) > 0.0:
                limits[name] = max(bounds)
            elif kind in ("position", "velocity"):
                servos.setdefault(kind, []).append(name)
    notes = [
        f"<ros2_control>: {kind} commands of {', '.join(names)}; inputs are torques, and the law 'servo' "
        "keeps set-points."
        for kind, names in servos.items()
    ]
    limited = [
        _with_effort(link, limits[link.joint]) if link.joint in limits else link for link in links
    ]
    return limited, notes


def _with_effort(link: RobotLink, effort: float) -> RobotLink:
    """Return a link whose motor is limited to the given effort, N m or N."""
    motor = link.motor or Motor(effort)
    return replace(link, motor=replace(motor, torque=min(motor.torque, effort)))


def _planar_links(link: RobotLink, name: str, normal: Floats) -> list[RobotLink]:
    """Return the three links of a planar joint: two slides in the plane, then a hinge about its normal.

    The last link is the given link; the first two are massless.
    """
    frames = np.linalg.svd(normal[None])[2]
    parts = [("slide", "x", frames[1]), ("slide", "y", frames[2]), ("hinge", "turn", normal)]
    links = []
    parent = link.parent
    for kind, suffix, axis in parts:
        joint = f"{name}_{suffix}"
        last = kind == "hinge"
        part = link if last else RobotLink(f"{link.name}_{suffix}", parent, link.frame, Mass())
        links.append(
            replace(part, parent=parent, kind=kind, joint=joint, axis=axis, through=link.frame.p)
        )
        parent = part.name
    return links


def _rounds(link: Element, frame: LinkFrame) -> tuple[RoundShape, ...]:
    """Return the spheres, cylinders and capsules of a link, collision shapes first."""
    shapes = []
    where = f"link {link.get('name')!r}"
    for element in (*link.findall("collision"), *link.findall("visual")):
        pose = frame @ _frame(element)
        for shape in element.findall("geometry/*"):
            if shape.tag in ("sphere", "cylinder", "capsule"):
                radius = number(shape.attrib, "radius", 0.0, where)
                axis = None if shape.tag == "sphere" else pose.R[:, 2]
                if is_positive_radius(radius, where):
                    collides = element.tag == "collision"
                    shapes.append(RoundShape(radius, pose.p, axis, collides, shape.tag))
    return tuple(shapes)


def _meshes(link: Element, frame: LinkFrame, finder: _MeshFinder) -> tuple[MeshShape, ...]:
    """Return the meshes of a link, collision meshes first."""
    meshes = []
    where = f"link {link.get('name')!r}, mesh"
    for element in (*link.findall("collision"), *link.findall("visual")):
        for mesh in element.findall("geometry/mesh"):
            name = mesh.get("filename", "")
            scale = numbers(mesh.get("scale"), 3, (1, 1, 1), where)
            meshes.append(MeshShape(name, finder.find(name), frame @ _frame(element), scale))
    return tuple(meshes)


def _boxes(link: Element, frame: LinkFrame) -> tuple[BodyBox, ...]:
    """Return the visual boxes of a link in the zero configuration; without any, its collision boxes."""
    where = f"link {link.get('name')!r}, box"
    for kind in ("visual", "collision"):
        boxes = []
        for element in link.findall(kind):
            pose = frame @ _frame(element)
            for box in element.findall("geometry/box"):
                sides = find_numbers(box.attrib, "size", 3, where)
                if sides is None:
                    continue
                boxes.append(BodyBox(pose.p, pose.R * sides / 2.0))
        if boxes:
            return tuple(boxes)
    return ()


def _mass(link: Element, frame: LinkFrame) -> Mass:
    """Return the mass properties of a link in the zero configuration; zero if the file states none."""
    inertial = link.find("inertial")
    if inertial is None:
        return Mass()
    principal = frame @ _frame(inertial)
    mass = inertial.find("mass")
    inertia_element = inertial.find("inertia")
    where = f"link {link.get('name')!r}"
    entries = {} if inertia_element is None else inertia_element.attrib
    tensor = inertia(*(number(entries, f"i{k}", 0.0, where) for k in TENSOR_ENTRIES))
    value = number({} if mass is None else mass.attrib, "value", 0.0, f"{where}, mass")
    if value and not tensor.any():
        warn_once(f"{where}: it has a mass but no <inertia>; a point mass is used.")
    return stated_mass(value, tensor, principal)
