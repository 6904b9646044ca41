"""Published numbers against ours."""

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


@dataclass(frozen=True)
class Finding:
    """One expected quantity held against ours, told where it agrees worst; `spread` is the standard
    deviation of a measured number, if it is known.
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
        """Whether all compared numbers are within the tolerance, and their root mean square is; of a
        number that is disputed, whether ours differs. Measured ones without bounds are not judged.
        """
        if not self.judged:
            return True
        if self.origin == "disputed":
            return bool(self.deviation > self.allowed)
        close = self.rms_allowed is None or self.rms <= self.rms_allowed
        return bool(self.deviation <= self.allowed) and close

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data, ready for JSON."""
        found = dataclasses.asdict(self) | {"agrees": self.agrees}
        plain = {"ours", "deviation", "rms"}
        return {k: None if k in plain and not math.isfinite(v) else v for k, v in found.items()}


def check(
    loaded: Loaded, progress: Callable[[float], None] | None = None
) -> tuple[Result, list[Finding]]:
    """Return what a scenario leaves, and each of its expected numbers against it; `progress` is told
    which fraction of a long run is done.
    """
    result = run(loaded, progress)
    return result, list(findings(result))


def findings(result: Result) -> Iterator[Finding]:
    """Yield each expected number of a scenario against a result."""
    scenario = result.loaded.scenario
    for block in scenario.expected:
        for quantity, wanted in block.values.items():
            expected = np.atleast_1d(np.asarray(wanted, float))
            if isinstance(scenario, (MapScenario, SweepScenario, GaitScenario)):
                places, ours = _on_map(result, block, quantity)
            elif isinstance(scenario, LinearScenario):
                at = block.at if isinstance(block.at, list) else None
                places = [f"v = {v:g} m/s" for v in at] if at else [""]
                ours = straight_quantity(quantity, result.system.model, result.data, at)
            elif isinstance(scenario, CycleScenario):
                known = cycle.cycle_labels(result.system.model, scenario.cycle.components)
                places, ours = [""], cycle.cycle_quantity(quantity, known, result.data)
            else:
                places, ours = _in_run(result.bodies, block, quantity)
            there = np.flatnonzero(
                block.judged | np.isfinite(ours)
            )  # measured after the run, or not at all
            if len(there):
                told = [places[k] for k in there]
                yield _held(block, quantity, there, told, expected[there], ours[there])


def _in_run(bodies: Bodies, block: Expected, quantity: str) -> tuple[list[str], Floats]:
    times = bodies.data["time"].values
    if isinstance(block.at, list) and block.origin == "measured":
        known = evaluate_series(quantity, bodies)
        ours = np.interp(block.at, times, known, right=np.nan)
        return [f"t = {t:g} s" for t in block.at], ours
    if isinstance(block.at, list):
        index = [int(np.argmin(np.abs(times - t))) for t in block.at]
        for t, k in zip(block.at, index, strict=True):
            if abs(times[k] - t) > 1e-6:
                raise DataError(f"{block.title}: {t:g} s is not among the samples of the run.")
        return [f"t = {t:g} s" for t in block.at], evaluate_series(quantity, bodies)[index]
    if len(times) == 1:
        return [""], evaluate_series(quantity, bodies)
    return [""], np.array([parse_query(quantity, bodies.model).evaluate(bodies)])


def _on_map(result: Result, block: Expected, quantity: str) -> tuple[list[str], Floats]:
    assert isinstance(block.at, dict)  # see expectations
    data = result.data
    index = {}
    for name, values in block.at.items():
        known = data[name].values
        near = [_nearest(known, x) for x in values]
        for x, k in zip(values, near, strict=True):
            if k is None:
                raise DataError(f"{block.title}: {name} = {x} is not on the grid.")
        index[name] = near
    ours = np.array(
        [
            float(data[quantity].isel({n: index[n][k] for n in index}))
            for k in range(len(next(iter(index.values()))))
        ]
    )
    places = [", ".join(f"{n} = {_short(block.at[n][k])}" for n in index) for k in range(len(ours))]
    return places, ours


def _nearest(known: Any, wanted: float | str) -> int | None:
    """Return where a value stands along a side of a grid; None where it does not."""
    if known.dtype.kind != "f":
        found = np.nonzero(known == str(wanted))[0]
        return int(found[0]) if len(found) else None
    if isinstance(wanted, str):
        return None
    k = int(np.argmin(np.abs(known - wanted)))
    return k if abs(known[k] - wanted) <= 1e-9 else None


def _short(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:.4g}"


def _held(
    block: Expected,
    quantity: str,
    there: Any,
    places: list[str],
    expected: Floats,
    ours: Floats,
) -> Finding:
    """Return some of the numbers of a block, those that stand `there`, against ours."""
    deviation = np.abs(ours - expected)
    if quantity == "yaw":  # headings differ by whole turns
        turned = (ours - expected + np.pi) % (2.0 * np.pi) - np.pi
        deviation = np.abs(turned)
    larger = ours * np.sign(expected) > np.abs(expected)
    by_factor = np.where(larger, block.factor - 1.0, 1.0 - 1.0 / block.factor)
    allowed = block.atol + (block.rtol + by_factor) * np.abs(expected)
    margin = np.where(np.isnan(deviation), np.inf, deviation - allowed)
    ratio = np.where(allowed > 0.0, margin / np.where(allowed > 0.0, allowed, 1.0), margin)
    worst = int(np.argmax(ratio))
    return Finding(
        block.title,
        block.origin,
        quantity,
        places[worst],
        float(expected[worst]),
        float(ours[worst]),
        float(deviation[worst]),
        float(allowed[worst]),
        len(expected),
        float(np.sqrt(np.mean(deviation**2))),
        block.rms,
        float(np.atleast_1d(block.spread[quantity])[there[worst]])
        if quantity in block.spread
        else None,
        " ".join(block.note.split()),
        block.judged,
    )
