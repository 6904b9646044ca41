"""Figures of the founding documents, drawn from runs that are computed at that moment.

`documents.toml` has one record per figure: scenario, figure plug and options. `draisine figure NAME` draws
one of them.
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
"""Authors and years of the documents whose figures are drawn, by their keys."""


@dataclass(frozen=True)
class DocumentFigure:
    """Record of one figure of a document."""

    name: str
    """Document and number of the figure: mauny2018/2.13."""
    caption: str
    """What the figure shows."""
    figure: str = ""
    """Figure plug, see `draisine list figures`; empty for drawings that explain an idea."""
    concept: str = ""
    """Name of a drawing in `view/concepts`."""
    vehicle: str = ""
    """Vehicle that is drawn with its frames, instead of a run."""
    scenario: str = ""
    """Scenario of the run; empty for families of cycles."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the scenario by key path."""
    series: tuple[str, ...] = ()
    """Series of the figure."""
    every: float | None = None
    """Time between snapshots in s, as in the caption of the document."""
    against: Mapping[str, Any] = field(default_factory=dict)
    """Changes of a second run of the scenario, for figures of differences."""
    labels: tuple[str, str] = ("first", "second")
    """Names of the two runs."""
    setpoints: bool = False
    """Whether the series `steer_setpoint` and `rear_wheel_rate_setpoint` of the control law are added."""
    cycles: Mapping[str, Any] = field(default_factory=dict)
    """Families of limit cycles instead of a run: vehicle, low, high and count of the phase in rad."""
    panel: int | None = None
    """Index of the only panel that is drawn; None draws all panels."""
    axis: str = ""
    """Label of the vertical axis, if the name of the series is not one."""
    differs: str = ""
    """What differs from the printed figure."""


@cache
def _read_figures() -> dict[str, DocumentFigure]:
    """Return the records of `documents.toml` by their names."""
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
    """Yield the records of all figures in the order of the documents.

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
    """Compute the runs of a figure of a document and draw it.

    Parameters
    ----------
    name
        Document and number of the figure: "mauny2018/4.28", see `document_figures`.
    path
        Path of the output file (.png, .jpg, .svg, .pdf).
    width
        Printed width, for example "85mm".

    Returns
    -------
    Axes or array of Axes
        The axes of the figure.

    Raises
    ------
    ParameterError
        The document has no such figure.

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
    """Remove all panels of a figure except one, which then fills the figure; return it."""
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
    """Draw an idea with a title and save it if a path is given; return its axes."""
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
    """Return label and range of the drawn curves of each panel over time, to compare with a printed figure.

    Parameters
    ----------
    axes
        Axes of a figure, see `draw_document_figure`.

    Returns
    -------
    list of str
        One text per panel with a time axis; empty for drawings.

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
    """Return the dataset of a figure of a document: a run, two runs to be compared, or families of cycles."""
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
        # The documents draw yaw without jumps at half a turn.
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
    """Return the named series of a run as variables over time, components of vectors included."""
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
