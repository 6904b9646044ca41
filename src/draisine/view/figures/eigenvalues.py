"""Eigenvalues of straight running against speed."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from draisine.analysis.bicycle.critical import Critical
from draisine.analysis.eigenmodes import Eigenmodes
from draisine.errors import ParameterError
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
"""The modes of a two-wheeler that decide how high a figure reaches."""


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Return axes with the eigenvalues of a linear scenario against speed, the stable range
    shaded; of one motion of a machine that is no bicycle in the complex plane.
    """
    if "eigenvalue_real" not in data:
        raise ParameterError("this result has no eigenvalues; they come from linear scenarios.")
    values = data["eigenvalue_real"].values + 1j * data["eigenvalue_imaginary"].values
    names = tuple(_SECOND.sub("", str(x)) for x in data["eigenmode"].values)
    own, axes = axes is None, given_or_new(axes, (7.5, 4.8))
    if own:
        figure_of(axes).suptitle(headline(data), fontsize=10)
    _draw_measured(data, axes)
    _draw_bands(data, axes, names)
    modes = Eigenmodes(data["speed"].values, values, np.empty((len(values), 0, 0)), names)
    if "steady_motion" in data and len(values) == 1:
        return linear.roots(modes, axes)
    if "stable_from" not in data:
        told = [k for k, name in enumerate(names) if name in NAMED] or list(range(len(names)))
        seen = values[..., told]  # tyres and parts that give may swing faster than all that matters
        high = 1.1 * float(max(seen.imag.max(), seen.real.max(), 1.0))
        low = -10.0 if "weave" in names else 1.1 * float(min(values.real.min(), -1.0))
        return linear.eigenvalues(modes, None, axes, (low, high))
    return linear.eigenvalues(modes, Critical(*(data[name].values for name in SPEEDS)), axes)


def _draw_bands(data: "Dataset", axes: "Axes", names: Sequence[str]) -> None:
    """Shade two standard deviations about eigenvalues whose uncertainty is known; not where these reach
    another eigenvalue, since the first order says nothing where two meet.
    """
    if "eigenvalue_real_deviation" not in data:
        return
    values = data["eigenvalue_real"].values + 1j * data["eigenvalue_imaginary"].values
    for k, name in enumerate(names):
        apart = np.abs(np.delete(values, k, axis=1) - values[:, [k]]).min(axis=1)
        for part in ("real", "imaginary"):
            middle = data[f"eigenvalue_{part}"].values[:, k]
            wide = 2.0 * data[f"eigenvalue_{part}_deviation"].values[:, k]
            shown = (wide < apart) & ((part == "real") | (middle > 1e-9))
            low, high = (np.where(shown, middle + sign * wide, np.nan) for sign in (-1.0, 1.0))
            axes.fill_between(
                data["speed"].values, low, high, color=linear.TYRED[name], alpha=0.15, lw=0
            )


def _draw_measured(data: "Dataset", axes: "Axes") -> None:
    """Draw measured eigenvalues as marks, real parts filled, imaginary parts open, with their spread
    and the speeds that they were measured at.
    """
    if "measured_value" not in data:
        return
    quantity = np.char.replace(data["measured_quantity"].values.astype(str), "_2", "")
    for name in dict.fromkeys(quantity.tolist()):
        part, _, mode = name.rstrip("]").partition("[")
        colour, here = linear.TYRED[mode], quantity == name
        what = "real" if part == "eigenvalue_real" else "imaginary"
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
