"""Contact points that wander

Leaning and steered, a wheel does not touch the ground at its lowest point of the drawing. During
the passive run the front contact wanders by one degree along the tyre, twice in every swing; the
rear one hardly at all.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import migration


def figure() -> Figure:
    """Return the picture."""
    return migration.draw(run(load("mauny2018/passive-stabilisation")).data).figure
