"""Contact forces against time, and the friction that they need."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.view.figures._marks import mark_events
from draisine.view.style import COLOURS, DASHES, legend, new_figure, plain, rest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

DIRECTIONS = ("normal", "along", "across")

HIGHEST = 2.0
"""Friction beyond this is left off the figure: no tyre grips so well."""


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Return three axes: normal forces with the events, tangential forces, and tangential over
    normal force, which ends where the ground does not push.
    """
    if "contact_force" not in data:
        raise ParameterError("this run has no contact forces to draw.")
    normal, tangential, ratio = new_figure(3, 1, (7.5, 7.0)) if axes is None else axes
    t = data["time"].values
    for k, contact in enumerate(str(c) for c in data["contact"].values):
        force = data["contact_force"].sel(contact=contact)
        push, along, across = (force.sel(direction=d).values for d in DIRECTIONS)
        needed = data["friction_needed"].sel(contact=contact).values
        colour, dash = COLOURS[k % 7], DASHES[k % 7]
        normal.plot(t, push, color=colour, ls=dash, lw=1.6, label=contact)
        tangential.plot(t, along, color=colour, ls="-", lw=1.6, label=f"{contact}, along")
        tangential.plot(t, across, color=colour, ls="--", lw=1.6, label=f"{contact}, across")
        ratio.plot(t, needed, color=colour, ls=dash, lw=1.6, label=contact + _without(push, needed))
    mark_events(data, normal)
    for panel, text in (
        (normal, "normal force (N)"),
        (tangential, "tangential force (N)"),
        (ratio, "friction needed\n(tangential / normal)"),
    ):
        plain(panel).set_ylabel(text)
        legend(panel, 6)
    normal.set_ylim(bottom=min(0.0, normal.get_ylim()[0]))
    rest(normal)
    rest(tangential)
    ratio.set_ylim(0.0, min(ratio.get_ylim()[1], HIGHEST))
    for panel in (tangential, ratio):
        panel.set_xlim(normal.get_xlim())
    ratio.set_xlabel("time (s)")
    return np.array([normal, tangential, ratio])


def _without(push: Floats, needed: Floats) -> str:
    """Return why there is no friction ratio at some times."""
    if not np.isnan(needed).any():
        return ""
    return " (none where the ground would pull)" if (push < 0).any() else " (none in the air)"
