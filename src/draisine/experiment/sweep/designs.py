"""Designs: which values each run of a sweep has."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.errors import DataError
from draisine.scenario.library import Loaded
from draisine.scenario.overrides import key_parts
from draisine.scenario.sweep import Sweep

Words = NDArray[np.uint64]

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
        if self.sweep.design in DRAWN:
            assert self.sweep.count is not None
            return self.sweep.count
        return len(next(iter(self.sides.values())))

    def columns(self, first: int, last: int) -> Columns:
        """Return the values of some of the runs; of a grid the last key path runs fastest."""
        last = min(last, self.count)
        if self.sweep.design == "grid":
            places = np.unravel_index(np.arange(first, last), [len(x) for x in self.sides.values()])
            return {path: x[k] for (path, x), k in zip(self.sides.items(), places, strict=True)}
        if self.sweep.design in DRAWN:
            between, unit = self.sweep.between, DRAWN[self.sweep.design](self.sweep, first, last)
            ends = [(one.low, one.high) for one in between.values()]
            drawn = (low + (high - low) * x for (low, high), x in zip(ends, unit, strict=True))
            return dict(zip(between, drawn, strict=True))
        return {path: x[first:last] for path, x in self.sides.items()}


def design_of(sweep: Sweep, loaded: Loaded) -> Design:
    """Return which values the runs of a sweep have."""
    values = {path: side(x) for path, x in sweep.values().items()}
    if sweep.design == "one-at-a-time":
        stands = {path: _stands(path, loaded) for path in values}
        values = _one_at_a_time(sweep.values(), stands)
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


def _sobol(sweep: Sweep, first: int, last: int) -> Floats:
    """Return some points of Sobol's sequence as scrambled by Owen (doi:10.1006/jcom.1998.0487)."""
    from scipy.stats import qmc

    points = qmc.Sobol(d=len(sweep.between), seed=sweep.seed)
    if first:
        points.fast_forward(first)
    with warnings.catch_warnings():  # all parts together are a power of two
        warnings.filterwarnings("ignore", message="The balance properties", category=UserWarning)
        return np.asarray(points.random(last - first)).T


def _latin_hypercube(sweep: Sweep, first: int, last: int) -> Floats:
    """Return some points of a Latin hypercube: one in each of `count` layers along every side (McKay,
    Beckman, Conover 1979, doi:10.2307/1268522), anywhere in it.
    """
    assert sweep.count is not None
    runs, unit = np.arange(first, last, dtype=np.uint64), []
    seed = mix(np.array([sweep.seed % 2**64], dtype=np.uint64))
    for side in range(len(sweep.between)):
        key = mix(seed + np.uint64(side))
        layer = permute(runs, sweep.count, key)
        within = mix(layer ^ mix(~key)) >> np.uint64(11)
        unit.append((layer + within * 2.0**-53) / sweep.count)
    return np.array(unit)


def permute(numbers: Words, count: int, key: Words) -> Words:
    """Return where numbers below `count` stand in a permutation, each found by itself: a network of
    Feistel's on as many bits as count has, gone through until it leads below count (Black, Rogaway
    2002, doi:10.1007/3-540-45760-7_9).

    >>> sorted(permute(np.arange(10, dtype="uint64"), 10, np.array([3], "uint64")).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    half = np.uint64(max(1, -(-(count - 1).bit_length() // 2)))
    low, out = (np.uint64(1) << half) - np.uint64(1), numbers.copy()
    left = np.ones(len(out), dtype=bool)
    while left.any():
        a, b = out[left] >> half, out[left] & low
        for turn in range(6):
            a, b = b, a ^ (mix(b ^ mix(key + np.uint64(turn))) & low)
        out[left] = (a << half) | b
        left &= out >= count
    return out


def mix(numbers: Words) -> Words:
    """Return 64 bits for each of some numbers in which every bit of it counts (Steele, Lea, Flood 2014,
    doi:10.1145/2660193.2660195).
    """
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


DRAWN = {"sobol": _sobol, "latin-hypercube": _latin_hypercube}
"""Designs of points (sides, runs) in a unit cube, any part of which can be drawn alone."""
