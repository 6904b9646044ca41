"""The Whipple bicycle: frame with rider, fork with handlebar, two wheels that roll without
slipping.

Parameters are those of Meijaard, Papadopoulos, Ruina and Schwab (2007), doi:10.1098/rspa.2007.1857,
in their axes: x forward, y right, z down, origin at the rear contact. The zero configuration of the
model has x forward, y left, z up; steer and yaw are positive to the left, lean to the right, pitch
nose down, and the wheels' angles grow rolling forward.
"""

import math
import warnings
from typing import Annotated, Any

from draisine.algebra.scalar import array, cos, sin
from draisine.errors import ParameterError
from draisine.model import (
    Body,
    JointMotion,
    Model,
    Revolute,
    Tyre,
    Wheel,
    inertia,
    round_surface,
)
from draisine.vehicles._annotations import meanings
from draisine.vehicles.bicycle import _rider
from draisine.vehicles.bicycle._flexible import (
    Flexible,
    make_front_joints,
    make_rear_joints,
    make_steer_friction,
    make_steering_head,
    or_zero,
)
from draisine.vehicles.bicycle._outputs import outputs
from draisine.vehicles.bicycle._rider import Arms, Legs, Seat
from draisine.vehicles.bicycle._stance import Stance, make_rider_on_pedals
from draisine.vehicles.bicycle._thesis import THESIS_FORM

SYMBOLS = {
    "crown": "r_t",
    "slope": r"\alpha",
    "steer": r"\delta",
    "rear_wheel": r"\theta_R",
    "front_wheel": r"\theta_F",
    "torso": r"\beta",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""

FORMS = {"thesis": THESIS_FORM}
"""Other notations for printed equations, by name."""


def whipple(
    *,
    w: Annotated[float, "m", "wheelbase"] = 1.02,
    c: Annotated[float, "m", "trail"] = 0.08,
    lam: Annotated[
        float, "rad", "tilt of the steer axis from the vertical, top backwards"
    ] = math.pi / 10,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    rR: Annotated[float, "m", "radius of the rear wheel"] = 0.3,
    mR: Annotated[float, "kg", "mass of the rear wheel"] = 2.0,
    IRxx: Annotated[float, "kg m2", "rear wheel, moment of inertia about a diameter"] = 0.0603,
    IRyy: Annotated[float, "kg m2", "rear wheel, moment of inertia about the axle"] = 0.12,
    xB: Annotated[float, "m", "frame with rider, mass centre, x"] = 0.3,
    zB: Annotated[float, "m", "frame with rider, mass centre, z (down, so negative)"] = -0.9,
    mB: Annotated[float, "kg", "frame with rider, mass"] = 85.0,
    IBxx: Annotated[float, "kg m2", "frame with rider, central moment of inertia xx"] = 9.2,
    IByy: Annotated[float, "kg m2", "frame with rider, central moment of inertia yy"] = 11.0,
    IBzz: Annotated[float, "kg m2", "frame with rider, central moment of inertia zz"] = 2.8,
    IBxz: Annotated[float, "kg m2", "frame with rider, entry xz of the inertia tensor"] = 2.4,
    xH: Annotated[float, "m", "fork with handlebar, mass centre, x"] = 0.9,
    zH: Annotated[float, "m", "fork with handlebar, mass centre, z (down, so negative)"] = -0.7,
    mH: Annotated[float, "kg", "fork with handlebar, mass"] = 4.0,
    IHxx: Annotated[float, "kg m2", "fork with handlebar, central moment of inertia xx"] = 0.05892,
    IHyy: Annotated[float, "kg m2", "fork with handlebar, central moment of inertia yy"] = 0.06,
    IHzz: Annotated[float, "kg m2", "fork with handlebar, central moment of inertia zz"] = 0.00708,
    IHxz: Annotated[
        float, "kg m2", "fork with handlebar, entry xz of the inertia tensor"
    ] = -0.00756,
    rF: Annotated[float, "m", "radius of the front wheel"] = 0.35,
    mF: Annotated[float, "kg", "mass of the front wheel"] = 3.0,
    IFxx: Annotated[float, "kg m2", "front wheel, moment of inertia about a diameter"] = 0.1405,
    IFyy: Annotated[float, "kg m2", "front wheel, moment of inertia about the axle"] = 0.28,
    slope: Annotated[float | None, "rad", "inclination of the ground, rising along world x"] = None,
    crown: Annotated[
        float | None, "m", "radius of the tyres' cross sections, part of the wheel radii"
    ] = None,
    mU: Annotated[
        float | None,
        "kg",
        "mass of the rider's upper body, part of mB; the body then leans by a joint `torso`",
    ] = None,
    zU: Annotated[
        float | None,
        "m",
        "upper body, mass centre, z (down, so negative), straight above that of the frame",
    ] = None,
    kU: Annotated[float | None, "m", "upper body, radius of gyration about its mass centre"] = None,
    zP: Annotated[
        float | None, "m", "height of the hinge of the upper body, z (down, so negative)"
    ] = None,
    xU: Annotated[
        float | None, "m", "upper body, mass centre, x; above that of the frame if not given"
    ] = None,
    IUxx: Annotated[
        float | None, "kg m2", "upper body, central moment of inertia xx; all three in place of kU"
    ] = None,
    IUyy: Annotated[float | None, "kg m2", "upper body, central moment of inertia yy"] = None,
    IUzz: Annotated[float | None, "kg m2", "upper body, central moment of inertia zz"] = None,
    IUxz: Annotated[float | None, "kg m2", "upper body, entry xz of the inertia tensor"] = None,
    torso_spring: Annotated[float | None, "N m/rad", "spring of the upper body's hinge"] = None,
    torso_damper: Annotated[float | None, "N m s/rad", "damper of the upper body's hinge"] = None,
    torso: Annotated[JointMotion | None, "", "prescribed motion of the upper body's hinge"] = None,
    seat: Annotated[Seat | None, "", "saddle under the upper body"] = None,
    steering: Annotated[JointMotion | None, "", "prescribed motion of the steer angle"] = None,
    arms: Annotated[Arms | None, "", "arms that hold the bar"] = None,
    legs: Annotated[Legs | None, "", "legs that turn the cranks"] = None,
    pedalling: Annotated[JointMotion | None, "", "prescribed motion of the cranks"] = None,
    stance: Annotated[
        Stance | None, "", "rider who stands on the pedals and moves in the plane of the frame"
    ] = None,
    rear_tyre: Annotated[
        Tyre | None, "", "law of the rear tyre, in place of rolling without slip"
    ] = None,
    front_tyre: Annotated[
        Tyre | None, "", "law of the front tyre, in place of rolling without slip"
    ] = None,
    flexible: Annotated[
        Flexible | None, "", "compliant parts: fork, frame, suspension, steering"
    ] = None,
) -> Model:
    """Return the model of the Whipple bicycle.

    The world frame is fixed to the ground: on a slope, gravity is tilted. Wheels are knife-edge
    discs, or torus tyres with a `crown` radius.

    With a mass mU, the upper body of the rider leans about a hinge along x, positive to the right:
    with a spring and a damper, by a torque, or by the prescribed motion `torso`. A motionless upper
    body does not change the dynamics. A `seat` models a compliant saddle and reports its forces.
    `steering` prescribes the steer angle, `arms` hold the handlebar, `legs` turn cranks by the
    motion `pedalling`. A `stance` is a rider who stands on the pedals: the joints `legs`, `hips` and
    `arms` move him in the plane of the frame, as a law such as `posture` guides them. `rear_tyre` and
    `front_tyre` replace ideal rolling by tyre models, and `flexible` has compliant parts.

    >>> model = whipple(mB=90.0)
    >>> [joint.name for joint in model.joints]
    ['steer', 'rear_wheel', 'front_wheel']
    """
    _check_geometry(w=w, c=c, lam=lam, rR=rR, rF=rF, slope=slope)
    _warn_of_low_mass_centres(zB=zB, zH=zH)
    up = (-sin(lam), 0.0, cos(lam))
    left = (0.0, 1.0, 0.0)
    rear = (0.0, 0.0, rR)
    front = (w, 0.0, rF)
    fall = (0.0, 0.0, -g) if slope is None else (-g * sin(slope), 0.0, -g * cos(slope))
    frame = Body("frame", mB, (xB, 0.0, -zB), inertia(IBxx, IByy, IBzz, xz=-IBxz))
    upper = {"xU": xU, "zU": zU, "kU": kU, "zP": zP}
    upper |= {"IUxx": IUxx, "IUyy": IUyy, "IUzz": IUzz, "IUxz": IUxz}
    upper |= {"torso_spring": torso_spring, "torso_damper": torso_damper}
    saddle = _rider.make_saddle(seat, 0.0 if mU is None else mU * g)
    rider = _rider.join_parts(
        _rider.make_upper_body(frame, mU, upper, torso, saddle),
        _rider.make_arms(arms, "frame" if mU is None else "upper_body"),
        _rider.make_legs(legs, pedalling),
        make_rider_on_pedals(stance, {"mU": mU, "seat": seat, "arms": arms, "legs": legs}),
    )
    compliance = Flexible() if flexible is None else flexible
    # Static load of the front springs, from the moment balance about the rear contact. The ground,
    # not the springs, supports the weight of the wheels.
    load = g * (mB * xB + mH * xH) / w
    crown_point, head_point = (_steer_axis_point(h, w, c, lam) for h in (2.0 * rF * cos(lam), -zH))
    head = make_steering_head(compliance, lam, head_point)
    forward = make_front_joints(compliance, lam, crown_point, load * cos(lam))
    backward = make_rear_joints(compliance, array(list(rear)), g * (mB + mH) - load)
    return Model(
        bodies=[
            _rider.subtract_parts(frame, rider.bodies),
            Body("fork", mH, (xH, 0.0, -zH), inertia(IHxx, IHyy, IHzz, xz=-IHxz)),
            Body("rear_wheel", mR, rear, inertia(IRxx, IRyy, IRxx)),
            Body("front_wheel", mF, front, inertia(IFxx, IFyy, IFxx)),
            *rider.bodies,
            *(body for side in (head, forward, backward) for body in side.bodies),
        ],
        joints=[
            Revolute(
                "steer",
                head.carrier,
                "fork",
                up,
                (w + c, 0.0, 0.0),
                spring=or_zero(compliance.steer_spring),
                damper=or_zero(compliance.steer_damper),
                motion=steering,
            ),
            Revolute("rear_wheel", backward.carrier, "rear_wheel", left, rear),
            Revolute("front_wheel", forward.carrier, "front_wheel", left, front),
            *rider.joints,
            *(joint for side in (head, forward, backward) for joint in side.joints),
        ],
        contacts=[
            Wheel("rear", "rear_wheel", rear, left, round_surface(rR, crown), tyre=rear_tyre),
            Wheel("front", "front_wheel", front, left, round_surface(rF, crown), tyre=front_tyre),
        ],
        forces=make_steer_friction(compliance),
        gravity=fall,
        outputs=outputs(rear, backward.carrier, rR, lam),
        couplings=rider.couplings,
    )


def _warn_of_low_mass_centres(**z: Any) -> None:
    """Warn about mass centres below the ground: the z axis points down, so a sign is probably
    wrong.
    """
    for name, value in z.items():
        if isinstance(value, (int, float)) and value > 0.0:
            warnings.warn(
                f"whipple: {name} = {value:g} m puts a mass centre below the ground. z counts down: use "
                f"{name} = -{value:g} for a point above it.",
                UserWarning,
                stacklevel=3,
            )


def _steer_axis_point(height: Any, wheelbase: Any, trail: Any, tilt: Any) -> Any:
    """Return the point (3,) of the steer axis at a height (m)."""
    return array([wheelbase + trail - height * sin(tilt) / cos(tilt), 0.0, height])


def _check_geometry(*, w: Any, c: Any, lam: Any, rR: Any, rF: Any, slope: Any) -> None:
    """Raise `ParameterError` for infeasible geometry; warn about unusual geometry."""
    if not all(isinstance(x, (int, float)) for x in (w, c, lam, rR, rF)):
        return
    for name, value in (("w", w), ("rR", rR), ("rF", rF)):
        if not value > 0:
            raise ParameterError(
                f"whipple: {name} = {value:g} m must be positive ({meanings(whipple)[name][1]})."
            )
    if not abs(lam) < math.pi / 2:
        raise ParameterError(
            f"whipple: lam = {lam:g} rad; the tilt of the steer axis must be below 90 degrees."
        )
    offset = rF * math.sin(lam) - c * math.cos(lam)
    if abs(offset) > rF:
        warnings.warn(
            f"whipple: with c = {c:g} m and lam = {lam:g} rad the steer axis passes "
            f"{abs(offset):.3g} m from the front hub, beyond the wheel of radius {rF:g} m.",
            UserWarning,
            stacklevel=3,
        )
    if isinstance(slope, (int, float)) and not abs(slope) < math.pi / 2:
        raise ParameterError(f"whipple: slope = {slope:g} rad; the slope must be below 90 degrees.")
