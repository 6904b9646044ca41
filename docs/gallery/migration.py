"""Migration of the contact points

If a wheel leans and steers, its contact point moves along the tyre. During the passive run the
front contact point moves by one degree, twice in every period; the rear one hardly moves.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import migration


def figure() -> Figure:
    """Return the picture."""
    return migration.draw(run(load("mauny2018/passive-stabilisation")).data).figure
