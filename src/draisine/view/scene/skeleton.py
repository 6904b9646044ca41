"""Machines as lines: what connects their joints, and the rims of their wheels."""

from collections.abc import Iterator

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.model import Model, Wheel
from draisine.results.bodies import Bodies


def places(model: Model) -> dict[str, list[Floats]]:
    """Return, per body, where its joints and its contacts other than wheels are in the drawing.

    A joint stands where its axis passes between the mass centres of its two bodies.
    """
    found: dict[str, list[Floats]] = {body.name: [] for body in model.bodies}
    for joint in model.joints:
        through, axis = np.asarray(joint.through, float), np.asarray(joint.axis, float)
        axis = axis / np.linalg.norm(axis)
        centres = [np.asarray(model.body(n).com, float) for n in (joint.parent, joint.child)]
        place = through + axis * (axis @ (sum(centres) / 2.0 - through))
        found[joint.parent].append(place)
        found[joint.child].append(place)
    for contact in model.contacts:
        if not isinstance(contact, Wheel):
            found[contact.body].append(np.asarray(contact.point, float))
    return found


def links(model: Model) -> dict[str, list[Floats]]:
    """Return the places of those bodies that have two or more, to be joined by lines."""
    return {name: points for name, points in places(model).items() if len(points) > 1}


def rim(wheel: Wheel, count: int = 61) -> Floats:
    """Return points on a wheel's rim, in the drawing."""
    axle = np.asarray(wheel.axle, float)
    axle = axle / np.linalg.norm(axle)
    ahead = np.cross(axle, [0.0, 0.0, 1.0])
    if np.linalg.norm(ahead) < 1e-9:
        ahead = np.array([1.0, 0.0, 0.0])
    ahead = ahead / np.linalg.norm(ahead)
    angle = np.linspace(0.0, 2.0 * np.pi, count)[:, None]
    around = np.cos(angle) * ahead + np.sin(angle) * np.cross(axle, ahead)
    return np.asarray(wheel.centre, float) + float(wheel.radius) * around


def lines(bodies: Bodies, k: int) -> Iterator[tuple[str, Floats]]:
    """Yield the lines of the machine at the k-th time, in the world: (body or "rim", points)."""
    for name, points in links(bodies.model).items():
        motion = bodies.motions[name]
        yield name, np.array([motion.p[k] + motion.R[k] @ x for x in points])
    for wheel in bodies.wheels.values():
        motion = bodies.carrier(wheel)
        yield "rim", motion.p[k] + rim(wheel) @ motion.R[k].T


def mass_centre(bodies: Bodies, name: str, k: int) -> Floats:
    """Return a body's mass centre at the k-th time."""
    motion = bodies.motions[name]
    return motion.p[k] + motion.R[k] @ np.asarray(bodies.model.body(name).com, float)
