"""Contact forces against time, and the friction that they need."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.view.style import COLOURS, DASHES, legend, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

DIRECTIONS = ("normal", "along", "across")


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Return three axes: normal forces, tangential forces, and tangential over normal force.

    A colour is a contact, a dash a direction.
    """
    if "contact_force" not in data:
        raise ParameterError("this run has no contact forces to draw.")
    normal, tangential, ratio = new_figure(3, 1, (7.5, 7.0)) if axes is None else axes
    t = data["time"].values
    for k, contact in enumerate(str(c) for c in data["contact"].values):
        force = data["contact_force"].sel(contact=contact)
        colour = COLOURS[k % 7]
        for j, direction in enumerate(DIRECTIONS):
            where = normal if direction == "normal" else tangential
            label = contact if direction == "normal" else f"{contact}, {direction}"
            where.plot(
                t,
                force.sel(direction=direction).values,
                color=colour,
                linestyle=DASHES[max(0, j - 1)],
                linewidth=1.6,
                label=label,
            )
        needed = data["friction_needed"].sel(contact=contact).values
        ratio.plot(t, needed, color=colour, linewidth=1.6, label=contact)
        if np.isnan(needed).any():
            ratio.plot([], [], " ", label=f"({contact}: gaps where\nthe ground pulls)")
    for panel, text in (
        (normal, "normal force (N)"),
        (tangential, "tangential force (N)"),
        (ratio, "friction needed"),
    ):
        plain(panel).set_ylabel(text)
        legend(panel)
    normal.set_ylim(bottom=min(0.0, normal.get_ylim()[0]))
    ratio.set_ylim(bottom=0.0)
    ratio.set_xlabel("time (s)")
    return np.array([normal, tangential, ratio])
