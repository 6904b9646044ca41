"""Figure of a vehicle from its right side: one state, several times of a run, or the zero configuration."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.lie import Pose
from draisine.algebra.scalar import Floats
from draisine.mechanics.tree import assemble
from draisine.model import Model
from draisine.reading.subject import first_wheel
from draisine.view.figures import _snapshots as snapshots
from draisine.view.scene.shapes import lies_flat, machine_outlines, machine_size
from draisine.view.scene.skeleton import section_curves
from draisine.view.style import COLOURS, add_legend, given_or_new, simplify_axes, to_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

SIDE_VIEW = snapshots.Sight((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), "x, ahead", "y, left", "right side")
"""View from the right side: the vehicle moves from left to right."""


def draw(
    data: "Dataset",
    axes: "Axes | None" = None,
    every: float | None = None,
    raised: float | None = None,
) -> "Axes":
    """Draw a vehicle from its right side; it moves from left to right.

    One state is drawn from an elevated viewpoint, with heading and line of contacts on the ground. A run is
    drawn at several times side by side, each perpendicular to the heading at that time. The figure
    `profile` shows the path.

    Parameters
    ----------
    data
        A run or a state.
    axes
        Axes to draw into; by default new ones.
    every
        Time between snapshots in s.
    raised
        Elevation of the viewpoint in rad.

    Returns
    -------
    Axes
        The axes.
    """
    return snapshots.draw_view(data, SIDE_VIEW, axes, every, raised)


def draw_model(model: Model, axes: "Axes | None" = None, frames: bool = False) -> "Axes":
    """Draw a vehicle in its zero configuration from the right side, or from above if it is planar.

    Parameters
    ----------
    model
        Model of the vehicle.
    axes
        Axes to draw into; by default new ones.
    frames
        Whether to add the link frames that the typeset equations use.

    Returns
    -------
    Axes
        The axes.
    """
    flat = lies_flat(model)
    plane = np.array([0, 1 if flat else 2])
    axes = simplify_axes(given_or_new(axes, (8.0, 5.5)))
    outlines = [
        outline for outline in machine_outlines(model) if outline.kind in ("link", "box", "blade")
    ]
    for k, body in enumerate(model.bodies):
        colour = COLOURS[k % 7]
        for outline in outlines:
            if outline.body == body.name:
                axes.plot(*outline.points[:, plane].T, color=colour, lw=3, solid_capstyle="round")
        com = np.asarray(body.com, float)[plane]
        label = f"{to_words(body.name)}, {body.mass:g} kg"
        axes.plot(*com, "o", color=colour, ms=8, label=label)
    for wheel in model.wheels:
        for curve in section_curves(wheel):
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
        _add_frames(axes, model, plane, 0.08 * machine_size(model))
    if not flat:
        axes.axhline(0.0, color="black", lw=0.8)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="x, forward (m)", ylabel="y, left (m)" if flat else "z, up (m)")
    add_legend(axes)
    return axes


def _add_frames(axes: "Axes", model: Model, plane: Floats, size: float) -> None:
    """Draw the frame of every link: a dot at its origin, and arrows along its axes in the picture plane.

    `plane` are the indices (0: x, 1: y, 2: z) of the two drawn coordinates, `size` is the length of an arrow
    (m).
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
