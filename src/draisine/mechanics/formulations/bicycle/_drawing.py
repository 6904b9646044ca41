"""A model read as a bicycle: what the two formulations of the bicycle alone need of its drawing.

The base is the frame. It carries the rear wheel on a hinge, and the fork on the steer axis; the
fork carries the front wheel. Hubs and steer axis lie in the plane of symmetry, the axles point to
the left, along y. Whatever else hangs on these four bodies (a rider who leans) is free to be there.
"""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array, atan2, cos, norm, sin, vanishes
from draisine.errors import ModelError
from draisine.mechanics.base import is_free
from draisine.model import Joint, Model, Wheel

LEFT = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True, slots=True, eq=False)
class Bicycle:
    """The names that a bicycle's parts have, and its geometry in the thesis's terms.

    `steer`, `rear`, `front` are indices of joints, `contacts` those of the (rear, front) contacts.
    `mu` is the tilt of the steer axis. Where the steer axis is as high as the front hub it lies l1
    ahead of the rear hub and l2 behind the front one, in the drawing; `rise` is how much higher the
    front hub is than the rear one (h2 - h3 where the drawing stands level). The outer radii are h3
    (rear) and h2 (front), k3 and k2 the crowns of the tyres.
    """

    model: Model
    steer: int
    rear: int
    front: int
    contacts: tuple[int, int]
    rear_hub: Array
    front_hub: Array
    mu: Scalar
    l1: Scalar
    l2: Scalar
    rise: Scalar
    h2: Scalar
    h3: Scalar
    k2: Scalar
    k3: Scalar

    @property
    def axle(self) -> tuple[Joint, Joint]:
        """The hinges of the rear and of the front wheel."""
        return self.model.joints[self.rear], self.model.joints[self.front]


def bicycle(model: Model) -> Bicycle:
    """Return the bicycle that a model is, or say why it is none."""
    if not is_free(model):
        raise _no(f"its base moves in {model.base}, not in SE(3)")
    wheels = model.wheels
    if len(model.contacts) != 2 or len(wheels) != 2:
        kinds = ", ".join(type(c).__name__.lower() for c in model.contacts) or "none"
        raise _no(f"it needs two wheels as contacts and nothing else; there are: {kinds}")
    base = model.bodies[0].name
    hinges = {j.child: k for k, j in enumerate(model.joints)}
    for wheel in wheels:
        if wheel.body not in hinges:
            raise _no(f"wheel {wheel.name!r} sits on the base itself; give it a body and a hinge")
    carriers = [model.joints[hinges[w.body]].parent for w in wheels]
    if carriers.count(base) != 1:
        raise _no(f"exactly one of the wheels must turn on the base {base!r}")
    rear = carriers.index(base)
    fork = carriers[1 - rear]
    if fork not in hinges or model.joints[hinges[fork]].parent != base:
        raise _no(f"body {fork!r}, which carries the front wheel, must hang on the base {base!r}")
    for body in model.bodies:
        if body.added is not None or body.drag is not None:
            raise _no(f"body {body.name!r} has fluid terms; the formulation 'absolute' takes them")
    for joint in model.joints:
        if not vanishes([joint.armature]):
            raise _no(f"joint {joint.name!r} has an armature; the formulation 'absolute' takes it")
    if model.couplings:
        names = ", ".join(repr(coupling.name) for coupling in model.couplings)
        raise _no(f"it has couplings of joints or loops ({names}); use the formulation 'absolute'")
    for wheel in wheels:
        if not wheel.lifts or wheel.closed != "rolling":
            raise _no(f"wheel {wheel.name!r} does not roll without slip on the ground")
    steer = hinges[fork]
    return _measured(model, steer, wheels[rear], wheels[1 - rear], (rear, 1 - rear), hinges)


def _measured(
    model: Model,
    steer: int,
    rear: Wheel,
    front: Wheel,
    contacts: tuple[int, int],
    hinges: dict[str, int],
) -> Bicycle:
    """Return the bicycle with its geometry, after checking that it is flat and symmetric."""
    for wheel in (rear, front):
        _check_wheel(wheel, model.joints[hinges[wheel.body]])
    turning = model.joints[steer]
    up = turning.axis / norm(turning.axis)
    flat = [up[1], front.centre[1] - rear.centre[1], turning.through[1] - rear.centre[1]]
    if not vanishes([turning.turn - 1.0, turning.slide, *flat]):
        raise _no(f"joint {turning.name!r} must be a hinge in the plane of the two hubs")
    mu = atan2(-up[0], up[2])
    between = front.centre - rear.centre
    ahead = turning.through - rear.centre
    level = between[2] - ahead[2]  # from the given point of the steer axis up to the front hub
    if vanishes([up[2]]):
        raise _no(f"joint {turning.name!r} lies level; l1 and l2 do not exist")
    l1 = ahead[0] + level * up[0] / up[2]
    return Bicycle(
        model,
        steer,
        hinges[rear.body],
        hinges[front.body],
        contacts,
        rear.centre,
        front.centre,
        mu,
        l1,
        between[0] - l1,
        between[2],
        front.surface.reach,
        rear.surface.reach,
        front.surface.thickness,
        rear.surface.thickness,
    )


def _check_wheel(wheel: Wheel, hinge: Joint) -> None:
    """Raise where a wheel is not round, or does not turn about its own axle, which points left."""
    for what, axis in ((f"joint {hinge.name!r}", hinge.axis), (f"{wheel.name!r}", wheel.axle)):
        unit = axis / norm(axis)
        if not vanishes([hinge.turn - 1.0, hinge.slide, *(unit - LEFT)]):
            raise _no(f"{what}: the axle must be a hinge that points to the left, (0, 1, 0)")
    surface = wheel.surface
    if not vanishes([surface.reach - surface.ring - surface.thickness]):
        raise _no(f"wheel {wheel.name!r} is no disc, torus or ball")
    offset = wheel.centre - hinge.through
    if not vanishes([offset[0], offset[2]]):
        raise _no(f"joint {hinge.name!r} does not pass through the centre of {wheel.name!r}")


def _no(why: str) -> ModelError:
    return ModelError(f"this model is no bicycle: {why}.")


def fork_axes(mu: Scalar) -> tuple[Array, Array, Array]:
    """Return s1, n1, a1 of the fork in the drawing: ahead along the fork's foot, the axle, the
    steer axis, eq. (2.14) of the thesis.
    """
    c = cos(mu)
    s = sin(mu)
    return array([c, 0.0, s]), LEFT, array([-s, 0.0, c])
