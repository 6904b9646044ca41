"""All limit cycles of a machine whose grips take turns: with one set of parameters, or in families
over one of them.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.gait.map import ANGLE_COMPONENTS, Gait, gait
from draisine.analysis.gait.stride import Stride
from draisine.analysis.return_map import Cycle, CycleFamily, families
from draisine.errors import ParameterError
from draisine.experiment.kinds.cycle import cycle_dataset, labels_of, lines, ride_cycle
from draisine.results.bodies import machine_attributes
from draisine.results.cycle import ORDINALS, QUANTITIES, multipliers_of, summary_of
from draisine.scenario.validate.vehicle import build_system
from draisine.simulation.dataset import recorded
from draisine.vehicles import expect_parameters

if TYPE_CHECKING:
    from xarray import Dataset

SAMPLES = 200
"""Samples of each cycle's motion."""

SCANNED = (
    *("Omega0", "theta0", "multiplier_real", "multiplier_imaginary", "growth", "stable"),
    *("mean_speed", "peak_torque", "force_over_weight"),
)
"""What is told of every member of a family."""

JointStatus = Literal["free", "held"]


@recorded
def every_cycle(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    *,
    joint: JointStatus = "free",
) -> "Dataset":
    """Return all cycles of a machine, with their motions: time first, then one entry per cycle.

    >>> found = every_cycle("rocr")
    >>> [f"{speed:.6f}" for speed in found.mean_speed.values]
    ['0.299982', '-0.191738']
    """
    import xarray

    begun = time.perf_counter()
    walk = _walk(vehicle, parameters, parameter_set, joint)
    found = walk.cycles()
    if not found:
        raise ParameterError(f"{vehicle}: no cycle was found with these parameters.")
    strides = [Stride(walk, cycle) for cycle in found]
    each = [cycle_dataset(stride, ride_cycle(stride, SAMPLES)) for stride in strides]
    data = xarray.concat(each, "cycle", combine_attrs="override").transpose("time", "cycle", ...)
    return _signed(data, walk, f"limit cycles of {vehicle}", begun)


@recorded
def scan_cycles(
    vehicle: str,
    values: Sequence[float] | Floats,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    *,
    over: str = "phase",
    joint: JointStatus = "free",
    progress: Callable[[float], None] | None = None,
) -> "Dataset":
    """Return the families of cycles over values of a parameter: one entry per value and family, not a
    number where a family does not reach. Attributes tell where families turn stable or unstable, and
    where they stand still. `progress` is told which fraction of the values has been reached.

    >>> found = scan_cycles("rocr", np.linspace(3.0, 4.0, 3))
    >>> [f"{x:.6f}" for x in json.loads(found.attrs["zero_speed"])[0]]
    ['3.751889']
    """
    begun = time.perf_counter()
    walk = _walk(vehicle, parameters, parameter_set, joint)
    expect_parameters(walk.system.vehicle, [over], walk.system.parameters)
    reached: set[float] = set()

    @cache
    def make(value: float) -> Gait:
        reached.add(value)
        if progress is not None:
            progress(min(1.0, len(reached) / len(values)))
        return walk.at(**{over: value})

    @cache
    def stride(value: float, cycle: Cycle) -> Stride:
        return Stride(make(value), cycle)

    def rise(value: float, cycle: Cycle) -> float:
        return float(stride(value, cycle).displacement[1])

    found = families(make, values, lambda G: _of(G).cycles(), angles=ANGLE_COMPONENTS)
    if not found:
        raise ParameterError(f"{vehicle}: no cycle was found at these values of {over}.")
    data = _table_of(walk, found, np.asarray(values, float), over, stride)
    ends = [[v for v, _ in f.crossings(lambda _, cycle: cycle.growth - 1.0)] for f in found]
    still = [[v for v, _ in f.crossings(rise)] for f in found]
    data.attrs |= {"over": over, "stability": json.dumps(ends), "zero_speed": json.dumps(still)}
    return _signed(data, walk, f"families of limit cycles of {vehicle} over {over}", begun)


def _of(G: Any) -> Gait:
    """Return a map that is a gait."""
    assert isinstance(G, Gait)
    return G


def _walk(
    vehicle: str,
    parameters: Mapping[str, Any] | None,
    parameter_set: str | None,
    joint: JointStatus,
) -> Gait:
    """Return the gait of a vehicle, its names and numbers checked."""
    return gait(build_system(vehicle, parameters, parameter_set), joint=joint)


def _table_of(
    walk: Gait,
    found: Sequence[CycleFamily],
    values: Floats,
    over: str,
    measured: Callable[[float, Cycle], Stride],
) -> "Dataset":
    """Return the members of families, measured, by value and family."""
    import xarray

    data: dict[str, Any] = {}
    for j, family in enumerate(found):
        for value, cycle in zip(family.values, family.cycles, strict=True):
            k = int(np.argmin(np.abs(values - value)))
            stride = measured(value, cycle)
            for name in SCANNED:
                dims, measure, unit, meaning = QUANTITIES[name]
                x = measure(stride)
                if name not in data:
                    blank = np.full((len(values), len(found), *np.shape(x)), np.nan)
                    attributes = {"units": unit, "long_name": meaning}
                    data[name] = ((over, "family", *dims), blank, attributes)
                data[name][1][k, j] = x
    labels = labels_of(walk)
    coords = {over: values, "family": np.arange(1, len(found) + 1), "joint": labels["joint"]}
    return xarray.Dataset(data, coords=coords | {"multiplier": list(ORDINALS[:2])})


def _signed(data: "Dataset", walk: Gait, title: str, begun: float) -> "Dataset":
    data.attrs |= {
        "vehicle": walk.system.vehicle.__name__,
        **machine_attributes(walk.system, title),
        "joint_at_impact": walk.joint,
        "period": walk.period,
        "seconds": time.perf_counter() - begun,
    }
    return data


def summary(data: "Dataset") -> dict[str, Any]:
    """Return cycles or families as plain data in SI units, ready for JSON."""
    found: dict[str, Any] = {
        "vehicle": data.attrs["vehicle"],
        "parameters": json.loads(data.attrs["parameters"]),
        "joint_at_impact": data.attrs["joint_at_impact"],
        "seconds": data.attrs["seconds"],
    }
    if "cycle" in data.dims:
        each = [summary_of(data.isel(cycle=k)) for k in range(data.sizes["cycle"])]
        return found | {"cycles": each}
    over = data.attrs["over"]
    edges = [json.loads(data.attrs[name]) for name in ("stability", "zero_speed")]
    told = [
        {
            "members": [
                {over: value, **_member(data.isel({over: k, "family": j}))}
                for k, value in enumerate(data[over].values.tolist())
                if np.isfinite(data["Omega0"].values[k, j])
            ],
            "stability_changes_at": edges[0][j],
            "stands_still_at": edges[1][j],
        }
        for j in range(data.sizes["family"])
    ]
    return found | {"over": over, "families": told}


def _member(one: "Dataset") -> dict[str, Any]:
    found = summary_of(one)
    return found | {"stable": bool(found["stable"])}


HEADINGS = ("Omega (rad/s)", "theta (rad)", "speed (m/s)", "torque (N m)", "force / weight")
"""What a line about a cycle tells, before its multipliers and whether it is stable."""


def table(data: "Dataset", most: int = 13) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of text: all cycles, or some members of each family."""
    if "cycle" in data.dims:
        rows = [_row(summary_of(data.isel(cycle=k))) for k in range(data.sizes["cycle"])]
        return [*HEADINGS, "multipliers", "stable"], rows
    over, rows = data.attrs["over"], []
    count = data.sizes[over]
    for j in range(data.sizes["family"]):
        for k in np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int)):
            one = data.isel({over: k, "family": j})
            if np.isfinite(float(one["Omega0"])):
                rows.append([str(j + 1), f"{float(one[over]):.6g}", *_row(summary_of(one))])
    return ["family", over, *HEADINGS, "multipliers", "stable"], rows


def _row(one: Mapping[str, Any]) -> list[str]:
    torque = max(one["peak_torque"].values())
    numbers = (one["Omega0"], one["theta0"], one["mean_speed"], torque, one["force_over_weight"])
    return [*(f"{x:.6f}" for x in numbers), multipliers_of(one), "yes" if one["stable"] else "no"]


def remarks(data: "Dataset") -> list[str]:
    """Return lines about cycles or families."""
    seconds = f"computed in {data.attrs['seconds']:.3g} s"
    known = {"free": "joints are free at an impact and set back after it (as published)"}
    how = known.get(data.attrs["joint_at_impact"], "joints are held on their motions at an impact")
    if "cycle" in data.dims:
        count = data.sizes["cycle"]
        told = []
        for k in range(count):
            told += [f"cycle {k + 1}", *(f"  {line}" for line in lines(data.isel(cycle=k)))]
        return [*told, f"{count} cycles, {how}; {seconds}"]
    over, told = data.attrs["over"], []
    edges = [json.loads(data.attrs[name]) for name in ("stability", "zero_speed")]
    for j in range(data.sizes["family"]):
        for what, at in zip(("turns stable or unstable", "stands still"), edges, strict=True):
            if at[j]:
                places = ", ".join(f"{x:.9g}" for x in at[j])
                told.append(f"family {j + 1} {what} at {over} = {places}")
    return [*told, f"{data.sizes['family']} families, {how}; {seconds}"]
