"""Euler's disc: a heavy coin that rolls on its edge, nearly flat and with increasing rate.

The model is that of `rolling_disc`. With its centre at rest and at the inclination a, the disc
precesses with `W^2 = g / (radius diametral sin a)`; small nutations about this motion have `omega^2
= W^2 (3 diametral cos^2 a + sin^2 a) / (1 + diametral)`. Moffatt (2000), doi:10.1038/35009017.
"""

from typing import Annotated

from draisine.model import Model
from draisine.vehicles.rolling_disc import SYMBOLS, rolling_disc

__all__ = ["SYMBOLS", "euler_disc"]


def euler_disc(
    *,
    mass: Annotated[float, "kg", "mass"] = 0.44,
    radius: Annotated[float, "m", "radius"] = 0.0375,
    axial: Annotated[float, "1", "moment of inertia about the axle over mass radius^2"] = 0.5,
    diametral: Annotated[
        float, "1", "moment of inertia about a diameter over mass radius^2"
    ] = 0.25,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return the disc, with the dimensions of the toy of this name, upright in the zero
    configuration.

    >>> float(euler_disc().contacts[0].surface.reach)
    0.0375
    """
    return rolling_disc(mass=mass, radius=radius, axial=axial, diametral=diametral, g=g)
