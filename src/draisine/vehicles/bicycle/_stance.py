"""A rider who stands on the pedals and moves in the vertical plane of the bicycle.

Legs join the cranks' axle and the hips, arms the shoulders and the handlebar. Knees and elbows are not
resolved: each pair of limbs is a slide whose two halves turn about the ends. Feet on level pedals and hands
on the grips transmit forces, but no moments, so that three of the five joints can be actuated,

    ankles (free) - legs (slide) - hips (hinge) - shoulders (free) - arms (slide) - hands (pin)

and the pin of the hands closes the loop. Both feet act at the axle, because the cranks are level, and both
hands at the middle of the handlebar, because they hold it symmetrically. A pin can pull: feet are clipped in.
The bodies are parts of the benchmark's frame with rider, so that a motionless rider does not change the
dynamics.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array, norm
from draisine.errors import ParameterError
from draisine.model import Body, Loop, Prismatic, Revolute, inertia
from draisine.vehicles.bicycle._rider import LATERAL_AXIS, NO_PARTS, Parts, make_rod

STANCE_JOINTS = ("legs", "hips", "arms")
"""Actuated joints of a standing rider: extension of legs and arms (m), forward rotation of the trunk
(rad).
"""


@dataclass(frozen=True)
class Stance:
    """Standing rider in the zero configuration.

    Points of the mid-plane in m (x ahead of the rear contact, z up), masses in kg, both limbs of a pair
    together. `legs_aside` and `arms_aside` are the distances of each limb from the mid-plane, m.
    """

    hip_x: Annotated[float, "m", "hips, ahead of the rear contact"]
    hip_z: Annotated[float, "m", "hips, height"]
    shoulder_x: Annotated[float, "m", "shoulders, ahead of the rear contact"]
    shoulder_z: Annotated[float, "m", "shoulders, height"]
    grip_x: Annotated[float, "m", "middle of the grips, ahead of the rear contact"]
    grip_z: Annotated[float, "m", "middle of the grips, height"]
    axle_x: Annotated[float, "m", "axle of the cranks, ahead of the rear contact"]
    axle_z: Annotated[float, "m", "axle of the cranks, height"]
    trunk: Annotated[float, "kg", "mass of trunk and head"]
    trunk_x: Annotated[float, "m", "mass centre of trunk and head, ahead of the rear contact"]
    trunk_z: Annotated[float, "m", "mass centre of trunk and head, height"]
    trunk_xx: Annotated[float, "kg m2", "trunk and head, central moment of inertia xx"]
    trunk_yy: Annotated[float, "kg m2", "trunk and head, central moment of inertia yy"]
    trunk_zz: Annotated[float, "kg m2", "trunk and head, central moment of inertia zz"]
    thighs: Annotated[float, "kg", "mass of both thighs"]
    shanks: Annotated[float, "kg", "mass of both shanks with feet"]
    upper_arms: Annotated[float, "kg", "mass of both upper arms"]
    forearms: Annotated[float, "kg", "mass of both forearms with hands"]
    trunk_xz: Annotated[float, "kg m2", "trunk and head, entry xz of the inertia tensor, z up"] = (
        0.0
    )
    legs_aside: Annotated[float, "m", "distance of a leg from the middle"] = 0.09
    arms_aside: Annotated[float, "m", "distance of an arm from the middle"] = 0.23


def make_rider_on_pedals(stance: Stance | None, other_options: dict[str, object]) -> Parts:
    """Return the bodies and joints of a standing rider; `other_options` are the options of other riders
    by name.
    """
    if stance is None:
        return NO_PARTS
    stated = [name for name, value in other_options.items() if value is not None]
    if stated:
        raise ParameterError(
            f"whipple: `stance` is a complete rider and cannot be combined with {', '.join(stated)}. Leave "
            "one of them out."
        )
    axle, hip, shoulder, grip = (
        array([x, 0.0, z])
        for x, z in (
            (stance.axle_x, stance.axle_z),
            (stance.hip_x, stance.hip_z),
            (stance.shoulder_x, stance.shoulder_z),
            (stance.grip_x, stance.grip_z),
        )
    )
    _check_ends_differ(axle, hip, "legs", "cranks' axle", "hips")
    _check_ends_differ(shoulder, grip, "arms", "shoulders", "grips")
    knee = (axle + hip) / 2.0
    elbow = (shoulder + grip) / 2.0
    trunk = inertia(stance.trunk_xx, stance.trunk_yy, stance.trunk_zz, xz=stance.trunk_xz)
    bodies = [
        _make_rod_pair("shanks", stance.shanks, axle, knee, stance.legs_aside),
        _make_rod_pair("thighs", stance.thighs, knee, hip, stance.legs_aside),
        Body("trunk", stance.trunk, array([stance.trunk_x, 0.0, stance.trunk_z]), trunk),
        _make_rod_pair("upper_arms", stance.upper_arms, shoulder, elbow, stance.arms_aside),
        _make_rod_pair("forearms", stance.forearms, elbow, grip, stance.arms_aside),
    ]
    joints = [
        Revolute("ankles", "frame", "shanks", LATERAL_AXIS, axle),
        Prismatic("legs", "shanks", "thighs", (hip - axle) / norm(hip - axle), knee),
        Revolute("hips", "thighs", "trunk", LATERAL_AXIS, hip),
        Revolute("shoulders", "trunk", "upper_arms", LATERAL_AXIS, shoulder),
        Prismatic(
            "arms", "upper_arms", "forearms", (grip - shoulder) / norm(grip - shoulder), elbow
        ),
    ]
    return Parts(bodies, joints, [Loop("hands", "forearms", "frame", grip)])


def _make_rod_pair(name: str, mass: Scalar, start: Array, end: Array, offset: Scalar) -> Body:
    """Return a pair of thin rods beside the mid-plane as one body; `offset` is their distance from it (m)."""
    single = make_rod(name, mass, start, end)
    return Body(
        name, mass, single.com, single.inertia + mass * offset * offset * np.diag([1.0, 0.0, 1.0])
    )


def _check_ends_differ(
    start: Array, end: Array, limbs: str, start_name: str, end_name: str
) -> None:
    """Raise `ParameterError` if the two ends of a pair of limbs coincide."""
    if start.dtype != object and not norm(end - start) > 0.0:
        raise ParameterError(
            f"whipple: the {limbs} of the stance have no length: {start_name} and {end_name} coincide."
        )
