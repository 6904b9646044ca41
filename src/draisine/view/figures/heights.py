"""Figure of small lengths of two runs, such as the heights of contact points, in one panel."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ParameterError
from draisine.view.style import COLOURS, add_legend, given_or_new, simplify_axes, to_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

LENGTH_UNITS = {"m": 1.0, "mm": 1e-3, "\N{MICRO SIGN}m": 1e-6, "nm": 1e-9, "pm": 1e-12}
"""Units of length in metres, from the largest to the smallest unit."""


def draw(data: "Dataset", axes: "Axes | None" = None, names: Sequence[str] | None = None) -> "Axes":
    """Draw lengths of two runs over time, solid for the first run and dotted for the second.

    The unit follows the largest value, so that drifts far below a millimetre are legible.

    Parameters
    ----------
    data
        Two runs along the dimension `run`, see `draisine compare`.
    axes
        Axes to draw into; by default new ones.
    names
        Series to draw, in m; by default all common lengths.

    Returns
    -------
    Axes
        The axes.
    """
    if data.sizes.get("run") != 2:
        raise ParameterError(
            "Heights need two runs along the dimension `run`. `draisine compare` makes one."
        )
    names = list(names or (str(n) for n in data.data_vars if data[n].attrs.get("units") == "m"))
    largest = max(float(np.nanmax(np.abs(data[name].values))) for name in names)
    unit = next((u for u, size in LENGTH_UNITS.items() if largest >= size), "pm")
    axes = simplify_axes(given_or_new(axes))
    for k, name in enumerate(names):
        for run, dash in zip(range(2), ("-", ":"), strict=True):
            axes.plot(
                data["time"].values,
                data[name].values[run] / LENGTH_UNITS[unit],
                color=COLOURS[k % 7],
                ls=dash,
                lw=1.6,
                label=f"{to_words(name)}, {data['run'].values[run]}",
            )
    axes.set_xlabel("time (s)")
    axes.set_ylabel(f"height ({unit})")
    add_legend(axes, 2)
    return axes
