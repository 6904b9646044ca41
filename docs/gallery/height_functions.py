"""Where a gait leads

The curvature of Purcell's swimmer over its two angles, in the body frame that swimming shakes least:
a gait that goes round a hill counter-clockwise moves the swimmer by about the hill's volume. The
square is the longest stroke that a square can make, with an amplitude of 79.7 degrees; a larger one
begins to enclose the valleys, and at 115.5 degrees it leads nowhere.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.connection import local_connection, quiet_frame
from draisine.view.figures import _height as height


def figure() -> Figure:
    """Return the picture."""
    swimmer = local_connection(draisine.compile("purcell_swimmer"), "drag")
    frame = quiet_frame(swimmer, (-2.2, -2.2), (2.2, 2.2))
    square = 1.3906 * np.array([(1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)])
    return height.draw_heights(swimmer, -2.2, 2.2, frame, [square])
