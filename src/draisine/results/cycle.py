"""Scalar results of a limit cycle (Floquet multipliers, forces, impacts, speeds) with units and labels."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.gait.stride import Stride
from draisine.model import Model
from draisine.results.events import CONTACT_DIRECTIONS
from draisine.results.queries import SeriesLabels, parse_labels

if TYPE_CHECKING:
    from xarray import Dataset

MULTIPLIER_LABELS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
"""Labels of the Floquet multipliers of a cycle, sorted by decreasing magnitude."""

PLANE_AXES = ("x", "y")
"""Labels of vector components in the vertical plane in which a planar system moves."""


CycleQuantity = tuple[tuple[str, ...], Callable[[Any], Any], str, str]
"""Definition of a scalar result of a cycle: dimensions, function of the cycle, unit, meaning."""

FIXED_POINT_QUANTITIES: dict[str, CycleQuantity] = {
    "multiplier_real": (
        ("multiplier",),
        lambda s: s.cycle.multipliers.real,
        "",
        "real parts of the Floquet multipliers",
    ),
    "multiplier_imaginary": (
        ("multiplier",),
        lambda s: s.cycle.multipliers.imag,
        "",
        "imaginary parts of the Floquet multipliers",
    ),
    "growth": ((), lambda s: s.cycle.growth, "", "largest magnitude of the Floquet multipliers"),
    "stable": ((), lambda s: s.cycle.stable, "", "whether the cycle is asymptotically stable"),
    "index": (
        (),
        lambda s: s.cycle.index,
        "",
        "topological index of the fixed point of the return map",
    ),
    "missed": ((), lambda s: s.cycle.residual, "", "residual of the return map at the fixed point"),
}
"""Scalar results of every limit cycle that follow from its return map."""


def _make_force_bound(extreme: int) -> Callable[[Stride], Floats]:
    """Return a function from a stride to the minimum (0) or maximum (1) wall force along x and y, N, (2,)."""
    return lambda stride: np.array([stride.force_range(axis)[extreme] for axis in (0, 1)])


def _make_impact_quantity(quantity: str) -> Callable[[Stride], Floats]:
    """Return a function from a stride to a named quantity at each of its impacts, (impacts, ...)."""
    return lambda stride: np.array([getattr(impact, quantity) for impact in stride.impacts])


GRIP_CYCLE_QUANTITIES: dict[str, CycleQuantity] = {
    "Omega0": (
        (),
        lambda s: s.cycle.x[0],
        "rad/s",
        "angular rate of the body just after grip 1 closed",
    ),
    "theta0": ((), lambda s: s.cycle.x[1], "rad", "angle of the body just after grip 1 closed"),
    **FIXED_POINT_QUANTITIES,
    "displacement": (("way",), lambda s: s.displacement, "m", "displacement per cycle"),
    "mean_speed": ((), lambda s: s.speed, "m/s", "mean speed upwards"),
    "swing": ((), lambda s: s.swing, "rad", "angle range of the body"),
    "fastest": ((), lambda s: s.fastest, "rad/s", "maximum angular rate of the body"),
    "peak_torque": (("joint",), lambda s: s.torques, "N m", "maximum torque between impacts"),
    "minimum_force": (
        ("way",),
        _make_force_bound(0),
        "N",
        "minimum force of the wall between impacts",
    ),
    "maximum_force": (
        ("way",),
        _make_force_bound(1),
        "N",
        "maximum force of the wall between impacts",
    ),
    "grip_force": ((), lambda s: s.force, "N", "largest magnitude of the wall force"),
    "force_over_weight": (
        (),
        lambda s: s.force / s.weight,
        "",
        "largest magnitude of the wall force over the weight",
    ),
    "impact_time": (("impact",), _make_impact_quantity("time"), "s", "time of the impact"),
    "impact_Omega_before": (
        ("impact",),
        _make_impact_quantity("Omega_before"),
        "rad/s",
        "angular rate before the impact",
    ),
    "impact_Omega_after": (
        ("impact",),
        _make_impact_quantity("Omega_after"),
        "rad/s",
        "angular rate after the impact",
    ),
    "impact_rates_before": (
        ("impact", "joint"),
        _make_impact_quantity("rates_before"),
        "rad/s",
        "rates of the joints before the impact",
    ),
    "impact_rates_struck": (
        ("impact", "joint"),
        _make_impact_quantity("rates_struck"),
        "rad/s",
        "rates of the joints just after the impact",
    ),
    "impact_rates_prescribed": (
        ("impact", "joint"),
        _make_impact_quantity("rates_prescribed"),
        "rad/s",
        "rates of the joints by their prescribed motions",
    ),
    "impact_gain": (
        ("impact",),
        _make_impact_quantity("gain"),
        "J",
        "energy gain of the change of grips",
    ),
}
"""Scalar results of a limit cycle with alternating grips (climbing robot)."""

WALKING_CYCLE_QUANTITIES: dict[str, CycleQuantity] = {
    "start": (("component",), lambda s: s.cycle.x, "", "angles and rates just after a touch-down"),
    **FIXED_POINT_QUANTITIES,
    "step_time": ((), lambda s: s.impact.time, "s", "time from one touch-down to the next"),
    "step_length": ((), lambda s: s.length, "m", "distance of the feet at touch-down"),
    "mean_speed": ((), lambda s: s.speed, "m/s", "mean speed along the ground"),
    "impulse": (("row",), lambda s: s.impact.impulse, "N s", "impulse of the ground at touch-down"),
    "energy_lost": ((), lambda s: s.lost, "J", "energy lost at touch-down"),
}
"""Scalar results of a limit cycle of a walker."""

PERIODIC_CYCLE_QUANTITIES: dict[str, CycleQuantity] = {
    "start": (("component",), lambda s: s.cycle.x, "", "components that return after a period"),
    **FIXED_POINT_QUANTITIES,
}
"""Scalar results of a limit cycle with a prescribed period."""


def cycle_labels(model: Model, components: tuple[str, ...] = ()) -> dict[str, SeriesLabels]:
    """Return the scalar results of limit cycles of a model: name -> allowed labels of each dimension.

    If `components` (names of periodic quantities) is not empty, the cycle has a prescribed
    period.
    """
    labels: dict[str, tuple[str, ...]] = {"way": PLANE_AXES, "row": CONTACT_DIRECTIONS}
    if components:
        labels["component"] = components
        labels["multiplier"] = MULTIPLIER_LABELS[: len(components)]
        return {
            name: tuple(labels[dim] for dim in dims)
            for name, (dims, *_) in PERIODIC_CYCLE_QUANTITIES.items()
        }
    labels["joint"] = tuple(joint.name for joint in model.joints)
    labels["impact"] = tuple(c.name for c in model.pins)
    labels["component"] = () if model.steps is None else model.steps.components
    labels["multiplier"] = MULTIPLIER_LABELS[: len(labels["component"]) or 2]
    table = GRIP_CYCLE_QUANTITIES if model.steps is None else WALKING_CYCLE_QUANTITIES
    quantities = {name: tuple(labels[dim] for dim in dims) for name, (dims, *_) in table.items()}
    # Machines with alternating grips have no step rule (`model.steps`). Their limit cycles are searched
    # globally, and the number of cycles found is a result.
    return quantities | ({"number_of_cycles": ()} if model.steps is None else {})


def cycle_quantity(text: str, known: Mapping[str, SeriesLabels], data: "Dataset") -> Floats:
    """Return a scalar result of a limit cycle by its query, like `peak_torque[hip]`, as an array (1,)."""
    name, labels = parse_labels(text, known)
    values = data[name]
    selection = dict(zip(values.dims, labels, strict=True))
    return np.atleast_1d(np.asarray(values.sel(selection).values, float))


def summarise_cycle(data: "Dataset") -> dict[str, Any]:
    """Return all scalar results of a limit cycle as plain data; labelled results become dictionaries."""
    scalars = [n for n, v in data.data_vars.items() if "time" not in v.dims]
    return {str(name): _as_plain(data[name]) for name in scalars}


def _as_plain(values: Any) -> Any:
    """Return an array as a Python number or nested list; NaN becomes None."""
    if not values.dims:
        return values.item()
    first = values.dims[0]
    labels = (str(x) for x in values[first].values)
    return {label: _as_plain(values.isel({first: k})) for k, label in enumerate(labels)}


def format_multipliers(summary: Mapping[str, Any]) -> str:
    """Format the Floquet multipliers of a cycle summary as text."""
    real = summary["multiplier_real"].values()
    imaginary = summary["multiplier_imaginary"].values()
    pairs = zip(real, imaginary, strict=True)
    return ", ".join(f"{a:.6g}" + (f" {b:+.6g}i" if b else "") for a, b in pairs)
