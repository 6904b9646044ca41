"""Times at which a margin becomes negative, on the dense output of steps or between samples.

A margin is a function that is positive while a condition holds. In each step its values at the Chebyshev
nodes of the dense output are given. Zeros and minima between the nodes are those of the interpolating
polynomial. A negative minimum counts only if it is deeper than the interpolation error, which the last term
of the Chebyshev series estimates.
"""

import math

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.integrators import DENSE_NODE_COUNT, DENSE_NODE_POSITIONS

FINE_POSITIONS = np.linspace(0.0, 1.0, 33)
"""Positions in a step (0 to 1) at which the interpolating polynomial is evaluated."""

MAX_UNDERSHOOT = 0.4
"""Largest possible undershoot of the interpolating polynomial below the smallest node value, as a fraction of
the range of the node values.
"""

INTERPOLATION_ROUNDING = 1e-14
"""Rounding error of the interpolating polynomial, over the largest node value of a step.

Without this bound, a margin that touches zero could count as negative.
"""

ZERO_BISECTIONS = 60
"""Number of bisections that locate a zero to rounding."""


def _interpolation(places: Floats) -> Floats:
    """Return the matrix from values at the nodes to values of the interpolating polynomial at `places`."""
    powers = np.vander(DENSE_NODE_POSITIONS, increasing=True)
    return np.asarray(np.vander(places, DENSE_NODE_COUNT, increasing=True) @ np.linalg.inv(powers))


_TO_FINE = _interpolation(FINE_POSITIONS)
_LAST_TERM = np.array([0.5, -1.0, 1.0, -1.0, 0.5]) / (DENSE_NODE_COUNT - 1)
"""Row vector from node values to the last Chebyshev coefficient."""


def find_first_negative(t: Floats, margin: Floats) -> float | None:
    """Return the first time (s) at which a margin becomes negative; None if it stays positive.

    `t` (s) and `margin` are times and values at the nodes of the dense output, (steps, nodes).
    """
    # The range of the whole run bounds that of each step: most runs need no more than this.
    least = margin.min()
    if least > MAX_UNDERSHOOT * (margin.max() - least):
        return None
    low = margin.min(axis=1)
    if np.all(low > MAX_UNDERSHOOT * (margin.max(axis=1) - low)):
        return None
    with np.errstate(invalid="ignore"):
        fine = margin @ _TO_FINE.T
        error = 2.0 * np.abs(margin @ _LAST_TERM) + INTERPOLATION_ROUNDING * np.abs(margin).max(
            axis=1
        )
        dips = (low < 0.0) | (np.minimum(fine.min(axis=1), _vertices(fine)[1].min(axis=1)) < -error)
    if not dips.any():
        return None
    k = int(dips.argmax())
    z = _first_zero(margin[k], fine[k])
    return float(t[k, 0] + z * (t[k, -1] - t[k, 0]))


def _vertices(fine: Floats) -> tuple[Floats, Floats]:
    """Return positions (0 to 1) and values of the vertices of parabolas through three successive values.

    `fine` (..., FINE_POSITIONS) contains values of the interpolating polynomial. A vertex value is infinite
    if its parabola has no minimum between the three points.
    """
    before = fine[..., :-2]
    middle = fine[..., 1:-1]
    after = fine[..., 2:]
    bend = before - 2.0 * middle + after
    slope = 0.5 * (after - before)
    inside = (bend > 0.0) & (np.abs(slope) <= bend)
    shift = np.divide(-slope, bend, out=np.zeros_like(bend), where=inside)
    values = np.where(inside, middle + 0.5 * slope * shift, np.inf)
    return FINE_POSITIONS[1:-1] + shift * FINE_POSITIONS[1], values


def _first_zero(margin: Floats, fine: Floats) -> float:
    """Return the fraction (0 to 1) of a step at which the interpolating polynomial becomes negative.

    `margin` (nodes,) are the node values, and `fine` are values of the polynomial at FINE_POSITIONS.
    """
    places, values = _vertices(fine)
    candidates = np.unique(
        np.concatenate([FINE_POSITIONS, DENSE_NODE_POSITIONS, places[np.isfinite(values)]])
    )
    negative = _interpolation(candidates) @ margin < 0.0
    first = int(negative.argmax())
    if not negative.any():  # rounding: a node value is negative, the polynomial is not
        return float(DENSE_NODE_POSITIONS[int((margin < 0.0).argmax())])
    if first == 0:
        return 0.0
    low = candidates[first - 1]
    high = candidates[first]
    for _ in range(ZERO_BISECTIONS):
        middle = 0.5 * (low + high)
        if float((_interpolation(np.array([middle])) @ margin)[0]) < 0.0:
            high = middle
        else:
            low = middle
    return float(high)


def crossing_time(t: Floats, margin: Floats) -> float | None:
    """Return the first time (s) at which a margin becomes negative; None if it stays positive.

    `t` (s) and `margin` are times and values at samples, (samples,).
    """
    crossing = float(crossing_times(t[None], margin[None])[0])
    return None if math.isnan(crossing) else crossing


def crossing_times(t: Floats, margin: Floats) -> Floats:
    """Return the first time (runs,), s, at which each margin becomes negative; NaN if it does not.

    `t` (s) and `margin` are (runs, samples). A parabola through the first negative sample and the two samples
    before interpolates the margin; a line if there is only one sample before.
    """
    bad = margin < 0.0
    if not bad.any():
        return np.full(len(t), np.nan)
    k = bad.argmax(axis=1)
    rows = np.arange(len(t))
    (t0, m0), (t1, m1), (t2, m2) = (
        (t[rows, index], margin[rows, index])
        for index in (np.maximum(k - 2, 0), np.maximum(k - 1, 0), k)
    )
    inside = (t2 > t1) & np.isfinite(m1)
    width = np.where(inside, t2 - t1, 1.0)
    slope = np.where(inside, m2 - m1, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        before = (m1 - m0) / (t1 - t0) * width
        bend = (slope - before) * width / (width + t1 - t0)
    bend = np.where((t1 > t0) & np.isfinite(bend), bend, 0.0)
    fraction = _zero_of_parabola(np.where(inside, m1, 0.0), slope, bend)
    return np.where(bad.any(axis=1), np.where(inside, t1 + fraction * width, t2), np.nan)


def _zero_of_parabola(m1: Floats, slope: Floats, bend: Floats) -> Floats:
    """Return the zero s in [0, 1] of m1 + slope s + bend s (s - 1).

    The values at the ends are m1 >= 0 and m1 + slope < 0.
    """
    b = slope - bend
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(np.maximum(b * b - 4.0 * bend * m1, 0.0))
        zero = (
            2.0 * m1 / (root - b)
        )  # of both roots, the one that stays finite if the parabola becomes a line
    return np.where(np.isfinite(zero), np.clip(zero, 0.0, 1.0), 1.0)
