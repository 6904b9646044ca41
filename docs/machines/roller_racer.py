"""A roller racer accelerates

The arm oscillates, with its axle behind the hinge, and the racer accelerates with every swing. With
the axle ahead of the hinge it would run backwards.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/roller-racer-ahead", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=1.0).figure
