"""A snake follows its head

Six links on passive wheels; the head is steered by a sine, and all others go where it went.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def figure() -> Figure:
    """Return the picture."""
    data = run(load("locomotion/snake-6", {"run.dt": 0.02})).data
    return top.draw(data, every=2.0).figure
