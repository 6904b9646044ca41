"""Fibres over shape space, parallel transport, and admissible velocities: figures of Mauny's thesis (2018).

The gait is a square of Purcell's swimmer (`purcell_swimmer`): its connection lifts the closed path in shape
space to an open path in the fibre. The subspaces of 3.8 to 3.11 belong to one rigid body in the plane with
the mass matrix diag(1, 1, 0.4), of whose three speeds a contact blocks one combination.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.view.style import COLOURS, GREY

KINETIC_METRIC = np.diag([1.0, 1.0, 0.4])
"""Mass matrix of the rigid body in figures 3.8 to 3.11; it defines the metric of the kinetic energy."""

ADDED_ROW = np.array([[0.3, 1.0, 0.5]])
"""Row (1, 3) of the constraint matrix that a collision adds, for the three speeds of the body."""


def lift_gait(steps: int = 400) -> tuple[Floats, Floats]:
    """Return a closed path (n, 2) in the shape space of Purcell's swimmer and the lifted positions (n, 3): x,
    y and heading of the base.
    """
    from draisine.analysis.connection import local_connection
    from draisine.system.system import compile

    connection = local_connection(compile("purcell_swimmer"), "drag")
    corners = 1.2 * np.array([(1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)], float)
    along = np.linspace(0.0, 4.0, 4 * steps + 1)
    path = np.array([np.interp(along, range(5), corners[:, k]) for k in range(2)]).T
    poses = [np.zeros(3)]
    for before, after in pairwise(path):
        # Midpoint rule on SE(2)
        A = np.asarray(connection((before + after) / 2), float)
        dx, dy, turn = (
            -(A @ (after - before))[-3:] if len(A) == 3 else -(A @ (after - before))[[0, 1, 5]]
        )
        x, y, heading = poses[-1]
        middle = heading + turn / 2
        step = [
            np.cos(middle) * dx - np.sin(middle) * dy,
            np.sin(middle) * dx + np.cos(middle) * dy,
        ]
        poses.append(np.array([x + step[0], y + step[1], heading + turn]))
    return path, np.array(poses)


def new_axes_3d(size: tuple[float, float] = (6.0, 5.0)) -> Any:
    """Return the 3D axes of a new figure of the given size (inches)."""
    from matplotlib.figure import Figure

    from draisine.view.style import new_figure

    flat = new_figure(1, 1, size)
    figure: Figure = flat.figure
    flat.remove()
    axes = figure.add_subplot(projection="3d")
    # Labels of the vertical axis lie outside of the box.
    axes.set_box_aspect(None, zoom=0.82)
    return axes


def place_legend_below(axes: Any) -> None:
    """Place the legend of 3D axes below their box."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), frameon=False, fontsize=8, ncols=1)


def draw_fibres() -> Any:
    """Draw figure 1.5: shape space with the fibre over some shapes."""
    return _draw_bundle(lifted=False)


def draw_lift() -> Any:
    """Draw figure 1.8: a closed path in shape space and its horizontal lift."""
    return _draw_bundle(lifted=True)


def _draw_bundle(lifted: bool) -> Any:
    """Draw the shape space, the fibres over the corners of the gait and, if `lifted`, the lifted path."""
    path, poses = lift_gait()
    axes = new_axes_3d()
    height = poses[:, 0]
    low = float(height.min()) - 0.15
    high = float(height.max()) + 0.05
    axes.plot(*path.T, low, color="black", label="closed path in shape space")
    corners = path[:: (len(path) - 1) // 4]
    for k, corner in enumerate(corners[:4]):
        label = "fibre over a shape" if k == 0 else None
        axes.plot([corner[0]] * 2, [corner[1]] * 2, [low, high], color=GREY, lw=1, label=label)
    if lifted:
        axes.plot(*path.T, height, color=COLOURS[0], label="horizontal lift: x of the base")
        ends = [height[0], height[-1]]
        label = f"displacement by one cycle: {ends[1] - ends[0]:.3f} m"
        axes.plot([path[0, 0]] * 2, [path[0, 1]] * 2, ends, color=COLOURS[1], lw=3, label=label)
    axes.set(xlabel="rear hinge (rad)", ylabel="front hinge (rad)", zlabel="x (m)")
    place_legend_below(axes)
    return axes


def draw_cycle() -> Any:
    """Draw figure 1.11: a cyclic change of shape displaces the swimmer."""
    from draisine.view.style import new_figure

    _, poses = lift_gait()
    axes = new_figure(1, 1, (6.0, 3.4))
    axes.plot(poses[:, 0], poses[:, 1], color=COLOURS[0], label="path of the middle link")
    for pose, colour, label in (
        (poses[0], "black", "before the cycle"),
        (poses[-1], COLOURS[1], "after the cycle"),
    ):
        half = 0.1 * np.array([np.cos(pose[2]), np.sin(pose[2])])
        ends = np.array([pose[:2] - half, pose[:2] + half])
        axes.plot(*ends.T, color=colour, lw=4, label=label)
    axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    axes.legend(loc="center left", bbox_to_anchor=(1.03, 0.5), frameon=False, fontsize=8)
    return axes


def draw_tangent_split() -> Any:
    """Draw figure 1.9: a velocity as the sum of its vertical and its horizontal part."""
    axes = new_axes_3d()
    path, poses = lift_gait(60)
    k = 150
    point = np.array([*path[k], poses[k, 0]])
    rate = np.array([*(path[k + 1] - path[k]), poses[k + 1, 0] - poses[k, 0]])
    horizontal = 0.5 * rate / np.linalg.norm(rate)
    vertical = np.array([0.0, 0.0, 0.1])
    axes.plot(*path.T, poses[:, 0], color=GREY)
    for vector, colour, text in (
        (horizontal, COLOURS[0], "horizontal: by the connection"),
        (vertical, COLOURS[2], "vertical: in the fibre"),
        (horizontal + vertical, COLOURS[1], "velocity"),
    ):
        axes.quiver(*point, *vector, color=colour, label=text, arrow_length_ratio=0.15)
    axes.set(xlabel="rear hinge (rad)", ylabel="front hinge (rad)", zlabel="x (m)")
    place_legend_below(axes)
    return axes


def transport(corners: Floats, start: Floats, steps: int = 200) -> tuple[Floats, Floats]:
    """Return points (n, 3) on great circles between corners of the unit sphere, and a vector that is parallel
    transported along them, (n, 3).
    """
    points = [corners[0]]
    vectors = [start]
    for a, b in pairwise(corners):
        axis = np.cross(a, b)
        angle = float(np.arctan2(np.linalg.norm(axis), a @ b)) / steps
        axis = axis / np.linalg.norm(axis)
        for _ in range(steps):
            # On a great circle parallel transport is the rotation that moves the point.
            for values in (points, vectors):
                x = values[-1]
                across = np.cross(axis, x)
                along = axis * (axis @ x)
                values.append(along + np.cos(angle) * (x - along) + np.sin(angle) * across)
    return np.array(points), np.array(vectors)


def draw_gauss_bonnet() -> Any:
    """Draw figure 1.10: parallel transport around an octant turns a vector by its area, pi / 2."""
    corners = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], float)
    points, vectors = transport(corners, np.array([0.0, 1.0, 0.0]))
    axes = new_axes_3d((5.4, 5.4))
    u, v = np.mgrid[0 : 2 * np.pi : 25j, 0 : np.pi : 13j]
    sphere = np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)
    axes.plot_wireframe(*sphere, color="#cccccc", lw=0.4)
    axes.plot(*points.T, color="black")
    for k in range(0, len(points), 50):
        axes.quiver(*points[k], *(0.3 * vectors[k]), color=COLOURS[0])
    angle = np.degrees(np.arccos(np.clip(vectors[0] @ vectors[-1], -1, 1)))
    axes.quiver(
        *points[-1], *(0.45 * vectors[-1]), color=COLOURS[1], label=f"turned by {angle:.1f} deg"
    )
    place_legend_below(axes)
    axes.set_box_aspect((1, 1, 1), zoom=0.9)
    axes.view_init(elev=28.0, azim=45.0)
    return axes


def project(v: Floats, row: Floats, metric: Floats) -> Floats:
    """Return the admissible part of a velocity, orthogonal in a metric to the forbidden part, (3.34)."""
    inverse = np.linalg.inv(metric)
    return v - inverse @ row.T @ np.linalg.solve(row @ inverse @ row.T, row @ v)


def _plane(axes: Any, row: Floats, colour: str, label: str, size: float = 1.1) -> None:
    """Draw the plane of velocities v with row v = 0."""
    normal = row[0] / np.linalg.norm(row)
    first = np.cross(normal, [1.0, 0.0, 0.0])
    first = first / np.linalg.norm(first)
    second = np.cross(normal, first)
    corners = np.array([first + second, first - second, -first - second, second - first]) * size
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

    axes.add_collection3d(Poly3DCollection([corners], color=colour, alpha=0.25, label=label))


def _velocity_axes(title: str) -> Any:
    """Return axes for the three speeds of the example."""
    axes = new_axes_3d((5.6, 5.2))
    axes.set(xlabel="$v_1$", ylabel="$v_2$", zlabel="$v_3$", title=title)
    for setter in (axes.set_xlim, axes.set_ylim, axes.set_zlim):
        setter(-1.2, 1.2)
    return axes


def _arrow(axes: Any, v: Floats, colour: str, label: str, start: Floats | None = None) -> None:
    """Draw a velocity as an arrow, from the origin by default."""
    origin = np.zeros(3) if start is None else start
    axes.quiver(*origin, *v, color=colour, label=label, arrow_length_ratio=0.12, lw=2)


def draw_collision_spaces() -> Any:
    """Draw figure 3.8: a collision adds a row, so that the admissible velocities become a plane."""
    axes = _velocity_axes("a row is added: three speeds become two")
    _plane(axes, ADDED_ROW, COLOURS[0], "admissible velocities $H$ after the collision")
    _arrow(axes, ADDED_ROW[0] / np.linalg.norm(ADDED_ROW), COLOURS[2], "forbidden velocities $C^T$")
    place_legend_below(axes)
    return axes


def draw_soft_collision() -> Any:
    """Draw figure 3.9: a soft collision and a lift-off keep the velocity."""
    axes = _velocity_axes("soft collision: the velocity already lies in $H$")
    v = project(np.array([0.9, 0.5, -0.3]), ADDED_ROW, KINETIC_METRIC)
    _plane(axes, ADDED_ROW, COLOURS[0], "$H$ between collision and lift-off")
    _arrow(axes, v, COLOURS[1], "velocity before, between and after")
    place_legend_below(axes)
    return axes


def draw_hard_collision() -> Any:
    """Draw figure 3.10: a hard plastic collision projects the velocity into the new subspace."""
    axes = _velocity_axes("hard collision: the velocity jumps into $H$")
    before = np.array([0.9, -0.8, -0.4])
    after = project(before, ADDED_ROW, KINETIC_METRIC)
    _plane(axes, ADDED_ROW, COLOURS[0], "$H_+$")
    _arrow(axes, before, GREY, "velocity before")
    _arrow(axes, after, COLOURS[1], "velocity after")
    _arrow(axes, after - before, COLOURS[2], "$M^{-1} C^T \\Lambda$", before)
    place_legend_below(axes)
    return axes


def draw_projections() -> Any:
    """Draw figure 3.11: projections orthogonal in the Euclidean and in the kinetic metric."""
    axes = _velocity_axes("two metrics, two projections")
    v = np.array([0.9, -0.8, -0.4])
    _plane(axes, ADDED_ROW, COLOURS[0], "$H$ = ker $C$")
    _arrow(axes, v, GREY, "$v$")
    for metric, colour, name in (
        (np.eye(3), COLOURS[2], "Euclidean"),
        (KINETIC_METRIC, COLOURS[1], "kinetic"),
    ):
        _arrow(axes, project(v, ADDED_ROW, metric), colour, f"admissible part, {name} metric")
    place_legend_below(axes)
    return axes


SPACES: dict[str, Callable[[], Any]] = {
    "fibres": draw_fibres,
    "tangent split": draw_tangent_split,
    "lift": draw_lift,
    "Gauss and Bonnet": draw_gauss_bonnet,
    "cycle of shapes": draw_cycle,
    "collision of spaces": draw_collision_spaces,
    "soft collision": draw_soft_collision,
    "hard collision": draw_hard_collision,
    "projections": draw_projections,
}
"""Drawings of this file by name."""
