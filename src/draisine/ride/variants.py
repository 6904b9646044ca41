"""Bicycles of an exported page: parameter ranges, and drawings that are interpolated over parameters."""

from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DraisineError
from draisine.ride.machine import SLIDERS, stability_chart
from draisine.system.system import System
from draisine.view.scene.description import describe_machine

CHART_STRIDE = 4
"""Stride of the exported speeds of the stability chart: every fourth one, to limit the file size."""

DRAWING_ERROR = 5e-3
"""Largest error (m) of an interpolated drawing, about one pixel."""

MAX_DRAWINGS = 5
"""Largest number of stored drawings per parameter, to limit the file size."""


def describe_bicycle(system: System) -> dict[str, Any]:
    """Return the description of a bicycle as plain data, so that the page can change its parameters."""
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
    """Return the drawing of a vehicle as plain data (m); circles as centre and two radius vectors."""
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
    """Return all numbers in nested lists and dictionaries, in order.

    >>> numbers_in({"a": [1.0, {"b": 2.0}], "name": "c"})
    [1.0, 2.0]
    """
    if isinstance(tree, dict):
        return [x for value in tree.values() for x in numbers_in(value)]
    if isinstance(tree, (list, tuple)):
        return [x for value in tree for x in numbers_in(value)]
    return [float(tree)] if isinstance(tree, (int, float)) else []


def _is_possible(system: System, name: str, value: float) -> bool:
    """Return whether the vehicle is physically valid with another value of the named parameter."""
    try:
        system.with_parameters(**{name: value})
    except DraisineError:
        return False
    return True


def _range(system: System, name: str) -> tuple[float, float]:
    """Return the bounds of a slider within which the vehicle is physically valid, found by bisection."""
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
    """Return the indices of a drawing's numbers that change with a parameter, and their tabulated values.

    The parameter values are equidistant; their number is doubled until linear interpolation is accurate.
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
    """Return all numbers of the drawing (numbers,) for another value of the named parameter."""
    changed = System(system.artifacts, system.parameters | {name: float(value)})
    return np.array(numbers_in(describe_drawing(changed)))
