"""Chain of equal links on a floating or a fixed base, with hinges in all directions.

The number of joints is an argument, and no axes are symmetric or aligned, so that the chain shows
how the cost of a derivation grows with the size of a vehicle.
"""

import math
from typing import Annotated, Literal

from draisine.model import Body, Model, Revolute, inertia

SYMBOLS = {
    "mass": "m",
    "length": "l",
    "offset": "k_o",
    "gyration": "k_g",
    "slender": "k_s",
    "skew": "k_x",
    "damper": "d",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""

GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))
"""Angle (rad) about the chain from one hinge to the next, chosen so that no two hinges are
parallel.
"""


def chain(
    *,
    mass: Annotated[float, "kg", "mass of each link"] = 1.0,
    length: Annotated[float, "m", "distance between neighbouring hinges"] = 0.3,
    offset: Annotated[
        float, "1", "distance of the mass centres from the line of hinges, over the length"
    ] = 0.1,
    gyration: Annotated[
        float, "1", "radius of gyration about the axes across the line, over the length"
    ] = 0.3,
    slender: Annotated[
        float, "1", "radius of gyration about the line of hinges, over the length"
    ] = 0.15,
    skew: Annotated[float, "1", "products of inertia over mass length^2"] = 0.005,
    damper: Annotated[float, "N m s", "damping of each hinge"] = 0.0,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    links: int = 4,
    base: Literal["SE(3)", "fixed"] = "SE(3)",
    oblique: bool = True,
) -> Model:
    """Return a base and `links` links, straight along x in the zero configuration, with the first
    hinge at the origin.

    If not `oblique`, all hinges are parallel to y.

    >>> len(chain(links=7).joints)
    7
    """
    square = mass * length * length
    about = square * gyration * gyration
    along = square * slender * slender
    mixed = square * skew
    spread = inertia(along, about, about, xy=mixed, xz=-mixed, yz=mixed / 2)
    side = offset * length
    bodies = []
    joints = []
    for k in range(links + 1):
        bodies.append(Body(f"link{k}", mass, ((k - 0.5) * length, side, side / 2), spread))
    for k in range(links):
        axis = (0.0, 1.0, 0.0)
        if oblique:
            axis = (0.4, math.cos(GOLDEN_ANGLE * k), math.sin(GOLDEN_ANGLE * k))
        hinge = (k * length, 0.0, 0.0)
        joints.append(
            Revolute(f"hinge{k + 1}", f"link{k}", f"link{k + 1}", axis, hinge, damper=damper)
        )
    return Model(bodies=bodies, joints=joints, gravity=(0.0, 0.0, -g), base=base)
