"""The curvature of a connection over shape space: height functions of gaits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.frame import QuietFrame, frame_curvature
from draisine.analysis.connection.local import LocalConnection
from draisine.view.style import letters, new_figure, plain, words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 61
USUAL = 25.0
"""Heights above so many times the median are cut off."""
UNITS = {
    "Vx": ("ahead", r"m/rad$^2$"),
    "Vy": ("to the left", r"m/rad$^2$"),
    "Wz": ("turn", r"rad/rad$^2$"),
}
"""What the curvature of each velocity is called above its panel, and its unit."""


def draw_heights(
    connection: LocalConnection,
    low: float,
    high: float,
    frame: QuietFrame | None = None,
    paths: Sequence[Floats] = (),
) -> "Figure":
    """Return a figure with the curvature of each velocity of a machine in the plane with two joints
    between two angles: a gait leads as far as the hills that it goes round, counter-clockwise.

    In a `frame` that is shaken least this holds for large gaits too; `paths` (points, 2) are drawn.
    Where a shape is singular the curvature has no bound: it is cut off far above its usual size.
    """
    first, second = connection.joints
    angles = np.linspace(low, high, POINTS)
    beside = angles + 1e-7 * (high - low)  # shapes on a line of singular ones have no connection
    r = np.stack(np.meshgrid(angles, beside), axis=-1)
    F = frame_curvature(connection, r, frame)
    count = len(connection.twist)
    panels = np.atleast_1d(new_figure(1, count, (2.5 * count, 3.8)))
    panels[0].figure.suptitle("curvature", fontsize=letters(10))
    degrees = np.degrees(angles)
    for k, (name, axes) in enumerate(zip(connection.twist, panels, strict=True)):
        plain(axes)
        size = np.abs(F[..., k])
        most = float(min(size.max(), USUAL * np.median(size))) or 1.0
        levels = np.linspace(-most, most, 21)
        cut = np.clip(F[..., k], -most, most)
        shades = axes.contourf(degrees, degrees, cut, levels=levels, cmap="RdBu_r")
        axes.contour(degrees, degrees, F[..., k], levels=[0.0], colors="black", linewidths=0.8)
        for path in paths:
            axes.plot(*np.degrees(path).T, color="black", linewidth=1.8)
        title, unit = UNITS[name]
        bar = axes.figure.colorbar(
            shades, ax=axes, location="bottom", ticks=[-most, 0.0, most], format="%.2g", label=unit
        )
        bar.ax.tick_params(labelsize=letters(8))
        axes.set_title(title, fontsize=letters(10))
        axes.set(xlabel=f"{words(first)} (deg)", ylabel="" if k else f"{words(second)} (deg)")
        axes.set_aspect("equal")
    return panels[0].figure
