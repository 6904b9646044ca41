"""Car with a train of trailers in the plane, with one wheel or blade per axle.

The speed of the rear wheel and the steer angle determine the motion: a kinematic connection with
one passive joint per trailer. A trailer that is hitched on the preceding axle cuts corners inward;
with a hitch behind the axle it swings out (Laumond 1993, doi:10.1109/IROS.1993.583125).
"""

from typing import Annotated

from draisine.errors import ParameterError
from draisine.model import (
    Blade,
    Body,
    JointMotion,
    Model,
    Revolute,
    Wheel,
    flat_inertia,
    forward_speed,
    inertia,
)

SYMBOLS = {"wheelbase": "L", "radius": "r", "steer": r"\delta", "rolled": r"\phi"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def car_with_trailers(
    *,
    wheelbase: Annotated[float, "m", "distance of the car's axles"] = 1.2,
    radius: Annotated[float, "m", "radius of the driven rear wheel"] = 0.3,
    m: Annotated[float, "kg", "mass of the car, at the middle between its axles"] = 20.0,
    I: Annotated[float, "kg m2", "car, central moment of inertia about the vertical"] = 3.0,  # noqa: E741 - the field's name
    mF: Annotated[float, "kg", "mass of the fork, at its blade"] = 1.0,
    IF: Annotated[float, "kg m2", "fork, moment of inertia about the vertical"] = 0.02,
    Ia: Annotated[float, "kg m2", "rear wheel, moment of inertia about its axle"] = 0.05,
    mT: Annotated[float, "kg", "mass of each trailer, at its axle"] = 10.0,
    IT: Annotated[
        float, "kg m2", "each trailer, central moment of inertia about the vertical"
    ] = 1.0,
    lengths: Annotated[
        tuple[float, ...], "m", "distance of each trailer's axle behind its hitch"
    ] = (1.0, 0.9),
    hitches: Annotated[
        tuple[float, ...], "m", "distance of each hitch behind the axle before it; on it by default"
    ] = (),
    rolling: JointMotion | None = None,
    steering: JointMotion | None = None,
) -> Model:
    """Return the car with one trailer per entry of `lengths`, straight in the zero configuration.

    The rear axle of the car is at the origin.

    >>> [joint.name for joint in car_with_trailers(lengths=(1.0,) * 3).joints]
    ['rolled', 'steer', 'hitch1', 'hitch2', 'hitch3']
    """
    behind = tuple(hitches) or (0.0,) * len(lengths)
    if len(behind) != len(lengths):
        raise ParameterError(
            f"{len(lengths)} lengths and {len(behind)} hitches: state one hitch per trailer."
        )
    ahead = (1.0, 0.0, 0.0)
    up = (0.0, 0.0, 1.0)
    axle = (0.0, 1.0, 0.0)
    hub = (0.0, 0.0, radius)
    fork = (wheelbase, 0.0, 0.0)
    bodies = [
        Body("car", m, (wheelbase / 2, 0.0, 0.0), flat_inertia(I)),
        Body("wheel", 0.0, hub, inertia(Ia / 2, Ia, Ia / 2)),
        Body("fork", mF, fork, flat_inertia(IF)),
    ]
    joints = [
        Revolute("rolled", "car", "wheel", axle, hub, motion=rolling),
        Revolute("steer", "car", "fork", up, fork, motion=steering),
    ]
    contacts: list[Wheel | Blade] = [
        Wheel("rear", "wheel", hub, axle, radius, lifts=False),
        Blade("front", "fork", fork, ahead),
    ]
    axle_x = 0.0
    towing = "car"
    for k, (length, hitch) in enumerate(zip(lengths, behind, strict=True), start=1):
        name = f"trailer{k}"
        pin = axle_x - hitch
        axle_x = pin - length
        bodies.append(Body(name, mT, (axle_x, 0.0, 0.0), flat_inertia(IT)))
        joints.append(Revolute(f"hitch{k}", towing, name, up, (pin, 0.0, 0.0)))
        contacts.append(Blade(f"axle{k}", name, (axle_x, 0.0, 0.0), ahead))
        towing = name
    return Model(
        bodies=bodies,
        joints=joints,
        contacts=contacts,
        base="SE(2)",
        outputs=[
            forward_speed("car", (0.0, 0.0, 0.0), "velocity of the rear axle along the heading")
        ],
    )
