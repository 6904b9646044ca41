"""Down a slope on point feet

The walker starts on the long-period cycle on a slope of 0.009 rad; lengths and gravity are one.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    return run(load("walkers/simplest-long-009")).data


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["left", "right"]).figure
