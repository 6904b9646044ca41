"""A fish of three hinged ellipses in an ideal fluid, in the plane.

Kanso, Marsden, Rowley and Melli-Huber, Journal of Nonlinear Science 15 (2005) 255-289, with links
that do not feel each other through the fluid. The momentum of body and fluid stays what it was: at
rest it is zero, and the shape alone leads the fish on (thesis, section 1.4.2).
"""

import math
from typing import Literal

from draisine.model import Model
from draisine.model.motion import sine
from draisine.vehicles._three_links import three_links

MEANING = {
    "a": ("m", "half axis of each ellipse along its link"),
    "b": ("m", "half axis across"),
    "c": ("m", "distance of the hinges beyond the tips of the ellipses"),
    "rho": ("kg/m2", "density of the fluid and of the fish, for a depth of one metre kg/m3"),
    "amplitude": ("rad", "swing of both hinges"),
    "frequency": ("Hz", "frequency of both hinges"),
    "lag": ("rad", "how far the rear hinge, which swings the other way, lags behind the front one"),
}
"""Unit and meaning of every parameter; the swings are those of `drive="sine"`."""

SYMBOLS = {
    "rho": r"\rho",
    "amplitude": "A",
    "frequency": "f",
    "lag": r"\beta",
    "rear": r"\phi_b",
    "front": r"\phi_f",
}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def fish(
    *,
    a: float = 0.1,
    b: float = 0.02,
    c: float = 0.01,
    rho: float = 1000.0,
    amplitude: float = 0.8,
    frequency: float = 1.0,
    lag: float = math.pi / 2,
    drive: Literal["free", "sine"] = "free",
) -> Model:
    """Return the fish, as heavy as the fluid, drawn straight along x with its middle link at the
    origin; its hinges are free, or swing by sines. `MEANING` tells what each parameter is.

    >>> fish().speeds
    ('Vx', 'Vy', 'Wz', 'rear_rate', 'front_rate')
    """
    front = rear = None
    if drive == "sine":
        front, rear = sine(amplitude, frequency), sine(-amplitude, frequency, -lag)
    mass, difference = rho * math.pi * a * b, a * a - b * b
    added = (
        rho * math.pi * b * b,
        rho * math.pi * a * a,
        rho * math.pi * difference * difference / 8,
    )
    moment = mass * (a * a + b * b) / 4
    return three_links(2 * (a + c), mass, moment, added, (0.0, 0.0, 0.0), rear, front)
