"""A skateboard: a deck on two trucks that turn about tilted axes, so that it steers by leaning.

All four wheels stay on the ground; a deck that leans by `lean` steers each truck by
`tan(steer) = tan(tilt) sin(lean)` (Hubbard 1979, doi:10.1115/1.3424679). Nothing of this is
written down here: it follows from the axes of the trucks and the wheels' twelve rows, of which ten
are independent. Springs in the trucks bring the deck back.
"""

from draisine.algebra.scalar import cos, sin
from draisine.model import Body, Model, Output, Revolute, Wheel, inertia

MEANING = {
    "wheelbase": ("m", "distance of the axles"),
    "track": ("m", "distance of the wheels of a truck"),
    "radius": ("m", "radius of the wheels"),
    "tilt": ("rad", "angle of the trucks' axes against the deck"),
    "spring": ("N m/rad", "stiffness of each truck"),
    "damper": ("N m s/rad", "damping of each truck"),
    "m": ("kg", "mass of deck and rider"),
    "z": ("m", "height of its mass centre"),
    "Ixx": ("kg m2", "deck and rider, central moment of inertia xx"),
    "Iyy": ("kg m2", "deck and rider, central moment of inertia yy"),
    "Izz": ("kg m2", "deck and rider, central moment of inertia zz"),
    "mT": ("kg", "mass of each truck"),
    "IT": ("kg m2", "each truck, moment of inertia about any axis"),
    "mW": ("kg", "mass of each wheel"),
    "Ia": ("kg m2", "each wheel, moment of inertia about the axle"),
    "Id": ("kg m2", "each wheel, moment of inertia about a diameter"),
    "g": ("m/s2", "gravity"),
}
"""Unit and meaning of every parameter."""

SYMBOLS = {
    "wheelbase": "L",
    "track": "w",
    "radius": "r",
    "tilt": r"\kappa",
    "spring": "k",
    "damper": "d",
}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def skateboard(
    *,
    wheelbase: float = 0.5,
    track: float = 0.2,
    radius: float = 0.03,
    tilt: float = 0.8,
    spring: float = 300.0,
    damper: float = 5.0,
    m: float = 60.0,
    z: float = 0.6,
    Ixx: float = 4.0,
    Iyy: float = 4.0,
    Izz: float = 1.0,
    mT: float = 0.3,
    IT: float = 0.001,
    mW: float = 0.1,
    Ia: float = 5e-5,
    Id: float = 3e-5,
    g: float = 9.81,
) -> Model:
    """Return the skateboard, drawn level with its middle over the origin; torques act in the trucks.
    `MEANING` tells what each parameter is.

    >>> [joint.name for joint in skateboard().joints[:2]]
    ['rear_truck', 'front_truck']
    """
    axle, middle = (0.0, 1.0, 0.0), (0.0, 0.0, radius)
    ends = {"rear": -1.0, "front": 1.0}
    bodies = [Body("deck", m, (0.0, 0.0, z), inertia(Ixx, Iyy, Izz))]
    joints, contacts = [], []
    for end, sign in ends.items():
        x, truck = sign * wheelbase / 2, f"{end}_truck"
        pivot = (sign * cos(tilt), 0.0, sin(tilt))
        bodies.append(Body(truck, mT, (x, 0.0, radius), inertia(IT, IT, IT)))
        joints.append(
            Revolute(truck, "deck", truck, pivot, (x, 0.0, radius), spring=spring, damper=damper)
        )
    for end, sign in ends.items():
        for side, y in (("left", track / 2), ("right", -track / 2)):
            name, hub = f"{end}_{side}", (sign * wheelbase / 2, y, radius)
            bodies.append(Body(name, mW, hub, inertia(Id, Ia, Id)))
            joints.append(Revolute(name, f"{end}_truck", name, axle, hub))
            contacts.append(Wheel(name, name, hub, axle, radius))
    return Model(
        bodies=bodies,
        joints=joints,
        contacts=contacts,
        gravity=(0.0, 0.0, -g),
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("deck", middle),
                "m/s",
                "velocity of the deck's middle between the axles along the heading",
            )
        ],
    )
