"""A fish in an ideal fluid

Its hinges swing a quarter period apart. The momentum of body and fluid is zero all the time, and the
shape alone leads it on.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import top


def figure() -> Figure:
    """Return the picture."""
    data = run(load("locomotion/fish", {"run.dt": 0.02})).data
    return top.draw(data, every=0.5).figure
