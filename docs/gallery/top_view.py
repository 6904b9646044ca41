"""Top view with snapshots

The controlled turn of the IFAC paper, seen from above: the tracks of both wheels, and the bicycle
every half second. The mass of the frame (diamonds) moves inside the tracks, because the bicycle
leans into its turn.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def figure() -> Figure:
    """Return the picture."""
    data = run(load("mauny2017/controlled-turn")).data
    return top.draw(data, every=0.5).figure
