"""How contact points wander along the tyres."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ParameterError
from draisine.view.figures._marks import mark_events
from draisine.view.style import check_run, curve, given_or_new, legend, plain, rest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Return axes with the angle by which each contact point has left its place in the drawing; a
    curve is cut where a wheel turns over.
    """
    check_run(data)
    names = [str(n) for n in data.data_vars if str(n).endswith("_contact_angle")]
    if not names:
        raise ParameterError("this vehicle tells no contact angles to draw.")
    axes = plain(given_or_new(axes))
    for k, name in enumerate(names):
        label = name.removesuffix("_contact_angle")
        angle = np.degrees(data[name].values)
        over = np.flatnonzero(np.abs(np.diff(angle)) > 180.0) + 1
        t = np.insert(data["time"].values, over, np.nan)
        curve(axes, k, t, np.insert(angle, over, np.nan), label)
    mark_events(data, axes)
    axes.set(xlabel="time (s)", ylabel="contact point along the tyre (deg)")
    legend(axes)
    rest(axes, unit="deg")
    return axes
