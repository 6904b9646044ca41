"""A machine seen from its right side: as it stands, at several times of a run side by side, or as it
is drawn, with joints and mass centres.
"""

from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.lie import Pose
from draisine.algebra.scalar import Floats
from draisine.mechanics.tree import assemble
from draisine.model import Model
from draisine.reading.subject import first_wheel
from draisine.view.figures import _snapshots as snapshots
from draisine.view.scene.shapes import lies_flat, parts, reach
from draisine.view.scene.skeleton import sections
from draisine.view.style import COLOURS, given_or_new, legend, plain, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

SIGHT = snapshots.Sight((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), "x, ahead", "y, left", "right side")


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
    """Return axes with the drawing of a machine, seen from its right side, or from above where it
    lies flat; `frames` adds those of its links, as the equations to read have them.
    """
    flat = lies_flat(model)
    plane = np.array([0, 1 if flat else 2])
    axes = plain(given_or_new(axes, (8.0, 5.5)))
    outlines = [part for part in parts(model) if part.kind in ("link", "box", "blade")]
    for k, body in enumerate(model.bodies):
        colour = COLOURS[k % 7]
        for part in outlines:
            if part.body == body.name:
                axes.plot(*part.points[:, plane].T, color=colour, lw=3, solid_capstyle="round")
        com = np.asarray(body.com, float)[plane]
        label = f"{words(body.name)}, {body.mass:g} kg"
        axes.plot(*com, "o", color=colour, ms=8, label=label)
    for wheel in model.wheels:
        for curve in sections(wheel):
            axes.plot(*curve[:, plane].T, color="black", lw=1.4)
    low, high = axes.get_ylim()
    for joint in model.joints:
        through = np.asarray(joint.through, float)
        axis = np.asarray(joint.axis, float)
        if np.linalg.norm(axis[plane]) > 1e-6:
            along = axis / np.linalg.norm(axis) * 1.1 * (high - low)
            ends = np.array([through, through + along])
            axes.plot(*ends[:, plane].T, color="grey", lw=1, ls="--")
    if frames:
        _add_frames(axes, model, plane, 0.08 * reach(model))
    if not flat:
        axes.axhline(0.0, color="black", lw=0.8)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="x, forward (m)", ylabel="y, left (m)" if flat else "z, up (m)")
    legend(axes)
    return axes


def _add_frames(axes: "Axes", model: Model, plane: Floats, size: float) -> None:
    """Add the frame of every link: arrows along its axes that lie in the picture, a dot where one
    points out of it.
    """
    wheel = first_wheel(model)
    base = Pose(np.eye(3), np.zeros(3) if wheel is None else np.asarray(wheel.centre, float))
    for k, link in enumerate(assemble(model, frame=base).links):
        origin = np.asarray(link.o, float)[plane]
        axes.plot(*origin, "o", color="black", ms=3)
        for name, axis in zip("xyz", np.asarray(link.R, float).T, strict=True):
            if np.linalg.norm(axis[plane]) > 1e-6:
                x, y = origin + size * axis[plane]
                arrow = {"arrowstyle": "-|>", "color": "black", "lw": 1.0}
                axes.annotate("", (x, y), tuple(origin), arrowprops=arrow)
                axes.text(x, y, f"${name}_{{{k}}}$", size=9, ha="left", va="bottom")
