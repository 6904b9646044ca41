"""The jump from a ramp, from the side

Up a slope of ten degrees at 10 m/s, over its edge, half a metre down: section 4.3.2 of the thesis.
The machine is black at the events: two lift-offs, two landings.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import profile


def figure() -> Figure:
    """Return the picture."""
    return profile.draw(run(load("mauny2018/ramp-jump")).data).figure
