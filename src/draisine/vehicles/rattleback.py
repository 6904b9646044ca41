"""Rattleback (celt): half an ellipsoid whose principal axes of inertia are skewed relative to its
shape.

Spun in one direction it begins to rattle, stops, and reverses its spin. The defaults are those of
Kane and Levinson, Realistic mathematical modeling of the rattleback, International Journal of
Non-Linear Mechanics 17 (1982) 175-186, doi:10.1016/0020-7462(82)90017-8: semi-axes 20, 3 and 2 cm,
the mass centre 1 cm below that of the ellipsoid, central moments over mass 2, 16 and 17 cm^2 with
the product -0.2 cm^2. The contact point does not slip, and nothing dissipates energy.
"""

from typing import Annotated

from draisine.model import Body, Ellipsoid, Model, Output, Wheel, inertia

SYMBOLS = {"mass": "m", "xx": "j_{xx}", "yy": "j_{yy}", "zz": "j_{zz}", "xy": "j_{xy}"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def rattleback(
    *,
    mass: Annotated[float, "kg", "mass"] = 1.0,
    a: Annotated[float, "m", "semi-axis along x, the long one"] = 0.2,
    b: Annotated[float, "m", "semi-axis along y"] = 0.03,
    c: Annotated[float, "m", "semi-axis along z, upright in the drawing"] = 0.02,
    h: Annotated[float, "m", "how far the mass centre lies below the ellipsoid's"] = 0.01,
    xx: Annotated[float, "m2", "central moment of inertia about x over mass"] = 2e-4,
    yy: Annotated[float, "m2", "central moment of inertia about y over mass"] = 16e-4,
    zz: Annotated[float, "m2", "central moment of inertia about z over mass"] = 17e-4,
    xy: Annotated[
        float, "m2", "entry xy of the inertia tensor over mass: the skew that makes it turn back"
    ] = -0.2e-4,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return the rattleback, at rest on the ground in the zero configuration.

    >>> float(rattleback().contacts[0].surface.reach)
    0.2
    """
    centre = (0.0, 0.0, c)
    left = (0.0, 1.0, 0.0)
    spread = inertia(mass * xx, mass * yy, mass * zz, xy=mass * xy)
    return Model(
        bodies=[Body("stone", mass, (0.0, 0.0, c - h), spread)],
        contacts=[Wheel("ground", "stone", centre, left, Ellipsoid((a, b, c)))],
        gravity=(0.0, 0.0, -g),
        outputs=[
            Output(
                "spin",
                lambda view: (view.rotation @ view.angular_velocity)[2],
                "rad/s",
                "angular velocity about the vertical, positive to the left",
            ),
        ],
    )
