"""A snakeboard parks

The rotor oscillates three times while the trucks oscillate twice: the board moves sideways,
although no wheel is driven.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/snakeboard-parking", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=1.0).figure
