"""Grounds made of other grounds: a ground with a prescribed motion, and several grounds combined."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import TerrainError
from draisine.terrain.feature import (
    Feature,
    Features,
    ObstacleMotion,
    carry_feature,
    concatenate_features,
)
from draisine.terrain.terrain import Terrain


class MovingGround(Terrain):
    """A ground with a prescribed motion: all its features move, and the search for near features uses the
    moving frame.
    """

    def __init__(self, ground: Terrain, motion: ObstacleMotion) -> None:
        if ground.motions:
            raise TerrainError(
                "The ground already has a motion. Give each of its parts one complete motion."
            )
        self.ground = ground
        self.motion = motion

    def __len__(self) -> int:
        return len(self.ground)

    def __getitem__(self, k: int) -> Feature:
        return carry_feature(self.ground[k], self.motion)

    def name(self, k: int) -> str:
        """Return the name of feature k."""
        return self.ground.name(k)

    def pick(self, ks: Sequence[int]) -> Features:
        """Return the features with ascending indices ks, with the motion of the ground."""
        return self.ground.pick(ks).carried(self.motion)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds ("face", "edge", ...) of the ground's features."""
        return self.ground.kinds

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The motion of the ground, as a tuple of one."""
        return (self.motion,)

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the indices of the features near a point, see `Terrain.near`."""
        R, p = (np.asarray(x, float) for x in self.motion(t))
        return self.ground.near(
            R.T @ (centre - p), reach, t, float(np.linalg.norm(np.broadcast_to(margin, 3)))
        )


class Joined(Terrain):
    """Several grounds combined into one; their lists of features are concatenated.

    >>> from draisine.terrain import kerb, plane
    >>> len(Joined(plane(), kerb(1.0, 0.1)))
    5
    """

    def __init__(self, *grounds: Terrain) -> None:
        for ground in grounds:
            if not isinstance(ground, Terrain):
                raise TerrainError(
                    f"Joined: {ground!r:.40} is not a terrain. Pass grounds one by one: Joined(a, b)."
                )
        self.grounds = grounds
        self._first = np.cumsum([0, *(len(ground) for ground in grounds)])

    def __len__(self) -> int:
        return int(self._first[-1])

    def _own(self, k: int) -> tuple[Terrain, int]:
        """Return the ground that contains feature k, and the index of the feature in that ground."""
        which = int(np.searchsorted(self._first, k, side="right")) - 1
        return self.grounds[which], k - int(self._first[which])

    def __getitem__(self, k: int) -> Feature:
        ground, index = self._own(k)
        return ground[index]

    def name(self, k: int) -> str:
        """Return the name of feature k."""
        ground, index = self._own(k)
        return ground.name(index)

    def pick(self, ks: Sequence[int]) -> Features:
        """Return the features with ascending indices ks."""
        parts = []
        for ground, first in zip(self.grounds, self._first.tolist(), strict=False):
            indices = [k - first for k in ks if first <= k < first + len(ground)]
            parts += [ground.pick(indices)] if indices else []
        return concatenate_features(parts)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds ("face", "edge", ...) of the features of all grounds."""
        return frozenset().union(*(ground.kinds for ground in self.grounds))

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The distinct motions of all grounds."""
        return tuple(dict.fromkeys(m for ground in self.grounds for m in ground.motions))

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the indices of the features near a point, see `Terrain.near`."""
        features = []
        for ground, first in zip(self.grounds, self._first.tolist(), strict=False):
            features += [first + k for k in ground.near(centre, reach, t, margin)]
        return features


@singledispatch
def move_ground(it: Any, motion: ObstacleMotion) -> Any:
    """Return a copy of a ground feature or of a ground (also a mesh) with a prescribed motion.

    Parameters
    ----------
    it
        Feature or ground.
    motion
        Function from time (s) to rotation (3, 3) and position (3) in m.

    Examples
    --------
    >>> from draisine.terrain import plane
    >>> from draisine.terrain.motions import Slide
    >>> move_ground(plane(), Slide((1.0, 0.0, 0.0)))[0].motion
    Slide(velocity=(1.0, 0.0, 0.0))
    """
    raise TerrainError(f"{it!r} cannot be moved: it is neither a feature nor a ground.")


move_ground.register(Feature, carry_feature)
move_ground.register(Terrain, MovingGround)
