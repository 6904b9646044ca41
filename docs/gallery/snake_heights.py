"""How a snake of three links creeps

The curvature of a three-link snake on wheels over its two joint angles. If both angles are equal
the shape is singular: the three axles intersect in one point, and the contacts do not determine the
motion. A serpentine gait stays on one side of this line.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.connection import local_connection
from draisine.view.figures import _height as height


def figure() -> Figure:
    """Return the picture."""
    snake = local_connection(draisine.compile("snake", links=3), "contacts")
    turn = np.linspace(0.0, 2.0 * np.pi, 121)
    creep = np.array([0.8, -0.8]) + 0.5 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return height.draw_heights(snake, -1.6, 1.6, None, [creep])
