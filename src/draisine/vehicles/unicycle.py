"""Robot unicycle: a wheel, a frame with the mass of the rider, and a turntable that yaws the
vehicle.

The torque at the hub balances the vehicle fore and aft; the torque of the turntable yaws it into
the direction in which it falls. Upright equilibrium is unstable in both directions.
"""

from typing import Annotated

from draisine.model import (
    Body,
    Force,
    Model,
    Revolute,
    Wheel,
    forward_speed,
    inertia,
    round_surface,
)

SYMBOLS = {
    "crown": "r_t",
    "wheel": r"\chi",
    "turntable": r"\delta",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def unicycle(
    *,
    rW: Annotated[float, "m", "radius of the wheel"] = 0.25,
    mW: Annotated[float, "kg", "mass of the wheel"] = 2.0,
    IWxx: Annotated[float, "kg m2", "wheel, moment of inertia about a diameter"] = 0.05,
    IWyy: Annotated[float, "kg m2", "wheel, moment of inertia about the axle"] = 0.1,
    hF: Annotated[float, "m", "height of the frame's mass centre over the hub"] = 0.5,
    mF: Annotated[float, "kg", "mass of the frame with saddle and rider"] = 12.0,
    IFxx: Annotated[float, "kg m2", "frame, central moment of inertia xx"] = 0.9,
    IFyy: Annotated[float, "kg m2", "frame, central moment of inertia yy"] = 0.8,
    IFzz: Annotated[float, "kg m2", "frame, central moment of inertia zz"] = 0.2,
    IFxz: Annotated[float, "kg m2", "frame, entry xz of the inertia tensor"] = 0.03,
    xT: Annotated[float, "m", "turntable, distance of its axis ahead of the hub"] = 0.02,
    hT: Annotated[float, "m", "height of the turntable over the hub"] = 0.8,
    mT: Annotated[float, "kg", "mass of the turntable"] = 4.0,
    ITxx: Annotated[float, "kg m2", "turntable, moment of inertia about a diameter"] = 0.06,
    ITzz: Annotated[float, "kg m2", "turntable, moment of inertia about its axis"] = 0.12,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    crown: Annotated[
        float | None, "m", "radius of the tyre's cross section, part of the wheel's radius"
    ] = None,
) -> Model:
    """Return the unicycle, upright in the zero configuration, with a push at its saddle as an
    input.

    >>> unicycle().inputs
    ('wheel', 'turntable', 'push.x', 'push.y', 'push.z')
    """
    hub = (0.0, 0.0, rW)
    left = (0.0, 1.0, 0.0)
    up = (0.0, 0.0, 1.0)
    saddle = (0.0, 0.0, rW + hF)
    table = (xT, 0.0, rW + hT)
    return Model(
        bodies=[
            Body("frame", mF, saddle, inertia(IFxx, IFyy, IFzz, xz=IFxz)),
            Body("wheel", mW, hub, inertia(IWxx, IWyy, IWxx)),
            Body("turntable", mT, table, inertia(ITxx, ITxx, ITzz)),
        ],
        joints=[
            Revolute("wheel", "frame", "wheel", left, hub),
            Revolute("turntable", "frame", "turntable", up, table),
        ],
        contacts=[Wheel("ground", "wheel", hub, left, round_surface(rW, crown))],
        forces=[Force("push", "frame", saddle)],
        gravity=(0.0, 0.0, -g),
        outputs=[forward_speed("frame", hub, "velocity of the hub along the heading")],
    )
