"""Features of a ground: faces, convex edges, vertices, and where each of them counts.

A feature is valid for a contact at the point C with the normal N (out of the ground) while all its
borders hold: A.C + B.N <= o. A face ends at its border lines; an edge ends at its end points and
where the normal leaves the cone between the normals of its two faces.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError

Ints = NDArray[np.int64]

ObstacleMotion = Callable[[Any], tuple[Any, Any]]
"""A prescribed motion: from time to rotation and position, written over any scalar."""


PLACE, LEAN, OFFSET = slice(0, 3), slice(3, 6), 6
"""Where A, B and o of a border stand in its row."""


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A piece of ground. `numbers` are (N, d, 0, 0) of a face, (Q, e) of an edge, (Q, 0, 0, 0) of a
    vertex; `borders` has one row (A, B, o) per border, `low` and `high` bound it in space. With a
    `motion` all numbers are those of its own frame.
    """

    name: str
    kind: str
    numbers: Floats
    borders: Floats
    low: Floats
    high: Floats
    motion: ObstacleMotion | None = None

    def excess(self, C: Floats, N: Floats) -> float:
        """Return by how much a contact at C with normal N is beyond the borders (at most zero: it is
        valid).
        """
        b = self.borders
        if not len(b):
            return -np.inf
        return float((b[:, PLACE] @ C + b[:, LEAN] @ N - b[:, OFFSET]).max())


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Pieces of ground, many at a time: the kinds and motions that there are and which of them each has;
    numbers row by row, borders one feature after the other and where each begins, boxes.
    """

    kinds: tuple[tuple[str, ObstacleMotion | None], ...]
    kind: Ints
    numbers: Floats
    borders: Floats
    first: Ints
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.kind)

    def one(self, k: int, name: str) -> Feature:
        """Return one of them by a name."""
        kind, motion = self.kinds[self.kind[k]]
        own = self.borders[self.first[k] : self.first[k + 1]]
        return Feature(name, kind, self.numbers[k], own, self.low[k], self.high[k], motion)

    def take(self, ks: Ints) -> "Features":
        """Return some of them, in any order."""
        sizes = self.first[ks + 1] - self.first[ks]
        first, borders = starts(sizes), self.borders[ranges(self.first[ks], sizes)]
        rows = (self.kind[ks], self.numbers[ks], borders, first, self.low[ks], self.high[ks])
        return Features(self.kinds, *rows)

    def carried(self, motion: ObstacleMotion) -> "Features":
        """Return the same, carried along by a motion; they count as near everything."""
        far, kinds = np.full_like(self.low, np.inf), tuple((kind, motion) for kind, _ in self.kinds)
        return replace(self, kinds=kinds, low=-far, high=far)


def join(parts: Sequence[Features]) -> Features:
    """Return pieces of ground one after the other."""
    known = dict.fromkeys(kind for part in parts for kind in part.kinds)
    place = {kind: k for k, kind in enumerate(known)}
    kind = [np.array([place[one] for one in part.kinds], int)[part.kind] for part in parts]
    numbers, borders, low, high = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("numbers", "borders", "low", "high")
    )
    first = starts(np.concatenate([np.diff(part.first) for part in parts]))
    return Features(tuple(known), np.concatenate(kind), numbers, borders, first, low, high)


def gather(features: Sequence[Feature]) -> Features:
    """Return single pieces as many."""
    known: dict[Any, int] = {}
    kind = [known.setdefault((it.kind, it.motion), len(known)) for it in features]
    sizes = np.array([len(it.borders) for it in features], int)
    borders = np.concatenate([np.zeros((0, 7)), *(it.borders for it in features)])
    rows = [[getattr(it, name) for it in features] for name in ("numbers", "low", "high")]
    numbers, low, high = (np.array(row, float).reshape(len(features), -1) for row in rows)
    return Features(tuple(known), np.array(kind, int), numbers, borders, starts(sizes), low, high)


def starts(sizes: Ints) -> Ints:
    """Return where stretches of some sizes begin, one after the other, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)])


def ranges(first: Ints, sizes: Ints) -> Ints:
    """Return the whole numbers of ranges that begin somewhere and have sizes, one after the other.

    >>> ranges(np.array([5, 9]), np.array([3, 1])).tolist()
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
    """Return the face N.x = d, N out of the ground, within the half spaces b.x <= o.

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
    """Return the convex edge from Q along e between faces with the outward normals `first` and
    `second`; without a length it has no ends.
    """
    q, u = np.asarray(Q, float), _unit(e, name)
    n1, n2 = _unit(first, name), _unit(second, name)
    rows = []
    for own, other in ((n1, n2), (n2, n1)):
        t = np.cross(u, own)
        if abs(t @ other) < 1e-9:
            raise parallel_faces(name)
        rows.append(np.concatenate([np.zeros(3), -np.sign(t @ other) * t, [0.0]]))
    low, high = np.full(3, -np.inf), np.full(3, np.inf)
    if np.isfinite(length):
        rows.append(np.concatenate([-u, np.zeros(3), [-(u @ q)]]))
        rows.append(np.concatenate([u, np.zeros(3), [u @ q + length]]))
        low, high = np.minimum(q, q + length * u), np.maximum(q, q + length * u)
    return Feature(name, "edge", np.concatenate([q, u]), np.array(rows), low, high)


def parallel_faces(name: str) -> ParameterError:
    """Return the error of an edge between faces that lie in each other."""
    return ParameterError(
        f"edge {name!r}: its faces are parallel, so it has no cone of normals; leave it out."
    )


def vertex(
    name: str, Q: Sequence[float] | Floats, normals: Sequence[Sequence[float] | Floats] = ()
) -> Feature:
    """Return the vertex Q; `normals` are the outward directions d of its edges, seen from Q: a
    contact normal N counts while N.d <= 0.
    """
    q = np.asarray(Q, float)
    rows = [np.concatenate([np.zeros(3), _unit(n, name), [0.0]]) for n in normals]
    numbers = np.concatenate([q, np.zeros(3)])
    return Feature(name, "vertex", numbers, np.array(rows).reshape(len(rows), 7), q, q)


def carry_feature(feature: Feature, motion: ObstacleMotion) -> Feature:
    """Return a feature that is carried along by a motion; it counts as near everything."""
    low, high = np.full(3, -np.inf), np.full(3, np.inf)
    return replace(feature, motion=motion, low=low, high=high)


def _unit(x: Sequence[float] | Floats, name: str) -> Floats:
    v = np.asarray(x, float)
    size = float(np.linalg.norm(v))
    if v.shape != (3,) or not np.isfinite(size) or size == 0:
        raise ParameterError(f"feature {name!r}: {x!r} is not a direction in space.")
    return v / size
