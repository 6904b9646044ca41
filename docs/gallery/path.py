"""The ridden path

What `draisine run` draws by itself: the benchmark bicycle rolls at 4.6 m/s, is pushed over at 0.5
rad/s and steadies itself. The machine every half second, its tracks on the ground, the axes of the
world along the rim.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import path


def figure() -> Figure:
    """Return the picture."""
    return path.draw(run(load("mauny2018/passive-stabilisation")).data).figure
