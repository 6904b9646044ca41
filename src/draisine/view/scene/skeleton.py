"""Where joints are, and the rims of wheels."""

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
        if not contact.surface.sections:
            found[contact.body].append(np.asarray(contact.centre, float))
    return found


def sections(wheel: Wheel, count: int = 61) -> list[Floats]:
    """Return points on the curves that show a wheel's surface, in the drawing."""
    angle = np.linspace(0.0, 2.0 * np.pi, count)[:, None]
    centre = np.asarray(wheel.centre, float)
    return [
        centre + np.cos(angle) * np.asarray(u, float) + np.sin(angle) * np.asarray(v, float)
        for u, v in wheel.surface.sections
    ]


def rim(wheel: Wheel, count: int = 61) -> Floats:
    """Return points on a wheel's rim, in the drawing."""
    return sections(wheel, count)[0]


def mass_centre(bodies: Bodies, name: str, k: int) -> Floats:
    """Return a body's mass centre at the k-th time."""
    motion = bodies.motions[name]
    return motion.p[k] + motion.R[k] @ np.asarray(bodies.model.body(name).com, float)
