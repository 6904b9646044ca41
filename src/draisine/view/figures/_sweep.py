"""What the figures of sweeps share: a panel for each question, and values with their units."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.view.style import new_figure, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray, Dataset


def questions_of(data: "Dataset") -> list[str]:
    """Return the questions of a sweep."""
    if "outcome" not in data:
        raise ParameterError("this is no sweep: it does not tell how each of its runs ended.")
    return [str(name) for name in data.data_vars if name != "outcome"]


def numeric_runs(data: "Dataset", what: str) -> "tuple[Dataset, list[str]]":
    """Return the runs of a sweep one after the other, and the numbers that differ between them."""
    questions_of(data)
    flat = data if data["outcome"].dims == ("run",) else data.stack(run=data["outcome"].dims)
    sides = [str(n) for n in data.coords if n != "run" and data[n].dtype.kind == "f"]
    if not sides:
        raise ParameterError(f"a {what} is of a sweep over numbers.")
    return flat, sides


def answer_panels(data: "Dataset", axes: "Sequence[Axes] | None") -> tuple[Any, list[str]]:
    """Return axes, one for each question of a sweep, and the questions; others are hidden."""
    names = questions_of(data)
    if axes is None:
        rows = -(-len(names) // 2)
        size = (4.8 * min(2, len(names)), 3.6 * rows)
        panels = np.atleast_1d(new_figure(rows, min(2, len(names)), size)).ravel()
    else:
        panels = np.asarray(axes, dtype=object).ravel()
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    return panels, names


def narrow(label: str) -> str:
    """Return a label that fits beside a panel.

    >>> narrow("collision 1 of rear time (s)").count(chr(10))
    1
    """
    return fill(label, 22)


def in_degrees(found: "DataArray", said: str) -> "tuple[DataArray, str]":
    """Return values and how an axis calls them; angles in degrees."""
    unit = str(found.attrs.get("units", ""))
    if "rad" in unit:
        found = found * (180.0 / np.pi)
        unit = unit.replace("rad", "deg")
    return found, f"{words(said)} ({unit})" if unit else words(said)
