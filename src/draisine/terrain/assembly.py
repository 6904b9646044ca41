"""Grounds made of others: carried along by a motion, or several as one."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import TerrainError
from draisine.terrain.feature import Feature, Features, ObstacleMotion, carry_feature, join
from draisine.terrain.terrain import Terrain


class MovingGround(Terrain):
    """A ground that a motion carries along as a whole: every feature has the motion, and what is
    near is looked for in the ground's own frame.
    """

    def __init__(self, ground: Terrain, motion: ObstacleMotion) -> None:
        if ground.motions:
            raise TerrainError("the ground moves already; give each part its own whole motion.")
        self.ground, self.motion = ground, motion

    def __len__(self) -> int:
        return len(self.ground)

    def __getitem__(self, k: int) -> Feature:
        return carry_feature(self.ground[k], self.motion)

    def name(self, k: int) -> str:
        """Return the name of a feature."""
        return self.ground.name(k)

    def pick(self, ks: Sequence[int]) -> Features:
        """Return features by their numbers, carried along."""
        return self.ground.pick(ks).carried(self.motion)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of features that there are."""
        return self.ground.kinds

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The one motion."""
        return (self.motion,)

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the features near a point at a time, as its ground finds them."""
        R, p = (np.asarray(x, float) for x in self.motion(t))
        return self.ground.near(
            R.T @ (centre - p), reach, t, float(np.linalg.norm(np.broadcast_to(margin, 3)))
        )


class Joined(Terrain):
    """Several grounds as one: their features are counted one ground after the other.

    >>> from draisine.terrain import kerb, plane
    >>> len(Joined(plane(), kerb(1.0, 0.1)))
    5
    """

    def __init__(self, *grounds: Terrain) -> None:
        self.grounds = grounds
        self._first = np.cumsum([0, *(len(ground) for ground in grounds)])

    def __len__(self) -> int:
        return int(self._first[-1])

    def _own(self, k: int) -> tuple[Terrain, int]:
        """Return the ground that has a feature, and its number there."""
        which = int(np.searchsorted(self._first, k, side="right")) - 1
        return self.grounds[which], k - int(self._first[which])

    def __getitem__(self, k: int) -> Feature:
        ground, own = self._own(k)
        return ground[own]

    def name(self, k: int) -> str:
        """Return the name of a feature."""
        ground, own = self._own(k)
        return ground.name(own)

    def pick(self, ks: Sequence[int]) -> Features:
        """Return features by their numbers, as each of the grounds makes them."""
        parts = []
        for ground, first in zip(self.grounds, self._first.tolist(), strict=False):
            own = [k - first for k in ks if first <= k < first + len(ground)]
            parts += [ground.pick(own)] if own else []
        return join(parts)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of features that there are."""
        return frozenset().union(*(ground.kinds for ground in self.grounds))

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The motions of what moves, each once."""
        return tuple(dict.fromkeys(m for ground in self.grounds for m in ground.motions))

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the features near a point at a time, as each of the grounds finds them."""
        found = []
        for ground, first in zip(self.grounds, self._first.tolist(), strict=False):
            found += [first + k for k in ground.near(centre, reach, t, margin)]
        return found


@singledispatch
def move_ground(it: Any, motion: ObstacleMotion) -> Any:
    """Return a feature or a whole ground (also a mesh) that is carried along by a motion.

    >>> from draisine.terrain import plane
    >>> from draisine.terrain.motions import Slide
    >>> move_ground(plane(), Slide((1.0, 0.0, 0.0)))[0].motion
    Slide(velocity=(1.0, 0.0, 0.0))
    """
    raise TerrainError(f"{it!r} is neither a feature nor a ground; it cannot be moved.")


move_ground.register(Feature, carry_feature)
move_ground.register(Terrain, MovingGround)
