"""Figure of energies against time, as changes since the start, with the events."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.view.figures._marks import mark_events
from draisine.view.style import (
    add_legend,
    check_run,
    draw_curve,
    flatten_round_off,
    given_or_new,
    simplify_axes,
)

ZERO_ENERGY = 1e-12
"""Largest initial energy that is printed as zero, as a fraction of the largest energy of the run. Smaller
values are round-off.
"""

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Draw the changes of kinetic, potential and total energy (J) since the start, with the events.

    Parameters
    ----------
    data
        Dataset of a run.
    axes
        Axes to draw into; by default new ones.

    Returns
    -------
    Axes
        The axes; the legend states the initial energies.
    """
    check_run(data)
    axes = simplify_axes(given_or_new(axes))
    t = data["time"].values
    names = {"kinetic": "kinetic_energy", "potential": "potential_energy", "total": "energy"}
    scale = max(float(np.abs(data[name].values).max()) for name in names.values())
    for k, (word, name) in enumerate(names.items()):
        values = data[name].values
        first = values[0] if abs(values[0]) > ZERO_ENERGY * scale else 0.0
        draw_curve(axes, k, t, values - values[0], f"{word}, from {first:.6g} J")
    mark_events(data, axes)
    axes.set(xlabel="time (s)", ylabel="change of energy (J)")
    add_legend(axes, 3, by_rows=True)
    flatten_round_off(axes)
    return axes
