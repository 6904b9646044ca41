"""Rimless wheel: it walks down a slope on the ends of its spokes.

The first walker of McGeer (1990), doi:10.1177/027836499000900206. Each touch-down reduces the
angular rate by the same factor, so the rolling motion is stable if the wheel passes the upright
position: the multiplier of the limit cycle is cos^2(2 alpha) for a mass at the hub, alpha = pi /
spokes.
"""

import math
from typing import Annotated

from draisine.algebra.scalar import cos, sin
from draisine.model import Body, Model, Output, Prismatic, Revolute, Steps, Tip, Wheel, inertia

SYMBOLS = {"leg": "l", "slope": r"\gamma", "wheel": r"\theta", "ahead": "x_H", "height": "z_H"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def rimless_wheel(
    *,
    leg: Annotated[float, "m", "length of the spokes"] = 1.0,
    m: Annotated[float, "kg", "mass"] = 1.0,
    I: Annotated[float, "kg m2", "central moment of inertia about the axle"] = 0.0,  # noqa: E741
    slope: Annotated[float, "rad", "by how much the ground falls ahead"] = 0.08,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    spokes: int = 8,
) -> Model:
    """Return the wheel, on spoke 0 in the zero configuration.

    The world frame is fixed to the ground, x down the slope. The angle `wheel` is that of spoke 0
    from the normal of the ground, positive if its end is behind the hub; spoke 1 touches down next.

    >>> [foot.name for foot in rimless_wheel(spokes=6).contacts]
    ['spoke_0', 'spoke_1', 'spoke_2', 'spoke_3', 'spoke_4', 'spoke_5']
    """
    hub = (0.0, 0.0, leg)
    across = (0.0, 1.0, 0.0)
    apart = 2 * math.pi / spokes
    ends = [
        (leg * math.sin(k * apart), 0.0, leg - leg * math.cos(k * apart)) for k in range(spokes)
    ]
    return Model(
        bodies=[
            Body("ground"),
            Body("carriage", 0.0, hub),
            Body("hub", 0.0, hub, inertia(0.0, 0.0, 0.0)),
            Body("wheel", m, hub, inertia(I / 2, I, I / 2)),
        ],
        joints=[
            Prismatic("ahead", "ground", "carriage", (1.0, 0.0, 0.0), hub),
            Prismatic("height", "carriage", "hub", (0.0, 0.0, 1.0), hub),
            Revolute("wheel", "hub", "wheel", across, hub),
        ],
        contacts=[
            Wheel(f"spoke_{k}", "wheel", end, across, Tip(), touches=k == 0)
            for k, end in enumerate(ends)
        ],
        gravity=(g * sin(slope), 0.0, -g * cos(slope)),
        base="fixed",
        steps=Steps(("spoke_0", "spoke_1"), turn={"wheel": -apart}),
        outputs=[
            Output(
                "hub_speed",
                lambda readings: readings.velocity("hub", hub)[0],
                "m/s",
                "speed of the hub along the slope",
            )
        ],
    )
