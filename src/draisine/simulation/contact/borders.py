"""Where features end: by how much contacts are beyond the borders of their features, all at once."""

from collections.abc import Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.system.layout import Layout
from draisine.terrain import Feature


class Borders:
    """The borders of the features of some contacts, whose sides tell two points of an edge apart."""

    def __init__(self, features: Sequence[Feature], sides: Sequence[int], row: Layout) -> None:
        self._row, self._side = row, np.array(sides)
        sizes = np.array([len(f.borders) for f in features], dtype=np.int64)
        self._ended = np.flatnonzero(sizes)
        self._owner = np.repeat(np.arange(len(features)), sizes)
        self._first = np.cumsum([0, *sizes[self._ended]])[:-1]
        self._rows = np.concatenate([np.zeros((0, 7)), *(f.borders for f in features)])

    def excess(self, rows: Floats) -> Floats:
        """Return by how much each contact is beyond its borders (at most zero: it is valid), in what
        contacts look like, the last axes being contact and entry: those of the terrain, and where an
        edge begins or ceases to have two points next to a torus, eq. [edge-fold].
        """
        at, b = self._row, self._rows
        beyond = np.full(rows.shape[:-1], -np.inf)
        if len(b):
            point = rows[..., at.local_point][..., self._owner, :]
            normal = rows[..., at.local_normal][..., self._owner, :]
            with np.errstate(invalid="ignore"):  # a contact that does not exist is no number
                values = (point * b[:, :3]).sum(-1) + (normal * b[:, 3:6]).sum(-1) - b[:, 6]
                beyond[..., self._ended] = np.maximum.reduceat(values, self._first, axis=-1)
        fold = rows[..., at.fold]
        if not fold.any():
            return beyond
        lone = np.cbrt(fold[..., :2] ** 2).sum(axis=-1) ** 1.5 - fold[..., 2]
        folded = np.maximum(beyond, np.where(self._side != 0, lone, -lone))
        return np.where(fold.any(axis=-1), folded, beyond)
