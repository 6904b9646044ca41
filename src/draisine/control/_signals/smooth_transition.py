"""Smooth transition from 0 to 1 that moves a reference from one value to another."""

import math

from draisine.algebra.scalar import Scalar, sin, where
from draisine.errors import ParameterError


def smooth_transition(t: Scalar, start: float, end: float) -> Scalar:
    """Return 0 until `start`, 1 from `end` on, and between them s - sin(2 pi s) / (2 pi).

    Mauny, Porez and Boyer 2017, doi:10.1016/j.ifacol.2017.08.1007, (20)-(22). It is twice
    continuously differentiable; with `end` equal to `start` it is a jump.

    Parameters
    ----------
    t
        Time (s), or another independent variable.
    start, end
        Values of t at which the transition starts and ends.

    Returns
    -------
    scalar
        Value between 0 and 1.

    Examples
    --------
    >>> smooth_transition(0.0, 1.0, 3.0), smooth_transition(2.0, 1.0, 3.0), smooth_transition(9.0, 1.0, 3.0)
    (0.0, 0.5, 1.0)
    """
    if not start <= end:
        raise ParameterError(
            f"A smooth transition must not end ({end} s) before its start ({start} s)."
        )
    if start == end:
        return where(t < start, 0.0, 1.0)
    s = (t - start) / (end - start)
    ramp = s - sin(2.0 * math.pi * s) / (2.0 * math.pi)
    return where(t < start, 0.0, where(t < end, ramp, 1.0))
