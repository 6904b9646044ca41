"""Side view

A wheelie, every fifth of a second, from the right side: the front wheel lifts off, and the torque
on the rear wheel holds the bicycle at thirty degrees.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import side


def figure() -> Figure:
    """Return the picture."""
    data = run(load("mauny2018/wheelie-held", {"run.until": 1.0})).data
    return side.draw(data, every=0.2).figure
