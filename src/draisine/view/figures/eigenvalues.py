"""Eigenvalues of straight running against speed."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import Critical
from draisine.analysis.eigenmodes import MODE_NAMES, Eigenmodes
from draisine.errors import ParameterError
from draisine.results.attributes import read_list_attribute
from draisine.view.figures import _linear as linear
from draisine.view.style import figure_of, given_or_new, headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

_SECOND = re.compile(r"_\d+$")

SPEEDS = (
    "weave_speed",
    "weave_frequency",
    "capsize_speed",
    "double_root_speed",
    "double_root",
    "stable_from",
    "stable_to",
)

NAMED = ("weave", "capsize", "wobble", "torso")
"""The modes of a two-wheeler that decide how far a figure reaches."""

DEEP = 4.0
"""Real parts are shown as far below zero as so many times the largest of weave and capsize: what is damped
more tells little.
"""


def draw(data: "Dataset", axes: "Axes | None" = None) -> Any:
    """Return axes with the eigenvalues of a linear scenario against speed, the stable range
    shaded; of one motion of a machine that is no bicycle in the complex plane. Where a two-wheeler has modes
    beside weave, capsize and castering, which swing much faster, two: real parts above imaginary ones.
    """
    if "eigenvalue_real" not in data:
        raise ParameterError("this result has no eigenvalues; they come from linear scenarios.")
    values = data["eigenvalue_real"].values + 1j * data["eigenvalue_imaginary"].values
    names = tuple(_SECOND.sub("", str(x)) for x in data["eigenmode"].values)
    modes = Eigenmodes(data["speed"].values, values, np.empty((len(values), 0, 0)), names)
    if axes is None and "weave" in names and set(names) > set(MODE_NAMES):
        return _draw_both(data, modes)
    own = axes is None
    axes = given_or_new(axes, (7.5, 4.8))
    if own:
        figure_of(axes).suptitle(headline(data), fontsize=10)
    _draw_measured(data, axes, axes)
    _draw_bands(data, axes, axes, names)
    if "steady_motion" in data and len(values) == 1:
        return linear.roots(modes, axes)
    if "stable_from" in data:
        return linear.eigenvalues(modes, Critical(*(data[name].values for name in SPEEDS)), axes)
    seen = _decisive(modes)
    high = 1.1 * float(max(seen.imag.max(), seen.real.max(), 1.0))
    low = -10.0 if "weave" in names else 1.1 * float(min(values.real.min(), -1.0))
    linear.eigenvalues(modes, None, axes, (low, high))
    linear.mark_speeds(axes, _crossings(data))
    return axes


def _draw_both(data: "Dataset", modes: Eigenmodes) -> Any:
    """Return two axes: real parts above imaginary ones."""
    seen = _decisive(modes)
    slow = np.abs(
        modes.values[..., [modes.names.index(name) for name in ("weave", "capsize")]].real
    )
    low = max(1.1 * float(seen.real.min()), -DEEP * float(slow.max()))
    limits = min(low, -1.0), 1.2 * max(float(seen.real.max()), 1.0)
    highest = 1.1 * max(float(seen.imag.max()), 1.0)
    growth, swing = panels = linear.growth_and_frequency(modes, limits, highest)
    figure_of(growth).suptitle(headline(data), fontsize=10)
    _draw_measured(data, growth, swing)
    _draw_bands(data, growth, swing, modes.names)
    linear.mark_speeds(growth, _crossings(data))
    return panels


def _decisive(modes: Eigenmodes) -> Floats:
    """Return the eigenvalues that decide how far a figure reaches: tyres and parts that give may swing
    faster than all that matters.
    """
    told = [k for k, name in enumerate(modes.names) if name in NAMED]
    return modes.values[..., told or list(range(len(modes.names)))]


def _crossings(data: "Dataset") -> dict[str, tuple[float, float]]:
    """Return where a mode changes its stability, by what is said there."""
    found = read_list_attribute(data, "crossings")
    return {f"{one['name']} {one['speed']:.3f} m/s": (float(one["speed"]), 0.0) for one in found}


def _draw_bands(data: "Dataset", growth: "Axes", swing: "Axes", names: Sequence[str]) -> None:
    """Shade two standard deviations about eigenvalues whose uncertainty is known; not where these reach
    another eigenvalue, since the first order says nothing where two meet.
    """
    if "eigenvalue_real_deviation" not in data:
        return
    values = data["eigenvalue_real"].values + 1j * data["eigenvalue_imaginary"].values
    for k, name in enumerate(names):
        apart = np.abs(np.delete(values, k, axis=1) - values[:, [k]]).min(axis=1)
        for part, axes in (("real", growth), ("imaginary", swing)):
            middle = data[f"eigenvalue_{part}"].values[:, k]
            wide = 2.0 * data[f"eigenvalue_{part}_deviation"].values[:, k]
            shown = (wide < apart) & ((part == "real") | (middle > 1e-9))
            low, high = (np.where(shown, middle + sign * wide, np.nan) for sign in (-1.0, 1.0))
            axes.fill_between(
                data["speed"].values, low, high, color=linear.TYRED[name], alpha=0.15, lw=0
            )


def _draw_measured(data: "Dataset", growth: "Axes", swing: "Axes") -> None:
    """Draw measured eigenvalues as marks, real parts filled, imaginary parts open, with their spread
    and the speeds that they were measured at.
    """
    if "measured_value" not in data:
        return
    quantity = np.char.replace(data["measured_quantity"].values.astype(str), "_2", "")
    for name in dict.fromkeys(quantity.tolist()):
        part, _, mode = name.rstrip("]").partition("[")
        colour = linear.TYRED[mode]
        here = quantity == name
        what, axes = ("real", growth) if part == "eigenvalue_real" else ("imaginary", swing)
        v, x, spread, *window = (
            data[f"measured_{one}"].values[here]
            for one in ("speed", "value", "spread", "from", "to")
        )
        apart = np.abs(np.array(window) - v)
        axes.errorbar(
            v, x, np.nan_to_num(spread), apart, "none", ecolor=colour, elinewidth=0.7, alpha=0.4
        )
        axes.plot(
            v,
            x,
            "o",
            color=colour,
            markerfacecolor=colour if what == "real" else "none",
            markersize=4,
            label=f"measured, {what}",
        )
