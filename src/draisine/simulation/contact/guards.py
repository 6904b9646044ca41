"""The first event inside a step: guards on its dense output, located by root finding.

An open contact watches its gap, with the gap's rate, so that neither a dip nor a short flight
between samples is missed; a closed one watches its normal force, its friction and its borders.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats

Guard = Callable[[float], float]

JUST = 1e-9
"""Gaps below this many metres at the start of an arc belong to contacts that have just opened."""


NOISE = 1e-14
"""Gaps this many metres below zero are rounding."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where in a step (0 to 1) which guard turns negative, and the guard itself."""

    part: float
    kind: str
    contact: int
    guard: Guard


def root(guard: Guard, a: float, b: float) -> float:
    """Return where a guard of opposite signs at a and b vanishes; without a change of sign, the end
    where it is smaller.
    """
    at_a, at_b = guard(a), guard(b)
    if at_a * at_b >= 0:
        return a if abs(at_a) <= abs(at_b) else b
    from scipy.optimize import brentq

    return float(brentq(guard, a, b, xtol=1e-15, rtol=1e-14))


def suspects(gaps: Floats, rates: Floats, h: float) -> list[int]:
    """Return the contacts whose gap may turn negative in a step of length h, from gaps and rates at
    its parts (the first axis).
    """
    a, b = gaps[:-1], gaps[1:]
    crosses = ((a >= -JUST) & (b < 0)).any(axis=0)
    dips = ((a > 0) & (b >= 0) & (rates[:-1] < 0) & (rates[1:] > 0)).any(axis=0)
    hops = ((a < 0) & (b < 0) & (rates[:-1] > 0) & (rates[1:] < 0)).any(axis=0)
    near = np.abs(gaps).min(axis=0) < h * np.abs(rates).max(axis=0)
    return np.flatnonzero(crosses | ((dips | hops) & near)).tolist()


def stays_positive(values: Floats) -> Floats:
    """Return which quantities are far above zero all along, from their values at the parts of a step
    (the first axis): by more than twice what they change from one to the next.
    """
    finite = np.where(np.isfinite(values), values, -1.0)
    change = np.abs(np.diff(finite, axis=0)).max(axis=0)
    return finite.min(axis=0) > 2.0 * change + 1e-3


def fall(
    parts: Floats, gaps: Floats, rates: Floats, gap: Guard, rate: Guard, first: bool
) -> list[float]:
    """Return where an open contact's gap turns negative, interval by interval; `first` tells that
    the step is the first of its arc.
    """
    found = []
    for i in range(len(parts) - 1):
        a, b = parts[i], parts[i + 1]
        ga, gb, ra, rb = gaps[i], gaps[i + 1], rates[i], rates[i + 1]
        if first and i == 0 and abs(ga) <= JUST:
            found += _short_flight(a, b, gb, ra, rb, gap, rate)
        elif ga > 0 > gb and min(ra, rb) < 0:
            found.append(root(gap, a, b))
        elif -NOISE <= ga <= 0 and gb < -NOISE:
            found.append(a)
        elif ga > 0 and gb >= 0 and ra < 0 < rb:
            found += _dip(a, b, gap, rate)
        elif ga < 0 and gb < 0 and rb < 0 < ra:
            found += _hop(a, b, gap, rate)
    return found


def _dip(a: float, b: float, gap: Guard, rate: Guard) -> list[float]:
    """Return where a gap that is positive at both ends turns negative, if it does."""
    least = root(rate, a, b)
    return [root(gap, a, least)] if gap(least) < -1e-14 else []


def _hop(a: float, b: float, gap: Guard, rate: Guard) -> list[float]:
    """Return where a gap that is negative at both ends (a face not yet under the wheel, and the wheel
    in it) turns negative again after it was positive, if it was.
    """
    top = root(rate, a, b)
    return [root(gap, top, b)] if gap(top) > 0 else []


def _short_flight(
    a: float, b: float, gb: float, ra: float, rb: float, gap: Guard, rate: Guard
) -> list[float]:
    """Return where a contact that has just opened closes again inside the interval, if it does."""
    if gb >= -NOISE:
        return []
    top = a
    if ra > 0 > rb:
        top = root(rate, a, b)
    else:
        for k in range(1, 40):
            at = a + (b - a) * 0.5**k
            if gap(at) > 0:
                top = at
                break
    return [root(gap, top, b)] if gap(top) > 0 else [a]


def drop(parts: Floats, values: Floats, guard: Guard, slack: float) -> list[float]:
    """Return where a guard that should stay non-negative falls below zero, once below -slack; one
    that stays at zero for a while (a contact on the seam of two features) only where it leaves.
    """
    for i in range(len(parts) - 1):
        if values[i + 1] < -slack and values[i] > values[i + 1]:
            if values[i] <= -slack:
                return [float(parts[i])]
            level = -slack if values[i] <= 0 else 0.0

            def above(part: float, level: float = level) -> float:
                return guard(part) - level

            return [root(above, parts[i], parts[i + 1])]
    return []
