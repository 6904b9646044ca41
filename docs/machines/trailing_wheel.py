"""A caster shimmies

Without a damper, and with a trail shorter than the relaxation length of the tyre, straight running is
unstable: the swivel angle oscillates with growing amplitude.
"""

from typing import Any

from matplotlib.figure import Figure

import draisine
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    machine = draisine.compile("trailing_wheel", k=0.0)
    start = draisine.state(machine, swivel=0.02)
    numerics = draisine.Numerics(dt=0.005)
    return draisine.simulate(machine, start, 1.0, numerics=numerics).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["swivel"]).figure
