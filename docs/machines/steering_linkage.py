"""A steering linkage moves

Two knuckles connected by a tie rod, driven by a torque at the left one: the outer wheel turns less
than the inner one, as Ackermann's condition requires.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    system = compile("steering_linkage", m=0.5)
    start = state(system, left=-0.3)
    return simulate(system, start, 0.5, inputs={"left": 0.2}).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["left", "right"]).figure
