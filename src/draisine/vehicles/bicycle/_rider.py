"""Rider models: an upper body that leans on a saddle, arms that hold the handlebar, legs that pedal.

All these bodies are parts of the benchmark's frame with rider: their masses are subtracted from it,
so that a motionless rider does not change the dynamics. Arms are those of Schwab, Meijaard and
Kooijman (Lateral dynamics of a bicycle with a passive rider model, Vehicle System Dynamics 50
(2012) 1209-1224, doi:10.1080/00423114.2011.610898): shoulders with two hinges, elbows with one,
hands on the grips; they add no degree of freedom, but inertia to the steering.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, array, is_zero, norm, sqrt
from draisine.errors import ModelError, ParameterError
from draisine.model import (
    Body,
    Coupling,
    Joint,
    JointMotion,
    Loop,
    Prismatic,
    Revolute,
    inertia,
)

LATERAL_AXIS = (0.0, 1.0, 0.0)
"""Unit vector to the left (y axis)."""

SIDE_SIGNS = {"left": 1.0, "right": -1.0}
"""Sign of the y coordinate of a limb, by side."""


@dataclass(frozen=True)
class Seat:
    """Stiffness (N/m) and damping (N s/m) of the saddle under the upper body, in three directions.

    A direction without a stiffness is rigid: a coupling whose multiplier is the saddle's force, N.
    """

    ahead: Annotated[float | None, "N/m", "stiffness ahead"] = None
    ahead_damper: Annotated[float | None, "N s/m", "damping ahead"] = None
    aside: Annotated[float | None, "N/m", "stiffness sideways"] = None
    aside_damper: Annotated[float | None, "N s/m", "damping sideways"] = None
    up: Annotated[float | None, "N/m", "stiffness upwards"] = None
    up_damper: Annotated[float | None, "N s/m", "damping upwards"] = None


@dataclass(frozen=True)
class Arms:
    """Arms from the shoulders over the elbows to the grips, thin rods.

    Points of the left arm in m (x ahead of the rear contact, y to the left, z up); the right arm is its
    mirror image. Masses of one upper arm (`upper`) and one forearm with hand (`lower`) in kg.
    """

    shoulder_x: Annotated[float, "m", "left shoulder, ahead of the rear contact"]
    shoulder_y: Annotated[float, "m", "left shoulder, to the left"]
    shoulder_z: Annotated[float, "m", "left shoulder, height"]
    elbow_x: Annotated[float, "m", "left elbow, ahead of the rear contact"]
    elbow_y: Annotated[float, "m", "left elbow, to the left"]
    elbow_z: Annotated[float, "m", "left elbow, height"]
    grip_x: Annotated[float, "m", "left grip, ahead of the rear contact"]
    grip_y: Annotated[float, "m", "left grip, to the left"]
    grip_z: Annotated[float, "m", "left grip, height"]
    upper: Annotated[float, "kg", "mass of one upper arm"]
    lower: Annotated[float, "kg", "mass of one forearm with hand"]


@dataclass(frozen=True)
class Legs:
    """Legs from the hips over the knees to rotating pedals, thin rods.

    Positions of hips and crank axle (x ahead of the rear contact, z up) and lengths in m; masses of one
    thigh (`upper`) and one shank with foot (`lower`) in kg; `aside` is the distance from the mid-plane, m.
    """

    hip_x: Annotated[float, "m", "hips, ahead of the rear contact"]
    hip_z: Annotated[float, "m", "hips, height"]
    axle_x: Annotated[float, "m", "axle of the cranks, ahead of the rear contact"]
    axle_z: Annotated[float, "m", "axle of the cranks, height"]
    thigh: Annotated[float, "m", "length of a thigh"]
    shank: Annotated[float, "m", "length of a shank"]
    crank: Annotated[float, "m", "length of a crank"]
    upper: Annotated[float, "kg", "mass of one thigh"]
    lower: Annotated[float, "kg", "mass of one shank with foot"]
    aside: Annotated[float, "m", "distance of a leg from the middle"] = 0.1


@dataclass(frozen=True)
class Parts:
    """Bodies, joints and couplings of those parts of the rider that move relative to the frame."""

    bodies: Sequence[Body]
    """Bodies with mass, and massless intermediate bodies."""
    joints: Sequence[Joint]
    """Joints of these bodies."""
    couplings: Sequence[Coupling | Loop]
    """Couplings and loops between them."""


NO_PARTS = Parts([], [], [])
"""Empty record for a rider without moving parts, who is rigidly fixed to the frame."""


UPPER_BODY_DEFAULTS = {"zU": -1.05, "kU": 0.15, "zP": -0.75}
"""Geometry (m) of the upper body if only its mass mU is given: rounded values for about 30 kg of
the benchmark's rider.
"""


def make_upper_body(
    frame: Body,
    mass: Scalar | None,
    parameters: Mapping[str, Scalar | None],
    torso: JointMotion | None,
    saddle: Parts,
) -> Parts:
    """Return the upper body on its hinge along x, and on the saddle if there is one.

    `parameters` are whipple's parameters of the upper body by name; None for the default.
    """
    stated = {name: x for name, x in parameters.items() if x is not None}
    if mass is None:
        if stated or torso is not None or saddle.joints:
            names = ", ".join(stated) or ("seat" if torso is None else "torso")
            raise ParameterError(f"whipple: {names}: state the mass mU of the upper body, too.")
        return NO_PARTS
    if "kU" in stated and "IUxx" in stated:
        raise ParameterError(
            "whipple: kU and IUxx both define the inertia of the upper body. Leave one of them out."
        )
    values = UPPER_BODY_DEFAULTS | stated
    if "IUxx" in stated:
        xz = -values.get("IUxz", 0.0)
        tensor = inertia(values["IUxx"], values["IUyy"], values["IUzz"], xz=xz)
    else:
        tensor = mass * values["kU"] * values["kU"] * np.eye(3)
    com = (values.get("xU", frame.com[0]), 0.0, -values["zU"])
    hinge = Revolute(
        "torso",
        saddle.joints[-1].child if saddle.joints else "frame",
        "upper_body",
        (1.0, 0.0, 0.0),
        (0.0, 0.0, -values["zP"]),
        spring=values.get("torso_spring", 0.0),
        damper=values.get("torso_damper", 0.0),
        motion=torso,
    )
    return join_parts(saddle, Parts([Body("upper_body", mass, com, tensor)], [hinge], []))


def make_saddle(seat: Seat | None, weight: Scalar) -> Parts:
    """Return the saddle: a slide in each direction, on a spring or fixed by a coupling.

    It supports the weight of the upper body (N) at rest in the zero configuration.
    """
    if seat is None:
        return NO_PARTS
    bodies: list[Body] = []
    joints: list[Joint] = []
    couplings: list[Coupling] = []
    for name, axis in (
        ("ahead", (1.0, 0.0, 0.0)),
        ("aside", LATERAL_AXIS),
        ("up", (0.0, 0.0, 1.0)),
    ):
        stiffness = getattr(seat, name)
        damper = getattr(seat, f"{name}_damper")
        parent = joints[-1].child if joints else "frame"
        slide = f"seat_{name}"
        spring = {}
        if stiffness is None:
            couplings.append(Coupling(slide, (slide,), lambda r: r))
        else:
            rest = weight / stiffness if name == "up" else 0.0
            spring = {
                "spring": stiffness,
                "damper": 0.0 if damper is None else damper,
                "rest": rest,
            }
        joints.append(Prismatic(slide, parent, slide, axis, **spring))
        bodies.append(Body(slide))
    return Parts(bodies, joints, couplings)


def make_arms(dimensions: Arms | None, torso: str) -> Parts:
    """Return both arms on a torso, with the hands pinned to the fork by loops."""
    if dimensions is None:
        return NO_PARTS
    bodies: list[Body] = []
    joints: list[Joint] = []
    hands: list[Loop] = []
    for side, sign in SIDE_SIGNS.items():
        shoulder, elbow, grip = (
            array([x, sign * y, z])
            for x, y, z in (
                (dimensions.shoulder_x, dimensions.shoulder_y, dimensions.shoulder_z),
                (dimensions.elbow_x, dimensions.elbow_y, dimensions.elbow_z),
                (dimensions.grip_x, dimensions.grip_y, dimensions.grip_z),
            )
        )
        across = cross(elbow - shoulder, grip - elbow)
        hinge = across / norm(across)
        upward = cross(hinge, elbow - shoulder)
        hub = f"{side}_shoulder"
        arm = f"{side}_upper_arm"
        fore = f"{side}_forearm"
        bodies += [Body(hub, com=shoulder), make_rod(arm, dimensions.upper, shoulder, elbow)]
        bodies += [make_rod(fore, dimensions.lower, elbow, grip)]
        joints += [
            Revolute(f"{side}_raise", torso, hub, hinge, shoulder),
            Revolute(f"{side}_spread", hub, arm, upward, shoulder),
            Revolute(f"{side}_elbow", arm, fore, hinge, elbow),
        ]
        hands.append(Loop(f"{side}_hand", fore, "fork", grip))
    return Parts(bodies, joints, hands)


def make_legs(dimensions: Legs | None, pedalling: JointMotion | None) -> Parts:
    """Return both legs on cranks with prescribed motion; the left pedal is ahead in the zero
    configuration.
    """
    if dimensions is None:
        if pedalling is not None:
            raise ParameterError(
                "whipple: `pedalling` prescribes the motion of legs. Define `legs`, too."
            )
        return NO_PARTS
    axle = array([dimensions.axle_x, 0.0, dimensions.axle_z])
    hip = array([dimensions.hip_x, 0.0, dimensions.hip_z])
    bodies: list[Body] = [Body("cranks", com=axle)]
    joints: list[Joint] = [
        Revolute("cranks", "frame", "cranks", LATERAL_AXIS, axle, motion=pedalling)
    ]
    feet: list[Loop] = []
    for side, sign in SIDE_SIGNS.items():
        aside = array([0.0, sign * dimensions.aside, 0.0])
        top = hip + aside
        pedal = axle + aside + array([sign * dimensions.crank, 0.0, 0.0])
        knee = _place_knee(top, pedal, dimensions.thigh, dimensions.shank)
        thigh = f"{side}_thigh"
        shank = f"{side}_shank"
        bodies += [
            make_rod(thigh, dimensions.upper, top, knee),
            make_rod(shank, dimensions.lower, knee, pedal),
        ]
        joints += [
            Revolute(f"{side}_hip", "frame", thigh, LATERAL_AXIS, top),
            Revolute(f"{side}_knee", thigh, shank, LATERAL_AXIS, knee),
        ]
        feet.append(Loop(f"{side}_foot", shank, "cranks", pedal))
    return Parts(bodies, joints, feet)


def _place_knee(hip: Array, pedal: Array, thigh: Scalar, shank: Scalar) -> Array:
    """Return the position (3,) of the knee (m) ahead of the line from the hip to the pedal, by the
    law of cosines.
    """
    line = pedal - hip
    distance = norm(line)
    along = (distance * distance + thigh * thigh - shank * shank) / (2.0 * distance)
    ahead = array([-line[2], 0.0, line[0]]) / distance
    square = thigh * thigh - along * along
    return hip + (along / distance) * line + sqrt(square) * ahead


def make_rod(name: str, mass: Scalar, start: Array, end: Array) -> Body:
    """Return a thin rod between two points (3,) in m."""
    line = end - start
    tensor = (mass / 12.0) * ((line @ line) * np.eye(3) - np.outer(line, line))
    return Body(name, mass, (start + end) / 2.0, tensor)


def join_parts(*parts: Parts) -> Parts:
    """Return several parts of a rider combined into one record."""
    return Parts(
        [body for p in parts for body in p.bodies],
        [joint for p in parts for joint in p.joints],
        [coupling for p in parts for coupling in p.couplings],
    )


MAX_TRIANGLE_ERROR = 0.1
"""Largest violation of the triangle inequality of principal moments of inertia that measurement
errors explain.

It is the excess of the largest principal moment over the sum of the others, relative to this sum.
"""


def subtract_parts(body: Body, parts: Sequence[Body]) -> Body:
    """Return the remainder of a body after parts of it became separate bodies.

    The remainder is symmetric about the mid-plane, although one pedal is ahead.
    """
    heavy = [part for part in parts if not is_zero(part.mass)]
    if not heavy:
        return body
    mass = body.mass - sum(part.mass for part in heavy)
    com = (body.mass * body.com - sum(part.mass * part.com for part in heavy)) / mass

    def inertia_about_origin(mass: Scalar, centre: Array) -> Array:
        """Return the inertia tensor (kg m2) about the origin of a mass (kg) with its centre at the
        given point (m).
        """
        return mass * ((centre @ centre) * np.eye(3) - np.outer(centre, centre))

    moments = body.inertia + inertia_about_origin(body.mass, body.com)
    for part in heavy:
        moments = moments - part.inertia - inertia_about_origin(part.mass, part.com)
    moments[[0, 1, 1, 2], [1, 0, 2, 1]] = 0.0
    inertia = moments - inertia_about_origin(mass, com)
    names = ", ".join(part.name for part in heavy)
    # Measured moments may violate the triangle inequality by a few percent. If the remainder
    # violates it by more than that, the parts are too large for the body.
    if inertia.dtype != object:
        a, b, c = np.linalg.eigvalsh(inertia)
        if a + b < (1.0 - MAX_TRIANGLE_ERROR) * c:
            raise ModelError(
                f"whipple: without {names} the frame is physically invalid: its principal moments {a:.6g}, "
                f"{b:.6g}, {c:.6g} kg m^2 violate the triangle inequality. Use lighter parts."
            )
    try:
        return Body(body.name, mass, com, inertia)
    except ModelError as error:
        raise ModelError(
            f"whipple: without {names} the frame is physically invalid: {error}"
        ) from error
