"""Energies against time, as changes since the start, with the events."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.view.figures._marks import mark_events
from draisine.view.style import check_run, curve, given_or_new, legend, plain, rest

ROUND_OFF = 1e-12
"""A smaller share of the largest energy is nothing."""

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Return axes with the changes of kinetic, potential and total energy; the legend tells where
    they start, events are marked.
    """
    check_run(data)
    axes = plain(given_or_new(axes))
    t = data["time"].values
    names = {"kinetic": "kinetic_energy", "potential": "potential_energy", "total": "energy"}
    scale = max(float(np.abs(data[name].values).max()) for name in names.values())
    for k, (word, name) in enumerate(names.items()):
        values = data[name].values
        first = values[0] if abs(values[0]) > ROUND_OFF * scale else 0.0
        curve(axes, k, t, values - values[0], f"{word}, from {first:.6g} J")
    mark_events(data, axes)
    axes.set(xlabel="time (s)", ylabel="change of energy (J)")
    legend(axes, 3, by_rows=True)
    rest(axes)
    return axes
