"""A fish swims from rest

Its hinges oscillate a quarter period apart. The momentum of body and fluid is always zero, and the
shape changes alone propel it.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/fish", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=0.5).figure
