"""Event graph

Contact modes and the transitions between them, as in figure 4.5 of the thesis: lift-offs and
collisions with their times. This run goes through the graph once.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import event_graph


def figure() -> Figure:
    """Return the picture."""
    return event_graph.draw(run(load("mauny2018/ramp-jump")).data).figure
