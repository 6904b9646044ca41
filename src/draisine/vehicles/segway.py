"""A two-wheeled inverted pendulum: a body on two driven wheels with one axle.

Grasser, D'Arrigo, Colombi and Rufer (2002), doi:10.1109/41.982254. Six rows of rolling, of rank
five: how the wheels share the force across is not determined; everything else is.
"""

from draisine.model import Body, Model, Output, Revolute, Wheel, inertia

MEANING = {
    "r": ("m", "radius of the wheels"),
    "w": ("m", "distance of the wheels"),
    "mB": ("kg", "mass of the body"),
    "hx": ("m", "distance of its mass centre ahead of the axle"),
    "hz": ("m", "height of its mass centre over the axle"),
    "Ixx": ("kg m2", "body, central moment of inertia xx"),
    "Iyy": ("kg m2", "body, central moment of inertia yy"),
    "Izz": ("kg m2", "body, central moment of inertia zz"),
    "Ixz": ("kg m2", "body, entry xz of the inertia tensor"),
    "mW": ("kg", "mass of each wheel"),
    "Ia": ("kg m2", "each wheel, moment of inertia about the axle"),
    "Id": ("kg m2", "each wheel, moment of inertia about a diameter"),
    "g": ("m/s2", "gravity"),
}
"""Unit and meaning of every parameter."""

SYMBOLS = {"left": r"\phi_l", "right": r"\phi_r"}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def segway(
    *,
    r: float = 0.25,
    w: float = 0.6,
    mB: float = 60.0,
    hx: float = 0.02,
    hz: float = 0.8,
    Ixx: float = 8.0,
    Iyy: float = 7.0,
    Izz: float = 1.5,
    Ixz: float = 0.1,
    mW: float = 3.0,
    Ia: float = 0.1,
    Id: float = 0.06,
    g: float = 9.81,
) -> Model:
    """Return the machine, drawn upright; torques act between wheels and body. `MEANING` tells what
    each parameter is.

    >>> segway().inputs
    ('left', 'right')
    """
    axle, middle = (0.0, 1.0, 0.0), (0.0, 0.0, r)
    hubs = {"left": (0.0, w / 2, r), "right": (0.0, -w / 2, r)}
    return Model(
        bodies=[
            Body("body", mB, (hx, 0.0, r + hz), inertia(Ixx, Iyy, Izz, xz=Ixz)),
            *(Body(side, mW, hub, inertia(Id, Ia, Id)) for side, hub in hubs.items()),
        ],
        joints=[Revolute(side, "body", side, axle, hub) for side, hub in hubs.items()],
        contacts=[Wheel(side, side, hub, axle, r) for side, hub in hubs.items()],
        gravity=(0.0, 0.0, -g),
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("body", middle),
                "m/s",
                "velocity of the axle's middle along the heading",
            )
        ],
    )
