"""Compliant parts of a bicycle: bending and twisting of fork and frame, suspension, steering
damper.

Compliance is concentrated in joints with springs and dampers between rigid bodies, after Sharp (The
stability of motorcycles at racing speeds, and later, Limebeer and Sharp, Bicycles, motorcycles, and
models, IEEE Control Systems Magazine 26(5) (2006) 34-61, doi:10.1109/MCS.2006.1700044). Compliance
does not change the distribution of masses: the joints of the fork carry only the front wheel, and
the joint of the frame carries the complete steering. In the zero configuration all springs are
preloaded, so that they support the bicycle at rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from draisine.algebra.scalar import Array, Scalar, array, cos, sin
from draisine.mechanics.forces.joint_friction import JointFriction
from draisine.model import Body, Joint, Prismatic, Revolute

FlexibleValue = float | None
"""Stiffness or damping of a compliant part; None if it is rigid."""


@dataclass(frozen=True)
class Flexible:
    """Stiffnesses and dampings of compliant parts; a part whose stiffness is None is rigid.

    Parameters
    ----------
    fork_bend, fork_bend_damper
        The front wheel tilts sideways about the fork's crown, N m/rad and N m s/rad.
    fork_twist, fork_twist_damper
        The front wheel turns relative to the handlebar about the steer axis, N m/rad and N m s/rad.
    frame_twist, frame_twist_damper
        The steering head tilts relative to the frame about the axis perpendicular to the steer axis,
        N m/rad and N m s/rad.
    front_suspension, front_suspension_damper
        The front wheel slides along the steer axis, N/m and N s/m.
    rear_suspension, rear_suspension_damper
        The rear wheel is on a swing arm, N m/rad and N m s/rad.
    arm
        Distance from the rear hub forward to the swing arm's pivot, at the height of the hub, m.
    steer_spring, steer_damper
        Stiffness and damping between frame and handlebar about the steer axis, N m/rad and N m s/rad.
    steer_friction
        Dry friction torque between frame and handlebar, N m.
    steer_friction_rate
        Steer rate below which the dry friction is smooth, rad/s; see `JointFriction`.
    """

    fork_bend: Annotated[
        FlexibleValue, "N m/rad", "stiffness of the fork against bending sideways"
    ] = None
    fork_bend_damper: Annotated[FlexibleValue, "N m s/rad", "damper of the fork's bending"] = None
    fork_twist: Annotated[FlexibleValue, "N m/rad", "stiffness of the fork against twisting"] = None
    fork_twist_damper: Annotated[FlexibleValue, "N m s/rad", "damper of the fork's twisting"] = None
    frame_twist: Annotated[
        FlexibleValue, "N m/rad", "stiffness of the frame at the steering head"
    ] = None
    frame_twist_damper: Annotated[FlexibleValue, "N m s/rad", "damper of the frame's twisting"] = (
        None
    )
    front_suspension: Annotated[FlexibleValue, "N/m", "spring of the front suspension"] = None
    front_suspension_damper: Annotated[FlexibleValue, "N s/m", "damper of the front suspension"] = (
        None
    )
    rear_suspension: Annotated[FlexibleValue, "N m/rad", "spring of the swinging arm"] = None
    rear_suspension_damper: Annotated[FlexibleValue, "N m s/rad", "damper of the swinging arm"] = (
        None
    )
    arm: Annotated[FlexibleValue, "m", "length of the swinging arm"] = None
    steer_spring: Annotated[FlexibleValue, "N m/rad", "spring of the steering"] = None
    steer_damper: Annotated[FlexibleValue, "N m s/rad", "damper of the steering"] = None
    steer_friction: Annotated[FlexibleValue, "N m", "dry friction of the steering"] = None
    steer_friction_rate: Annotated[
        FlexibleValue, "rad/s", "steer rate below which the dry friction is smoothed into a damper"
    ] = None


DEFAULT_ARM_LENGTH = 0.4
"""Distance (m) of the swing arm's pivot ahead of the rear hub, that of usual mountain bicycles."""


@dataclass(frozen=True)
class CompliantLink:
    """Chain of massless bodies and compliant joints between two parts of the bicycle."""

    bodies: Sequence[Body]
    """Massless intermediate bodies."""
    joints: Sequence[Joint]
    """Joints with springs and dampers."""
    carrier: str
    """Name of the body that carries the next part."""


def make_steering_head(flexible: Flexible, lam: Scalar, point: Array) -> CompliantLink:
    """Return the compliant joints between frame and steering, at a point (3,) of the steer axis
    (m).
    """
    if flexible.frame_twist is None:
        return CompliantLink([], [], "frame")
    ahead = (cos(lam), 0.0, sin(lam))
    twist = Revolute(
        "frame_twist",
        "frame",
        "head",
        ahead,
        point,
        spring=flexible.frame_twist,
        damper=or_zero(flexible.frame_twist_damper),
    )
    return CompliantLink([Body("head", com=point)], [twist], "head")


def make_front_joints(
    flexible: Flexible, lam: Scalar, crown: Array, carried_mass: Scalar
) -> CompliantLink:
    """Return the compliant joints between fork and front wheel, at the crown (3,) of the fork (m).

    `carried_mass` is the force along the suspension at rest (N).
    """
    up = (-sin(lam), 0.0, cos(lam))
    ahead = (cos(lam), 0.0, sin(lam))
    joints: list[Joint] = []

    def last_body() -> str:
        """Return the name of the last body of the chain, which carries the next joint."""
        return joints[-1].child if joints else "fork"

    for kind, name, axis in (
        (Revolute, "fork_bend", ahead),
        (Revolute, "fork_twist", up),
        (Prismatic, "front_suspension", up),
    ):
        stiffness = getattr(flexible, name)
        if stiffness is None:
            continue
        rest = -carried_mass / stiffness if kind is Prismatic else 0.0
        damper = or_zero(getattr(flexible, f"{name}_damper"))
        joints.append(kind(name, last_body(), name, axis, crown, stiffness, damper, rest))
    return CompliantLink([Body(j.child, com=crown) for j in joints], joints, last_body())


def make_rear_joints(flexible: Flexible, hub: Array, carried_mass: Scalar) -> CompliantLink:
    """Return the compliant joints between frame and rear wheel.

    `carried_mass` is the force of the ground on the wheel minus the weight of the wheel at rest (N).
    """
    if flexible.rear_suspension is None:
        return CompliantLink([], [], "frame")
    arm = DEFAULT_ARM_LENGTH if flexible.arm is None else flexible.arm
    pivot = array(list(hub)) + array([arm, 0.0, 0.0])
    swing = Revolute(
        "rear_suspension",
        "frame",
        "swing_arm",
        (0.0, 1.0, 0.0),
        pivot,
        spring=flexible.rear_suspension,
        damper=or_zero(flexible.rear_suspension_damper),
        rest=-(arm * carried_mass) / flexible.rear_suspension,
    )
    return CompliantLink([Body("swing_arm", com=pivot)], [swing], "swing_arm")


def make_steer_friction(flexible: Flexible) -> list[JointFriction]:
    """Return the force elements of dry steering friction; empty without friction."""
    torque = flexible.steer_friction
    rate = flexible.steer_friction_rate
    if torque is None:
        return []
    return [
        JointFriction("steer", torque) if rate is None else JointFriction("steer", torque, rate)
    ]


def or_zero(coefficient: Scalar | None) -> Scalar:
    """Return a stiffness or damping coefficient; zero for None."""
    return 0.0 if coefficient is None else coefficient
