"""Euler's disc: a heavy coin that rolls on its edge, nearly flat and ever faster.

The drawing is that of `rolling_disc`. With its centre at rest at the inclination a it circles with
`W^2 = g / (radius diametral sin a)`; a small nutation about this has
`omega^2 = W^2 (3 diametral cos^2 a + sin^2 a) / (1 + diametral)`. Moffatt (2000),
doi:10.1038/35009017.
"""

from draisine.model import Model
from draisine.vehicles.rolling_disc import SYMBOLS, rolling_disc

MEANING = {
    "mass": ("kg", "mass"),
    "radius": ("m", "radius"),
    "axial": ("1", "moment of inertia about the axle over mass radius^2"),
    "diametral": ("1", "moment of inertia about a diameter over mass radius^2"),
    "g": ("m/s2", "gravity"),
}
"""Unit and meaning of every parameter."""

__all__ = ["MEANING", "SYMBOLS", "euler_disc"]


def euler_disc(
    *,
    mass: float = 0.44,
    radius: float = 0.0375,
    axial: float = 0.5,
    diametral: float = 0.25,
    g: float = 9.81,
) -> Model:
    """Return the disc, a toy of this name by its size, drawn upright; `MEANING` tells what each
    parameter is.

    >>> float(euler_disc().contacts[0].surface.reach)
    0.0375
    """
    return rolling_disc(mass=mass, radius=radius, axial=axial, diametral=diametral, g=g)
