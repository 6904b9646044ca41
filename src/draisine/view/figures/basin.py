"""Which runs of a sweep come back: the part of them that ends well, over each two of what differs."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.view.figures._sweep import in_degrees, numeric_runs
from draisine.view.style import figure_of, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

CELLS = 48
RUNS = 16
"""So many cells there are at most along a side that is no grid, and so many runs at least in each."""


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Return one axes for each two of the numbers that differ, coloured by the part of the runs there
    that are completed and, where a sweep asks for a decay rate, whose motion dies out as long
    as it was looked at. Angles are in degrees.
    """
    flat, sides = numeric_runs(data, "basin")
    if len(sides) < 2:
        raise ParameterError("a basin is of a sweep over two numbers or more.")
    values = {side: in_degrees(flat[side], side) for side in sides}
    pairs = list(combinations(sides, 2))
    wide = min(2, len(pairs))
    tall = -(-len(pairs) // wide)
    panels = new_figure(tall, wide, (3.4 * wide + 1.2, 2.8 * tall)) if axes is None else axes
    panels = np.atleast_1d(np.asarray(panels, dtype=object)).ravel()
    held = comes_back(flat)
    shown = list[Any]()
    for panel, (across, upright) in zip(panels, pairs, strict=False):
        (x, along) = values[across]
        (y, up) = values[upright]
        edges = [_edges(one.values) for one in (x, y)]
        count, *_ = np.histogram2d(x.values, y.values, edges)
        found, *_ = np.histogram2d(x.values[held], y.values[held], edges)
        part = np.divide(found, count, out=np.full(count.shape, np.nan), where=count > 0)
        shown.append(
            panel.pcolormesh(*edges, part.T, cmap="viridis", vmin=0.0, vmax=1.0, rasterized=True)
        )
        panel.set(xlabel=along, ylabel=up)
    for panel in panels[len(pairs) :]:
        panel.set_visible(False)
    figure_of(panels).colorbar(shown[0], ax=list(panels), label="part of the runs that come back")
    return panels[: len(pairs)]


def comes_back(runs: "Dataset") -> Any:
    """Return which runs are completed and, where that was asked, die out."""
    held = runs["outcome"].values == "completed"
    for name in runs.data_vars:
        if str(name).startswith("decay rate of"):
            held &= runs[name].values > 0.0
    return held


def _edges(values: Floats) -> Floats:
    """Return the edges of cells: half-way between the values of a grid, or evenly spaced."""
    own = np.unique(values)
    cells = min(CELLS, max(2, math.isqrt(len(values) // RUNS)))
    if len(own) > CELLS or len(own) < 2:
        return np.linspace(values.min(), values.max(), cells + 1)
    between = (own[1:] + own[:-1]) / 2.0
    return np.concatenate([[2.0 * own[0] - between[0]], between, [2.0 * own[-1] - between[-1]]])
