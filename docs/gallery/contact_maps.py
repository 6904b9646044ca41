"""Maps over lean and steer

Contact points of both wheels, and the yaw of the frame relative to its tracks, in all poses with
both wheels on the ground (figures 2.5, 2.7 and 2.8 of the thesis). Each point is solved to
round-off.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import maps


def figure() -> Figure:
    """Return the picture."""
    return maps.draw(run(load("mauny2018/contact-maps")).data)[0].figure
