"""Robots from URDF files, with their wheels declared beside them.

URDF knows links, inertias and joints, but no rolling: which links are wheels is said here. Limits,
transmissions and looks are left to the file. The format: https://wiki.ros.org/urdf/XML.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from draisine.algebra.lie import rot_x, rot_y, rot_z
from draisine.errors import ModelError, did_you_mean, expect_known
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
    robot_vehicle,
    square_angles,
    tell_friction,
    tell_note,
)
from draisine.model import inertia
from draisine.model.body import BodyBox

JOINTS = {"fixed": "", "continuous": "hinge", "revolute": "hinge", "prismatic": "slide"}
"""The joints of URDF that are read, and what they are here."""

ENTRIES = ("xx", "yy", "zz", "xy", "xz", "yz")
"""The entries of a tensor of inertia."""


def read_urdf(
    file: str | Path,
    wheels: Mapping[str, Any],
    joints: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    base: str | None = None,
    gravity: float = 9.81,
) -> Vehicle:
    """Return the robot of a file (or of its text) as a vehicle for `draisine.compile`.

    `wheels` gives the links that roll their radius, their surface (`Ball(0.02)`, `Torus(...)`) or a
    `RobotWheel` (with a tyre, or beside the link's origin); each stands at the origin of its link and
    rolls about the axis of its joint. `joints` gives joints what the file does not know: `{"strut":
    {"spring": 4000.0, "damper": 200.0}, "axle": {"armature": 0.002}, "pan": {"motion": uniform(0.0)}}`.
    Links with fixed joints become part of their parents. `base` is what the root link can do: "SE(3)",
    "fixed", ...; by default it is free, but one without mass that is called `world` is fixed, as ROS
    and Gazebo have it.

    >>> text = '''<robot name="wheel"><link name="rim"><inertial><mass value="1"/>
    ... <inertia ixx="0.1" iyy="0.2" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'''
    >>> read_urdf(text, {"rim": 0.5})().wheels[0].name
    'rim'
    """
    robot = parse_urdf(file, base, gravity)
    with name_file(file):
        return robot_vehicle(robot, wheels, joints)


def parse_urdf(file: str | Path, base: str | None = None, gravity: float = 9.81) -> Robot:
    """Return what a file (or its text) says."""
    root = read_root(file, "robot")
    with name_file(file):
        links = _links(root)
        return Robot(root.get("name", "robot"), links, base or _base(links[0]), gravity)


def _base(root: RobotLink) -> str:
    """Return what a root link can do: one without mass that is called `world` stands for the world."""
    if root.name != "world" or root.mass.mass:
        return "SE(3)"
    told = "its root link 'world' is the world, so the base is fixed; base='SE(3)' sets it free."
    tell_note(told)
    return "fixed"


def _links(root: Element) -> list[RobotLink]:
    """Return all links where they stand in the drawing, parents first."""
    joints = [_named(each) for each in root.findall("joint")]
    links = _unlike(root.findall("link"))
    order = _order(links, joints)
    frames: dict[str, LinkFrame] = {}
    found = []
    for name, joint in order:
        parent = "" if joint is None else _end(joint, "parent", links)
        frame = ORIGIN if joint is None else frames[parent] @ _frame(joint)
        frames[name] = frame
        found.append(_link(name, parent, frame, links[name], joint))
    return found


def _unlike(elements: Iterable[Element]) -> dict[str, Element]:
    """Return elements by their names, of which there is one each."""
    found: dict[str, Element] = {}
    for each in elements:
        if found.setdefault(_named(each).get("name", ""), each) is not each:
            raise ModelError(
                f"<{each.tag}> {each.get('name')!r} is there twice; names must differ."
            )
    return found


def _named(element: Element) -> Element:
    if not element.get("name"):
        raise ModelError(f"a <{element.tag}> has no name.")
    return element


def _end(joint: Element, which: str, links: Mapping[str, Any]) -> str:
    """Return parent or child of a joint."""
    element = joint.find(which)
    name = "" if element is None else element.get("link", "")
    expect_known(f"joint {joint.get('name')!r}: no link", name, links, ModelError)
    return name


def _order(links: Mapping[str, Element], joints: list[Element]) -> list[tuple[str, Element | None]]:
    """Return all links with the joints that bear them, parents first."""
    borne = {_end(joint, "child", links): joint for joint in joints}
    roots = [name for name in links if name not in borne]
    if len(roots) != 1 or len(borne) != len(joints):
        raise ModelError(
            f"the links are no tree: {len(roots)} have no parent, and each has one joint."
        )
    order: list[tuple[str, Element | None]] = [(roots[0], None)]
    for name, _ in order:
        own = [(child, j) for child, j in borne.items() if _end(j, "parent", links) == name]
        order += own
    if len(order) != len(links):
        missing = next(name for name in links if name not in dict(order))
        raise ModelError(f"link {missing!r} hangs in a ring of joints; URDF has trees only.")
    return order


def _frame(element: Element) -> LinkFrame:
    """Return where the <origin> of an element is: turned about x, y, z, in fixed axes."""
    origin = element.find("origin")
    if origin is None:
        return ORIGIN
    where = f"origin in <{element.tag} {element.get('name', '')}>"
    roll, pitch, yaw = square_angles(numbers(origin.get("rpy"), 3, (0, 0, 0), where))
    R = rot_z(yaw) @ rot_y(pitch) @ rot_x(roll)
    return LinkFrame(R, numbers(origin.get("xyz"), 3, (0, 0, 0), where))


def _link(
    name: str, parent: str, frame: LinkFrame, link: Element, joint: Element | None
) -> RobotLink:
    """Return a link with its joint."""
    if joint is None:
        rounds = _rounds(link, frame)
        boxes = _boxes(link, frame)
        return RobotLink(name, "", frame, _mass(link, frame), rounds=rounds, boxes=boxes)
    where = f"joint {joint.get('name')!r}"
    kind = joint.get("type", "")
    if kind not in JOINTS:
        raise ModelError(f"{where}: type {kind!r} is not read. {did_you_mean(kind, JOINTS)}")
    if joint.find("mimic") is not None:
        raise ModelError(f"{where} mimics another; draw the machine with a Coupling.")
    axis = joint.find("axis")
    along = numbers(None if axis is None else axis.get("xyz"), 3, (1, 0, 0), where)
    dynamics = joint.find("dynamics")
    limit = joint.find("limit")
    acts: Mapping[str, str] = {} if dynamics is None else dynamics.attrib
    return RobotLink(
        name,
        parent,
        frame,
        _mass(link, frame),
        JOINTS[kind],
        joint.get("name", ""),
        frame.R @ along,
        frame.p,
        damper=number(acts, "damping", 0.0, where),
        friction=tell_friction(where, number(acts, "friction", 0.0, where), JOINTS[kind]),
        rounds=_rounds(link, frame),
        boxes=_boxes(link, frame),
        limited=kind in ("revolute", "prismatic"),
        effort=0.0 if limit is None else number(limit.attrib, "effort", 0.0, where),
    )


def _rounds(link: Element, frame: LinkFrame) -> tuple[RoundShape, ...]:
    """Return the balls and cylinders of a link in the drawing, those that collide first."""
    found = []
    where = f"link {link.get('name')!r}"
    for part in (*link.findall("collision"), *link.findall("visual")):
        place = frame @ _frame(part)
        for one in part.findall("geometry/*"):
            if one.tag in ("sphere", "cylinder"):
                radius = number(one.attrib, "radius", 0.0, where)
                axis = place.R[:, 2] if one.tag == "cylinder" else None
                found.append(RoundShape(radius, place.p, axis))
    return tuple(found)


def _boxes(link: Element, frame: LinkFrame) -> tuple[BodyBox, ...]:
    """Return the boxes of a link in the drawing: those that are seen, or else those that collide."""
    where = f"link {link.get('name')!r}, box"
    for kind in ("visual", "collision"):
        found = []
        for part in link.findall(kind):
            place = frame @ _frame(part)
            for one in part.findall("geometry/box"):
                sides = numbers(one.get("size"), 3, (), where)
                found.append(BodyBox(place.p, place.R * sides / 2.0))
        if found:
            return tuple(found)
    return ()


def _mass(link: Element, frame: LinkFrame) -> Mass:
    """Return the mass of a link in the drawing; none where the file has none."""
    inertial = link.find("inertial")
    if inertial is None:
        return Mass()
    place = frame @ _frame(inertial)
    mass = inertial.find("mass")
    tensor = inertial.find("inertia")
    where = f"link {link.get('name')!r}"
    told = {} if tensor is None else tensor.attrib
    own = inertia(*(number(told, f"i{k}", 0.0, where) for k in ENTRIES))
    value = number({} if mass is None else mass.attrib, "value", 0.0, f"{where}, mass")
    return Mass(value, place.p, place.R @ own @ place.R.T)
