"""Gap of a wheel over two segments, appendix D of Mauny's thesis (2018), of convex bodies (3.4, 3.5; figure
2 of Escalona and Recuero 2012), and of a wheel over a triangle (4.3).

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
from draisine.view.concepts.spaces import new_axes_3d, place_legend_below
from draisine.view.style import COLOURS, GREY, new_figure

WHEEL_RADIUS = 0.35
"""Radius of the drawn wheel, m."""

RAMP = np.array([[-1.4, -0.25], [0.0, 0.0]])
FLOOR = np.array([[0.0, -0.5], [1.6, -0.5]])
"""End points (2, 2) of each of the two drawn segments, a ramp (`RAMP`) and the floor behind it, m."""

BODY_COLOUR = "#bfd7ea"
OBSTACLE_COLOUR = "#cccccc"
"""Colours of the areas of bodies and obstacles."""


@dataclass(frozen=True)
class PreContact:
    """Pre-contact points: the points of a wheel (or body) and of an obstacle that may come into contact."""

    wheel: Floats  # point C on the wheel or body, m
    ground: Floats  # point C' on the obstacle, or on the line or plane of its face, m
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


@dataclass(frozen=True)
class Oval:
    """A body or an obstacle with an elliptic boundary, m."""

    centre: Floats  # (2,), m
    half_axes: Floats  # matrix (2, 2) whose columns are conjugate half-axes, m

    def boundary(self, angle: Any) -> Any:
        """Return points (2, ...) of the boundary at parameter angles in rad."""
        circle = np.array([np.cos(angle), np.sin(angle)])
        return (self.centre + (self.half_axes @ circle).T).T

    def moved(self, by: Floats) -> "Oval":
        """Return the same oval, displaced by the vector `by` (2,) in m."""
        return Oval(self.centre + by, self.half_axes)

    def draw(self, axes: Any, colour: str, label: str | None = None) -> None:
        """Draw the filled oval in a colour, with a label for the legend."""
        axes.fill(*self.boundary(np.linspace(0.0, 2.0 * np.pi, 300)), color=colour, label=label)


def turned_oval(x: float, z: float, length: float, width: float, angle: float) -> Oval:
    """Return an ellipse with the centre (x, z), its half length and half width (m), turned by an angle in
    rad.
    """
    c, s = np.cos(angle), np.sin(angle)
    return Oval(np.array([x, z]), np.array([[c, -s], [s, c]]) * [length, width])


def nearest_points(body: Oval, obstacle: Oval) -> PreContact:
    """Return the pre-contact points of two ovals that do not overlap: the nearest points, (3.5).

    >>> circle, line = turned_oval(0.0, 3.0, 1.0, 1.0, 0.0), turned_oval(0.0, 0.0, 2.0, 0.5, 0.0)
    >>> round(nearest_points(circle, line).gap, 9)
    1.5
    """
    from scipy.optimize import minimize

    def distance(angles: Floats) -> float:
        """Return the squared distance (m2) between the boundary points of both ovals at two angles (rad)."""
        return float(np.sum((body.boundary(angles[0]) - obstacle.boundary(angles[1])) ** 2))

    # Start from the boundary points nearest to the other centre.
    towards = np.linalg.solve(body.half_axes, obstacle.centre - body.centre)
    back = np.linalg.solve(obstacle.half_axes, body.centre - obstacle.centre)
    start = np.array([np.arctan2(*towards[::-1]), np.arctan2(*back[::-1])])
    nearest = minimize(distance, start, tol=1e-14).x
    C, ground = body.boundary(nearest[0]), obstacle.boundary(nearest[1])
    return PreContact(C, ground, float(np.hypot(*(C - ground))), True)


def touch(body: Oval, obstacle: Oval) -> tuple[Oval, PreContact]:
    """Return the obstacle moved along the common normal until it touches the body, and the contact."""
    near = nearest_points(body, obstacle)
    moved = obstacle.moved(near.wheel - near.ground)
    return moved, PreContact(near.wheel, near.wheel, 0.0, True)


def _draw_arrow(axes: Any, start: Floats, end: Floats, colour: str, text: str) -> None:
    """Draw an arrow with a text at its head."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.5})
    axes.annotate(text, end, xytext=(4, 2), textcoords="offset points")


def draw_convex() -> Any:
    """Draw figure 3.5: pre-contact points of two convex bodies, computed."""
    body = Oval(np.array([0.4, 1.35]), np.array([[0.8, 0.0], [0.2, 0.45]]))
    obstacle = turned_oval(-0.1, 0.0, 1.3, 0.5, 0.0)
    near = nearest_points(body, obstacle)
    normal = (near.wheel - near.ground) / near.gap
    axes = new_figure(1, 1, (5.6, 4.2))
    body.draw(axes, BODY_COLOUR, "body")
    obstacle.draw(axes, OBSTACLE_COLOUR, "obstacle")
    pair = np.array([near.wheel, near.ground])
    axes.plot(*pair.T, color=COLOURS[1], marker="o", label=rf"$\Phi$ = {near.gap:.3f} m")
    axes.annotate("$C$", near.wheel, xytext=(6, 4), textcoords="offset points")
    axes.annotate("$C'$", near.ground, xytext=(6, -14), textcoords="offset points")
    _draw_arrow(axes, near.ground, near.ground + 0.75 * normal, COLOURS[2], "$N$")
    axes.set(aspect="equal", xlabel="m", ylabel="m")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False, fontsize=8)
    return axes


def draw_touching() -> Any:
    """Draw figure 2 of Escalona and Recuero (2012): two solids in contact have one point and one tangent
    plane in common.
    """
    solid = Oval(np.array([0.4, 1.35]), np.array([[0.8, 0.0], [0.2, 0.45]]))
    ground, contact = touch(solid, turned_oval(-0.1, 0.0, 1.3, 0.5, 0.0))
    P = contact.wheel
    # The gradient of |y| for y = half_axes^-1 (x - centre) is normal to the boundary.
    inverse = np.linalg.inv(solid.half_axes)
    normal = -inverse.T @ inverse @ (P - solid.centre)
    normal = normal / np.hypot(*normal)
    tangent = np.array([normal[1], -normal[0]])
    axes = new_figure(1, 1, (5.6, 4.2))
    solid.draw(axes, BODY_COLOUR, "solid $i$")
    ground.draw(axes, OBSTACLE_COLOUR, "solid $j$")
    plane = np.array([P - 1.1 * tangent, P + 1.1 * tangent])
    axes.plot(*plane.T, "--", color=COLOURS[1], label="common tangent plane")
    axes.plot(*P, "o", color="black")
    axes.annotate("$P$", P, xytext=(9, 9), textcoords="offset points")
    _draw_arrow(axes, P, P + 0.5 * normal, COLOURS[2], "$n_j$")
    _draw_arrow(axes, P, P - 0.5 * normal, COLOURS[2], "$n_i = -n_j$")
    axes.set(aspect="equal", xlabel="m", ylabel="m")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False, fontsize=8)
    return axes


def draw_system() -> Any:
    """Draw figure 3.4: a system of bodies and hinges, two of them in pre-contact and one in contact."""
    base = turned_oval(0.0, 2.3, 1.1, 0.35, 0.08)
    bodies = {
        "i": (turned_oval(-1.55, 1.6, 0.75, 0.2, 0.85), turned_oval(-2.2, 0.1, 0.9, 0.45, 0.2)),
        "k": (turned_oval(0.15, 1.35, 0.75, 0.2, 1.45), turned_oval(0.3, -0.35, 1.0, 0.55, 0.0)),
        "j": (turned_oval(1.7, 1.75, 0.85, 0.2, -0.6), turned_oval(2.75, 0.1, 0.8, 0.6, -0.3)),
    }
    # Places of the hinges, and the shifts of their names in points
    hinges = {
        "i": (np.array([-1.07, 2.18]), (-18, -2)),
        "k": (np.array([0.22, 2.02]), (8, -12)),
        "j": (np.array([1.08, 2.26]), (-1, 9)),
    }
    axes = new_figure(1, 1, (7.4, 5.0))
    base.draw(axes, BODY_COLOUR, "bodies")
    for k, (name, (body, stone)) in enumerate(bodies.items()):
        closed = name == "k"
        obstacle, near = touch(body, stone) if closed else (stone, nearest_points(body, stone))
        body.draw(axes, BODY_COLOUR)
        obstacle.draw(axes, OBSTACLE_COLOUR, "obstacles" if k == 0 else None)
        remark = "contact" if closed else "pre-contact"
        pair = np.array([near.wheel, near.ground])
        label = rf"$\Phi_{{{name}}}$ = {near.gap:.3f} m, {remark}"
        axes.plot(*pair.T, color=COLOURS[k + 1], marker="o", label=label)
        points = [(f"$C_{{{name}}}$", near.wheel, 6), (f"$C'_{{{name}}}$", near.ground, -12)]
        for text, point, above in points:
            axes.annotate(text, point, xytext=(8, above), textcoords="offset points")
        axes.text(*body.centre, rf"$\mathcal{{B}}_{{{name}}}$", ha="center", va="center")
        hinge, shift = hinges[name]
        axes.plot(*hinge, "o", color="black", mfc="white", ms=7)
        axes.annotate(f"$r_{{{name}}}$", hinge, xytext=shift, textcoords="offset points")
    corner = np.array([-3.3, 2.9])
    for origin, turn, size, names in (
        (corner, np.eye(2), 0.6, ("n_e", "s_e")),
        (base.centre, base.half_axes / np.hypot(*base.half_axes), 0.55, ("n_0", "s_0")),
    ):
        for axis, name in zip(turn.T, names, strict=True):
            _draw_arrow(axes, origin, origin + size * axis, "black", f"${name}$")
    axes.text(*(base.centre - [0.55, 0.05]), r"$\mathcal{B}_0$", ha="center", va="center")
    _draw_arrow(axes, corner, base.centre, GREY, "")
    axes.annotate("$g$", (corner + base.centre) / 2, xytext=(0, 5), textcoords="offset points")
    axes.set(aspect="equal", xlim=(-3.6, 3.8), ylim=(-0.7, 3.8))
    axes.set_axis_off()
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False, fontsize=8)
    return axes


def disc_contact(centre: Floats, axle: Floats, radius: float, corners: Floats) -> PreContact:
    """Return the pre-contact points of a disc and the plane of a triangle, section 4.2.2.

    Parameters
    ----------
    centre, axle
        Centre (3,) of the disc in m and its unit axle (3,).
    radius
        Radius of the disc, m.
    corners
        Corners (3, 3) of the triangle in m, one per row, anticlockwise as seen from outside.

    Returns
    -------
    PreContact
        The point of the disc that is lowest along the normal N, its projection and the gap.

    Examples
    --------
    >>> triangle = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
    >>> disc_contact(np.array([0.0, 0.0, 0.5]), np.array([0.0, 1.0, 0.0]), 0.3, triangle).gap
    0.2
    """
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[1])
    normal = normal / np.linalg.norm(normal)
    # The thesis prints the highest point, O + h u, without normalising u.
    u = normal - (axle @ normal) * axle
    C = centre - radius * u / np.linalg.norm(u)
    gap = float(normal @ (C - corners[0]))
    ground = C - gap * normal
    edges = np.roll(corners, -1, axis=0) - corners
    sides = np.cross(edges, ground - corners) @ normal
    return PreContact(C, ground, gap, bool(np.all(sides >= 0.0)))


def draw_triangle() -> Any:
    """Draw figure 4.3: pre-contact points of a wheel and a triangular face."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

    corners = np.array([[-0.7, -0.6, 0.0], [0.8, -0.5, 0.15], [0.1, 0.8, 0.1]])
    centre = np.array([0.1, 0.0, 0.65])
    axle = np.array([0.35, 0.9, 0.25])
    axle = axle / np.linalg.norm(axle)
    near = disc_contact(centre, axle, WHEEL_RADIUS, corners)
    normal = (near.wheel - near.ground) / near.gap
    axes = new_axes_3d((6.0, 5.2))
    face = Poly3DCollection([corners], color=GREY, alpha=0.35, label=r"face $\mathcal{D}_j$")
    axes.add_collection3d(face)
    first = np.cross(axle, normal)
    first = first / np.linalg.norm(first)
    angle = np.linspace(0.0, 2.0 * np.pi, 200)[:, None]
    rim = centre + WHEEL_RADIUS * (np.cos(angle) * first + np.sin(angle) * np.cross(axle, first))
    axes.plot(*rim.T, color=COLOURS[0], label=r"wheel $\mathcal{B}_i$")
    axes.quiver(*centre, *(0.3 * axle), color=COLOURS[0], arrow_length_ratio=0.2)
    axes.quiver(*corners.mean(axis=0), *(0.3 * normal), color=COLOURS[2], arrow_length_ratio=0.2)
    pair = np.array([near.wheel, near.ground])
    axes.plot(*pair.T, color=COLOURS[1], marker="o", label=rf"$\Phi_{{ij}}$ = {near.gap:.3f} m")
    points = [(rf"$P_{{{k + 1}j}}$", corner) for k, corner in enumerate(corners)]
    points += [("$O_i$", centre - 0.2 * axle), ("$a_i$", centre + 0.33 * axle)]
    points += [("$N_j$", corners.mean(axis=0) + np.array([-0.3, 0.0, 0.2]))]
    points += [("$C_{ij}$", near.wheel), ("$C'_{ij}$", near.ground)]
    for text, point in points:
        axes.text(*(point + [0.04, 0.0, 0.03]), text)
    axes.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)", aspect="equal")
    axes.view_init(elev=18.0, azim=-65.0)
    place_legend_below(axes)
    return axes


GAPS: dict[str, Callable[[], Any]] = {
    "gap of a wheel": draw_case,
    "gap outside a segment": draw_outside,
    "gap without a face": draw_no_face,
    "gap of an end": draw_end,
    "gap, final": draw_final,
    "gap of convex bodies": draw_convex,
    "gap of a triangle": draw_triangle,
    "system with contacts": draw_system,
    "solids in contact": draw_touching,
}
"""Drawings of this file by name."""
