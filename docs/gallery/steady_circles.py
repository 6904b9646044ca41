"""Hands-free circles

A family of hands-free circles, without torque on the handlebar, branches off from straight running
at the capsize speed. Thick parts are stable.
"""

from matplotlib.figure import Figure

from draisine.experiment.tables.circles import find_hands_free_circles
from draisine.view.figures import steady


def figure() -> Figure:
    """Return the picture."""
    return steady.draw(find_hands_free_circles("whipple"))[0].figure
