"""Samples of runs in SIMD lanes, where each run may end before the others."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats

Indices = NDArray[np.intp]
"""Type of an array of indices."""


@dataclass(frozen=True)
class Samples:
    """Inputs of compiled programs at the sample times of several runs, one run per column.

    Attributes
    ----------
    times
        Sample times in s, (time,).
    x
        Inputs of the programs, (time, inputs, columns).
    ends
        Index of the last sample of each run, (columns,).
    """

    times: Floats
    x: Floats
    ends: Indices

    @cached_property
    def _repeated_indices(self) -> Indices:
        """Sample index of each run at each time, (columns, time); the last one is repeated after its end."""
        return np.minimum(np.arange(len(self.times)), self.ends[:, None])

    @cached_property
    def repeated_times(self) -> Floats:
        """Sample times of each run in s, (columns, time); the last one is repeated after its end."""
        return self.times[self._repeated_indices]

    def repeat_last_values(self, series: Floats) -> Floats:
        """Transpose a series (time, columns) to (columns, time); repeat the last value after a run's end."""
        return series[self._repeated_indices, np.arange(len(self.ends))[:, None]]
