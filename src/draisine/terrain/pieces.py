"""Compute the features of a mesh (faces, convex edges, vertices) in batches from its triangles and edges."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.terrain.feature import (
    BORDER_NORMAL,
    BORDER_OFFSET,
    BORDER_POINT,
    MIN_FACE_ANGLE,
    Features,
    Ints,
    block_starts,
    concatenate_ranges,
    parallel_faces,
)

if TYPE_CHECKING:
    from draisine.terrain.mesh import Mesh


def make_faces(mesh: "Mesh", ks: Ints) -> Features:
    """Return the faces of a mesh with the indices `ks` (n,) as arrays of features.

    The borders of a face are the half-spaces of its boundary edges. The plane N.x = d of a face has the mean
    normal of its triangles and the mean offset of its corners.
    """
    sizes = mesh.first[ks + 1] - mesh.first[ks]
    triangles = mesh.ordered[concatenate_ranges(mesh.first[ks], sizes)]
    triangle_owner = np.repeat(np.arange(len(ks)), sizes)
    first = np.cumsum(sizes) - sizes
    N = _units(np.add.reduceat(mesh.normals[triangles], first, axis=0) / sizes[:, None])
    rim = mesh.edges_of[triangles].ravel()
    owner = np.repeat(triangle_owner, 3)
    ends = (sizes[owner] == 1) | ~mesh.coplanar[rim]
    rim = rim[ends]
    owner = owner[ends]
    inside = mesh.face_of[mesh.left[rim]] == ks[owner]
    b, o = mesh.half_spaces(rim, mesh.normals[triangles[first]][owner], inside)
    borders = np.concatenate([_units(b), np.zeros_like(b), o[:, None]], axis=1)
    corner = np.unique(
        np.repeat(triangle_owner, 3) * len(mesh.points) + mesh.triangles[triangles].ravel()
    )
    whose, which = np.divmod(corner, len(mesh.points))
    P = mesh.points[which]
    each = np.searchsorted(whose, np.arange(len(ks)))
    low = np.minimum.reduceat(P, each)
    high = np.maximum.reduceat(P, each)
    d = np.bincount(whose, np.einsum("ij,ij->i", P, N[whose])) / np.bincount(whose)
    numbers = np.concatenate([N, d[:, None], np.zeros((len(ks), 2))], axis=1)
    return _features("face", numbers, borders, owner, low, high)


def make_edges(mesh: "Mesh", ks: Ints) -> Features:
    """Return the convex edges of a mesh with the indices `ks` (n,) as arrays of features.

    A contact is valid between the two end points, with a normal between the normals of the adjacent faces. At
    the boundary of an open mesh, the second normal points outwards in the plane of the only face.
    """
    e = mesh.convex[ks]
    A = mesh.points[mesh.ends[e, 0]]
    B = mesh.points[mesh.ends[e, 1]]
    u = _units(B - A)
    length = np.linalg.norm(B - A, axis=1)
    N = mesh.normals[mesh.left[e]]
    out = _units(cross(B - A, N))
    other = np.where((mesh.right[e] >= 0)[:, None], mesh.normals[mesh.right[e]], out)
    borders = np.zeros((len(ks), 4, 7))
    for i, (normal, second) in enumerate(((N, other), (other, N))):
        t = cross(u, normal)
        lean = np.einsum("ij,ij->i", t, second)
        for k in np.flatnonzero(np.abs(lean) < MIN_FACE_ANGLE):
            raise parallel_faces(edge_name(mesh, e[k]))
        borders[:, i, BORDER_NORMAL] = -np.sign(lean)[:, None] * t
    along = np.einsum("ij,ij->i", u, A)
    borders[:, 2, BORDER_POINT] = -u
    borders[:, 2, BORDER_OFFSET] = -along
    borders[:, 3, BORDER_POINT] = u
    borders[:, 3, BORDER_OFFSET] = along + length
    numbers = np.concatenate([A, u], axis=1)
    end = A + length[:, None] * u
    owner = np.repeat(np.arange(len(ks)), 4)
    low = np.minimum(A, end)
    high = np.maximum(A, end)
    return _features("edge", numbers, borders.reshape(-1, 7), owner, low, high)


def edge_name(mesh: "Mesh", e: int) -> str:
    """Return the name of edge e of a mesh, formed from the indices of its end points."""
    return f"edge {mesh.ends[e, 0]}-{mesh.ends[e, 1]}"


def make_vertices(mesh: "Mesh", ks: Ints) -> Features:
    """Return the vertices of a mesh with the indices `ks` (n,) as arrays of features.

    A contact is valid if its normal N satisfies N.d <= 0 for the directions d of all edges at the vertex. At
    the boundary of an open mesh, the normal must in addition point to the outer side of the surface.
    """
    points = mesh.corners[ks]
    order, begin = mesh.edges_at
    sizes = begin[points + 1] - begin[points]
    owner = np.repeat(np.arange(len(ks)), sizes)
    e = order[concatenate_ranges(begin[points], sizes)] % len(mesh.ends)
    far = mesh.ends[e].sum(axis=1) - points[owner]
    ends = mesh.right[e] < 0
    directions = _units(mesh.points[far] - mesh.points[points[owner]])
    directions = np.concatenate([directions, -mesh.normals[mesh.left[e[ends]]]])
    owner = np.concatenate([owner, owner[ends]])
    zeros = np.zeros((len(directions), 3))
    Q = mesh.points[points]
    borders = np.concatenate([zeros, directions, zeros[:, :1]], axis=1)
    numbers = np.concatenate([Q, np.zeros_like(Q)], axis=1)
    return _features("vertex", numbers, borders, owner, Q, Q)


def _features(
    kind: str, numbers: Floats, borders: Floats, of: Ints, low: Floats, high: Floats
) -> Features:
    """Return features of one kind as arrays.

    `of` (borders,) is the index of the feature to which each row of `borders` (borders, 7) belongs. `low` and
    `high` (features, 3) are the corners of the bounding boxes in m.
    """
    first = block_starts(np.bincount(of, minlength=len(numbers)))
    borders = borders[np.argsort(of, kind="stable")]
    same = np.zeros(len(numbers), np.int64)
    no_cells = np.zeros((len(numbers), 0))
    return Features(((kind, None),), same, numbers, borders, first, low, high, no_cells)


def cross(a: Floats, b: Floats) -> Floats:
    """Return the cross products of the rows of two arrays (n, 3), faster than `numpy.cross`.

    >>> cross(np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]])).tolist()
    [[0.0, 0.0, 1.0]]
    """
    x, y, z = a.T
    u, v, w = b.T
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=1)


def _units(rows: Floats) -> Floats:
    """Return unit vectors: the rows (n, 3) divided by their Euclidean lengths."""
    return rows / np.linalg.norm(rows, axis=1)[:, None]
