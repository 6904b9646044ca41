"""Designs: which values each run of a sweep has."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import DataError
from draisine.scenario.library import Loaded
from draisine.scenario.overrides import key_parts
from draisine.scenario.sweep import Sweep

Columns = dict[str, NDArray[Any]]
"""Values by key path, one for each run: numbers, or objects as they stand in the file."""


@dataclass(frozen=True, eq=False)
class Design:
    """Which values each run of a sweep has; a part of its runs at a time."""

    sweep: Sweep
    sides: Columns

    @property
    def count(self) -> int:
        """How many runs there are."""
        if self.sweep.design == "grid":
            return math.prod(map(len, self.sides.values()))
        if self.sweep.design == "sobol":
            assert self.sweep.count is not None
            return self.sweep.count
        return len(next(iter(self.sides.values())))

    def columns(self, first: int, last: int) -> Columns:
        """Return the values of some of the runs; of a grid the last key path runs fastest."""
        last = min(last, self.count)
        if self.sweep.design == "grid":
            places = np.unravel_index(np.arange(first, last), [len(x) for x in self.sides.values()])
            return {path: x[k] for (path, x), k in zip(self.sides.items(), places, strict=True)}
        if self.sweep.design == "sobol":
            return _drawn(self.sweep, first, last)
        return {path: x[first:last] for path, x in self.sides.items()}


def design_of(sweep: Sweep, loaded: Loaded) -> Design:
    """Return which values the runs of a sweep have."""
    values = {path: side(x) for path, x in sweep.values().items()}
    match sweep.design:
        case "one-at-a-time":
            values = _one_at_a_time(
                sweep.values(), {path: _stands(path, loaded) for path in values}
            )
        case "latin-hypercube":
            assert sweep.count is not None
            values = _drawn(sweep, 0, sweep.count)
    return Design(sweep, values)


def side(values: list[Any]) -> NDArray[Any]:
    """Return values as numbers where they are written as such, or else as they are.

    >>> side([0.5, 1.0]).dtype, side([1, "10deg"]).dtype
    (dtype('float64'), dtype('O'))
    """
    if all(isinstance(x, float) for x in values):
        return np.array(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _one_at_a_time(values: Mapping[str, list[Any]], stands: Mapping[str, Any]) -> Columns:
    """Return the scenario as it stands, and then each value alone."""
    rows = [dict(stands)] + [{**stands, path: x} for path in values for x in values[path]]
    return {path: side([row[path] for row in rows]) for path in values}


def _stands(path: str, loaded: Loaded) -> Any:
    """Return what the scenario itself has at a key path."""
    inside: Any = loaded.content
    for key in key_parts(path):
        known = inside if isinstance(inside, dict) else dict(enumerate(inside or ()))
        inside = known.get(key)
    if inside is not None:
        return inside
    table, _, name = path.rpartition(".")
    if table == "vehicle.parameters" and name in loaded.plan.system.parameters:
        return float(loaded.plan.system.parameters[name])
    raise DataError(
        f"{loaded.file}: one at a time needs a value to start from: write {path} into the scenario."
    )


def _drawn(sweep: Sweep, first: int, last: int) -> Columns:
    """Return points between the ends: a Latin hypercube (one point in each of `count` layers along
    every side; McKay, Beckman, Conover 1979, doi:10.2307/1268522), or Sobol's sequence as scrambled
    by Owen (doi:10.1006/jcom.1998.0487), of which a part can be drawn alone.
    """
    from scipy.stats import qmc

    kind = qmc.Sobol if sweep.design == "sobol" else qmc.LatinHypercube
    points = kind(d=len(sweep.between), seed=sweep.seed)
    if first:
        points.fast_forward(first)
    with warnings.catch_warnings():  # all parts together are a power of two
        warnings.filterwarnings("ignore", message="The balance properties", category=UserWarning)
        unit = points.random(last - first)
    low, high = zip(*((one.low, one.high) for one in sweep.between.values()), strict=True)
    return dict(zip(sweep.between, qmc.scale(unit, low, high).T.copy(), strict=True))
