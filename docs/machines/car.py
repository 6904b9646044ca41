"""A car parks by four arcs

Ahead to the left, ahead to the right, back to the left, back to the right: the wheels are turned at
rest in between, and the car has moved sideways. The tracks are those of all four wheels; the linkage
and the differential are couplings of joints.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/car-four-arcs", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return top.draw(motion(), every=2.0).figure
