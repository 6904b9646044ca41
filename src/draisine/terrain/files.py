"""Meshes from files: STL, OBJ and PLY, in text or binary."""

from pathlib import Path

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError, TerrainError
from draisine.terrain.mesh import Ints, Mesh

PLY_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2",
    "int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8",
}  # fmt: skip


def read_mesh(path: str | Path, scale: float = 1.0) -> Mesh:
    """Return the ground in an STL, OBJ or PLY file; `scale` takes its lengths to metres."""
    file = Path(path)
    readers = {".stl": _stl, ".obj": _obj, ".ply": _ply}
    if file.suffix.lower() not in readers:
        raise DataError(f"{file.name}: not a mesh; known are {', '.join(sorted(readers))}.")
    try:
        points, triangles = readers[file.suffix.lower()](file.read_bytes())
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}.") from error
    except (ArithmeticError, LookupError, ValueError, StopIteration) as error:
        reason = str(error).strip() or "it ends too early"
        raise DataError(f"{file.name} is damaged: {reason}.") from error
    if not len(triangles):
        raise DataError(f"{file.name} holds no triangles.")
    if not np.isfinite(points).all():
        raise DataError(
            f"{file.name} is damaged: point {_first(~np.isfinite(points))} is not finite."
        )
    wrong = (triangles < 0) | (triangles >= len(points))
    if wrong.any():
        text = f"triangle {_first(wrong)} names a point that is not there; it has {len(points)}"
        raise DataError(f"{file.name} is damaged: {text}.")
    try:
        return Mesh(points * scale, triangles)
    except TerrainError as error:
        raise TerrainError(f"{file.name}: {error}") from error


def _first(wrong: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]") -> int:
    """Return which row is the first one with something wrong, counted from 1."""
    return int(np.argmax(wrong.any(axis=1))) + 1


def _stl(data: bytes) -> tuple[Floats, Ints]:
    """Return points and triangles of an STL file."""
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        kind = np.dtype([("normal", "<f4", 3), ("points", "<f4", (3, 3)), ("more", "<u2")])
        points = np.frombuffer(data, kind, count, 84)["points"].reshape(-1, 3).astype(float)
    else:
        lines = [line.split() for line in data.decode("ascii").splitlines()]
        points = np.array([line[1:4] for line in lines if line[:1] == ["vertex"]], dtype=float)
    points = points.reshape(-1, 3)
    if len(points) % 3:
        raise ValueError(f"{len(points)} corners do not make triangles")
    return points, np.arange(len(points), dtype=np.int64).reshape(-1, 3)


def _obj(data: bytes) -> tuple[Floats, Ints]:
    """Return points and triangles of an OBJ file; polygons become fans."""
    points: list[list[float]] = []
    triangles: list[list[int]] = []
    for line in data.decode("utf-8").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append([float(x) for x in words[1:4]])
        elif words[:1] == ["f"]:
            numbers = [int(word.split("/")[0]) for word in words[1:]]
            ring = [k - 1 if k > 0 else len(points) + k for k in numbers]
            triangles += _fan(ring)
    return np.array(points).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3)


def _fan(ring: list[int]) -> list[list[int]]:
    """Return a polygon as triangles."""
    return [[ring[0], ring[k], ring[k + 1]] for k in range(1, len(ring) - 1)]


def _ply(data: bytes) -> tuple[Floats, Ints]:
    """Return points and triangles of a PLY file."""
    head, _, rest = data.partition(b"end_header")
    lines = [line.split() for line in head.decode("ascii").splitlines() if line.split()]
    if not lines or lines[0] != ["ply"]:
        raise ValueError("no PLY header")
    style = next(line[1] for line in lines if line[0] == "format")
    elements: list[tuple[str, int, list[list[str]]]] = []
    for line in lines:
        if line[0] == "element":
            elements.append((line[1], int(line[2]), []))
        elif line[0] == "property":
            elements[-1][2].append(line[1:])
    body = _PlyBody(rest.partition(b"\n")[2], style)
    points: list[list[float]] = []
    triangles: list[list[int]] = []
    for name, count, properties in elements:
        if count > len(data):
            raise ValueError(f"{count} of {name!r} do not fit into {len(data)} bytes")
        for _ in range(count):
            values, rings = body.element(properties)
            if name == "vertex":
                points.append([values[axis] for axis in "xyz"])
            elif name == "face":
                for ring in rings.get("vertex_indices", rings.get("vertex_index", [])):
                    triangles += _fan(ring)
    return np.array(points).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3)


class _PlyBody:
    """The numbers of a PLY file, one after the other."""

    def __init__(self, data: bytes, style: str) -> None:
        self.data, self.at = data, 0
        self.words = iter(data.split()) if style == "ascii" else None
        self.order = ">" if style == "binary_big_endian" else "<"

    def take(self, kind: str) -> float:
        """Return the next number of a type."""
        if self.words is not None:
            return float(next(self.words))
        dtype = np.dtype(self.order + PLY_TYPES[kind])
        value = np.frombuffer(self.data, dtype, 1, self.at)[0]
        self.at += dtype.itemsize
        return float(value)

    def element(
        self, properties: list[list[str]]
    ) -> tuple[dict[str, float], dict[str, list[list[int]]]]:
        """Return the numbers of one element, and its lists, by name."""
        values: dict[str, float] = {}
        rings: dict[str, list[list[int]]] = {}
        for words in properties:
            if words[0] == "list":
                count = int(self.take(words[1]))
                ring = [int(self.take(words[2])) for _ in range(min(count, len(self.data)))]
                rings.setdefault(words[3], []).append(ring)
            else:
                values[words[1]] = self.take(words[0])
        return values, rings
