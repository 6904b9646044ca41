"""How a fish swims

The curvature of a fish of three links in an ideal fluid, over its two angles, in the body frame that
swimming shakes least. Ahead, the hill in the middle is what an undulation goes round; sideways and in
turning, hills and valleys are opposite, so that a gait that is symmetric leads straight on.
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
