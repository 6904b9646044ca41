"""A ball on a slope

A homogeneous ball rolls down a slope with 5/7 of the acceleration of a sliding body.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/ball-on-slope", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["x_speed", "y_speed"]).figure
