"""The rider as bodies of his own: an upper body that sits on a saddle and leans, arms that hold the bar,
legs that pedal.

All are parts of the benchmark's frame with rider: their masses are taken from it, so that a rider who
does not move changes nothing. Arms are those of Schwab, Meijaard and Kooijman (Lateral dynamics of a
bicycle with a passive rider model, Vehicle System Dynamics 50 (2012) 1209-1224,
doi:10.1080/00423114.2011.610898): shoulders that turn two ways, elbows that bend, hands on the grips;
they add no freedom, but mass to the steering.
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

LEFT = (0.0, 1.0, 0.0)
SIDES = {"left": 1.0, "right": -1.0}


@dataclass(frozen=True)
class Seat:
    """What the saddle does to the upper body: stiffnesses (N/m) and dampings (N s/m) ahead, aside and
    up. In a direction without a stiffness a coupling holds the rider, whose multiplier is the force of
    the saddle on him, N.
    """

    ahead: Annotated[float | None, "N/m", "stiffness ahead"] = None
    ahead_damper: Annotated[float | None, "N s/m", "damping ahead"] = None
    aside: Annotated[float | None, "N/m", "stiffness sideways"] = None
    aside_damper: Annotated[float | None, "N s/m", "damping sideways"] = None
    up: Annotated[float | None, "N/m", "stiffness upwards"] = None
    up_damper: Annotated[float | None, "N s/m", "damping upwards"] = None


@dataclass(frozen=True)
class Arms:
    """Arms from the shoulders over the elbows to the grips: points (x ahead of the rear contact, y to
    the left, z up) of the left one, m; the right one is its mirror image. `upper` and `lower` are the
    masses of one upper arm and one forearm with hand, kg, thin rods both.
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
    """Legs from the hips over the knees to pedals that go round: hips (x ahead, z up) and cranks'
    axle, lengths of thigh, shank and crank, m; `upper` and `lower` are the masses of one thigh and one
    shank with foot, kg, thin rods both; `aside` is how far they are from the middle.
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
    """Bodies that are taken from the frame, those joints that hold them, and conditions on them."""

    bodies: Sequence[Body]
    joints: Sequence[Joint]
    couplings: Sequence[Coupling | Loop]


NOTHING = Parts([], [], [])


UPPER_BODY = {"zU": -1.05, "kU": 0.15, "zP": -0.75}
"""What these are if only mU is given: round numbers for some 30 kg of the benchmark's rider."""


def upper_body(
    frame: Body,
    mass: Scalar | None,
    given: Mapping[str, Scalar | None],
    torso: JointMotion | None,
    saddle: Parts,
) -> Parts:
    """Return the upper body of a mass on its hinge along x, on a saddle if there is one, with what is
    given of it by the names of whipple's parameters.
    """
    told = {name: x for name, x in given.items() if x is not None}
    if mass is None:
        if told or torso is not None or saddle.joints:
            lacking = ", ".join(told) or ("seat" if torso is None else "torso")
            raise ParameterError(f"whipple: {lacking}: these need the mass mU of an upper body.")
        return NOTHING
    if "kU" in told and "IUxx" in told:
        raise ParameterError("whipple: kU and IUxx both tell the upper body's inertia; give one.")
    values = UPPER_BODY | told
    if "IUxx" in told:
        xz = -values.get("IUxz", 0.0)
        spread = inertia(values["IUxx"], values["IUyy"], values["IUzz"], xz=xz)
    else:
        spread = mass * values["kU"] * values["kU"] * np.eye(3)
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
    return together(saddle, Parts([Body("upper_body", mass, com, spread)], [hinge], []))


def saddle(made: Seat | None, weight: Scalar) -> Parts:
    """Return the saddle under an upper body of a weight, which it carries at rest in the drawing: a
    slide in each direction, on a spring or held by a coupling.
    """
    if made is None:
        return NOTHING
    bodies: list[Body] = []
    joints: list[Joint] = []
    held: list[Coupling] = []
    for name, axis in (("ahead", (1.0, 0.0, 0.0)), ("aside", LEFT), ("up", (0.0, 0.0, 1.0))):
        stiffness, damper = getattr(made, name), getattr(made, f"{name}_damper")
        parent, slide = joints[-1].child if joints else "frame", f"seat_{name}"
        spring = {}
        if stiffness is None:
            held.append(Coupling(slide, (slide,), lambda r: r))
        else:
            rest = weight / stiffness if name == "up" else 0.0
            spring = {
                "spring": stiffness,
                "damper": 0.0 if damper is None else damper,
                "rest": rest,
            }
        joints.append(Prismatic(slide, parent, slide, axis, **spring))
        bodies.append(Body(slide))
    return Parts(bodies, joints, held)


def arms(made: Arms | None, torso: str) -> Parts:
    """Return both arms on a torso, their hands pinned to the fork."""
    if made is None:
        return NOTHING
    bodies: list[Body] = []
    joints: list[Joint] = []
    hands: list[Loop] = []
    for side, sign in SIDES.items():
        shoulder, elbow, grip = (
            array([x, sign * y, z])
            for x, y, z in (
                (made.shoulder_x, made.shoulder_y, made.shoulder_z),
                (made.elbow_x, made.elbow_y, made.elbow_z),
                (made.grip_x, made.grip_y, made.grip_z),
            )
        )
        across = cross(elbow - shoulder, grip - elbow)
        hinge = across / norm(across)
        upward = cross(hinge, elbow - shoulder)
        hub, arm, fore = f"{side}_shoulder", f"{side}_upper_arm", f"{side}_forearm"
        bodies += [Body(hub, com=shoulder), rod(arm, made.upper, shoulder, elbow)]
        bodies += [rod(fore, made.lower, elbow, grip)]
        joints += [
            Revolute(f"{side}_raise", torso, hub, hinge, shoulder),
            Revolute(f"{side}_spread", hub, arm, upward, shoulder),
            Revolute(f"{side}_elbow", arm, fore, hinge, elbow),
        ]
        hands.append(Loop(f"{side}_hand", fore, "fork", grip))
    return Parts(bodies, joints, hands)


def legs(made: Legs | None, pedalling: JointMotion | None) -> Parts:
    """Return both legs on cranks that go round as told, the left pedal ahead in the drawing."""
    if made is None:
        if pedalling is not None:
            raise ParameterError("whipple: pedalling needs legs.")
        return NOTHING
    axle, hip = array([made.axle_x, 0.0, made.axle_z]), array([made.hip_x, 0.0, made.hip_z])
    bodies: list[Body] = [Body("cranks", com=axle)]
    joints: list[Joint] = [Revolute("cranks", "frame", "cranks", LEFT, axle, motion=pedalling)]
    feet: list[Loop] = []
    for side, sign in SIDES.items():
        aside = array([0.0, sign * made.aside, 0.0])
        top, pedal = hip + aside, axle + aside + array([sign * made.crank, 0.0, 0.0])
        knee = _knee(top, pedal, made.thigh, made.shank)
        thigh, shank = f"{side}_thigh", f"{side}_shank"
        bodies += [rod(thigh, made.upper, top, knee), rod(shank, made.lower, knee, pedal)]
        joints += [
            Revolute(f"{side}_hip", "frame", thigh, LEFT, top),
            Revolute(f"{side}_knee", thigh, shank, LEFT, knee),
        ]
        feet.append(Loop(f"{side}_foot", shank, "cranks", pedal))
    return Parts(bodies, joints, feet)


def _knee(top: Array, pedal: Array, thigh: Scalar, shank: Scalar) -> Array:
    """Return the knee, ahead of the line from hip to pedal, by the law of cosines."""
    line = pedal - top
    long = norm(line)
    along = (long * long + thigh * thigh - shank * shank) / (2.0 * long)
    ahead = array([-line[2], 0.0, line[0]]) / long
    square = thigh * thigh - along * along
    return top + (along / long) * line + sqrt(square) * ahead


def rod(name: str, mass: Scalar, start: Array, end: Array) -> Body:
    """Return a thin rod from one point to another."""
    line = end - start
    spread = (mass / 12.0) * ((line @ line) * np.eye(3) - np.outer(line, line))
    return Body(name, mass, (start + end) / 2.0, spread)


def together(*parts: Parts) -> Parts:
    """Return parts of a rider as one."""
    return Parts(
        [body for part in parts for body in part.bodies],
        [joint for part in parts for joint in part.joints],
        [coupling for part in parts for coupling in part.couplings],
    )


MAX_TRIANGLE_ERROR = 0.1
"""Part of the largest principal moment by which measurement errors lift it above the sum of the others."""


def without(whole: Body, parts: Sequence[Body]) -> Body:
    """Return what is left of a body when parts of it are bodies of their own. It has its left and right
    alike, as the body has, whichever pedal is ahead.
    """
    heavy = [part for part in parts if not is_zero(part.mass)]
    if not heavy:
        return whole
    mass = whole.mass - sum(part.mass for part in heavy)
    com = (whole.mass * whole.com - sum(part.mass * part.com for part in heavy)) / mass

    def about_origin(m: Scalar, c: Array) -> Array:
        return m * ((c @ c) * np.eye(3) - np.outer(c, c))

    moments = whole.inertia + about_origin(whole.mass, whole.com)
    for part in heavy:
        moments = moments - part.inertia - about_origin(part.mass, part.com)
    moments[[0, 1, 1, 2], [1, 0, 2, 1]] = 0.0
    inertia = moments - about_origin(mass, com)
    names = ", ".join(part.name for part in heavy)
    # Measured moments may break the triangle inequality by some percent. If the remainder breaks it by
    # more, the parts do not fit into the whole.
    if inertia.dtype != object:
        a, b, c = np.linalg.eigvalsh(inertia)
        if a + b < (1.0 - MAX_TRIANGLE_ERROR) * c:
            raise ModelError(
                f"whipple: what {names} leave of the frame is no body: its principal moments {a:.6g}, "
                f"{b:.6g}, {c:.6g} kg m^2 break the triangle inequality. Use lighter parts."
            )
    try:
        return Body(whole.name, mass, com, inertia)
    except ModelError as error:
        raise ModelError(f"whipple: what {names} leave of the frame is no body: {error}") from error
