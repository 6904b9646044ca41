"""The features of a mesh, many at a time: faces, convex edges, vertices from arrays of triangles."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.terrain.feature import LEAN, OFFSET, PLACE, Feature, parallel_faces

if TYPE_CHECKING:
    from draisine.terrain.mesh import Ints, Mesh


def faces(mesh: "Mesh", ks: "Ints") -> list[Feature]:
    """Return faces by their numbers, each within the half spaces of its rim."""
    sizes = mesh.first[ks + 1] - mesh.first[ks]
    own = mesh.ordered[_ranges(mesh.first[ks], sizes)]
    of, first = np.repeat(np.arange(len(ks)), sizes), np.cumsum(sizes) - sizes
    N = _units(np.add.reduceat(mesh.normals[own], first, axis=0) / sizes[:, None])
    rim = mesh.edges_of[own].ravel()
    at = np.repeat(of, 3)
    ends = (sizes[at] == 1) | ~mesh.coplanar[rim]
    rim, at = rim[ends], at[ends]
    inside = mesh.face_of[mesh.left[rim]] == ks[at]
    b, o = mesh.half_spaces(rim, mesh.normals[own[first]][at], inside)
    borders = np.concatenate([_units(b), np.zeros_like(b), o[:, None]], axis=1)
    corner = np.unique(np.stack([np.repeat(of, 3), mesh.triangles[own].ravel()]), axis=1)
    P, each = mesh.points[corner[1]], np.searchsorted(corner[0], np.arange(len(ks)))
    low, high = np.minimum.reduceat(P, each), np.maximum.reduceat(P, each)
    d = np.bincount(corner[0], np.einsum("ij,ij->i", P, N[corner[0]])) / np.bincount(corner[0])
    numbers = np.concatenate([N, d[:, None], np.zeros((len(ks), 2))], axis=1)
    names = [f"face {k}" for k in own[first].tolist()]
    return _features("face", names, numbers, _split(borders, at, len(ks)), low, high)


def edges(mesh: "Mesh", ks: "Ints") -> list[Feature]:
    """Return convex edges by their numbers, each within its ends and its cone of normals."""
    e = mesh.convex[ks]
    A, B = mesh.points[mesh.ends[e, 0]], mesh.points[mesh.ends[e, 1]]
    u, length, N = _units(B - A), np.linalg.norm(B - A, axis=1), mesh.normals[mesh.left[e]]
    out = _units(np.cross(B - A, N))
    other = np.where((mesh.right[e] >= 0)[:, None], mesh.normals[mesh.right[e]], out)
    names = [f"edge {a}-{b}" for a, b in mesh.ends[e].tolist()]
    borders = np.zeros((len(ks), 4, 7))
    for i, (own, second) in enumerate(((N, other), (other, N))):
        t = np.cross(u, own)
        lean = np.einsum("ij,ij->i", t, second)
        for k in np.flatnonzero(np.abs(lean) < 1e-9):
            raise parallel_faces(names[k])
        borders[:, i, LEAN] = -np.sign(lean)[:, None] * t
    along = np.einsum("ij,ij->i", u, A)
    borders[:, 2, PLACE], borders[:, 2, OFFSET] = -u, -along
    borders[:, 3, PLACE], borders[:, 3, OFFSET] = u, along + length
    numbers, end = np.concatenate([A, u], axis=1), A + length[:, None] * u
    low, high = np.minimum(A, end), np.maximum(A, end)
    return _features("edge", names, numbers, list(borders), low, high)


def vertices(mesh: "Mesh", ks: "Ints") -> list[Feature]:
    """Return vertices by their numbers, each within the cone of its edges' directions; where a sheet
    ends, it has one side only.
    """
    points = mesh.corners[ks]
    order, starts = mesh.edges_at
    sizes = starts[points + 1] - starts[points]
    of = np.repeat(np.arange(len(ks)), sizes)
    e = order[_ranges(starts[points], sizes)] % len(mesh.ends)
    far, ends = mesh.ends[e].sum(axis=1) - points[of], mesh.right[e] < 0
    ways = _units(mesh.points[far] - mesh.points[points[of]])
    ways = np.concatenate([ways, -mesh.normals[mesh.left[e[ends]]]])
    of, none = np.concatenate([of, of[ends]]), np.zeros((len(ways), 3))
    Q, borders = mesh.points[points], np.concatenate([none, ways, none[:, :1]], axis=1)
    numbers = np.concatenate([Q, np.zeros_like(Q)], axis=1)
    names = [f"vertex {p}" for p in points.tolist()]
    return _features("vertex", names, numbers, _split(borders, of, len(ks)), Q, Q)


def _features(
    kind: str, names: list[str], numbers: Floats, borders: list[Floats], low: Floats, high: Floats
) -> list[Feature]:
    return [
        Feature(name, kind, *rows)
        for name, *rows in zip(names, numbers, borders, low, high, strict=True)
    ]


def _ranges(first: "Ints", sizes: "Ints") -> "Ints":
    """Return the whole numbers of ranges that begin somewhere and have sizes, one after the other."""
    return np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)


def _split(rows: Floats, of: "Ints", count: int) -> list[Floats]:
    """Return the rows of each of so many owners."""
    rows = rows[np.argsort(of, kind="stable")]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=count))]).tolist()
    return [rows[a:b] for a, b in pairwise(bounds)]


def _units(rows: Floats) -> Floats:
    return rows / np.linalg.norm(rows, axis=1)[:, None]
