"""A platform on two wheels

Both wheels oscillate with a phase difference of a quarter period, and the platform moves sideways,
a direction in which no wheel can roll.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/differential-platform", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=0.25).figure
