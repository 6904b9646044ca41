"""Euler's disc circles

A coin that lies almost flat rolls on its edge with its centre almost at rest and a small nutation.
The figure shows the path of the contact point.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    system = compile("euler_disc")
    return simulate(system, state(system, lean=1.35, spin=0.0, yaw_rate=72.0), 0.25).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=0.05).figure
