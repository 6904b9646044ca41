"""Base class of terrains: a set of ground features, and the search for features near a point."""

from collections.abc import Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.terrain.feature import Feature, Features, ObstacleMotion, stack_features


class Terrain:
    """A ground that consists of features: faces, edges, vertices and patches.

    Subclasses that do not store a list of features implement `__len__`, `__getitem__`, `name`, `pick`,
    `kinds`, `motions` and `near`.

    Parameters
    ----------
    features
        Features of the ground; their order defines their indices.
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
        """Return the name of the feature with index k."""
        return self.features[k].name

    def pick(self, ks: Sequence[int]) -> Features:
        """Return the features with the ascending indices `ks` as arrays."""
        return stack_features([self[k] for k in ks])

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of features in this terrain: "face", "edge", "vertex" or "patch"."""
        return frozenset(f.kind for f in self.features)

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The distinct prescribed motions of the moving features."""
        return tuple(dict.fromkeys(f.motion for f in self.features if f.motion is not None))

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the indices of the features whose bounding boxes are within `reach` of a point.

        Parameters
        ----------
        centre
            Position (3) of the point in world axes, m.
        reach
            Largest distance between the point and the bounding box of a returned feature, m.
        t
            Time (s), at which the pose of moving ground is evaluated.
        margin
            Distance (m), or distances (3), by which the point may move along each axis.

        Returns
        -------
        list of int
            Ascending indices of the features.
        """
        apart = box_distances(self._low, self._high, centre, margin)
        return np.flatnonzero(apart <= reach).tolist()


def box_distances(low: Floats, high: Floats, centre: Floats, margin: float | Floats) -> Floats:
    """Return the distances (n,) in m between a point and n boxes with the corners `low` and `high` (n, 3).

    The point may move by `margin` (m) along each axis; the distance is then the smallest possible one.

    >>> box_distances(np.array([[3.0, 4.0, 0.0]]), np.array([[9.0, 9.0, 1.0]]), np.zeros(3), 0.0)
    array([5.])
    """
    outside = np.maximum(low - centre, centre - high) - margin
    outside = np.maximum(outside, 0.0)
    apart: Floats = np.sqrt(np.einsum("ij,ij->i", outside, outside))
    return apart
