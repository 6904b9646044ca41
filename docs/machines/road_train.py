"""A road train drives over a kerb

Two trailers follow a tricycle at 2 m/s over a kerb of 3 cm; their pitch at the hitches over time.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine import ContactOptions, compile, simulate, state
from draisine.terrain import kerb
from draisine.view.figures import series


def motion() -> Any:
    """Return the run."""
    train = compile("road_train", lengths=(1.0, 1.0), hitches=(0.3, 0.3))
    start = state(train, forward_speed=2.0)
    contact = ContactOptions(mu=0.8)
    return simulate(train, start, 3.5, terrain=kerb(2.0, 0.03), contact=contact).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return series.draw(motion(), series=["hitch1_pitch", "hitch2_pitch"]).figure
