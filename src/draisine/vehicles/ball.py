"""Ball that rolls on the ground without slip.

With three different moments of inertia it is Chaplygin's ball, whose angular momentum about the
contact point is constant in space. With an eccentric centre of mass it rocks like a tumbler.
Contact forces are reported along the heading of the ball's y axis. The heading is undefined if that
axis is vertical; the motion itself has no singularity.
"""

from typing import Annotated

from draisine.model import Ball, Body, Model, Output, Wheel, inertia

SYMBOLS = {
    "mass": "m",
    "radius": "R",
    "xx": "k_x",
    "yy": "k_y",
    "zz": "k_z",
    "offset": "h",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def ball(
    *,
    mass: Annotated[float, "kg", "mass"] = 1.0,
    radius: Annotated[float, "m", "radius"] = 0.1,
    xx: Annotated[
        float, "1", "central moment of inertia about x over mass radius^2: 2/5 homogeneous"
    ] = 0.4,
    yy: Annotated[float, "1", "central moment of inertia about y over mass radius^2"] = 0.4,
    zz: Annotated[float, "1", "central moment of inertia about z over mass radius^2"] = 0.4,
    offset: Annotated[
        float, "m", "how far the mass centre lies below the middle in the drawing"
    ] = 0.0,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return the ball, on the ground in the zero configuration.

    >>> [contact.name for contact in ball().contacts]
    ['ground']
    """
    centre = (0.0, 0.0, radius)
    left = (0.0, 1.0, 0.0)
    square = mass * radius * radius
    spread = inertia(xx * square, yy * square, zz * square)
    return Model(
        bodies=[Body("ball", mass, (0.0, 0.0, radius - offset), spread)],
        contacts=[Wheel("ground", "ball", centre, left, Ball(radius))],
        gravity=(0.0, 0.0, -g),
        outputs=[
            Output(
                "x_speed",
                lambda readings: readings.velocity("ball", centre)[0],
                "m/s",
                "velocity of the middle along the world's x",
            ),
            Output(
                "y_speed",
                lambda readings: readings.velocity("ball", centre)[1],
                "m/s",
                "velocity of the middle along the world's y",
            ),
        ],
    )
