"""A skateboard carves

Leaned to one side, the deck steers both trucks; its springs bring it back, and it swings to the
other side.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    system = compile("skateboard")
    return simulate(system, state(system, lean=0.15, forward_speed=3.0), 2.0).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=0.5).figure
