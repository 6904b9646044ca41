"""Conversion of numbers with units to SI: plain numbers, degrees (`18deg`, `18°`), other units
(`50cm`).
"""

import math
import re
from typing import Any

import numpy as np

_DEGREES = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:deg|\u00b0)\s*")
_NUMBER_PATTERN = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")

UNIT_DIVISORS = {
    ("km/h", "m/s"): 3.6,
    ("cm", "m"): 1e2,
    ("mm", "m"): 1e3,
    ("km", "m"): 1e-3,
    ("g", "kg"): 1e3,
    ("ms", "s"): 1e3,
    ("min", "s"): 1.0 / 60.0,
}
"""Divisors that convert a number in a written unit to SI, by (written unit, SI unit)."""

SI_UNITS = "SI units, without their names"
"""Part of a help text: numbers that are not angles are given in SI units."""


def parse_number(value: Any, unit: str | None = None) -> float:
    """Convert a number or a text with a unit to a finite number in SI units and radians.

    Parameters
    ----------
    value
        A number, or a text such as "4.6", "18deg" or "50cm".
    unit
        Expected SI unit, if known. Degrees need an angle; other written units must be convertible to it.

    Raises
    ------
    ValueError
        If the value is not a finite number or has another unit.

    Examples
    --------
    >>> parse_number(4.6), parse_number("180deg"), parse_number("18 km/h", "m/s"), parse_number("50cm", "m")
    (4.6, 3.141592653589793, 5.0, 0.5)
    """
    if isinstance(value, str):
        return _parse_quantity(value, unit)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is not a number")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        raise ValueError(f"{str(value)[:20]}... is too large for a number") from None
    if not finite:
        raise ValueError(f"{value} is not a finite number")
    return float(value)


def _parse_quantity(text: str, unit: str | None) -> float:
    """Return the value of a text such as "18deg" in SI units, see `parse_number`."""
    degrees = _DEGREES.fullmatch(text)
    if degrees is None:
        if _NUMBER_PATTERN.fullmatch(text):
            return parse_number(float(text), unit)
        divisors = {unit: 1.0} | {
            own: x for (own, meant), x in UNIT_DIVISORS.items() if meant == unit
        }
        for own, divisor in divisors.items():
            if own and text.endswith(own) and _NUMBER_PATTERN.fullmatch(text.removesuffix(own)):
                return parse_number(float(text.removesuffix(own)) / divisor)
        others = [own for own in divisors if own and own != unit]
        way = f" or one with its unit ({', '.join(others)})" if others else ""
        way = " or an angle as '18deg'" if unit is None or "rad" in unit else way
        raise ValueError(
            f"{text!r} is not a number; write a plain number (it is in {unit or 'SI units'}){way}"
        )
    if unit is not None and "rad" not in unit:
        raise ValueError(f"{text!r} is an angle, but this is in {unit or 'no unit'}")
    return math.radians(parse_number(float(degrees.group(1))))


def si_factor(unit: str) -> tuple[float, str]:
    """Return the factor that converts a unit to SI units and radians, and the SI unit.

    >>> print(*si_factor("deg/s"), *si_factor("km/h"), *si_factor("N"))
    0.017453292519943295 rad/s 0.2777777777777778 m/s 1.0 N
    """
    other = {"ms": (1e3, "s")} | {own: (x, meant) for (own, meant), x in UNIT_DIVISORS.items()}
    if re.match(r"(deg|\u00b0)(?![a-z])", unit):
        return math.pi / 180.0, re.sub(r"^(deg|\u00b0)", "rad", unit)
    divisor, meant = other.get(unit, (1.0, unit))
    return 1.0 / divisor, meant


def check_angle(value: Any, unit: str | None) -> None:
    """Raise an error if an angle given as a plain number exceeds a full turn: it is probably in
    degrees.

    >>> check_angle(18.0, "rad")
    Traceback (most recent call last):
    ValueError: 18 rad is more than a turn; degrees are written '18deg'
    """
    if unit == "rad" and not isinstance(value, str):
        for far in np.ravel(value)[np.abs(np.ravel(value)) > 2 * math.pi + 0.01][:1]:
            raise ValueError(f"{far:g} rad is more than a turn; degrees are written '{far:g}deg'")


def readable(values: Any, unit: str) -> tuple[Any, str]:
    """Return values and unit for display: angles in degrees, and "m/s2" instead of "m/s/s".

    >>> print(*readable(math.pi, "rad/s"), *readable(2.0, "m/s/s"))
    180.0 deg/s 2.0 m/s2
    """
    shown = unit.replace("/s/s", "/s2")
    return (np.degrees(values), shown.replace("rad", "deg")) if "rad" in unit else (values, shown)
