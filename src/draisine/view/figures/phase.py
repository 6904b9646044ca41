"""Figure of the phase plane: coordinates against their rates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from draisine.view.style import (
    COLOURS,
    add_legend,
    angles_to_draw,
    displayed_series,
    draw_curve,
    flatten_round_off,
    given_or_new,
    restore_bodies,
    simplify_axes,
    to_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Axes | None" = None, names: Sequence[str] | None = None) -> "Axes":
    """Draw rates against coordinates; a dot marks the start, a cross the end of the run.

    Parameters
    ----------
    data
        Dataset of a run.
    axes
        Axes to draw into; by default new ones.
    names
        Names of the coordinates; by default the main angles.

    Returns
    -------
    Axes
        The axes.
    """
    bodies = restore_bodies(data)
    if names is None:
        names = angles_to_draw(data, bodies.model)
    axes = simplify_axes(given_or_new(axes, (6.5, 4.5)))
    for k, name in enumerate(names):
        x, unit = displayed_series(name, bodies)
        y, rate = displayed_series(f"{name}_rate", bodies)
        draw_curve(axes, k, x, y, to_words(name))
        axes.plot(x[0], y[0], "o", color=COLOURS[k % 7], markersize=6)
        axes.plot(x[-1], y[-1], "X", color=COLOURS[k % 7], markersize=7)
    axes.plot([], [], "o", color="grey", label="start")
    axes.plot([], [], "X", color="grey", label="end")
    axes.set_xlabel(f"angle ({unit})" if unit == "deg" else f"coordinate ({unit})")
    axes.set_ylabel(f"rate ({rate})")
    add_legend(axes, 6)
    flatten_round_off(axes, unit=rate, along=unit)
    return axes
