"""Figure of time series against time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ParameterError
from draisine.results.attributes import read_measured_series
from draisine.view.figures._marks import list_marks, mark_events
from draisine.view.style import (
    COLOURS,
    MAIN_ANGLES,
    add_legend,
    angles_to_draw,
    displayed_series,
    draw_curve,
    flatten_round_off,
    given_or_new,
    restore_bodies,
    simplify_axes,
    to_words,
    unit_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def _recorded_names(data: "Dataset") -> list[str]:
    """Return the names of the series that are drawn by default for a recording without a vehicle.

    They are lean and steer if the recording has them, otherwise all series with the unit of the first column.
    """
    if "vehicle" in data.attrs:
        return []
    units = {str(name): variable.attrs.get("units") for name, variable in data.data_vars.items()}
    alike = [name for name, unit in units.items() if unit == next(iter(units.values()))]
    return [name for name in MAIN_ANGLES if name in units] or alike


def draw(data: "Dataset", axes: "Axes | None" = None, names: Sequence[str] | None = None) -> "Axes":
    """Draw time series of one unit against time, with the events.

    Parameters
    ----------
    data
        Dataset of a run or a recording.
    axes
        Axes to draw into; by default new ones.
    names
        Names of the series; by default the measured series if there are any, otherwise the main angles (deg).
        Measured values are drawn as dots.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    ParameterError
        The series have different units.
    """
    bodies = restore_bodies(data)
    measured = read_measured_series(data)
    if names is None:
        names = list(measured) or _recorded_names(data) or angles_to_draw(data, bodies.model)
    axes = simplify_axes(given_or_new(axes))
    units = []
    for k, name in enumerate(names):
        values, unit = displayed_series(name, bodies)
        units.append(unit)
        if unit != units[0]:
            raise ParameterError(
                f"{names[0]!r} has the unit {units[0] or '1'} but {name!r} has {unit or '1'}. Draw them "
                "in separate figures."
            )
        draw_curve(axes, k, data["time"].values, values, to_words(name))
        if name in measured:
            t, recorded = measured[name]
            y = np.degrees(recorded) if "deg" in unit else recorded
            axes.plot(t, y, "o", color=COLOURS[k % 7], ms=3.5, label=f"{to_words(name)}, measured")
    mark_events(data, axes)
    axes.set_xlabel("time (s)")
    if len(names) > 1 or list_marks(data) or measured:
        add_legend(axes)
    if len(names) > 1:
        axes.set_ylabel(unit_label(units[0]))
    else:
        axes.set_ylabel(f"{to_words(names[0])} ({units[0]})" if units[0] else to_words(names[0]))
    flatten_round_off(axes, unit=units[0])
    return axes
