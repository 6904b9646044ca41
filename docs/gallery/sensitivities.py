"""What moves the critical speeds

Exact derivatives of weave and capsize speed by all parameters: the twelve that matter most, as the
change that one percent of each brings.
"""

from matplotlib.figure import Figure

import draisine
from draisine.analysis.bicycle.sensitivity import sensitivities
from draisine.view.figures import _linear as linear


def figure() -> Figure:
    """Return the picture."""
    return linear.sensitivities(sensitivities(draisine.compile("whipple"))).figure
