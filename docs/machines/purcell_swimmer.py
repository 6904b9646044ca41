"""Purcell's swimmer follows a loop in shape space

In a fluid without inertia only the path in shape space matters: its two hinges follow a circle, and
the swimmer advances by the same distance in every cycle, at any speed.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.model.motion import sine
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    hinges = {"rear": sine(0.9, 0.5, np.pi / 2), "front": sine(0.9, 0.5)}
    system = compile("purcell_swimmer", mass=0.01, **hinges)
    return simulate(system, state(system), 4.0).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=1.0).figure
