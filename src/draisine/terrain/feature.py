"""Features of a ground: faces, convex edges, vertices, and where each of them counts.

A feature is valid for a contact at the point C with the normal N (out of the ground) while all its
borders hold: A.C + B.N <= o. A face ends at its border lines; an edge ends at its end points and
where the normal leaves the cone between the normals of its two faces.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError

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
