"""What a sweep found: one panel per question, curves over its longest side of numbers."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.view.figures._linear import STABLE
from draisine.view.figures._sweep import answer_panels, in_degrees, narrow
from draisine.view.style import COLOURS, curve, given_or_new, legend, letters, plain, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray, Dataset


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Return one axes per question of a sweep; angles are in degrees. Where values of one sign range
    over a factor of twenty or more, axes are logarithmic and show their sizes. Runs that ended before
    their time are hollow. Runs that are on no grid are points over what differs first. Critical speeds of
    a bicycle stand in one panel, with the stable range shaded between them; over two parameters as contours.
    """
    if set(CRITICAL) <= set(data.data_vars):
        return _critical(data, axes)
    panels, names = answer_panels(data, axes)
    for panel, name in zip(panels, names, strict=False):
        if data[name].dims == ("run",):
            _points(plain(panel), data[name])
        else:
            _curves(plain(panel), data[name], data["outcome"] == "completed")
    if len(data.dims) > 1:
        legend(panels[0], 2)
    return panels


CRITICAL = ("weave", "capsize", "stable_from", "stable_to")
"""The speeds that bound the stable range, and its ends."""


def _critical(data: "Dataset", axes: "Sequence[Axes] | None") -> Any:
    """Return axes with critical speeds against a parameter, and the range that is stable."""
    size = (7.4, 5.6) if data["weave"].ndim == 2 else (6.4, 4.2)
    given: Any = given_or_new(None, size) if axes is None else axes
    panels: Any = np.atleast_1d(given).ravel()
    for panel in panels[1:]:
        panel.set_visible(False)
    if data["weave"].ndim == 2:
        _critical_map(data, plain(panels[0]))
        return panels
    along, across = in_degrees(data[str(data["weave"].dims[0])], str(data["weave"].dims[0]))
    x = along.values
    low = data["stable_from"].values
    high = data["stable_to"].values
    speeds = np.concatenate([data[name].values for name in CRITICAL])
    top = float(np.max(speeds, where=np.isfinite(speeds), initial=0.0))
    high = np.where(np.isfinite(high), high, top)  # where it has no upper end
    drawn = plain(panels[0])
    drawn.fill_between(x, low, high, color=STABLE, lw=0, label="stable")
    for k, name in enumerate(CRITICAL[:2]):
        curve(drawn, k, x, data[name].values, f"{name} speed")
        drawn.lines[-1].set(marker="o", clip_on=False, zorder=3)
    drawn.margins(x=0.03)
    drawn.set(xlabel=across, ylabel="speed (m/s)")
    legend(drawn, 3)
    return panels


def _critical_map(data: "Dataset", axes: "Axes") -> None:
    """Draw contours of the critical speeds over two parameters, and how wide the stable range is."""
    sides = [str(name) for name in data["weave"].dims]
    (x, across), (y, up) = (in_degrees(data[name], name) for name in sides)
    width = (data["stable_to"] - data["stable_from"]).values.T
    if np.isfinite(width).any():
        shades = axes.contourf(
            x, y, np.where(np.isfinite(width), width, np.nan), 8, cmap="Greens", alpha=0.6
        )
        axes.figure.colorbar(shades, ax=axes, label="width of the stable range (m/s)")
    for name, colour, dash in zip(CRITICAL[:2], COLOURS, ("solid", "dashed"), strict=False):
        found = data[name].values.T
        if np.isfinite(found).any():
            lines = axes.contour(x, y, found, colors=colour, linewidths=1.3, linestyles=dash)
            axes.clabel(lines, fmt="%g", fontsize=letters(8), inline_spacing=2)
        axes.plot([], [], color=colour, linestyle=dash, label=f"{name} speed (m/s)")
    axes.set(xlabel=across, ylabel=up)
    legend(axes, 2)


def _points(axes: "Axes", found: "DataArray") -> None:
    """Draw runs that are on no grid."""
    along = found[next(str(name) for name in found.coords if name != "run")]
    (x, across), (y, upright) = (in_degrees(one, str(one.name)) for one in (along, found))
    axes.plot(x.values, y.values, "o", markersize=3)
    axes.set(xlabel=across, ylabel=narrow(upright))


def _curves(axes: "Axes", found: "DataArray", whole: "DataArray") -> None:
    numeric = [d for d in found.dims if found[d].dtype.kind == "f"] or list(found.dims)
    along = max(numeric, key=lambda d: found.sizes[d])
    others = [d for d in found.dims if d != along]
    steep = all(_is_wide(x) for x in (found[along].values, *_lines(found, along)))
    said = f"size of {found.name}" if steep and float(found.min()) < 0.0 else str(found.name)
    found, upright = in_degrees(found, said)
    ahead, across = in_degrees(found[along], str(along))
    for k, at in enumerate(product(*(found[d].values for d in others))):
        place = dict(zip(others, at, strict=True))
        y = found.sel(place).values
        ended = ~whole.sel(place).values
        label = ", ".join(_told(found[d].sel({d: x})) for d, x in place.items())
        x = ahead.values
        y = np.abs(y) if steep else y
        curve(axes, k, x, y, label)
        axes.lines[-1].set_marker("o")
        edge = axes.lines[-1].get_color()
        axes.plot(x[ended], y[ended], "o", color="white", markeredgecolor=edge, zorder=3)
    if steep:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_minor_formatter(lambda *_: "")
    axes.set(xlabel=across, ylabel=narrow(upright))


def _told(value: "DataArray") -> str:
    """Return a value of something that differs, by its name, for a legend."""
    if value.dtype.kind != "f":
        return str(value.item())
    unit = str(value.attrs.get("units", ""))
    found, _ = in_degrees(value, str(value.name))
    return f"{words(str(value.name))} = {found.item():.4g} {unit.replace('rad', 'deg')}".rstrip()


def _lines(found: "DataArray", along: Any) -> Any:
    """Return all curves along a side."""
    return np.moveaxis(found.values, found.dims.index(along), -1).reshape(-1, found.sizes[along])


def _is_wide(values: Any) -> bool:
    """Return whether values have one sign and range over a factor of twenty or more."""
    if values.dtype.kind != "f":
        return False
    sizes = np.abs(values[np.isfinite(values)])
    one_sign = len(sizes) > 1 and len(set(np.sign(values[np.isfinite(values)]))) == 1
    return bool(one_sign and sizes.min() > 0.0 and sizes.max() >= 19.0 * sizes.min())
