"""Saturation of actuator torques."""

import math

from draisine.algebra.scalar import Scalar, clip
from draisine.errors import ParameterError


def saturate(signal: Scalar, limit: float) -> Scalar:
    """Return a signal clipped to -limit ... limit; unchanged for an infinite limit.

    Parameters
    ----------
    signal
        Value.
    limit
        Largest magnitude of the result, in the unit of x.

    Returns
    -------
    scalar
        The limited value.

    Examples
    --------
    >>> saturate(7.0, 5.0), saturate(-7.0, 5.0), saturate(7.0, float("inf"))
    (5.0, -5.0, 7.0)
    """
    return signal if math.isinf(limit) else clip(signal, -limit, limit)


def check_limit(name: str, limit: float) -> None:
    """Raise `ParameterError` if a limit is not positive."""
    if not limit > 0.0:
        raise ParameterError(f"{name} = {limit} must be positive; leave it out for no limit.")
