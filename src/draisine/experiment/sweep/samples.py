"""Samples of runs in SIMD lanes; each run may end before the others."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Samples:
    """Inputs of compiled programs at the sample times of runs in columns.

    Attributes
    ----------
    times
        Sample times (time), s.
    x
        Inputs of the programs (time, inputs, columns).
    ends
        Index of the last sample of each column.
    """

    times: Floats
    x: Floats
    ends: Indices

    @cached_property
    def _held_indices(self) -> Indices:
        """Index of the sample at each time (columns, time); the last one is held after the end."""
        return np.minimum(np.arange(len(self.times)), self.ends[:, None])

    @cached_property
    def held_times(self) -> Floats:
        """Sample times (columns, time), s; the last one is held after the end."""
        return self.times[self._held_indices]

    def hold(self, series: Floats) -> Floats:
        """Return a series (time, columns) as (columns, time); its last value is held after the end."""
        return series[self._held_indices, np.arange(len(self.ends))[:, None]]
