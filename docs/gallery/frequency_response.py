"""Frequency response

How lean and steer answer to a torque on the handlebar at 5 m/s. At the lowest frequencies lean is
in phase with the torque and steer is against it: a torque to the left, held, leans the bicycle to
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
    return linear.bode(upright, "steer", ["lean", "steer"])[0].figure
