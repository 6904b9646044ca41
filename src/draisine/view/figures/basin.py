"""Figure of a basin of attraction: the fraction of recovering runs over each pair of varied numbers."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.view.figures._sweep import in_degrees, numeric_runs
from draisine.view.style import new_figure, parent_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MAX_CELLS = 48
"""Largest number of cells along one axis of a panel; finer cells are not visible in print."""

RUNS_PER_CELL = 16
"""Mean number of runs per cell for randomly sampled numbers, so that fractions are accurate to about 0.1."""


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Draw the fraction of recovering runs over each pair of the numbers that a sweep varies.

    A run recovers if it is completed, and if its decay rate is positive (if the sweep has this output).
    Angles are in degrees.

    Parameters
    ----------
    data
        Dataset of a sweep over two numbers or more.
    axes
        One axes per pair of numbers; by default new ones.

    Returns
    -------
    array of Axes
        One axes per pair of varied numbers.

    Raises
    ------
    ParameterError
        If the data are not a sweep over two numbers or more.
    """
    flat, sides = numeric_runs(data, "basin")
    if len(sides) < 2:
        raise ParameterError(
            "A basin needs a sweep over two numbers or more. Vary another number, or choose another figure."
        )
    values = {side: in_degrees(flat[side], side) for side in sides}
    pairs = list(combinations(sides, 2))
    wide = min(2, len(pairs))
    tall = -(-len(pairs) // wide)
    panels = new_figure(tall, wide, (3.4 * wide + 1.2, 2.8 * tall)) if axes is None else axes
    panels = np.atleast_1d(np.asarray(panels, dtype=object)).ravel()
    recovered = recovers(flat)
    shown = list[Any]()
    for panel, (across, upright) in zip(panels, pairs, strict=False):
        (x, along) = values[across]
        (y, up) = values[upright]
        edges = [_edges(variable.values) for variable in (x, y)]
        count, *_ = np.histogram2d(x.values, y.values, edges)
        recovered_count, *_ = np.histogram2d(x.values[recovered], y.values[recovered], edges)
        fraction = np.divide(
            recovered_count, count, out=np.full(count.shape, np.nan), where=count > 0
        )
        shown.append(
            panel.pcolormesh(
                *edges, fraction.T, cmap="viridis", vmin=0.0, vmax=1.0, rasterized=True
            )
        )
        panel.set(xlabel=along, ylabel=up)
    for panel in panels[len(pairs) :]:
        panel.set_visible(False)
    parent_figure(panels).colorbar(shown[0], ax=list(panels), label="fraction of runs that recover")
    return panels[: len(pairs)]


def recovers(runs: "Dataset") -> Any:
    """Return for each run of a sweep whether it recovers, a bool array (runs,).

    A run recovers if it is completed, and if its decay rates (outputs "decay rate of ...") are positive.
    """
    recovered = runs["outcome"].values == "completed"
    for name in runs.data_vars:
        if str(name).startswith("decay rate of"):
            recovered &= runs[name].values > 0.0
    return recovered


def _edges(values: Floats) -> Floats:
    """Return the edges (cells + 1,) of the cells along one axis for the values (runs,) of a varied number.

    For the few values of a grid, the edges are midway between them. For many values they are evenly spaced.
    """
    distinct = np.unique(values)
    cells = min(MAX_CELLS, max(2, math.isqrt(len(values) // RUNS_PER_CELL)))
    if len(distinct) > MAX_CELLS or len(distinct) < 2:
        return np.linspace(values.min(), values.max(), cells + 1)
    between = (distinct[1:] + distinct[:-1]) / 2.0
    return np.concatenate(
        [[2.0 * distinct[0] - between[0]], between, [2.0 * distinct[-1] - between[-1]]]
    )
