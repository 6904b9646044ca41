"""A car and its trailers

Three trailers behind a car that swings to and fro, hitched behind the axles: each swings out before
it follows.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def figure() -> Figure:
    """Return the picture."""
    data = run(load("locomotion/trailers-off-axle", {"run.dt": 0.02})).data
    return top.draw(data, every=2.0).figure
