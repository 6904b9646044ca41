"""A machine seen from its right side: as it stands, at several times of a run side by side, or as it
is drawn, with joints and mass centres.
"""

from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.lie import Pose
from draisine.mechanics.tree import assemble
from draisine.model import Model
from draisine.reading.subject import first_wheel
from draisine.view.figures import _snapshots as snapshots
from draisine.view.scene.shapes import parts
from draisine.view.scene.skeleton import sections
from draisine.view.style import COLOURS, given_or_new, legend, plain, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

SIGHT = snapshots.Sight((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), "x, ahead", "right side")


def draw(
    data: "Dataset",
    axes: "Axes | None" = None,
    every: float | None = None,
    raised: float | None = None,
) -> "Axes":
    """Return axes with a machine that passes from left to right.

    A state is seen from above its right side, with its heading and the line of its contacts on the
    ground; a run every so many seconds, each machine across its own heading (the way itself is in
    the figure `profile`). `raised` is how high the eye stands, in rad.
    """
    return snapshots.look_along(data, SIGHT, axes, every, raised)


def drawing(model: Model, axes: "Axes | None" = None, frames: bool = False) -> "Axes":
    """Return axes with the drawing of a machine, seen from its right side; `frames` adds those of
    its links, as the equations to read have them.
    """
    axes = plain(given_or_new(axes, (8.0, 5.5)))
    outlines = [part for part in parts(model) if part.kind in ("link", "box", "blade")]
    for k, body in enumerate(model.bodies):
        colour = COLOURS[k % 7]
        for part in outlines:
            if part.body == body.name:
                x, _, z = part.points.T
                axes.plot(x, z, color=colour, lw=3, solid_capstyle="round")
        com = np.asarray(body.com, float)
        axes.plot(
            com[0], com[2], "o", color=colour, ms=8, label=f"{words(body.name)}, {body.mass:g} kg"
        )
    for wheel in model.wheels:
        for curve in sections(wheel):
            axes.plot(curve[:, 0], curve[:, 2], color="black", lw=1.4)
    low, high = axes.get_ylim()
    for joint in model.joints:
        through, axis = np.asarray(joint.through, float), np.asarray(joint.axis, float)
        if np.hypot(axis[0], axis[2]) > 1e-6:
            along = axis / np.linalg.norm(axis) * 1.1 * (high - low)
            ends = np.array([through, through + along])
            axes.plot(ends[:, 0], ends[:, 2], color="grey", lw=1, ls="--")
    if frames:
        _add_frames(axes, model, 0.12 * (high - low))
    axes.axhline(0.0, color="black", lw=0.8)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="x, forward (m)", ylabel="z, up (m)")
    legend(axes)
    return axes


def _add_frames(axes: "Axes", model: Model, size: float) -> None:
    """Add the frame of every link: arrows along its axes that lie in the picture, a dot where one
    points out of it.
    """
    wheel = first_wheel(model)
    base = Pose(np.eye(3), np.zeros(3) if wheel is None else np.asarray(wheel.centre, float))
    for k, link in enumerate(assemble(model, frame=base).links):
        x, z = float(link.o[0]), float(link.o[2])
        axes.plot(x, z, "o", color="black", ms=3)
        for name, axis in zip("xyz", np.asarray(link.R, float).T, strict=True):
            if np.hypot(axis[0], axis[2]) > 1e-6:
                end = (x + size * axis[0], z + size * axis[2])
                arrow = {"arrowstyle": "-|>", "color": "black", "lw": 1.0}
                axes.annotate("", end, (x, z), arrowprops=arrow)
                axes.text(*end, f"${name}_{{{k}}}$", size=9, ha="left", va="bottom")
