"""Figure of two runs: both runs in the left column, their difference in the right column."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.model.quantity import readable
from draisine.view.style import (
    MAIN_ANGLES,
    add_legend,
    draw_curve,
    flatten_round_off,
    font_size,
    new_figure,
    parent_figure,
    simplify_axes,
    to_words,
)

if TYPE_CHECKING:
    from xarray import Dataset

LEGEND_LINE_LENGTH = 56
"""Largest number of characters in a line of the legend, so that the title of a run fits above its panel."""

MAX_COMPARED_QUANTITIES = 5
"""Largest number of quantities that are drawn by default, so that each panel is large enough to read."""


def draw(data: "Dataset", axes: Any = None, names: Sequence[str] | None = None) -> Any:
    """Draw two runs and their difference, one row per quantity.

    Parameters
    ----------
    data
        Two runs along the dimension `run`, see `draisine compare`.
    axes
        Axes (rows, 2); by default new ones.
    names
        Quantities to draw. By default all of them, if they are few; else angles and speeds, lean and
        steer first, then those with the largest differences.

    Returns
    -------
    array of Axes
        One row per quantity: both runs, and the second minus the first.
    """
    if data.sizes.get("run") != 2:
        raise ParameterError(
            "A comparison needs two runs along the dimension `run`. `draisine compare` makes one."
        )
    names = list(names or _default_quantities(data))
    for name in names:
        if name not in data:
            common = ", ".join(map(str, data.data_vars))
            raise ParameterError(
                f"The two runs have no common quantity {name!r}. Common quantities: {common}."
            )
    is_new = axes is None
    if is_new:
        axes = np.reshape(new_figure(len(names), 2, (7.4, 0.9 + 2.1 * len(names))), (-1, 2))
    for (runs_axes, difference_axes), name in zip(axes, names, strict=True):
        values, shown = readable(data[name].values, str(data[name].attrs["units"]))
        t = data["time"].values
        (first, second) = values
        for k, values in enumerate((first, second)):
            draw_curve(
                simplify_axes(runs_axes),
                k,
                t,
                values,
                fill(str(data["run"].values[k]), LEGEND_LINE_LENGTH),
            )
        draw_curve(simplify_axes(difference_axes), 2, t, second - first, "difference")
        difference_axes.yaxis.set_major_formatter("{x:.3g}")
        flatten_round_off(runs_axes, unit=shown)
        if not np.any(second - first):
            flatten_round_off(difference_axes)
        runs_axes.set_ylabel(f"{to_words(name)}\n({shown})" if shown else to_words(name))
        difference_axes.set_ylabel(f"difference\n({shown})" if shown else "difference")
    if is_new:  # titles of runs may be wider than a panel
        handles = axes[0, 0].get_legend_handles_labels()
        parent_figure(axes).legend(
            *handles, loc="outside upper left", frameon=False, fontsize=font_size(9)
        )
    else:
        add_legend(axes[0][0], 1)
    for panel in axes[-1]:
        panel.set_xlabel("time (s)")
    return axes


def _default_quantities(data: "Dataset") -> list[str]:
    """Return the names of the quantities that are drawn by default, at most `MAX_COMPARED_QUANTITIES`.

    If the runs have more common quantities, lean and steer come first. Other angles and speeds follow in the
    order of their relative difference.
    """
    is_short = len(data.data_vars) <= MAX_COMPARED_QUANTITIES
    difference = {}
    for name in map(str, data.data_vars):
        first, second = data[name].values
        if not np.isfinite(second - first).any():  # the runs have no finite samples in common
            continue
        ranges = (
            float(np.nanmax(first) - np.nanmin(first)),
            float(np.nanmax(second) - np.nanmin(second)),
        )
        # Rotation angles of wheels grow with the distance and would hide differences of other angles.
        whole_turns = data[name].attrs["units"] == "rad" and max(ranges) > 2.0 * np.pi
        is_main = data[name].attrs["units"] in ("rad", "m/s") and not whole_turns
        if (is_short or is_main) and max(ranges) > 1e-12:
            difference[name] = float(np.nanmax(np.abs(second - first))) / max(ranges)
    ranked = sorted(difference, key=lambda name: -difference[name])
    selected = list(
        dict.fromkeys([*(name for name in MAIN_ANGLES if name in difference), *ranked])
    )[:MAX_COMPARED_QUANTITIES]
    return selected or [str(n) for n in data.data_vars][:MAX_COMPARED_QUANTITIES]
