"""Critical speeds of a bicycle over ranges of its parameters: weave, capsize and the stable range."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.analysis.bicycle.critical import SEARCHED_SPEEDS, critical_speeds
from draisine.analysis.bicycle.eigenvalues import is_plain
from draisine.errors import ParameterError
from draisine.results.bodies import machine_attributes
from draisine.scenario.validate.vehicle import build_system
from draisine.simulation.dataset import with_recipe
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset

CRITICAL_SPEEDS = {
    "weave": "speed at which the weave changes its stability",
    "capsize": "speed at which the capsize changes its stability",
    "stable_from": "lower end of the stable range",
    "stable_to": "upper end of the stable range",
}
"""Meaning of the critical speeds (m/s) that are computed for each parameter combination, by name."""


@with_recipe
def compute_critical_table(
    vehicle: str,
    parameters: Mapping[str, Any],
    parameter_set: str | None,
    ranges: Mapping[str, tuple[float, float, int]],
) -> "Dataset":
    """Return the critical speeds of a bicycle on a grid of parameter values as a dataset.

    Each range is (first value, last value, number of values). The dataset has one dimension per range.

    >>> speeds = compute_critical_table("whipple", {}, None, {"c": (0.04, 0.12, 3)})
    >>> print(speeds.weave.values.round(3))
    [3.753 4.292 4.696]
    """
    import xarray

    system = _build_first_system(vehicle, parameters, parameter_set, ranges)
    start_time = time.perf_counter()
    values = {name: np.linspace(*ends) for name, ends in ranges.items()}
    grid = np.meshgrid(*values.values(), indexing="ij")
    speeds = critical_speeds(system, **dict(zip(ranges, grid, strict=True)))
    data = {
        name: (tuple(ranges), getattr(speeds, name), {"units": "m/s", "long_name": meaning})
        for name, meaning in CRITICAL_SPEEDS.items()
    }
    units = {name: system.meanings.get(name, ("", ""))[0] for name in ranges}
    meanings = {name: system.meanings.get(name, ("", ""))[1] for name in ranges}
    varied = " and ".join(f"{n} ({meaning})" if meaning else n for n, meaning in meanings.items())
    # Without canonical matrices, the eigenvalues are followed numerically up to this speed.
    limit = "" if is_plain(system) else f" up to {SEARCHED_SPEEDS[1]:g} m/s"
    coords = {n: (n, x, {"units": units[n], "long_name": meanings[n]}) for n, x in values.items()}
    return xarray.Dataset(
        {**data, "outcome": (tuple(ranges), np.full(grid[0].shape, "completed", dtype=object))},
        coords=coords,
        attrs={
            "vehicle": system.vehicle.__name__,
            **machine_attributes(system, f"critical speeds{limit} against {varied}"),
            "seconds": time.perf_counter() - start_time,
        },
    )


def _build_first_system(
    vehicle: str,
    parameters: Mapping[str, Any],
    parameter_set: str | None,
    ranges: Mapping[str, tuple[float, float, int]],
) -> System:
    """Return the bicycle compiled with the first value of all ranges; raise an error for invalid ranges."""
    for name, (_, _, count) in ranges.items():
        if count < 2:
            raise ParameterError(f"The range of {name} needs at least two values, not {count}.")
    first = {name: low for name, (low, _, _) in ranges.items()}
    system = build_system(vehicle, {**parameters, **first}, parameter_set)
    for name in ranges:
        if name not in system.parameters:
            raise ParameterError(
                f"{name} selects the structure of {vehicle} and cannot be varied over a range. "
                "Compute one study per value."
            )
    return system


def tabulate_critical_speeds(data: "Dataset") -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of text; the last column is "yes" if a stable range of speeds exists."""
    dims = [str(n) for n in data["weave"].dims]
    units = {n: str(data[n].attrs["units"]) for n in dims}
    headings = [f"{n} ({unit.replace('rad', 'deg')})" if unit else n for n, unit in units.items()]
    headings += [f"{n.replace('_', ' ')} (m/s)" for n in CRITICAL_SPEEDS]
    rows = []
    for index in np.ndindex(*data["weave"].shape):
        values = [float(data[n][k]) for n, k in zip(dims, index, strict=True)]
        shown = [
            np.degrees(x) if units[n] == "rad" else x for n, x in zip(dims, values, strict=True)
        ]
        speeds = {name: float(data[name].values[index]) for name in CRITICAL_SPEEDS}
        cells = [f"{x:.4f}" if np.isfinite(x) else "-" for x in speeds.values()]
        stable = "yes" if np.isfinite(speeds["stable_from"]) else "nowhere"
        rows.append([*(f"{x:.6g}" for x in shown), *cells, stable])
    return [*headings, "stable"], rows
