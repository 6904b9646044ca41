"""Contact frame and contact configurations of the bicycle: figures 2.4 and 4.4 of Mauny's thesis (2018).

The bicycle is the benchmark one (`whipple`), displaced from its zero configuration. The contact frame has its
origin at the lowest point C of the rear wheel, its first axis w = a x e_z / |a x e_z| along the heading (a is
the axle, to the left), and its last axis upwards.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from draisine.algebra.lie import rot_x, rot_y, rot_z
from draisine.algebra.scalar import Floats
from draisine.model import Model
from draisine.system.system import compile
from draisine.view.scene.shapes import machine_outlines
from draisine.view.scene.skeleton import rim_points
from draisine.view.style import COLOURS, GREY, font_size, new_figure

DRAWN_YAW, DRAWN_LEAN, DRAWN_PITCH = math.radians(35.0), math.radians(18.0), math.radians(25.0)
"""Drawn angles of the frame, rad: yaw to the left, lean to the right, pitch with the nose down."""

CONFIGURATIONS = (
    ("free flight", -0.1, 0.25),
    ("rear wheel", -0.25, 0.0),
    ("two wheels", 0.0, 0.0),
    ("front wheel", 0.25, 0.0),
)
"""Names of the contact configurations, pitch (rad, nose down) and smallest gap (m) of the drawing."""


def heading_and_lowest(R: Floats) -> tuple[Floats, Floats]:
    """Return the heading w (3,) of a wheel, and the unit vector (3,) from its centre to its lowest point.

    `R` (3, 3) is the rotation of the frame, whose second axis is the axle.

    >>> w, down = heading_and_lowest(rot_x(0.5) @ rot_y(0.2))
    >>> np.round(w, 12).tolist(), round(float(down[2]), 6) == round(-math.cos(0.5), 6)
    ([1.0, 0.0, 0.0], True)
    """
    axle = R[:, 1]
    w = np.cross(axle, [0.0, 0.0, 1.0])
    w = w / np.linalg.norm(w)
    return w, np.cross(axle, w)


def contact_angles(R: Floats) -> tuple[float, float]:
    """Return yaw psi and the angle alpha_0 (rad) of the rear wheel's contact point, from up to forward.

    >>> psi, alpha = contact_angles(rot_z(0.3) @ rot_x(0.1) @ rot_y(0.2))
    >>> round(psi, 9), round(math.pi - alpha, 9)
    (0.3, 0.2)
    """
    w, down = heading_and_lowest(R)
    alpha = math.atan2(float(down @ R[:, 0]), float(down @ R[:, 2]))
    return math.atan2(w[1], w[0]), alpha % (2.0 * math.pi)


def draw_contact_frame() -> Any:
    """Draw figure 2.4: the rear wheel from above and from the side, with yaw and pitch."""
    R = rot_z(DRAWN_YAW) @ rot_x(DRAWN_LEAN) @ rot_y(DRAWN_PITCH)
    psi, alpha = contact_angles(R)
    w, down = heading_and_lowest(R)
    up = np.array([0.0, 0.0, 1.0])
    wheel = compile("whipple").model.wheels[0]
    h = float(np.max(np.linalg.norm(rim_points(wheel) - np.asarray(wheel.centre, float), axis=1)))
    rim = (rim_points(wheel) - np.asarray(wheel.centre, float)) @ R.T - h * down
    centre = -h * down
    above, side = new_figure(1, 2, (8.6, 4.4))
    plane = np.eye(3)[:2]
    _draw_wheel(above, plane, rim, centre)
    _draw_axes(
        above,
        plane @ np.zeros(3),
        1.5 * h,
        {
            "$n_e$": (plane @ [1.0, 0.0, 0.0], GREY),
            "$w_0$": (plane @ w, COLOURS[0]),
            r"$s_e \times w_0$": (plane @ np.cross(up, w), COLOURS[0]),
        },
    )
    _draw_arc(above, np.zeros(2), 1.0 * h, 0.0, psi, r"$\psi$")
    above.text(0.1, -0.5, rf"from above: $\psi$ = {math.degrees(psi):.0f} deg", ha="center")
    above.set(xlim=(-0.4, 0.65), ylim=(-0.55, 0.5), aspect="equal")
    # Along the axle: w to the right, the upward direction in the plane of the wheel.
    plane = np.array([w, -down])
    _draw_wheel(side, plane, rim, centre)
    middle = plane @ centre
    _draw_axes(side, np.zeros(2), 1.5 * h, {"$w_0$": (np.array([1.0, 0.0]), COLOURS[0])})
    axes_of_frame = {"$s_0$": (plane @ R[:, 2], COLOURS[1]), "$n_0$": (plane @ R[:, 0], COLOURS[1])}
    _draw_axes(side, middle, 1.4 * h, axes_of_frame)
    side.plot(*np.array([middle, middle + [1.4 * h, 0.0]]).T, "--", color=GREY)
    pitch = math.pi - alpha
    _draw_arc(side, middle, 1.2 * h, 0.0, -pitch, r"$\pi - \alpha_0$")
    start = math.pi / 2.0 - pitch
    _draw_arc(side, middle, 0.45 * h, start, start - alpha, r"$\alpha_0$")
    side.plot(*np.array([middle, np.zeros(2)]).T, ":", color="black")
    angles = rf"$\alpha_0$ = {math.degrees(alpha):.0f} deg, $\pi - \alpha_0$ = {math.degrees(pitch):.0f} deg"
    side.text(0.1, -0.25, f"along the axle: {angles}", ha="center")
    side.set(xlim=(-0.4, 0.65), ylim=(-0.3, 0.75), aspect="equal")
    for axes in (above, side):
        axes.set_axis_off()
    return above


def _draw_wheel(axes: Any, plane: Floats, rim: Floats, centre: Floats) -> None:
    """Draw rim, centre and contact point of a wheel, projected onto the rows of `plane` (2, 3)."""
    axes.plot(*(plane @ rim.T), color="black")
    points = (("$O$", plane @ centre, (-15, -5)), ("$C_0$", np.zeros(2), (-20, 4)))
    for text, point, shift in points:
        axes.plot(*point, "o", color="black", ms=4)
        axes.annotate(text, point, xytext=shift, textcoords="offset points")


def _draw_axes(
    axes: Any, origin: Floats, length: float, directions: dict[str, tuple[Floats, str]]
) -> None:
    """Draw named arrows from `origin` (2,); `directions` maps names to direction (2,) and colour."""
    for name, (direction, colour) in directions.items():
        end = origin + length * direction
        axes.annotate("", end, origin, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.6})
        above = 3 if direction[1] > 1e-9 else -11
        axes.annotate(name, end, xytext=(2, above), textcoords="offset points", color=colour)


def _draw_arc(
    axes: Any, centre: Floats, radius: float, start: float, end: float, text: str
) -> None:
    """Draw the arc of an angle from the horizontal axis (rad, anticlockwise) with a text at its middle."""
    angle = np.linspace(start, end, 60)
    points = centre[:, None] + radius * np.array([np.cos(angle), np.sin(angle)])
    axes.plot(*points, color=COLOURS[2], lw=1.2)
    axes.annotate(
        text,
        points[:, 30],
        xytext=(6, 0),
        textcoords="offset points",
        color=COLOURS[2],
        va="center",
    )


def pitched_gaps(model: Model, pitch: float, least: float) -> tuple[Floats, list[float]]:
    """Return the position (3,) of a bicycle's frame of reference and the gaps of its wheels, m.

    The bicycle is pitched by an angle (rad, nose down) about the origin of the zero configuration, and raised
    so that its smallest gap has a given value (m).
    """
    R = rot_y(pitch)
    lowest = [float((rim_points(wheel, 721) @ R.T)[:, 2].min()) for wheel in model.wheels]
    height = least - min(lowest)
    return np.array([0.0, 0.0, height]), [height + z for z in lowest]


def draw_configurations() -> Any:
    """Draw figure 4.4: the four contact configurations of the bicycle with the gaps of its wheels."""
    model = compile("whipple").model
    panels = new_figure(2, 2, (8.0, 6.0))
    for axes, (name, pitch, least) in zip(panels.ravel(), CONFIGURATIONS, strict=True):
        position, gaps = pitched_gaps(model, pitch, least)
        R = rot_y(pitch)
        for outline in machine_outlines(model):
            if outline.kind not in ("link", "rim", "spokes"):
                continue
            points = position + outline.points @ R.T
            width = {"link": 2.5, "rim": 1.4, "spokes": 0.4}[outline.kind]
            axes.plot(
                points[:, 0], points[:, 2], color=COLOURS[0] if width > 2 else "black", lw=width
            )
        axes.axhline(0.0, color=GREY, lw=2)
        texts = []
        for wheel, gap in zip(model.wheels, gaps, strict=True):
            state = "closed" if gap < 1e-9 else f"{gap:.2f} m"
            texts.append(f"{wheel.name}: {state}")
        words = f"{name}\n" + ", ".join(texts)
        axes.text(0.5, -0.1, words, ha="center", va="top", fontsize=font_size(9))
        axes.set(aspect="equal", xlim=(-0.6, 1.6), ylim=(-0.55, 1.35))
        axes.set_axis_off()
    return panels.ravel()[0]


BICYCLES: dict[str, Callable[[], Any]] = {
    "contact frame": draw_contact_frame,
    "contact configurations": draw_configurations,
}
"""Drawings of this file by name."""
