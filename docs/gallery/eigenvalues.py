"""Eigenvalues against speed

The picture that every paper on bicycles has. Between weave and capsize speed (shaded) all real
parts are negative and the bicycle steadies itself; the two speeds and the double root are found to
the last digit, not read off.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import eigenvalues


def figure() -> Figure:
    """Return the picture."""
    return eigenvalues.draw(run(load("meijaard2007/eigenvalues")).data).figure
