"""Front view

The push that the bicycle steadies by itself, seen from ahead every quarter of a second: it leans to
its right (on the left here), the handlebar turns there, and it comes back.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import front


def figure() -> Figure:
    """Return the picture."""
    data = run(load("mauny2018/passive-stabilisation", {"run.until": 2.0})).data
    return front.draw(data, every=0.25).figure
