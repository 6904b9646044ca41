"""Front view

The push of the passive bicycle, seen from the front every quarter of a second: it leans to its
right (left in the picture), the handlebar turns into the lean, and it recovers.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import front


def figure() -> Figure:
    """Return the picture."""
    data = run(load("mauny2018/passive-stabilisation", {"run.until": 2.0})).data
    return front.draw(data, every=0.25).figure
