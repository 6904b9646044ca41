"""Figure of contour maps over two coordinates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.model.quantity import readable
from draisine.view.style import font_size, new_figure, to_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Draw a filled contour map of each variable; angles are in degrees.

    Parameters
    ----------
    data
        Dataset with variables over two coordinates.
    axes
        One axes per variable; by default new ones.

    Returns
    -------
    array of Axes
        One axes per variable.
    """
    names = [str(n) for n in data.data_vars]
    numbers = all(data[n].dtype.kind == "f" for n in [*names, *data.dims])
    if "time" in data.dims or not numbers or any(len(data[n].dims) != 2 for n in names):
        raise ParameterError("A map needs variables over two coordinates, which this result lacks.")
    if axes is None:
        rows = -(-len(names) // 2)
        panels = np.atleast_1d(new_figure(rows, min(2, len(names)), (9.0, 3.8 * rows))).ravel()
    else:
        panels = np.asarray(axes, dtype=object).ravel()
    for panel, name in zip(panels, names, strict=False):
        _contours(panel, data, name)
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    return panels


def _contours(axes: "Axes", data: "Dataset", name: str) -> None:
    """Draw the contours of one variable; the colour map is symmetric about zero if both signs occur."""
    first, second = (str(d) for d in data[name].dims)
    (x, x_unit), (y, y_unit), (z, z_unit) = (_shown(data, n) for n in (first, second, name))
    reach = float(np.nanmax(np.abs(z))) or 1.0
    # If both signs occur, a symmetric colour map makes the sign visible.
    around_zero = float(np.nanmin(z)) < -0.1 * reach and float(np.nanmax(z)) > 0.1 * reach
    style = {"cmap": "PuOr", "vmin": -reach, "vmax": reach} if around_zero else {"cmap": "YlGnBu"}
    filled = axes.contourf(x, y, z.T, levels=12, **style)
    lines = axes.contour(x, y, z.T, levels=filled.levels, colors="black", linewidths=0.5)
    axes.clabel(lines, list(lines.levels)[::2], fontsize=8, fmt="%g")
    axes.figure.colorbar(filled, ax=axes, shrink=0.95, label=z_unit)
    axes.set_title(to_words(name), fontsize=font_size(10))
    axes.set(xlabel=f"{to_words(first)} ({x_unit})", ylabel=f"{to_words(second)} ({y_unit})")


def _shown(data: "Dataset", name: str) -> tuple[Any, str]:
    """Return the values of the variable `name` with angles in degrees, and the displayed unit."""
    return readable(data[name].values, str(data[name].attrs.get("units", "")))
