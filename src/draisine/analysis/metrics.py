"""How series become numbers: extremes, means, decay rates, times; and their derivatives."""

import re
from collections.abc import Callable

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.model.quantity import number


def _mean(t: Floats, x: Floats) -> Floats:
    return _integral(t, x)[..., -1] / (t[..., -1] - t[..., 0])


def _integral(t: Floats, x: Floats) -> Floats:
    """Return the integral of a series from its begin to each time but the first, by the trapezium
    rule, summed in order.
    """
    return np.cumsum((x[..., 1:] + x[..., :-1]) / 2.0 * np.diff(t), axis=-1)


def _decay_rate(t: Floats, x: Floats) -> Floats:
    """Return sigma of a motion like exp(-sigma t): half the logarithm of how many times more its square
    is in the first half of the time than in the second, over half the time, eq. [decay-rate]. In a short
    window a mode that grows slowly is hidden by others that die out: whether a steady motion is stable,
    eigenvalues tell.
    """
    first, second = _halves(t, x * x)
    return np.log(first / second) / (t[..., -1] - t[..., 0])


def _halves(t: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the integral of a series over the first and over the second half of the time."""
    sums = np.concatenate([np.zeros((*y.shape[:-1], 1)), _integral(t, y)], axis=-1)
    middle = t[..., 0] + (t[..., -1] - t[..., 0]) / 2.0
    k = np.minimum(np.count_nonzero(t <= middle[..., None], axis=-1), y.shape[-1] - 1)[..., None]
    (t0, t1), (s0, s1) = (
        (np.take_along_axis(z, k - 1, -1)[..., 0], np.take_along_axis(z, k, -1)[..., 0])
        for z in (t, sums)
    )
    half = s0 + (s1 - s0) * (middle - t0) / (t1 - t0)
    return half, sums[..., -1] - half


def _at(t: Floats, k: Floats) -> Floats:
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
"""How series (time last) become numbers; `peak` is the maximum of the absolute value. Of a run that
ended early the last sample may stand many times: that changes no number.
"""

_WHEN = re.compile(r"\s*time when\s+(.+?)\s*=\s*(\S+)\s*")


def first_crossings(t: Floats, x: Floats) -> Floats:
    """Return when each of many series (runs, time) first passes zero, by the cubic through the four
    samples around; NaN where it never does. Times that stand twice are events: there x may jump, and
    no cubic goes across.

    >>> t = np.linspace(0.0, 2.0, 21)[None]
    >>> first_crossings(t, t**3 - 0.729)
    array([0.9])
    """
    passed = np.sign(x[:, 1:]) != np.sign(x[:, :1])
    found = np.where(x[:, 0] == 0.0, t[:, 0], np.nan)
    some = np.flatnonzero(passed.any(axis=1) & (x[:, 0] != 0.0))
    if not len(some):
        return found
    t, x, k, count = t[some], x[some], passed[some].argmax(axis=1), x.shape[1]
    after = np.arange(1, count)  # a jump is before this sample
    jumps, here = t[:, 1:] == t[:, :-1], k[:, None]
    first = np.where(jumps & (after <= here), after, 0).max(axis=1)
    last = np.where(jumps & (after > here), after, count).min(axis=1)
    low = np.maximum(first, np.minimum(k - 1, last - 4))
    size = np.minimum(low + 4, last) - low
    when = _at(t, k)  # where it jumps
    for points in range(2, 5):
        smooth = np.flatnonzero((size == points) & (_at(t, k) < _at(t, k + 1)))
        around = low[smooth, None] + np.arange(points)
        times, values = (np.take_along_axis(y[smooth], around, 1) for y in (t, x))
        inside = k[smooth] - low[smooth]
        when[smooth] = np.round(_root(times, values, inside), 12)
    found[some] = when
    return found


def _root(t: Floats, x: Floats, k: Floats) -> Floats:
    """Return where polynomials through points (cases, points) vanish between the points k and k + 1, by
    Newton's method from where straight lines do.
    """
    t0, t1, x0, x1 = _at(t, k), _at(t, k + 1), _at(x, k), _at(x, k + 1)
    differences, row = [x[:, 0]], x
    for order in range(1, t.shape[1]):
        row = (row[:, 1:] - row[:, :-1]) / (t[:, order:] - t[:, :-order])
        differences.append(row[:, 0])
    when = t0 - x0 * (t1 - t0) / (x1 - x0)
    for _ in range(20):
        value, slope = differences[-1], np.zeros(len(t))
        for order in range(t.shape[1] - 2, -1, -1):
            slope = slope * (when - t[:, order]) + value
            value = value * (when - t[:, order]) + differences[order]
        step = np.divide(value, slope, out=np.zeros(len(t)), where=slope != 0.0)
        when = np.clip(when - step, t0, t1)
    return when


def split_question(text: str) -> tuple[str, str, float] | None:
    """Return how a series becomes a number, the series, and the level that it is to come to; None of a
    text that asks for no such number.

    >>> split_question("decay rate of lean"), split_question("time when steer = 0.1")
    (('decay rate of', 'lean', 0.0), ('time when', 'steer', 0.1))
    """
    when = _WHEN.fullmatch(text)
    if when:
        try:
            return "time when", when.group(1), number(when.group(2))
        except ValueError as error:
            raise ParameterError(f"{text!r}: {error}.") from None
    for reducer in REDUCERS:
        if text.startswith(f"{reducer} "):
            return reducer, text.removeprefix(f"{reducer} "), 0.0
    return None


def metric_gradient(
    reducer: str, level: float, t: Floats, x: Floats, dx: Floats
) -> tuple[float, Floats]:
    """Return the number that a series x becomes, and its derivatives along the columns of dx (time,
    columns): those of the number itself, as it follows from these samples.
    """
    if reducer == "time when":
        return _crossing_gradient(t, x - level, dx)
    if reducer not in _SLOPES:
        raise ParameterError(
            f"{reducer!r}: samples stand at fixed times, so it has no derivative; ask for the time when "
            "the rate is zero ('time when lean_rate = 0')."
        )
    return float(REDUCERS[reducer](t[None], x[None])[0]), _SLOPES[reducer](t, x, dx)


def _linear(reducer: str) -> Callable[[Floats, Floats, Floats], Floats]:
    """Return the derivative of what is linear in the series: the same of the derivatives."""
    return lambda t, x, dx: REDUCERS[reducer](np.broadcast_to(t, dx.T.shape), dx.T)


def _decay_slope(t: Floats, x: Floats, dx: Floats) -> Floats:
    first, second = _halves(t, x * x)
    by_first, by_second = _halves(np.broadcast_to(t, dx.T.shape), 2.0 * x * dx.T)
    return (by_first / first - by_second / second) / (t[-1] - t[0])


def _spread_slope(t: Floats, x: Floats, dx: Floats) -> Floats:
    return dx[x.argmax()] - dx[x.argmin()]


def _relative_spread_slope(t: Floats, x: Floats, dx: Floats) -> Floats:
    return _spread_slope(t, x, dx) / abs(x[0]) - np.ptp(x) * dx[0] / (x[0] * abs(x[0]))


def _peak_slope(t: Floats, x: Floats, dx: Floats) -> Floats:
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
"""Derivatives of the numbers that series become, along the columns of dx (time, columns)."""


def _crossing_gradient(t: Floats, x: Floats, dx: Floats) -> tuple[float, Floats]:
    """Return when a series first passes zero, and how that moves: by what the series is there, over its
    rate, both of the cubic through the four samples around.
    """
    when = float(first_crossings(t[None], x[None])[0])
    if np.isnan(when):
        return when, np.full(dx.shape[1], np.nan)
    k = int(np.clip(np.searchsorted(t, when, side="right") - 2, 0, max(len(t) - 4, 0)))
    around, powers = slice(k, k + 4), np.arange(len(t[k : k + 4]))
    cubic = np.linalg.solve((t[around, None] - when) ** powers, np.column_stack([x, dx])[around])
    return when, -cubic[0, 1:] / cubic[1, 0]
