"""Shapes that represent a vehicle, derived from its model alone.

Links connect joints, wheels and mass centres; wheels have rims and spokes; blades and trucks are aligned
with their guides. A body without other shapes is a box of equal inertia, a rod through its mass centre
if its inertia is that of a rod, or a rod to a point mass. Balls and ellipsoids are drawn as solids.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.model import Body, Contact, Model, Wheel
from draisine.results.bodies import Bodies
from draisine.view.scene.skeleton import joint_positions, rim_points, section_curves

WHEEL_SPOKES = 10
"""Number of spokes that are drawn in a wheel, so that its rotation is visible."""
OutlineKind = Literal["link", "rim", "spokes", "valve", "blade", "box", "section"]
"""Kinds of the polylines that represent a vehicle; the kind determines colour and line width."""


@dataclass(frozen=True, eq=False)
class Outline:
    """A polyline that is fixed to a body; `points` (n, 3) in m belong to the zero configuration."""

    body: str
    kind: OutlineKind
    points: Floats


@dataclass(frozen=True, eq=False)
class SolidBall:
    """A ball that marks the mass centre of a body.

    `centre` (3,) in m belongs to the zero configuration; `radius` (m) grows with the cube root of the mass.
    """

    body: str
    centre: Floats
    radius: float


@dataclass(frozen=True, eq=False)
class Stone:
    """A ball or an ellipsoid on which a body rolls, given in the zero configuration.

    Attributes
    ----------
    body
        Name of the body.
    centre
        Centre (3,) of the solid, m.
    semi_axes
        Matrix (3, 3) whose columns are the semi-axes, m.
    """

    body: str
    centre: Floats
    semi_axes: Floats

    def silhouette(self, towards: Floats, count: int = 49) -> Floats:
        """Return the silhouette for a distant viewpoint in the direction `towards` (3,).

        The silhouette is a closed polyline (count, 3) in m, in the zero configuration.

        >>> ball = Stone("ball", np.zeros(3), 2.0 * np.eye(3))
        >>> np.allclose(ball.silhouette(np.array([0.0, 0.0, 1.0]))[:, 2], 0.0)
        True
        """
        u, v = np.linalg.svd(np.linalg.solve(self.semi_axes, towards)[None, :])[2][1:]
        angle = np.linspace(0.0, 2.0 * np.pi, count)[:, None]
        return self.centre + (np.cos(angle) * u + np.sin(angle) * v) @ self.semi_axes.T


def machine_outlines(model: Model) -> list[Outline]:
    """Return the polylines that represent a vehicle in its zero configuration, see the top of this file."""
    size = machine_size(model)
    points_by_body = joint_positions(model)
    outlines: list[Outline] = []
    gliding = [c for c in model.contacts if not c.surface.sections and np.any(c.guide)]
    for body in model.bodies:
        wheels = [c for c in model.wheels if c.body == body.name]
        rolling = [c for c in wheels if c.surface.sections]
        outlines += [Outline(body.name, "box", _edges(*box)) for box in body.boxes]
        outlines += [outline for wheel in rolling for outline in _wheel(wheel)]
        if body.boxes:
            continue
        feet = [np.asarray(c.centre, float) for c in wheels if not c.surface.sections]
        corners = points_by_body[body.name] + [np.asarray(wheel.centre, float) for wheel in rolling]
        free = not rolling and len(_distinct(corners)) < 2
        if float(body.mass) > 0:
            corners = [*corners, np.asarray(body.com, float)]
        corners = _distinct(corners)
        # A body with the inertia of a rod: extend the link through the mass centre to the end of the rod.
        if free and len(corners) == 2 and np.count_nonzero(_sides(body)[0] > 1e-9) < 3:
            free = False
            if np.any(np.asarray(body.inertia, float)):
                corners = [corners[0], 2.0 * corners[1] - corners[0]]
        if len(feet) > 2:
            outlines += [Outline(body.name, "link", np.array([corners[0], foot])) for foot in feet]
        elif len(corners) > 1:
            outlines.append(Outline(body.name, "link", _around(corners)))
        if free and any(contact.body == body.name for contact in gliding):
            continue  # axle and wheels of a truck already show its orientation
        if free and np.any(np.asarray(body.inertia, float)):
            outlines.append(Outline(body.name, "box", _box(body, size)))
        elif free and len(corners) == 1 and float(body.mass) > 0:
            small = Body(body.name, 0.0, body.com, np.eye(3))
            outlines.append(Outline(body.name, "box", _box(small, 0.6 * size)))
    shown_bodies = {outline.body for outline in outlines}
    for contact in gliding:
        outlines += _blade(contact, 0.12 * size, truck=contact.body not in shown_bodies)
    return outlines


def lies_flat(model: Model) -> bool:
    """Return whether all shapes of a vehicle lie in one horizontal plane in the zero configuration."""
    points = np.vstack([outline.points for outline in machine_outlines(model)])
    return bool(np.ptp(points[:, 2]) < 1e-6 * machine_size(model))


def _blade(contact: Contact, size: float, truck: bool) -> list[Outline]:
    """Return the outlines of a blade (a line along the guide), or of a truck (an axle with two wheels).

    `size` (m) is half the length of a blade, and half the width of a truck.
    """
    point = np.asarray(contact.centre, float)
    along = np.asarray(contact.guide, float)
    across = size * np.cross((0.0, 0.0, 1.0), along)
    sides = (across, -across) if truck else (0.0 * across,)
    half = (0.5 if truck else 1.0) * size * along
    blades = [np.array([point + side - half, point + side + half]) for side in sides]
    outlines = [Outline(contact.body, "blade", ends) for ends in blades]
    axle = np.array([point - across, point + across])
    return [*outlines, Outline(contact.body, "link", axle)] if truck else outlines


def world_outlines(bodies: Bodies, k: int) -> Iterator[tuple[str, Floats]]:
    """Yield the polylines of the vehicle at sample k in world axes as (kind, points).

    Spokes and valves are left out.
    """
    for outline in machine_outlines(bodies.model):
        if outline.kind not in ("spokes", "valve"):
            motion = bodies.motions[outline.body]
            yield outline.kind, motion.p[k] + outline.points @ motion.R[k].T


def mass_centre_balls(model: Model) -> list[SolidBall]:
    """Return balls at the mass centres of all bodies with mass, except at the hubs of wheels."""
    hubs = {c.body: np.asarray(c.centre, float) for c in model.wheels if c.surface.sections}
    heaviest = max(float(body.mass) for body in model.bodies)
    size = machine_size(model)
    centres = []
    for body in model.bodies:
        com = np.asarray(body.com, float)
        hub = [hubs[body.name]] if body.name in hubs else []
        if float(body.mass) > 0 and len(_distinct([com, *hub])) > len(hub):
            share = (float(body.mass) / heaviest) ** (1 / 3)
            centres.append(SolidBall(body.name, com, 0.03 * size * max(share, 0.5)))
    return centres


def rolling_solids(model: Model) -> list[Stone]:
    """Return the balls and ellipsoids on which a vehicle rolls."""
    return [
        Stone(
            wheel.body,
            np.asarray(wheel.centre, float),
            np.array([u for u, _ in wheel.surface.sections], float).T,
        )
        for wheel in model.wheels
        if len(wheel.surface.sections) > 1
    ]


def machine_size(model: Model) -> float:
    """Return the size of a vehicle: the diagonal of the bounding box of its model, m."""
    points = [np.asarray(body.com, float) for body in model.bodies]
    points += [point for each in joint_positions(model).values() for point in each]
    points += [corner for body in model.bodies for box in body.boxes for corner in _edges(*box)]
    points += [x for wheel in model.wheels for curve in section_curves(wheel, 13) for x in curve]
    diagonal = float(np.linalg.norm(np.ptp(np.array(points), axis=0)))
    if diagonal > 1e-9:
        return diagonal
    sides = np.concatenate([_sides(body)[0] for body in model.bodies])
    return float(np.linalg.norm(sides)) or 1.0


def _distinct(points: list[Floats]) -> list[Floats]:
    """Return the points (3,) in m without those that are closer than 1e-6 m to an earlier point."""
    distinct: list[Floats] = []
    for point in points:
        if all(np.linalg.norm(point - other) > 1e-6 for other in distinct):
            distinct.append(point)
    return distinct


def _around(points: list[Floats]) -> Floats:
    """Return points (3,) in m as a closed polygon (n, 3), sorted by angle around their mean.

    The angles are measured in the plane of the two largest extents of the points.
    """
    off = np.array(points) - np.mean(points, axis=0)
    flat = off @ np.linalg.svd(off)[2][:2].T
    order = np.argsort(np.arctan2(flat[:, 1], flat[:, 0])).tolist()
    closed = [*order, order[0]] if len(order) > 2 else order
    return np.array([points[k] for k in closed])


def _wheel(wheel: Wheel) -> list[Outline]:
    """Return rim, spokes and valve of a wheel, or three section curves of a ball or an ellipsoid."""
    curves = section_curves(wheel)
    centre = np.asarray(wheel.centre, float)
    if len(curves) > 1:
        return [Outline(wheel.body, "section", curve) for curve in curves]
    ends = rim_points(wheel, WHEEL_SPOKES + 1)[:-1]
    star = np.stack([np.broadcast_to(centre, ends.shape), ends], axis=1).reshape(-1, 3)
    valve = centre + np.array([[0.78], [0.97]]) * (ends[0] - centre)
    return [
        Outline(wheel.body, "spokes", star),
        Outline(wheel.body, "rim", curves[0]),
        Outline(wheel.body, "valve", valve),
    ]


def _sides(body: Body) -> tuple[Floats, Floats]:
    """Return the homogeneous box that has the mass and the inertia of a body.

    The result is its side lengths (3,) in m and its axes, the columns of a matrix (3, 3).
    """
    moments, directions = np.linalg.eigh(np.asarray(body.inertia, float))
    mass = float(body.mass)
    squares = 6.0 * (moments.sum() - 2.0 * moments) / (mass if mass > 0 else 1.0)
    return np.sqrt(np.maximum(squares, 0.0)), directions


def _box(body: Body, size: float) -> Floats:
    """Return the edges (points, 3) in m of the box that has the mass and the inertia of a body.

    For a body without mass, the box has a diagonal of 0.4 `size` (m).
    """
    sides, directions = _sides(body)
    if float(body.mass) <= 0:
        sides = 0.4 * size * sides / np.linalg.norm(sides)
    return _edges(np.asarray(body.com, float), directions * sides / 2.0)


def _edges(centre: Floats, half_axes: Floats) -> Floats:
    """Return the edges of a box as one polyline (16, 3), m.

    `centre` (3,) is the centre of the box; the columns of `half_axes` (3, 3) are its half axes, m.
    """
    signs = [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1)]
    signs += [(x, y, 1) for x, y, _ in signs]
    order = [0, 1, 2, 3, 0, 4, 5, 1, 5, 6, 2, 6, 7, 3, 7, 4]
    return centre + np.array(signs)[order] @ half_axes.T
