"""Figures of the founding documents (a thesis and two papers), drawn from newly computed runs.

`documents.toml` has one record per figure: scenario, figure plug-in and options. `draisine figure NAME` draws
a figure by name.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import expect_known
from draisine.experiment.run import Result, run
from draisine.experiment.tables.cycles import scan_cycles
from draisine.results.comparison import compare
from draisine.results.queries import evaluate_series, series_unit
from draisine.system.system import compile
from draisine.view.concepts import CONCEPTS
from draisine.view.figures.side import draw_model
from draisine.view.plot import plot
from draisine.view.save import save
from draisine.view.style import figure_width, font_size, parent_figure

if TYPE_CHECKING:
    from xarray import Dataset

DOCUMENT_TITLES = {
    "mauny2017": "Mauny, Porez and Boyer (2017)",
    "mauny2018": "Mauny (2018)",
    "escalona2012": "Escalona and Recuero (2012)",
}
"""Authors and years of the documents, by the key with which the names of their figures start."""


@dataclass(frozen=True)
class DocumentFigure:
    """Record of one figure of a document: the computed data and how they are drawn."""

    name: str
    """Key of the document and number of the figure, for example "mauny2018/2.13"."""
    caption: str
    """Caption: content of the figure in one sentence."""
    figure: str = ""
    """Name of the figure plug-in, see `draisine list figures`; empty for drawings without a run."""
    concept: str = ""
    """Name of a drawing in `view/concepts`, which needs no run; empty for all other figures."""
    vehicle: str = ""
    """Name of a vehicle that is drawn with its link frames instead of a run; empty for all other figures."""
    scenario: str = ""
    """Name of the scenario that is run; empty for families of limit cycles."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Changed values of the scenario by key path, for example `initial.lean`."""
    series: tuple[str, ...] = ()
    """Names of the drawn time series; empty for the default of the figure plug-in."""
    every: float | None = None
    """Time between snapshots (s), as in the caption of the document; None for the default."""
    against: Mapping[str, Any] = field(default_factory=dict)
    """Changed values of a second run of the same scenario, for figures that show a difference of two runs."""
    labels: tuple[str, str] = ("first", "second")
    """Names of the two runs in the legend of a figure that shows a difference."""
    setpoints: bool = False
    """Whether to add the set points of the control law as series `steer_setpoint` (rad) and
    `rear_wheel_rate_setpoint` (rad/s).
    """
    cycles: Mapping[str, Any] = field(default_factory=dict)
    """Families of limit cycles that are computed instead of a run: the vehicle, and the values `low` (rad),
    `high` (rad) and `count` of the phase.
    """
    panel: int | None = None
    """Index of the only panel that is drawn; None draws all panels."""
    axis: str = ""
    """Label of the vertical axis; empty for the label of the figure plug-in."""
    differs: str = ""
    """Known differences between the drawn and the printed figure."""


@cache
def _read_figures() -> dict[str, DocumentFigure]:
    """Read `documents.toml`; return the records of all figures by name."""
    text = files("draisine.view").joinpath("documents.toml").read_text("utf-8")
    records = {}
    for document, figures in tomllib.loads(text).items():
        for number, entry in figures.items():
            options: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in entry.items()
            }
            name = f"{document}/{number}"
            records[name] = DocumentFigure(name, **options)
    return records


def document_figures() -> Iterator[DocumentFigure]:
    """Yield the records of all figures of the founding documents, in the order of `documents.toml`.

    Yields
    ------
    DocumentFigure
        Name, caption, scenario and figure plug of a figure.

    Examples
    --------
    >>> from draisine.view.documents import document_figures
    >>> "mauny2018/4.28" in [figure.name for figure in document_figures()]
    True
    """
    yield from _read_figures().values()


def draw_document_figure(
    name: str, path: str | Path | None = None, *, width: str | float | None = None
) -> Any:
    """Draw a figure of a founding document from newly computed runs.

    Parameters
    ----------
    name
        Key of the document and number of the figure, for example "mauny2018/4.28"; see `document_figures`.
    path
        Path of the output file (.png, .jpg, .svg, .pdf); None writes no file.
    width
        Printed width of the figure, for example "85mm"; None for the default.

    Returns
    -------
    Axes or array of Axes
        The axes of the figure.

    Raises
    ------
    ParameterError
        If no document has a figure with this name.

    Examples
    --------
    >>> from draisine.view.documents import draw_document_figure
    >>> draw_document_figure("mauny2018/2.13").shape
    (1,)
    """
    records = _read_figures()
    expect_known("No figure", name, list(records))
    record = records[name]
    document, _, number = name.partition("/")
    title = f"{DOCUMENT_TITLES[document]}, figure {number}: {record.caption}"
    if record.concept:
        return _draw_concept(CONCEPTS[record.concept], title, path, width)
    if record.vehicle:
        model = compile(record.vehicle).model
        return _draw_concept(lambda: draw_model(model, frames=True), title, path, width)
    axes = plot(
        figure_data(record),
        record.figure,
        path if record.panel is None and not record.axis else None,
        series=list(record.series) or None,
        every=record.every,
        width=width,
        title=title,
    )
    if record.panel is not None:
        axes = _keep_panel(axes, record.panel, title)
    if record.axis:
        np.atleast_1d(axes).ravel()[0].set_ylabel(record.axis)
    if path is not None and (record.panel is not None or record.axis):
        save(axes, Path(path))
    return axes


def _keep_panel(axes: Any, index: int, title: str) -> Any:
    """Remove all panels of a figure except the panel `index`; enlarge this panel and return it."""
    panels = list(np.atleast_1d(axes).ravel())
    kept = panels[index]
    figure = parent_figure(axes)
    for panel in panels:
        if panel is not kept:
            panel.remove()
    kept.set_subplotspec(figure.add_gridspec(1, 1)[0])
    kept.set_xlabel(kept.get_xlabel() or "time (s)")
    kept.tick_params(labelbottom=True)
    figure.set_size_inches(6.0, 4.2)
    figure.suptitle(title, fontsize=font_size(10))
    return kept


def _draw_concept(
    draw: Callable[[], Any], title: str, path: str | Path | None, width: str | float | None
) -> Any:
    """Draw a figure that needs no run by the function `draw`; add a title, save it, and return its axes.

    The title of the axes themselves becomes the second line of the title. Without a path nothing is saved.
    """
    with figure_width(width):
        axes = draw()
        below = axes.get_title()
        axes.set_title("")
        words = f"{title}\n{below}" if below else title
        parent_figure(axes).suptitle(words, fontsize=font_size(10), wrap=True)
        if path is not None:
            save(axes, Path(path))
    return axes


def axis_ranges(axes: Any) -> list[str]:
    """Return the label and the range of values of each panel over time, for comparison with a printed figure.

    Parameters
    ----------
    axes
        Axes of a figure, see `draw_document_figure`.

    Returns
    -------
    list of str
        One text "label: smallest to largest value" per panel with a time axis; empty for drawings.

    Examples
    --------
    >>> from draisine.view.documents import axis_ranges, draw_document_figure
    >>> axis_ranges(draw_document_figure("mauny2018/2.16"))
    ['force on the rear wheel (N): 599.7 to 625.5']
    """
    ranges = []
    panels = list(axes.values()) if isinstance(axes, dict) else np.atleast_1d(axes).ravel()
    for panel in panels:
        curves = [
            np.asarray(c.get_ydata(), float) for c in panel.get_lines() if len(c.get_xdata()) > 2
        ]
        values = np.concatenate(curves) if curves else np.zeros(0)
        values = values[np.isfinite(values)]
        is_history = "time" in panel.get_xlabel() or panel.get_xlabel() == ""
        if is_history and panel.get_ylabel() and len(values):
            label = " ".join(panel.get_ylabel().split())
            ranges.append(f"{label}: {values.min():.4g} to {values.max():.4g}")
    return ranges


def figure_data(record: DocumentFigure) -> "Dataset":
    """Compute the dataset of a document's figure: a run, a comparison of two runs, or families of cycles."""
    if record.cycles:
        phases = np.linspace(*(record.cycles[key] for key in ("low", "high", "count")))
        return scan_cycles(record.cycles["vehicle"], phases)
    result = run(record.scenario, changes=record.changes)
    if record.against:
        second = run(record.scenario, changes={**record.changes, **record.against})
        return compare(
            _select_series(result, record.series),
            _select_series(second, record.series),
            record.labels,
        )
    data = result.data
    if "yaw" in record.series:
        # The documents draw the yaw angle continuously, without jumps from 180 to -180 deg.
        data = data.assign(yaw=("time", np.unwrap(data["yaw"].values), data["yaw"].attrs))
    if record.setpoints:
        law = result.loaded.plan.law
        t = data["time"].values
        steer = np.array([float(law.reference(x)) for x in t])
        drive = np.full(len(t), law.wheel_rate_target)
        data = data.assign(
            steer_setpoint=("time", steer, {"units": "rad"}),
            rear_wheel_rate_setpoint=("time", drive, {"units": "rad/s"}),
        )
    return data


def _select_series(result: Result, names: tuple[str, ...]) -> "Dataset":
    """Return the dataset of a run whose variables are the time series `names`.

    A series may be a component of a vector; it becomes a scalar variable with its unit.
    """
    model = result.system.model
    columns = {
        name: (
            "time",
            evaluate_series(name, result.bodies),
            {"units": series_unit(name, model) or "1"},
        )
        for name in names
    }
    data = result.data
    return data.drop_vars([str(name) for name in data.data_vars]).assign(columns)
