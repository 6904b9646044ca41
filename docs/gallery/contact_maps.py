"""Maps over lean and steer

Where the wheels touch, and how the frame stands to its tracks, in every pose in which both wheels
are on the ground (figures 2.5, 2.7 and 2.8 of the thesis). Each of the points is solved to
round-off.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import maps


def figure() -> Figure:
    """Return the picture."""
    return maps.draw(run(load("mauny2018/contact-maps")).data)[0].figure
