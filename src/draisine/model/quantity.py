"""Numbers as people write them: plain, or an angle in degrees, `18deg` or `18°`."""

import math
import re
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, WithJsonSchema

_DEGREES = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:deg|\u00b0)\s*")
_PLAIN = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")

DIVISORS = {("km/h", "m/s"): 3.6, ("mm", "m"): 1e3, ("cm", "m"): 1e2, ("ms", "s"): 1e3}
"""By what numbers in other units are divided, by the unit that is written and the one that is meant."""

PLAIN = "SI units, without their names"
"""The unit of what is no angle."""


def number(value: Any, unit: str | None = None) -> float:
    """Return a finite number; "18deg" is an angle in radians, where the unit (if known) is one, and a
    known unit may be written.

    >>> number(4.6), number("180deg"), number("18 km/h", "m/s"), number("90kg", "kg")
    (4.6, 3.141592653589793, 5.0, 90.0)
    """
    if isinstance(value, str):
        return _written(value, unit)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is not a number")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        raise ValueError(f"{str(value)[:20]}... is too large for a number") from None
    if not finite:
        raise ValueError(f"{value} is not a finite number")
    return float(value)


def _written(text: str, unit: str | None) -> float:
    degrees = _DEGREES.fullmatch(text)
    if degrees is None:
        if _PLAIN.fullmatch(text):
            return number(float(text), unit)
        divisors = {unit: 1.0} | {own: x for (own, meant), x in DIVISORS.items() if meant == unit}
        for own, divisor in divisors.items():
            if own and text.endswith(own) and _PLAIN.fullmatch(text.removesuffix(own)):
                return number(float(text.removesuffix(own)) / divisor)
        angle = " or an angle as '18deg'" if unit is None or "rad" in unit else ""
        raise ValueError(
            f"{text!r} is not a number; write a plain number (it is in {unit or 'SI units'}){angle}"
        )
    if unit is not None and "rad" not in unit:
        raise ValueError(f"{text!r} is an angle, but this is in {unit or 'no unit'}")
    return math.radians(number(float(degrees.group(1))))


def readable(values: Any, unit: str) -> tuple[Any, str]:
    """Return values as people read them, and their unit: angles in degrees, seconds squared.

    >>> print(*readable(math.pi, "rad/s"), *readable(2.0, "m/s/s"))
    180.0 deg/s 2.0 m/s2
    """
    shown = unit.replace("/s/s", "/s2")
    return (np.degrees(values), shown.replace("rad", "deg")) if "rad" in unit else (values, shown)


def _positive(value: float) -> float:
    if value <= 0.0:
        raise ValueError(f"{value:g} is not greater than zero")
    return value


def _not_negative(value: float) -> float:
    if value < 0.0:
        raise ValueError(f"{value:g} is negative")
    return value


def _slope(value: Any) -> float:
    """Return an angle of ground, less steep than a wall: 20 was meant as degrees."""
    found = number(value, "rad")
    if abs(found) >= math.pi / 2:
        raise ValueError(f"{found:g} rad is as steep as a wall; degrees are written '{found:g}deg'")
    return found


NUMBER_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "number"},
        {"type": "string", "pattern": r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*deg\s*$"},
    ]
}

Quantity = Annotated[float, BeforeValidator(number), WithJsonSchema(NUMBER_SCHEMA)]
"""A number, or an angle written in degrees."""

Slope = Annotated[float, BeforeValidator(_slope), WithJsonSchema(NUMBER_SCHEMA)]
"""An angle of ground."""

Positive = Annotated[
    float,
    BeforeValidator(lambda x: _positive(number(x, PLAIN))),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
"""A number greater than zero; no angle."""

NotNegative = Annotated[
    float,
    BeforeValidator(lambda x: _not_negative(number(x, PLAIN))),
    WithJsonSchema({"type": "number", "minimum": 0}),
]
"""A number that is not negative; no angle."""
