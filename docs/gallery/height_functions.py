"""Displacement of a gait

The curvature of Purcell's swimmer over its two joint angles, in the minimum-perturbation body
frame: a gait that encircles a hill counter-clockwise moves the swimmer by about the volume of the
hill. The square has the largest displacement of all squares, with an amplitude of 79.7 degrees. A
larger one encloses parts of the valleys, and at 115.5 degrees the displacement vanishes.
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
