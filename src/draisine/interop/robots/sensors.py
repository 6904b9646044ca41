"""Sensors of robot files as sensors of draisine: IMUs, joint sensors, pose sensors and contact switches.

`read_mjcf_sensors` reads the section <sensor> of MJCF files. Accelerometer and gyro at one site are one IMU
with the name of the site; sensors of one joint are one joint sensor. `read_urdf_sensors` reads the IMUs of
Gazebo with their rates and noise. Sensors without a counterpart become notes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

import numpy as np

from draisine.algebra.lie import rot_x, rot_y, rot_z
from draisine.interop.robots.document import number, numbers, warn_once
from draisine.mechanics.sensors import ContactSwitch, Imu, JointSensor, PoseSensor

if TYPE_CHECKING:
    from draisine.interop.robots.robot import LinkFrame, RobotLink

MAX_NAME = 100
"""Largest number of characters in the name of a sensor, as `NAME_PATTERN` allows."""

INERTIAL = ("accelerometer", "gyro")
"""Tags of the MJCF sensors that one IMU replaces."""

OF_JOINTS = ("jointpos", "jointvel", "jointactuatorfrc")
"""Tags of the MJCF sensors that one joint sensor replaces."""

OF_FRAMES = ("framepos", "framequat")
"""Tags of the MJCF sensors that one pose sensor replaces."""

IMU_GROUPS = {"angular_velocity": "angular_velocity", "linear_acceleration": "specific_force"}
"""Name of the channel group of `Imu`, by tag of the element in a Gazebo IMU."""


def read_mjcf_sensors(
    root: Element,
    links: Sequence["RobotLink"],
    sites: Mapping[str, tuple[str, "LinkFrame"]],
) -> tuple[list[Any], list[str]]:
    """Return the sensors of an MJCF file, and notes about sensors that draisine does not have.

    Parameters
    ----------
    root
        Root element of the file.
    links
        Links of the robot.
    sites
        Sites by name: (name of the link, frame of the site in the zero configuration).
    """
    frames = {link.name: (link.name, link.frame) for link in links}
    joints = {link.joint for link in links if link.kind}
    sensors: dict[str, Any] = {}
    unread = []
    for element in (each for section in root.findall("sensor") for each in section):
        kind = element.tag
        site = sites.get(element.get("site", ""))
        joint = element.get("joint", "")
        is_site = element.get("objtype") == "site"
        place = (sites if is_site else frames).get(element.get("objname", ""))
        if kind in INERTIAL and site is not None:
            name = _valid(element.get("site", ""))
            sensors[name] = Imu(name, site[0], site[1].p, site[1].R)
        elif kind in OF_JOINTS and joint in joints:
            name = _valid(f"{joint}_sensor")
            sensors[name] = JointSensor(name, joint)
        elif (
            kind in OF_FRAMES
            and place is not None
            and element.get("objtype") in ("site", "xbody")
            and not element.get("refname")
        ):
            name = _valid(f"{element.get('objname')}_pose")
            sensors[name] = PoseSensor(name, place[0], place[1].p)
        elif kind == "touch" and site is not None:
            name = _valid(f"{element.get('site')}_touch")
            sensors[name] = ContactSwitch(name, site[0])
        else:
            unread.append(element.get("name") or kind)
    return list(sensors.values()), _note(unread)


def read_urdf_sensors(root: Element, links: Sequence["RobotLink"]) -> tuple[list[Any], list[str]]:
    """Return the IMUs of the Gazebo elements of a URDF file, and notes about all other sensors.

    Parameters
    ----------
    root
        Root element of the file.
    links
        Links of the robot.
    """
    frames = {link.name: link.frame for link in links}
    imus: dict[str, Imu] = {}
    read = []
    for gazebo in root.findall("gazebo"):
        link = gazebo.get("reference", "")
        for element in gazebo.findall("sensor"):
            name = _valid(element.get("name") or f"{link}_imu")
            if element.get("type", "").startswith("imu") and link in frames:
                imus[name] = _gazebo_imu(name, link, frames[link], element)
                read.append(element)
    elements = [each for each in root.iter("sensor") if each not in read]
    return list(imus.values()), _note(each.get("name") or "without a name" for each in elements)


def _gazebo_imu(name: str, link: str, frame: "LinkFrame", element: Element) -> Imu:
    """Return the IMU of a Gazebo sensor on a link, with rate, bias and noise."""
    where = f"sensor {name!r}"
    x, y, z, roll, pitch, yaw = numbers(
        element.findtext("pose"), 6, (0, 0, 0, 0, 0, 0), f"{where}, pose"
    )
    point = frame.p + frame.R @ np.array([x, y, z])
    axes = frame.R @ rot_z(yaw) @ rot_y(pitch) @ rot_x(roll)
    texts = {"rate": element.findtext("update_rate") or "0"}
    rate = number(texts, "rate", 0.0, where)
    bias: dict[str, float] = {}
    noise: dict[str, float] = {}
    for tag, group in IMU_GROUPS.items():
        for axis in "xyz":
            errors = element.find(f"imu/{tag}/{axis}/noise")
            if errors is not None:
                values = {key: errors.findtext(key) or "0" for key in ("mean", "stddev")}
                bias[f"{group}_{axis}"] = number(values, "mean", 0.0, where)
                noise[f"{group}_{axis}"] = abs(number(values, "stddev", 0.0, where))
    if any(noise.values()) and not rate > 0.0:
        warn_once(f"{where}: it has noise but no update rate; the noise is left out.")
        noise = {}
    options: dict[str, Any] = {"bias": bias, "noise": noise, "rate": rate if rate > 0.0 else None}
    return Imu(name, link, point, axes, **options)


def _valid(name: str) -> str:
    """Return a name in which underscores replace slashes and control characters, for use in results."""
    return re.sub(r"[/\x00-\x1f\x7f]", "_", name)[:MAX_NAME]


def _note(names: Iterable[str]) -> list[str]:
    """Return a list with one sentence about the sensors that were not read; an empty list if all were."""
    labels = list(names)
    shown = ", ".join(labels[:3]) + (", ..." if len(labels) > 3 else "")
    text = f"<sensor>: {shown} not read; add sensors to the model (draisine.mechanics.sensors)."
    return [text] if labels else []


def rename_sensors(
    sensors: Sequence[Any], links: Mapping[str, str], joints: Mapping[str, str]
) -> list[Any]:
    """Return sensors whose links and joints have new names."""
    renamed: list[Any] = []
    for sensor in sensors:
        if isinstance(sensor, JointSensor):
            renamed.append(replace(sensor, joint=joints.get(sensor.joint, sensor.joint)))
        elif isinstance(sensor, ContactSwitch):
            renamed.append(replace(sensor, contact=links.get(sensor.contact, sensor.contact)))
        else:
            renamed.append(replace(sensor, body=links.get(sensor.body, sensor.body)))
    return renamed


def place_sensors(
    sensors: Sequence[Any],
    body_of: Mapping[str, str],
    lift: np.ndarray,
    joints: Iterable[str],
    contacts: Iterable[str],
) -> list[Any]:
    """Convert sensors on the links of a robot file to sensors on the bodies of a model.

    Sensors on joints, contacts or bodies that the model does not have are left out.

    Parameters
    ----------
    sensors
        Sensors of the robot file, on its links.
    body_of
        Name of the body of each link.
    lift
        Displacement of the model relative to the file, (3,), m.
    joints, contacts
        Names of the joints and the contacts of the model.
    """
    placed: list[Any] = []
    for sensor in sensors:
        if isinstance(sensor, JointSensor):
            if sensor.joint in set(joints):
                placed.append(sensor)
        elif isinstance(sensor, ContactSwitch):
            if sensor.contact in set(contacts):
                placed.append(sensor)
        elif body_of.get(sensor.body, "world") != "world":
            placed.append(replace(sensor, body=body_of[sensor.body], point=sensor.point + lift))
    return placed
