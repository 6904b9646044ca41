"""Terrains of triangles: oriented meshes, open or closed, and height fields.

Coplanar neighbouring triangles form one face if it is convex. Only convex edges and boundary edges are
features. The search of nearby features uses a grid over x and y: a search in a mesh of a million triangles
costs little more than in one of a hundred.
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
"""Largest distance (m) of the corners of a face from its plane; patches that exceed it are split into
triangles.
"""

LINEAR_SEARCH_SIZE = 4096
"""Number of triangles up to which a mesh is searched without a grid, because that is faster."""

MIN_RELATIVE_AREA = 1e-14
"""Smallest area of a valid triangle, as a fraction of the squared extent of the mesh; below it, its normal
is undefined.
"""

MAX_CONVEXITY_TESTS = 10**7
"""Largest number of pairs of corners and border lines in a convexity test; larger patches are split into
triangles.
"""


class Mesh(Terrain):
    """A ground made of triangles whose corners are counter-clockwise seen from outside.

    The features are faces (patches of coplanar triangles), then convex edges, then their end points.

    Parameters
    ----------
    points
        Points (n, 3), m.
    triangles
        Indices of points, (m, 3).
    flat
        Sine of the angle between neighbouring triangles below which they are coplanar.

    Raises
    ------
    TerrainError
        If points or triangles are invalid, or the mesh is not oriented.
    """

    def __init__(self, points: ArrayLike, triangles: ArrayLike, flat: float = 1e-7) -> None:
        self.points, self.triangles = _clean(points, triangles)
        P = self.points[self.triangles]
        normals = np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0])
        size = np.linalg.norm(normals, axis=1)
        if (size <= MIN_RELATIVE_AREA * np.ptp(self.points, axis=0).max() ** 2).any():
            k = int(np.argmin(size))
            raise TerrainError(f"Triangle {k} has no area. Leave it out.")
        self.normals = normals / size[:, None]
        self._join(flat)

    # --- faces and edges from triangles

    def _join(self, flat: float) -> None:
        """Find the edges, whether they are convex, and the patches of coplanar triangles."""
        T = self.triangles
        m = len(self.triangles)
        ends = T[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        key = ends.min(axis=1) * len(self.points) + ends.max(axis=1)
        _, group, count = np.unique(key, return_inverse=True, return_counts=True)
        if count.max() > 2:
            k = int(np.flatnonzero(count[group] > 2)[0])
            raise TerrainError(
                f"The edge between the points {ends[k, 0]} and {ends[k, 1]} belongs to more than two "
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
                f"The triangles at the edge between the points {a} and {b} have opposite orientations. "
                "Orient the mesh, counter-clockwise seen from outside."
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
        """Set the faces of the mesh: each flat convex patch is one face, and so is each triangle of the other
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
        """Return the indices of the boundary edges of the face that consists of the given triangles."""
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
        """Return outward directions b (n, 3) and offsets o (n), in m, of n boundary edges; b.x <= o inside
        the face.

        N are the normals of the faces. `inside` states whether the left triangle of an edge belongs to the
        face.
        """
        A = self.points[self.ends[rim, 0]]
        B = self.points[self.ends[rim, 1]]
        b = cross(B - A, N) * np.where(inside, 1.0, -1.0)[:, None]
        b = b / np.linalg.norm(b, axis=1)[:, None]
        return b, np.einsum("ij,ij->i", b, A)

    def _is_flat(self, triangles: Ints) -> bool:
        """Return whether a patch of triangles lies in the plane of its first triangle; small angles between
        neighbouring triangles may add up.
        """
        corners = self.points[self.triangles[triangles]].reshape(-1, 3)
        off = np.abs((corners - corners[0]) @ self.normals[triangles[0]]).max()
        return bool(off <= max(MAX_PLANE_DISTANCE, 1e-12 * float(np.abs(corners).max())))

    def _is_convex(self, triangles: Ints, rim: Ints) -> bool:
        """Return whether a patch of triangles lies inside all its boundary lines."""
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
        """The indices of the end points of convex edges."""
        return np.unique(self.ends[self.convex])

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds ("face", "edge", "vertex") of the mesh's features."""
        return frozenset({"face", "edge", "vertex"} if len(self.convex) else {"face"})

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The motions of the features; empty, because a mesh does not move."""
        return ()

    def __getitem__(self, k: int) -> Feature:
        if not 0 <= k < len(self):
            raise IndexError(f"feature {k} of {len(self)}")
        return self.pick([k]).one(0, self.name(k))

    def name(self, k: int) -> str:
        """Return the name of feature k, formed from its first triangle (face), its end points (edge) or its
        point (vertex).
        """
        if k < self.faces:
            return f"face {self.ordered[self.first[k]]}"
        k -= self.faces
        if k < len(self.convex):
            return edge_name(self, self.convex[k])
        return f"vertex {self.corners[k - len(self.convex)]}"

    def pick(self, ks: Sequence[int]) -> Features:
        """Return the features with ascending indices ks, computed in one batch per kind."""
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
        """The edges that meet at each point, concatenated point by point, and the index of the first edge
        of each point.

        An edge has the index k at its first end and k + number of edges at its second end.
        """
        ends = self.ends.T.ravel()
        order = np.argsort(ends, kind="stable")
        return order, np.searchsorted(ends[order], np.arange(len(self.points) + 1))

    # --- the broad phase

    @cached_property
    def _grid(self) -> tuple[Floats, float, tuple[int, int], Ints, Ints]:
        """The search grid over x and y: origin, cell size (m), shape, first entry of each cell, triangles by
        cell.
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
        """The lower and upper corners of the bounding boxes of the triangles (m)."""
        P = self.points[self.triangles]
        return P.min(axis=1), P.max(axis=1)

    @cached_property
    def _feature_of_edge(self) -> Ints:
        """The index of the ground feature of each edge; -1 if the edge is not a feature."""
        out = np.full(len(self.ends), -1, dtype=np.int64)
        out[self.convex] = self.faces + np.arange(len(self.convex))
        return out

    @cached_property
    def _feature_of_point(self) -> Ints:
        """The index of the ground feature of each point; -1 if the point is not a feature."""
        out = np.full(len(self.points), -1, dtype=np.int64)
        out[self.corners] = self.faces + len(self.convex) + np.arange(len(self.corners))
        return out

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the indices of the features of all triangles within reach of a point, see `Terrain.near`."""
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
        """Return the indices of the triangles in the grid cells around a point."""
        *_, (_, wide), starts, content = self._grid
        a, low_y = self._cell(centre[:2] - side)
        b, high_y = self._cell(centre[:2] + side)
        rows = range(a * wide, (b + 1) * wide, wide)
        spans = [content[starts[r + low_y] : starts[r + high_y + 1]] for r in rows]
        return np.unique(np.concatenate(spans))

    def _cell(self, place: Floats) -> tuple[int, int]:
        """Return the grid cell at a position (x, y), or the nearest cell."""
        origin, size, shape, *_ = self._grid
        x, y = ((place - origin) / size).tolist()
        return int(min(max(0.0, x), shape[0] - 1)), int(min(max(0.0, y), shape[1] - 1))

    def _half_side(self, centre: Floats, reach: float, margin: Floats) -> Floats:
        """Return the largest distances (2), along x and y in m, of triangles within reach of a point.

        They are smaller if the point is high above the mesh.
        """
        above = max(float(centre[2] - margin[2]) - self._top, 0.0)
        side: Floats = margin[:2] + np.sqrt(max(reach**2 - above**2, 0.0))
        return side


def _clean(points: ArrayLike, triangles: ArrayLike) -> tuple[Floats, Ints]:
    """Return distinct points and the triangles between them; raise TerrainError if they are invalid."""
    P = np.asarray(points, float)
    T = np.asarray(triangles)
    if P.ndim != 2 or P.shape[1] != 3 or not np.isfinite(P).all():
        raise TerrainError("A mesh needs points (n, 3) of finite numbers.")
    if T.ndim != 2 or T.shape[1] != 3 or not len(T) or T.dtype.kind not in "iu":
        raise TerrainError("A mesh needs triangles (m, 3) of integer indices of points.")
    if T.min() < 0 or T.max() >= len(P):
        raise TerrainError(
            f"A triangle has the point {int(T.max())}, but there are {len(P)} points."
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
    """Return the ground with heights given on a rectangular grid: two triangles per cell, or smooth
    patches.

    Parameters
    ----------
    x, y
        Ascending coordinates (m).
    z
        Heights z[i, j] at x[i], y[j] (m).
    flat
        Sine of the angle between neighbouring triangles below which they are coplanar.
    smooth
        Whether cubic splines interpolate the heights (`SmoothGround`). Such ground has no edges and
        continues beyond the grid with constant slope.

    Returns
    -------
    Mesh or SmoothGround
        The ground.

    Raises
    ------
    TerrainError
        If the heights do not match the coordinates, these do not ascend, or one is not a real number.

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
