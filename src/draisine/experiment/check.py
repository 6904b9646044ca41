"""Comparison of the result of a scenario with expected numbers (published, measured, physical laws).

Each number x is compared with the computed y by |y - x| <= atol + rtol |x|, or within a factor; each
block of numbers may bound the root mean square (RMS) of the deviations as well.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError
from draisine.experiment.run import Result, run
from draisine.results import cycle
from draisine.results.bodies import Bodies
from draisine.results.queries import evaluate_series, parse_query
from draisine.results.straight import straight_quantity
from draisine.scenario.library import Loaded
from draisine.scenario.schema import (
    CycleScenario,
    Expected,
    GaitScenario,
    LinearScenario,
    MapScenario,
    SweepScenario,
)

TIME_TOLERANCE = 1e-6
"""Largest difference (s) between the time of an expected number and the sample time that it refers to.

The value is far below usual sampling intervals and above the rounding of times in a file.

"""

NODE_TOLERANCE = 1e-9
"""Largest difference (SI units) between the coordinate of an expected number and that of its grid node.

The value allows for the rounding of coordinates that are written in a file.

"""


@dataclass(frozen=True)
class Finding:
    """Comparison of one expected quantity with its computed value, at the point of worst agreement.

    Attributes
    ----------
    block
        Title of the block `[[expected]]` of the scenario.
    origin
        Source of the number: "published", "measured", "law", "disputed" and others.
    quantity
        Name of the quantity.
    where
        Point of worst agreement (time, speed or grid point), empty for a single number.
    expected, ours
        Expected and computed value at the point of worst agreement, SI units.
    deviation, allowed
        Absolute deviation and its bound at the point of worst agreement.
    compared
        Number of compared values.
    rms, rms_allowed
        Root mean square of all deviations, and its bound, if there is one.
    spread
        Standard deviation of the measured number, if known.
    note
        Remark of the scenario about the expected number.
    judged
        Whether a deviation beyond the bound is a disagreement. Measured numbers without bounds are
        only reported.
    """

    block: str
    origin: str
    quantity: str
    where: str
    expected: float
    ours: float
    deviation: float
    allowed: float
    compared: int
    rms: float
    rms_allowed: float | None
    spread: float | None
    note: str
    judged: bool = True

    @property
    def agrees(self) -> bool:
        """Whether all deviations and their root mean square are within the bounds.

        A disputed number agrees if the computed one differs from it; numbers without bounds agree.
        """
        if not self.judged:
            return True
        if self.origin == "disputed":
            return bool(self.deviation > self.allowed)
        rms_agrees = self.rms_allowed is None or self.rms <= self.rms_allowed
        return bool(self.deviation <= self.allowed) and rms_agrees

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as a dictionary for JSON; numbers that are not finite become None."""
        fields = dataclasses.asdict(self) | {"agrees": self.agrees}
        computed = {"ours", "deviation", "rms"}
        return {k: None if k in computed and not math.isfinite(v) else v for k, v in fields.items()}


def check(
    loaded: Loaded, progress: Callable[[float], None] | None = None
) -> tuple[Result, list[Finding]]:
    """Run a scenario and compare the result with its expected numbers.

    Parameters
    ----------
    loaded
        Scenario to run, see `draisine.scenario.library.load`.
    progress
        Called with the completed fraction (0 to 1) of a long run.

    Returns
    -------
    Result
        Result of the scenario.
    list of Finding
        One comparison per expected quantity, and per disputed number.
    """
    result = run(loaded, progress)
    return result, list(compare_expected(result))


def compare_expected(result: Result) -> Iterator[Finding]:
    """Compare each expected quantity of a scenario with its computed value; yield one finding each.

    Disputed numbers have one finding each, because each of them must differ from the computed value.
    """
    scenario = result.loaded.scenario
    for block in scenario.expected:
        for quantity, numbers in block.values.items():
            expected = np.atleast_1d(np.asarray(numbers, float))
            if isinstance(scenario, (MapScenario, SweepScenario, GaitScenario)):
                places, ours = _read_grid_values(result, block, quantity)
            elif isinstance(scenario, LinearScenario):
                speeds = block.at if isinstance(block.at, list) else None
                places = [f"v = {v:g} m/s" for v in speeds] if speeds else [""]
                ours = straight_quantity(quantity, result.system.model, result.data, speeds)
            elif isinstance(scenario, CycleScenario):
                labels = cycle.cycle_labels(result.system.model, scenario.cycle.components)
                places = [""]
                ours = cycle.cycle_quantity(quantity, labels, result.data)
            else:
                places, ours = _read_run_values(result.bodies, block, quantity)
            # Skip measurements after the end of a shortened run, because they have no computed
            # value. A missing computed value of a number with a bound is an error.
            indices = np.flatnonzero(block.judged | np.isfinite(ours))
            is_disputed = block.origin == "disputed"
            groups = np.split(indices, len(indices)) if is_disputed else [indices]
            for group in groups:
                if len(group):
                    compared_places = [places[k] for k in group]
                    yield _compare_values(
                        block, quantity, group, compared_places, expected[group], ours[group]
                    )


def _read_run_values(bodies: Bodies, block: Expected, quantity: str) -> tuple[list[str], Floats]:
    """Return labels and computed values of a quantity of a run.

    The values are those at the times of the block, or the single value of a scalar query.
    """
    times = bodies.data["time"].values
    if isinstance(block.at, list) and block.origin == "measured":
        # Measurements have sampling times of their own. Therefore interpolate the computed run.
        ours = np.interp(block.at, times, evaluate_series(quantity, bodies), right=np.nan)
        return [f"t = {t:g} s" for t in block.at], ours
    if isinstance(block.at, list):
        index = [int(np.argmin(np.abs(times - t))) for t in block.at]
        for t, k in zip(block.at, index, strict=True):
            if abs(times[k] - t) > TIME_TOLERANCE:
                raise DataError(
                    f"{block.title}: the run has no sample at {t:g} s. Change `at` or `run.dt`."
                )
        return [f"t = {t:g} s" for t in block.at], evaluate_series(quantity, bodies)[index]
    if len(times) == 1:
        return [""], evaluate_series(quantity, bodies)
    return [""], np.array([parse_query(quantity, bodies.model).evaluate(bodies)])


def _read_grid_values(result: Result, block: Expected, quantity: str) -> tuple[list[str], Floats]:
    """Return labels and computed values of a quantity at the grid points of a block."""
    assert isinstance(block.at, dict)  # checked by `scenario.validate.expectations`
    data = result.data
    index = {}
    for name, values in block.at.items():
        nodes = data[name].values
        nearest = [_find_grid_index(nodes, x) for x in values]
        for x, k in zip(values, nearest, strict=True):
            if k is None:
                raise DataError(
                    f"{block.title}: {name} = {x} is not on the grid. Change `at` or the grid."
                )
        index[name] = nearest
    ours = np.array(
        [
            float(data[quantity].isel({n: index[n][k] for n in index}))
            for k in range(len(next(iter(index.values()))))
        ]
    )
    places = [
        ", ".join(f"{n} = {_format_coordinate(block.at[n][k])}" for n in index)
        for k in range(len(ours))
    ]
    return places, ours


def _find_grid_index(nodes: Any, value: float | str) -> int | None:
    """Return the index of a value among the node coordinates of one grid axis; None if it is not a node."""
    if nodes.dtype.kind != "f":
        matches = np.nonzero(nodes == str(value))[0]
        return int(matches[0]) if len(matches) else None
    if isinstance(value, str):
        return None
    k = int(np.argmin(np.abs(nodes - value)))
    return k if abs(nodes[k] - value) <= NODE_TOLERANCE else None


def _format_coordinate(coordinate: float | str) -> str:
    """Format a coordinate of a grid point as short text."""
    return coordinate if isinstance(coordinate, str) else f"{coordinate:.4g}"


def _compare_values(
    block: Expected,
    quantity: str,
    indices: Any,
    labels: list[str],
    expected: Floats,
    computed: Floats,
) -> Finding:
    """Compare the expected numbers of a block at the given indices with the computed values."""
    deviation = np.abs(computed - expected)
    if quantity == "yaw":
        # Yaw angles that differ by whole turns are equal: use the smallest difference.
        wrapped = (computed - expected + np.pi) % (2.0 * np.pi) - np.pi
        deviation = np.abs(wrapped)
    # A factor f as bound accepts values from x/f to f x that have the sign of x.
    larger = computed * np.sign(expected) > np.abs(expected)
    by_factor = np.where(larger, block.factor - 1.0, 1.0 - 1.0 / block.factor)
    allowed = block.atol + (block.rtol + by_factor) * np.abs(expected)
    # Report the point with the largest deviation relative to its bound. If the bound is zero, use
    # the deviation itself.
    excess = np.where(np.isnan(deviation), np.inf, deviation - allowed)
    ratio = np.where(allowed > 0.0, excess / np.where(allowed > 0.0, allowed, 1.0), excess)
    worst = int(np.argmax(ratio))
    return Finding(
        block.title,
        block.origin,
        quantity,
        labels[worst],
        float(expected[worst]),
        float(computed[worst]),
        float(deviation[worst]),
        float(allowed[worst]),
        len(expected),
        float(np.sqrt(np.mean(deviation**2))),
        block.rms,
        float(np.atleast_1d(block.spread[quantity])[indices[worst]])
        if quantity in block.spread
        else None,
        " ".join(block.note.split()),
        block.judged,
    )
