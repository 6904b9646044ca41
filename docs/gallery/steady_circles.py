"""Hands-free circles

From straight running at the capsize speed a family of circles branches off that the bicycle runs by
itself, with no torque on the handlebar. Thick parts are stable.
"""

from matplotlib.figure import Figure

from draisine.experiment.tables.circles import find_hands_free_circles
from draisine.view.figures import steady


def figure() -> Figure:
    """Return the picture."""
    return steady.draw(find_hands_free_circles("whipple"))[0].figure
