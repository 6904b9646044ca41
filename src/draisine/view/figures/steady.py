"""Figure of steady circles of a bicycle: angles, radius and stability against speed or lean."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.view.style import (
    COLOURS,
    DASHES,
    GREY,
    add_legend,
    headline,
    new_figure,
    simplify_axes,
)

if TYPE_CHECKING:
    from xarray import Dataset


def draw(data: "Dataset", axes: Sequence[Any] | None = None) -> Any:
    """Draw lean and steer, path radius, and growth rate of steady circles against speed.

    If all circles have the same speed, they are drawn against lean. A dot marks the first steady circle;
    stable circles are drawn as thick lines.

    Parameters
    ----------
    data
        Result of `draisine steady`.
    axes
        Three axes; by default new ones.

    Returns
    -------
    array of Axes
        Angles (deg), radius (m) and growth (1/s).
    """
    if "motion" not in data.dims or "radius" not in data:
        raise ParameterError(
            "This result has no steady circles. Compute them with `draisine steady`."
        )
    panels = new_figure(3, 1, (7.0, 8.0)) if axes is None else axes
    x, label = _abscissa(data)
    stable = data["stable"].values
    angles, radius, growth = (simplify_axes(panel) for panel in panels)
    for k, name in enumerate(("lean", "steer")):
        _line(angles, k, x, np.degrees(data[name].values), stable, name)
    if stable.any():
        angles.plot([], [], color=GREY, linewidth=4.5, label="stable")
    angles.set_ylabel("angle (deg)")
    add_legend(angles)
    _line(radius, 0, x, data["radius"].values, stable)
    radius.set_yscale("log")
    radius.yaxis.set_major_formatter(lambda x, _: f"{x:g}")
    radius.set_ylabel("radius of the rear path (m)")
    _line(growth, 0, x, data["growth"].values, stable)
    growth.axhline(0.0, color=GREY, linewidth=0.8)
    growth.set(ylabel="growth (1/s)", xlabel=label)
    if axes is None:
        angles.figure.suptitle(headline(data))
        for panel in (angles, radius):
            panel.sharex(growth)
            panel.tick_params(labelbottom=False)
    return panels


def _abscissa(data: "Dataset") -> tuple[Floats, str]:
    """Return values (circles,) and label of the horizontal axis: speed, or lean if the speed is constant."""
    name = "rear_wheel_speed" if "rear_wheel_speed" in data else "forward_speed"
    speed = data[name].values
    if len(speed) > 1 and np.ptp(speed) < 1e-6 * np.abs(speed).max():
        return np.degrees(data["lean"].values), "lean (deg)"
    return speed, f"{name.replace('_', ' ')} (m/s)"


def _line(axes: Any, k: int, x: Floats, y: Floats, stable: Floats, label: str = "") -> None:
    """Draw y against x in the k-th colour, thick at the circles that are stable, with a dot at the start."""
    shown = np.where(np.isfinite(y), y, np.nan)
    axes.plot(x, shown, color=COLOURS[k], linestyle=DASHES[k], linewidth=1.6, label=label or None)
    axes.plot(x, np.where(stable, shown, np.nan), color=COLOURS[k], linewidth=4.5)
    axes.plot(x[:1], shown[:1], "o", color=COLOURS[k], markersize=5)
