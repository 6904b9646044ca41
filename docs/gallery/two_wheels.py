"""A two-wheeled pendulum balances

Pitch and heading of a pendulum on two wheels under a law of least cost, made from its own linear
system; it starts out tilted and turning.
"""

from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.analysis.linear import linearise
from draisine.analysis.lqr import lqr
from draisine.view.figures import histories


def figure() -> Figure:
    """Return the picture."""
    system = compile("segway", hx=0.0)
    upright = linearise(system, state(system))
    weights = {"pitch": 100.0, "left_rate": 1.0, "right_rate": 1.0}
    law = lqr(upright, weights, {"left": 0.1, "right": 0.1})
    run = simulate(system, state(system, pitch=0.2, Wz=0.5), 5.0, law=law)
    return histories.draw(run.to_xarray(), names=["pitch", "yaw"]).figure
