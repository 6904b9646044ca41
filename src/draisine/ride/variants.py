"""What an exported page can change by itself: bicycles, how far their parameters go, how they are drawn
meanwhile.
"""

from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DraisineError
from draisine.ride.chart import stability_chart
from draisine.ride.machine import SLIDERS
from draisine.system.system import System
from draisine.view.scene.description import describe_machine

CHART = 4
"""Of so many speeds of the stability chart an exported page keeps one."""

FINE = 5e-3
MOST = 5
"""How exact a drawing between two others is, m, and how many are kept at most."""


def describe_bicycle(system: System) -> dict[str, Any]:
    """Return a bicycle as numbers, to be changed without Python."""
    ranges = {name: _range(system, name) for name in SLIDERS if name in system.parameters}
    chart = stability_chart(system)
    return {
        "parameters": system.parameters,
        "machine": drawing(system),
        "chart": chart and {name: chart[name][::CHART] for name in ("speed", "weave", "capsize")},
        "sliders": {
            name: {
                "low": low,
                "high": high,
                "meaning": SLIDERS[name].meaning,
                "drawn": _drawn(system, name, low, high),
            }
            for name, (low, high) in ranges.items()
        },
    }


def drawing(system: System) -> dict[str, Any]:
    """Return what is drawn of a machine, circles as centre and two radii."""
    machine = describe_machine(system.model)
    for part in machine["parts"]:
        if part["kind"] == "rim":
            ring = np.reshape(part.pop("points"), (-1, 3))
            centre = ring[:-1].mean(axis=0)
            quarter = ring[(len(ring) - 1) // 4]
            radii = np.concatenate([centre, ring[0] - centre, quarter - centre])
            part["circle"] = np.round(radii, 5).tolist()
    return machine


def numbers_in(tree: Any) -> list[float]:
    """Return all numbers of nested lists and dictionaries, in order.

    >>> numbers_in({"a": [1.0, {"b": 2.0}], "name": "c"})
    [1.0, 2.0]
    """
    if isinstance(tree, dict):
        return [x for value in tree.values() for x in numbers_in(value)]
    if isinstance(tree, (list, tuple)):
        return [x for value in tree for x in numbers_in(value)]
    return [float(tree)] if isinstance(tree, (int, float)) else []


def _possible(system: System, name: str, value: float) -> bool:
    try:
        system.with_parameters(**{name: value})
    except DraisineError:
        return False
    return True


def _range(system: System, name: str) -> tuple[float, float]:
    """Return how far a slider goes from the present value before the machine becomes impossible."""
    ends = []
    for end in (SLIDERS[name].low, SLIDERS[name].high):
        inside = system.parameters[name]
        for _ in range(10):
            if _possible(system, name, end):
                inside = end
                break
            middle = (inside + end) / 2.0
            inside, end = (middle, end) if _possible(system, name, middle) else (inside, middle)
        ends.append(inside)
    return min(ends[0], system.parameters[name]), max(ends[1], system.parameters[name])


def _drawn(system: System, name: str, low: float, high: float) -> dict[str, Any]:
    """Return how the drawing changes with a parameter: which of its numbers, and their values at
    equal distances, as few as are needed to draw straight lines between them.
    """
    kept = np.array([_numbers_at(system, name, value) for value in (low, high)])
    while len(kept) < MOST:
        values = np.linspace(low, high, 2 * len(kept) - 1)[1::2]
        between = np.array([_numbers_at(system, name, value) for value in values])
        if np.abs(between - (kept[1:] + kept[:-1]) / 2.0).max() < FINE:
            break
        kept = np.insert(kept, range(1, len(kept)), between, axis=0)
    changing = np.flatnonzero(np.ptp(kept, axis=0) > FINE / 10)
    return {"at": changing.tolist(), "by": np.round(kept[:, changing], 4).tolist()}


def _numbers_at(system: System, name: str, value: float) -> Floats:
    changed = System(system.artifacts, system.parameters | {name: float(value)})
    return np.array(numbers_in(drawing(changed)))
