"""Figure with scatter plots of the outputs of a sweep against all varied quantities."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.view.figures._sweep import break_label, in_degrees, numeric_runs, sweep_outputs
from draisine.view.style import COLOURS, new_figure, parent_figure, simplify_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Draw scatter plots of a sweep: one row per output, one column per varied quantity.

    Each run is a point in every panel; its colour is the outcome of the run. Angles are in degrees.

    Parameters
    ----------
    data
        Dataset of a sweep.
    axes
        Axes (outputs, quantities); by default new ones.

    Returns
    -------
    array of Axes
        The axes.
    """
    names = sweep_outputs(data)
    (flat, sides) = numeric_runs(data, "scatter matrix")
    size = (2.6 * len(sides) + 1.0, 2.2 * len(names) + 0.6)
    panels = np.array(new_figure(len(names), len(sides), size) if axes is None else axes, object)
    panels = panels.reshape(len(names), len(sides))
    outcomes = flat["outcome"].values
    outcome_names = sorted(set(outcomes.tolist()), key=lambda end: (end != "completed", end))
    for (row, column), panel in np.ndenumerate(panels):
        (x, across), (y, upright) = (in_degrees(flat[n], n) for n in (sides[column], names[row]))
        for k, kind in enumerate(outcome_names):
            selected = outcomes == kind
            colour = COLOURS[k % len(COLOURS)]
            simplify_axes(panel).plot(
                x.values[selected], y.values[selected], ".", color=colour, markersize=3, label=kind
            )
        if row == len(names) - 1:
            panel.set_xlabel(across)
        if column == 0:
            panel.set_ylabel(break_label(upright), fontsize=8)
    if len(outcome_names) > 1:
        lines = panels[0, 0].get_lines()
        wide = min(3, len(outcome_names))
        parent_figure(panels).legend(
            handles=lines, loc="outside lower center", ncols=wide, fontsize=7, markerscale=2
        )
    return panels.ravel()
