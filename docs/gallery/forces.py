"""Contact forces and the friction they need

The controlled turn again. In the steady circle the ground pushes with 0.3 of the normal force
towards the centre; on ice this turn would end differently.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import forces


def figure() -> Figure:
    """Return the picture."""
    return forces.draw(run(load("mauny2018/controlled-turn")).data)[0].figure
