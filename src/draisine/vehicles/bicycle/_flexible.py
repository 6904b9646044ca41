"""What gives in a bicycle: fork and frame that bend and twist, suspension, the steering's damper.

Flexibility is gathered in joints with springs and dampers between rigid bodies, as Sharp has it (The
stability of motorcycles at racing speeds, and later, Limebeer and Sharp, Bicycles, motorcycles, and
models, IEEE Control Systems Magazine 26(5) (2006) 34-61, doi:10.1109/MCS.2006.1700044). Masses stay
where they are: below the fork's joints there is the front wheel alone, ahead of the frame's joint the
whole steering. In the drawing all springs carry the bicycle at rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from draisine.algebra.scalar import Array, Scalar, array, cos, sin
from draisine.mechanics.forces.joint_friction import JointFriction
from draisine.model import Body, Joint, Prismatic, Revolute

Gives = float | None
"""How a part gives, or None of one that is rigid."""


@dataclass(frozen=True)
class Flexible:
    """Stiffnesses and dampings of the parts that give; what is None is rigid.

    `fork_bend`: the front wheel tilts sideways about the fork's crown, N m/rad. `fork_twist`: it turns
    against the handlebar about the steer axis, N m/rad. `frame_twist`: the steering head tilts against
    the frame about the axis that is square to the steer axis, N m/rad. `front_suspension`: the wheel
    slides along the steer axis, N/m. `rear_suspension`: the rear wheel hangs on an arm that swings
    about a pivot `arm` ahead of its hub, at its height, N m/rad. Each has a damper of its name.

    `steer_spring` (N m/rad), `steer_damper` (N m s/rad) and `steer_friction` (N m) act between frame
    and handlebar. The friction is smooth below `steer_friction_rate` (rad/s), see `JointFriction`.
    """

    fork_bend: Annotated[Gives, "N m/rad", "stiffness of the fork against bending sideways"] = None
    fork_bend_damper: Annotated[Gives, "N m s/rad", "damper of the fork's bending"] = None
    fork_twist: Annotated[Gives, "N m/rad", "stiffness of the fork against twisting"] = None
    fork_twist_damper: Annotated[Gives, "N m s/rad", "damper of the fork's twisting"] = None
    frame_twist: Annotated[Gives, "N m/rad", "stiffness of the frame at the steering head"] = None
    frame_twist_damper: Annotated[Gives, "N m s/rad", "damper of the frame's twisting"] = None
    front_suspension: Annotated[Gives, "N/m", "spring of the front suspension"] = None
    front_suspension_damper: Annotated[Gives, "N s/m", "damper of the front suspension"] = None
    rear_suspension: Annotated[Gives, "N m/rad", "spring of the swinging arm"] = None
    rear_suspension_damper: Annotated[Gives, "N m s/rad", "damper of the swinging arm"] = None
    arm: Annotated[Gives, "m", "length of the swinging arm"] = None
    steer_spring: Annotated[Gives, "N m/rad", "spring of the steering"] = None
    steer_damper: Annotated[Gives, "N m s/rad", "damper of the steering"] = None
    steer_friction: Annotated[Gives, "N m", "dry friction of the steering"] = None
    steer_friction_rate: Annotated[
        Gives, "rad/s", "steer rate below which the dry friction is smoothed into a damper"
    ] = None


ARM = 0.4
"""How far ahead of the rear hub the arm's pivot is where it is not given, m."""


@dataclass(frozen=True)
class Side:
    """A way from one of the two frames to its wheel: bodies and joints in between, and the body that
    carries what comes next.
    """

    bodies: Sequence[Body]
    joints: Sequence[Joint]
    carrier: str


def steering_head(flexible: Flexible, lam: Scalar, point: Array) -> Side:
    """Return what is between the frame and the steering, at a point of the steer axis."""
    if flexible.frame_twist is None:
        return Side([], [], "frame")
    ahead = (cos(lam), 0.0, sin(lam))
    twist = Revolute(
        "frame_twist",
        "frame",
        "head",
        ahead,
        point,
        spring=flexible.frame_twist,
        damper=or_none(flexible.frame_twist_damper),
    )
    return Side([Body("head", com=point)], [twist], "head")


def front_side(flexible: Flexible, lam: Scalar, crown: Array, carried: Scalar) -> Side:
    """Return what is between the fork and the front wheel: the fork gives at its `crown`, and its
    suspension, if any, carries a force at rest.
    """
    up, ahead = (-sin(lam), 0.0, cos(lam)), (cos(lam), 0.0, sin(lam))
    joints: list[Joint] = []

    def parent() -> str:
        return joints[-1].child if joints else "fork"

    for kind, name, axis in (
        (Revolute, "fork_bend", ahead),
        (Revolute, "fork_twist", up),
        (Prismatic, "front_suspension", up),
    ):
        stiffness = getattr(flexible, name)
        if stiffness is None:
            continue
        rest = -carried / stiffness if kind is Prismatic else 0.0
        damper = or_none(getattr(flexible, f"{name}_damper"))
        joints.append(kind(name, parent(), name, axis, crown, stiffness, damper, rest))
    return Side([Body(j.child, com=crown) for j in joints], joints, parent())


def rear_side(flexible: Flexible, hub: Array, carried: Scalar) -> Side:
    """Return what is between the frame and the rear wheel; `carried` is the ground's force on the
    wheel less its weight, at rest.
    """
    if flexible.rear_suspension is None:
        return Side([], [], "frame")
    arm = ARM if flexible.arm is None else flexible.arm
    pivot = array(list(hub)) + array([arm, 0.0, 0.0])
    swing = Revolute(
        "rear_suspension",
        "frame",
        "swing_arm",
        (0.0, 1.0, 0.0),
        pivot,
        spring=flexible.rear_suspension,
        damper=or_none(flexible.rear_suspension_damper),
        rest=-(arm * carried) / flexible.rear_suspension,
    )
    return Side([Body("swing_arm", com=pivot)], [swing], "swing_arm")


def steer_friction(flexible: Flexible) -> list[JointFriction]:
    """Return the dry friction of the steering, if there is any."""
    torque, rate = flexible.steer_friction, flexible.steer_friction_rate
    if torque is None:
        return []
    return [
        JointFriction("steer", torque) if rate is None else JointFriction("steer", torque, rate)
    ]


def or_none(damper: Scalar | None) -> Scalar:
    """Return a stiffness or damping, zero where there is none."""
    return 0.0 if damper is None else damper
