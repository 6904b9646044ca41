"""Contact forces and required friction

The controlled turn. In the steady circle the ground pushes towards the centre with 0.3 of the
normal force; on ice the bicycle would slip.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import forces


def figure() -> Figure:
    """Return the picture."""
    return forces.draw(run(load("mauny2018/controlled-turn")).data)[0].figure
