"""Figure of the motion of a two-wheeler: the vehicle from behind, above lean and steer against time."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.results.bodies import Bodies
from draisine.results.events import read_events
from draisine.view.figures import _snapshots as snapshots
from draisine.view.figures import histories
from draisine.view.style import (
    GREY,
    MAIN_ANGLES,
    check_run,
    font_size,
    headline,
    new_figure,
    restore_bodies,
    simplify_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

ASIDE = math.radians(9.0)
"""Azimuth (rad) of the viewpoint, measured from directly behind the vehicle to the right. From there the
handlebar and the steer angle are visible.
"""

RAISED = math.radians(8.0)
"""Elevation (rad) of the viewpoint above the ground."""

BEHIND = snapshots.Sight(
    (math.sin(ASIDE), -math.cos(ASIDE), 0.0),
    (-math.cos(ASIDE), -math.sin(ASIDE), 0.0),
    "to its right",
    "x, forward",
    "back",
)
"""View from behind: the right side of the vehicle is on the right side of the picture."""

SNAPSHOTS = 9
"""Number of snapshots of the vehicle, at equal intervals of time."""

MIN_PUSH = 0.05
"""Smallest initial lean rate (rad/s) of an upright vehicle that is marked as a push."""

MIN_LEAN = 0.05
"""Largest initial lean angle (rad) of a vehicle that counts as upright."""


def leans_and_steers(data: "Dataset") -> bool:
    """Return whether the data are a run of a vehicle with two wheels in a row that leans and steers."""
    if data.sizes.get("time", 0) < 2 or any(name not in data for name in MAIN_ANGLES):
        return False
    return len(restore_bodies(data).model.wheels) == 2


def shows_best(data: "Dataset") -> bool:
    """Return whether this figure is the default figure of a run.

    It is the default for a two-wheeler on level ground, without events such as lift-off and impacts.
    """
    if not leans_and_steers(data) or read_events(data):
        return False
    return not np.any(restore_bodies(data).model.gravity[:2])


def draw(data: "Dataset", axes: Any = None) -> Any:
    """Draw snapshots of a two-wheeler from behind at equal intervals of time, above its lean and steer
    angles.

    An initial push is marked on the time axis, and so are inputs of short duration.

    Parameters
    ----------
    data
        Dataset of a run.
    axes
        Two axes, for the vehicle and the angles; by default new ones.

    Returns
    -------
    array of Axes
        The axes.
    """
    check_run(data)
    if not leans_and_steers(data):
        raise ParameterError(
            "The figure motion needs a run of a vehicle with two wheels that leans and steers. Draw the "
            "figure path or histories."
        )
    bodies = restore_bodies(data)
    is_new = axes is None
    panels = new_figure(2, 1, (9.0, 6.0)) if is_new else axes
    t = data["time"].values
    times = np.linspace(t[0], t[-1], SNAPSHOTS)
    height = _draw_row(panels[0], bodies, times)
    _draw_angles(panels[1], data)
    # Extend the time axis by half an interval on both sides, so that each snapshot is above its time.
    margin = (times[1] - times[0]) / 2.0
    panels[1].set_xlim(t[0] - margin, t[-1] + margin)
    if is_new:
        # Heights in inches: the row of snapshots at full width, then 1.9 for the angles.
        figure = panels[0].figure
        row = height * figure.get_figwidth()
        panels[0].get_gridspec().set_height_ratios([row, 1.9])
        figure.set_figheight(row + 2.3)
        panels[0].figure.suptitle(headline(data), fontsize=font_size(10))
    return panels


def _draw_row(axes: "Axes", bodies: Bodies, times: np.ndarray) -> float:
    """Draw snapshots of a vehicle at the given times (s) side by side; return height / width of the picture.

    Each snapshot has a vertical line at its rear contact point, which makes the lean visible.
    """
    t = bodies.data["time"].values
    machines = [snapshots.MachineAt(bodies, int(np.argmin(np.abs(t - s)))) for s in times]
    drawn = [np.vstack([BEHIND.picture(x, RAISED) for *_, x in each.lines()]) for each in machines]
    spacing = 1.15 * max(float(np.ptp(x[:, 0])) for x in drawn)
    for k, machine in enumerate(machines):
        place = np.array([(k - 0.2) * spacing, 0.0])
        snapshots.draw_outline(axes, machine, _shifted(place), labels=False)
        x = [place[0]] * 2
        axes.plot(x, [0.0, 1.02 * drawn[k][:, 1].max()], color=GREY, lw=0.9, ls="--", zorder=0)
    low, high = min(x[:, 1].min() for x in drawn), 1.05 * max(x[:, 1].max() for x in drawn)
    width = len(machines) * spacing
    axes.set(xlim=(-0.5 * spacing, width - 0.5 * spacing), ylim=(low, high))
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()
    return float((high - low) / width)


def _shifted(place: np.ndarray) -> Callable[[Floats], Floats]:
    """Return the projection from behind that maps the rear contact point to the picture point `place`."""
    return lambda points: BEHIND.picture(points, RAISED) + place


def _draw_angles(axes: "Axes", data: "Dataset") -> None:
    """Draw lean and steer (deg) against time, and mark an initial push and inputs of short duration."""
    histories.draw(data, axes, list(MAIN_ANGLES))
    simplify_axes(axes)
    axes.axhline(0.0, color=GREY, lw=0.8)
    axes.set_xlabel("time (s); lean is positive to the right, steer to the left")
    low, high = axes.get_ylim()
    axes.set_ylim(low - 0.2 * (high - low), high)  # space for the marks
    t = data["time"].values
    rate = float(data["lean_rate"].values[0])
    if abs(rate) > MIN_PUSH and abs(float(data["lean"].values[0])) < MIN_LEAN:
        side = "right" if rate > 0.0 else "left"
        _mark(axes, float(t[0]), f"push to the {side}: lean rate {abs(rate):.3g} rad/s")
    for k, name in enumerate(data["input"].values.tolist() if "inputs" in data else ()):
        values = data["inputs"].values[:, k]
        active = np.flatnonzero(np.abs(values) > 1e-9)
        if 0 < len(active) < 0.5 * len(t):
            start, end = t[active[0]], t[min(active[-1] + 1, len(t) - 1)]
            axes.axvspan(start, end, color=GREY, alpha=0.2, lw=0)
            unit = "N" if name.partition(".")[2] else "N m"
            peak = values[active[np.argmax(np.abs(values[active]))]]
            text = f"{name} {peak:.3g} {unit}".replace("-", "\N{MINUS SIGN}")
            _mark(axes, float(start), text)


def _mark(axes: "Axes", t: float, text: str) -> None:
    """Mark the time t (s) by a triangle with a text at the lower border of the axes."""
    trans = axes.get_xaxis_transform()
    axes.plot([t], [0.03], "^", color=GREY, ms=5, transform=trans, clip_on=False, zorder=5)
    axes.annotate(
        text, (t, 0.03), (6, 0), xycoords=trans, textcoords="offset points", fontsize=8, color=GREY
    )
