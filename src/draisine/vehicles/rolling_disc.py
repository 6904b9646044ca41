"""A disc or hoop that rolls on the ground: knife-edged, or with a torus tyre.

One body without joints, so its pitch is the angle through which it has rolled. Its steady motions
are known in closed form, with the total spin n about the axle and the yaw rate W at the lean L:
`(axial + 1) W n cos L + (g / radius) sin L - diametral W^2 sin L cos L = 0` for the knife edge.
"""

from draisine.model import Body, Model, Output, Wheel, inertia, round_surface

MEANING = {
    "mass": ("kg", "mass"),
    "radius": ("m", "outer radius"),
    "axial": ("1", "moment of inertia about the axle over mass radius^2: 1/2 disc, 1 hoop"),
    "diametral": ("1", "moment of inertia about a diameter over mass radius^2: 1/4 disc, 1/2 hoop"),
    "g": ("m/s2", "gravity"),
    "crown": ("m", "radius of the tyre's cross section, part of the radius"),
}
"""Unit and meaning of every parameter."""

SYMBOLS = {
    "mass": "m",
    "radius": "R",
    "axial": "k_a",
    "diametral": "k_d",
    "crown": "r_t",
}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def rolling_disc(
    *,
    mass: float = 1.0,
    radius: float = 0.5,
    axial: float = 0.5,
    diametral: float = 0.25,
    g: float = 9.81,
    crown: float | None = None,
) -> Model:
    """Return the disc, drawn upright on the ground; a knife edge, or a torus where a crown radius
    is given. `MEANING` tells what each parameter is.

    >>> rolling_disc().speeds
    ('Vx', 'Vy', 'Vz', 'Wx', 'Wy', 'Wz')
    """
    centre, left = (0.0, 0.0, radius), (0.0, 1.0, 0.0)
    square = mass * radius * radius
    across = diametral * square
    return Model(
        bodies=[Body("disc", mass, centre, inertia(across, axial * square, across))],
        contacts=[Wheel("ground", "disc", centre, left, round_surface(radius, crown))],
        gravity=(0.0, 0.0, -g),
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("disc", centre),
                "m/s",
                "velocity of the centre along the heading",
            ),
            Output(
                "spin",
                lambda readings: readings.angular_velocity[1],
                "rad/s",
                "angular velocity about the axle, positive rolling forward",
            ),
        ],
    )
