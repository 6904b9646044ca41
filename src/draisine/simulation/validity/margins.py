"""When a margin becomes negative: on the dense output of steps, or between samples.

On a step a margin is known by its values at the Chebyshev nodes of the dense output. The polynomial
through them tells where it vanishes, and whether it dips below zero between nodes; a dip counts if it is
deeper than the last term of the polynomial's Chebyshev series, an estimate of its error.
"""

import math

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.integrators import NODES, PLACES

FINE = np.linspace(0.0, 1.0, 33)
"""Places of a step at which the polynomial is looked at."""

MAX_UNDERSHOOT = 0.4
"""How far below the least of its values at the nodes the polynomial is at most, of the range of these."""

HALVINGS = 60
"""How often an interval is halved to locate a zero: to round-off."""


def _interpolation(places: Floats) -> Floats:
    """Return the rows that lead from values at the nodes to the polynomial's values at places."""
    powers = np.vander(PLACES, increasing=True)
    return np.asarray(np.vander(places, NODES, increasing=True) @ np.linalg.inv(powers))


_TO_FINE = _interpolation(FINE)
_LAST_TERM = np.array([0.5, -1.0, 1.0, -1.0, 0.5]) / (NODES - 1)
"""The row that leads to the last Chebyshev coefficient."""


def first_below(t: Floats, margin: Floats) -> float | None:
    """Return when a margin becomes negative first, of times and values (steps, nodes); None if never."""
    # The range of the whole run bounds that of each step: most runs need no more than this.
    least = margin.min()
    if least > MAX_UNDERSHOOT * (margin.max() - least):
        return None
    low = margin.min(axis=1)
    if np.all(low > MAX_UNDERSHOOT * (margin.max(axis=1) - low)):
        return None
    with np.errstate(invalid="ignore"):
        fine, error = margin @ _TO_FINE.T, 2.0 * np.abs(margin @ _LAST_TERM)
        dips = (low < 0.0) | (np.minimum(fine.min(axis=1), _vertices(fine)[1].min(axis=1)) < -error)
    if not dips.any():
        return None
    k = int(dips.argmax())
    z = _first_zero(margin[k], fine[k])
    return float(t[k, 0] + z * (t[k, -1] - t[k, 0]))


def _vertices(fine: Floats) -> tuple[Floats, Floats]:
    """Return places and values of the vertices of the parabolas through three neighbouring values (...,
    FINE) each; infinite if the parabola has no minimum between them.
    """
    before = fine[..., :-2]
    middle = fine[..., 1:-1]
    after = fine[..., 2:]
    bend = before - 2.0 * middle + after
    slope = 0.5 * (after - before)
    inside = (bend > 0.0) & (np.abs(slope) <= bend)
    shift = np.divide(-slope, bend, out=np.zeros_like(bend), where=inside)
    values = np.where(inside, middle + 0.5 * slope * shift, np.inf)
    return FINE[1:-1] + shift * FINE[1], values


def _first_zero(margin: Floats, fine: Floats) -> float:
    """Return the first fraction of a step at which the polynomial through values at the nodes is negative."""
    places, values = _vertices(fine)
    candidates = np.unique(np.concatenate([FINE, PLACES, places[np.isfinite(values)]]))
    negative = _interpolation(candidates) @ margin < 0.0
    first = int(negative.argmax())
    if not negative.any():  # by rounding: a node is negative, its interpolation is not
        return float(PLACES[int((margin < 0.0).argmax())])
    if first == 0:
        return 0.0
    low = candidates[first - 1]
    high = candidates[first]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if float((_interpolation(np.array([middle])) @ margin)[0]) < 0.0:
            high = middle
        else:
            low = middle
    return float(high)


def crossing_time(t: Floats, margin: Floats) -> float | None:
    """Return when a margin becomes negative between samples; None if never."""
    crossing = float(crossing_times(t[None], margin[None])[0])
    return None if math.isnan(crossing) else crossing


def crossing_times(t: Floats, margin: Floats) -> Floats:
    """Return when margins (runs, time) become negative between samples; NaN: never. The margin is taken
    as the parabola through the sample at which it is negative and the two before, or as a straight line
    at the start.
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
    """Return where m1 + slope s + bend s (s - 1) vanishes on [0, 1], at whose ends it is m1 >= 0 and
    m1 + slope < 0.
    """
    b = slope - bend
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(np.maximum(b * b - 4.0 * bend * m1, 0.0))
        zero = (
            2.0 * m1 / (root - b)
        )  # the one of both that stays finite as the parabola gets straight
    return np.where(np.isfinite(zero), np.clip(zero, 0.0, 1.0), 1.0)
