"""Inputs that are changed at random and stay legal: robots, meshes, scenarios.

Numbers move by some percent, and texts are rewritten without a change of meaning: other order, other
spelling of numbers, comments. What comes out is judged by invariants, since nobody knows its values.
"""

import random
import re
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

# --- robots

CART = """
<robot name="cart">
  <link name="frame"><inertial><origin xyz="0.05 0 0.1" rpy="0 0.3 0"/><mass value="6"/>
    <inertia ixx="0.2" iyy="0.3" izz="0.25" ixy="0" ixz="0.01" iyz="0"/></inertial></link>
  <link name="left"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0 0 0.2"/><mass value="0.7"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lamp"><inertial><origin xyz="0 0.02 0"/><mass value="0.1"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="left_axle" type="continuous"><parent link="frame"/><child link="left"/>
    <origin xyz="0 0.25 0"/><axis xyz="0 1 0"/><dynamics damping="0.02"/></joint>
  <joint name="right_axle" type="continuous"><parent link="frame"/><child link="right"/>
    <origin xyz="0 -0.25 0"/><axis xyz="0 1 0"/><dynamics damping="0.02"/></joint>
  <joint name="shoulder" type="continuous"><parent link="frame"/><child link="arm"/>
    <origin xyz="0.1 0 0.2"/><axis xyz="1 0 0"/><dynamics damping="0.1"/></joint>
  <joint name="bolt" type="fixed"><parent link="arm"/><child link="lamp"/>
    <origin xyz="0 0 0.3" rpy="0.2 0 0"/></joint>
</robot>
"""

MUJOCO = """
<mujoco model="cart"><compiler angle="radian"/><option gravity="0 0 -9.8"/>
  <default><joint damping="0.05"/><default class="stiff"><joint stiffness="3"/></default></default>
  <worldbody><body name="frame" pos="0 0 0.2"><freejoint/>
    <geom type="box" size="0.1 0.2 0.15" density="100"/>
    <body name="left" pos="0 0.25 0"><joint name="left_axle" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.02 0.01"/></body>
    <body name="right" pos="0 -0.25 0"><joint name="right_axle" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.02 0.01"/></body>
    <body name="arm" pos="0.1 0 0.2"><joint name="shoulder" class="stiff" axis="1 0 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.02" mass="0.5"/></body>
  </body></worldbody></mujoco>
"""

WHEELS = {"left": 0.15, "right": 0.15}
"""The wheels of both robots with their radii, m."""

SCALED = {
    "mass": ("value",),
    "inertia": ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"),
    "inertial": ("mass", "diaginertia"),
    "geom": ("density",),
    "dynamics": ("damping",),
    "joint": ("damping", "stiffness"),
}
"""Attributes whose numbers may be multiplied by one positive factor per element."""

MOVED = {"origin": ("xyz",), "body": ("pos",)}
"""Attributes whose numbers may be moved a little."""


def draw_robot(rng: random.Random) -> tuple[str, str]:
    """Return the suffix and the text of a robot's file with random legal numbers.

    Wheels stay symmetric: both get the same numbers, so that they meet level ground together.
    """
    suffix, text = rng.choice([(".urdf", CART), (".xml", MUJOCO)])
    root = ET.fromstring(text)
    factors: dict[str, float] = {}
    for parent in root.iter():
        for element in parent:
            factor = _factor(rng, factors, parent.get("name", ""))
            for name in SCALED.get(element.tag, ()):
                _change(element, name, lambda x, f=factor: f * x)
            if parent.get("name", "") in ("left_axle", "right_axle", "left", "right"):
                continue
            for name in MOVED.get(element.tag, ()):
                if element.get("name") not in ("left", "right", "frame"):
                    _change(element, name, lambda x: x + rng.uniform(-0.02, 0.02))
    return suffix, ET.tostring(root, encoding="unicode")


def _factor(rng: random.Random, known: dict[str, float], name: str) -> float:
    """Return a factor, the same for left and right parts."""
    side = re.sub("left|right", "side", name)
    return known.setdefault(side, rng.uniform(0.7, 1.4)) if side != name else rng.uniform(0.7, 1.4)


def _change(element: ET.Element, name: str, change: Any) -> None:
    """Change all numbers of an attribute, if the element has it."""
    given = element.get(name)
    if given is not None:
        element.set(name, " ".join(repr(change(float(x))) for x in given.split()))


def rewrite_robot(rng: random.Random, text: str) -> str:
    """Return a robot's file with the same meaning: links and joints in another order, comments, numbers
    written otherwise.
    """
    root = ET.fromstring(text)
    for parent in root.iter():
        children = list(parent)
        if parent.tag == "robot" or all(child.tag == "body" for child in children):
            rng.shuffle(children)
            for child in list(parent):
                parent.remove(child)
            parent.extend(children)
        for element in children:
            for name, value in element.attrib.items():
                if re.fullmatch(r"[-+.\deE ]+", value):
                    numbers = (float(x) for x in value.split())
                    element.set(name, "  ".join(f"{x:.17e}" for x in numbers))
        if rng.random() < 0.3:
            parent.insert(0, ET.Comment(" nothing "))
    return ET.tostring(root, encoding="unicode")


# --- meshes


def draw_mesh(rng: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Return points and triangles of gently rolling ground from -2 to 2 m."""
    x = np.linspace(-2.0, 2.0, rng.choice([5, 7, 9]))
    n = len(x)
    heights = np.array([[rng.gauss(0.0, 0.02) for _ in x] for _ in x])
    points = np.array([[a, b, heights[i, j]] for i, a in enumerate(x) for j, b in enumerate(x)])
    cells = [(i * n + j, (i + 1) * n + j) for i in range(n - 1) for j in range(n - 1)]
    triangles = [
        t for low, high in cells for t in ((low, high, high + 1), (low, high + 1, low + 1))
    ]
    return points.astype(np.float32).astype(float), np.array(triangles)


def rewrite_mesh(
    rng: random.Random, points: np.ndarray, triangles: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same surface with its points and triangles in another order."""
    order = list(range(len(points)))
    rng.shuffle(order)
    places = np.argsort(order)
    turned = np.array([np.roll(places[t], rng.randrange(3)) for t in triangles])
    rows = list(range(len(turned)))
    rng.shuffle(rows)
    return points[order], turned[rows]


def write_mesh(path: Path, points: np.ndarray, triangles: np.ndarray) -> None:
    """Write a mesh in the format of the file's suffix; numbers have single precision already."""
    match path.suffix:
        case ".obj":
            lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
            lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in triangles.tolist()]
            path.write_text("# nothing\n" + "\n".join(lines) + "\n")
        case ".ply":
            head = (
                f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n"
                "property float x\nproperty float y\nproperty float z\n"
                f"element face {len(triangles)}\nproperty list uchar int vertex_indices\nend_header\n"
            )
            body = b"".join(struct.pack("<3f", *point) for point in points)
            body += b"".join(struct.pack("<B3i", 3, *map(int, t)) for t in triangles)
            path.write_bytes(head.encode() + body)
        case ".stl":
            body = b"".join(struct.pack("<12fH", 0, 0, 0, *points[t].ravel(), 0) for t in triangles)
            path.write_bytes(bytes(80) + struct.pack("<I", len(triangles)) + body)
        case suffix:
            raise ValueError(f"no writer of {suffix} files")


def corners(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the corners of all triangles in an order that depends on their places alone."""
    found = np.array(
        [
            np.roll(points[t], -int(np.lexsort(points[t].T)[0]), axis=0).ravel()
            for t in np.asarray(triangles)
        ]
    )
    return found[np.lexsort(found.T)]


# --- scenarios

NUMBER = re.compile(r"^(\s*[\w.\"]+\s*=\s*\"?)(-?\d+\.?\d*(?:[eE][-+]?\d+)?)(deg)?(\"?\s*)$")
"""A line with one number, or one angle in degrees."""

CHANGED = ("initial", "vehicle.parameters", "terrain")
"""Sections of a scenario whose numbers may be changed."""


def draw_scenario(rng: random.Random, text: str) -> str:
    """Return a scenario with numbers of some sections changed by up to two percent; what was expected of
    it is left out.
    """
    section, lines = "", []
    for line in text.split("\n"):
        if line.startswith("["):
            section = line.strip("[]\n ")
        if section.startswith("expected"):
            continue
        found = NUMBER.match(line)
        if found and section in CHANGED and rng.random() < 0.7:
            value = float(found[2]) * rng.uniform(0.98, 1.02)
            lines.append(f"{found[1]}{value!r}{found[3] or ''}{found[4]}")
        else:
            lines.append(line)
    return "\n".join(lines)
