"""A snakeboard parks

The rotor swings three times while the trucks swing twice: the board moves sideways, and no wheel is
ever pushed.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def figure() -> Figure:
    """Return the picture."""
    data = run(load("locomotion/snakeboard-parking", {"run.dt": 0.02})).data
    return top.draw(data, every=1.0).figure
