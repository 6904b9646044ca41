"""Three ways to steer

Lean, steer and yaw at 5 m/s after a torque of 1 N m to the right for 0.3 s, with the bar guided by 0.05 rad
to the right, and with the upper body leaned by 0.1 rad to the left.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.view.style import COLOURS, DASHES, GREY, add_legend, new_figure, simplify_axes

WAYS = {
    "torque": ("escalona2012/steering", 1.0),
    "angle": ("escalona2012/steering-guided", 1.0),
    "upper body": ("escalona2012/steering-leaning", -1.0),  # mirrored: the scenario leans right
}


def figure() -> Figure:
    """Return the picture."""
    panels = new_figure(3, 1, size=(7.0, 7.4))
    for axes, (way, (scenario, sign)) in zip(panels, WAYS.items(), strict=True):
        data = draisine.run(scenario).data
        for k, name in enumerate(("lean", "steer", "yaw")):
            axes.plot(
                data.time,
                sign * np.degrees(data[name]),
                color=COLOURS[k],
                linestyle=DASHES[k],
                label=name,
            )
        simplify_axes(axes).set(ylabel="angle (deg)", xlim=(0.0, 6.0), ylim=(-45.0, 45.0))
        axes.text(5.9, -38.0, way, ha="right", color=GREY)
        axes.axhline(0.0, color=GREY, linewidth=0.8)
    panels[-1].set_xlabel("time (s)")
    add_legend(panels[0])
    return panels[0].figure
