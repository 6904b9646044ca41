"""Export of a motion as a glTF scene in one file (.glb) for Blender, game engines and web viewers.

Every body is a node of the scene with animated translation and rotation. The outlines of the vehicle are
tubes, the mass centres are balls. Moving ground is animated like a body. A root node rotates the world axes,
because the y axis of glTF points up. Format: Khronos Group, glTF 2.0, ISO/IEC 12113:2022.
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
from draisine.view.scene.scene import Scene, build_scene, rotation_to_vertical
from draisine.view.style import LINE_WIDTHS

if TYPE_CHECKING:
    from xarray import Dataset

GLTF_FLOAT = 5126
"""Code of the component type "32-bit float" in glTF."""

GLTF_UNSIGNED = 5125
"""Code of the component type "32-bit unsigned integer" in glTF."""

TUBE_CORNERS = 8
"""Number of corners in the cross section of a tube or a ball. More corners look rounder, but the number of
triangles grows with them.
"""

BALL_BANDS = 6
"""Number of bands of triangles between the poles of a ball."""

TUBE_RADIUS = 0.0035
"""Radius of a tube, as a fraction of the size of the vehicle, per point of the line width in figures."""

TO_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Rotation matrix from axes with z up to axes with y up."""


def write_gltf(data: "Dataset", speed: float = 1.0, terrain: Terrain | None = None) -> bytes:
    """Convert a stored run to the bytes of a .glb file.

    The animation is `speed` times as fast as real time. `terrain` is the ground if the dataset has none.
    """
    motion = build_scene(data, even_times, terrain)
    return _Asset(motion, speed).pack()


def tube_mesh(points: Floats, radius: float) -> tuple[Floats, Floats]:
    """Return the surface of tubes with the given radius around the segments of a polyline (points, 3).

    The result is the corners (n, 3), in the unit of the points, and the triangles (m, 3) as indices of
    corners.

    >>> corners, triangles = tube_mesh(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0]]), 0.1)
    >>> corners.shape, triangles.shape
    ((32, 3), (32, 3))
    """
    direction = np.diff(points, axis=0)
    direction = direction / np.maximum(np.linalg.norm(direction, axis=1), 1e-12)[:, None]
    across = np.cross(direction, np.eye(3)[np.argmin(np.abs(direction), axis=1)])
    across = across / np.maximum(np.linalg.norm(across, axis=1), 1e-12)[:, None]
    angle = 2.0 * np.pi * np.arange(TUBE_CORNERS)[:, None] / TUBE_CORNERS
    ring = np.cos(angle) * across[:, None] + np.sin(angle) * np.cross(direction, across)[:, None]
    ends = np.stack([points[:-1], points[1:]], axis=1)[:, :, None] + radius * ring[:, None]
    first = 2 * TUBE_CORNERS * np.arange(len(direction))[:, None, None]
    return ends.reshape(-1, 3), (first + _quads(2, TUBE_CORNERS)).reshape(-1, 3)


def ball_mesh(centre: Floats, radius: float) -> tuple[Floats, Floats]:
    """Return the surface of a ball: corners (n, 3), and triangles (m, 3) as indices of corners."""
    down = np.pi * np.arange(BALL_BANDS + 1) / BALL_BANDS
    angle = 2.0 * np.pi * np.arange(TUBE_CORNERS) / TUBE_CORNERS
    flat = np.stack([np.cos(angle), np.sin(angle), np.zeros(TUBE_CORNERS)], axis=1)
    ring = np.sin(down)[:, None, None] * flat + np.cos(down)[:, None, None] * [0.0, 0.0, 1.0]
    return (centre + radius * ring).reshape(-1, 3), _quads(BALL_BANDS + 1, TUBE_CORNERS)


def _quads(rows: int, columns: int) -> Floats:
    """Return the triangles (m, 3), as indices of corners, between consecutive closed rings of a mesh.

    The mesh has `rows` rings with `columns` corners each, numbered ring by ring.
    """
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns), indexing="ij")
    a = i * columns + j
    b = i * columns + (j + 1) % columns
    pair = np.stack([a, b, b + columns, a, b + columns, a + columns], axis=-1)
    return pair.reshape(-1, 3)


class _Asset:
    """A glTF asset during its construction: the JSON lists of the format, and the binary buffer."""

    def __init__(self, motion: Scene, speed: float) -> None:
        """Collect nodes, meshes and animations of a motion, played `speed` times as fast as real time."""
        self.motion = motion
        self.bytes = bytearray()
        self.lists: dict[str, list[Any]] = {
            name: [] for name in ("nodes", "meshes", "materials", "accessors", "bufferViews")
        }
        # Times of keyframes must increase strictly, but a run has two samples at the time of an event.
        self.kept = np.unique(motion.time, return_index=True)[1]
        time = (motion.time[self.kept] - motion.time[0]) / speed
        self.samplers: list[dict[str, Any]] = []
        self.channels: list[dict[str, Any]] = []
        root_rotation = quaternion(TO_Y_UP @ rotation_to_vertical(motion.up))
        self.lists["nodes"].append(
            {"name": motion.title, "rotation": _last_scalar(root_rotation).tolist()}
        )
        self.clock = self._accessor(time[:, None])
        self.lists["nodes"][0]["children"] = [*self._bodies(), *self._ground()]

    def _bodies(self) -> list[int]:
        """Add one animated node per body; return the indices of the nodes."""
        motion = self.motion
        nodes = []
        for b, name in enumerate(motion.bodies):
            pieces = [
                (
                    motion.colour(outline),
                    *tube_mesh(
                        outline.points, TUBE_RADIUS * motion.size * LINE_WIDTHS[outline.kind]
                    ),
                )
                for outline in motion.parts
                if outline.body == name
            ]
            pieces += [
                (motion.colour(mass_ball), *ball_mesh(mass_ball.centre, mass_ball.radius))
                for mass_ball in motion.balls
                if mass_ball.body == name
            ]
            nodes.append(self._node(name, pieces, (motion.R[:, b], motion.p[:, b])))
        return nodes

    def _ground(self) -> list[int]:
        """Add one node for all fixed ground patches and one per moving ground; return their indices."""
        motion = self.motion
        by_carrier: dict[int | None, list[Any]] = {}
        for patch in motion.patches:
            fan = np.arange(1, len(patch.outline) - 1)
            triangles = np.stack([np.zeros_like(fan), fan, fan + 1], axis=1)
            piece = (_hex(patch.grey), patch.outline, triangles)
            by_carrier.setdefault(patch.carrier, []).append(piece)
        if not motion.patches:
            by_carrier[None] = [self._plane()]
        return [
            self._node("ground", pieces, None if k is None else motion.carriers[k])
            for k, pieces in by_carrier.items()
        ]

    def _plane(self) -> tuple[str, Floats, Floats]:
        """Return a level rectangle around the path of the vehicle as (colour, corners in m, triangles)."""
        path = self.motion.focus[:, :2]
        reach = 6.0 * self.motion.size
        low = path.min(axis=0) - reach
        high = path.max(axis=0) + reach
        corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
        flat = np.array([(x, y, self.motion.ground) for x, y in corners])
        return _hex(0.9), flat, np.array([[0, 1, 2], [0, 2, 3]])

    def _node(self, name: str, pieces: list[Any], poses: tuple[Floats, Floats] | None) -> int:
        """Add a node; return its index.

        `pieces` are its surfaces as (colour, corners, triangles). `poses` are its rotations (times, 3, 3) and
        positions (times, 3) in m for the animation; None for a fixed node.
        """
        node: dict[str, Any] = {"name": name}
        if pieces:
            self.lists["meshes"].append({"name": name, "primitives": [*map(self._piece, pieces)]})
            node["mesh"] = len(self.lists["meshes"]) - 1
        self.lists["nodes"].append(node)
        number = len(self.lists["nodes"]) - 1
        if poses is not None:
            R, p = (x[self.kept] for x in poses)
            for path, values in (
                ("translation", p),
                ("rotation", _last_scalar(unit_quaternions(R))),
            ):
                self.samplers.append({"input": self.clock, "output": self._accessor(values)})
                target = {"node": number, "path": path}
                self.channels.append({"sampler": len(self.samplers) - 1, "target": target})
        return number

    def _piece(self, piece: tuple[str, Floats, Floats]) -> dict[str, Any]:
        """Add a surface, given as (colour, corners, triangles), and return its glTF primitive."""
        colour, corners, triangles = piece
        materials = self.lists["materials"]
        material = {
            "pbrMetallicRoughness": {
                "baseColorFactor": [*_linear(colour), 1.0],
                "metallicFactor": 0.0,
                "roughnessFactor": 0.8,
            },
            "doubleSided": True,
        }
        if material not in materials:
            materials.append(material)
        return {
            "attributes": {"POSITION": self._accessor(corners)},
            "indices": self._accessor(triangles.reshape(-1, 1), GLTF_UNSIGNED),
            "material": materials.index(material),
        }

    def _accessor(self, values: Floats, kind: int = GLTF_FLOAT) -> int:
        """Append an array (n, components) to the binary buffer; return the index of its accessor.

        `kind` is the component type of glTF in which the numbers are stored.
        """
        with np.errstate(over="ignore"):
            numbers = np.ascontiguousarray(values, np.float32 if kind == GLTF_FLOAT else np.uint32)
        if not np.isfinite(numbers).all():
            raise DataError(
                "The run has values, or times at this speed, beyond the range of 32-bit floats that "
                "glTF uses. Choose a moderate speed."
            )
        view = {"buffer": 0, "byteOffset": len(self.bytes), "byteLength": numbers.nbytes}
        self.bytes += numbers.tobytes()
        self.lists["bufferViews"].append(view)
        shape = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}[numbers.shape[1]]
        entry = {"componentType": kind, "count": len(numbers), "type": shape}
        bounds = {name: getattr(numbers, name)(axis=0).tolist() for name in ("min", "max")}
        view_number = len(self.lists["bufferViews"]) - 1
        self.lists["accessors"].append({"bufferView": view_number, **entry, **bounds})
        return len(self.lists["accessors"]) - 1

    def pack(self) -> bytes:
        """Return the bytes of the file: header, JSON chunk and binary chunk."""
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
        # glTF aligns chunks to four bytes: JSON is padded with spaces, the buffer with zeros.
        text += b" " * (-len(text) % 4)
        numbers = bytes(self.bytes) + b"\0" * (-len(self.bytes) % 4)
        length = 12 + 8 + len(text) + 8 + len(numbers)
        return b"".join(
            [
                struct.pack("<4sII", b"glTF", 2, length),
                struct.pack("<I4s", len(text), b"JSON"),
                text,
                struct.pack("<I4s", len(numbers), b"BIN\0"),
                numbers,
            ]
        )


def _last_scalar(q: Floats) -> Floats:
    """Move the scalar part of quaternions (..., 4) from the first to the last place, as glTF requires."""
    return np.roll(q, -1, axis=-1)


def _hex(grey: float) -> str:
    """Convert a grey level from 0 (black) to 1 (white) to a hexadecimal colour #RRGGBB."""
    return f"#{round(255 * grey):02x}" + f"{round(255 * grey):02x}" * 2


def _linear(colour: str) -> list[float]:
    """Convert a hexadecimal sRGB colour to linear RGB components (0 to 1), as glTF requires.

    >>> _linear("#ff0000")
    [1.0, 0.0, 0.0]
    """
    channels = [int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    return [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in channels]
