"""Read terrains from mesh files and height maps.

STL, OBJ and PLY meshes (text or binary) are read here, other mesh formats by the package trimesh. Height maps
are grey-scale images, which the package Pillow reads.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError, TerrainError, check_file
from draisine.terrain.feature import Ints
from draisine.terrain.mesh import Mesh, height_field
from draisine.terrain.smooth import SmoothGround

PLY_TYPES = {
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "float": "f4",
    "double": "f8",
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "float32": "f4",
    "float64": "f8",
}
"""NumPy type codes by the name of the number type in a PLY file."""

CONVERTED_FORMATS = (".glb", ".gltf", ".off")
"""Suffixes of mesh formats that need the package trimesh."""

MESH_FORMATS = (".stl", ".obj", ".ply", *CONVERTED_FORMATS)
"""Suffixes of all mesh formats."""

WHITE_8_BIT = 255.0
WHITE_16_BIT = 65535.0
"""Grey level of white in an image with 8 bits, and with 16 bits per pixel."""

LENGTH_PREFIX = "count of "
"""Start of the name of the array field that contains the length of a list property of a PLY element."""


def read_mesh(path: str | Path, scale: float = 1.0) -> Mesh:
    """Read a mesh file (STL, OBJ or PLY) as a terrain.

    With the package trimesh (`pip install "draisine[meshes]"`), binary glTF and OFF files are read, too.

    Parameters
    ----------
    path
        Path of the mesh file.
    scale
        Length of one unit of the file in metres, for example 0.001 for a file in millimetres.

    Returns
    -------
    Mesh
        Terrain that consists of the triangles of the file.

    Raises
    ------
    DataError
        If the file cannot be read, is damaged or has no triangles.
    TerrainError
        If the triangles do not form an oriented surface, see `Mesh`.
    """
    file = Path(path)
    if file.suffix.lower() not in MESH_FORMATS:
        raise DataError(f"{file.name}: unknown mesh format. Available: {', '.join(MESH_FORMATS)}.")
    points, triangles = _read(file)
    if not len(triangles):
        raise DataError(f"{file.name} contains no triangles.")
    if not np.isfinite(points).all():
        raise DataError(
            f"{file.name} is damaged: point {_first(~np.isfinite(points))} is not finite."
        )
    wrong = (triangles < 0) | (triangles >= len(points))
    if wrong.any():
        text = f"triangle {_first(wrong)} has a point that does not exist; there are {len(points)}"
        raise DataError(f"{file.name} is damaged: {text}.")
    try:
        return Mesh(points * scale, triangles)
    except TerrainError as error:
        raise TerrainError(f"{file.name}: {error}") from error


def read_height_map(
    path: str | Path, cell: float, height: float, *, smooth: bool = False
) -> Mesh | SmoothGround:
    """Read a grey-scale image as a terrain whose height is proportional to the grey level.

    Black has the height zero. The centre of the image is at the origin; x points to the right border of the
    image and y to its upper border, as on a map with the north up. An image with 8 bits per pixel resolves
    255 steps of height, an image with 16 bits 65,535 steps.

    Parameters
    ----------
    path
        Path of the image: PNG or another format that Pillow reads.
    cell
        Distance between neighbouring pixels, m.
    height
        Height of white pixels, m.
    smooth
        Whether cubic splines interpolate the heights, see `height_field`.

    Returns
    -------
    Mesh or SmoothGround
        Terrain with the heights of the pixels, interpolated linearly (`Mesh`) or smoothly.

    Raises
    ------
    DataError
        If the file cannot be read, is damaged or in colour, or has fewer than 2 x 2 pixels.
    TerrainError
        If cell or height is not positive.
    """
    for name, size in {"cell": cell, "height": height}.items():
        if not 0.0 < size < np.inf:
            raise TerrainError(f"read_height_map: {name} = {size} m must be a positive length.")
    grey = _read_grey_levels(Path(path))
    if min(grey.shape) < 2:
        raise DataError(f"{Path(path).name}: a height map needs at least 2 x 2 pixels.")
    rows, columns = grey.shape
    x = cell * (np.arange(columns) - (columns - 1) / 2.0)
    y = cell * (np.arange(rows) - (rows - 1) / 2.0)
    # The first row of an image is its upper edge, which has the largest y.
    return height_field(x, y, height * grey[::-1].T, smooth=smooth)


def _read_grey_levels(file: Path) -> Floats:
    """Return the grey levels (rows, columns) of an image file, from 0 (black) to 1 (white)."""
    from PIL import Image

    check_file(file)
    try:
        with Image.open(file) as image:
            image.load()
    except FileNotFoundError as error:
        raise DataError(f"{file!s:.200} cannot be read: {error.strerror}.") from error
    # Pillow passes on every exception of its decoders, so that no list of exceptions is complete.
    except Exception as error:
        raise DataError(f"{file.name} is damaged or no image: {error}.") from error
    if image.mode.startswith("I"):
        levels = np.asarray(image, dtype=float)
        if levels.min() < 0 or levels.max() > WHITE_16_BIT:
            raise DataError(f"{file.name}: grey levels must be numbers of 8 or 16 bits.")
        return levels / WHITE_16_BIT
    if image.mode == "F":
        raise DataError(f"{file.name}: grey levels must be numbers of 8 or 16 bits.")
    channels = np.asarray(image.convert("RGB"), dtype=float)
    if (channels != channels[..., :1]).any():
        raise DataError(f"{file.name} is in colour; a height map is a grey-scale image.")
    return channels[..., 0] / WHITE_8_BIT


def _read(file: Path) -> tuple[Floats, Ints]:
    """Return the points (n, 3) and the triangles (m, 3, indices of points) of a mesh file of any format."""
    kind = file.suffix.lower()
    check_file(file)
    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null byte in the file name
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{file!s:.200} cannot be read: {reason}.") from error
    damaged: tuple[type[Exception], ...] = (ArithmeticError, LookupError, ValueError, StopIteration)
    if kind in CONVERTED_FORMATS:
        damaged = (Exception,)  # trimesh passes on any error of its libraries
    try:
        if kind in CONVERTED_FORMATS:
            return _by_trimesh(data, kind[1:])
        return {".stl": _stl, ".obj": _obj, ".ply": _ply}[kind](data)
    except ImportError as error:
        raise DataError(
            f'{file.name}: this format needs trimesh: pip install "draisine[meshes]".'
        ) from error
    except damaged as error:
        reason = str(error).strip() or "it ends too early"
        raise DataError(f"{file.name} is damaged: {reason}.") from error


def _first(wrong: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]") -> int:
    """Return the number of the first row in which any entry of `wrong` (n, 3) is true, counted from 1."""
    return int(np.argmax(wrong.any(axis=1))) + 1


def _stl(data: bytes) -> tuple[Floats, Ints]:
    """Return the points (n, 3) and the triangles (m, 3, indices of points) of an STL file, text or binary."""
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
    """Return the points (n, 3) and the triangles (m, 3, indices of points) of an OBJ file.

    Polygons are divided into fans of triangles.
    """
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
    """Return the triangles of a polygon as a fan: all triangles share the first corner of `ring`."""
    return [[ring[0], ring[k], ring[k + 1]] for k in range(1, len(ring) - 1)]


def _ply(data: bytes) -> tuple[Floats, Ints]:
    """Return the points (n, 3) and the triangles (m, 3, indices of points) of a PLY file, text or binary."""
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
    points = np.zeros((0, 3))
    triangles = np.zeros((0, 3), dtype=np.int64)
    for name, count, properties in elements:
        if count > len(data):
            raise ValueError(f"{count} of {name!r} do not fit into {len(data)} bytes")
        tables = body.elements(count, properties)
        if name == "vertex":
            points = np.concatenate([np.column_stack([t[a] for a in "xyz"]) for t in tables])
        elif name == "face" and tables:
            ring = next(r[-1] for r in properties if r[-1] in ("vertex_indices", "vertex_index"))
            triangles = np.concatenate([_fans(table[ring]) for table in tables])
    return points.astype(float), triangles


def _fans(rings: Floats) -> Ints:
    """Return the triangles (m, 3) of polygons with equal numbers of corners, given as an array (n, corners).

    Each polygon becomes a fan of triangles that share its first corner.
    """
    if not np.isfinite(rings).all():
        raise ValueError("a corner of a face is not a number")
    corners = rings.astype(np.int64)
    fans = [corners[:, [0, k, k + 1]] for k in range(1, corners.shape[1] - 1)]
    return np.stack(fans, axis=1).reshape(-1, 3) if fans else np.zeros((0, 3), dtype=np.int64)


class _PlyBody:
    """Sequential reader of the elements after the header of a PLY file; numbers in text become doubles."""

    def __init__(self, data: bytes, style: str) -> None:
        self.text = style == "ascii"
        self.data = np.array(data.split(), dtype=float).tobytes() if self.text else data
        self.at = 0
        self.order = ">" if style == "binary_big_endian" else "<"

    def elements(self, count: int, properties: list[list[str]]) -> list[Any]:
        """Read the next `count` elements, whose properties the header describes.

        Elements with different lengths of lists do not fit into one array. The result is therefore a list of
        structured arrays, each of consecutive elements with equal lengths of lists.
        """
        tables = []
        chunk = 64
        while count:
            kind = self._next_kind(properties)
            fitting = min(count, chunk, (len(self.data) - self.at) // kind.itemsize)
            table = np.frombuffer(self.data, kind, fitting, self.at)
            table = _first_alike(table)
            if not len(table):
                raise ValueError("it ends too early")
            tables.append(table)
            self.at += table.nbytes
            count -= len(table)
            chunk = max(64, 2 * len(table))
        return tables

    def _next_kind(self, properties: list[list[str]]) -> "np.dtype[Any]":
        """Return the structured data type of the next element; the data contain the lengths of its lists."""
        fields: list[Any] = []
        for words in properties:
            if words[0] == "list":
                fields.append((LENGTH_PREFIX + words[3], self._kind(words[1])))
                place = self.at + np.dtype(fields).itemsize - fields[-1][1].itemsize
                if place + fields[-1][1].itemsize > len(self.data):
                    raise ValueError("it ends too early")
                length = int(np.frombuffer(self.data, fields[-1][1], 1, place)[0])
                if not 0 <= length <= len(self.data):
                    raise ValueError(f"a list of {length} does not fit")
                fields.append((words[3], self._kind(words[2]), (length,)))
            else:
                fields.append((words[1], self._kind(words[0])))
        if not fields:
            raise ValueError("an element has no properties")
        return np.dtype(fields)

    def _kind(self, name: str) -> "np.dtype[Any]":
        """Return the NumPy type of the PLY number type `name`, in the byte order of the file."""
        return np.dtype("<f8" if self.text else self.order + PLY_TYPES[name])


def _first_alike(table: Any) -> Any:
    """Return the leading rows of a table whose lists are as long as the lists of the first row."""
    for name in table.dtype.names:
        if name.startswith(LENGTH_PREFIX) and (other := table[name] != table[name][:1]).any():
            table = table[: int(np.argmax(other))]
    return table


def _by_trimesh(data: bytes, kind: str) -> tuple[Floats, Ints]:
    """Read a mesh by trimesh; return the points (n, 3) and the triangles (m, 3, indices of points).

    Meshes in glTF, whose y axis points up, are rotated so that z points up.
    """
    import trimesh

    mesh: Any = trimesh.load(BytesIO(data), file_type=kind, force="mesh", process=False)
    points = np.asarray(mesh.vertices, float).reshape(-1, 3)
    if kind in ("glb", "gltf"):
        points = points[:, [0, 2, 1]] * [1.0, -1.0, 1.0]
    return points, np.asarray(mesh.faces, np.int64).reshape(-1, 3)
