"""Figure of the outputs of a sweep: one panel per output, curves over the number with most values."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.view.figures._linear import STABLE_COLOUR
from draisine.view.figures._sweep import break_label, in_degrees, output_panels
from draisine.view.style import (
    COLOURS,
    add_legend,
    draw_curve,
    font_size,
    given_or_new,
    simplify_axes,
    to_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray, Dataset


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Draw one panel per output of a sweep, or the critical speeds of a bicycle in one panel.

    An axis is logarithmic if its values have one sign and range over a factor of twenty. Runs that stopped
    early have hollow markers. Runs that do not form a grid are points over the first varied quantity. The
    stable range between critical speeds is shaded; over two parameters critical speeds are contours.
    Angles are in degrees.

    Parameters
    ----------
    data
        Result of a sweep or of a study of critical speeds.
    axes
        One axes per output; by default new ones.

    Returns
    -------
    array of Axes
        One axes per output.
    """
    if set(CRITICAL_VARIABLES) <= set(data.data_vars):
        return _critical(data, axes)
    panels, names = output_panels(data, axes)
    for panel, name in zip(panels, names, strict=False):
        if data[name].dims == ("run",):
            _points(simplify_axes(panel), data[name])
        else:
            _curves(simplify_axes(panel), data[name], data["outcome"] == "completed")
    if len(data.dims) > 1:
        add_legend(panels[0], 2)
    return panels


CRITICAL_VARIABLES = ("weave", "capsize", "stable_from", "stable_to")
"""Names of the dataset variables of critical speeds: weave speed, capsize speed, and both ends of the stable
range of speeds.
"""


def _critical(data: "Dataset", axes: "Sequence[Axes] | None") -> Any:
    """Draw critical speeds (m/s) against one parameter with the stable range shaded, or a map over two."""
    size = (7.4, 5.6) if data["weave"].ndim == 2 else (6.4, 4.2)
    new_or_old: Any = given_or_new(None, size) if axes is None else axes
    panels: Any = np.atleast_1d(new_or_old).ravel()
    for panel in panels[1:]:
        panel.set_visible(False)
    if data["weave"].ndim == 2:
        _critical_map(data, simplify_axes(panels[0]))
        return panels
    along, across = in_degrees(data[str(data["weave"].dims[0])], str(data["weave"].dims[0]))
    x = along.values
    low = data["stable_from"].values
    high = data["stable_to"].values
    speeds = np.concatenate([data[name].values for name in CRITICAL_VARIABLES])
    top = float(np.max(speeds, where=np.isfinite(speeds), initial=0.0))
    # Shade a stable range without an upper end up to the largest drawn speed.
    high = np.where(np.isfinite(high), high, top)
    drawn = simplify_axes(panels[0])
    drawn.fill_between(x, low, high, color=STABLE_COLOUR, lw=0, label="stable")
    for k, name in enumerate(CRITICAL_VARIABLES[:2]):
        draw_curve(drawn, k, x, data[name].values, f"{name} speed")
        drawn.lines[-1].set(marker="o", clip_on=False, zorder=3)
    drawn.margins(x=0.03)
    drawn.set(xlabel=across, ylabel="speed (m/s)")
    add_legend(drawn, 3)
    return panels


def _critical_map(data: "Dataset", axes: "Axes") -> None:
    """Draw contours of the critical speeds (m/s) over two parameters; shade the width of the stable range."""
    sides = [str(name) for name in data["weave"].dims]
    (x, across), (y, up) = (in_degrees(data[name], name) for name in sides)
    width = (data["stable_to"] - data["stable_from"]).values.T
    if np.isfinite(width).any():
        shades = axes.contourf(
            x, y, np.where(np.isfinite(width), width, np.nan), 8, cmap="Greens", alpha=0.6
        )
        axes.figure.colorbar(shades, ax=axes, label="width of the stable range (m/s)")
    for name, colour, dash in zip(
        CRITICAL_VARIABLES[:2], COLOURS, ("solid", "dashed"), strict=False
    ):
        speeds = data[name].values.T
        if np.isfinite(speeds).any():
            lines = axes.contour(x, y, speeds, colors=colour, linewidths=1.3, linestyles=dash)
            axes.clabel(lines, fmt="%g", fontsize=font_size(8), inline_spacing=2)
        axes.plot([], [], color=colour, linestyle=dash, label=f"{name} speed (m/s)")
    axes.set(xlabel=across, ylabel=up)
    add_legend(axes, 2)


def _points(axes: "Axes", output: "DataArray") -> None:
    """Draw an output of runs that do not form a grid as points over the first varied quantity."""
    along = output[next(str(name) for name in output.coords if name != "run")]
    (x, across), (y, upright) = (
        in_degrees(variable, str(variable.name)) for variable in (along, output)
    )
    axes.plot(x.values, y.values, "o", markersize=3)
    axes.set(xlabel=across, ylabel=break_label(upright))


def _curves(axes: "Axes", output: "DataArray", completed: "DataArray") -> None:
    """Draw an output over the varied number with most values, one curve per combination of the others.

    `completed` states for each run whether it was completed; other runs have hollow markers.
    """
    numeric = [d for d in output.dims if output[d].dtype.kind == "f"] or list(output.dims)
    along = max(numeric, key=lambda d: output.sizes[d])
    others = [d for d in output.dims if d != along]
    logarithmic = all(_is_wide(x) for x in (output[along].values, *_lines(output, along)))
    name = (
        f"magnitude of {output.name}"
        if logarithmic and float(output.min()) < 0.0
        else str(output.name)
    )
    output, upright = in_degrees(output, name)
    ahead, across = in_degrees(output[along], str(along))
    for k, values in enumerate(product(*(output[d].values for d in others))):
        place = dict(zip(others, values, strict=True))
        y = output.sel(place).values
        stopped = ~completed.sel(place).values
        label = ", ".join(_value_text(output[d].sel({d: x})) for d, x in place.items())
        x = ahead.values
        y = np.abs(y) if logarithmic else y
        draw_curve(axes, k, x, y, label)
        axes.lines[-1].set_marker("o")
        edge = axes.lines[-1].get_color()
        axes.plot(x[stopped], y[stopped], "o", color="white", markeredgecolor=edge, zorder=3)
    if logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_minor_formatter(lambda *_: "")
    axes.set(xlabel=across, ylabel=break_label(upright))


def _value_text(value: "DataArray") -> str:
    """Return the legend text "name = value unit" of a varied number; the value alone for a text."""
    if value.dtype.kind != "f":
        return str(value.item())
    unit = str(value.attrs.get("units", ""))
    displayed, _ = in_degrees(value, str(value.name))
    return f"{to_words(str(value.name))} = {displayed.item():.4g} {unit.replace('rad', 'deg')}".rstrip()


def _lines(output: "DataArray", along: Any) -> Any:
    """Return an output on a grid as an array (curves, n): one row per curve along the dimension `along`."""
    return np.moveaxis(output.values, output.dims.index(along), -1).reshape(-1, output.sizes[along])


def _is_wide(values: Any) -> bool:
    """Return whether values suit a logarithmic axis: one sign, and a range of about a factor of twenty."""
    # Texts have no logarithm.
    if values.dtype.kind != "f":
        return False
    sizes = np.abs(values[np.isfinite(values)])
    has_one_sign = len(sizes) > 1 and len(set(np.sign(values[np.isfinite(values)]))) == 1
    return bool(has_one_sign and sizes.min() > 0.0 and sizes.max() >= 19.0 * sizes.min())
