"""A walker without a motor

Two straight legs and a hip walk down a slope of three degrees. In the phase plane each leg
swings, then it stands; the strike of a foot takes away what the slope gave. All multipliers lie
inside the circle: small disturbances die out within a few steps.
"""

from matplotlib.figure import Figure

import draisine
from draisine.view.figures.cycle import draw


def figure() -> Figure:
    """Return the picture."""
    return draw(draisine.run("walkers/compass-3").data)[0].figure
