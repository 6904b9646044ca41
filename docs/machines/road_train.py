"""A road train drives over a kerb

Two trailers follow a tricycle at 2 m/s over a kerb of 3 cm. The figure shows their pitch at the hitches.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/road-train-kerb")).data


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["hitch1_pitch", "hitch2_pitch"]).figure
