"""Sensitivities of the critical speeds

Exact derivatives of weave and capsize speed with respect to all parameters: the twelve largest, as
the change for one percent of each parameter.
"""

from matplotlib.figure import Figure

import draisine
from draisine.analysis.bicycle.sensitivity import sensitivities
from draisine.view.figures import _linear as linear


def figure() -> Figure:
    """Return the picture."""
    return linear.draw_sensitivities(sensitivities(draisine.compile("whipple"))).figure
