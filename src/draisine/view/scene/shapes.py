"""Machines as drawable parts, found from the model alone: frames between joints, wheels with spokes,
blades, trucks, boxes that a body has, rods from a joint to a mass without inertia, or through the mass
centre as far again where a body is flat, and boxes of equal inertia where nothing else tells how a body
turns; balls and ellipsoids are stones.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.model import Body, Contact, Model, Wheel
from draisine.results.bodies import Bodies
from draisine.view.scene.skeleton import places, rim, sections

SPOKES = 10
OutlineKind = Literal["link", "rim", "spokes", "valve", "blade", "box", "section"]


@dataclass(frozen=True, eq=False)
class Outline:
    """A line on a body, its points as they stand in the drawing."""

    body: str
    kind: OutlineKind
    points: Floats


@dataclass(frozen=True, eq=False)
class SolidBall:
    """A body's mass centre in the drawing, as a ball that grows with the mass."""

    body: str
    centre: Floats
    radius: float


@dataclass(frozen=True, eq=False)
class Stone:
    """A ball or an ellipsoid that a body rolls on, in the drawing: its centre, and its semi-axes as the
    columns of a matrix.
    """

    body: str
    centre: Floats
    ways: Floats

    def silhouette(self, towards: Floats, count: int = 49) -> Floats:
        """Return the closed line that an eye far away sees around it, by the direction to the eye.

        >>> ball = Stone("ball", np.zeros(3), 2.0 * np.eye(3))
        >>> np.allclose(ball.silhouette(np.array([0.0, 0.0, 1.0]))[:, 2], 0.0)
        True
        """
        u, v = np.linalg.svd(np.linalg.solve(self.ways, towards)[None, :])[2][1:]
        angle = np.linspace(0.0, 2.0 * np.pi, count)[:, None]
        return self.centre + (np.cos(angle) * u + np.sin(angle) * v) @ self.ways.T


def parts(model: Model) -> list[Outline]:
    """Return the lines that show a machine."""
    size, standing = reach(model), places(model)
    found: list[Outline] = []
    gliding = [c for c in model.contacts if not c.surface.sections and np.any(c.guide)]
    for body in model.bodies:
        own = [c for c in model.wheels if c.body == body.name]
        rolling = [c for c in own if c.surface.sections]
        found += [Outline(body.name, "box", _edges(*box)) for box in body.boxes]
        found += [outline for wheel in rolling for outline in _wheel(wheel)]
        if body.boxes:
            continue
        feet = [np.asarray(c.centre, float) for c in own if not c.surface.sections]
        corners = standing[body.name] + [np.asarray(wheel.centre, float) for wheel in rolling]
        free = not rolling and len(_distinct(corners)) < 2
        if float(body.mass) > 0:
            corners = [*corners, np.asarray(body.com, float)]
        corners = _distinct(corners)
        if free and len(corners) == 2 and np.count_nonzero(_sides(body)[0] > 1e-9) < 3:
            free = False
            if np.any(np.asarray(body.inertia, float)):
                corners = [corners[0], 2.0 * corners[1] - corners[0]]
        if len(feet) > 2:
            found += [Outline(body.name, "link", np.array([corners[0], foot])) for foot in feet]
        elif len(corners) > 1:
            found.append(Outline(body.name, "link", _around(corners)))
        if free and any(contact.body == body.name for contact in gliding):
            continue  # a truck: its axle and its wheels tell how it turns
        if free and np.any(np.asarray(body.inertia, float)):
            found.append(Outline(body.name, "box", _box(body, size)))
        elif free and len(corners) == 1 and float(body.mass) > 0:
            small = Body(body.name, 0.0, body.com, np.eye(3))
            found.append(Outline(body.name, "box", _box(small, 0.6 * size)))
    known = {outline.body for outline in found}
    for contact in gliding:
        found += _blade(contact, 0.12 * size, truck=contact.body not in known)
    return found


def lies_flat(model: Model) -> bool:
    """Return whether all that shows a machine lies in a plane across the vertical axis of its drawing."""
    points = np.vstack([outline.points for outline in parts(model)])
    return bool(np.ptp(points[:, 2]) < 1e-6 * reach(model))


def _blade(contact: Contact, size: float, truck: bool) -> list[Outline]:
    """Return a blade, or a truck: an axle across, with a wheel at each end."""
    point, along = np.asarray(contact.centre, float), np.asarray(contact.guide, float)
    across = size * np.cross((0.0, 0.0, 1.0), along)
    sides = (across, -across) if truck else (0.0 * across,)
    half = (0.5 if truck else 1.0) * size * along
    blades = [np.array([point + side - half, point + side + half]) for side in sides]
    found = [Outline(contact.body, "blade", ends) for ends in blades]
    axle = np.array([point - across, point + across])
    return [*found, Outline(contact.body, "link", axle)] if truck else found


def lines(bodies: Bodies, k: int) -> Iterator[tuple[str, Floats]]:
    """Yield the lines of the machine at the k-th time, in the world: (kind, points), without spokes."""
    for part in parts(bodies.model):
        if part.kind not in ("spokes", "valve"):
            motion = bodies.motions[part.body]
            yield part.kind, motion.p[k] + part.points @ motion.R[k].T


def balls(model: Model) -> list[SolidBall]:
    """Return the mass centres of all bodies with mass, but for wheels, whose hub it is."""
    hubs = {c.body: np.asarray(c.centre, float) for c in model.wheels if c.surface.sections}
    heaviest, size = max(float(body.mass) for body in model.bodies), reach(model)
    found = []
    for body in model.bodies:
        com = np.asarray(body.com, float)
        hub = [hubs[body.name]] if body.name in hubs else []
        if float(body.mass) > 0 and len(_distinct([com, *hub])) > len(hub):
            share = (float(body.mass) / heaviest) ** (1 / 3)
            found.append(SolidBall(body.name, com, 0.03 * size * max(share, 0.5)))
    return found


def stones(model: Model) -> list[Stone]:
    """Return the balls and ellipsoids that a machine rolls on."""
    return [
        Stone(
            wheel.body,
            np.asarray(wheel.centre, float),
            np.array([u for u, _ in wheel.surface.sections], float).T,
        )
        for wheel in model.wheels
        if len(wheel.surface.sections) > 1
    ]


def reach(model: Model) -> float:
    """Return how large a machine is: the diagonal of all that its model places, in m."""
    points = [np.asarray(body.com, float) for body in model.bodies]
    points += [point for each in places(model).values() for point in each]
    points += [corner for body in model.bodies for box in body.boxes for corner in _edges(*box)]
    points += [x for wheel in model.wheels for curve in sections(wheel, 13) for x in curve]
    diagonal = float(np.linalg.norm(np.ptp(np.array(points), axis=0)))
    if diagonal > 1e-9:
        return diagonal
    sides = np.concatenate([_sides(body)[0] for body in model.bodies])
    return float(np.linalg.norm(sides)) or 1.0


def _distinct(points: list[Floats]) -> list[Floats]:
    """Return the points without those that stand where another does."""
    found: list[Floats] = []
    for point in points:
        if all(np.linalg.norm(point - other) > 1e-6 for other in found):
            found.append(point)
    return found


def _around(points: list[Floats]) -> Floats:
    """Return points in the order of a closed line around their middle."""
    off = np.array(points) - np.mean(points, axis=0)
    flat = off @ np.linalg.svd(off)[2][:2].T
    order = np.argsort(np.arctan2(flat[:, 1], flat[:, 0])).tolist()
    closed = [*order, order[0]] if len(order) > 2 else order
    return np.array([points[k] for k in closed])


def _wheel(wheel: Wheel) -> list[Outline]:
    """Return rim, spokes and valve of a wheel; of a ball or an ellipsoid its three sections."""
    around, centre = sections(wheel), np.asarray(wheel.centre, float)
    if len(around) > 1:
        return [Outline(wheel.body, "section", curve) for curve in around]
    ends = rim(wheel, SPOKES + 1)[:-1]
    star = np.stack([np.broadcast_to(centre, ends.shape), ends], axis=1).reshape(-1, 3)
    valve = centre + np.array([[0.78], [0.97]]) * (ends[0] - centre)
    return [
        Outline(wheel.body, "spokes", star),
        Outline(wheel.body, "rim", around[0]),
        Outline(wheel.body, "valve", valve),
    ]


def _sides(body: Body) -> tuple[Floats, Floats]:
    """Return the sides of the box that has a body's mass and inertia, and their directions."""
    moments, directions = np.linalg.eigh(np.asarray(body.inertia, float))
    mass = float(body.mass)
    squares = 6.0 * (moments.sum() - 2.0 * moments) / (mass if mass > 0 else 1.0)
    return np.sqrt(np.maximum(squares, 0.0)), directions


def _box(body: Body, size: float) -> Floats:
    """Return the edges of that box; of a body without mass, whose box has no size, a small one."""
    sides, directions = _sides(body)
    if float(body.mass) <= 0:
        sides = 0.4 * size * sides / np.linalg.norm(sides)
    return _edges(np.asarray(body.com, float), directions * sides / 2.0)


def _edges(centre: Floats, ways: Floats) -> Floats:
    """Return the edges of a box as one line, by its centre and the ways to its faces."""
    signs = [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1)]
    signs += [(x, y, 1) for x, y, _ in signs]
    walk = [0, 1, 2, 3, 0, 4, 5, 1, 5, 6, 2, 6, 7, 3, 7, 4]
    return centre + np.array(signs)[walk] @ ways.T
