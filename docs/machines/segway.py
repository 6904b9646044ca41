"""A two-wheeled pendulum balances

Pitch and heading of a pendulum on two wheels with LQR, designed from its own linear system; it
starts tilted and turning.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.analysis.linear import linearise
from draisine.analysis.lqr import lqr
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    system = compile("segway", hx=0.0)
    upright = linearise(system, state(system))
    weights = {"pitch": 100.0, "left_rate": 1.0, "right_rate": 1.0}
    law = lqr(upright, weights, {"left": 0.1, "right": 0.1})
    return simulate(system, state(system, pitch=0.2, Wz=0.5), 5.0, law=law).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["pitch", "yaw"]).figure
