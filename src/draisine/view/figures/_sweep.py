"""Functions for all figures of sweeps: selection of runs, one panel per output, and labels with units."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.view.style import new_figure, to_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray, Dataset


def sweep_outputs(data: "Dataset") -> list[str]:
    """Return the names of the outputs of a sweep; raise `ParameterError` if the data are not a sweep."""
    if "outcome" not in data:
        raise ParameterError("This result is not a sweep: it has no variable `outcome`.")
    return [str(name) for name in data.data_vars if name != "outcome"]


def numeric_runs(data: "Dataset", figure: str) -> "tuple[Dataset, list[str]]":
    """Return a sweep as a dataset with the single dimension `run`, and the names of its varied numbers.

    `ParameterError` is raised if the sweep varies no number. Its message contains `figure`, the name of the
    figure that cannot be drawn.
    """
    sweep_outputs(data)
    flat = data if data["outcome"].dims == ("run",) else data.stack(run=data["outcome"].dims)
    sides = [str(n) for n in data.coords if n != "run" and data[n].dtype.kind == "f"]
    if not sides:
        raise ParameterError(f"A {figure} needs a sweep over numbers. Choose another figure.")
    return flat, sides


def output_panels(data: "Dataset", axes: "Sequence[Axes] | None") -> tuple[Any, list[str]]:
    """Return axes for a sweep, one per output, and the names of the outputs.

    New axes are created if `axes` is None. Surplus axes are hidden.
    """
    names = sweep_outputs(data)
    if axes is None:
        rows = -(-len(names) // 2)
        size = (4.8 * min(2, len(names)), 3.6 * rows)
        panels = np.atleast_1d(new_figure(rows, min(2, len(names)), size)).ravel()
    else:
        panels = np.asarray(axes, dtype=object).ravel()
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    return panels, names


def break_label(label: str) -> str:
    """Break the label of a vertical axis into lines of at most 22 characters, so that it fits beside a panel.

    >>> break_label("collision 1 of rear time (s)").count(chr(10))
    1
    """
    return fill(label, 22)


def in_degrees(values: "DataArray", name: str) -> "tuple[DataArray, str]":
    """Return the values of a variable with angles in degrees, and its axis label with the displayed unit."""
    unit = str(values.attrs.get("units", ""))
    if "rad" in unit:
        values = values * (180.0 / np.pi)
        unit = unit.replace("rad", "deg")
    return values, f"{to_words(name)} ({unit})" if unit else to_words(name)
