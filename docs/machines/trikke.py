"""A trikke accelerates

A rider who oscillates on three wheels moves forward, faster with every swing.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/trikke-steered", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=1.0).figure
