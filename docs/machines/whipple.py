"""The bicycle recovers from a push

The benchmark bicycle rolls at 4.6 m/s without a rider and is pushed to the right: it steers into
the lean and recovers.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    return run(load("mauny2018/passive-stabilisation", {"run.dt": 0.05})).data


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["lean", "steer"]).figure
