"""Gaps between wheels and ground against time."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ParameterError
from draisine.view.figures._marks import mark_events
from draisine.view.style import curve, given_or_new, legend, plain, rest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Draw the gap (m) of every contact against time, with the events; a curve ends if no ground is
    near.

    Parameters
    ----------
    data
        A run with contacts.
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
    axes = plain(given_or_new(axes))
    for k, contact in enumerate(str(c) for c in data["contact"].values):
        gap = data["gap"].values[:, k]
        curve(axes, k, data["time"].values, np.where(np.isfinite(gap), gap, np.nan), contact)
    mark_events(data, axes)
    axes.set(xlabel="time (s)", ylabel="gap (m)")
    legend(axes, 6)
    rest(axes, 1e-3)
    return axes
