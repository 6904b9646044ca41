"""Metrics of time series and their derivatives: extremes, means, decay rates, crossing times.

Integrals follow the trapezium rule over the samples. Crossings are roots of the cubic through the four
samples around them.
"""

import re
from collections.abc import Callable

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.model.quantity import parse_number

# Newton steps on a cubic, starting from its secant root: more than are needed to converge to
# rounding.
MAX_ROOT_STEPS = 20

# Decimals of crossing times (s): later digits are rounding errors of the samples.
CROSSING_DIGITS = 12


def _time_average(times: Floats, series: Floats) -> Floats:
    """Return the time average of a series (..., time) over times (s)."""
    return _running_integral(times, series)[..., -1] / (times[..., -1] - times[..., 0])


def _running_integral(times: Floats, series: Floats) -> Floats:
    """Return the integral of a series (..., time) from its beginning to each later time, by the
    trapezium rule.
    """
    # A cumulative sum adds in a fixed order, so that sweeps in lanes agree with single runs to the
    # bit.
    return np.cumsum((series[..., 1:] + series[..., :-1]) / 2.0 * np.diff(times), axis=-1)


def _decay_rate(times: Floats, series: Floats) -> Floats:
    """Return the decay rate sigma (1/s) of a series like exp(-sigma t), eq. [decay-rate].

    It follows from the ratio of the integrals of x^2 over the first and the second half of the
    time. In a short window a slowly growing eigenmode is masked by decaying ones: decide stability
    by eigenvalues.
    """
    first, second = _integrate_halves(times, series * series)
    return np.log(first / second) / (times[..., -1] - times[..., 0])


def _integrate_halves(times: Floats, series: Floats) -> tuple[Floats, Floats]:
    """Return the integrals of a series over the first and the second half of the time."""
    sums = np.concatenate(
        [np.zeros((*series.shape[:-1], 1)), _running_integral(times, series)], axis=-1
    )
    middle = times[..., 0] + (times[..., -1] - times[..., 0]) / 2.0
    k = np.minimum(np.count_nonzero(times <= middle[..., None], axis=-1), series.shape[-1] - 1)
    t0 = _take_entry(times, k - 1)
    t1 = _take_entry(times, k)
    s0 = _take_entry(sums, k - 1)
    s1 = _take_entry(sums, k)
    half = s0 + (s1 - s0) * (middle - t0) / (t1 - t0)
    return half, sums[..., -1] - half


def _take_entry(series: Floats, indices: Floats) -> Floats:
    """Return one entry of each series (..., time); `indices` has the leading axes."""
    return np.take_along_axis(series, indices[..., None], -1)[..., 0]


REDUCERS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "initial": lambda t, x: x[..., 0],
    "final": lambda t, x: x[..., -1],
    "maximum": lambda t, x: x.max(axis=-1),
    "minimum": lambda t, x: x.min(axis=-1),
    "mean rate of": lambda t, x: (x[..., -1] - x[..., 0]) / (t[..., -1] - t[..., 0]),
    "mean": _time_average,
    "peak": lambda t, x: np.abs(x).max(axis=-1),
    "spread of": lambda t, x: x.max(axis=-1) - x.min(axis=-1),
    "relative spread of": lambda t, x: (x.max(axis=-1) - x.min(axis=-1)) / np.abs(x[..., 0]),
    "decay rate of": _decay_rate,
    "time of maximum": lambda t, x: _take_entry(t, x.argmax(axis=-1)),
    "time of minimum": lambda t, x: _take_entry(t, x.argmin(axis=-1)),
}
"""Metrics by name: functions of times (s) and series (..., time). `peak` is the maximum absolute
value.

A metric does not change if the last sample is repeated, as in batches with runs that ended early.
"""

_TIME_WHEN = re.compile(r"\s*time when\s+(.+?)\s*=\s*(\S+)\s*")


def first_crossings(t: Floats, series: Floats) -> Floats:
    """Return the times at which series (runs, time) first cross zero, (runs,); NaN without a crossing.

    Crossings are roots of the cubic through the four samples around them. Equal consecutive times are
    events, at which x may jump; no cubic extends across one.

    >>> t = np.linspace(0.0, 2.0, 21)[None]
    >>> first_crossings(t, t**3 - 0.729)
    array([0.9])
    """
    has_crossed = np.sign(series[:, 1:]) != np.sign(series[:, :1])
    crossings = np.where(series[:, 0] == 0.0, t[:, 0], np.nan)
    runs = np.flatnonzero(has_crossed.any(axis=1) & (series[:, 0] != 0.0))
    if not len(runs):
        return crossings

    # The crossing is between the samples k and k + 1 of each remaining run.
    k = has_crossed[runs].argmax(axis=1)
    t = t[runs]
    series = series[runs]
    count = series.shape[1]

    # The samples from `first` to `last - 1` surround the crossing without a jump. At most four of
    # them determine the polynomial.
    samples = np.arange(1, count)
    jumps = t[:, 1:] == t[:, :-1]  # whether the series jumps just before this sample
    first = np.where(jumps & (samples <= k[:, None]), samples, 0).max(axis=1)
    last = np.where(jumps & (samples > k[:, None]), samples, count).min(axis=1)
    low = np.maximum(first, np.minimum(k - 1, last - 4))
    size = np.minimum(low + 4, last) - low

    times = _take_entry(t, k)  # the series crosses zero in a discontinuity, so its time is exact
    for points in range(2, 5):
        smooth = np.flatnonzero((size == points) & (_take_entry(t, k) < _take_entry(t, k + 1)))
        around = low[smooth, None] + np.arange(points)
        near_t = np.take_along_axis(t[smooth], around, 1)
        near_x = np.take_along_axis(series[smooth], around, 1)
        roots = _interpolated_root(near_t, near_x, k[smooth] - low[smooth])
        times[smooth] = np.round(roots, CROSSING_DIGITS)
    crossings[runs] = times
    return crossings


def _interpolated_root(times: Floats, values: Floats, interval: Floats) -> Floats:
    """Return the roots of polynomials through points (cases, points) between two of the points.

    Newton's method starts at the secant root and stays between the two points.
    """
    t0 = _take_entry(times, interval)
    t1 = _take_entry(times, interval + 1)
    x0 = _take_entry(values, interval)
    x1 = _take_entry(values, interval + 1)

    # Divided differences are the coefficients of the polynomial in Newton's form.
    row = values
    coefficients = [values[:, 0]]
    for order in range(1, times.shape[1]):
        row = (row[:, 1:] - row[:, :-1]) / (times[:, order:] - times[:, :-order])
        coefficients.append(row[:, 0])

    root = t0 - x0 * (t1 - t0) / (x1 - x0)
    for _ in range(MAX_ROOT_STEPS):
        # Evaluate the polynomial and its derivative by Horner's scheme.
        value = coefficients[-1]
        slope = np.zeros(len(times))
        for order in range(times.shape[1] - 2, -1, -1):
            slope = slope * (root - times[:, order]) + value
            value = value * (root - times[:, order]) + coefficients[order]
        step = np.divide(value, slope, out=np.zeros(len(times)), where=slope != 0.0)
        root = np.clip(root - step, t0, t1)
    return root


def split_metric(text: str) -> tuple[str, str, float] | None:
    """Split the name of a metric into reducer, series and level; return None if it is not a metric.

    >>> split_metric("decay rate of lean"), split_metric("time when steer = 0.1")
    (('decay rate of', 'lean', 0.0), ('time when', 'steer', 0.1))
    """
    match = _TIME_WHEN.fullmatch(text)
    if match:
        try:
            return "time when", match.group(1), parse_number(match.group(2))
        except ValueError as error:
            raise ParameterError(f"Invalid level in {text!r}: {error}.") from None
    for reducer in REDUCERS:
        if text.startswith(f"{reducer} "):
            return reducer, text.removeprefix(f"{reducer} "), 0.0
    return None


def metric_gradient(
    reducer: str, level: float, times: Floats, series: Floats, derivatives: Floats
) -> tuple[float, Floats]:
    """Return a metric of a series (time,) and its derivatives along the columns of `derivatives` (time,
    columns).

    The derivatives are those of the metric of these samples, not of the continuous motion.
    """
    if reducer == "time when":
        return _crossing_gradient(times, series - level, derivatives)
    if reducer not in _SLOPES:
        raise ParameterError(
            f"The metric {reducer!r} has no derivative, because samples have fixed times. Use the time "
            "at which the rate is zero instead ('time when lean_rate = 0')."
        )
    return float(REDUCERS[reducer](times[None], series[None])[0]), _SLOPES[reducer](
        times, series, derivatives
    )


def _make_linear_gradient(reducer: str) -> Callable[[Floats, Floats, Floats], Floats]:
    """Return the derivative rule of a metric that is linear in the series: the metric of the
    derivatives.
    """
    return lambda t, x, dx: REDUCERS[reducer](np.broadcast_to(t, dx.T.shape), dx.T)


def _decay_rate_gradient(times: Floats, series: Floats, derivatives: Floats) -> Floats:
    """Return the derivatives of the decay rate (1/s) along the columns of `derivatives`, (columns,)."""
    first, second = _integrate_halves(times, series * series)
    d_first, d_second = _integrate_halves(
        np.broadcast_to(times, derivatives.T.shape), 2.0 * series * derivatives.T
    )
    return (d_first / first - d_second / second) / (times[-1] - times[0])


def _spread_gradient(times: Floats, series: Floats, derivatives: Floats) -> Floats:
    """Return the derivatives of maximum minus minimum along the columns of `derivatives`, (columns,)."""
    return derivatives[series.argmax()] - derivatives[series.argmin()]


def _relative_spread_gradient(times: Floats, series: Floats, derivatives: Floats) -> Floats:
    """Return the derivatives of the spread relative to the initial value, (columns,)."""
    return _spread_gradient(times, series, derivatives) / abs(series[0]) - np.ptp(
        series
    ) * derivatives[0] / (series[0] * abs(series[0]))


def _peak_gradient(times: Floats, series: Floats, derivatives: Floats) -> Floats:
    """Return the derivatives of the maximum absolute value along the columns of `derivatives`, (columns,)."""
    k = np.abs(series).argmax()
    return np.sign(series[k]) * derivatives[k]


_SLOPES: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    **{name: _make_linear_gradient(name) for name in ("initial", "final", "mean rate of", "mean")},
    "maximum": lambda t, x, dx: dx[x.argmax()],
    "minimum": lambda t, x, dx: dx[x.argmin()],
    "peak": _peak_gradient,
    "spread of": _spread_gradient,
    "relative spread of": _relative_spread_gradient,
    "decay rate of": _decay_rate_gradient,
}
"""Derivative rules of the metrics by name, along the columns of `derivatives` (time, columns)."""


def _crossing_gradient(times: Floats, series: Floats, derivatives: Floats) -> tuple[float, Floats]:
    """Return the time (s) at which a series first crosses zero, and its derivatives -dx / xdot.

    Both dx and xdot at the crossing are those of the cubic through the four samples around it.
    """
    time = float(first_crossings(times[None], series[None])[0])
    if np.isnan(time):
        return time, np.full(derivatives.shape[1], np.nan)
    k = int(np.clip(np.searchsorted(times, time, side="right") - 2, 0, max(len(times) - 4, 0)))
    around = slice(k, k + 4)
    powers = np.arange(len(times[around]))
    cubic = np.linalg.solve(
        (times[around, None] - time) ** powers, np.column_stack([series, derivatives])[around]
    )
    return time, -cubic[0, 1:] / cubic[1, 0]
