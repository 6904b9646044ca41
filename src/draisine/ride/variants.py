"""Bicycles of an exported page: ranges of their parameters, and drawings tabulated over the parameters.

The exported page has no Python. It therefore interpolates the drawing of a bicycle linearly between stored
drawings if the user moves a slider.
"""

from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DraisineError
from draisine.ride.machine import SLIDERS, stability_chart
from draisine.system.system import System
from draisine.view.scene.description import describe_machine

CHART_STRIDE = 4
"""Stride of the speeds of the stability chart: every fourth speed is exported, to limit the file size."""

DRAWING_ERROR = 5e-3
"""Tolerated position error (m) of points in an interpolated drawing, about one pixel on the screen."""

MAX_DRAWINGS = 5
"""Largest number of stored drawings per parameter; it limits the file size."""


def describe_bicycle(system: System) -> dict[str, Any]:
    """Return the description of a bicycle as data for JSON: parameters, drawing, stability chart and sliders.

    It contains all data with which the page can change the parameters without Python.
    """
    ranges = {name: _range(system, name) for name in SLIDERS if name in system.parameters}
    chart = stability_chart(system)
    return {
        "parameters": system.parameters,
        "machine": describe_drawing(system),
        "chart": chart
        and {name: chart[name][::CHART_STRIDE] for name in ("speed", "weave", "capsize")},
        "sliders": {
            name: {
                "low": low,
                "high": high,
                "unit": SLIDERS[name].unit,
                "drawn": _drawn(system, name, low, high),
            }
            for name, (low, high) in ranges.items()
        },
    }


def describe_drawing(system: System) -> dict[str, Any]:
    """Return the drawing of a vehicle as data for JSON, in m.

    A rim is stored as a circle: its centre and two perpendicular radius vectors, nine numbers.
    """
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
    """Return all numbers in nested lists and dictionaries as one list, in the order of their occurrence.

    >>> numbers_in({"a": [1.0, {"b": 2.0}], "name": "c"})
    [1.0, 2.0]
    """
    if isinstance(tree, dict):
        return [x for value in tree.values() for x in numbers_in(value)]
    if isinstance(tree, (list, tuple)):
        return [x for value in tree for x in numbers_in(value)]
    return [float(tree)] if isinstance(tree, (int, float)) else []


def _is_possible(system: System, name: str, value: float) -> bool:
    """Return whether the vehicle is physically valid with the value `value` of the parameter `name`."""
    try:
        system.with_parameters(**{name: value})
    except DraisineError:
        return False
    return True


def _range(system: System, name: str) -> tuple[float, float]:
    """Return the lower and the upper bound of the slider `name`, limited to physically valid vehicles.

    Bisection between the current value and each end of the slider finds the limit of validity.
    """
    ends = []
    for end in (SLIDERS[name].low, SLIDERS[name].high):
        inside = system.parameters[name]
        for _ in range(10):
            if _is_possible(system, name, end):
                inside = end
                break
            middle = (inside + end) / 2.0
            inside, end = (middle, end) if _is_possible(system, name, middle) else (inside, middle)
        ends.append(inside)
    return min(ends[0], system.parameters[name]), max(ends[1], system.parameters[name])


def _drawn(system: System, name: str, low: float, high: float) -> dict[str, Any]:
    """Tabulate the drawing of a vehicle over the parameter `name` between `low` and `high`.

    The result contains `at`, the indices of the numbers that change (see `numbers_in`), and `by`, their
    values in one row per parameter value. The parameter values are equidistant; their intervals are halved
    until linear interpolation is accurate to `DRAWING_ERROR`.
    """
    samples = np.array([_numbers_at(system, name, value) for value in (low, high)])
    while len(samples) < MAX_DRAWINGS:
        values = np.linspace(low, high, 2 * len(samples) - 1)[1::2]
        between = np.array([_numbers_at(system, name, value) for value in values])
        if np.abs(between - (samples[1:] + samples[:-1]) / 2.0).max() < DRAWING_ERROR:
            break
        samples = np.insert(samples, range(1, len(samples)), between, axis=0)
    changing = np.flatnonzero(np.ptp(samples, axis=0) > DRAWING_ERROR / 10)
    return {"at": changing.tolist(), "by": np.round(samples[:, changing], 4).tolist()}


def _numbers_at(system: System, name: str, value: float) -> Floats:
    """Return all numbers (numbers,) of the drawing with the value `value` of the parameter `name`."""
    changed = System(system.artifacts, system.parameters | {name: float(value)})
    return np.array(numbers_in(describe_drawing(changed)))
