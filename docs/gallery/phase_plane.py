"""Phase plane

Lean and steer against their rates while the bicycle recovers: two spirals into the origin.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import phase


def figure() -> Figure:
    """Return the picture."""
    data = run(load("mauny2018/passive-stabilisation", {"run.until": 10.0})).data
    return phase.draw(data).figure
