"""Draw the default figure of a result or of a vehicle, or a figure that is selected by name."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.errors import DataError, ParameterError
from draisine.registry import find, names
from draisine.results.attributes import read_measured_series
from draisine.results.store import to_dataset
from draisine.system.system import System
from draisine.view.figures import motion
from draisine.view.figures.side import draw_model
from draisine.view.layout import (
    break_labels,
    break_title,
    enlarge_figure,
    label_empty_axes,
    place_notes,
)
from draisine.view.style import add_headline, figure_width, parent_figure, set_headline

if TYPE_CHECKING:
    from xarray import Dataset


SERIES_FIGURES = ("histories", "panels", "phase", "comparison", "log_difference", "heights")
"""Names of the figures that accept the option `series`, a list of time series to draw."""

SNAPSHOT_FIGURES = ("path", "profile", "top", "front", "side")
"""Names of the figures that accept the option `every`, the time (s) between snapshots of the vehicle."""


def plot(
    what: Any,
    figure: str | None = None,
    path: str | Path | None = None,
    *,
    series: Sequence[str] | None = None,
    every: float | None = None,
    width: str | float | None = None,
    title: str | bool = True,
) -> Any:
    """Draw a figure of a result or of a vehicle.

    Parameters
    ----------
    what
        Trajectory, result, eigenmodes, dataset, path of a stored result, or compiled vehicle (drawn in its
        zero configuration).
    figure
        Name of the figure, see `draisine list figures`; by default the figure that fits the kind of result.
    path
        Path of the output file (.png, .jpg, .svg, .pdf with TrueType fonts).
    series
        Names of time series to draw in histories, panels, phase planes and comparisons.
    every
        Time between snapshots in s, for the figures path, profile, top, front and side.
    width
        Printed width, for example "85mm" for one column of a paper; the font size fits the text.
    title
        Title that replaces the default; False draws no title.

    Returns
    -------
    Axes or array of Axes
        The axes of the figure, which a notebook displays.

    Raises
    ------
    ParameterError
        If the figure does not apply to the result, or an option does not apply to the figure.
    DataError
        If the result is empty or incomplete.

    Examples
    --------
    >>> import draisine
    >>> disc = draisine.compile("rolling_disc")
    >>> run = draisine.simulate(disc, draisine.state(disc, lean=0.1, forward_speed=2.0), 1.0)
    >>> draisine.plot(run, "histories", series=["lean"]).get_xlabel()
    'time (s)'
    """
    # Keep the width until the figure is written, because Matplotlib places ticks and texts while drawing.
    with figure_width(width):
        is_vehicle = isinstance(what, System)
        axes = draw_model(what.model) if is_vehicle else _draw(what, figure, series, every)
        drawn = parent_figure(axes)
        set_headline(drawn, title)
        # A single panel of the default size needs no adjustment of its layout.
        crowded = width is not None or len(drawn.axes) > 1
        if crowded:
            break_labels(drawn)
        break_title(drawn)
        if crowded:
            enlarge_figure(drawn)
        place_notes(drawn)
        if path is not None:
            from draisine.view.save import save

            save(axes, Path(path))
        else:
            from draisine.view.notebook import show_inline, shown_axes

            show_inline(drawn)
            axes = shown_axes(axes)
    return axes


def _draw(
    what: Any, figure: str | None, series: Sequence[str] | None, every: float | None = None
) -> Any:
    """Check the options, draw a figure of a result, and return its axes.

    `figure` is the name of the figure (None: default), `series` the names of the drawn time series, and
    `every` the time (s) between snapshots.
    """
    data = _reduce_instant(to_dataset(what))
    if isinstance(series, str):
        raise ParameterError(f"series must be a list of quantities: series=[{series!r}].")
    if figure in data.variables and figure not in names("figure"):
        raise ParameterError(
            f"{figure!r} is a quantity, not a figure. Draw it with series=[{figure!r}], or with "
            f"--series {figure} on the command line."
        )
    figure = figure or default_figure(data, bool(series))
    check_single(data, figure)
    if series and figure not in SERIES_FIGURES:
        raise ParameterError(
            f"The figure {figure} has no series. Figures with series: {', '.join(SERIES_FIGURES)}."
        )
    if every is not None and figure not in SNAPSHOT_FIGURES:
        raise ParameterError(
            f"The figure {figure} has no snapshots. Figures with snapshots: {', '.join(SNAPSHOT_FIGURES)}."
        )
    draw = find("figure", figure)
    series = [x for name in series or () for x in _parts(data, name)]
    if data.sizes.get("time") == 0:
        raise DataError("The result is empty: it has no samples in time.")
    try:
        options: dict[str, Any] = {"names": series} if series else {}
        axes = draw(data, **options, **({} if every is None else {"every": every}))
    except KeyError as error:
        text = str(error.args[0]).partition(".")[0] if error.args else "something"
        raise DataError(f"The result is incomplete: {text}.") from error
    label_empty_axes(parent_figure(axes))
    add_headline(parent_figure(axes), data)
    return axes


def _reduce_instant(data: "Dataset") -> "Dataset":
    """Reduce a run without duration to its last sample; return other data unchanged.

    Such a run has equal start and end times: several samples at one instant, for example of an impact.
    """
    if data.sizes.get("time", 0) < 2 or data["time"].dims != ("time",):
        return data
    first, last = data["time"].values[[0, -1]]
    return data.isel(time=[-1]) if first == last else data


def _parts(data: "Dataset", name: str) -> list[str]:
    """Return the names `name[label]` of the components of a dataset variable, or [name] for a scalar one."""
    variable = data.data_vars.get(name)
    dims = [] if variable is None else [dim for dim in variable.dims if dim != "time"]
    if variable is None or not dims or "run" in dims or any(dim not in data.coords for dim in dims):
        return [name]
    labels = product(*(map(str, data[dim].values) for dim in dims))
    return [f"{name}[{', '.join(each)}]" for each in labels]


def default_figure(data: "Dataset", series: bool = False) -> str:
    """Return the name of the default figure of a dataset; `series` states whether series are selected."""
    # Test special kinds of results first: their datasets also contain the variables of more general kinds.
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
        is_recording = "vehicle" not in data.attrs
        if data.sizes["time"] == 1:
            return "front"
        if series or is_recording or read_measured_series(data):
            return "histories"
        return "motion" if motion.shows_best(data) else "path"
    if "motion" in data.dims and "radius" in data:
        return "steady"
    return "eigenvalues" if "eigenvalue_real" in data else "maps"


def check_single(data: "Dataset", figure: str = "") -> None:
    """Raise `ParameterError` if a result has several limit cycles, but the figure shows a single motion."""
    if "cycle" in data.dims and figure != "cycle":
        raise ParameterError(
            f"This result has {data.sizes['cycle']} cycles, but the figure shows one motion. Draw them "
            "with --figure cycle, or run a scenario of the kind 'cycle' for one of them."
        )
