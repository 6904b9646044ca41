"""A limit cycle

The climbing robot ROCR of the thesis: two grips alternate on a wall, and a tail swings. The figure
shows the machine over one cycle, its phase plane with the jumps at the impacts, torques and grip
forces.
"""

from matplotlib.figure import Figure

from draisine.experiment.tables.cycles import find_all_cycles
from draisine.view.figures import cycle


def figure() -> Figure:
    """Return the picture."""
    return cycle.draw(find_all_cycles("rocr").isel(cycle=[0]))[0, 0].figure
