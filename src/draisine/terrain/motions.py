"""Motions of obstacles, written over any scalar: from time to rotation and position."""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import rot_z
from draisine.algebra.scalar import Array, Scalar, array, sin


@dataclass(frozen=True)
class Slide:
    """A steady slide with a velocity: a treadmill, a lift."""

    velocity: tuple[float, float, float]

    def __call__(self, t: Scalar) -> tuple[Array, Array]:
        """Return rotation and position at a time."""
        return np.eye(3), array([v * t for v in self.velocity])


@dataclass(frozen=True)
class Shake:
    """A harmonic motion `amplitude sin(rate t)` along a direction."""

    amplitude: tuple[float, float, float]
    rate: float

    def __call__(self, t: Scalar) -> tuple[Array, Array]:
        """Return rotation and position at a time."""
        return np.eye(3), array([a * sin(self.rate * t) for a in self.amplitude])


@dataclass(frozen=True)
class Turn:
    """A steady turn about the vertical through a point: a turntable."""

    rate: float
    centre: tuple[float, float] = (0.0, 0.0)

    def __call__(self, t: Scalar) -> tuple[Array, Array]:
        """Return rotation and position at a time."""
        R = rot_z(self.rate * t)
        middle = array([*self.centre, 0.0])
        return R, middle - R @ middle
