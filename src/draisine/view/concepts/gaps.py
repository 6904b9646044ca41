"""Gap of a wheel over two segments, appendix D of Mauny's thesis (2018), and of two convex bodies (3.5).

The wheel has the centre O and the radius h. For a segment with the unit normal N, the candidate on the wheel
is C = O - h N, its projection onto the line of the segment is C', and the gap is N . (C - C'). A candidate
counts if C' lies on the segment; otherwise the nearest end of the segment is C', and
C = O - h (O - C') / |O - C'|.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.view.style import COLOURS, GREY, new_figure

WHEEL_RADIUS = 0.35
"""Radius of the drawn wheel, m."""

RAMP = np.array([[-1.4, -0.25], [0.0, 0.0]])
FLOOR = np.array([[0.0, -0.5], [1.6, -0.5]])
"""Ends of the two segments, a ramp and the floor behind it, m."""


@dataclass(frozen=True)
class PreContact:
    """Pre-contact points of a wheel and a segment."""

    wheel: Floats  # point C on the wheel, m
    ground: Floats  # point C' on the line or at an end of the segment, m
    gap: float  # m
    inside: bool  # whether the projection lies on the segment


def face_contact(centre: Floats, segment: Floats, radius: float = WHEEL_RADIUS) -> PreContact:
    """Return the pre-contact points of a wheel and the line of a segment.

    >>> contact = face_contact(np.array([0.5, 1.0]), np.array([[0.0, 0.0], [2.0, 0.0]]), 0.3)
    >>> round(contact.gap, 12), contact.inside
    (0.7, True)
    """
    along = segment[1] - segment[0]
    length = float(np.hypot(*along))
    along = along / length
    normal = np.array([-along[1], along[0]])
    C = centre - radius * normal
    s = float((C - segment[0]) @ along)
    ground = segment[0] + s * along
    return PreContact(C, ground, float(normal @ (C - ground)), 0.0 <= s <= length)


def end_contact(centre: Floats, segment: Floats, radius: float = WHEEL_RADIUS) -> PreContact:
    """Return the pre-contact points of a wheel and the nearest end of a segment."""
    end = min(segment, key=lambda point: float(np.hypot(*(centre - point))))
    away = centre - end
    distance = float(np.hypot(*away))
    return PreContact(centre - radius * away / distance, end, distance - radius, True)


def _draw(title: str, centre: Floats, contacts: list[tuple[str, PreContact, str]]) -> Any:
    """Draw wheel, segments and pre-contact points with their gaps."""
    axes = new_figure(1, 1, (6.0, 4.2))
    for name, segment in (("segment 1", RAMP), ("segment 2", FLOOR)):
        axes.plot(*segment.T, color="black", lw=2)
        axes.annotate(name, segment.mean(axis=0), xytext=(0, -14), textcoords="offset points")
    angle = np.linspace(0, 2 * np.pi, 200)
    axes.plot(
        *(centre[:, None] + WHEEL_RADIUS * np.array([np.cos(angle), np.sin(angle)])), color=GREY
    )
    axes.plot(*centre, "+", color="black")
    axes.annotate("O", centre, xytext=(4, 4), textcoords="offset points")
    for k, (name, contact, remark) in enumerate(contacts):
        colour = COLOURS[k]
        pair = np.array([contact.wheel, contact.ground])
        style = "-" if contact.inside else "--"
        label = rf"$\Phi_{{{name}}}$ = {contact.gap:.3f} m, {remark}"
        axes.plot(*pair.T, style, color=colour, marker="o", label=label)
        right = name == "1"
        for letter, point, below in (("C", contact.wheel, -2), ("C'", contact.ground, -14)):
            axes.annotate(
                f"${letter}_{{{name}}}$",
                point,
                xytext=(7 if right else -22, below),
                textcoords="offset points",
            )
    axes.set(aspect="equal", xlabel="x (m)", ylabel="z (m)", ylim=(-0.75, 1.35))
    if contacts:
        axes.legend(loc="upper left", frameon=False)
    axes.set_title(title)
    return axes


def draw_case() -> Any:
    """Draw figure D.1: a wheel over two segments."""
    centre = np.array([0.75, 0.15])
    return _draw("wheel over two segments", centre, [("2", face_contact(centre, FLOOR), "gap")])


def draw_outside() -> Any:
    """Draw figure D.2: the smaller distance belongs to a point outside its segment."""
    centre = np.array([0.5, 0.6])
    first = face_contact(centre, RAMP)
    second = face_contact(centre, FLOOR)
    return _draw(
        "the smaller distance is outside its segment",
        centre,
        [("1", first, "outside"), ("2", second, "gap")],
    )


def draw_no_face() -> Any:
    """Draw figure D.3: neither projection lies on its segment."""
    centre = np.array([-0.02, 0.5])
    first = face_contact(centre, RAMP)
    second = face_contact(centre, FLOOR)
    return _draw(
        "no projection lies on its segment",
        centre,
        [("1", first, "outside"), ("2", second, "outside")],
    )


def draw_end() -> Any:
    """Draw figure D.4: the end of the segment is the nearest point."""
    centre = np.array([0.15, 0.5])
    return _draw("end of segment 1", centre, [("1", end_contact(centre, RAMP), "gap of the end")])


def draw_final() -> Any:
    """Draw figure D.5: both candidates, of the end and of the face."""
    centre = np.array([0.3, 0.35])
    first = end_contact(centre, RAMP)
    second = face_contact(centre, FLOOR)
    chosen = "smaller: gap of draisine" if first.gap < second.gap else ""
    return _draw(
        "candidates of end and face",
        centre,
        [("1", first, chosen), ("2", second, "gap of the thesis")],
    )


def draw_convex() -> Any:
    """Draw figure 3.5: pre-contact points of two convex bodies, computed."""
    from scipy.optimize import minimize

    def upper(s: Any) -> Any:
        """Return points on the body's boundary."""
        return np.array([0.4 + 0.8 * np.cos(s), 1.35 + 0.45 * np.sin(s) + 0.2 * np.cos(s)])

    def lower(s: Any) -> Any:
        """Return points on the obstacle's boundary."""
        return np.array([-0.1 + 1.3 * np.cos(s), 0.5 * np.sin(s)])

    def distance(s: Floats) -> float:
        """Return the squared distance of two boundary points."""
        return float(np.sum((upper(s[0]) - lower(s[1])) ** 2))

    nearest = minimize(distance, np.array([-1.5, 1.5]), tol=1e-14).x
    C, ground = upper(nearest[0]), lower(nearest[1])
    gap = float(np.hypot(*(C - ground)))
    normal = (C - ground) / gap
    axes = new_figure(1, 1, (5.6, 4.2))
    s = np.linspace(0, 2 * np.pi, 300)
    axes.fill(*upper(s), color=COLOURS[0], alpha=0.25, label="body")
    axes.fill(*lower(s), color=GREY, alpha=0.4, label="obstacle")
    axes.plot(
        *np.array([C, ground]).T, color=COLOURS[1], marker="o", label=rf"$\Phi$ = {gap:.3f} m"
    )
    axes.annotate("$C$", C, xytext=(6, 4), textcoords="offset points")
    axes.annotate("$C'$", ground, xytext=(6, -14), textcoords="offset points")
    axes.annotate(
        "", ground + 0.75 * normal, ground, arrowprops={"arrowstyle": "-|>", "color": COLOURS[2]}
    )
    axes.annotate("$N$", ground + 0.75 * normal, xytext=(4, 2), textcoords="offset points")
    axes.set(aspect="equal", xlabel="m", ylabel="m")
    axes.legend(loc="upper left", frameon=False)
    return axes


GAPS: dict[str, Callable[[], Any]] = {
    "gap of a wheel": draw_case,
    "gap outside a segment": draw_outside,
    "gap without a face": draw_no_face,
    "gap of an end": draw_end,
    "gap, final": draw_final,
    "gap of convex bodies": draw_convex,
}
"""Drawings of this file by name."""
