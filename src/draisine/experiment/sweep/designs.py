"""Experimental designs of sweeps: the varied values of each run.

A grid has all combinations, a list pairs values, and one-at-a-time varies each quantity alone. Sobol
sequences and Latin hypercubes sample ranges. Each worker computes the points of its own runs, so that
no list of all points is needed.
"""

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
from draisine.scenario.overrides import split_key_path
from draisine.scenario.sweep import Sweep

Words = NDArray[np.uint64]
"""Type of an array of unsigned 64-bit integers."""

Columns = dict[str, NDArray[Any]]
"""Varied values by key path, one array (runs,) each: floats, or objects as in the scenario file."""


@dataclass(frozen=True, eq=False)
class Design:
    """Experimental design of a sweep: the varied values of all runs.

    Attributes
    ----------
    sweep
        The table `[sweep]` of the scenario.
    axis_values
        Values by key path: nodes along each axis of a grid, or one value per run.
    """

    sweep: Sweep
    axis_values: Columns

    @property
    def count(self) -> int:
        """Number of runs of the sweep."""
        if self.sweep.design == "grid":
            return math.prod(map(len, self.axis_values.values()))
        if self.sweep.design in SAMPLED_DESIGNS:
            assert self.sweep.count is not None
            return self.sweep.count
        return len(next(iter(self.axis_values.values())))

    def columns(self, first: int, last: int) -> Columns:
        """Return the values of runs `first` <= k < `last`; the last key path of a grid varies fastest."""
        last = min(last, self.count)
        if self.sweep.design == "grid":
            shape = [len(x) for x in self.axis_values.values()]
            indices = np.unravel_index(np.arange(first, last), shape)
            return {
                path: x[k] for (path, x), k in zip(self.axis_values.items(), indices, strict=True)
            }
        if self.sweep.design in SAMPLED_DESIGNS:
            unit_points = SAMPLED_DESIGNS[self.sweep.design](self.sweep, first, last)
            return {
                path: bounds.low + (bounds.high - bounds.low) * x
                for (path, bounds), x in zip(self.sweep.between.items(), unit_points, strict=True)
            }
        return {path: x[first:last] for path, x in self.axis_values.items()}


def make_design(sweep: Sweep, loaded: Loaded) -> Design:
    """Return the experimental design of a sweep scenario."""
    values = {path: as_column(x) for path, x in sweep.values().items()}
    if sweep.design == "one-at-a-time":
        nominal = {path: _find_nominal_value(path, loaded) for path in values}
        values = _vary_one_at_a_time(sweep.values(), nominal)
    return Design(sweep, values)


def as_column(values: list[Any]) -> NDArray[Any]:
    """Convert values to an array of floats if all are floats, otherwise to an array of objects.

    >>> as_column([0.5, 1.0]).dtype, as_column([1, "10deg"]).dtype
    (dtype('float64'), dtype('O'))
    """
    if all(isinstance(x, float) for x in values):
        return np.array(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def scenario_value(values: NDArray[Any], index: int) -> Any:
    """Return one value as a Python object, as a scenario file contains it; NumPy scalars are converted."""
    return values[index].item() if isinstance(values[index], np.generic) else values[index]


def _vary_one_at_a_time(values: Mapping[str, list[Any]], nominal: Mapping[str, Any]) -> Columns:
    """Return a run with nominal values, followed by runs in which one value differs."""
    rows = [dict(nominal)] + [{**nominal, path: x} for path in values for x in values[path]]
    return {path: as_column([row[path] for row in rows]) for path in values}


def _find_nominal_value(path: str, loaded: Loaded) -> Any:
    """Return the value at a key path of the scenario, or the parameter value of its vehicle."""
    node: Any = loaded.content
    for key in split_key_path(path):
        children = node if isinstance(node, dict) else dict(enumerate(node or ()))
        node = children.get(key)
    if node is not None:
        return node
    table, _, name = path.rpartition(".")
    if table == "vehicle.parameters" and name in loaded.plan.system.parameters:
        return float(loaded.plan.system.parameters[name])
    raise DataError(
        f"{loaded.file}: the design 'one-at-a-time' needs a nominal value of {path}: write {path} into "
        "the scenario."
    )


def _draw_sobol_points(sweep: Sweep, first: int, last: int) -> Floats:
    """Return points (axes, runs) of a Sobol sequence with Owen scrambling (doi:10.1006/jcom.1998.0487)."""
    from scipy.stats import qmc

    points = qmc.Sobol(d=len(sweep.between), seed=sweep.seed)
    if first:
        points.fast_forward(first)
    # Suppress the warning of SciPy that the number of points is no power of two: the schema ensures
    # it for the whole design, but a chunk is a part of it.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The balance properties", category=UserWarning)
        return np.asarray(points.random(last - first)).T


def _draw_latin_hypercube(sweep: Sweep, first: int, last: int) -> Floats:
    """Return points (axes, runs) of a Latin hypercube: one point per layer along every axis.

    Each point has a random position within its layer (McKay, Beckman, Conover 1979,
    doi:10.2307/1268522).
    """
    assert sweep.count is not None
    runs = np.arange(first, last, dtype=np.uint64)
    points = []
    seed = hash_numbers(np.array([sweep.seed % 2**64], dtype=np.uint64))
    for axis in range(len(sweep.between)):
        key = hash_numbers(seed + np.uint64(axis))
        layer = permute(runs, sweep.count, key)
        # The upper 53 bits of a 64-bit hash give a double with a uniform distribution in [0, 1).
        offset = hash_numbers(layer ^ hash_numbers(~key)) >> np.uint64(11)
        points.append((layer + offset * 2.0**-53) / sweep.count)
    return np.array(points)


def permute(numbers: Words, count: int, key: Words) -> Words:
    """Return the images of numbers under a random permutation of 0 ... `count` - 1, without storing it.

    A Feistel network permutes the numbers of an even number of bits; it is repeated until the image is
    below count ("cycle walking", Black, Rogaway 2002, doi:10.1007/3-540-45760-7_9).

    >>> sorted(permute(np.arange(10, dtype="uint64"), 10, np.array([3], "uint64")).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    half = np.uint64(max(1, -(-(count - 1).bit_length() // 2)))
    mask = (np.uint64(1) << half) - np.uint64(1)
    images = numbers.copy()
    pending = np.ones(len(images), dtype=bool)
    while pending.any():
        a = images[pending] >> half
        b = images[pending] & mask
        for turn in range(6):
            a, b = b, a ^ (hash_numbers(b ^ hash_numbers(key + np.uint64(turn))) & mask)
        images[pending] = (a << half) | b
        pending &= images >= count
    return images


def hash_numbers(numbers: Words) -> Words:
    """Return a 64-bit hash of each number by SplitMix64.

    Steele, Lea, Flood 2014, doi:10.1145/2660193.2660195.
    """
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


SAMPLED_DESIGNS = {"sobol": _draw_sobol_points, "latin-hypercube": _draw_latin_hypercube}
"""Sampling function of each random design: points of an interval of runs in the unit cube, (axes, runs)."""
