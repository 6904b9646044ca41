"""Prescribed motions of ground: functions from time (s) to the rotation and the position of the moving frame.

The time is a float or a symbolic scalar, so that the same function is simulated and differentiated.
"""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import rot_z
from draisine.algebra.scalar import Array, Scalar, array, sin


@dataclass(frozen=True)
class Slide:
    """A translation with constant velocity, for example of a treadmill or a lift."""

    velocity: tuple[float, float, float]  # m/s, world axes

    def __call__(self, t: Scalar) -> tuple[Array, Array]:
        """Return the rotation matrix (3, 3) and the position (3) in m of the moving frame at time t (s)."""
        return np.eye(3), array([v * t for v in self.velocity])


@dataclass(frozen=True)
class Shake:
    """A harmonic motion `amplitude sin(rate t)` along a fixed direction, for example of a shaker table."""

    amplitude: tuple[float, float, float]  # m, world axes
    rate: float  # rad/s, angular frequency

    def __call__(self, t: Scalar) -> tuple[Array, Array]:
        """Return the rotation matrix (3, 3) and the position (3) in m of the moving frame at time t (s)."""
        return np.eye(3), array([a * sin(self.rate * t) for a in self.amplitude])


@dataclass(frozen=True)
class Turn:
    """A rotation about a vertical axis with constant angular velocity, for example of a turntable."""

    rate: float  # rad/s, angular velocity, positive to the left seen from above
    centre: tuple[float, float] = (0.0, 0.0)  # x, y of the axis, m

    def __call__(self, t: Scalar) -> tuple[Array, Array]:
        """Return the rotation matrix (3, 3) and the position (3) in m of the moving frame at time t (s)."""
        R = rot_z(self.rate * t)
        middle = array([*self.centre, 0.0])
        return R, middle - R @ middle
