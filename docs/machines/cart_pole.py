"""A pole is balanced by its cart

State feedback by LQR moves the cart so that the inverted pendulum returns to the vertical.
"""

from typing import Any

from matplotlib.figure import Figure

import draisine
from draisine.analysis.lqr import balance
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    machine = draisine.compile("cart_pole")
    law = balance(machine, {"cart": 1.0, "pole": 10.0}, {"cart": 0.1})
    start = draisine.state(machine, pole=0.3)
    numerics = draisine.Numerics(dt=0.02)
    return draisine.simulate(machine, start, 6.0, law=law, numerics=numerics).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["pole"]).figure
