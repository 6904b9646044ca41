"""A ground: its features, and which of them are near a wheel."""

from collections.abc import Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.terrain.feature import Feature, Features, ObstacleMotion, gather


class Terrain:
    """A ground made of features, each with a number and a name; `near` is the broad phase, `pick` tells
    many at once.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = tuple(features)
        self._low = np.array([f.low for f in self.features]).reshape(-1, 3)
        self._high = np.array([f.high for f in self.features]).reshape(-1, 3)

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, k: int) -> Feature:
        return self.features[k]

    def name(self, k: int) -> str:
        """Return the name of a feature."""
        return self.features[k].name

    def pick(self, ks: Sequence[int]) -> Features:
        """Return features by their numbers, which ascend."""
        return gather([self[k] for k in ks])

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of features that there are."""
        return frozenset(f.kind for f in self.features)

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The motions of its moving features, each once."""
        return tuple(dict.fromkeys(f.motion for f in self.features if f.motion is not None))

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the features whose boxes come within `reach` of a point at a time, or would if it
        moved by up to a margin along each axis.
        """
        apart = distances(self._low, self._high, centre, margin)
        return np.flatnonzero(apart <= reach).tolist()


def distances(low: Floats, high: Floats, centre: Floats, margin: float | Floats) -> Floats:
    """Return how far boxes are from a point that may move by a margin along each axis.

    >>> distances(np.array([[3.0, 4.0, 0.0]]), np.array([[9.0, 9.0, 1.0]]), np.zeros(3), 0.0)
    array([5.])
    """
    outside = np.maximum(low - centre, centre - high) - margin
    outside = np.maximum(outside, 0.0)
    apart: Floats = np.sqrt(np.einsum("ij,ij->i", outside, outside))
    return apart
