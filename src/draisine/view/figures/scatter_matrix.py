"""Answers of a sweep against all that differs between its runs: one row of panels per question."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.view.figures._sweep import in_degrees, narrow, numeric_runs, questions_of
from draisine.view.style import COLOURS, figure_of, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Return axes, one row per question and one column per thing that differs; each run is a point,
    coloured by how it ended. Angles are in degrees.
    """
    names = questions_of(data)
    (flat, sides) = numeric_runs(data, "scatter matrix")
    size = (2.6 * len(sides) + 1.0, 2.2 * len(names) + 0.6)
    panels = np.array(new_figure(len(names), len(sides), size) if axes is None else axes, object)
    panels = panels.reshape(len(names), len(sides))
    ends = flat["outcome"].values
    kinds = sorted(set(ends.tolist()), key=lambda end: (end != "completed", end))
    for (row, column), panel in np.ndenumerate(panels):
        (x, across), (y, upright) = (in_degrees(flat[n], n) for n in (sides[column], names[row]))
        for k, kind in enumerate(kinds):
            here = ends == kind
            colour = COLOURS[k % len(COLOURS)]
            plain(panel).plot(
                x.values[here], y.values[here], ".", color=colour, markersize=3, label=kind
            )
        if row == len(names) - 1:
            panel.set_xlabel(across)
        if column == 0:
            panel.set_ylabel(narrow(upright), fontsize=8)
    if len(kinds) > 1:
        lines = panels[0, 0].get_lines()
        wide = min(3, len(kinds))
        figure_of(panels).legend(
            handles=lines, loc="outside lower center", ncols=wide, fontsize=7, markerscale=2
        )
    return panels.ravel()
