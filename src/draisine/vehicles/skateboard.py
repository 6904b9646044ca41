"""Skateboard: a deck on two trucks that turn about tilted axes, so that it steers by leaning.

All four wheels stay on the ground; a deck that leans by `lean` steers each truck by `tan(steer) =
tan(tilt) sin(lean)` (Hubbard 1979, doi:10.1115/1.3424679). The model does not contain this
equation: it follows from the axes of the trucks and the twelve rolling constraints of the wheels,
of which ten are independent. Springs in the trucks return the deck to level.
"""

from typing import Annotated

from draisine.algebra.scalar import cos, sin
from draisine.model import Body, Model, Revolute, Wheel, forward_speed, inertia

SYMBOLS = {
    "wheelbase": "L",
    "track": "w",
    "radius": "r",
    "tilt": r"\kappa",
    "spring": "k",
    "damper": "d",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def skateboard(
    *,
    wheelbase: Annotated[float, "m", "distance of the axles"] = 0.5,
    track: Annotated[float, "m", "distance of the wheels of a truck"] = 0.2,
    radius: Annotated[float, "m", "radius of the wheels"] = 0.03,
    tilt: Annotated[float, "rad", "angle of the trucks' axes against the deck"] = 0.8,
    spring: Annotated[float, "N m/rad", "stiffness of each truck"] = 300.0,
    damper: Annotated[float, "N m s/rad", "damping of each truck"] = 5.0,
    m: Annotated[float, "kg", "mass of deck and rider"] = 60.0,
    z: Annotated[float, "m", "height of its mass centre"] = 0.6,
    Ixx: Annotated[float, "kg m2", "deck and rider, central moment of inertia xx"] = 4.0,
    Iyy: Annotated[float, "kg m2", "deck and rider, central moment of inertia yy"] = 4.0,
    Izz: Annotated[float, "kg m2", "deck and rider, central moment of inertia zz"] = 1.0,
    mT: Annotated[float, "kg", "mass of each truck"] = 0.3,
    IT: Annotated[float, "kg m2", "each truck, moment of inertia about any axis"] = 0.001,
    mW: Annotated[float, "kg", "mass of each wheel"] = 0.1,
    Ia: Annotated[float, "kg m2", "each wheel, moment of inertia about the axle"] = 5e-5,
    Id: Annotated[float, "kg m2", "each wheel, moment of inertia about a diameter"] = 3e-5,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return the skateboard, level in the zero configuration with its middle above the origin.

    Torques act at the joints of the trucks.

    >>> [joint.name for joint in skateboard().joints[:2]]
    ['rear_truck', 'front_truck']
    """
    axle = (0.0, 1.0, 0.0)
    middle = (0.0, 0.0, radius)
    ends = {"rear": -1.0, "front": 1.0}
    bodies = [Body("deck", m, (0.0, 0.0, z), inertia(Ixx, Iyy, Izz))]
    joints = []
    contacts = []
    for end, sign in ends.items():
        x = sign * wheelbase / 2
        truck = f"{end}_truck"
        pivot = (sign * cos(tilt), 0.0, sin(tilt))
        bodies.append(Body(truck, mT, (x, 0.0, radius), inertia(IT, IT, IT)))
        joints.append(
            Revolute(truck, "deck", truck, pivot, (x, 0.0, radius), spring=spring, damper=damper)
        )
    for end, sign in ends.items():
        for side, y in (("left", track / 2), ("right", -track / 2)):
            name = f"{end}_{side}"
            hub = (sign * wheelbase / 2, y, radius)
            bodies.append(Body(name, mW, hub, inertia(Id, Ia, Id)))
            joints.append(Revolute(name, f"{end}_truck", name, axle, hub))
            contacts.append(Wheel(name, name, hub, axle, radius))
    return Model(
        bodies=bodies,
        joints=joints,
        contacts=contacts,
        gravity=(0.0, 0.0, -g),
        outputs=[
            forward_speed(
                "deck", middle, "velocity of the deck's middle between the axles along the heading"
            )
        ],
    )
