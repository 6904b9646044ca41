"""Geometry of a bicycle from its model, for the two formulations of the bicycle.

The base is the frame. It carries the rear wheel on a hinge, and the fork on the steer axis; the fork
carries the front wheel. Hubs and steer axis lie in the plane of symmetry, the axles point to the left,
along y. Other bodies (a leaning rider) may be attached to these four.
"""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Array, Scalar, all_vanish, array, atan2, cos, norm, sin
from draisine.errors import ModelError
from draisine.mechanics.base import is_free
from draisine.model import Joint, Model, Wheel

AXLE_DIRECTION = np.array([0.0, 1.0, 0.0])
"""Unit vector along both axles in the zero configuration, to the left."""


@dataclass(frozen=True, slots=True, eq=False)
class Bicycle:
    """Joints, contacts and geometry of a bicycle, with the symbols of Mauny's thesis (2018).

    l1 and l2 are measured at the height of the front hub: there the steer axis is l1 ahead of the rear hub
    and l2 behind the front hub.
    """

    model: Model
    steer: int  # index of the steer joint
    rear: int  # index of the rear wheel's joint
    front: int  # index of the front wheel's joint
    contacts: tuple[int, int]  # indices of the rear and front contact
    rear_hub: Array  # position of the rear hub in the zero configuration, m
    front_hub: Array  # position of the front hub in the zero configuration, m
    mu: Scalar  # tilt of the steer axis, rad
    l1: Scalar  # distance of the steer axis ahead of the rear hub, m
    l2: Scalar  # distance of the steer axis behind the front hub, m
    rise: Scalar  # height of the front hub above the rear hub, m; h2 - h3 on level ground
    h2: Scalar  # outer radius of the front wheel, m
    h3: Scalar  # outer radius of the rear wheel, m
    k2: Scalar  # crown radius of the front tyre, m
    k3: Scalar  # crown radius of the rear tyre, m

    @property
    def axle(self) -> tuple[Joint, Joint]:
        """Joints of the rear and the front wheel."""
        return self.model.joints[self.rear], self.model.joints[self.front]


def extract_bicycle(model: Model) -> Bicycle:
    """Return the geometry of a model as a bicycle; raise an error with the reason if the structure
    differs.
    """
    if not is_free(model):
        raise _structure_error(f"the base of a bicycle must move in SE(3), not in {model.base}")
    wheels = model.wheels
    if len(model.contacts) != 2 or len(wheels) != 2:
        kinds = ", ".join(type(c).__name__.lower() for c in model.contacts) or "none"
        raise _structure_error(
            f"a bicycle must have two wheels and no other contacts; the contacts of this model are: {kinds}"
        )
    base = model.bodies[0].name
    hinges = {j.child: k for k, j in enumerate(model.joints)}
    for wheel in wheels:
        if wheel.body not in hinges:
            raise _structure_error(
                f"wheel {wheel.name!r} belongs to the base; give it its own body and a hinge"
            )
    carriers = [model.joints[hinges[w.body]].parent for w in wheels]
    if carriers.count(base) != 1:
        raise _structure_error(f"exactly one wheel must be hinged to the base {base!r}")
    rear = carriers.index(base)
    fork = carriers[1 - rear]
    if fork not in hinges or model.joints[hinges[fork]].parent != base:
        raise _structure_error(
            f"body {fork!r}, which carries the front wheel, must be hinged to the base {base!r}"
        )
    for body in model.bodies:
        if body.added is not None or body.drag is not None:
            raise _structure_error(
                f"body {body.name!r} has added mass or drag; the formulation 'absolute' supports them"
            )
    for joint in model.joints:
        if not all_vanish([joint.armature]):
            raise _structure_error(
                f"joint {joint.name!r} has an armature; the formulation 'absolute' supports it"
            )
    if model.couplings:
        names = ", ".join(repr(coupling.name) for coupling in model.couplings)
        raise _structure_error(
            f"it has couplings of joints or loops ({names}); use the formulation 'absolute'"
        )
    for wheel in wheels:
        if not wheel.lifts or wheel.closed != "rolling":
            raise _structure_error(f"wheel {wheel.name!r} does not roll without slip on the ground")
    steer = hinges[fork]
    return _measure_geometry(model, steer, wheels[rear], wheels[1 - rear], (rear, 1 - rear), hinges)


def _measure_geometry(
    model: Model,
    steer: int,
    rear: Wheel,
    front: Wheel,
    contacts: tuple[int, int],
    hinges: dict[str, int],
) -> Bicycle:
    """Return the bicycle with its measured geometry, after checking its symmetry."""
    for wheel in (rear, front):
        _check_wheel(wheel, model.joints[hinges[wheel.body]])
    steer_joint = model.joints[steer]
    up = steer_joint.axis / norm(steer_joint.axis)
    asymmetries = [up[1], front.centre[1] - rear.centre[1], steer_joint.through[1] - rear.centre[1]]
    if not all_vanish([steer_joint.turn - 1.0, steer_joint.slide, *asymmetries]):
        raise _structure_error(
            f"joint {steer_joint.name!r} must be a hinge in the plane of the two hubs"
        )
    mu = atan2(-up[0], up[2])
    hub_distance = front.centre - rear.centre
    axis_point = steer_joint.through - rear.centre
    height = (
        hub_distance[2] - axis_point[2]
    )  # height of the front hub above a point of the steer axis
    if all_vanish([up[2]]):
        raise _structure_error(
            f"the axis of joint {steer_joint.name!r} is horizontal, so that l1 and l2 do not exist"
        )
    l1 = axis_point[0] + height * up[0] / up[2]
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
        hub_distance[0] - l1,
        hub_distance[2],
        front.surface.reach,
        rear.surface.reach,
        front.surface.thickness,
        rear.surface.thickness,
    )


def _check_wheel(wheel: Wheel, hinge: Joint) -> None:
    """Raise an error if a wheel is not round, or not hinged about its axle, which must point left."""
    for name, axis in ((f"joint {hinge.name!r}", hinge.axis), (f"{wheel.name!r}", wheel.axle)):
        unit = axis / norm(axis)
        if not all_vanish([hinge.turn - 1.0, hinge.slide, *(unit - AXLE_DIRECTION)]):
            raise _structure_error(
                f"{name}: the axle must be a hinge that points to the left, (0, 1, 0)"
            )
    surface = wheel.surface
    if not all_vanish([surface.reach - surface.ring - surface.thickness]):
        raise _structure_error(f"wheel {wheel.name!r} must be a disc, a torus or a ball")
    offset = wheel.centre - hinge.through
    if not all_vanish([offset[0], offset[2]]):
        raise _structure_error(
            f"joint {hinge.name!r} does not pass through the centre of {wheel.name!r}"
        )


def _structure_error(reason: str) -> ModelError:
    """Return the error with the reason why a model does not have the structure of a bicycle."""
    return ModelError(
        f"This formulation requires a bicycle, but the model is no bicycle: {reason}."
    )


def fork_axes(mu: Scalar) -> tuple[Array, Array, Array]:
    """Return the axes s1, n1, a1 of the fork in the zero configuration, eq. (2.14) of Mauny's thesis (2018).

    s1 points forward, perpendicular to the steer axis; n1 is along the axle, a1 along the steer axis.
    """
    c = cos(mu)
    s = sin(mu)
    return array([c, 0.0, s]), AXLE_DIRECTION, array([-s, 0.0, c])
