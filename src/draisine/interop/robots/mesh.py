"""Vertices of mesh files in the formats STL, OBJ and COLLADA (DAE), for the size of wheels.

Often the mesh is the only source for the radius of a wheel. The readers ignore connectivity, normals and
materials, which do not affect the extent of a shape. No mesh library is used, because such libraries need
further packages for COLLADA.
"""

from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring

import numpy as np

from draisine.algebra.lie import rot_about
from draisine.algebra.scalar import Floats
from draisine.errors import DataError

STL_HEADER = 80  # bytes before the number of triangles of a binary STL file
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
"""NumPy data type of one triangle record in a binary STL file."""

UP_AXES = {
    "X_UP": np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "Y_UP": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
}
"""Rotation matrices (3, 3) from COLLADA's axes to axes with z up, by the text of <up_axis>."""


def read_vertices(file: Path) -> Floats:
    """Return the vertices of a mesh.

    Parameters
    ----------
    file
        File with the suffix .stl, .obj or .dae.

    Returns
    -------
    array
        (vertices, 3) in the units of the file; m for COLLADA.

    Raises
    ------
    DataError
        If the file cannot be read, has another format, or has no vertices.
    """
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise DataError(f"{file}: meshes of this format are not read; use .stl, .obj or .dae.")
    try:
        vertices = reader(file.read_bytes())
    except (OSError, ValueError, ParseError) as error:
        raise DataError(f"{file}: cannot be read as a mesh: {error}.") from error
    if not len(vertices) or not np.isfinite(vertices).all():
        raise DataError(f"{file}: the mesh has no vertices, or vertices that are not finite.")
    return vertices


def _read_stl(data: bytes) -> Floats:
    """Return the vertices (n, 3) of a binary or ASCII STL file."""
    if len(data) >= STL_HEADER + 4:
        count = int.from_bytes(data[STL_HEADER : STL_HEADER + 4], "little")
        # Some binary files begin with "solid" like ASCII files, so the file length identifies the format.
        if len(data) == STL_HEADER + 4 + count * STL_TRIANGLE.itemsize:
            triangles = np.frombuffer(data, STL_TRIANGLE, count, STL_HEADER + 4)
            return triangles["corners"].reshape(-1, 3).astype(float)
    return _rows(data, b"vertex")


def _read_obj(data: bytes) -> Floats:
    """Return the vertices (n, 3) of a Wavefront OBJ file."""
    return _rows(data, b"v")


def _rows(data: bytes, keyword: bytes) -> Floats:
    """Return the three numbers after the keyword of each line that begins with the keyword, (lines, 3)."""
    words = (line.split() for line in data.splitlines())
    rows = [[float(word) for word in row[1:4]] for row in words if row[:1] == [keyword]]
    return np.array(rows, float).reshape(-1, 3)


def _read_dae(data: bytes) -> Floats:
    """Return the vertices (n, 3) of a COLLADA scene, in m with z up."""
    root = fromstring(data)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # without the namespace
    positions = _dae_positions(root)
    scenes = root.findall("library_visual_scenes/visual_scene")
    parts: list[Floats] = []
    stack = [(node, np.eye(4)) for scene in scenes for node in scene.findall("node")]
    while stack:
        node, outer = stack.pop()
        pose = outer @ _dae_transform(node)
        for instance in node.findall("instance_geometry"):
            vertices = positions.get(instance.get("url", "").lstrip("#"), np.zeros((0, 3)))
            parts.append(vertices @ pose[:3, :3].T + pose[:3, 3])
        stack += [(child, pose) for child in node.findall("node")]
    vertices = np.concatenate(parts or list(positions.values()) or [np.zeros((0, 3))])
    unit = root.find("asset/unit")
    metre = 1.0 if unit is None else float(unit.get("meter", "1"))
    up = root.findtext("asset/up_axis", "Y_UP").strip()
    return metre * vertices @ UP_AXES.get(up, np.eye(3)).T


def _dae_positions(root: Element) -> dict[str, Floats]:
    """Return the vertex positions (n, 3) of each geometry of a COLLADA file, by the id of the geometry."""
    positions: dict[str, Floats] = {}
    for geometry in root.findall("library_geometries/geometry"):
        sources = {source.get("id", ""): source for source in geometry.findall("mesh/source")}
        for entry in geometry.findall("mesh/vertices/input"):
            source = sources.get(entry.get("source", "").lstrip("#"))
            if entry.get("semantic") == "POSITION" and source is not None:
                numbers = np.array(source.findtext("float_array", "").split(), float)
                positions[geometry.get("id", "")] = numbers.reshape(-1, 3)
    return positions


def _dae_transform(node: Element) -> Floats:
    """Return the homogeneous transform (4, 4) of a COLLADA node: the product of its matrix elements."""
    transform = np.eye(4)
    for element in node:
        if element.tag not in ("matrix", "translate", "scale", "rotate"):
            continue
        values = np.array((element.text or "").split(), float)
        factor = np.eye(4)
        if element.tag == "matrix":
            factor = values.reshape(4, 4)
        elif element.tag == "translate":
            factor[:3, 3] = values
        elif element.tag == "scale":
            factor[:3, :3] = np.diag(values)
        else:
            axis = values[:3] / np.linalg.norm(values[:3])
            factor[:3, :3] = rot_about(axis, float(np.deg2rad(values[3])))
        transform = transform @ factor
    return transform


READERS: dict[str, Callable[[bytes], Floats]] = {
    ".stl": _read_stl,
    ".obj": _read_obj,
    ".dae": _read_dae,
}
"""Functions that read mesh files, by file suffix."""
