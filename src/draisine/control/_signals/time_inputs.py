"""Input signals as functions of time: steps, ramps, sines, tables."""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from draisine.algebra.scalar import Array, Scalar, sin, where
from draisine.errors import ParameterError
from draisine.mechanics.readings import Readings


class Window:
    """Base class of input signals whose formula changes at the times `start` and `end` (s)."""

    input: str
    start: float
    end: float

    def __post_init__(self) -> None:
        if not self.start <= self.end:
            raise ParameterError(
                f"input {self.input!r}: the end time {self.end} s is before the start time "
                f"{self.start} s."
            )

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times (s) at which the signal jumps or has a corner."""
        return tuple(t for t in (self.start, self.end) if math.isfinite(t))


@dataclass(frozen=True)
class Step(Window):
    """Input signal that is `value` from `start` until `end`, and zero otherwise.

    Parameters
    ----------
    input
        Name of the input.
    value
        Value of the signal (N m or N).
    start, end
        Times (s) between which the signal has this value.
    """

    input: str
    value: float
    start: float = 0.0
    end: float = math.inf

    def at(self, t: Scalar) -> Scalar:
        """Return the value of the input signal (N m or N) at time t (s)."""
        return _restrict_to_window(t, self.start, self.end, self.value)


@dataclass(frozen=True)
class Ramp(Window):
    """Input signal that rises linearly from `begin` to `value` between `start` and `end`, then is
    constant.

    Parameters
    ----------
    input
        Name of the input.
    value
        Value from `end` on (N m or N).
    start, end
        Times (s) between which the signal changes.
    begin
        Value until `start` (N m or N).
    """

    input: str
    value: float
    start: float
    end: float
    begin: float = 0.0

    def at(self, t: Scalar) -> Scalar:
        """Return the value of the input signal (N m or N) at time t (s)."""
        if self.start == self.end:
            return where(t < self.start, self.begin, self.value)
        slope = (self.value - self.begin) / (self.end - self.start)
        between = self.begin + slope * (t - self.start)
        return where(t < self.start, self.begin, where(t < self.end, between, self.value))


@dataclass(frozen=True)
class Sine(Window):
    """Input signal `offset + amplitude sin(2 pi frequency (t - start) + phase)` from `start` until
    `end`.

    It is zero before and after.

    Parameters
    ----------
    input
        Name of the input.
    amplitude, offset
        Amplitude and mean value (N m or N).
    frequency
        Frequency (Hz).
    phase
        Phase at `start` (rad).
    start, end
        Times (s) between which the signal acts.
    """

    input: str
    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0
    start: float = 0.0
    end: float = math.inf

    def at(self, t: Scalar) -> Scalar:
        """Return the value of the input signal (N m or N) at time t (s)."""
        angle = (2.0 * math.pi * self.frequency) * (t - self.start) + self.phase
        return _restrict_to_window(
            t, self.start, self.end, self.offset + self.amplitude * sin(angle)
        )


@dataclass(frozen=True)
class Table:
    """Input signal from a table of times (s) and values; constant before the first and after the
    last time.

    `between` is "linear" for linear interpolation, or "hold" for a constant value until the next time.

    Parameters
    ----------
    input
        Name of the input.
    times
        Increasing times (s), at least two.
    values
        Values at these times (N m or N).
    between
        "linear" for linear interpolation, "hold" for a constant value until the next time.
    """

    input: str
    times: tuple[float, ...]
    values: tuple[float, ...]
    between: Literal["linear", "hold"] = "linear"

    def __post_init__(self) -> None:
        if len(self.times) != len(self.values):
            raise ParameterError(
                f"input {self.input!r}: the table has {len(self.times)} times but {len(self.values)} "
                "values."
            )
        if len(self.times) < 2:
            raise ParameterError(f"input {self.input!r}: a table needs at least two times.")
        if any(a >= b for a, b in pairwise(self.times)):
            raise ParameterError(f"input {self.input!r}: the times of a table must ascend.")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times of the table (s)."""
        return self.times

    def at(self, t: Scalar) -> Scalar:
        """Return the value of the input signal (N m or N) at time t (s)."""
        if isinstance(t, (int, float)):
            k = bisect_right(self.times, t)
            return self.values[0] if k == 0 else self._interpolate(k - 1, t)
        return self._search_interval(t, 0, len(self.times) - 1)

    def _search_interval(self, t: Scalar, first: int, last: int) -> Scalar:
        """Return the signal by bisection over the intervals low ... high, as nested `where`
        expressions.
        """
        if first == last:
            piece = self._interpolate(first, t)
            return where(t < self.times[0], self.values[0], piece) if first == 0 else piece
        middle = (first + last + 1) // 2
        before = self._search_interval(t, first, middle - 1)
        after = self._search_interval(t, middle, last)
        return where(t < self.times[middle], before, after)

    def _interpolate(self, interval: int, t: Scalar) -> Scalar:
        """Return the signal on the interval that begins at a time of the table."""
        if self.between == "hold" or interval == len(self.times) - 1:
            return self.values[interval]
        slope = (self.values[interval + 1] - self.values[interval]) / (
            self.times[interval + 1] - self.times[interval]
        )
        return self.values[interval] + slope * (t - self.times[interval])


Signal = Step | Ramp | Sine | Table

SIGNALS: dict[str, Callable[..., Signal]] = {
    "step": Step,
    "ramp": Ramp,
    "sine": Sine,
    "table": Table,
}
"""Classes of input signals, by the names of their shapes in scenario files."""


@dataclass(frozen=True)
class TimeInputs:
    """Control law that adds signals over time, each for one input.

    Parameters
    ----------
    signals
        Signals such as `Step`, `Ramp`, `Sine` and `Table`; several signals of one input add up.
    """

    signals: tuple[Signal, ...]

    states: ClassVar[int] = 0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times (s) at which a signal jumps or has a corner."""
        return tuple(sorted({t for signal in self.signals for t in signal.breakpoints}))

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], tuple[()]]:
        """Return the inputs by name at the time of the readings."""
        inputs: dict[str, Scalar] = {}
        for signal in self.signals:
            value = signal.at(readings.t)
            name = signal.input
            inputs[name] = inputs[name] + value if name in inputs else value
        return inputs, ()


def _restrict_to_window(t: Scalar, start: float, end: float, value: Scalar) -> Scalar:
    """Return `value` from start until end (s), and zero otherwise."""
    out = value if math.isinf(end) else where(t < end, value, 0.0)
    return where(t < start, 0.0, out)
