"""Limits of what an actuator can do."""

import math

from draisine.algebra.scalar import Scalar, clip
from draisine.errors import ParameterError


def saturate(x: Scalar, limit: float) -> Scalar:
    """Return x, held between -limit and limit; an infinite limit leaves it as it is.

    >>> saturate(7.0, 5.0), saturate(-7.0, 5.0), saturate(7.0, float("inf"))
    (5.0, -5.0, 7.0)
    """
    return x if math.isinf(limit) else clip(x, -limit, limit)


def check_limit(name: str, limit: float) -> None:
    """Raise where a limit is not a positive number."""
    if not limit > 0.0:
        raise ParameterError(f"{name} = {limit} is not a positive limit; leave it out for none.")
