"""A sleigh turns around

Its mass centre is ahead of the runner. Pushed backwards, it turns around and finally glides
straight with its initial speed: energy is conserved, and yet all motions have the same limit.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/chaplygin-sleigh-back", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=0.5).figure
