"""Contact forces after a push

A push of 0.5 rad/s to the right at 4.6 m/s: normal and lateral force of both wheels.
"""

from matplotlib.figure import Figure

import draisine
from draisine.view.style import COLOURS, add_legend, new_figure, simplify_axes


def figure() -> Figure:
    """Return the picture."""
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    data = draisine.simulate(bicycle, start, until=2.0).to_xarray()
    panels = new_figure(2, 1, size=(7.0, 5.4))
    for axes, direction, title in zip(
        panels, ("normal", "across"), ("normal (N)", "to the left (N)"), strict=True
    ):
        for k, wheel in enumerate(("rear", "front")):
            force = data.contact_force.sel(contact=wheel, direction=direction)
            axes.plot(data.time, force, color=COLOURS[k], label=wheel)
        simplify_axes(axes).set_ylabel(title)
    panels[0].set_ylim(bottom=0.0)
    panels[1].set_xlabel("time (s)")
    add_legend(panels[0])
    return panels[0].figure
