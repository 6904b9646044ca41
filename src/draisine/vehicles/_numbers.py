"""Checks of the values of vehicle parameters: single numbers, or arrays of a sweep."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.model import Model
from draisine.model.body import MAX_NUMBER
from draisine.vehicles._annotations import expect_parameters, meanings


def check_number(
    vehicle: Callable[..., Model], known: Mapping[str, float], changes: Mapping[str, Any]
) -> dict[str, float]:
    """Return scalar parameter values by name in SI units, after checking them; arrays are rejected."""
    out = {}
    for name, value in check_numbers(vehicle, known, changes).items():
        if value.ndim:
            raise ParameterError(f"parameter {name}: {changes[name]!r:.80} is not a number.")
        out[name] = float(value)
    return out


def check_numbers(
    vehicle: Callable[..., Model], known: Mapping[str, float], changes: Mapping[str, Any]
) -> dict[str, Floats]:
    """Return parameter values (numbers or arrays) in SI units, after checking them.

    Angles may be texts in degrees, '18deg'. Plain angles above a full turn are rejected: they are
    probably in degrees.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> check_numbers(whipple, {"lam": 0.3}, {"lam": [0.3, 18.0]})
    Traceback (most recent call last):
    draisine.errors.ParameterError: parameter lam: 18 rad is more than a turn; degrees are written '18deg'.
    """
    from draisine.model.quantity import check_angle, parse_number

    if not isinstance(changes, Mapping):
        raise ParameterError(f"parameters: {changes!r:.80} is not a table of numbers by name.")
    expect_parameters(vehicle, changes, known)
    out = {}
    for name, value in changes.items():
        unit = meanings(vehicle).get(name, (None, ""))[0]
        try:
            if value is None:
                raise TypeError  # NumPy would convert None to NaN
            out[name] = np.asarray(
                parse_number(value, unit) if isinstance(value, str) else value, float
            )
        except (OverflowError, TypeError, ValueError):
            raise ParameterError(f"parameter {name}: {value!r:.80} is not a number.") from None
        if not np.isfinite(out[name]).all():
            raise ParameterError(f"parameter {name}: {value!r:.80} is not finite.")
        if (np.abs(out[name]) > MAX_NUMBER).any():
            raise ParameterError(
                f"parameter {name}: {value!r:.80} is larger than {MAX_NUMBER:g}; products of such numbers "
                "overflow. Use SI units."
            )
        try:
            check_angle(value, unit)
        except ValueError as error:
            raise ParameterError(f"parameter {name}: {error}.") from None
    return out
