"""Figure of the difference of two runs on a logarithmic scale."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ParameterError
from draisine.view.style import add_legend, draw_curve, given_or_new, simplify_axes, to_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

SMALLEST_DIFFERENCE = 1e-17
"""Difference (SI units) that replaces smaller ones, because zero has no logarithm. It is below the resolution
of floating-point numbers near 1.
"""


def draw(data: "Dataset", axes: "Axes | None" = None, names: Sequence[str] | None = None) -> "Axes":
    """Draw the decimal logarithm of the absolute difference of two runs.

    Parameters
    ----------
    data
        Two runs along the dimension `run`, see `draisine compare`.
    axes
        Axes to draw into; by default new ones.
    names
        Series to draw; by default all common series.

    Returns
    -------
    Axes
        The axes.
    """
    if data.sizes.get("run") != 2:
        raise ParameterError(
            "A difference needs two runs along the dimension `run`. `draisine compare` makes one."
        )
    axes = simplify_axes(given_or_new(axes))
    names = list(names or map(str, data.data_vars))
    for k, name in enumerate(names):
        first, second = data[name].values
        unit = str(data[name].attrs.get("units", ""))
        difference = np.maximum(np.abs(second - first), SMALLEST_DIFFERENCE)
        draw_curve(axes, k, data["time"].values, np.log10(difference), f"{to_words(name)} ({unit})")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("log10 of the difference")
    add_legend(axes, 3)
    return axes
