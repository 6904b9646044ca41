"""Positions of joints and contacts, and curves on wheels, in the zero configuration of a vehicle."""

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.model import Model, Wheel
from draisine.results.bodies import Bodies


def joint_positions(model: Model) -> dict[str, list[Floats]]:
    """Return for each body the positions (3,) in m of its joints and feet in the zero configuration.

    A joint is drawn at the point of its axis that is closest to the midpoint of the two mass centres. Feet
    are contacts other than wheels.
    """
    points: dict[str, list[Floats]] = {body.name: [] for body in model.bodies}
    for joint in model.joints:
        through = np.asarray(joint.through, float)
        axis = np.asarray(joint.axis, float)
        axis = axis / np.linalg.norm(axis)
        centres = [np.asarray(model.body(n).com, float) for n in (joint.parent, joint.child)]
        foot = through + axis * (axis @ (sum(centres) / 2.0 - through))
        points[joint.parent].append(foot)
        points[joint.child].append(foot)
    for contact in model.contacts:
        if not contact.surface.sections:
            points[contact.body].append(np.asarray(contact.centre, float))
    return points


def section_curves(wheel: Wheel, count: int = 61) -> list[Floats]:
    """Return closed curves (count, 3) in m on the surface of a wheel in the zero configuration.

    A disc has one curve, its rim; a ball or an ellipsoid has three perpendicular sections.
    """
    angle = np.linspace(0.0, 2.0 * np.pi, count)[:, None]
    centre = np.asarray(wheel.centre, float)
    return [
        centre + np.cos(angle) * np.asarray(u, float) + np.sin(angle) * np.asarray(v, float)
        for u, v in wheel.surface.sections
    ]


def rim_points(wheel: Wheel, count: int = 61) -> Floats:
    """Return the rim of a wheel in the zero configuration as a closed polyline (count, 3), m."""
    return section_curves(wheel, count)[0]


def mass_centre(bodies: Bodies, name: str, k: int) -> Floats:
    """Return the mass centre (3,) of a body at sample k in world axes, m."""
    motion = bodies.motions[name]
    return motion.p[k] + motion.R[k] @ np.asarray(bodies.model.body(name).com, float)
