"""A penny on its clothoid

An upright disc with a torque about its axle and another about the vertical: the faster it turns,
the tighter its path.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/penny-driven", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=0.5).figure
