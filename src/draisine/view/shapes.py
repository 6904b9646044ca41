"""Machines as drawable parts, found from the model alone: frames between joints, wheels with spokes,
blades, and boxes of equal inertia where nothing else tells how a body turns.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from draisine.experiment.bodies import Floats
from draisine.model import Blade, Body, Model, Wheel
from draisine.view.skeleton import links, rim

SPOKES = 10
Kind = Literal["link", "rim", "spokes", "valve", "blade", "box"]


@dataclass(frozen=True, eq=False)
class Part:
    """A line on a body, its points as they stand in the drawing."""

    body: str
    kind: Kind
    points: Floats


@dataclass(frozen=True, eq=False)
class Ball:
    """A body's mass centre in the drawing, as a ball that grows with the mass."""

    body: str
    centre: Floats
    radius: float


def parts(model: Model) -> list[Part]:
    """Return the lines that show a machine."""
    size = reach(model)
    found: list[Part] = []
    joined = _corners(model)
    for body in model.bodies:
        rolling = [c for c in model.contacts if isinstance(c, Wheel) and c.body == body.name]
        for wheel in rolling:
            found += _wheel(wheel)
        corners = joined[body.name]
        if len(corners) > 1:
            found.append(Part(body.name, "link", _around(corners)))
        if not rolling and len(links(model).get(body.name, [])) < 2 and np.any(body.inertia):
            found.append(Part(body.name, "box", _box(body, size)))
    for contact in model.contacts:
        if isinstance(contact, Blade):
            point, heading = np.asarray(contact.point, float), np.asarray(contact.heading, float)
            along = 0.12 * size * heading / np.linalg.norm(heading)
            found.append(Part(contact.body, "blade", np.array([point - along, point + along])))
    return found


def balls(model: Model) -> list[Ball]:
    """Return the mass centres of all bodies that have mass and are no wheels about their hub."""
    hubs = {c.body: c.centre for c in model.contacts if isinstance(c, Wheel)}
    heaviest = max(float(body.mass) for body in model.bodies)
    found = []
    for body in model.bodies:
        com = np.asarray(body.com, float)
        if float(body.mass) <= 0 or _same(com, hubs.get(body.name)):
            continue
        share = (float(body.mass) / heaviest) ** (1 / 3)
        found.append(Ball(body.name, com, 0.045 * reach(model) * max(share, 0.4)))
    return found


def reach(model: Model) -> float:
    """Return how large a machine is drawn: the diagonal of what its model places, in m."""
    points = [np.asarray(body.com, float) for body in model.bodies]
    for joined in links(model).values():
        points += joined
    for contact in model.contacts:
        points += list(rim(contact, 13)) if isinstance(contact, Wheel) else []
    if len(model.bodies) > 1 or model.contacts:
        diagonal = float(np.linalg.norm(np.ptp(np.array(points), axis=0)))
        if diagonal > 1e-9:
            return diagonal
    body = model.bodies[0]
    mass, moments = float(body.mass), np.linalg.eigvalsh(np.asarray(body.inertia, float))
    return float(np.sqrt(12.0 * moments[-1] / mass)) if mass > 0 and moments[-1] > 0 else 1.0


def _corners(model: Model) -> dict[str, list[Floats]]:
    """Return, per body, the points that its frame runs through: joints, contacts that do not turn
    with it, hubs, and the mass centre.
    """
    found: dict[str, list[Floats]] = {body.name: [] for body in model.bodies}
    placed = {body.name: list(points) for body, points in zip(model.bodies, _places(model))}
    for body in model.bodies:
        massive = [np.asarray(body.com, float)] if float(body.mass) > 0 else []
        for point in placed[body.name] + massive:
            if not any(_same(point, other) for other in found[body.name]):
                found[body.name].append(point)
    return found


def _places(model: Model) -> list[list[Floats]]:
    """Return the joints and contacts of each body; those that `links` leaves out as lone points are
    there, too.
    """
    ends = links(model)
    found = []
    for body in model.bodies:
        points = list(ends.get(body.name, []))
        if not points:
            for other in model.joints:
                if body.name in (other.parent, other.child):
                    mate = other.parent if other.child == body.name else other.child
                    points += _shared(model, other.name, mate)
        found.append(points)
    return found
