"""Root locus

The same eigenvalues in the complex plane, coloured by speed. Two real roots merge, leave the axis
as weave and move into the stable half-plane; capsize crosses zero in the other direction.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.bicycle.eigenvalues import eigenvalues
from draisine.view.figures import _linear as linear


def figure() -> Figure:
    """Return the picture."""
    modes = eigenvalues(draisine.compile("whipple"), np.linspace(0.0, 10.0, 201))
    return linear.draw_root_locus(modes).figure
