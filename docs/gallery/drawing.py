"""A machine in its model configuration

The Whipple bicycle in its zero configuration, from the right: lines between the joints, the steer
axis (dashed), mass centres with their masses. `draisine show whipple --plot whipple.png` draws it.
"""

from matplotlib.figure import Figure

from draisine.vehicles.bicycle.whipple import whipple
from draisine.view.figures import side


def figure() -> Figure:
    """Return the picture."""
    return side.draw_model(whipple()).figure
