"""A ball tips a bar

A ball rolls along a bar on two supports. Beyond the second support the far one loses its load, the
bar tips, and the ball rolls down and falls.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import forces


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/ball-on-bar", {"run.dt": 0.005})).data


def figure() -> Figure:
    """Return the picture."""
    return forces.draw(motion()).flat[0].figure
