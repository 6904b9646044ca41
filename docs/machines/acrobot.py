"""The acrobot falls from rest

The acrobot starts at rest, almost upright, and swings without a torque at its hip: the motion is
chaotic and conserves energy.
"""

from typing import Any

from matplotlib.figure import Figure

import draisine
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    machine = draisine.compile("acrobot")
    start = draisine.state(machine, bar=3.1)
    numerics = draisine.Numerics(dt=0.02)
    return draisine.simulate(machine, start, 6.0, numerics=numerics).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["bar", "hip"]).figure
