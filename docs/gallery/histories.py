"""Time histories

Lean and steer at four speeds after the same push. At 3 m/s the weave grows; at 4.3 m/s, the weave
speed, it is constant; at 5 m/s, inside the stable range, it decays; at 7 m/s the bicycle leans
slowly.
"""

from matplotlib.figure import Figure

import draisine
from draisine.view.figures import histories


def figure() -> Figure:
    """Return the picture."""
    bicycle = draisine.compile("whipple")
    picture = Figure(figsize=(9.0, 5.6), layout="constrained")
    for axes, speed in zip(picture.subplots(2, 2).flat, (3.0, 4.3, 5.0, 7.0), strict=True):
        start = draisine.state(bicycle, forward_speed=speed, lean_rate=0.1)
        data = draisine.simulate(bicycle, start, until=4.0).to_xarray()
        histories.draw(data, axes, ["lean", "steer"])
        axes.set_title(f"{speed:g} m/s", loc="right", fontsize=10)
    return picture
