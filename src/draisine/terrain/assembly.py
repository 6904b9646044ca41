"""Terrains made from other terrains: a terrain with a prescribed motion, or several terrains in one."""

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
    """A terrain with a prescribed rigid motion.

    All features of the terrain move together. The method `near` transforms the search point into the moving
    frame, because the bounding boxes of the features are known in that frame only.

    Parameters
    ----------
    ground
        Terrain without motion, in the coordinates of the moving frame.
    motion
        Function from time (s) to rotation (3, 3) and position (3) in m of the moving frame.

    Raises
    ------
    TerrainError
        If the terrain already has a motion.
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
        """Return the name of the feature with index k."""
        return self.ground.name(k)

    def pick(self, ks: Sequence[int]) -> Features:
        """Return the features with the ascending indices `ks` as arrays, with the motion of this terrain."""
        return self.ground.pick(ks).carried(self.motion)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of features in this terrain: "face", "edge", "vertex" or "patch"."""
        return self.ground.kinds

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The prescribed motion of this terrain, in a tuple of length one."""
        return (self.motion,)

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the indices of the features within `reach` (m) of the point `centre`, see `Terrain.near`."""
        R, p = (np.asarray(x, float) for x in self.motion(t))
        return self.ground.near(
            R.T @ (centre - p), reach, t, float(np.linalg.norm(np.broadcast_to(margin, 3)))
        )


class Joined(Terrain):
    """Several terrains combined into one terrain.

    The features are numbered through: first all features of the first terrain, then those of the second.

    Parameters
    ----------
    *grounds
        Terrains to combine.

    Raises
    ------
    TerrainError
        If an argument is not a terrain.

    Examples
    --------
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
        """Return the terrain that contains feature k, and the index of the feature in that terrain."""
        which = int(np.searchsorted(self._first, k, side="right")) - 1
        return self.grounds[which], k - int(self._first[which])

    def __getitem__(self, k: int) -> Feature:
        ground, index = self._own(k)
        return ground[index]

    def name(self, k: int) -> str:
        """Return the name of the feature with index k."""
        ground, index = self._own(k)
        return ground.name(index)

    def pick(self, ks: Sequence[int]) -> Features:
        """Return the features with the ascending indices `ks` as arrays."""
        parts = []
        for ground, first in zip(self.grounds, self._first.tolist(), strict=False):
            indices = [k - first for k in ks if first <= k < first + len(ground)]
            parts += [ground.pick(indices)] if indices else []
        return concatenate_features(parts)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of features in all terrains: "face", "edge", "vertex" or "patch"."""
        return frozenset().union(*(ground.kinds for ground in self.grounds))

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The distinct prescribed motions of all terrains."""
        return tuple(dict.fromkeys(m for ground in self.grounds for m in ground.motions))

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the indices of the features within `reach` (m) of the point `centre`, see `Terrain.near`."""
        features = []
        for ground, first in zip(self.grounds, self._first.tolist(), strict=False):
            features += [first + k for k in ground.near(centre, reach, t, margin)]
        return features


@singledispatch
def move_ground(it: Any, motion: ObstacleMotion) -> Any:
    """Return a copy of a ground feature or of a terrain with a prescribed motion.

    Parameters
    ----------
    it
        Ground feature, or any terrain, for example a mesh.
    motion
        Function from time (s) to rotation (3, 3) and position (3) in m of the moving frame.

    Returns
    -------
    Feature or MovingGround
        The moving feature or terrain.

    Raises
    ------
    TerrainError
        If `it` is neither a feature nor a terrain.

    Examples
    --------
    >>> from draisine.terrain import plane
    >>> from draisine.terrain.motions import Slide
    >>> move_ground(plane(), Slide((1.0, 0.0, 0.0)))[0].motion
    Slide(velocity=(1.0, 0.0, 0.0))
    """
    raise TerrainError(f"move_ground: {it!r} cannot be moved. Pass a ground feature or a terrain.")


move_ground.register(Feature, carry_feature)
move_ground.register(Terrain, MovingGround)
