"""Eigenvalues against speed

The standard figure of bicycle dynamics. Between weave and capsize speed (shaded) all real parts are
negative, and the bicycle is self-stable. The two speeds and the double root are computed to
round-off.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import eigenvalues


def figure() -> Figure:
    """Return the picture."""
    return eigenvalues.draw(run(load("meijaard2007/eigenvalues")).data).figure
