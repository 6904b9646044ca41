"""A car parks by four arcs

Forward left, forward right, back left, back right: the wheels are steered at rest in between, and
the car has moved sideways. The figure shows the tracks of all four wheels; the linkage and the
differential are joint couplings.
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
