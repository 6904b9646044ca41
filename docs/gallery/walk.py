"""A passive walker

Two straight legs and a hip walk down a slope of three degrees. In the phase plane each leg swings,
then supports; each foot strike dissipates the energy gained on the slope. All multipliers lie
inside the unit circle: small disturbances decay within a few steps.
"""

from matplotlib.figure import Figure

import draisine
from draisine.view.figures.cycle import draw


def figure() -> Figure:
    """Return the picture."""
    return draw(draisine.run("walkers/compass-3").data)[0].figure
