"""How a fish swims

The curvature of a fish of three links in an ideal fluid over its two joint angles, in the
minimum-perturbation body frame. For the forward direction, an undulation encircles the hill in the
middle. For the lateral direction and the rotation, hills and valleys are antisymmetric, so a
symmetric gait leads straight.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.connection import local_connection, quiet_frame
from draisine.view.figures import _height as height


def figure() -> Figure:
    """Return the picture."""
    fish = local_connection(draisine.compile("fish"), "momentum")
    frame = quiet_frame(fish, (-1.6, -1.6), (1.6, 1.6))
    turn = np.linspace(0.0, 2.0 * np.pi, 121)
    stroke = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return height.draw_heights(fish, -1.6, 1.6, frame, [stroke])
