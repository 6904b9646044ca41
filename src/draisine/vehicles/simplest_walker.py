"""Simplest walker: a point mass at the hip, almost massless feet, legs of length 1 and gravity 1.

Garcia, Chatterjee, Ruina and Coleman (1998), doi:10.1115/1.2798313. The paper takes the limit of
massless feet; a mass ratio of 1e-12 equals this limit to double precision.
"""

from typing import Annotated

from draisine.model import Model
from draisine.vehicles.compass_walker import compass_walker

SYMBOLS = {
    "ratio": r"\beta",
    "slope": r"\gamma",
    "left": r"\theta",
    "right": r"\phi",
    "ahead": "x_H",
    "height": "z_H",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def simplest_walker(
    *,
    ratio: Annotated[float, "", "mass of a foot over that of the hip"] = 1e-12,
    slope: Annotated[float, "rad", "by how much the ground falls ahead"] = 0.009,
) -> Model:
    """Return the walker, with the same zero configuration as `compass_walker`.

    >>> simplest_walker().steps.feet
    ('left', 'right')
    """
    return compass_walker(mH=1.0, m=ratio, a=0.0, b=1.0, slope=slope, g=1.0)
