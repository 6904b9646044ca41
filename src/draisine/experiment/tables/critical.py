"""Critical speeds of a bicycle against some of its parameters, as data."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.analysis.bicycle.critical import LOOKED, critical_speeds
from draisine.analysis.bicycle.eigenvalues import is_plain
from draisine.errors import ParameterError
from draisine.results.bodies import machine_attributes
from draisine.scenario.validate.vehicle import build_system
from draisine.simulation.dataset import recorded
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset

SPEEDS = {
    "weave": "speed at which the weave changes its stability",
    "capsize": "speed at which the capsize changes its stability",
    "stable_from": "lower end of the stable range",
    "stable_to": "upper end of the stable range",
}


@recorded
def compute_critical_speeds(
    vehicle: str,
    parameters: Mapping[str, Any],
    parameter_set: str | None,
    ranges: Mapping[str, tuple[float, float, int]],
) -> "Dataset":
    """Return critical speeds at evenly spaced values of parameters, from the first end of each to the other;
    of several at all combinations.

    >>> found = compute_critical_speeds("whipple", {}, None, {"c": (0.04, 0.12, 3)})
    >>> print(found.weave.values.round(3))
    [3.753 4.292 4.696]
    """
    import xarray

    system = _first_system(vehicle, parameters, parameter_set, ranges)
    begun = time.perf_counter()
    values = {name: np.linspace(*ends) for name, ends in ranges.items()}
    grid = np.meshgrid(*values.values(), indexing="ij")
    found = critical_speeds(system, **dict(zip(ranges, grid, strict=True)))
    data = {
        speed: (tuple(ranges), getattr(found, speed), {"units": "m/s", "long_name": text})
        for speed, text in SPEEDS.items()
    }
    told = {name: system.meanings.get(name, ("", "")) for name in ranges}
    against = " and ".join(f"{n} ({meaning})" if meaning else n for n, (_, meaning) in told.items())
    reach = "" if is_plain(system) else f" up to {LOOKED[1]:g} m/s"
    sides = {
        n: (n, x, dict(zip(("units", "long_name"), told[n], strict=True)))
        for n, x in values.items()
    }
    return xarray.Dataset(
        {**data, "outcome": (tuple(ranges), np.full(grid[0].shape, "completed", dtype=object))},
        coords=sides,
        attrs={
            "vehicle": system.vehicle.__name__,
            **machine_attributes(system, f"critical speeds{reach} against {against}"),
            "seconds": time.perf_counter() - begun,
        },
    )


def _first_system(
    vehicle: str,
    parameters: Mapping[str, Any],
    parameter_set: str | None,
    ranges: Mapping[str, tuple[float, float, int]],
) -> System:
    """Return the machine at the first end of all ranges, or raise where one is none."""
    for name, (_, _, count) in ranges.items():
        if count < 2:
            raise ParameterError(f"{name}: a study has two values at least.")
    first = {name: low for name, (low, _, _) in ranges.items()}
    system = build_system(vehicle, {**parameters, **first}, parameter_set)
    for name in ranges:
        if name not in system.parameters:
            raise ParameterError(
                f"{name} is no number that can vary; it decides what {vehicle} is."
            )
    return system


def table(data: "Dataset") -> tuple[list[str], list[list[str]]]:
    """Return headings and rows; the last column tells whether some speed is stable."""
    sides = [str(n) for n in data["weave"].dims]
    units = {n: str(data[n].attrs["units"]) for n in sides}
    heads = [f"{n} ({unit.replace('rad', 'deg')})" if unit else n for n, unit in units.items()]
    rows = []
    for at in np.ndindex(*data["weave"].shape):
        values = [float(data[n][k]) for n, k in zip(sides, at, strict=True)]
        shown = [
            np.degrees(x) if units[n] == "rad" else x for n, x in zip(sides, values, strict=True)
        ]
        one = [float(data[speed].values[at]) for speed in SPEEDS]
        told = [f"{x:.4f}" if np.isfinite(x) else "-" for x in one]
        stable = "yes" if np.isfinite(one[2]) else "nowhere"
        rows.append([*(f"{x:.6g}" for x in shown), *told, stable])
    return [*heads, *(f"{n.replace('_', ' ')} (m/s)" for n in SPEEDS), "stable"], rows
