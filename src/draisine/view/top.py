"""The way seen from above, with snapshots of the machine."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.view.skeleton import lines, mass_centre
from draisine.view.style import COLOURS, GREY, bodies_of, given_or_new, legend, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(
    data: "Dataset", axes: "Axes | None" = None, every: float = 0.5, scale: float = 1.0
) -> "Axes":
    """Return axes with the tracks of the contacts (or of the base) and the machine every so many
    seconds; a diamond is the mass centre of the heaviest body.

    `scale` enlarges the snapshots about their first contact, for long ways.
    """
    bodies = bodies_of(data)
    axes = plain(given_or_new(axes, (8.0, 5.0)))
    t = data["time"].values
    if "contact_point" in data:
        for k, contact in enumerate(str(c) for c in data["contact"].values):
            way = data["contact_point"].sel(contact=contact).values
            axes.plot(way[:, 0], way[:, 1], color=COLOURS[k % 7], lw=1.2, label=f"{contact} contact")
        anchor = data["contact_point"].values[:, 0]
    else:
        anchor = data["position"].values
        axes.plot(anchor[:, 0], anchor[:, 1], color=COLOURS[0], lw=1.2, label="base")
    heaviest = max(bodies.model.bodies, key=lambda b: float(b.mass)).name
    shots = [int(np.argmin(np.abs(t - s))) for s in np.arange(t[0], t[-1] + 1e-9, every)]
    for k in shots:
        about = anchor[k, :2]
        for name, points in lines(bodies, k):
            seen = about + scale * (points[:, :2] - about)
            width, colour = (1.1, "black") if name == "rim" else (1.8, GREY)
            axes.plot(seen[:, 0], seen[:, 1], color=colour, lw=width, solid_capstyle="round")
        centre = about + scale * (mass_centre(bodies, heaviest, k)[:2] - about)
        axes.plot(*centre, "D", color=COLOURS[2], markersize=4)
    axes.plot([], [], color=GREY, lw=1.8, label=f"machine every {every:g} s")
    axes.plot([], [], "D", color=COLOURS[2], markersize=4, label=f"mass centre, {heaviest}")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y, left (m)")
    legend(axes)
    return axes
