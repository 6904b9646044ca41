"""Falling cat: a front and a rear half, joined at a waist that bends about two axes.

Kane and Scher, International Journal of Solids and Structures 5 (1969) 663-670. A cat that moves
the bend of its waist around in a circle turns over, although no moment acts and its angular
momentum is constant. The waist itself has no mass.
"""

import math
from typing import Annotated, Literal

import numpy as np

from draisine.model import Body, Model, Revolute, inertia
from draisine.model.motion import sine

SYMBOLS = {
    "length": "l",
    "axial": "I_a",
    "across": "I_d",
    "amplitude": "A",
    "frequency": "f",
    "bend": r"\beta",
    "sway": r"\sigma",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def falling_cat(
    *,
    m: Annotated[float, "kg", "mass of each half"] = 2.0,
    length: Annotated[float, "m", "distance of each half's mass centre from the waist"] = 0.15,
    axial: Annotated[
        float, "kg m2", "each half, central moment of inertia about its long axis"
    ] = 0.008,
    across: Annotated[
        float, "kg m2", "each half, central moment of inertia about axes across it"
    ] = 0.03,
    amplitude: Annotated[float, "rad", "how far the waist bends"] = 0.8,
    frequency: Annotated[float, "Hz", "how often the waist bends round per second"] = 1.0,
    drive: Literal["free", "sine"] = "free",
    base: Literal["SE(3)", "SO(3)"] = "SE(3)",
) -> Model:
    """Return the cat without weight, straight along x in the zero configuration with its waist at
    the origin.

    The waist is free, or bends by sines (`drive="sine"`). With `base="SO(3)"` the cat does not
    fall: a ball joint fixes the position of the waist.

    >>> falling_cat().speeds
    ('Vx', 'Vy', 'Vz', 'Wx', 'Wy', 'Wz', 'bend_rate', 'sway_rate')
    """
    spread = inertia(axial, across, across)
    bend = sway = None
    if drive == "sine":
        bend = sine(amplitude, frequency)
        sway = sine(amplitude, frequency, math.pi / 2)
    return Model(
        bodies=[
            Body("rear", m, (-length, 0.0, 0.0), spread),
            Body("waist"),
            Body("front", m, (length, 0.0, 0.0), spread),
        ],
        joints=[
            Revolute("bend", "rear", "waist", (0.0, 1.0, 0.0), motion=bend),
            Revolute("sway", "waist", "front", (0.0, 0.0, 1.0), motion=sway),
        ],
        gravity=np.zeros(3),
        base=base,
    )
