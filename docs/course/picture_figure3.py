"""Figure 3 of the paper

Eigenvalues of the benchmark bicycle against speed.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import eigenvalues


def figure() -> Figure:
    """Return the picture."""
    return eigenvalues.draw(run(load("escalona2012/eigenvalues")).data).figure
