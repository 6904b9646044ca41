"""A unicycle falls

Without control it turns into its lean but still falls. The figure shows lean, pitch and heading.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    system = compile("unicycle")
    return simulate(
        system, state(system, lean=0.02, pitch=0.01, forward_speed=2.0), 0.6
    ).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["lean", "pitch", "yaw"]).figure
