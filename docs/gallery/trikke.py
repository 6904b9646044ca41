"""A trikke rolls

A rider who swings to and fro over three wheels gets ahead, faster with every swing.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def figure() -> Figure:
    """Return the picture."""
    data = run(load("locomotion/trikke-steered", {"run.dt": 0.02})).data
    return top.draw(data, every=1.0).figure
