"""Figure of the migration of contact points along the tyres."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ParameterError
from draisine.view.figures._marks import mark_events
from draisine.view.style import (
    add_legend,
    check_run,
    draw_curve,
    flatten_round_off,
    given_or_new,
    simplify_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Draw the angle (deg) between each contact point and its position in the zero configuration.

    A curve is interrupted where the angle jumps by a full turn.

    Parameters
    ----------
    data
        Dataset of a run of a vehicle with outputs `*_contact_angle`.
    axes
        Axes to draw into; by default new ones.

    Returns
    -------
    Axes
        The axes.
    """
    check_run(data)
    names = [str(n) for n in data.data_vars if str(n).endswith("_contact_angle")]
    if not names:
        raise ParameterError(
            "This vehicle has no outputs `*_contact_angle`. Choose another figure."
        )
    axes = simplify_axes(given_or_new(axes))
    for k, name in enumerate(names):
        label = name.removesuffix("_contact_angle")
        angle = np.degrees(data[name].values)
        # A NaN at the jump interrupts the drawn curve.
        jumps = np.flatnonzero(np.abs(np.diff(angle)) > 180.0) + 1
        t = np.insert(data["time"].values, jumps, np.nan)
        draw_curve(axes, k, t, np.insert(angle, jumps, np.nan), label)
    mark_events(data, axes)
    axes.set(xlabel="time (s)", ylabel="contact point along the tyre (deg)")
    add_legend(axes)
    flatten_round_off(axes, unit="deg")
    return axes
