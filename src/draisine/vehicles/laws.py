"""Motions r(t) that vehicles make their joints follow."""

import math

from draisine.model import Law
from draisine.scalar import Scalar, cos, sin


def sine(amplitude: Scalar, frequency: Scalar, phase: Scalar = 0.0, centre: Scalar = 0.0) -> Law:
    """Return the law `r = centre + amplitude sin(2 pi frequency t + phase)` with its two
    derivatives; frequency in Hz, phase in rad.

    >>> print(*sine(2.0, 0.5)(0.0))
    0.0 6.283185307179586 -0.0
    """

    def law(t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        turning = 2 * math.pi * frequency
        s, c = sin(turning * t + phase), cos(turning * t + phase)
        return centre + amplitude * s, amplitude * turning * c, -amplitude * turning * turning * s

    return law
