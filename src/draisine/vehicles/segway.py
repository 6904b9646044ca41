"""Two-wheeled inverted pendulum: a body on two driven wheels with a common axle.

Grasser, D'Arrigo, Colombi and Rufer (2002), doi:10.1109/41.982254. The six rolling constraints have
rank five: only the distribution of the lateral force between the wheels is statically
indeterminate.
"""

from typing import Annotated

from draisine.model import Body, Model, Revolute, Wheel, forward_speed, inertia

SYMBOLS = {"left": r"\phi_l", "right": r"\phi_r"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def segway(
    *,
    r: Annotated[float, "m", "radius of the wheels"] = 0.25,
    w: Annotated[float, "m", "distance of the wheels"] = 0.6,
    mB: Annotated[float, "kg", "mass of the body"] = 60.0,
    hx: Annotated[float, "m", "distance of its mass centre ahead of the axle"] = 0.02,
    hz: Annotated[float, "m", "height of its mass centre over the axle"] = 0.8,
    Ixx: Annotated[float, "kg m2", "body, central moment of inertia xx"] = 8.0,
    Iyy: Annotated[float, "kg m2", "body, central moment of inertia yy"] = 7.0,
    Izz: Annotated[float, "kg m2", "body, central moment of inertia zz"] = 1.5,
    Ixz: Annotated[float, "kg m2", "body, entry xz of the inertia tensor"] = 0.1,
    mW: Annotated[float, "kg", "mass of each wheel"] = 3.0,
    Ia: Annotated[float, "kg m2", "each wheel, moment of inertia about the axle"] = 0.1,
    Id: Annotated[float, "kg m2", "each wheel, moment of inertia about a diameter"] = 0.06,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return the vehicle, upright in the zero configuration; torques act between wheels and body.

    >>> segway().inputs
    ('left', 'right')
    """
    axle = (0.0, 1.0, 0.0)
    middle = (0.0, 0.0, r)
    hubs = {"left": (0.0, w / 2, r), "right": (0.0, -w / 2, r)}
    return Model(
        bodies=[
            Body("body", mB, (hx, 0.0, r + hz), inertia(Ixx, Iyy, Izz, xz=Ixz)),
            *(Body(side, mW, hub, inertia(Id, Ia, Id)) for side, hub in hubs.items()),
        ],
        joints=[Revolute(side, "body", side, axle, hub) for side, hub in hubs.items()],
        contacts=[Wheel(side, side, hub, axle, r) for side, hub in hubs.items()],
        gravity=(0.0, 0.0, -g),
        outputs=[forward_speed("body", middle, "velocity of the axle's middle along the heading")],
    )
