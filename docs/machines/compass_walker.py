"""Down a slope without a motor

The walker begins on its limit cycle and goes on by itself on a slope of three degrees, a strike of a
foot after the other. Angles of both legs from the normal of the ground.
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
