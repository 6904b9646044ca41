"""The figure that tells most of a result, or one by name."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.errors import DataError, ParameterError
from draisine.registry import find, names
from draisine.results.attributes import measured_of
from draisine.results.store import dataset_of
from draisine.system.system import System
from draisine.view.figures.side import drawing
from draisine.view.layout import break_labels, break_title, give_room, place_notes, tell_empty
from draisine.view.style import figure_of, figure_width, head, set_headline

if TYPE_CHECKING:
    from xarray import Dataset


SERIES = ("histories", "phase", "comparison")
"""The figures that can be told what to draw."""


def plot(
    what: Any,
    figure: str | None = None,
    path: str | Path | None = None,
    *,
    series: Sequence[str] | None = None,
    width: str | float | None = None,
    title: str | bool = True,
) -> Any:
    """Draw a run, a result, eigenmodes, a dataset, the file of one, or a system as it is drawn, and return
    the axes: one, or an array of them where a figure has several; in a notebook the figure is shown.

    `figure` names the figure (`draisine list figures` tells which there are); by default it is the
    one that tells most. `series` are the quantities to draw in histories and phase portraits.
    With a `path` (.png, .jpg, .svg, .pdf) the figure is written there. `width` is how wide it will be
    printed, "85mm" in one column of a paper: its letters are then as large as those of the text. `title` is
    another headline; False leaves it out, as journals ask for. A .pdf has TrueType fonts (Type 42), as
    journals ask for, too.

    >>> import draisine
    >>> disc = draisine.compile("rolling_disc")
    >>> run = draisine.simulate(disc, draisine.state(disc, lean=0.1, forward_speed=2.0), 1.0)
    >>> draisine.plot(run, "histories", series=["lean"]).get_xlabel()
    'time (s)'
    """
    with figure_width(width):  # until it is written: ticks are made when a figure is
        axes = drawing(what.model) if isinstance(what, System) else _drawn(what, figure, series)
        drawn = figure_of(axes)
        set_headline(drawn, title)
        crowded = width is not None or len(drawn.axes) > 1  # one panel has room as it is drawn
        if crowded:
            break_labels(drawn)
        break_title(drawn)
        if crowded:
            give_room(drawn)
        place_notes(drawn)
        if path is not None:
            from draisine.view.save import save

            save(axes, Path(path))
        else:
            from draisine.view.notebook import show_inline, shown_axes

            show_inline(drawn)
            axes = shown_axes(axes)
    return axes


def _drawn(what: Any, figure: str | None, series: Sequence[str] | None) -> Any:
    """Return the axes of a figure of data."""
    data = _last_if_still(dataset_of(what))
    if isinstance(series, str):
        raise ParameterError(f"series are a list of quantities: series=[{series!r}].")
    if figure in data.variables and figure not in names("figure"):
        raise ParameterError(
            f"{figure!r} is a quantity, no figure: series=[{figure!r}] draws it, --series {figure} on the "
            "command line."
        )
    figure = figure or figure_for(data, bool(series))
    check_single(data, figure)
    if series and figure not in SERIES:
        raise ParameterError(f"series go with {' and '.join(SERIES)}, not with {figure}.")
    draw, series = find("figure", figure), [x for name in series or () for x in _parts(data, name)]
    if data.sizes.get("time") == 0:
        raise DataError("the result is empty: it has no times.")
    try:
        axes = draw(data, names=series) if series else draw(data)
    except KeyError as error:
        text = str(error.args[0]).partition(".")[0] if error.args else "something"
        raise DataError(f"the result is not whole: {text}.") from error
    tell_empty(figure_of(axes))
    head(figure_of(axes), data)
    return axes


def _last_if_still(data: "Dataset") -> "Dataset":
    """Return the last sample of a run that ended at the instant when it began; else the data as they are."""
    if data.sizes.get("time", 0) < 2 or data["time"].dims != ("time",):
        return data
    begin, end = data["time"].values[[0, -1]]
    return data.isel(time=[-1]) if begin == end else data


def _parts(data: "Dataset", name: str) -> list[str]:
    """Return a series, or all that a quantity with several parts has."""
    own = data.data_vars.get(name)
    dims = [] if own is None else [dim for dim in own.dims if dim != "time"]
    if own is None or not dims or "run" in dims or any(dim not in data.coords for dim in dims):
        return [name]
    labels = product(*(map(str, data[dim].values) for dim in dims))
    return [f"{name}[{', '.join(each)}]" for each in labels]


def figure_for(data: "Dataset", series: bool = False) -> str:
    """Return the figure that tells most of a result, or of series of it that were asked for."""
    if "locus_over" in data.attrs:
        return "root_locus"
    if {"measured", "fitted"} <= set(data.data_vars):
        return "identification"
    if {"A", "B", "C", "D"} <= set(data.data_vars):
        return "bode"
    if "multiplier" in data.dims and ("component" not in data.dims or "step_time" in data):
        return "cycle"
    if "outcome" in data:
        return "sweep"
    if "run" in data.dims:
        return "comparison"
    if "time" in data.dims:
        recorded = "vehicle" not in data.attrs
        moving = "histories" if series or recorded or measured_of(data) else "path"
        return moving if data.sizes["time"] > 1 else "front"
    if "motion" in data.dims and "radius" in data:
        return "steady"
    return "eigenvalues" if "eigenvalue_real" in data else "maps"


def check_single(data: "Dataset", figure: str = "") -> None:
    """Refuse to draw several cycles as if they were one motion."""
    if "cycle" in data.dims and figure != "cycle":
        raise ParameterError(
            f"this result holds {data.sizes['cycle']} cycles; `draisine plot` draws them with "
            "--figure cycle. A scenario of the kind 'cycle' leaves one that moves."
        )
