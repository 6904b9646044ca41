"""Samples of runs side by side, each of which may end before the others."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Samples:
    """What programs read (time, inputs, columns) at some times, and which sample is the last of each
    column.
    """

    times: Floats
    x: Floats
    ends: Indices

    @cached_property
    def _until(self) -> Indices:
        """Which sample stands at each time (columns, time): after its end the last one."""
        return np.minimum(np.arange(len(self.times)), self.ends[:, None])

    @cached_property
    def held_times(self) -> Floats:
        """The times (columns, time); after its end the last one."""
        return self.times[self._until]

    def hold(self, series: Floats) -> Floats:
        """Return a series (time, columns) as (columns, time); after its end its last value."""
        return series[self._until, np.arange(len(self.ends))[:, None]]
