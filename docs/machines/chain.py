"""A chain swings

A chain of six links hangs from a fixed base and is released from an inclined position.
"""

from typing import Any

from matplotlib.figure import Figure

import draisine
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    machine = draisine.compile("chain", links=6, base="fixed")
    start = draisine.state(machine, **{machine.model.joints[0].name: 0.8})
    numerics = draisine.Numerics(dt=0.02)
    return draisine.simulate(machine, start, 4.0, numerics=numerics).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion()).figure
