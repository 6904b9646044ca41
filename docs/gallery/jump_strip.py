"""A jump in one strip

The jump from a ramp (section 4.3.2 of the thesis), as `draisine run ramp-jump --plot jump.png`
draws it: in full at each lift-off and touchdown, pale in between, with its shadow.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import path


def figure() -> Figure:
    """Return the picture."""
    return path.draw(run(load("mauny2018/ramp-jump")).data).figure
