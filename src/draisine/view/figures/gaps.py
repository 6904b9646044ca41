"""Figure of the gaps between wheels and ground against time."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ParameterError
from draisine.view.figures._marks import mark_events
from draisine.view.style import (
    add_legend,
    draw_curve,
    flatten_round_off,
    given_or_new,
    simplify_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Draw the gap (m) of every contact against time, with the events.

    A curve is interrupted while no ground is near the wheel.

    Parameters
    ----------
    data
        Dataset of a run with contacts.
    axes
        Axes to draw into; by default new ones.

    Returns
    -------
    Axes
        The axes.
    """
    if "gap" not in data:
        raise ParameterError(
            "This result has no contacts and therefore no gaps. Choose another figure."
        )
    axes = simplify_axes(given_or_new(axes))
    for k, contact in enumerate(str(c) for c in data["contact"].values):
        gap = data["gap"].values[:, k]
        draw_curve(axes, k, data["time"].values, np.where(np.isfinite(gap), gap, np.nan), contact)
    mark_events(data, axes)
    axes.set(xlabel="time (s)", ylabel="gap (m)")
    add_legend(axes, 6)
    flatten_round_off(axes, 1e-3)
    return axes
