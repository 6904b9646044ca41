"""Gaps

Distance of both wheels from the ground during the jump, to the nearest face, edge or corner. A
wheel that has left the ramp is nearest to its edge for a while, then to the ground below.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import gaps


def figure() -> Figure:
    """Return the picture."""
    return gaps.draw(run(load("mauny2018/ramp-jump")).data).figure
