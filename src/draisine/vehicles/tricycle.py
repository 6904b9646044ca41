"""Tricycle: a frame on two rear wheels with a common axle, and a steered front wheel.

It is statically stable; eight of its nine rolling constraints are independent. Its two degrees of
freedom are steering and speed.
"""

from typing import Annotated

from draisine.model import Body, JointMotion, Model, Revolute, Wheel, forward_speed, inertia

SYMBOLS = {"wheelbase": "L", "track": "w", "radius": "r", "trail": "c", "steer": r"\delta"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def tricycle(
    *,
    wheelbase: Annotated[float, "m", "distance of the front contact ahead of the rear axle"] = 1.2,
    track: Annotated[float, "m", "distance of the rear wheels"] = 0.7,
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
    mW: Annotated[float, "kg", "mass of each wheel"] = 2.0,
    Ia: Annotated[float, "kg m2", "each wheel, moment of inertia about the axle"] = 0.15,
    Id: Annotated[float, "kg m2", "each wheel, moment of inertia about a diameter"] = 0.08,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    steering: JointMotion | None = None,
) -> Model:
    """Return the tricycle, straight in the zero configuration with the middle of its rear axle
    above the origin.

    It is steered by a torque, or by a prescribed motion.

    >>> len(tricycle().joints)
    4
    """
    axle = (0.0, 1.0, 0.0)
    up = (0.0, 0.0, 1.0)
    middle = (0.0, 0.0, radius)
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
            forward_speed("frame", middle, "velocity of the rear axle's middle along the heading")
        ],
    )
