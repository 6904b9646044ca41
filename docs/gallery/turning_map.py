"""All steady circles

Every pair of steer and lean determines one steady circle with its speed (solid) and its torque on
the handlebar (dashed). In the empty quarters the bicycle would have to lean out of the turn. Dots:
more friction than tyres provide.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.bicycle.turning import turning_map
from draisine.view.figures import _linear as linear


def figure() -> Figure:
    """Return the picture."""
    lean, steer = np.radians(np.linspace(-45, 45, 37)), np.radians(np.linspace(-60, 60, 37))
    return linear.draw_turning_map(turning_map(draisine.compile("whipple"), lean, steer)).figure
