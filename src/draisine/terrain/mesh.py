"""Terrains that consist of triangles: oriented meshes, open or closed, and height fields.

Neighbouring coplanar triangles form one face if their union is convex. Edges are features if they are convex
or at the boundary of an open mesh; a wheel cannot touch a concave edge alone. The search for features near a
point uses a grid over x and y, so that its cost hardly grows with the number of triangles.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.algebra.scalar import Floats
from draisine.errors import TerrainError
from draisine.terrain.feature import Feature, Features, Ints, ObstacleMotion, concatenate_features
from draisine.terrain.pieces import cross, edge_name, make_edges, make_faces, make_vertices
from draisine.terrain.smooth import SmoothGround, grid_triangles, real_numbers
from draisine.terrain.terrain import Terrain, box_distances

MAX_PLANE_DISTANCE = 1e-10
"""Largest distance (m) of the corners of a face from its plane. A patch of coplanar triangles that exceeds it
is not merged into one face: each of its triangles remains a face.
"""

LINEAR_SEARCH_SIZE = 4096
"""Largest number of triangles of a mesh for which `near` tests all bounding boxes, which is then faster than
a search in the grid.
"""

MIN_RELATIVE_AREA = 1e-14
"""Smallest doubled area of a valid triangle, as a fraction of the squared extent of the mesh. Below it,
round-off determines the direction of the normal.
"""

MAX_CONVEXITY_TESTS = 10**7
"""Largest number of pairs (corner, border line) in the convexity test of a patch of coplanar triangles, a
limit of memory. Each triangle of a larger patch remains a face.
"""


class Mesh(Terrain):
    """A terrain that consists of triangles; their corners are counter-clockwise seen from outside.

    The features are numbered in the order faces (convex patches of coplanar triangles), convex edges, and
    vertices (the end points of these edges).

    Parameters
    ----------
    points
        Coordinates (n, 3) of the corners, m. Equal points are merged.
    triangles
        Indices (m, 3) of the corners of each triangle.
    flat
        Largest sine of the angle between neighbouring triangles that count as coplanar.

    Raises
    ------
    TerrainError
        If points or triangles are invalid, a triangle has no area, or the mesh is not oriented.
    """

    def __init__(self, points: ArrayLike, triangles: ArrayLike, flat: float = 1e-7) -> None:
        self.points, self.triangles = _clean(points, triangles)
        P = self.points[self.triangles]
        normals = np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0])
        size = np.linalg.norm(normals, axis=1)
        if (size <= MIN_RELATIVE_AREA * np.ptp(self.points, axis=0).max() ** 2).any():
            k = int(np.argmin(size))
            raise TerrainError(f"Mesh: triangle {k} has no area. Remove it from the mesh.")
        self.normals = normals / size[:, None]
        self._join(flat)

    # --- faces and edges from triangles

    def _join(self, flat: float) -> None:
        """Find the edges of the mesh, the convex ones among them, and the patches of coplanar triangles.

        `flat` is the largest sine of the angle between coplanar neighbours. The results are stored as
        attributes: `ends` (edges, 2), `left` and `right` (edges,) triangles of each edge, and `convex`.
        """
        T = self.triangles
        m = len(self.triangles)
        ends = T[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        key = ends.min(axis=1) * len(self.points) + ends.max(axis=1)
        _, group, count = np.unique(key, return_inverse=True, return_counts=True)
        if count.max() > 2:
            k = int(np.flatnonzero(count[group] > 2)[0])
            raise TerrainError(
                f"Mesh: the edge between the points {ends[k, 0]} and {ends[k, 1]} belongs to more than two "
                "triangles. Remove the surplus triangles."
            )
        order = np.argsort(group, kind="stable")
        first = np.concatenate([[0], np.cumsum(count)[:-1]])
        half_edge = order[first]
        opposite = np.where(count == 2, order[np.minimum(first + 1, len(order) - 1)], -1)
        self.ends = ends[half_edge]
        turned = (opposite >= 0) & (ends[np.maximum(opposite, 0), 0] == self.ends[:, 0])
        if turned.any():
            a, b = self.ends[int(np.flatnonzero(turned)[0])]
            raise TerrainError(
                f"Mesh: the triangles at the edge between the points {a} and {b} have opposite "
                "orientations. Order the corners of all triangles counter-clockwise, seen from outside."
            )
        self.left = half_edge // 3
        self.right = np.where(opposite >= 0, opposite // 3, -1)
        apex = T[np.maximum(opposite, 0) // 3, (np.maximum(opposite, 0) + 2) % 3]
        along = self.points[apex] - self.points[self.ends[:, 0]]
        N1 = self.normals[self.left]
        N2 = self.normals[np.maximum(self.right, 0)]
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
        """Form the faces of the mesh from `count` patches of coplanar triangles.

        A flat convex patch becomes one face. In every other patch, each triangle becomes a face. `patch` is
        the index (triangles,) of the patch of each triangle; `coplanar` (edges,) marks the edges inside
        patches.
        """
        self.coplanar = coplanar
        sizes = np.bincount(patch, minlength=count)
        order = np.argsort(patch, kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        label = patch.copy()
        for k in np.flatnonzero(sizes > 1):
            triangles = order[starts[k] : starts[k + 1]]
            if not (self._is_flat(triangles) and self._is_convex(triangles, self._rim(triangles))):
                label[triangles] = count + triangles
        _, self.face_of = np.unique(label, return_inverse=True)
        self.ordered = np.argsort(self.face_of, kind="stable")
        self.first = np.concatenate([[0], np.cumsum(np.bincount(self.face_of))])

    @property
    def faces(self) -> int:
        """The number of faces."""
        return len(self.first) - 1

    def _rim(self, triangles: Ints) -> Ints:
        """Return the indices of the boundary edges of a face, given the indices of its triangles."""
        rim = self.edges_of[triangles].ravel()
        return rim[~self.coplanar[rim]] if len(triangles) > 1 else rim

    @cached_property
    def edges_of(self) -> Ints:
        """The indices of the three edges of each triangle, shape (m, 3)."""
        edges = np.arange(len(self.ends))
        shared = self.right >= 0
        triangles = np.concatenate([self.left, self.right[shared]])
        which = np.concatenate([edges, edges[shared]])
        return which[np.argsort(triangles, kind="stable")].reshape(-1, 3)

    def half_spaces(self, rim: Ints, N: Floats, inside: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return the half-spaces b.x <= o in which a face lies, one for each of its n boundary edges.

        Parameters
        ----------
        rim
            Indices (n,) of the boundary edges.
        N
            Unit normals of the faces, (n, 3), or (3,) for one face.
        inside
            Whether the left triangle of each edge belongs to the face, (n,).

        Returns
        -------
        b
            Unit directions (n, 3) out of the face.
        o
            Offsets (n,) in m.
        """
        A = self.points[self.ends[rim, 0]]
        B = self.points[self.ends[rim, 1]]
        b = cross(B - A, N) * np.where(inside, 1.0, -1.0)[:, None]
        b = b / np.linalg.norm(b, axis=1)[:, None]
        return b, np.einsum("ij,ij->i", b, A)

    def _is_flat(self, triangles: Ints) -> bool:
        """Return whether all corners of a patch of triangles lie in the plane of the first triangle.

        The test is necessary because small angles between neighbouring triangles may add up.
        """
        corners = self.points[self.triangles[triangles]].reshape(-1, 3)
        off = np.abs((corners - corners[0]) @ self.normals[triangles[0]]).max()
        return bool(off <= max(MAX_PLANE_DISTANCE, 1e-12 * float(np.abs(corners).max())))

    def _is_convex(self, triangles: Ints, rim: Ints) -> bool:
        """Return whether a flat patch is convex: no corner lies outside one of the boundary edges `rim`."""
        b, o = self.half_spaces(rim, self.normals[triangles[0]], np.isin(self.left[rim], triangles))
        corners = self.points[np.unique(self.ends[rim])]
        scale = max(float(np.ptp(corners, axis=0).max()), 1e-300)
        if len(corners) * len(b) > MAX_CONVEXITY_TESTS:
            return False
        return bool((corners @ b.T - o).max() <= 1e-9 * scale)

    # --- features

    def __len__(self) -> int:
        return self.faces + len(self.convex) + len(self.corners)

    @cached_property
    def corners(self) -> Ints:
        """The indices of the points that are vertices of the terrain: the end points of convex edges."""
        return np.unique(self.ends[self.convex])

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of features in this mesh: "face", and "edge" and "vertex" if it has convex edges."""
        return frozenset({"face", "edge", "vertex"} if len(self.convex) else {"face"})

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The prescribed motions of the features: empty, because a mesh is fixed (see `move_ground`)."""
        return ()

    def __getitem__(self, k: int) -> Feature:
        if not 0 <= k < len(self):
            raise IndexError(f"feature {k} of {len(self)}")
        return self.pick([k]).one(0, self.name(k))

    def name(self, k: int) -> str:
        """Return the name of the feature with index k.

        The name contains the index of the first triangle of a face, the indices of the end points of an edge,
        or the index of the point of a vertex.
        """
        if k < self.faces:
            return f"face {self.ordered[self.first[k]]}"
        k -= self.faces
        if k < len(self.convex):
            return edge_name(self, self.convex[k])
        return f"vertex {self.corners[k - len(self.convex)]}"

    def pick(self, ks: Sequence[int]) -> Features:
        """Return the features with the ascending indices `ks` as arrays, computed in one batch per kind."""
        wanted = np.asarray(ks, np.int64)
        edge = self.faces + len(self.convex)
        a, b = np.searchsorted(wanted, [self.faces, edge])
        parts = zip(
            (make_faces, make_edges, make_vertices),
            (wanted[:a], wanted[a:b] - self.faces, wanted[b:] - edge),
            strict=True,
        )
        return concatenate_features(
            [make(self, indices) for make, indices in parts if len(indices)]
        )

    @cached_property
    def edges_at(self) -> tuple[Ints, Ints]:
        """The edges that meet at each point.

        The first array lists the half-edges point by point: k is edge k at its first end point, and k +
        number of edges is edge k at its second end point. The second array (points + 1,) contains the
        position of each point's first half-edge in this list.
        """
        ends = self.ends.T.ravel()
        order = np.argsort(ends, kind="stable")
        return order, np.searchsorted(ends[order], np.arange(len(self.points) + 1))

    # --- the broad phase

    @cached_property
    def _grid(self) -> tuple[Floats, float, tuple[int, int], Ints, Ints]:
        """The search grid over x and y.

        The entries are the origin (2,) in m, the side length of a cell (m), the number of cells along x and
        along y, the position of the first triangle of each cell in the list of triangles, and this list.
        """
        P = self.points[self.triangles][:, :, :2]
        low = P.min(axis=1)
        high = P.max(axis=1)
        origin = low.min(axis=0)
        extent = np.ptp(self.points[:, :2], axis=0)
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
        """The height of the highest point (m)."""
        return float(self.points[:, 2].max())

    @cached_property
    def _boxes(self) -> tuple[Floats, Floats]:
        """The lower and the upper corners (triangles, 3) of the bounding boxes of the triangles, in m."""
        P = self.points[self.triangles]
        return P.min(axis=1), P.max(axis=1)

    @cached_property
    def _feature_of_edge(self) -> Ints:
        """The index (edges,) of the terrain feature that each edge is; -1 for a concave edge."""
        out = np.full(len(self.ends), -1, dtype=np.int64)
        out[self.convex] = self.faces + np.arange(len(self.convex))
        return out

    @cached_property
    def _feature_of_point(self) -> Ints:
        """The index (points,) of the terrain feature that each point is; -1 for a point that is no vertex."""
        out = np.full(len(self.points), -1, dtype=np.int64)
        out[self.corners] = self.faces + len(self.convex) + np.arange(len(self.corners))
        return out

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the indices of the features within `reach` (m) of the point `centre`, see `Terrain.near`.

        The bounding boxes of the triangles are compared with the reach; the features are the faces, edges and
        vertices of the triangles within reach.
        """
        low, high = self._boxes
        if len(self.triangles) <= LINEAR_SEARCH_SIZE:
            triangles = np.flatnonzero(box_distances(low, high, centre, margin) <= reach)
        else:
            triangles = self._around(centre, self._half_side(centre, reach, margin + np.zeros(3)))
            triangles = triangles[
                box_distances(low[triangles], high[triangles], centre, margin) <= reach
            ]
        edges = self._feature_of_edge[self.edges_of[triangles].ravel()]
        vertices = self._feature_of_point[self.triangles[triangles].ravel()]
        every = np.unique(np.concatenate([self.face_of[triangles], edges, vertices]))
        return every[every >= 0].tolist()

    def _around(self, centre: Floats, side: Floats) -> Ints:
        """Return the indices of the triangles in the grid cells that a rectangle around a point overlaps.

        `side` (2,) are half the side lengths of the rectangle along x and y, m.
        """
        *_, (_, wide), starts, content = self._grid
        a, low_y = self._cell(centre[:2] - side)
        b, high_y = self._cell(centre[:2] + side)
        rows = range(a * wide, (b + 1) * wide, wide)
        spans = [content[starts[r + low_y] : starts[r + high_y + 1]] for r in rows]
        return np.unique(np.concatenate(spans))

    def _cell(self, place: Floats) -> tuple[int, int]:
        """Return the indices along x and y of the grid cell at `place` (2,) in m, or of the nearest cell."""
        origin, size, shape, *_ = self._grid
        x, y = ((place - origin) / size).tolist()
        return int(min(max(0.0, x), shape[0] - 1)), int(min(max(0.0, y), shape[1] - 1))

    def _half_side(self, centre: Floats, reach: float, margin: Floats) -> Floats:
        """Return the half side lengths (2,) in m of the rectangle over x and y to search around a point.

        The rectangle contains all points of the mesh within `reach` (m). It shrinks if the point lies above
        the highest point of the mesh.
        """
        above = max(float(centre[2] - margin[2]) - self._top, 0.0)
        side: Floats = margin[:2] + np.sqrt(max(reach**2 - above**2, 0.0))
        return side


def _clean(points: ArrayLike, triangles: ArrayLike) -> tuple[Floats, Ints]:
    """Return the distinct points (n, 3) in m, and the triangles (m, 3) as indices of these points.

    `TerrainError` is raised if points or triangles have wrong shapes or values.
    """
    P = np.asarray(points, float)
    T = np.asarray(triangles)
    if P.ndim != 2 or P.shape[1] != 3 or not np.isfinite(P).all():
        raise TerrainError("A mesh needs points (n, 3) of finite numbers.")
    if T.ndim != 2 or T.shape[1] != 3 or not len(T) or T.dtype.kind not in "iu":
        raise TerrainError("A mesh needs triangles (m, 3) of integer indices of points.")
    if T.min() < 0 or T.max() >= len(P):
        raise TerrainError(
            f"A triangle has the point {int(T.max())}, but the mesh has {len(P)} points, counted from 0."
        )
    unique, back = np.unique(P, axis=0, return_inverse=True)
    return unique, back.ravel()[T].astype(np.int64)


@overload
def height_field(
    x: ArrayLike, y: ArrayLike, z: ArrayLike, flat: float = ..., *, smooth: Literal[False] = ...
) -> Mesh: ...


@overload
def height_field(
    x: ArrayLike, y: ArrayLike, z: ArrayLike, flat: float = ..., *, smooth: bool
) -> Mesh | SmoothGround: ...


def height_field(
    x: ArrayLike, y: ArrayLike, z: ArrayLike, flat: float = 1e-7, *, smooth: bool = False
) -> Mesh | SmoothGround:
    """Return a terrain from heights on a rectangular grid, with two triangles or a smooth patch per cell.

    Parameters
    ----------
    x, y
        Ascending coordinates (n,) and (m,) of the grid lines, m.
    z
        Heights (n, m) with z[i, j] at x[i], y[j], m.
    flat
        Largest sine of the angle between neighbouring triangles that count as coplanar.
    smooth
        Whether cubic splines interpolate the heights (`SmoothGround`). A smooth terrain has no edges and
        continues beyond the grid with constant slope.

    Returns
    -------
    Mesh or SmoothGround
        The terrain: a mesh, or smooth ground if `smooth` is true.

    Raises
    ------
    TerrainError
        If the heights do not match the coordinates, the coordinates do not ascend, or an entry is not a real
        number.

    Examples
    --------
    >>> height_field([0, 1, 2], [0, 1], np.zeros((3, 2))).faces
    1
    >>> height_field([0, 1, 2], [0, 1], [[0, 0], [1, 1], [4, 4]], smooth=True).height(1.5, 0.5)
    array(2.25)
    """
    xs = real_numbers("height_field: x", x)
    ys = real_numbers("height_field: y", y)
    zs = real_numbers("height_field: the heights", z)
    if zs.shape != (len(xs), len(ys)) or min(zs.shape) < 2:
        raise TerrainError(
            f"height_field: heights of shape {zs.shape} do not match {len(xs)} x and {len(ys)} y. At least "
            "two of each are needed."
        )
    if (np.diff(xs) <= 0).any() or (np.diff(ys) <= 0).any():
        raise TerrainError("height_field: x and y must ascend.")
    if smooth:
        return SmoothGround(xs, ys, zs)
    points = np.stack([*np.meshgrid(xs, ys, indexing="ij"), zs], axis=-1).reshape(-1, 3)
    return Mesh(points, grid_triangles(*zs.shape), flat)
