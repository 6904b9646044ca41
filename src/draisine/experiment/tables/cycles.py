"""All limit cycles of a system with alternating grips, for one parameter set or as families.

A limit cycle is a fixed point of the return map over one period (`analysis.gait.map`). Families
over a parameter are followed by continuation.

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
from draisine.experiment.kinds.cycle import (
    cycle_dataset,
    describe_cycle,
    dimension_labels,
    simulate_cycle,
)
from draisine.results.bodies import machine_attributes
from draisine.results.cycle import (
    GRIP_CYCLE_QUANTITIES,
    MULTIPLIER_LABELS,
    format_multipliers,
    summarise_cycle,
)
from draisine.scenario.validate.vehicle import build_system
from draisine.simulation.dataset import with_recipe
from draisine.vehicles import expect_parameters

if TYPE_CHECKING:
    from xarray import Dataset

CYCLE_SAMPLES = 200
"""Number of samples of the motion over one limit cycle, enough for a smooth figure."""

FAMILY_QUANTITIES = (
    *("Omega0", "theta0", "multiplier_real", "multiplier_imaginary", "growth", "stable"),
    *("mean_speed", "peak_torque", "force_over_weight"),
)
"""Names of the scalar results that are computed for every limit cycle of a family."""

JointStatus = Literal["free", "held"]
"""Status of the prescribed joints during an impact: held, or free and reset to their motion afterwards."""


@with_recipe
def find_all_cycles(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    *,
    joint: JointStatus = "free",
) -> "Dataset":
    """Find all limit cycles of a system with alternating grips; return a dataset over time and cycle.

    >>> cycles = find_all_cycles("rocr")
    >>> [f"{speed:.6f}" for speed in cycles.mean_speed.values]
    ['0.299982', '-0.191738']
    """
    import xarray

    start_time = time.perf_counter()
    grip_map = _make_grip_map(vehicle, parameters, parameter_set, joint)
    cycles = grip_map.cycles()
    if not cycles:
        raise ParameterError(
            f"{vehicle} has no limit cycle with these parameters. Change the parameters of its motion."
        )
    strides = [Stride(grip_map, cycle) for cycle in cycles]
    motions = [cycle_dataset(stride, simulate_cycle(stride, CYCLE_SAMPLES)) for stride in strides]
    data = xarray.concat(motions, "cycle", combine_attrs="override").transpose("time", "cycle", ...)
    return _add_attributes(data, grip_map, f"limit cycles of {vehicle}", start_time)


@with_recipe
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
    """Compute the families of limit cycles over values of a parameter by continuation.

    The dataset has one entry per parameter value and family, NaN beyond the ends of a family. For each
    family, the attributes `stability` and `zero_speed` list the parameter values at which its stability
    changes and at which its mean speed is zero. `progress` is called with the completed fraction of the
    values.

    >>> families = scan_cycles("rocr", np.linspace(3.0, 4.0, 3))
    >>> [f"{x:.6f}" for x in json.loads(families.attrs["zero_speed"])[0]]
    ['3.751889']
    """
    start_time = time.perf_counter()
    grip_map = _make_grip_map(vehicle, parameters, parameter_set, joint)
    expect_parameters(grip_map.system.vehicle, [over], grip_map.system.parameters)
    reached: set[float] = set()

    @cache
    def make_map(value: float) -> Gait:
        """Build the return map of the system at a parameter value."""
        reached.add(value)
        if progress is not None:
            progress(min(1.0, len(reached) / len(values)))
        return grip_map.at(**{over: value})

    @cache
    def simulate_stride(value: float, cycle: Cycle) -> Stride:
        """Return the stride of a limit cycle at a parameter value."""
        return Stride(make_map(value), cycle)

    def mean_speed(value: float, cycle: Cycle) -> float:
        """Return the mean speed of a limit cycle at a parameter value."""
        return float(simulate_stride(value, cycle).displacement[1])

    branches = families(
        make_map, values, lambda G: _as_grip_map(G).cycles(), angles=ANGLE_COMPONENTS
    )
    if not branches:
        raise ParameterError(
            f"{vehicle} has no limit cycle at these values of {over}. Choose another range."
        )
    data = _make_family_dataset(
        grip_map, branches, np.asarray(values, float), over, simulate_stride
    )
    # A family of cycles changes its stability where its largest Floquet multiplier crosses the unit
    # circle.
    changes = [[v for v, _ in f.crossings(lambda _, cycle: cycle.growth - 1.0)] for f in branches]
    zeros = [[v for v, _ in f.crossings(mean_speed)] for f in branches]
    data.attrs |= {"over": over, "stability": json.dumps(changes), "zero_speed": json.dumps(zeros)}
    title = f"families of limit cycles of {vehicle} over {over}"
    return _add_attributes(data, grip_map, title, start_time)


def _as_grip_map(grip_map: Any) -> Gait:
    """Return an argument of a continuation callback unchanged, with the static type `Gait`."""
    assert isinstance(grip_map, Gait)
    return grip_map


def _make_grip_map(
    vehicle: str,
    parameters: Mapping[str, Any] | None,
    parameter_set: str | None,
    joint: JointStatus,
) -> Gait:
    """Return the return map of a vehicle with alternating grips, after validating its parameters."""
    return gait(build_system(vehicle, parameters, parameter_set), joint=joint)


def _make_family_dataset(
    grip_map: Gait,
    branches: Sequence[CycleFamily],
    values: Floats,
    over: str,
    make_stride: Callable[[float, Cycle], Stride],
) -> "Dataset":
    """Return the scalar results of all cycles as a dataset over parameter value and family."""
    import xarray

    data: dict[str, Any] = {}
    for j, family in enumerate(branches):
        for value, cycle in zip(family.values, family.cycles, strict=True):
            k = int(np.argmin(np.abs(values - value)))
            stride = make_stride(value, cycle)
            for name in FAMILY_QUANTITIES:
                dims, evaluate, unit, meaning = GRIP_CYCLE_QUANTITIES[name]
                x = evaluate(stride)
                if name not in data:
                    blank = np.full((len(values), len(branches), *np.shape(x)), np.nan)
                    attributes = {"units": unit, "long_name": meaning}
                    data[name] = ((over, "family", *dims), blank, attributes)
                data[name][1][k, j] = x
    labels = dimension_labels(grip_map)
    coords = {over: values, "family": np.arange(1, len(branches) + 1), "joint": labels["joint"]}
    return xarray.Dataset(data, coords=coords | {"multiplier": list(MULTIPLIER_LABELS[:2])})


def _add_attributes(data: "Dataset", grip_map: Gait, title: str, start_time: float) -> "Dataset":
    """Add vehicle, period and computing time to a dataset as attributes."""
    data.attrs |= {
        "vehicle": grip_map.system.vehicle.__name__,
        **machine_attributes(grip_map.system, title),
        "joint_at_impact": grip_map.joint,
        "period": grip_map.period,
        "seconds": time.perf_counter() - start_time,
    }
    return data


def summarise_cycles(data: "Dataset") -> dict[str, Any]:
    """Return limit cycles or families of cycles as plain data in SI units for JSON."""
    common: dict[str, Any] = {
        "vehicle": data.attrs["vehicle"],
        "parameters": json.loads(data.attrs["parameters"]),
        "joint_at_impact": data.attrs["joint_at_impact"],
        "seconds": data.attrs["seconds"],
    }
    if "cycle" in data.dims:
        cycles = [summarise_cycle(data.isel(cycle=k)) for k in range(data.sizes["cycle"])]
        return common | {"cycles": cycles}
    over = data.attrs["over"]
    changes = json.loads(data.attrs["stability"])
    zeros = json.loads(data.attrs["zero_speed"])
    branches = [
        {
            "members": [
                {over: value, **_summarise_member(data.isel({over: k, "family": j}))}
                for k, value in enumerate(data[over].values.tolist())
                if np.isfinite(data["Omega0"].values[k, j])
            ],
            "stability_changes_at": changes[j],
            "zero_speed_at": zeros[j],
        }
        for j in range(data.sizes["family"])
    ]
    return common | {"over": over, "families": branches}


def _summarise_member(cycle: "Dataset") -> dict[str, Any]:
    """Return one limit cycle of a family as plain data."""
    values = summarise_cycle(cycle)
    return values | {"stable": bool(values["stable"])}


CYCLE_HEADINGS = ("Omega (rad/s)", "theta (rad)", "speed (m/s)", "torque (N m)", "force / weight")
"""Column headings of the printed table of cycles; multipliers and stability follow."""


def tabulate_cycles(data: "Dataset", max_rows: int = 13) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of text: all cycles, or evenly spaced members of each family."""
    if "cycle" in data.dims:
        rows = [
            _format_row(summarise_cycle(data.isel(cycle=k))) for k in range(data.sizes["cycle"])
        ]
        return [*CYCLE_HEADINGS, "multipliers", "stable"], rows
    over = data.attrs["over"]
    count = data.sizes[over]
    rows = []
    for j in range(data.sizes["family"]):
        for k in np.unique(np.linspace(0, count - 1, min(max_rows, count)).round().astype(int)):
            cycle = data.isel({over: k, "family": j})
            if np.isfinite(float(cycle["Omega0"])):
                rows.append(
                    [str(j + 1), f"{float(cycle[over]):.6g}", *_format_row(summarise_cycle(cycle))]
                )
    return ["family", over, *CYCLE_HEADINGS, "multipliers", "stable"], rows


def _format_row(values: Mapping[str, Any]) -> list[str]:
    """Return the table cells of one limit cycle in the order of `CYCLE_HEADINGS`."""
    numbers = (
        values["Omega0"],
        values["theta0"],
        values["mean_speed"],
        max(values["peak_torque"].values()),
        values["force_over_weight"],
    )
    stable = "yes" if values["stable"] else "no"
    return [*(f"{x:.6f}" for x in numbers), format_multipliers(values), stable]


def describe_cycles(data: "Dataset") -> list[str]:
    """Return text lines about limit cycles or families of cycles."""
    seconds = f"computed in {data.attrs['seconds']:.3g} s"
    if data.attrs["joint_at_impact"] == "free":
        joints = "joints are free during an impact and reset after it (as published)"
    else:
        joints = "joints keep their prescribed motion during an impact"
    rows = []
    if "cycle" in data.dims:
        count = data.sizes["cycle"]
        for k in range(count):
            rows += [
                f"cycle {k + 1}",
                *(f"  {line}" for line in describe_cycle(data.isel(cycle=k))),
            ]
        return [*rows, f"{count} cycles, {joints}; {seconds}"]
    over = data.attrs["over"]
    changes = json.loads(data.attrs["stability"])
    zeros = json.loads(data.attrs["zero_speed"])
    for j in range(data.sizes["family"]):
        for event, values in (("changes its stability", changes[j]), ("has zero speed", zeros[j])):
            if values:
                places = ", ".join(f"{x:.9g}" for x in values)
                rows.append(f"family {j + 1} {event} at {over} = {places}")
    return [*rows, f"{data.sizes['family']} families, {joints}; {seconds}"]
