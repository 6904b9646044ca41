"""The Whipple bicycle: frame with rider, fork with handlebar, two wheels that roll without
slipping.

Parameters are those of Meijaard, Papadopoulos, Ruina and Schwab (2007), doi:10.1098/rspa.2007.1857,
in their axes: x forward, y right, z down, origin at the rear contact. The drawing has x forward, y
left, z up; steer and yaw are positive to the left, lean to the right, pitch nose down, and the
wheels' angles grow rolling forward.
"""

import math
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array, Scalar, atan2, cos, sin, sqrt
from draisine.errors import ParameterError
from draisine.model import Body, JointMotion, Model, Output, Revolute, Wheel, inertia, round_surface
from draisine.vehicles.bicycle._thesis import THESIS

MEANING = {
    "w": ("m", "wheelbase"),
    "c": ("m", "trail"),
    "lam": ("rad", "tilt of the steer axis from the vertical, top backwards"),
    "g": ("m/s2", "gravity"),
    "rR": ("m", "radius of the rear wheel"),
    "mR": ("kg", "mass of the rear wheel"),
    "IRxx": ("kg m2", "rear wheel, moment of inertia about a diameter"),
    "IRyy": ("kg m2", "rear wheel, moment of inertia about the axle"),
    "xB": ("m", "frame with rider, mass centre, x"),
    "zB": ("m", "frame with rider, mass centre, z (down, so negative)"),
    "mB": ("kg", "frame with rider, mass"),
    "IBxx": ("kg m2", "frame with rider, central moment of inertia xx"),
    "IByy": ("kg m2", "frame with rider, central moment of inertia yy"),
    "IBzz": ("kg m2", "frame with rider, central moment of inertia zz"),
    "IBxz": ("kg m2", "frame with rider, entry xz of the inertia tensor"),
    "xH": ("m", "fork with handlebar, mass centre, x"),
    "zH": ("m", "fork with handlebar, mass centre, z (down, so negative)"),
    "mH": ("kg", "fork with handlebar, mass"),
    "IHxx": ("kg m2", "fork with handlebar, central moment of inertia xx"),
    "IHyy": ("kg m2", "fork with handlebar, central moment of inertia yy"),
    "IHzz": ("kg m2", "fork with handlebar, central moment of inertia zz"),
    "IHxz": ("kg m2", "fork with handlebar, entry xz of the inertia tensor"),
    "rF": ("m", "radius of the front wheel"),
    "mF": ("kg", "mass of the front wheel"),
    "IFxx": ("kg m2", "front wheel, moment of inertia about a diameter"),
    "IFyy": ("kg m2", "front wheel, moment of inertia about the axle"),
    "slope": ("rad", "inclination of the ground, rising along world x"),
    "crown": ("m", "radius of the tyres' cross sections, part of the wheel radii"),
    "mU": (
        "kg",
        "mass of the rider's upper body, part of mB; the body then leans by a joint `torso`",
    ),
    "zU": ("m", "upper body, mass centre, z (down, so negative), straight above that of the frame"),
    "kU": ("m", "upper body, radius of gyration about its mass centre"),
    "zP": ("m", "height of the hinge of the upper body, z (down, so negative)"),
}
"""Unit and meaning of every parameter."""

SYMBOLS = {
    "crown": "r_t",
    "slope": r"\alpha",
    "steer": r"\delta",
    "rear_wheel": r"\theta_R",
    "front_wheel": r"\theta_F",
    "torso": r"\beta",
}
"""How people write parameters and joints, in LaTeX; the others by rule."""

FORMS = {"thesis": THESIS}
"""Other parametrisations to write the bicycle in."""

UPPER_BODY = (-1.05, 0.15, -0.75)
"""What zU, kU and zP are if only mU is given: round numbers for some 30 kg of the benchmark's rider."""


def whipple(
    *,
    w: float = 1.02,
    c: float = 0.08,
    lam: float = math.pi / 10,
    g: float = 9.81,
    rR: float = 0.3,
    mR: float = 2.0,
    IRxx: float = 0.0603,
    IRyy: float = 0.12,
    xB: float = 0.3,
    zB: float = -0.9,
    mB: float = 85.0,
    IBxx: float = 9.2,
    IByy: float = 11.0,
    IBzz: float = 2.8,
    IBxz: float = 2.4,
    xH: float = 0.9,
    zH: float = -0.7,
    mH: float = 4.0,
    IHxx: float = 0.05892,
    IHyy: float = 0.06,
    IHzz: float = 0.00708,
    IHxz: float = -0.00756,
    rF: float = 0.35,
    mF: float = 3.0,
    IFxx: float = 0.1405,
    IFyy: float = 0.28,
    slope: float | None = None,
    crown: float | None = None,
    mU: float | None = None,
    zU: float | None = None,
    kU: float | None = None,
    zP: float | None = None,
    torso: JointMotion | None = None,
    steering: JointMotion | None = None,
) -> Model:
    """Return the bicycle; `MEANING` tells what each parameter is.

    The world's frame is that of the ground: on a slope, gravity is tilted. Wheels are knife-edged
    discs, or torus tyres where a crown radius is given. With a mass mU the rider's upper body leans
    about a hinge along x, positive to the right: by a torque, or guided by the motion `torso`. Held
    upright it changes nothing. The motion `steering` guides the steer angle.

    >>> model = whipple(mB=90.0)
    >>> [joint.name for joint in model.joints]
    ['steer', 'rear_wheel', 'front_wheel']
    """
    _check(w=w, c=c, lam=lam, rR=rR, rF=rF, slope=slope)
    up = (-sin(lam), 0.0, cos(lam))
    left = (0.0, 1.0, 0.0)
    rear, front = (0.0, 0.0, rR), (w, 0.0, rF)
    fall = (0.0, 0.0, -g) if slope is None else (-g * sin(slope), 0.0, -g * cos(slope))
    frame = Body("frame", mB, (xB, 0.0, -zB), inertia(IBxx, IByy, IBzz, xz=-IBxz))
    riders, hinges = [], []
    if mU is not None:
        high, wide, hinge = (
            given if given is not None else usual
            for given, usual in zip((zU, kU, zP), UPPER_BODY, strict=True)
        )
        upper = Body("upper_body", mU, (xB, 0.0, -high), mU * wide * wide * np.eye(3))
        frame, riders = _without(frame, upper), [upper]
        ahead = (1.0, 0.0, 0.0)
        hinges = [Revolute("torso", "frame", "upper_body", ahead, (0.0, 0.0, -hinge), motion=torso)]
    elif any(x is not None for x in (zU, kU, zP, torso)):
        raise ParameterError("whipple: zU, kU, zP and torso need the mass mU of an upper body.")
    return Model(
        bodies=[
            frame,
            Body("fork", mH, (xH, 0.0, -zH), inertia(IHxx, IHyy, IHzz, xz=-IHxz)),
            Body("rear_wheel", mR, rear, inertia(IRxx, IRyy, IRxx)),
            Body("front_wheel", mF, front, inertia(IFxx, IFyy, IFxx)),
            *riders,
        ],
        joints=[
            Revolute("steer", "frame", "fork", up, (w + c, 0.0, 0.0), motion=steering),
            Revolute("rear_wheel", "frame", "rear_wheel", left, rear),
            Revolute("front_wheel", "fork", "front_wheel", left, front),
            *hinges,
        ],
        contacts=[
            Wheel("rear", "rear_wheel", rear, left, round_surface(rR, crown)),
            Wheel("front", "front_wheel", front, left, round_surface(rF, crown)),
        ],
        gravity=fall,
        outputs=_outputs(rear, rR, lam),
    )


def _without(whole: Body, part: Body) -> Body:
    """Return what is left of a body when a part of it is a body of its own."""
    mass = whole.mass - part.mass
    com = (whole.mass * whole.com - part.mass * part.com) / mass

    def about_origin(m: Scalar, c: Array) -> Array:
        return m * ((c @ c) * np.eye(3) - np.outer(c, c))

    moments = whole.inertia + about_origin(whole.mass, whole.com) - part.inertia
    left = moments - about_origin(part.mass, part.com) - about_origin(mass, com)
    return Body(whole.name, mass, com, left)


def _check(*, w: Any, c: Any, lam: Any, rR: Any, rF: Any, slope: Any) -> None:
    """Raise where numbers describe no bicycle."""
    if not all(isinstance(x, (int, float)) for x in (w, c, lam, rR, rF)):
        return
    for name, value in (("w", w), ("rR", rR), ("rF", rF)):
        if not value > 0:
            raise ParameterError(
                f"whipple: {name} = {value:g} m must be positive ({MEANING[name][1]})."
            )
    if not abs(lam) < math.pi / 2:
        raise ParameterError(
            f"whipple: lam = {lam:g} rad; the steer axis must lean less than a quarter turn."
        )
    offset = rF * math.sin(lam) - c * math.cos(lam)
    if abs(offset) > rF:
        raise ParameterError(
            f"whipple: with c = {c:g} m and lam = {lam:g} rad the steer axis passes "
            f"{abs(offset):.3g} m from the front hub, beyond the wheel of radius {rF:g} m."
        )
    if isinstance(slope, (int, float)) and not abs(slope) < math.pi / 2:
        raise ParameterError(f"whipple: slope = {slope:g} rad is no ground to ride on.")


def _outputs(rear: Any, rR: Scalar, lam: Scalar) -> list[Output]:
    """Return what people ask of a bicycle; contact angles after (2.20)-(2.23) of the thesis, free
    of jumps when upright.
    """

    def front_axes(readings: Any) -> tuple[Scalar, Scalar, Scalar]:
        """The ground's normal along the fork's wheel-plane axes and along the front axle."""
        x, y, z = readings.rotation[2, :]
        cr, sr = cos(readings.joint("steer")), sin(readings.joint("steer"))
        ahead, along = z * sin(lam) + x * cos(lam), z * cos(lam) - x * sin(lam)
        return cr * ahead + sr * y, along, cr * y - sr * ahead

    def front_contact(readings: Any) -> Scalar:
        ahead, along, _ = front_axes(readings)
        turned = (ahead * cos(lam) - along * sin(lam), along * cos(lam) + ahead * sin(lam))
        return atan2(*turned)

    def front_lean(readings: Any) -> Scalar:
        ahead, along, side = front_axes(readings)
        return atan2(side, sqrt(ahead * ahead + along * along))

    def beta(readings: Any) -> Scalar:
        line, heading = readings.contact("front") - readings.contact("rear"), readings.heading
        cross = heading[0] * line[1] - heading[1] * line[0]
        return atan2(cross, heading[0] * line[0] + heading[1] * line[1])

    def rear_contact(readings: Any) -> Scalar:
        return atan2(readings.rotation[2, 0], readings.rotation[2, 2])

    return [
        Output(
            "forward_speed",
            lambda readings: readings.heading @ readings.velocity("frame", rear),
            "m/s",
            "velocity of the rear hub along the heading",
        ),
        Output(
            "rear_wheel_speed",
            lambda readings: rR * readings.rate("rear_wheel"),
            "m/s",
            "rear radius times the rear wheel's rate",
        ),
        Output("front_lean", front_lean, "rad", "lean of the front wheel, positive to the right"),
        Output(
            "rear_contact_angle",
            rear_contact,
            "rad",
            "how far the contact wandered along the rear tyre, backward positive (alpha0 - pi)",
        ),
        Output(
            "front_contact_angle",
            front_contact,
            "rad",
            "how far the contact wandered along the front tyre, backward positive (alpha1 - pi - lam)",
        ),
        Output(
            "beta",
            beta,
            "rad",
            "from the rear wheel's heading to the line of contacts, left positive",
        ),
    ]
