"""Road train: a tricycle that tows trailers on two wheels each, in space, on level ground and on terrain.

Each trailer is hitched by a ball (yaw, pitch and lean relative to the towing body) or by a yaw and a pitch
joint. With balls the train is statically determinate on any ground: three wheels carry the tricycle, and the
hitch and two wheels carry each trailer. A yaw and pitch hitch also transmits the lean, so that a wheel lifts
off or the tyres deflect on uneven ground.

Off-tracking: in a steady circle the axle of a trailer of length a, hitched the distance b behind an axle on
the radius R, is on the radius sqrt(R^2 + b^2 - a^2), because the lines from the centre of the circle to both
axles are perpendicular to drawbar and towing body. `car_with_trailers` is the same train in the plane.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from draisine.algebra.scalar import Scalar
from draisine.errors import ParameterError
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.model import Body, JointMotion, Model, Revolute, Wheel, inertia
from draisine.vehicles.tricycle import tricycle

SYMBOLS = {"wheelbase": "L", "track": "w", "radius": "r", "trail": "c", "steer": r"\delta"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""

Hitch = Literal["ball", "yaw_pitch"]
"""Type of the joints between a trailer and the body that tows it."""


@dataclass(frozen=True, kw_only=True)
class Trailer:
    """Dimensions and inertias of a trailer on two wheels."""

    length: Scalar  # m, distance of the axle behind the hitch
    offset: Scalar = 0.0  # m, distance of the hitch behind the axle before it
    height: Scalar  # m, height of the hitch
    track: Scalar  # m, distance of the wheels
    radius: Scalar  # m, radius of the wheels
    mass: Scalar  # kg, without wheels
    x: Scalar = 0.0  # m, distance of the mass centre ahead of the axle
    z: Scalar  # m, height of the mass centre
    Ixx: Scalar  # kg m2, central moments of inertia without wheels
    Iyy: Scalar
    Izz: Scalar
    wheel_mass: Scalar  # kg, mass of each wheel
    Ia: Scalar  # kg m2, moment of inertia of each wheel about the axle
    Id: Scalar  # kg m2, moment of inertia of each wheel about a diameter


def add_trailers(
    model: Model,
    body: str,
    axle: tuple[Scalar, Scalar],
    trailers: Sequence[Trailer],
    *,
    hitch: Hitch = "ball",
    tyre: BrushTyre | None = None,
) -> Model:
    """Return a model in space that tows trailers, straight in the zero configuration.

    Parameters
    ----------
    model
        Towing machine: a vehicle, or a robot of `read_urdf` with its base "SE(3)".
    body
        Name of the towing body.
    axle
        Position x and height of the ground (m) below the axle from which the first `offset` counts.
    trailers
        The trailers, from front to rear.
    hitch
        "ball" for joints of yaw, pitch and lean, "yaw_pitch" without the lean.
    tyre
        Tyre of all wheels of trailers; None for rolling without slip.

    Returns
    -------
    Model
        The model with the bodies `trailer1`, ..., their joints `hitch1` (yaw), `hitch1_pitch`, `hitch1_lean`
        and `trailer1_left`, `trailer1_right`, and the contacts of their wheels.

    Raises
    ------
    ParameterError
        If the machine moves in the plane only.

    Examples
    --------
    >>> trailer = Trailer(length=1.0, height=0.3, track=0.7, radius=0.3, mass=30.0, z=0.4, Ixx=2.0, Iyy=2.0,
    ...     Izz=3.0, wheel_mass=2.0, Ia=0.1, Id=0.05)
    >>> train = add_trailers(tricycle(), "frame", (0.0, 0.0), [trailer])
    >>> [joint.name for joint in train.joints[4:]]
    ['hitch1', 'hitch1_pitch', 'hitch1_lean', 'trailer1_left', 'trailer1_right']
    """
    if model.base != "SE(3)":
        raise ParameterError(
            f"Trailers in space need a machine with the base SE(3); this one has {model.base}. In the plane "
            "use the vehicle car_with_trailers."
        )
    bodies = list(model.bodies)
    joints = list(model.joints)
    contacts = list(model.contacts)
    axle_x, ground = axle
    towing = body
    for k, trailer in enumerate(trailers, start=1):
        name = f"trailer{k}"
        pin = (axle_x - trailer.offset, 0.0, ground + trailer.height)
        axle_x = pin[0] - trailer.length
        axes = {f"hitch{k}": (0.0, 0.0, 1.0), f"hitch{k}_pitch": (0.0, 1.0, 0.0)}
        if hitch == "ball":
            axes[f"hitch{k}_lean"] = (1.0, 0.0, 0.0)
        for joint, axis in axes.items():
            # The axes of a hitch are joints of their own. The parts between them have no mass.
            is_last = joint == list(axes)[-1]
            part = name if is_last else f"{joint}_part"
            if not is_last:
                bodies.append(Body(part, 0.0, pin, inertia(0.0, 0.0, 0.0)))
            joints.append(Revolute(joint, towing, part, axis, pin))
            towing = part
        com = (axle_x + trailer.x, 0.0, ground + trailer.z)
        bodies.append(Body(name, trailer.mass, com, inertia(trailer.Ixx, trailer.Iyy, trailer.Izz)))
        for side, sign in (("left", 0.5), ("right", -0.5)):
            wheel = f"{name}_{side}"
            hub = (axle_x, sign * trailer.track, ground + trailer.radius)
            about = inertia(trailer.Id, trailer.Ia, trailer.Id)
            bodies.append(Body(wheel, trailer.wheel_mass, hub, about))
            joints.append(Revolute(wheel, name, wheel, (0.0, 1.0, 0.0), hub))
            contacts.append(Wheel(wheel, wheel, hub, (0.0, 1.0, 0.0), trailer.radius, tyre=tyre))
    return replace(model, bodies=bodies, joints=joints, contacts=contacts)


def road_train(
    *,
    wheelbase: Annotated[float, "m", "distance of the front contact ahead of the rear axle"] = 1.2,
    track: Annotated[float, "m", "distance of the wheels of an axle"] = 0.7,
    radius: Annotated[float, "m", "radius of the wheels"] = 0.3,
    trail: Annotated[
        float, "m", "distance of the front contact behind the steering axis, which is vertical"
    ] = 0.05,
    m: Annotated[float, "kg", "mass of the frame with rider"] = 80.0,
    x: Annotated[float, "m", "distance of its mass centre ahead of the rear axle"] = 0.4,
    z: Annotated[float, "m", "height of its mass centre"] = 0.8,
    Ixx: Annotated[float, "kg m2", "frame, central moment of inertia xx"] = 8.0,
    Iyy: Annotated[float, "kg m2", "frame, central moment of inertia yy"] = 9.0,
    Izz: Annotated[float, "kg m2", "frame, central moment of inertia zz"] = 3.0,
    mF: Annotated[float, "kg", "mass of the fork, over the front contact"] = 3.0,
    IF: Annotated[float, "kg m2", "fork, moment of inertia about any axis"] = 0.1,
    hitch_height: Annotated[float, "m", "height of the hitches"] = 0.3,
    mT: Annotated[float, "kg", "mass of each trailer without wheels"] = 30.0,
    xT: Annotated[float, "m", "distance of a trailer's mass centre ahead of its axle"] = 0.1,
    zT: Annotated[float, "m", "height of a trailer's mass centre"] = 0.5,
    ITxx: Annotated[float, "kg m2", "each trailer, central moment of inertia xx"] = 2.0,
    ITyy: Annotated[float, "kg m2", "each trailer, central moment of inertia yy"] = 3.0,
    ITzz: Annotated[float, "kg m2", "each trailer, central moment of inertia zz"] = 4.0,
    mW: Annotated[float, "kg", "mass of each wheel"] = 2.0,
    Ia: Annotated[float, "kg m2", "each wheel, moment of inertia about the axle"] = 0.15,
    Id: Annotated[float, "kg m2", "each wheel, moment of inertia about a diameter"] = 0.08,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    lengths: Annotated[
        tuple[float, ...], "m", "distance of each trailer's axle behind its hitch"
    ] = (1.0,),
    hitches: Annotated[
        tuple[float, ...], "m", "distance of each hitch behind the axle before it; on it by default"
    ] = (),
    hitch: Hitch = "ball",
    steering: JointMotion | None = None,
    tyre: BrushTyre | None = None,
) -> Model:
    """Return the tricycle with one trailer per entry of `lengths`, straight in the zero configuration.

    The middle of the tricycle's rear axle is above the origin. On uneven ground use a tyre, or a finite
    friction coefficient.

    >>> [contact.name for contact in road_train().contacts]
    ['left', 'right', 'front', 'trailer1_left', 'trailer1_right']
    """
    offsets = tuple(hitches) or (0.0,) * len(lengths)
    if len(offsets) != len(lengths):
        raise ParameterError(
            f"{len(lengths)} lengths and {len(offsets)} hitches: state one hitch per trailer."
        )
    trailers = [
        Trailer(
            length=length,
            offset=offset,
            height=hitch_height,
            track=track,
            radius=radius,
            mass=mT,
            x=xT,
            z=zT,
            Ixx=ITxx,
            Iyy=ITyy,
            Izz=ITzz,
            wheel_mass=mW,
            Ia=Ia,
            Id=Id,
        )
        for length, offset in zip(lengths, offsets, strict=True)
    ]
    tractor = tricycle(
        wheelbase=wheelbase,
        track=track,
        radius=radius,
        trail=trail,
        m=m,
        x=x,
        z=z,
        Ixx=Ixx,
        Iyy=Iyy,
        Izz=Izz,
        mF=mF,
        IF=IF,
        mW=mW,
        Ia=Ia,
        Id=Id,
        g=g,
        steering=steering,
    )
    if tyre is not None:
        wheels = [replace(wheel, tyre=tyre) for wheel in tractor.wheels]
        tractor = replace(tractor, contacts=wheels)
    return add_trailers(tractor, "frame", (0.0, 0.0), trailers, hitch=hitch, tyre=tyre)
