"""Import of robots from URDF files, with separately declared wheels.

URDF describes links, inertias and joints, but no rolling contacts, so wheels are declared as arguments.
Limits, transmissions and meshes are ignored. The format: https://wiki.ros.org/urdf/XML.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from draisine.algebra.lie import rot_x, rot_y, rot_z
from draisine.errors import ModelError, did_you_mean, expect_known
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
    robot_vehicle,
    square_angles,
    warn_once,
)
from draisine.model import inertia
from draisine.model.body import BodyBox

URDF_JOINTS = {"fixed": "", "continuous": "hinge", "revolute": "hinge", "prismatic": "slide"}
"""Supported joint types of URDF, with the corresponding `RobotLink.kind`."""

TENSOR_ENTRIES = ("xx", "yy", "zz", "xy", "xz", "yz")
"""Names of the entries of an inertia tensor in the order of `model.inertia`."""


def read_urdf(
    file: str | Path,
    wheels: Mapping[str, Any],
    joints: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    base: str | None = None,
    gravity: float = 9.81,
) -> Vehicle:
    """Read a robot from a URDF file as a vehicle for `draisine.compile`.

    Links with fixed joints are merged with their parents.

    Parameters
    ----------
    file
        Path of the URDF file, or its text.
    wheels
        Radius (m), surface (`Ball(0.02)`, `Torus(...)`) or `RobotWheel` of each rolling link by name. A wheel
        has its centre at the origin of its link and rolls about the axis of its joint.
    joints
        Properties of joints beyond the file, by name: `{"strut": {"spring": 4000.0, "damper": 200.0},
        "axle": {"armature": 0.002}, "pan": {"motion": uniform(0.0)}}`.
    base
        Configuration group of the root link: "SE(3)", "fixed", ... By default the root is free; a massless
        link `world` is fixed, as in ROS and Gazebo.
    gravity
        Default gravitational acceleration, m/s2.

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
    >>> text = '''<robot name="wheel"><link name="rim"><inertial><mass value="1"/>
    ... <inertia ixx="0.1" iyy="0.2" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'''
    >>> read_urdf(text, {"rim": 0.5})().wheels[0].name
    'rim'
    """
    robot = parse_urdf(file, base, gravity)
    with name_file(file):
        return robot_vehicle(robot, wheels, joints)


def parse_urdf(file: str | Path, base: str | None = None, gravity: float = 9.81) -> Robot:
    """Parse a URDF file or its text into a `Robot`."""
    root = read_root(file, "robot")
    with name_file(file):
        links = _links(root)
        return Robot(root.get("name", "robot"), links, base or _base(links[0]), gravity)


def _base(root: RobotLink) -> str:
    """Return the configuration group of the base: "fixed" for a massless root link `world`, else "SE(3)"."""
    if root.name != "world" or root.mass.mass:
        return "SE(3)"
    warn_once(
        "The root link 'world' is the world, so the base is fixed; base='SE(3)' makes it free."
    )
    return "fixed"


def _links(root: Element) -> list[RobotLink]:
    """Return all links in the drawing, parents first."""
    joints = [_named(each) for each in root.findall("joint")]
    links = _by_name(root.findall("link"))
    order = _order(links, joints)
    frames: dict[str, LinkFrame] = {}
    robot_links = []
    for name, joint in order:
        parent = "" if joint is None else _end(joint, "parent", links)
        frame = DRAWING_FRAME if joint is None else frames[parent] @ _frame(joint)
        frames[name] = frame
        robot_links.append(_link(name, parent, frame, links[name], joint))
    return robot_links


def _by_name(elements: Iterable[Element]) -> dict[str, Element]:
    """Return XML elements by name; raise `ModelError` for repeated names."""
    by_name: dict[str, Element] = {}
    for element in elements:
        if by_name.setdefault(_named(element).get("name", ""), element) is not element:
            raise ModelError(
                f"The name of <{element.tag}> {element.get('name')!r} is used twice; names must differ."
            )
    return by_name


def _named(element: Element) -> Element:
    """Return an XML element; raise `ModelError` if it has no name."""
    if not element.get("name"):
        raise ModelError(f"A <{element.tag}> has no name; add one.")
    return element


def _end(joint: Element, role: str, links: Mapping[str, Any]) -> str:
    """Return the name of the parent or child link of a joint."""
    element = joint.find(role)
    name = "" if element is None else element.get("link", "")
    expect_known(f"joint {joint.get('name')!r}: no link", name, links, ModelError)
    return name


def _order(links: Mapping[str, Element], joints: list[Element]) -> list[tuple[str, Element | None]]:
    """Return all links with the joints to their parents, sorted so that parents come first."""
    joint_of = {_end(joint, "child", links): joint for joint in joints}
    roots = [name for name in links if name not in joint_of]
    if len(roots) != 1 or len(joint_of) != len(joints):
        raise ModelError(
            f"The links must form a tree: {len(roots)} have no parent instead of one, or a link has two."
        )
    order: list[tuple[str, Element | None]] = [(roots[0], None)]
    for name, _ in order:
        order += [(child, j) for child, j in joint_of.items() if _end(j, "parent", links) == name]
    if len(order) != len(links):
        missing = next(name for name in links if name not in dict(order))
        raise ModelError(f"Link {missing!r} is in a loop of joints; URDF supports trees only.")
    return order


def _frame(element: Element) -> LinkFrame:
    """Return the frame of the <origin> of an element: translation and rotations about fixed axes x, y, z."""
    origin = element.find("origin")
    if origin is None:
        return DRAWING_FRAME
    where = f"origin in <{element.tag} {element.get('name', '')}>"
    roll, pitch, yaw = square_angles(
        parse_numbers_attribute(origin.get("rpy"), 3, (0, 0, 0), where)
    )
    R = rot_z(yaw) @ rot_y(pitch) @ rot_x(roll)
    return LinkFrame(R, parse_numbers_attribute(origin.get("xyz"), 3, (0, 0, 0), where))


def _link(
    name: str, parent: str, frame: LinkFrame, link: Element, joint: Element | None
) -> RobotLink:
    """Return a link with its mass properties, shapes and joint."""
    if joint is None:
        rounds = _rounds(link, frame)
        boxes = _boxes(link, frame)
        return RobotLink(name, "", frame, _mass(link, frame), rounds=rounds, boxes=boxes)
    where = f"joint {joint.get('name')!r}"
    kind = joint.get("type", "")
    if kind not in URDF_JOINTS:
        raise ModelError(
            f"{where}: type {kind!r} is not supported. {did_you_mean(kind, URDF_JOINTS)}"
        )
    if joint.find("mimic") is not None:
        raise ModelError(
            f"{where} mimics another joint; model the machine in Python with a Coupling."
        )
    axis = joint.find("axis")
    along = parse_numbers_attribute(None if axis is None else axis.get("xyz"), 3, (1, 0, 0), where)
    dynamics = joint.find("dynamics")
    limit = joint.find("limit")
    dynamics_attributes: Mapping[str, str] = {} if dynamics is None else dynamics.attrib
    return RobotLink(
        name,
        parent,
        frame,
        _mass(link, frame),
        URDF_JOINTS[kind],
        joint.get("name", ""),
        frame.R @ along,
        frame.p,
        damper=parse_number_attribute(dynamics_attributes, "damping", 0.0, where),
        friction=note_friction(
            where,
            parse_number_attribute(dynamics_attributes, "friction", 0.0, where),
            URDF_JOINTS[kind],
        ),
        rounds=_rounds(link, frame),
        boxes=_boxes(link, frame),
        limited=kind in ("revolute", "prismatic"),
        effort=0.0 if limit is None else parse_number_attribute(limit.attrib, "effort", 0.0, where),
    )


def _rounds(link: Element, frame: LinkFrame) -> tuple[RoundShape, ...]:
    """Return the spheres and cylinders of a link in the drawing, collision shapes first."""
    shapes = []
    where = f"link {link.get('name')!r}"
    for element in (*link.findall("collision"), *link.findall("visual")):
        pose = frame @ _frame(element)
        for shape in element.findall("geometry/*"):
            if shape.tag in ("sphere", "cylinder"):
                radius = parse_number_attribute(shape.attrib, "radius", 0.0, where)
                axis = pose.R[:, 2] if shape.tag == "cylinder" else None
                shapes.append(RoundShape(radius, pose.p, axis))
    return tuple(shapes)


def _boxes(link: Element, frame: LinkFrame) -> tuple[BodyBox, ...]:
    """Return the boxes of a link in the drawing: visual boxes, or collision boxes if there are none."""
    where = f"link {link.get('name')!r}, box"
    for kind in ("visual", "collision"):
        boxes = []
        for element in link.findall(kind):
            pose = frame @ _frame(element)
            for box in element.findall("geometry/box"):
                sides = parse_numbers_attribute(box.get("size"), 3, (), where)
                boxes.append(BodyBox(pose.p, pose.R * sides / 2.0))
        if boxes:
            return tuple(boxes)
    return ()


def _mass(link: Element, frame: LinkFrame) -> Mass:
    """Return the mass properties of a link in the drawing; zero if the file does not specify them."""
    inertial = link.find("inertial")
    if inertial is None:
        return Mass()
    principal = frame @ _frame(inertial)
    mass = inertial.find("mass")
    inertia_element = inertial.find("inertia")
    where = f"link {link.get('name')!r}"
    entries = {} if inertia_element is None else inertia_element.attrib
    tensor = inertia(
        *(parse_number_attribute(entries, f"i{k}", 0.0, where) for k in TENSOR_ENTRIES)
    )
    value = parse_number_attribute(
        {} if mass is None else mass.attrib, "value", 0.0, f"{where}, mass"
    )
    return Mass(value, principal.p, principal.R @ tensor @ principal.R.T)
