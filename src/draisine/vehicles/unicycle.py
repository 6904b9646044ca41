"""A robot unicycle: a wheel, a frame with the rider's weight on its hub, and a turntable that turns
the machine about the vertical.

The hub's torque balances it fore and aft; the turntable's torque yaws it into the direction in
which it falls. Upright it is unstable both ways.
"""

from draisine.model import Body, Force, Model, Output, Revolute, Wheel, inertia, round_surface

MEANING = {
    "rW": ("m", "radius of the wheel"),
    "mW": ("kg", "mass of the wheel"),
    "IWxx": ("kg m2", "wheel, moment of inertia about a diameter"),
    "IWyy": ("kg m2", "wheel, moment of inertia about the axle"),
    "hF": ("m", "height of the frame's mass centre over the hub"),
    "mF": ("kg", "mass of the frame with saddle and rider"),
    "IFxx": ("kg m2", "frame, central moment of inertia xx"),
    "IFyy": ("kg m2", "frame, central moment of inertia yy"),
    "IFzz": ("kg m2", "frame, central moment of inertia zz"),
    "IFxz": ("kg m2", "frame, entry xz of the inertia tensor"),
    "xT": ("m", "turntable, distance of its axis ahead of the hub"),
    "hT": ("m", "height of the turntable over the hub"),
    "mT": ("kg", "mass of the turntable"),
    "ITxx": ("kg m2", "turntable, moment of inertia about a diameter"),
    "ITzz": ("kg m2", "turntable, moment of inertia about its axis"),
    "g": ("m/s2", "gravity"),
    "crown": ("m", "radius of the tyre's cross section, part of the wheel's radius"),
}
"""Unit and meaning of every parameter."""

SYMBOLS = {
    "crown": "r_t",
    "wheel": r"\chi",
    "turntable": r"\delta",
}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def unicycle(
    *,
    rW: float = 0.25,
    mW: float = 2.0,
    IWxx: float = 0.05,
    IWyy: float = 0.1,
    hF: float = 0.5,
    mF: float = 12.0,
    IFxx: float = 0.9,
    IFyy: float = 0.8,
    IFzz: float = 0.2,
    IFxz: float = 0.03,
    xT: float = 0.02,
    hT: float = 0.8,
    mT: float = 4.0,
    ITxx: float = 0.06,
    ITzz: float = 0.12,
    g: float = 9.81,
    crown: float | None = None,
) -> Model:
    """Return the unicycle, drawn upright, with a push at its saddle as an input; `MEANING` tells
    what each parameter is.

    >>> unicycle().inputs
    ('wheel', 'turntable', 'push.x', 'push.y', 'push.z')
    """
    hub, left, up = (0.0, 0.0, rW), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    saddle, table = (0.0, 0.0, rW + hF), (xT, 0.0, rW + hT)
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
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("frame", hub),
                "m/s",
                "velocity of the hub along the heading",
            ),
        ],
    )
