"""Energies, with the events marked

The jump from a ramp. On the ramp and in the air kinetic and potential energy only change places.
Each landing is a plastic impact and takes some of the sum away.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import energies


def figure() -> Figure:
    """Return the picture."""
    return energies.draw(run(load("mauny2018/ramp-jump")).data).figure
