"""Critical speeds of a bicycle against one of its parameters, as data."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.analysis.bicycle.critical import LOOKED, critical_speeds
from draisine.analysis.bicycle.eigenvalues import is_plain
from draisine.errors import ParameterError
from draisine.results.bodies import machine_attributes
from draisine.scenario.validate.vehicle import build_system
from draisine.vehicles import meanings

if TYPE_CHECKING:
    from xarray import Dataset

SPEEDS = {
    "weave": "speed from which on the weave is damped",
    "capsize": "speed at which a real eigenvalue is zero",
    "stable_from": "lower end of the stable range",
    "stable_to": "upper end of the stable range",
}


def critical_study(
    vehicle: str,
    parameters: Mapping[str, Any],
    parameter_set: str | None,
    name: str,
    ends: tuple[float, float, int],
) -> "Dataset":
    """Return critical speeds at evenly spaced values of a parameter, from the first end to the other.

    >>> found = critical_study("whipple", {}, None, "c", (0.04, 0.12, 3))
    >>> print(found.weave.values.round(3))
    [3.753 4.292 4.696]
    """
    import xarray

    low, high, count = ends
    if count < 2:
        raise ParameterError(f"{name}: a study has two values at least.")
    system = build_system(vehicle, {**parameters, name: low}, parameter_set)
    if name not in system.parameters:
        raise ParameterError(f"{name} is no number that can vary; it decides what {vehicle} is.")
    begun = time.perf_counter()
    values = np.linspace(low, high, count)
    found = critical_speeds(system, **{name: values})
    unit, meaning = meanings(system.vehicle).get(name, ("", ""))
    data = {
        speed: (name, getattr(found, speed), {"units": "m/s", "long_name": text})
        for speed, text in SPEEDS.items()
    }
    reach = "" if is_plain(system) else f" up to {LOOKED[1]:g} m/s"
    title = f"critical speeds{reach} against {name}" + (f" ({meaning})" if meaning else "")
    return xarray.Dataset(
        {**data, "outcome": (name, np.full(count, "completed", dtype=object))},
        coords={name: (name, values, {"units": unit, "long_name": meaning})},
        attrs={
            "vehicle": system.vehicle.__name__,
            **machine_attributes(system, title),
            "seconds": time.perf_counter() - begun,
        },
    )


def table(data: "Dataset") -> tuple[list[str], list[list[str]]]:
    """Return headings and rows; the last column tells whether some speed is stable."""
    (name,) = (str(n) for n in data.dims)
    unit = str(data[name].attrs["units"])
    scale, unit = (180.0 / np.pi, "deg") if unit == "rad" else (1.0, unit)
    rows = []
    for k in range(data.sizes[name]):
        one = [float(data[speed][k]) for speed in SPEEDS]
        told = [f"{x:.4f}" if np.isfinite(x) else "-" for x in one]
        stable = "yes" if np.isfinite(one[2]) else "nowhere"
        rows.append([f"{scale * float(data[name][k]):.6g}", *told, stable])
    head = f"{name} ({unit})" if unit else name
    return [head, *(f"{n.replace('_', ' ')} (m/s)" for n in SPEEDS), "stable"], rows
