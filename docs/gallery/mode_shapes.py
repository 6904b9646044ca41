"""Mode shapes

Lean and steer of the three eigenmodes as arrows in the complex plane. In weave, steer follows lean
with a small lag: the bicycle steers into the fall.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.bicycle.eigenvalues import eigenvalues
from draisine.view.figures import _linear as linear


def figure() -> Figure:
    """Return the picture."""
    modes = eigenvalues(draisine.compile("whipple"), np.array([5.0]))
    return linear.draw_mode_shapes(modes, 5.0)[0].figure
