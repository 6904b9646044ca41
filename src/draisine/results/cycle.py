"""What is known of one limit cycle by numbers, with units, meanings and labels."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.gait.stride import Stride
from draisine.model import Model
from draisine.results.questions import SeriesLabels, parse_labels

if TYPE_CHECKING:
    from xarray import Dataset

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
AXES = ("x", "y")
ROWS = ("normal", "along", "across")

CycleQuantity = tuple[tuple[str, ...], Callable[[Any], Any], str, str]
"""A quantity of a cycle: its dimensions, how it is measured, its unit and meaning."""

FIXED_POINT: dict[str, CycleQuantity] = {
    "multiplier_real": (
        ("multiplier",),
        lambda s: s.cycle.multipliers.real,
        "",
        "multipliers, real part",
    ),
    "multiplier_imaginary": (
        ("multiplier",),
        lambda s: s.cycle.multipliers.imag,
        "",
        "multipliers, imaginary part",
    ),
    "growth": ((), lambda s: s.cycle.growth, "", "size of the largest multiplier"),
    "stable": ((), lambda s: s.cycle.stable, "", "whether disturbances die out"),
    "index": ((), lambda s: s.cycle.index, "", "index of the fixed point"),
    "missed": ((), lambda s: s.cycle.residual, "", "by how much the return map misses the point"),
}
"""What is told of every cycle."""


def _ends(side: int) -> Callable[[Stride], Floats]:
    """Return what measures the minimum (0) or maximum (1) forces of the wall along x and y."""
    return lambda stride: np.array([stride.force_range(axis)[side] for axis in (0, 1)])


def _impact(name: str) -> Callable[[Stride], Floats]:
    """Return what reads a quantity off the changes of grips."""
    return lambda stride: np.array([getattr(impact, name) for impact in stride.impacts])


QUANTITIES: dict[str, CycleQuantity] = {
    "Omega0": ((), lambda s: s.cycle.x[0], "rad/s", "turning rate just after grip 1 took hold"),
    "theta0": ((), lambda s: s.cycle.x[1], "rad", "angle of the body then"),
    **FIXED_POINT,
    "displacement": (("way",), lambda s: s.displacement, "m", "how far one cycle leads"),
    "mean_speed": ((), lambda s: s.speed, "m/s", "mean speed upwards"),
    "swing": ((), lambda s: s.swing, "rad", "how far the body turns to and fro"),
    "fastest": ((), lambda s: s.fastest, "rad/s", "maximum turning rate of the body"),
    "peak_torque": (("joint",), lambda s: s.torques, "N m", "maximum torque between impacts"),
    "minimum_force": (("way",), _ends(0), "N", "minimum force of the wall between impacts"),
    "maximum_force": (("way",), _ends(1), "N", "maximum force of the wall between impacts"),
    "grip_force": ((), lambda s: s.force, "N", "size of the largest force of the wall"),
    "force_over_weight": ((), lambda s: s.force / s.weight, "", "the same over the weight"),
    "impact_time": (("impact",), _impact("time"), "s", "time of the impact"),
    "impact_Omega_before": (("impact",), _impact("Omega_before"), "rad/s", "rate before it"),
    "impact_Omega_after": (("impact",), _impact("Omega_after"), "rad/s", "rate after it"),
    "impact_rates_before": (
        ("impact", "joint"),
        _impact("rates_before"),
        "rad/s",
        "rates of the joints before the impact",
    ),
    "impact_rates_struck": (
        ("impact", "joint"),
        _impact("rates_struck"),
        "rad/s",
        "rates of the joints as the impact leaves them",
    ),
    "impact_rates_prescribed": (
        ("impact", "joint"),
        _impact("rates_prescribed"),
        "rad/s",
        "rates of the joints by their motions",
    ),
    "impact_gain": (("impact",), _impact("gain"), "J", "energy that the change of grips creates"),
}
"""Everything that is told by numbers of a cycle of a machine whose grips take turns."""

STEPS: dict[str, CycleQuantity] = {
    "start": (("component",), lambda s: s.cycle.x, "", "angles and rates just after a strike"),
    **FIXED_POINT,
    "step_time": ((), lambda s: s.strike.time, "s", "time from one strike to the next"),
    "step_length": ((), lambda s: s.length, "m", "distance of the feet at a strike"),
    "mean_speed": ((), lambda s: s.speed, "m/s", "mean speed along the ground"),
    "impulse": (("row",), lambda s: s.strike.impulse, "N s", "impulse of the ground at a strike"),
    "energy_lost": ((), lambda s: s.lost, "J", "energy that a strike takes away"),
}
"""Everything that is told by numbers of a cycle of a walker."""


PERIODIC: dict[str, CycleQuantity] = {
    "start": (("component",), lambda s: s.cycle.x, "", "what comes back after a period"),
    **FIXED_POINT,
}
"""Everything that is told by numbers of a cycle of a given period."""


def cycle_labels(model: Model, components: tuple[str, ...] = ()) -> dict[str, SeriesLabels]:
    """Return the quantities that a cycle of a machine has, with the labels that each takes; with a
    period they are those of the `components` that come back.
    """
    if components:
        own = {"component": components, "multiplier": ORDINALS[: len(components)]}
        return {name: tuple(own[dim] for dim in dims) for name, (dims, *_) in PERIODIC.items()}
    labels: dict[str, tuple[str, ...]] = {"way": AXES, "row": ROWS}
    labels["joint"] = tuple(joint.name for joint in model.joints)
    labels["impact"] = tuple(c.name for c in model.pins)
    labels["component"] = () if model.steps is None else model.steps.components
    labels["multiplier"] = ORDINALS[: len(labels["component"]) or 2]
    table = QUANTITIES if model.steps is None else STEPS
    found = {name: tuple(labels[dim] for dim in dims) for name, (dims, *_) in table.items()}
    return found | ({"number_of_cycles": ()} if model.steps is None else {})


def cycle_quantity(text: str, known: Mapping[str, SeriesLabels], data: "Dataset") -> Floats:
    """Return one of the known quantities of a cycle."""
    name, labels = parse_labels(text, known)
    values = data[name]
    which = dict(zip(values.dims, labels, strict=True))
    return np.atleast_1d(np.asarray(values.sel(which).values, float))


def summary_of(data: "Dataset") -> dict[str, Any]:
    """Return the numbers of a cycle as plain data: a label where there is one makes a table."""
    own = [n for n, v in data.data_vars.items() if "time" not in v.dims]
    return {str(name): _plain(data[name]) for name in own}


def _plain(values: Any) -> Any:
    if not values.dims:
        return values.item()
    first = values.dims[0]
    labels = (str(x) for x in values[first].values)
    return {label: _plain(values.isel({first: k})) for k, label in enumerate(labels)}


def multipliers_of(one: Mapping[str, Any]) -> str:
    """Return the multipliers of a summary as text."""
    pairs = zip(one["multiplier_real"].values(), one["multiplier_imaginary"].values(), strict=True)
    return ", ".join(f"{a:.6g}" + (f" {b:+.6g}i" if b else "") for a, b in pairs)
