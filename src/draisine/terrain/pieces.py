"""The features of a mesh, many at a time: faces, convex edges, vertices from arrays of triangles."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.terrain.feature import (
    LEAN,
    OFFSET,
    PLACE,
    Features,
    Ints,
    parallel_faces,
    ranges,
    starts,
)

if TYPE_CHECKING:
    from draisine.terrain.mesh import Mesh


def faces(mesh: "Mesh", ks: Ints) -> Features:
    """Return faces by their numbers, each within the half spaces of its rim."""
    sizes = mesh.first[ks + 1] - mesh.first[ks]
    own = mesh.ordered[ranges(mesh.first[ks], sizes)]
    of, first = np.repeat(np.arange(len(ks)), sizes), np.cumsum(sizes) - sizes
    N = _units(np.add.reduceat(mesh.normals[own], first, axis=0) / sizes[:, None])
    rim, at = mesh.edges_of[own].ravel(), np.repeat(of, 3)
    ends = (sizes[at] == 1) | ~mesh.coplanar[rim]
    rim, at = rim[ends], at[ends]
    inside = mesh.face_of[mesh.left[rim]] == ks[at]
    b, o = mesh.half_spaces(rim, mesh.normals[own[first]][at], inside)
    borders = np.concatenate([_units(b), np.zeros_like(b), o[:, None]], axis=1)
    corner = np.unique(np.repeat(of, 3) * len(mesh.points) + mesh.triangles[own].ravel())
    whose, which = np.divmod(corner, len(mesh.points))
    P, each = mesh.points[which], np.searchsorted(whose, np.arange(len(ks)))
    low, high = np.minimum.reduceat(P, each), np.maximum.reduceat(P, each)
    d = np.bincount(whose, np.einsum("ij,ij->i", P, N[whose])) / np.bincount(whose)
    numbers = np.concatenate([N, d[:, None], np.zeros((len(ks), 2))], axis=1)
    return _features("face", numbers, borders, at, low, high)


def edges(mesh: "Mesh", ks: Ints) -> Features:
    """Return convex edges by their numbers, each within its ends and its cone of normals."""
    e = mesh.convex[ks]
    A, B = mesh.points[mesh.ends[e, 0]], mesh.points[mesh.ends[e, 1]]
    u, length, N = _units(B - A), np.linalg.norm(B - A, axis=1), mesh.normals[mesh.left[e]]
    out = _units(cross(B - A, N))
    other = np.where((mesh.right[e] >= 0)[:, None], mesh.normals[mesh.right[e]], out)
    borders = np.zeros((len(ks), 4, 7))
    for i, (own, second) in enumerate(((N, other), (other, N))):
        t = cross(u, own)
        lean = np.einsum("ij,ij->i", t, second)
        for k in np.flatnonzero(np.abs(lean) < 1e-9):
            raise parallel_faces(edge_name(mesh, e[k]))
        borders[:, i, LEAN] = -np.sign(lean)[:, None] * t
    along = np.einsum("ij,ij->i", u, A)
    borders[:, 2, PLACE], borders[:, 2, OFFSET] = -u, -along
    borders[:, 3, PLACE], borders[:, 3, OFFSET] = u, along + length
    numbers, end = np.concatenate([A, u], axis=1), A + length[:, None] * u
    of, low, high = np.repeat(np.arange(len(ks)), 4), np.minimum(A, end), np.maximum(A, end)
    return _features("edge", numbers, borders.reshape(-1, 7), of, low, high)


def edge_name(mesh: "Mesh", e: int) -> str:
    """Return an edge by its ends."""
    return f"edge {mesh.ends[e, 0]}-{mesh.ends[e, 1]}"


def vertices(mesh: "Mesh", ks: Ints) -> Features:
    """Return vertices by their numbers, each within the cone of its edges' directions; where a sheet
    ends, it has one side only.
    """
    points = mesh.corners[ks]
    order, begin = mesh.edges_at
    sizes = begin[points + 1] - begin[points]
    of = np.repeat(np.arange(len(ks)), sizes)
    e = order[ranges(begin[points], sizes)] % len(mesh.ends)
    far, ends = mesh.ends[e].sum(axis=1) - points[of], mesh.right[e] < 0
    ways = _units(mesh.points[far] - mesh.points[points[of]])
    ways = np.concatenate([ways, -mesh.normals[mesh.left[e[ends]]]])
    of, none = np.concatenate([of, of[ends]]), np.zeros((len(ways), 3))
    Q, borders = mesh.points[points], np.concatenate([none, ways, none[:, :1]], axis=1)
    numbers = np.concatenate([Q, np.zeros_like(Q)], axis=1)
    return _features("vertex", numbers, borders, of, Q, Q)


def _features(
    kind: str, numbers: Floats, borders: Floats, of: Ints, low: Floats, high: Floats
) -> Features:
    """Return features of a kind, of which each has some of the borders."""
    first = starts(np.bincount(of, minlength=len(numbers)))
    borders = borders[np.argsort(of, kind="stable")]
    same = np.zeros(len(numbers), np.int64)
    return Features(((kind, None),), same, numbers, borders, first, low, high)


def cross(a: Floats, b: Floats) -> Floats:
    """Return cross products row by row, faster than NumPy's, which asks for more than rows of three.

    >>> cross(np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]])).tolist()
    [[0.0, 0.0, 1.0]]
    """
    (x, y, z), (u, v, w) = a.T, b.T
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=1)


def _units(rows: Floats) -> Floats:
    return rows / np.linalg.norm(rows, axis=1)[:, None]
