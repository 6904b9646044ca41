"""Figure of a machine at an impact, from the side, with the impulses of the ground as arrows."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ParameterError
from draisine.results.events import read_events
from draisine.view.figures._snapshots import MachineAt, draw_outline
from draisine.view.style import COLOURS, GREY, add_legend, given_or_new, restore_bodies

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

ARROW_LENGTH = 0.6
"""Length of the arrow for the largest impulse, as a fraction of the distance between the contacts."""


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Draw the machine at its first impact, and the impulse at each contact with its components.

    Parameters
    ----------
    data
        Dataset of a run with impacts.
    axes
        Axes to draw into; by default new ones.

    Returns
    -------
    Axes
        The axes.
    """
    impacts = [event for event in read_events(data) if event.get("impulse")]
    if not impacts:
        raise ParameterError("This run has no impacts. Choose another figure.")
    event = impacts[0]
    axes = given_or_new(axes, (7.5, 5.0))
    bodies = restore_bodies(data)
    k = int(np.argmin(np.abs(data["time"].values - event["time"])))
    machine = MachineAt(bodies, k)
    draw_outline(axes, machine, lambda points: np.asarray(points)[..., [0, 2]])
    contacts = [str(c) for c in data["contact"].values]
    places = machine.contacts()[:, [0, 2]]
    largest = max(float(np.hypot(*push[:2])) for push in event["impulse"].values())
    span = float(np.ptp(places[:, 0])) or 1.0
    for name, push in event["impulse"].items():
        wheel = name.partition(":")[0]
        if wheel not in contacts:
            continue
        x, z = places[contacts.index(wheel)]
        scale = ARROW_LENGTH * span / largest
        for dx, dz, value, label in (
            (0.0, push[0], push[0], "normal"),
            (push[1], 0.0, push[1], "tangential"),
        ):
            colour = COLOURS[3] if label == "normal" else COLOURS[2]
            axes.annotate(
                "",
                (x + scale * dx, z + scale * dz),
                (x, z),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": colour,
                    "lw": 2.2,
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )
            axes.plot([], [], color=colour, lw=2.2, label=f"{wheel}, {label}: {value:.1f} N s")
    axes.axhline(0.0, color=GREY, lw=1.0, zorder=0)
    axes.set_aspect("equal")
    axes.set_xlabel(f"forward (m) at t = {event['time']:.4f} s")
    axes.set_ylabel("up (m)")
    add_legend(axes, 3)
    return axes
