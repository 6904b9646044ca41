"""Down a slope without a motor

The walker starts on its limit cycle on a slope of three degrees; each step ends with a foot strike.
The figure shows the angles of both legs from the ground normal.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    return run(load("walkers/compass-walks", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["left", "right"]).figure
