"""A skateboard carves

The leaning deck steers both trucks; its springs return it, and it swings to the other side. The
moment of the springs shifts the load to the inner wheels: above a lean of 0.05 rad, with a rigid
rider, the outer wheels would lift off.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    system = compile("skateboard")
    return simulate(system, state(system, lean=0.04, forward_speed=3.0), 2.0).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=0.5).figure
