"""The coordinates of a wheel

Contact point, yaw (left), lean (right) and rolling angle (forward), all positive.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from draisine.view.style import COLOURS, GREY, new_figure

YAW, LEAN, ROLL, RADIUS = 0.7, 0.45, 0.9, 1.0
HEADING = np.array([np.cos(YAW), np.sin(YAW), 0.0])
LEFT = np.array([-np.sin(YAW), np.cos(YAW), 0.0])
UP = np.array([0.0, 0.0, 1.0])
IN_PLANE = np.cos(LEAN) * UP - np.sin(LEAN) * LEFT
AXLE = np.cos(LEAN) * LEFT + np.sin(LEAN) * UP


def project(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the picture coordinates of points, seen from behind, from the right and above."""
    turn, down = np.radians(-8.0), np.radians(22.0)
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    back = np.array([np.cos(turn), np.sin(turn), 0.0])
    up = np.cos(down) * UP + np.sin(down) * back
    return -(points @ right), points @ up


def draw_line(axes: Axes, *points: np.ndarray, **style: object) -> None:
    """Draw a line in space."""
    axes.plot(*project(np.array(points)), **style)


def draw_arrow(axes: Axes, start: np.ndarray, end: np.ndarray, label: str) -> None:
    """Draw an arrow in space with a label at its tip."""
    (x0, x1), (y0, y1) = project(np.array([start, end]))
    axes.annotate("", (x1, y1), (x0, y0), arrowprops={"arrowstyle": "->", "color": GREY})
    axes.text(x1 + 0.08 * (x1 - x0), y1 + 0.08 * (y1 - y0), label, color=GREY, ha="center")


def draw_angle(
    axes: Axes, centre: np.ndarray, first: np.ndarray, last: np.ndarray, label: str, colour: str
) -> None:
    """Draw the arc from one direction to another, with its name."""
    share = np.linspace(0.0, 1.0, 30)[:, None]
    directions = (1.0 - share) * first + share * last
    arc = centre + 0.6 * directions / np.linalg.norm(directions, axis=1)[:, None]
    axes.plot(*project(arc), color=colour, linewidth=2)
    tip = project(arc[-3:])
    axes.annotate(
        "",
        (tip[0][-1], tip[1][-1]),
        (tip[0][0], tip[1][0]),
        arrowprops={"arrowstyle": "-|>", "color": colour},
    )
    x, y = project(centre + 0.75 * (arc[15] - centre) / 0.6)
    axes.text(float(x), float(y), label, color=colour, fontsize=13, ha="center", va="center")


def figure() -> Figure:
    """Return the picture."""
    axes = new_figure(size=(5.6, 4.4))
    contact = np.zeros(3)
    centre = RADIUS * IN_PLANE
    angle = np.linspace(0.0, 2.0 * np.pi, 120)[:, None]
    rim = centre + RADIUS * (np.cos(angle) * IN_PLANE + np.sin(angle) * HEADING)
    axes.fill(*project(rim), color=COLOURS[0], alpha=0.12)
    axes.plot(*project(rim), color=COLOURS[0], linewidth=2.5)
    thin = {"color": "#dddddd", "linewidth": 0.8}
    for k in (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5):
        draw_line(axes, np.array([k, -1.2, 0]), np.array([k, 1.2, 0]), **thin)
        draw_line(axes, np.array([-1.2, k - 0.25, 0]), np.array([1.7, k - 0.25, 0]), **thin)
    spoke = np.cos(ROLL) * IN_PLANE + np.sin(ROLL) * HEADING
    draw_line(axes, centre, centre + RADIUS * spoke, color=COLOURS[2], linewidth=1.5)
    draw_line(axes, contact, centre + 0.5 * IN_PLANE, color=COLOURS[0], linewidth=1)
    draw_line(axes, contact, 1.5 * UP, color=GREY, linewidth=0.8, linestyle="--")
    draw_line(axes, contact, 1.5 * HEADING, color=COLOURS[1], linewidth=1.2)
    draw_arrow(axes, contact, np.array([1.5, 0, 0]), "$x$")
    draw_arrow(axes, contact, np.array([0, 1.2, 0]), "$y$")
    draw_arrow(axes, np.array([0, 0, 0]), 1.75 * UP, "$z$")
    draw_arrow(axes, centre, centre + 0.9 * AXLE, "axle")
    draw_angle(axes, contact, np.array([1.0, 0, 0]), HEADING, r"$\varphi$", COLOURS[1])
    draw_angle(axes, contact, UP, IN_PLANE, r"$\theta$", COLOURS[3])
    draw_angle(axes, centre, IN_PLANE, spoke, r"$\psi$", COLOURS[2])
    x, y = project(np.array([contact, centre]))
    axes.plot(x, y, "o", color="black", markersize=5)
    axes.text(x[0] - 0.06, y[0] - 0.16, "$C = (x_C, y_C, 0)$", ha="center")
    axes.text(x[1] - 0.1, y[1] + 0.02, "$G$", ha="right")
    axes.set_aspect("equal")
    axes.axis("off")
    return axes.figure
