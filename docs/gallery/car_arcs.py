"""A car by four arcs

Ahead to the left, ahead to the right, back to the left, back to the right: the wheels are turned at
rest in between, and the car has moved sideways. The tracks are those of all four wheels; the linkage
and the differential are couplings of joints.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def figure() -> Figure:
    """Return the picture."""
    data = run(load("locomotion/car-four-arcs", {"run.dt": 0.02})).data
    return top.draw(data, every=2.0).figure
