"""Ground features of a terrain: faces, convex edges, vertices and smooth patches, each with the borders
within which it is valid.

A contact at the point C (m) with the normal N (out of the ground) is valid on a ground feature while A.C +
B.N <= o for each of its borders (A, B, o). A face ends at its border lines. An edge ends at its end points,
and where the normal leaves the cone between the normals of its two faces.
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
"""Type of a prescribed motion of ground: a function from time (s) to rotation (3, 3) and position (3) in m,
for floats and symbolic scalars.
"""


BORDER_POINT = slice(0, 3)
BORDER_NORMAL = slice(3, 6)
BORDER_OFFSET = 6
"""Indices of A, B and o in the array (7) that describes one border."""

NO_CELL = np.zeros(0)
"""Empty polynomial of a ground feature that is not a patch."""

MIN_FACE_ANGLE = 1e-9
"""Sine of the angle between the two faces of an edge below which the faces count as parallel."""


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A face, edge, vertex or patch of a terrain. If it has a prescribed motion, its coordinates are those
    of the moving frame.
    """

    name: str
    kind: str  # "face", "edge", "vertex", "patch"
    # (6,) coordinates: (N, d, 0, 0) of a face, (Q, e) of an edge, (Q, 0, 0, 0) of a vertex. For a
    # patch: a nearby plane (N, d), the largest distance of the patch from that plane (m), and the
    # largest difference between its normals and N.
    numbers: Floats
    borders: Floats  # (borders, 7) rows (A, B, o) of the borders
    low: Floats  # lower corner of the bounding box, m
    high: Floats  # upper corner of the bounding box, m
    motion: ObstacleMotion | None = None  # prescribed motion, None if fixed
    cell: Floats = field(
        default_factory=lambda: NO_CELL
    )  # (PATCH,) polynomial of a patch (`algebra.patch`); (0,) of other features

    def excess(self, C: Floats, N: Floats) -> float:
        """Return the largest excess A.C + B.N - o of a contact at C (m) with normal N over all borders; the
        contact is valid if it is not positive.
        """
        b = self.borders
        if not len(b):
            return -np.inf
        return float((b[:, BORDER_POINT] @ C + b[:, BORDER_NORMAL] @ N - b[:, BORDER_OFFSET]).max())


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Many ground features of a terrain as arrays."""

    kinds: tuple[tuple[str, ObstacleMotion | None], ...]  # distinct pairs of kind and motion
    kind: Ints  # (features,) index into `kinds`
    numbers: Floats  # (features, 6) coordinates, see `Feature.numbers`
    borders: Floats  # (all borders, 7), feature after feature
    first: Ints  # (features + 1,) index of the first border of each feature
    low: Floats  # (features, 3) lower corners of the bounding boxes, m
    high: Floats  # (features, 3) upper corners of the bounding boxes, m
    cells: Floats  # (features, PATCH) polynomials of patches, zero for others; (features, 0) without any

    def __len__(self) -> int:
        return len(self.kind)

    def one(self, k: int, name: str) -> Feature:
        """Return feature k as a `Feature` with a name."""
        kind, motion = self.kinds[self.kind[k]]
        borders = self.borders[self.first[k] : self.first[k + 1]]
        cell = self.cells[k] if kind == "patch" else NO_CELL
        box = (self.low[k], self.high[k])
        return Feature(name, kind, self.numbers[k], borders, *box, motion, cell)

    def take(self, ks: Ints) -> "Features":
        """Return the features with the indices ks, in their order."""
        sizes = self.first[ks + 1] - self.first[ks]
        first = block_starts(sizes)
        borders = self.borders[concatenate_ranges(self.first[ks], sizes)]
        box = (self.low[ks], self.high[ks])
        rows = (self.kind[ks], self.numbers[ks], borders, first, *box, self.cells[ks])
        return Features(self.kinds, *rows)

    def carried(self, motion: ObstacleMotion) -> "Features":
        """Return these features with a prescribed motion; the bounding boxes of moving features are
        unlimited.
        """
        far = np.full_like(self.low, np.inf)
        kinds = tuple((kind, motion) for kind, _ in self.kinds)
        return replace(self, kinds=kinds, low=-far, high=far)


def concatenate_features(parts: Sequence[Features]) -> Features:
    """Return several groups of features as one."""
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
    """Return the patch polynomials, (n, PATCH) or (n, 0), of several groups of features stacked in one
    array.
    """
    width = max((part.shape[1] for part in parts), default=0)
    stacked = np.zeros((sum(map(len, parts)), width))
    first = 0
    for part in parts:
        stacked[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return stacked


def stack_features(features: Sequence[Feature]) -> Features:
    """Return a list of single features as one record of arrays."""
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
    """Return the start indices of consecutive blocks with lengths `sizes` (n,), followed by the end of the
    last block, shape (n + 1,).
    """
    return np.concatenate([[0], np.cumsum(sizes)])


def concatenate_ranges(first: Ints, sizes: Ints) -> Ints:
    """Return the concatenated integers of ranges with given first values and sizes.

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
    """Return the planar face N.x = d, limited to the half spaces b.x <= o.

    Parameters
    ----------
    name
        Name of the face.
    N, d
        Normal out of the ground, and distance of the plane from the origin (m).
    borders
        Pairs (b, o): outward direction and offset (m) of each border.
    box
        Corners of the bounding box (m); unlimited by default.

    Returns
    -------
    Feature
        The face.

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
    """Return a convex edge between two faces.

    Parameters
    ----------
    name
        Name of the edge.
    Q, e
        Starting point (m) and direction of the edge.
    first, second
        Outward normals of the two adjacent faces.
    length
        Length of the edge (m); unlimited in both directions by default.

    Returns
    -------
    Feature
        The edge.

    Raises
    ------
    ParameterError
        If the faces are parallel.
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
    """Return the error for an edge between parallel faces."""
    return ParameterError(
        f"edge {name!r}: its faces are parallel, so that it has no cone of normals. Leave it out."
    )


def vertex(
    name: str, Q: Sequence[float] | Floats, normals: Sequence[Sequence[float] | Floats] = ()
) -> Feature:
    """Return a vertex, the corner at which edges meet.

    Parameters
    ----------
    name
        Name of the vertex.
    Q
        Position of the vertex (m).
    normals
        Directions d of the edges of the vertex, away from Q. A contact with normal N is valid while N.d <=
        0.

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
    """Return a feature with a prescribed motion; the bounding box of a moving feature is unlimited."""
    low = np.full(3, -np.inf)
    high = np.full(3, np.inf)
    return replace(feature, motion=motion, low=low, high=high)


def _unit(x: Sequence[float] | Floats, name: str) -> Floats:
    """Return the unit vector along x; raise ParameterError if x is zero or not finite."""
    v = np.asarray(x, float)
    size = float(np.linalg.norm(v))
    if v.shape != (3,) or not np.isfinite(size) or size == 0:
        raise ParameterError(f"feature {name!r}: {x!r} is not a direction in space.")
    return v / size
