"""A tricycle with free steering

Its front wheel is free to steer while the tricycle rolls: it trails, and the turn opens. The figure
shows the tracks of three wheels.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    system = compile("tricycle")
    return simulate(system, state(system, steer=0.1, forward_speed=2.0), 3.0).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=1.0).figure
