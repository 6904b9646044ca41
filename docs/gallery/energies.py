"""Energies with events

The jump from a ramp. On the ramp and in the air the sum of kinetic and potential energy is
constant. Each landing is a plastic impact and dissipates energy.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import energies


def figure() -> Figure:
    """Return the picture."""
    return energies.draw(run(load("mauny2018/ramp-jump")).data).figure
