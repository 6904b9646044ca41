"""Grounds from triangles: oriented meshes, open or closed, and height fields.

Coplanar neighbours are one face where together they are convex; an edge counts only if it is convex
or the sheet ends there. A grid over x and y is the broad phase: what is asked of a mesh of a million
triangles costs little more than of a hundred.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.algebra.scalar import Floats
from draisine.errors import TerrainError
from draisine.terrain.feature import Feature, Features, Ints, ObstacleMotion, join
from draisine.terrain.pieces import cross, edge_name, edges, faces, vertices
from draisine.terrain.terrain import Terrain, distances

FLAT = 1e-10
"""How far from its plane a face may be, in m."""

FEW = 4096
"""So many triangles are looked at one by one, without a grid."""


class Mesh(Terrain):
    """A ground of triangles, counterclockwise seen from outside.

    Features are numbered: faces (patches of coplanar triangles), then convex edges, then the
    vertices at the ends of those.
    """

    def __init__(self, points: ArrayLike, triangles: ArrayLike, flat: float = 1e-7) -> None:
        self.points, self.triangles = _clean(points, triangles)
        P = self.points[self.triangles]
        normals = np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0])
        size = np.linalg.norm(normals, axis=1)
        if (size <= 1e-14 * np.ptp(self.points, axis=0).max() ** 2).any():
            k = int(np.argmin(size))
            raise TerrainError(f"triangle {k} has no area; leave it out.")
        self.normals = normals / size[:, None]
        self._join(flat)

    # --- which triangles belong together, and where they end

    def _join(self, flat: float) -> None:
        """Find edges, their kind, and the patches of coplanar triangles."""
        T, m = self.triangles, len(self.triangles)
        ends = T[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        key = ends.min(axis=1) * len(self.points) + ends.max(axis=1)
        _, group, count = np.unique(key, return_inverse=True, return_counts=True)
        if count.max() > 2:
            k = int(np.flatnonzero(count[group] > 2)[0])
            raise TerrainError(
                f"the edge between points {ends[k, 0]} and {ends[k, 1]} belongs to more than two "
                "triangles; a ground has one or two sides there."
            )
        order = np.argsort(group, kind="stable")
        first = np.concatenate([[0], np.cumsum(count)[:-1]])
        one = order[first]
        two = np.where(count == 2, order[np.minimum(first + 1, len(order) - 1)], -1)
        self.ends = ends[one]
        turned = (two >= 0) & (ends[np.maximum(two, 0), 0] == self.ends[:, 0])
        if turned.any():
            a, b = self.ends[int(np.flatnonzero(turned)[0])]
            raise TerrainError(
                f"the triangles at the edge between points {a} and {b} are turned against each "
                "other; orient the mesh."
            )
        self.left, self.right = one // 3, np.where(two >= 0, two // 3, -1)
        apex = T[np.maximum(two, 0) // 3, (np.maximum(two, 0) + 2) % 3]
        along = self.points[apex] - self.points[self.ends[:, 0]]
        N1, N2 = self.normals[self.left], self.normals[np.maximum(self.right, 0)]
        bend = np.linalg.norm(np.cross(N1, N2), axis=1)
        shared = self.right >= 0
        coplanar = shared & (bend <= flat) & (np.einsum("ij,ij->i", N1, N2) > 0)
        convex = shared & ~coplanar & (np.einsum("ij,ij->i", N1, along) < 0)
        self.convex = np.flatnonzero(convex | ~shared)
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        pairs = coo_array(
            (np.ones(coplanar.sum()), (self.left[coplanar], self.right[coplanar])), shape=(m, m)
        )
        count_patches, patch = connected_components(pairs, directed=False)
        self._patch(count_patches, patch.astype(np.int64), coplanar)

    def _patch(self, count: int, patch: Ints, coplanar: NDArray[np.bool_]) -> None:
        """Make one face of each patch that is flat and convex, and one of each triangle elsewhere."""
        self.coplanar = coplanar
        sizes = np.bincount(patch, minlength=count)
        order = np.argsort(patch, kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        label = patch.copy()
        for k in np.flatnonzero(sizes > 1):
            own = order[starts[k] : starts[k + 1]]
            if not (self._is_flat(own) and self._is_convex(own, self._rim(own))):
                label[own] = count + own
        _, self.face_of = np.unique(label, return_inverse=True)
        self.ordered = np.argsort(self.face_of, kind="stable")
        self.first = np.concatenate([[0], np.cumsum(np.bincount(self.face_of))])

    @property
    def faces(self) -> int:
        """How many faces there are."""
        return len(self.first) - 1

    def _rim(self, own: Ints) -> Ints:
        """Return the edges at which a face of these triangles ends."""
        rim = self.edges_of[own].ravel()
        return rim[~self.coplanar[rim]] if len(own) > 1 else rim

    @cached_property
    def edges_of(self) -> Ints:
        """The three edges of each triangle."""
        edges = np.arange(len(self.ends))
        shared = self.right >= 0
        triangles = np.concatenate([self.left, self.right[shared]])
        which = np.concatenate([edges, edges[shared]])
        return which[np.argsort(triangles, kind="stable")].reshape(-1, 3)

    def half_spaces(self, rim: Ints, N: Floats, inside: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return the outward directions b and offsets o of the rim of faces with normals N: b.x <= o
        inside, which is where the left triangle of some edges is.
        """
        A, B = self.points[self.ends[rim, 0]], self.points[self.ends[rim, 1]]
        b = cross(B - A, N) * np.where(inside, 1.0, -1.0)[:, None]
        b = b / np.linalg.norm(b, axis=1)[:, None]
        return b, np.einsum("ij,ij->i", b, A)

    def _is_flat(self, own: Ints) -> bool:
        """Return whether a patch lies in the plane of its first triangle: small bends may add up."""
        corners = self.points[self.triangles[own]].reshape(-1, 3)
        off = np.abs((corners - corners[0]) @ self.normals[own[0]]).max()
        return bool(off <= max(FLAT, 1e-12 * float(np.abs(corners).max())))

    def _is_convex(self, own: Ints, rim: Ints) -> bool:
        """Return whether a patch lies on the inner side of all its rim."""
        b, o = self.half_spaces(rim, self.normals[own[0]], np.isin(self.left[rim], own))
        corners = self.points[np.unique(self.ends[rim])]
        scale = max(float(np.ptp(corners, axis=0).max()), 1e-300)
        if len(corners) * len(b) > 10**7:
            return False
        return bool((corners @ b.T - o).max() <= 1e-9 * scale)

    # --- features

    def __len__(self) -> int:
        return self.faces + len(self.convex) + len(self.corners)

    @cached_property
    def corners(self) -> Ints:
        """The points at the ends of convex edges."""
        return np.unique(self.ends[self.convex])

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of features that there are."""
        return frozenset({"face", "edge", "vertex"} if len(self.convex) else {"face"})

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """None: a mesh stands still."""
        return ()

    def __getitem__(self, k: int) -> Feature:
        if not 0 <= k < len(self):
            raise IndexError(f"feature {k} of {len(self)}")
        return self.pick([k]).one(0, self.name(k))

    def name(self, k: int) -> str:
        """Return the name of a feature: by its first triangle, its ends, its point."""
        if k < self.faces:
            return f"face {self.ordered[self.first[k]]}"
        k -= self.faces
        if k < len(self.convex):
            return edge_name(self, self.convex[k])
        return f"vertex {self.corners[k - len(self.convex)]}"

    def pick(self, ks: Sequence[int]) -> Features:
        """Return features by their numbers, which ascend; those of a kind are made at once."""
        wanted, edge = np.asarray(ks, np.int64), self.faces + len(self.convex)
        a, b = np.searchsorted(wanted, [self.faces, edge])
        parts = zip(
            (faces, edges, vertices),
            (wanted[:a], wanted[a:b] - self.faces, wanted[b:] - edge),
            strict=True,
        )
        return join([make(self, some) for make, some in parts if len(some)])

    @cached_property
    def edges_at(self) -> tuple[Ints, Ints]:
        """The edges at each point, one point after the other (counted on by their number for the
        second end), and where each point's begin.
        """
        ends = self.ends.T.ravel()
        order = np.argsort(ends, kind="stable")
        return order, np.searchsorted(ends[order], np.arange(len(self.points) + 1))

    # --- the broad phase

    @cached_property
    def _grid(self) -> tuple[Floats, float, tuple[int, int], Ints, Ints]:
        """Cells over x and y: origin, size, shape, and the triangles of each cell one after the
        other.
        """
        P = self.points[self.triangles][:, :, :2]
        low, high = P.min(axis=1), P.max(axis=1)
        origin, extent = low.min(axis=0), np.ptp(self.points[:, :2], axis=0)
        wide = float(np.median((high - low).max(axis=1)))
        size = max(wide, float(extent.max()) / 2048, 1e-9)
        shape = np.maximum(np.ceil(extent / size).astype(np.int64) + 1, 1)
        a = ((low - origin) / size).astype(np.int64)
        b = ((high - origin) / size).astype(np.int64)
        spans = b - a + 1
        total = spans.prod(axis=1)
        which = np.repeat(np.arange(len(P)), total)
        inner = np.arange(len(which)) - np.repeat(np.cumsum(total) - total, total)
        ix = a[which, 0] + inner % spans[which, 0]
        iy = a[which, 1] + inner // spans[which, 0]
        cell = ix * shape[1] + iy
        order = np.argsort(cell, kind="stable")
        starts = np.searchsorted(cell[order], np.arange(shape.prod() + 1))
        return origin, size, (int(shape[0]), int(shape[1])), starts, which[order]

    @cached_property
    def _top(self) -> float:
        """The height of the highest point."""
        return float(self.points[:, 2].max())

    @cached_property
    def _boxes(self) -> tuple[Floats, Floats]:
        P = self.points[self.triangles]
        return P.min(axis=1), P.max(axis=1)

    @cached_property
    def _feature_of_edge(self) -> Ints:
        """The number of each edge among the features, or -1."""
        out = np.full(len(self.ends), -1, dtype=np.int64)
        out[self.convex] = self.faces + np.arange(len(self.convex))
        return out

    @cached_property
    def _feature_of_point(self) -> Ints:
        """The number of each point among the features, or -1."""
        out = np.full(len(self.points), -1, dtype=np.int64)
        out[self.corners] = self.faces + len(self.convex) + np.arange(len(self.corners))
        return out

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the features of the triangles whose boxes come within `reach` of a point, or would
        if it moved by up to a margin along each axis.
        """
        low, high = self._boxes
        if len(self.triangles) <= FEW:
            found = np.flatnonzero(distances(low, high, centre, margin) <= reach)
        else:
            found = self._around(centre, self._half_side(centre, reach, margin + np.zeros(3)))
            found = found[distances(low[found], high[found], centre, margin) <= reach]
        edges = self._feature_of_edge[self.edges_of[found].ravel()]
        vertices = self._feature_of_point[self.triangles[found].ravel()]
        every = np.unique(np.concatenate([self.face_of[found], edges, vertices]))
        return every[every >= 0].tolist()

    def _around(self, centre: Floats, side: Floats) -> Ints:
        """Return the triangles in the cells around a point."""
        *_, (_, wide), starts, content = self._grid
        (a, low_y), (b, high_y) = self._cell(centre[:2] - side), self._cell(centre[:2] + side)
        rows = range(a * wide, (b + 1) * wide, wide)
        spans = [content[starts[r + low_y] : starts[r + high_y + 1]] for r in rows]
        return np.unique(np.concatenate(spans))

    def _cell(self, place: Floats) -> tuple[int, int]:
        """Return the cell of the grid at a place, or the one next to it."""
        origin, size, shape, *_ = self._grid
        x, y = ((place - origin) / size).tolist()
        return int(min(max(0.0, x), shape[0] - 1)), int(min(max(0.0, y), shape[1] - 1))

    def _half_side(self, centre: Floats, reach: float, margin: Floats) -> Floats:
        """Return how far from a point over the ground, along x and y, what is within its reach can
        be.
        """
        above = max(float(centre[2] - margin[2]) - self._top, 0.0)
        side: Floats = margin[:2] + np.sqrt(max(reach**2 - above**2, 0.0))
        return side


def _clean(points: ArrayLike, triangles: ArrayLike) -> tuple[Floats, Ints]:
    """Return points without repetitions and the triangles between them, checked."""
    P, T = np.asarray(points, float), np.asarray(triangles)
    if P.ndim != 2 or P.shape[1] != 3 or not np.isfinite(P).all():
        raise TerrainError("a mesh needs points of three finite numbers each.")
    if T.ndim != 2 or T.shape[1] != 3 or not len(T) or T.dtype.kind not in "iu":
        raise TerrainError("a mesh needs triangles of three point numbers each.")
    if T.min() < 0 or T.max() >= len(P):
        raise TerrainError(f"a triangle names point {int(T.max())} of {len(P)}.")
    unique, back = np.unique(P, axis=0, return_inverse=True)
    return unique, back.ravel()[T].astype(np.int64)


def height_field(x: ArrayLike, y: ArrayLike, z: ArrayLike, flat: float = 1e-7) -> Mesh:
    """Return the ground of heights z[i, j] over x[i], y[j] (both ascending): two triangles per cell.

    >>> height_field([0, 1, 2], [0, 1], np.zeros((3, 2))).faces
    1
    """
    xs, ys, zs = np.asarray(x, float), np.asarray(y, float), np.asarray(z, float)
    if zs.shape != (len(xs), len(ys)) or min(zs.shape) < 2:
        raise TerrainError(
            f"heights of shape {zs.shape} do not fit {len(xs)} x and {len(ys)} y; take at least two "
            "of each."
        )
    if (np.diff(xs) <= 0).any() or (np.diff(ys) <= 0).any():
        raise TerrainError("the x and y of a height field must ascend.")
    points = np.stack([*np.meshgrid(xs, ys, indexing="ij"), zs], axis=-1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(len(xs) - 1), np.arange(len(ys) - 1), indexing="ij")
    corner = (i * len(ys) + j).ravel()
    ahead, left, both = corner + len(ys), corner + 1, corner + len(ys) + 1
    lower = np.stack([corner, ahead, both], axis=1)
    upper = np.stack([corner, both, left], axis=1)
    return Mesh(points, np.stack([lower, upper], axis=1).reshape(-1, 3), flat)
