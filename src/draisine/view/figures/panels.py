"""Figure of time series with different units: one panel per unit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.view.figures import histories
from draisine.view.style import angles_to_draw, displayed_series, new_figure, restore_bodies

if TYPE_CHECKING:
    from xarray import Dataset


def draw(data: "Dataset", axes: Any = None, names: Sequence[str] | None = None) -> Any:
    """Draw time series against time, those of one unit in one panel.

    Parameters
    ----------
    data
        Dataset of a run.
    axes
        Axes, one per unit; by default new ones.
    names
        Series to draw; by default the main angles.

    Returns
    -------
    array of Axes
        The axes from top to bottom.
    """
    bodies = restore_bodies(data)
    groups: dict[str, list[str]] = {}
    for name in names or angles_to_draw(data, bodies.model):
        groups.setdefault(displayed_series(name, bodies)[1], []).append(name)
    if axes is None:
        axes = new_figure(len(groups), 1, (7.0, 1.8 + 2.2 * len(groups)))
    panels = np.atleast_1d(axes).ravel()
    for panel, group in zip(panels, groups.values(), strict=True):
        histories.draw(data, panel, group)
        if panel is not panels[-1]:
            panel.set_xlabel("")
    return panels
