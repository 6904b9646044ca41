"""A tricycle: a frame on two rear wheels with one axle, and a steered front wheel.

It stands by itself; of nine rows of rolling eight are independent. Steering and speed are its two
freedoms.
"""

from draisine.model import Body, JointMotion, Model, Output, Revolute, Wheel, inertia

MEANING = {
    "wheelbase": ("m", "distance of the front contact ahead of the rear axle"),
    "track": ("m", "distance of the rear wheels"),
    "radius": ("m", "radius of the wheels"),
    "trail": ("m", "distance of the front contact behind the steering axis, which is vertical"),
    "m": ("kg", "mass of the frame with rider"),
    "x": ("m", "distance of its mass centre ahead of the rear axle"),
    "z": ("m", "height of its mass centre"),
    "Ixx": ("kg m2", "frame, central moment of inertia xx"),
    "Iyy": ("kg m2", "frame, central moment of inertia yy"),
    "Izz": ("kg m2", "frame, central moment of inertia zz"),
    "mF": ("kg", "mass of the fork, over the front contact"),
    "IF": ("kg m2", "fork, moment of inertia about any axis"),
    "mW": ("kg", "mass of each wheel"),
    "Ia": ("kg m2", "each wheel, moment of inertia about the axle"),
    "Id": ("kg m2", "each wheel, moment of inertia about a diameter"),
    "g": ("m/s2", "gravity"),
}
"""Unit and meaning of every parameter."""

SYMBOLS = {"wheelbase": "L", "track": "w", "radius": "r", "trail": "c", "steer": r"\delta"}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def tricycle(
    *,
    wheelbase: float = 1.2,
    track: float = 0.7,
    radius: float = 0.3,
    trail: float = 0.05,
    m: float = 80.0,
    x: float = 0.4,
    z: float = 0.8,
    Ixx: float = 8.0,
    Iyy: float = 9.0,
    Izz: float = 3.0,
    mF: float = 3.0,
    IF: float = 0.1,
    mW: float = 2.0,
    Ia: float = 0.15,
    Id: float = 0.08,
    g: float = 9.81,
    steering: JointMotion | None = None,
) -> Model:
    """Return the tricycle, drawn straight with the middle of its rear axle over the origin; it is
    steered by a torque, or by a prescribed motion. `MEANING` tells what each parameter is.

    >>> len(tricycle().joints)
    4
    """
    axle, up, middle = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, radius)
    hubs = {
        "left": (0.0, track / 2, radius),
        "right": (0.0, -track / 2, radius),
        "front": (wheelbase, 0.0, radius),
    }
    carrier = {"left": "frame", "right": "frame", "front": "fork"}
    return Model(
        bodies=[
            Body("frame", m, (x, 0.0, z), inertia(Ixx, Iyy, Izz)),
            Body("fork", mF, hubs["front"], inertia(IF, IF, IF)),
            *(Body(name, mW, hub, inertia(Id, Ia, Id)) for name, hub in hubs.items()),
        ],
        joints=[
            Revolute("steer", "frame", "fork", up, (wheelbase + trail, 0.0, 0.0), motion=steering),
            *(Revolute(name, carrier[name], name, axle, hub) for name, hub in hubs.items()),
        ],
        contacts=[Wheel(name, name, hub, axle, radius) for name, hub in hubs.items()],
        gravity=(0.0, 0.0, -g),
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("frame", middle),
                "m/s",
                "velocity of the rear axle's middle along the heading",
            )
        ],
    )
