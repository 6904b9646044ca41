"""The path of a run

The default figure of `draisine run`: the benchmark bicycle rolls at 4.6 m/s, is pushed with 0.5
rad/s and recovers. The machine every half second, its tracks on the ground, the world axes along
the rim.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import path


def figure() -> Figure:
    """Return the picture."""
    return path.draw(run(load("mauny2018/passive-stabilisation")).data).figure
