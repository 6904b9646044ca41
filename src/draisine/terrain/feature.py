"""Ground features of a terrain: faces, convex edges, vertices and smooth patches, each with its borders.

A contact at the point C (m) with the unit normal N (out of the ground) is valid on a feature if it satisfies
A.C + B.N <= o for every border (A, B, o) of the feature. The borders of a face are the lines around it. The
borders of an edge are its two end points, and the limits of the cone between the normals of its two faces.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError

Ints = NDArray[np.int64]

ObstacleMotion = Callable[[Any], tuple[Any, Any]]
"""Type of a prescribed motion of ground: a function from time (s) to rotation (3, 3) and position (3) in m of
the moving frame. The time is a float or a symbolic scalar.
"""

BORDER_POINT = slice(0, 3)
BORDER_NORMAL = slice(3, 6)
BORDER_OFFSET = 6
"""Indices of A, B and o in a border, an array (7) with the inequality A.C + B.N <= o for contacts."""

NO_CELL = np.zeros(0)
"""Empty array that stands for the polynomial of a feature without one (face, edge, vertex)."""

MIN_FACE_ANGLE = 1e-9
"""Smallest sine of the angle between the two faces of an edge. Below it the faces are parallel, and round-off
would determine the cone of normals of the edge.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A face, edge, vertex or patch of a terrain.

    The coordinates of a feature with a prescribed motion refer to the moving frame.
    """

    name: str
    kind: str  # "face", "edge", "vertex", "patch"
    # (6,) coordinates by kind of feature. Face: (N, d, 0, 0) with the plane N.x = d. Edge: (Q, e), a
    # point and the direction. Vertex: (Q, 0, 0, 0). Patch: the plane (N, d) through its middle, the
    # largest distance of the patch from this plane (m), and the largest deviation of its normal from N.
    numbers: Floats
    borders: Floats  # (borders, 7) rows (A, B, o) of the inequalities A.C + B.N <= o
    low: Floats  # lower corner of the bounding box, m
    high: Floats  # upper corner of the bounding box, m
    motion: ObstacleMotion | None = None  # prescribed motion; None for fixed ground
    # (PATCH,) polynomial of a patch, see `algebra.patch`; (0,) for a face, edge or vertex.
    cell: Floats = field(default_factory=lambda: NO_CELL)

    def excess(self, C: Floats, N: Floats) -> float:
        """Return the largest value of A.C + B.N - o over all borders, for a contact at C (m) with normal N.

        The contact is inside all borders, and therefore valid, if the value is not positive.
        """
        b = self.borders
        if not len(b):
            return -np.inf
        return float((b[:, BORDER_POINT] @ C + b[:, BORDER_NORMAL] @ N - b[:, BORDER_OFFSET]).max())


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Several ground features of a terrain, stored as arrays with one row per feature."""

    kinds: tuple[tuple[str, ObstacleMotion | None], ...]  # distinct pairs of kind and motion
    kind: Ints  # (features,) index of the kind and motion of each feature in `kinds`
    numbers: Floats  # (features, 6) coordinates, see `Feature.numbers`
    borders: Floats  # (borders, 7) rows (A, B, o) of all borders, in the order of the features
    first: Ints  # (features + 1,) index of the first border of each feature
    low: Floats  # (features, 3) lower corners of the bounding boxes, m
    high: Floats  # (features, 3) upper corners of the bounding boxes, m
    # (features, PATCH) polynomials of the patches, with zero rows for other features; (features, 0) if
    # no feature is a patch.
    cells: Floats

    def __len__(self) -> int:
        return len(self.kind)

    def one(self, k: int, name: str) -> Feature:
        """Return the feature with index k as a single `Feature` with the given name."""
        kind, motion = self.kinds[self.kind[k]]
        borders = self.borders[self.first[k] : self.first[k + 1]]
        cell = self.cells[k] if kind == "patch" else NO_CELL
        box = (self.low[k], self.high[k])
        return Feature(name, kind, self.numbers[k], borders, *box, motion, cell)

    def take(self, ks: Ints) -> "Features":
        """Return the features with the indices `ks`, in the order of `ks`."""
        sizes = self.first[ks + 1] - self.first[ks]
        first = block_starts(sizes)
        borders = self.borders[concatenate_ranges(self.first[ks], sizes)]
        box = (self.low[ks], self.high[ks])
        rows = (self.kind[ks], self.numbers[ks], borders, first, *box, self.cells[ks])
        return Features(self.kinds, *rows)

    def carried(self, motion: ObstacleMotion) -> "Features":
        """Return the same features with a prescribed motion.

        Their bounding boxes become unlimited, because a moving feature has no fixed box in world axes.
        """
        far = np.full_like(self.low, np.inf)
        kinds = tuple((kind, motion) for kind, _ in self.kinds)
        return replace(self, kinds=kinds, low=-far, high=far)


def concatenate_features(parts: Sequence[Features]) -> Features:
    """Concatenate several records of features into one record, in the given order."""
    if len(parts) == 1:
        return parts[0]
    kinds = dict.fromkeys(kind for part in parts for kind in part.kinds)
    index = {kind: k for k, kind in enumerate(kinds)}
    kind = [np.array([index[entry] for entry in part.kinds], int)[part.kind] for part in parts]
    numbers, borders, low, high = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("numbers", "borders", "low", "high")
    )
    first = block_starts(np.concatenate([np.diff(part.first) for part in parts]))
    cells = _stack_cells([part.cells for part in parts])
    return Features(tuple(kinds), np.concatenate(kind), numbers, borders, first, low, high, cells)


def _stack_cells(parts: Sequence[Floats]) -> Floats:
    """Return patch polynomials of several records of features, stacked in one array.

    Records without patches have arrays (n, 0); their rows become zero if another record has patches.
    """
    width = max((part.shape[1] for part in parts), default=0)
    stacked = np.zeros((sum(map(len, parts)), width))
    first = 0
    for part in parts:
        stacked[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return stacked


def stack_features(features: Sequence[Feature]) -> Features:
    """Return single features as one record with one row per feature."""
    kinds: dict[Any, int] = {}
    kind = [kinds.setdefault((feature.kind, feature.motion), len(kinds)) for feature in features]
    sizes = np.array([len(feature.borders) for feature in features], int)
    borders = np.concatenate([np.zeros((0, 7)), *(feature.borders for feature in features)])
    rows = [[getattr(feature, name) for feature in features] for name in ("numbers", "low", "high")]
    numbers, low, high = (np.array(row, float).reshape(len(features), -1) for row in rows)
    cells = _stack_cells([np.zeros((0, 0)), *(feature.cell[None] for feature in features)])
    rows_of = (numbers, borders, block_starts(sizes), low, high, cells)
    return Features(tuple(kinds), np.array(kind, int), *rows_of)


def block_starts(sizes: Ints) -> Ints:
    """Return the start indices (n + 1,) of consecutive blocks with lengths `sizes` (n,).

    The last entry is the end of the last block.
    """
    return np.concatenate([[0], np.cumsum(sizes)])


def concatenate_ranges(first: Ints, sizes: Ints) -> Ints:
    """Return the integers first[k], ..., first[k] + sizes[k] - 1 of all ranges k, concatenated.

    >>> concatenate_ranges(np.array([5, 9]), np.array([3, 1])).tolist()
    [5, 6, 7, 9]
    """
    return np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)


def face(
    name: str,
    N: Sequence[float] | Floats,
    d: float,
    borders: Sequence[tuple[Sequence[float] | Floats, float]] = (),
    box: tuple[Floats, Floats] | None = None,
) -> Feature:
    """Return a planar face: the part of the plane N.x = d that lies in all half-spaces b.x <= o.

    Parameters
    ----------
    name
        Name of the face.
    N, d
        Normal out of the ground (normalised here), and distance of the plane from the origin (m).
    borders
        Pairs (b, o) of outward direction and offset (m), one per border line.
    box
        Lower and upper corner (3) of the bounding box (m); unlimited by default.

    Returns
    -------
    Feature
        The face.

    Raises
    ------
    ParameterError
        If a direction is zero or not finite.

    Examples
    --------
    >>> face("road", (0, 0, 1), 0.0, [((1, 0, 0), 2.0)]).excess(np.array([1.5, 0, 0]), np.zeros(3))
    -0.5
    """
    n = _unit(N, name)
    rows = [np.concatenate([_unit(b, name), np.zeros(3), [float(o)]]) for b, o in borders]
    numbers = np.concatenate([n, [float(d), 0.0, 0.0]])
    low, high = box if box is not None else (np.full(3, -np.inf), np.full(3, np.inf))
    return Feature(name, "face", numbers, np.array(rows).reshape(len(rows), 7), low, high)


def edge(
    name: str,
    Q: Sequence[float] | Floats,
    e: Sequence[float] | Floats,
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    length: float = np.inf,
) -> Feature:
    """Return a convex edge between two faces, which a contact touches with a normal between theirs.

    Parameters
    ----------
    name
        Name of the edge.
    Q, e
        First end point (m) and direction of the edge.
    first, second
        Normals of the two adjacent faces, out of the ground.
    length
        Length of the edge from Q (m). By default the edge is unlimited in both directions.

    Returns
    -------
    Feature
        The edge.

    Raises
    ------
    ParameterError
        If the faces are parallel, or a direction is zero or not finite.
    """
    q = np.asarray(Q, float)
    u = _unit(e, name)
    n1 = _unit(first, name)
    n2 = _unit(second, name)
    rows = []
    for normal, other in ((n1, n2), (n2, n1)):
        t = np.cross(u, normal)
        if abs(t @ other) < MIN_FACE_ANGLE:
            raise parallel_faces(name)
        rows.append(np.concatenate([np.zeros(3), -np.sign(t @ other) * t, [0.0]]))
    low = np.full(3, -np.inf)
    high = np.full(3, np.inf)
    if np.isfinite(length):
        rows.append(np.concatenate([-u, np.zeros(3), [-(u @ q)]]))
        rows.append(np.concatenate([u, np.zeros(3), [u @ q + length]]))
        low = np.minimum(q, q + length * u)
        high = np.maximum(q, q + length * u)
    return Feature(name, "edge", np.concatenate([q, u]), np.array(rows), low, high)


def parallel_faces(name: str) -> ParameterError:
    """Return the error that reports the edge with the given name, whose two faces are parallel."""
    return ParameterError(
        f"edge {name!r}: the two adjacent faces are parallel, so that no cone of contact normals exists "
        "between them. Remove the edge."
    )


def vertex(
    name: str, Q: Sequence[float] | Floats, normals: Sequence[Sequence[float] | Floats] = ()
) -> Feature:
    """Return a vertex: the corner of the ground at which several edges meet.

    Parameters
    ----------
    name
        Name of the vertex.
    Q
        Position of the vertex (m).
    normals
        Directions d of the edges at the vertex, pointing away from Q. A contact with the normal N is valid
        if N.d <= 0 for every edge.

    Returns
    -------
    Feature
        The vertex.
    """
    q = np.asarray(Q, float)
    rows = [np.concatenate([np.zeros(3), _unit(n, name), [0.0]]) for n in normals]
    numbers = np.concatenate([q, np.zeros(3)])
    return Feature(name, "vertex", numbers, np.array(rows).reshape(len(rows), 7), q, q)


def carry_feature(feature: Feature, motion: ObstacleMotion) -> Feature:
    """Return a copy of a feature with a prescribed motion and an unlimited bounding box."""
    low = np.full(3, -np.inf)
    high = np.full(3, np.inf)
    return replace(feature, motion=motion, low=low, high=high)


def _unit(x: Sequence[float] | Floats, name: str) -> Floats:
    """Return the unit vector (3,) along x.

    `ParameterError` with the name of the feature is raised if x is zero, not finite or not of length 3.
    """
    v = np.asarray(x, float)
    size = float(np.linalg.norm(v))
    if v.shape != (3,) or not np.isfinite(size) or size == 0:
        raise ParameterError(
            f"feature {name!r}: {x!r} is not a direction in space. Pass three finite numbers, not all zero."
        )
    return v / size
