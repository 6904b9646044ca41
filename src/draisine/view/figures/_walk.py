"""Figure of one step of a walker's limit cycle: snapshots, phase plane and Floquet multipliers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.view.scene.shapes import world_outlines
from draisine.view.style import (
    COLOURS,
    DASHES,
    GREY,
    add_legend,
    empty_figure,
    headline,
    restore_bodies,
    simplify_axes,
    to_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

STEP_SNAPSHOTS = 7
"""Number of snapshots of one step."""

TIME_LABEL_STYLE: Any = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 8}
"""Matplotlib style of the texts below the snapshots, which state their times."""


def draw_step(data: "Dataset", axes: Sequence[Any] | None = None) -> Any:
    """Draw one step of a walker's limit cycle: snapshots, phase plane, and Floquet multipliers.

    The result is the three axes.
    """
    if axes is None:
        figure = empty_figure((7.4, 7.0))
        grid = figure.add_gridspec(2, 2)
        places = (grid[0, :], grid[1, 0], grid[1, 1])
        axes = [figure.add_subplot(place) for place in places]
        figure.suptitle(headline(data))
    _snapshots(simplify_axes(axes[0]), data)
    _plane(simplify_axes(axes[1]), data)
    _multipliers(simplify_axes(axes[2]), data)
    return np.array(axes, dtype=object)


def _snapshots(axes: "Axes", data: "Dataset") -> None:
    """Draw snapshots of the walker from the side, at several times of one step, side by side."""
    bodies = restore_bodies(data)
    count = data.sizes["time"]
    shots = np.linspace(0, count - 1, STEP_SNAPSHOTS).round().astype(int)
    drawn = [[points for _, points in world_outlines(bodies, int(k))] for k in shots]
    reach = 1.15 * max(float(np.ptp(np.vstack(shot)[:, 0])) for shot in drawn)
    for n, shot in enumerate(drawn):
        for points in shot:
            axes.plot(points[:, 0] + n * reach, points[:, 2], color=COLOURS[0], linewidth=1.6)
        x = float(np.vstack(shot)[:, 0].mean()) + n * reach
        axes.annotate(
            f"{data.time.values[shots[n]]:.2f} s", (x, 0.0), (0.0, -3.0), **TIME_LABEL_STYLE
        )
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xticks([])
    axes.set_ylabel("height (m)")


def _plane(axes: "Axes", data: "Dataset") -> None:
    """Draw the phase plane of a step: the rate of every joint against its angle.

    Dashed lines are the jumps at heel strike, at which the legs also exchange their roles.
    """
    names = [str(name) for name in data["component"].values]
    joints = names[: len(names) // 2]
    begins = dict(zip(names, data["start"].values, strict=True))
    for k, name in enumerate(joints):
        angle = np.degrees(data[name].values)
        rate = data[f"{name}_rate"].values
        axes.plot(angle, rate, color=COLOURS[k], linestyle=DASHES[k], label=to_words(name))
    ends = [(np.degrees(data[n].values[-1]), data[f"{n}_rate"].values[-1]) for n in joints]
    for name in joints:
        start = (np.degrees(begins[name]), begins[f"{name}_rate"])
        end = min(ends, key=lambda point: abs(point[0] - start[0]))
        x, y = zip(end, start, strict=True)
        axes.plot(x, y, color=GREY, linestyle="--", linewidth=1.0)
        axes.plot(*start, "o", color=GREY, markersize=5)
    axes.plot([], [], color=GREY, linestyle="--", label="heel strike")
    axes.set(xlabel="angle (deg)", ylabel="rate (rad/s)")
    add_legend(axes)


def _multipliers(axes: "Axes", data: "Dataset") -> None:
    """Draw the Floquet multipliers in the complex plane, with the unit circle as the limit of stability."""
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    axes.plot(np.cos(turn), np.sin(turn), color=GREY, linewidth=1.0)
    real = data["multiplier_real"].values
    imaginary = data["multiplier_imaginary"].values
    axes.plot(real, imaginary, "o", color=COLOURS[1], markersize=7)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="multipliers, real part (-)", ylabel="imaginary part (-)")
