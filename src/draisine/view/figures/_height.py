"""Figures of the curvature of a local connection over shape space (height functions of gaits)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.frame import QuietFrame, frame_curvature
from draisine.analysis.connection.local import LocalConnection
from draisine.view.style import font_size, new_figure, simplify_axes, to_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVATURE_POINTS = 61
"""Number of values of each joint angle at which the curvature is evaluated."""
MAX_OVER_MEDIAN = 25.0
"""Largest drawn curvature, as a multiple of the median over the figure. Larger values are cut off, because
the curvature is unbounded near singular shapes.
"""
HEIGHT_PANEL_LABELS = {
    "Vx": ("ahead", r"m/rad$^2$"),
    "Vy": ("to the left", r"m/rad$^2$"),
    "Wz": ("turn", r"rad/rad$^2$"),
}
"""Panel title and unit of the curvature for each velocity component of the base."""


def draw_heights(
    connection: LocalConnection,
    low: float,
    high: float,
    frame: QuietFrame | None = None,
    paths: Sequence[Floats] = (),
) -> "Figure":
    """Draw the curvature of the local connection of a planar vehicle with two joints (height functions).

    Each panel shows one velocity component of the base over both joint angles. The displacement of a small
    gait is the integral of the curvature over the area that the gait encloses counter-clockwise. With the
    minimum-perturbation frame of the base, this is approximately true for large gaits, too. Near singular
    shapes the curvature is unbounded and is cut off.

    Parameters
    ----------
    connection
        Local connection of the vehicle.
    low, high
        Smallest and largest joint angle, rad.
    frame
        Minimum-perturbation frame of the base; None for the frame of the base body.
    paths
        Gaits (points, 2) in rad, which are drawn as curves.

    Returns
    -------
    Figure
        The figure, with one panel per velocity component.
    """
    first, second = connection.joints
    angles = np.linspace(low, high, CURVATURE_POINTS)
    # A small offset avoids singular shapes on the diagonal, at which the connection is undefined.
    beside = angles + 1e-7 * (high - low)
    r = np.stack(np.meshgrid(angles, beside), axis=-1)
    F = frame_curvature(connection, r, frame)
    count = len(connection.twist)
    panels = np.atleast_1d(new_figure(1, count, (2.5 * count, 3.8)))
    panels[0].figure.suptitle("curvature", fontsize=font_size(10))
    degrees = np.degrees(angles)
    for k, (name, axes) in enumerate(zip(connection.twist, panels, strict=True)):
        simplify_axes(axes)
        magnitude = np.abs(F[..., k])
        limit = float(min(magnitude.max(), MAX_OVER_MEDIAN * np.median(magnitude))) or 1.0
        levels = np.linspace(-limit, limit, 21)
        cut = np.clip(F[..., k], -limit, limit)
        shades = axes.contourf(degrees, degrees, cut, levels=levels, cmap="RdBu_r")
        axes.contour(degrees, degrees, F[..., k], levels=[0.0], colors="black", linewidths=0.8)
        for path in paths:
            axes.plot(*np.degrees(path).T, color="black", linewidth=1.8)
        title, unit = HEIGHT_PANEL_LABELS[name]
        bar = axes.figure.colorbar(
            shades,
            ax=axes,
            location="bottom",
            ticks=[-limit, 0.0, limit],
            format="%.2g",
            label=unit,
        )
        bar.ax.tick_params(labelsize=font_size(8))
        axes.set_title(title, fontsize=font_size(10))
        axes.set(xlabel=f"{to_words(first)} (deg)", ylabel="" if k else f"{to_words(second)} (deg)")
        axes.set_aspect("equal")
    return panels[0].figure
