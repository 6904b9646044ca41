"""A motion as a glTF scene in one file (.glb): for Blender, game engines and viewers on the web.

Every body is a node whose translation and rotation are animated; lines of the machine are tubes on
it, mass centres balls. The ground around the way lies still or is animated like a body. glTF's y
points up: one node above all turns the world's axes to it.
The format: Khronos Group, glTF 2.0, ISO/IEC 12113:2022.
"""

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.lie import quaternion
from draisine.algebra.scalar import Floats
from draisine.errors import DataError
from draisine.terrain import Terrain
from draisine.view.replay import even_times, unit_quaternions
from draisine.view.scene.scene import Scene, level, scene
from draisine.view.style import WIDTHS

if TYPE_CHECKING:
    from xarray import Dataset

FLOAT, UNSIGNED = 5126, 5125
"""How the format calls 32-bit floats and whole numbers."""

SIDES, TURNS = 8, 6
"""Corners of a tube's section, and circles of latitude of a ball."""

THICK = 0.0035
"""Radius of a tube for each point of its width on paper, of the size of the machine."""

TO_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""From axes with z up to axes with y up."""


def write_gltf(data: "Dataset", speed: float = 1.0, terrain: Terrain | None = None) -> bytes:
    """Return a stored run as the bytes of a .glb file, so many times as fast as it was."""
    motion = scene(data, even_times, terrain)
    return _Asset(motion, speed).pack()


def tube(points: Floats, radius: float) -> tuple[Floats, Floats]:
    """Return corners and triangles of a tube around each piece of a line of points.

    >>> corners, triangles = tube(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0]]), 0.1)
    >>> corners.shape, triangles.shape
    ((32, 3), (32, 3))
    """
    ahead = np.diff(points, axis=0)
    ahead = ahead / np.maximum(np.linalg.norm(ahead, axis=1), 1e-12)[:, None]
    across = np.cross(ahead, np.eye(3)[np.argmin(np.abs(ahead), axis=1)])
    across = across / np.maximum(np.linalg.norm(across, axis=1), 1e-12)[:, None]
    angle = 2.0 * np.pi * np.arange(SIDES)[:, None] / SIDES
    ring = np.cos(angle) * across[:, None] + np.sin(angle) * np.cross(ahead, across)[:, None]
    ends = np.stack([points[:-1], points[1:]], axis=1)[:, :, None] + radius * ring[:, None]
    first = 2 * SIDES * np.arange(len(ahead))[:, None, None]
    return ends.reshape(-1, 3), (first + _quads(2, SIDES)).reshape(-1, 3)


def ball(centre: Floats, radius: float) -> tuple[Floats, Floats]:
    """Return corners and triangles of a ball."""
    down = np.pi * np.arange(TURNS + 1) / TURNS
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    flat = np.stack([np.cos(angle), np.sin(angle), np.zeros(SIDES)], axis=1)
    ring = np.sin(down)[:, None, None] * flat + np.cos(down)[:, None, None] * [0.0, 0.0, 1.0]
    return (centre + radius * ring).reshape(-1, 3), _quads(TURNS + 1, SIDES)


def _quads(rows: int, columns: int) -> Floats:
    """Return triangles between neighbouring rings of corners."""
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns), indexing="ij")
    a, b = i * columns + j, i * columns + (j + 1) % columns
    pair = np.stack([a, b, b + columns, a, b + columns, a + columns], axis=-1)
    return pair.reshape(-1, 3)


class _Asset:
    """A scene being written: the lists of the format, and the numbers that they refer to."""

    def __init__(self, motion: Scene, speed: float) -> None:
        self.motion, self.bytes = motion, bytearray()
        self.lists: dict[str, list[Any]] = {
            name: [] for name in ("nodes", "meshes", "materials", "accessors", "bufferViews")
        }
        self.kept = np.unique(motion.time, return_index=True)[1]
        time = (motion.time[self.kept] - motion.time[0]) / speed
        self.samplers: list[dict[str, Any]] = []
        self.channels: list[dict[str, Any]] = []
        turn = quaternion(TO_Y_UP @ level(motion.up))
        self.lists["nodes"].append({"name": motion.title, "rotation": _last_scalar(turn).tolist()})
        self.clock = self._accessor(time[:, None])
        self.lists["nodes"][0]["children"] = [*self._bodies(), *self._ground()]

    def _bodies(self) -> list[int]:
        """Write the bodies, and return their nodes."""
        motion, found = self.motion, []
        for b, name in enumerate(motion.bodies):
            pieces = [
                (motion.colour(part), *tube(part.points, THICK * motion.size * WIDTHS[part.kind]))
                for part in motion.parts
                if part.body == name
            ]
            pieces += [
                (motion.colour(one), *ball(one.centre, one.radius))
                for one in motion.balls
                if one.body == name
            ]
            found.append(self._node(name, pieces, (motion.R[:, b], motion.p[:, b])))
        return found

    def _ground(self) -> list[int]:
        """Write the patches of the ground, by what carries them, and return their nodes."""
        motion = self.motion
        carried: dict[int | None, list[Any]] = {}
        for patch in motion.patches:
            fan = np.arange(1, len(patch.outline) - 1)
            triangles = np.stack([np.zeros_like(fan), fan, fan + 1], axis=1)
            piece = (_hex(patch.grey), patch.outline, triangles)
            carried.setdefault(patch.carrier, []).append(piece)
        if not motion.patches:
            carried[None] = [self._plane()]
        return [
            self._node("ground", pieces, None if k is None else motion.carriers[k])
            for k, pieces in carried.items()
        ]

    def _plane(self) -> tuple[str, Floats, Floats]:
        """Return the level ground around the way."""
        way, reach = self.motion.focus[:, :2], 6.0 * self.motion.size
        low, high = way.min(axis=0) - reach, way.max(axis=0) + reach
        corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
        flat = np.array([(x, y, self.motion.ground) for x, y in corners])
        return _hex(0.9), flat, np.array([[0, 1, 2], [0, 2, 3]])

    def _node(self, name: str, pieces: list[Any], moved: tuple[Floats, Floats] | None) -> int:
        """Write a node with its mesh and its animation, and return its number."""
        node: dict[str, Any] = {"name": name}
        if pieces:
            self.lists["meshes"].append({"name": name, "primitives": [*map(self._piece, pieces)]})
            node["mesh"] = len(self.lists["meshes"]) - 1
        self.lists["nodes"].append(node)
        number = len(self.lists["nodes"]) - 1
        if moved is not None:
            R, p = (x[self.kept] for x in moved)
            for path, values in (
                ("translation", p),
                ("rotation", _last_scalar(unit_quaternions(R))),
            ):
                self.samplers.append({"input": self.clock, "output": self._accessor(values)})
                target = {"node": number, "path": path}
                self.channels.append({"sampler": len(self.samplers) - 1, "target": target})
        return number

    def _piece(self, piece: tuple[str, Floats, Floats]) -> dict[str, Any]:
        """Write a coloured surface."""
        colour, corners, triangles = piece
        materials = self.lists["materials"]
        looks = {
            "pbrMetallicRoughness": {
                "baseColorFactor": [*_linear(colour), 1.0],
                "metallicFactor": 0.0,
                "roughnessFactor": 0.8,
            },
            "doubleSided": True,
        }
        if looks not in materials:
            materials.append(looks)
        return {
            "attributes": {"POSITION": self._accessor(corners)},
            "indices": self._accessor(triangles.reshape(-1, 1), UNSIGNED),
            "material": materials.index(looks),
        }

    def _accessor(self, values: Floats, kind: int = FLOAT) -> int:
        """Write numbers, one line for each entry, and return where they are."""
        with np.errstate(over="ignore"):
            numbers = np.ascontiguousarray(values, np.float32 if kind == FLOAT else np.uint32)
        if not np.isfinite(numbers).all():
            raise DataError("the run holds numbers, or times at this speed, beyond what glTF has.")
        view = {"buffer": 0, "byteOffset": len(self.bytes), "byteLength": numbers.nbytes}
        self.bytes += numbers.tobytes()
        self.lists["bufferViews"].append(view)
        shape = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}[numbers.shape[1]]
        entry = {"componentType": kind, "count": len(numbers), "type": shape}
        bounds = {name: getattr(numbers, name)(axis=0).tolist() for name in ("min", "max")}
        place = len(self.lists["bufferViews"]) - 1
        self.lists["accessors"].append({"bufferView": place, **entry, **bounds})
        return len(self.lists["accessors"]) - 1

    def pack(self) -> bytes:
        """Return the file: a header, the lists as JSON, the numbers."""
        root = {
            "asset": {"version": "2.0", "generator": "draisine"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            **self.lists,
            "animations": [
                {"name": "motion", "samplers": self.samplers, "channels": self.channels}
            ],
            "buffers": [{"byteLength": len(self.bytes)}],
        }
        text = json.dumps(root, allow_nan=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        numbers = bytes(self.bytes) + b"\0" * (-len(self.bytes) % 4)
        whole = 12 + 8 + len(text) + 8 + len(numbers)
        return b"".join(
            [
                struct.pack("<4sII", b"glTF", 2, whole),
                struct.pack("<I4s", len(text), b"JSON"),
                text,
                struct.pack("<I4s", len(numbers), b"BIN\0"),
                numbers,
            ]
        )


def _last_scalar(q: Floats) -> Floats:
    """Return quaternions with their scalar part last."""
    return np.roll(q, -1, axis=-1)


def _hex(grey: float) -> str:
    return f"#{round(255 * grey):02x}" + f"{round(255 * grey):02x}" * 2


def _linear(colour: str) -> list[float]:
    """Return a colour as the format wants it: in linear light.

    >>> _linear("#ff0000")
    [1.0, 0.0, 0.0]
    """
    parts = [int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    return [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
