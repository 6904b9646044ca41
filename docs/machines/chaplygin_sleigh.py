"""A sleigh turns round

Its mass lies ahead of the runner. Pushed backwards, it turns round, and ends up straight ahead with
the speed it had: nothing dissipates, and yet all motions end alike.
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
