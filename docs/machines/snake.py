"""A snake follows its head

Six links on passive wheels; the head is steered by a sine, and all other links follow its path.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/snake-6", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=2.0).figure
