"""Fish of three hinged ellipses in an ideal fluid, in the plane.

Kanso, Marsden, Rowley and Melli-Huber, Journal of Nonlinear Science 15 (2005) 255-289, with links
that do not interact through the fluid. The total momentum of body and fluid is constant. If it is
zero, the joint motion alone determines the motion of the fish (Mauny 2018, section 1.4.2).
"""

import math
from typing import Annotated, Literal

from draisine.model import Model
from draisine.model.motion import sine
from draisine.vehicles._three_links import three_links

SYMBOLS = {
    "rho": r"\rho",
    "amplitude": "A",
    "frequency": "f",
    "lag": r"\beta",
    "rear": r"\phi_b",
    "front": r"\phi_f",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def fish(
    *,
    a: Annotated[float, "m", "half axis of each ellipse along its link"] = 0.1,
    b: Annotated[float, "m", "half axis across"] = 0.02,
    c: Annotated[float, "m", "distance of the hinges beyond the tips of the ellipses"] = 0.01,
    rho: Annotated[
        float, "kg/m2", "density of the fluid and of the fish, for a depth of one metre kg/m3"
    ] = 1000.0,
    amplitude: Annotated[float, "rad", "swing of both hinges"] = 0.8,
    frequency: Annotated[float, "Hz", "frequency of both hinges"] = 1.0,
    lag: Annotated[
        float,
        "rad",
        "how far the rear hinge, which swings the other way, lags behind the front one",
    ] = math.pi / 2,
    drive: Literal["free", "sine"] = "free",
) -> Model:
    """Return the neutrally buoyant fish, straight along x in the zero configuration, the middle
    link at the origin.

    The hinges are free, or swing by sines (`drive="sine"`).

    >>> fish().speeds
    ('Vx', 'Vy', 'Wz', 'rear_rate', 'front_rate')
    """
    front = rear = None
    if drive == "sine":
        front = sine(amplitude, frequency)
        rear = sine(-amplitude, frequency, -lag)
    mass = rho * math.pi * a * b
    difference = a * a - b * b
    added = (
        rho * math.pi * b * b,
        rho * math.pi * a * a,
        rho * math.pi * difference * difference / 8,
    )
    moment = mass * (a * a + b * b) / 4
    return three_links(2 * (a + c), mass, moment, added, (0.0, 0.0, 0.0), rear, front)
