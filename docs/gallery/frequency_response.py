"""Frequency response

Response of lean and steer to a torque on the handlebar at 5 m/s. At low frequencies lean is in
phase with the torque and steer is in antiphase: a constant torque to the left leans the bicycle to
the right and steers it right.
"""

from matplotlib.figure import Figure

import draisine
from draisine.analysis.linear import linearise
from draisine.view.figures import _linear as linear


def figure() -> Figure:
    """Return the picture."""
    bicycle = draisine.compile("whipple")
    upright = linearise(bicycle, draisine.state(bicycle, forward_speed=5.0))
    return linear.draw_bode(upright, "steer", ["lean", "steer"])[0].figure
