"""Recorded motions as input of a fit: measured outputs, sampled inputs and initial values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.control import Signal, Table
from draisine.errors import ParameterError, expect_known

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of one measured output.

    Parameters
    ----------
    output
        Name of the output, joint or speed.
    time
        Increasing times, s, shape (samples,).
    value
        Measured values in SI units, shape (samples,).
    deviation
        Standard deviation of the noise, in the unit of the output. It sets the weight of this
        recording relative to others whose deviations are given. None: it is estimated from the
        residuals.
    fit_offset
        Whether the instrument has an unknown zero, which is fitted.
    """

    output: str
    time: Floats
    value: Floats
    deviation: float | None = None
    fit_offset: bool = False

    def __post_init__(self) -> None:
        for name in ("time", "value"):
            try:
                object.__setattr__(self, name, np.asarray(getattr(self, name), float))
            except (TypeError, ValueError):
                raise ParameterError(f"{self._name}: its {name}s are not numbers.") from None
        check_samples(self._name, self.time, self.value)
        deviation = self.deviation
        if deviation is not None and not (np.ndim(deviation) == 0 and 0.0 < deviation < np.inf):
            raise ParameterError(
                f"{self._name}: deviation = {deviation!r:.80} is not a positive number. Leave it out to "
                "estimate it from the residuals."
            )

    @property
    def _name(self) -> str:
        """Name of the recording in error messages."""
        return f"Recording of {self.output!r}"


def check_samples(name: str, time: Floats, value: Floats) -> None:
    """Raise an error unless times (s) and values are finite and the times increase."""
    if time.ndim != 1 or time.shape != value.shape or not time.size:
        raise ParameterError(
            f"{name}: {time.size} times and {value.size} values. Give one value for each time."
        )
    for what, samples in (("times", time), ("values", value)):
        missing = np.flatnonzero(~np.isfinite(samples))
        if len(missing):
            raise ParameterError(
                f"{name}: {len(missing)} of {samples.size} {what} are not finite, the first is sample "
                f"{missing[0]}. Remove these samples, for instance with dropna('time') of a dataset."
            )
    backward = np.flatnonzero(np.diff(time) <= 0.0)
    if len(backward):
        k = int(backward[0])
        raise ParameterError(
            f"{name}: the times do not increase: sample {k + 1} is at {time[k + 1]:g} s, after "
            f"{time[k]:g} s. Sort the samples and remove duplicates."
        )


@dataclass(frozen=True, eq=False)
class Run:
    """One recorded motion: initial values, measured outputs and inputs.

    Parameters
    ----------
    start
        Initial values by name, as for `state`. Those among the unknowns are first guesses.
    recordings
        Measured outputs.
    inputs
        Signals of torques and forces. Use `Table` for a sampled input: it is linear between samples, and
        constant before the first and after the last. Several signals of one input add up.
    name
        Name in reports; by default the number of the run.
    start_time
        Time at which the initial values hold, s. None: the first sample of all recordings.
    """

    start: Mapping[str, float]
    recordings: Sequence[Recording]
    inputs: Sequence[Signal] = field(default=())
    name: str = ""
    start_time: float | None = None

    def __post_init__(self) -> None:
        if not self.recordings:
            raise ParameterError(f"Run {self.name!r} has no recordings. Give at least one output.")
        first = min(float(one.time[0]) for one in self.recordings)
        if not self.begin <= first:
            raise ParameterError(
                f"Run {self.name!r}: start_time = {self.begin:g} s is after the first sample at {first:g} s."
            )

    @property
    def begin(self) -> float:
        """Time (s) at which the motion has its initial values."""
        if self.start_time is not None:
            return float(self.start_time)
        return min(float(one.time[0]) for one in self.recordings)

    @classmethod
    def from_dataset(
        cls,
        data: "Dataset",
        start: Mapping[str, float],
        outputs: Sequence[str],
        inputs: Mapping[str, str] | None = None,
        *,
        deviations: Mapping[str, float] | None = None,
        offsets: Sequence[str] = (),
        drop_missing: bool = False,
        name: str = "",
    ) -> Self:
        """Return the recorded run of a dataset over time.

        Parameters
        ----------
        data
            Dataset over `time`, such as `draisine.load("ride.csv")`.
        start
            Initial values by name.
        outputs
            Columns to fit; they have the names of the model's outputs.
        inputs
            Column of each recorded input, by name of the input: {"steer": "steer_torque"}.
        deviations
            Standard deviation of the noise of each output; estimated if not given.
        offsets
            Outputs whose instruments have an unknown zero.
        drop_missing
            Whether to skip empty cells.
        name
            Name in reports.

        Examples
        --------
        >>> import xarray
        >>> data = xarray.Dataset({"lean": ("time", [0.0, 0.1])}, {"time": [0.0, 0.5]})
        >>> run = Run.from_dataset(data, {"forward_speed": 5.0}, ["lean"])
        >>> run.recordings[0].value.tolist()
        [0.0, 0.1]
        """
        columns = [str(column) for column in data.data_vars if data[column].dims == ("time",)]
        inputs = inputs or {}
        deviations = deviations or {}
        where = f"Recording {name!r} has no column" if name else "The recording has no column"
        expect_known(where, [*outputs, *inputs.values()], columns)
        for option in (deviations, offsets):
            expect_known("Not among the fitted outputs:", option, outputs)

        def read_samples(column: str) -> tuple[Floats, Floats]:
            """Return the times (s) and values of one column."""
            series = data[column].dropna("time") if drop_missing else data[column]
            return series["time"].values.astype(float), series.values.astype(float)

        recordings = [
            Recording(output, *read_samples(output), deviations.get(output), output in offsets)
            for output in outputs
        ]
        signals = []
        for target, column in inputs.items():
            time, value = read_samples(column)
            check_samples(f"Column {column!r} of input {target!r}", time, value)
            signals.append(Table(target, tuple(time.tolist()), tuple(value.tolist())))
        return cls(start, recordings, signals, name)
