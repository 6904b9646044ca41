"""Disc or hoop that rolls on the ground, with a knife edge or a torus tyre.

It is one body without joints, so its pitch is the rolling angle. Steady motions are known in closed
form, with the total spin n about the axle and the yaw rate W at the lean L: `(axial + 1) W n cos L
+ (g / radius) sin L - diametral W^2 sin L cos L = 0` for the knife edge.
"""

from typing import Annotated

from draisine.model import Body, Model, Output, Wheel, forward_speed, inertia, round_surface

SYMBOLS = {
    "mass": "m",
    "radius": "R",
    "axial": "k_a",
    "diametral": "k_d",
    "crown": "r_t",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def rolling_disc(
    *,
    mass: Annotated[float, "kg", "mass"] = 1.0,
    radius: Annotated[float, "m", "outer radius"] = 0.5,
    axial: Annotated[
        float, "1", "moment of inertia about the axle over mass radius^2: 1/2 disc, 1 hoop"
    ] = 0.5,
    diametral: Annotated[
        float, "1", "moment of inertia about a diameter over mass radius^2: 1/4 disc, 1/2 hoop"
    ] = 0.25,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    crown: Annotated[
        float | None, "m", "radius of the tyre's cross section, part of the radius"
    ] = None,
) -> Model:
    """Return the disc, upright on the ground in the zero configuration: a knife edge, or a torus
    with a crown radius.

    >>> rolling_disc().speeds
    ('Vx', 'Vy', 'Vz', 'Wx', 'Wy', 'Wz')
    """
    centre = (0.0, 0.0, radius)
    left = (0.0, 1.0, 0.0)
    square = mass * radius * radius
    across = diametral * square
    return Model(
        bodies=[Body("disc", mass, centre, inertia(across, axial * square, across))],
        contacts=[Wheel("ground", "disc", centre, left, round_surface(radius, crown))],
        gravity=(0.0, 0.0, -g),
        outputs=[
            forward_speed("disc", centre, "velocity of the centre along the heading"),
            Output(
                "spin",
                lambda readings: readings.angular_velocity[1],
                "rad/s",
                "angular velocity about the axle, positive rolling forward",
            ),
        ],
    )
