"""A motorcycle in a turn

The motorcycle starts in a steady turn at 20 m/s with a lean of 40 degrees and keeps it; the figure
shows its path from above.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.equilibrium import steady
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    machine = draisine.compile("motorcycle")
    turn = steady(machine, free=["steer", "rear_wheel"], forward_speed=20.0, lean=np.radians(40.0))
    return turn.simulate(3.0, numerics=draisine.Numerics(dt=0.02)).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=0.5).figure
