"""Metrics of time series: extremes, means, decay rates, times of crossings; with their derivatives.

Integrals follow the trapezium rule over the samples. Crossings are roots of the cubic through the four
samples around them.
"""

import re
from collections.abc import Callable

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.model.quantity import number

MAX_ROOT_STEPS = 20  # Newton steps on a cubic from the secant; more than rounding needs

CROSSING_DIGITS = 12  # decimals of crossing times in s; later digits are rounding of the samples


def _mean(t: Floats, x: Floats) -> Floats:
    """Return the mean of a series over time."""
    return _integral(t, x)[..., -1] / (t[..., -1] - t[..., 0])


def _integral(t: Floats, x: Floats) -> Floats:
    """Return the integral of a series from its beginning to each later time, by the trapezium rule."""
    # A cumulative sum adds in order: sweeps in lanes then agree with single runs to the bit.
    return np.cumsum((x[..., 1:] + x[..., :-1]) / 2.0 * np.diff(t), axis=-1)


def _decay_rate(t: Floats, x: Floats) -> Floats:
    """Return sigma of a motion like exp(-sigma t), eq. [decay-rate], in 1/s.

    It follows from the ratio of the integrals of x^2 over the first and the second half of the time. In a
    short window decaying eigenmodes hide one that grows slowly: decide stability by eigenvalues.
    """
    first, second = _halves(t, x * x)
    return np.log(first / second) / (t[..., -1] - t[..., 0])


def _halves(t: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the integral of a series over the first and over the second half of the time."""
    sums = np.concatenate([np.zeros((*y.shape[:-1], 1)), _integral(t, y)], axis=-1)
    middle = t[..., 0] + (t[..., -1] - t[..., 0]) / 2.0
    k = np.minimum(np.count_nonzero(t <= middle[..., None], axis=-1), y.shape[-1] - 1)
    t0 = _at(t, k - 1)
    t1 = _at(t, k)
    s0 = _at(sums, k - 1)
    s1 = _at(sums, k)
    half = s0 + (s1 - s0) * (middle - t0) / (t1 - t0)
    return half, sums[..., -1] - half


def _at(t: Floats, k: Floats) -> Floats:
    """Return the entry k of each series; time is the last axis of t, and k has the other axes."""
    return np.take_along_axis(t, k[..., None], -1)[..., 0]


REDUCERS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "initial": lambda t, x: x[..., 0],
    "final": lambda t, x: x[..., -1],
    "maximum": lambda t, x: x.max(axis=-1),
    "minimum": lambda t, x: x.min(axis=-1),
    "mean rate of": lambda t, x: (x[..., -1] - x[..., 0]) / (t[..., -1] - t[..., 0]),
    "mean": _mean,
    "peak": lambda t, x: np.abs(x).max(axis=-1),
    "spread of": lambda t, x: x.max(axis=-1) - x.min(axis=-1),
    "relative spread of": lambda t, x: (x.max(axis=-1) - x.min(axis=-1)) / np.abs(x[..., 0]),
    "decay rate of": _decay_rate,
    "time of maximum": lambda t, x: _at(t, x.argmax(axis=-1)),
    "time of minimum": lambda t, x: _at(t, x.argmin(axis=-1)),
}
"""Metrics by name, functions of times and series (time last); `peak` is the maximum of the absolute value.

They do not change if the last sample is repeated, as in batches with runs that ended early.
"""

_TIME_WHEN = re.compile(r"\s*time when\s+(.+?)\s*=\s*(\S+)\s*")


def first_crossings(t: Floats, x: Floats) -> Floats:
    """Return the times at which series (runs, time) first cross zero, (runs,); NaN without a crossing.

    Crossings are roots of the cubic through the four samples around them. Equal consecutive times are
    events, at which x may jump; no cubic extends across one.

    >>> t = np.linspace(0.0, 2.0, 21)[None]
    >>> first_crossings(t, t**3 - 0.729)
    array([0.9])
    """
    has_crossed = np.sign(x[:, 1:]) != np.sign(x[:, :1])
    crossings = np.where(x[:, 0] == 0.0, t[:, 0], np.nan)
    runs = np.flatnonzero(has_crossed.any(axis=1) & (x[:, 0] != 0.0))
    if not len(runs):
        return crossings

    # The crossing is between the samples k and k + 1 of each remaining run.
    k = has_crossed[runs].argmax(axis=1)
    t = t[runs]
    x = x[runs]
    count = x.shape[1]

    # Samples first to last - 1 surround it without a jump; up to four of them determine the polynomial.
    samples = np.arange(1, count)
    jumps = t[:, 1:] == t[:, :-1]  # a jump is before this sample
    first = np.where(jumps & (samples <= k[:, None]), samples, 0).max(axis=1)
    last = np.where(jumps & (samples > k[:, None]), samples, count).min(axis=1)
    low = np.maximum(first, np.minimum(k - 1, last - 4))
    size = np.minimum(low + 4, last) - low

    times = _at(t, k)  # the crossing itself is a jump
    for points in range(2, 5):
        smooth = np.flatnonzero((size == points) & (_at(t, k) < _at(t, k + 1)))
        around = low[smooth, None] + np.arange(points)
        near_t = np.take_along_axis(t[smooth], around, 1)
        near_x = np.take_along_axis(x[smooth], around, 1)
        roots = _root(near_t, near_x, k[smooth] - low[smooth])
        times[smooth] = np.round(roots, CROSSING_DIGITS)
    crossings[runs] = times
    return crossings


def _root(t: Floats, x: Floats, k: Floats) -> Floats:
    """Return the roots of polynomials through points (cases, points) between points k and k + 1.

    Newton's method begins at the root of the straight line and stays between both points.
    """
    t0 = _at(t, k)
    t1 = _at(t, k + 1)
    x0 = _at(x, k)
    x1 = _at(x, k + 1)

    # Divided differences: coefficients of the polynomial in Newton's form.
    row = x
    coefficients = [x[:, 0]]
    for order in range(1, t.shape[1]):
        row = (row[:, 1:] - row[:, :-1]) / (t[:, order:] - t[:, :-order])
        coefficients.append(row[:, 0])

    root = t0 - x0 * (t1 - t0) / (x1 - x0)
    for _ in range(MAX_ROOT_STEPS):
        # Horner's scheme for value and slope.
        value = coefficients[-1]
        slope = np.zeros(len(t))
        for order in range(t.shape[1] - 2, -1, -1):
            slope = slope * (root - t[:, order]) + value
            value = value * (root - t[:, order]) + coefficients[order]
        step = np.divide(value, slope, out=np.zeros(len(t)), where=slope != 0.0)
        root = np.clip(root - step, t0, t1)
    return root


def split_metric(text: str) -> tuple[str, str, float] | None:
    """Return the reducer, the series and the level of a metric; None if the text names no metric.

    >>> split_metric("decay rate of lean"), split_metric("time when steer = 0.1")
    (('decay rate of', 'lean', 0.0), ('time when', 'steer', 0.1))
    """
    match = _TIME_WHEN.fullmatch(text)
    if match:
        try:
            return "time when", match.group(1), number(match.group(2))
        except ValueError as error:
            raise ParameterError(f"Invalid level in {text!r}: {error}.") from None
    for reducer in REDUCERS:
        if text.startswith(f"{reducer} "):
            return reducer, text.removeprefix(f"{reducer} "), 0.0
    return None


def metric_gradient(
    reducer: str, level: float, t: Floats, x: Floats, dx: Floats
) -> tuple[float, Floats]:
    """Return a metric of a series x (time,) and its derivatives along the columns of dx (time, columns).

    The derivatives are those of the metric of these samples, not of the continuous motion.
    """
    if reducer == "time when":
        return _crossing_gradient(t, x - level, dx)
    if reducer not in _SLOPES:
        raise ParameterError(
            f"The metric {reducer!r} has no derivative, because samples have fixed times. Use the time "
            "at which the rate is zero instead ('time when lean_rate = 0')."
        )
    return float(REDUCERS[reducer](t[None], x[None])[0]), _SLOPES[reducer](t, x, dx)


def _linear(reducer: str) -> Callable[[Floats, Floats, Floats], Floats]:
    """Return the derivative of a metric that is linear in the series: the metric of the derivatives."""
    return lambda t, x, dx: REDUCERS[reducer](np.broadcast_to(t, dx.T.shape), dx.T)


def _decay_slope(t: Floats, x: Floats, dx: Floats) -> Floats:
    """Return the derivatives of the decay rate."""
    first, second = _halves(t, x * x)
    d_first, d_second = _halves(np.broadcast_to(t, dx.T.shape), 2.0 * x * dx.T)
    return (d_first / first - d_second / second) / (t[-1] - t[0])


def _spread_slope(t: Floats, x: Floats, dx: Floats) -> Floats:
    """Return the derivatives of the difference of maximum and minimum."""
    return dx[x.argmax()] - dx[x.argmin()]


def _relative_spread_slope(t: Floats, x: Floats, dx: Floats) -> Floats:
    """Return the derivatives of the spread relative to the initial value."""
    return _spread_slope(t, x, dx) / abs(x[0]) - np.ptp(x) * dx[0] / (x[0] * abs(x[0]))


def _peak_slope(t: Floats, x: Floats, dx: Floats) -> Floats:
    """Return the derivatives of the maximum of the absolute value."""
    k = np.abs(x).argmax()
    return np.sign(x[k]) * dx[k]


_SLOPES: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    **{name: _linear(name) for name in ("initial", "final", "mean rate of", "mean")},
    "maximum": lambda t, x, dx: dx[x.argmax()],
    "minimum": lambda t, x, dx: dx[x.argmin()],
    "peak": _peak_slope,
    "spread of": _spread_slope,
    "relative spread of": _relative_spread_slope,
    "decay rate of": _decay_slope,
}
"""Derivatives of metrics along the columns of dx (time, columns), by the name of the metric."""


def _crossing_gradient(t: Floats, x: Floats, dx: Floats) -> tuple[float, Floats]:
    """Return the time at which a series first crosses zero, and its derivatives -dx / xdot.

    Both dx and xdot at the crossing are those of the cubic through the four samples around it.
    """
    time = float(first_crossings(t[None], x[None])[0])
    if np.isnan(time):
        return time, np.full(dx.shape[1], np.nan)
    k = int(np.clip(np.searchsorted(t, time, side="right") - 2, 0, max(len(t) - 4, 0)))
    around = slice(k, k + 4)
    powers = np.arange(len(t[around]))
    cubic = np.linalg.solve((t[around, None] - time) ** powers, np.column_stack([x, dx])[around])
    return time, -cubic[0, 1:] / cubic[1, 0]
