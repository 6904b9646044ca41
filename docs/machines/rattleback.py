"""A rattleback reverses

Spun against its skew it begins to rattle, stops, and turns the other way. The figure shows its spin
about the vertical.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    system = compile("rattleback")
    return simulate(system, state(system, pitch="0.5deg", yaw_rate=-5.0), 5.0).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["spin"]).figure
