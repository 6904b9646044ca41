"""How contact points wander along the tyres."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ParameterError
from draisine.view.style import curve, given_or_new, legend, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Return axes with the angle by which each contact point has left its place in the drawing."""
    names = [str(n) for n in data.data_vars if str(n).endswith("_contact_angle")]
    if not names:
        raise ParameterError("this vehicle tells no contact angles to draw.")
    axes = plain(given_or_new(axes))
    for k, name in enumerate(names):
        label = name.removesuffix("_contact_angle")
        curve(axes, k, data["time"].values, np.degrees(data[name].values), label)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("contact angle, from its place upright (deg)")
    legend(axes)
    return axes
