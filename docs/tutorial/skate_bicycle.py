"""The two-mass-skate bicycle: stable without spinning wheels and without trail.

Kooijman, Meijaard, Papadopoulos, Ruina and Schwab (2011), doi:10.1126/science.1201959. Two point
masses, two skates, one hinge.
"""

from typing import Annotated

from draisine.algebra.scalar import cos, sin
from draisine.model import Blade, Body, Model, Output, Revolute


def skate_bicycle(
    *,
    w: Annotated[float, "m", "distance between the skates"] = 1.0,
    c: Annotated[float, "m", "trail"] = 0.0,
    lam: Annotated[
        float, "rad", "tilt of the steer axis from the vertical, top backwards"
    ] = 0.08726646259971647,
    xB: Annotated[float, "m", "mass of the frame, distance ahead of the rear skate"] = 1.2,
    hB: Annotated[float, "m", "mass of the frame, height"] = 0.4,
    mB: Annotated[float, "kg", "mass of the frame"] = 10.0,
    xH: Annotated[float, "m", "mass of the fork, distance ahead of the rear skate"] = 1.02,
    hH: Annotated[float, "m", "mass of the fork, height"] = 0.2,
    mH: Annotated[float, "kg", "mass of the fork"] = 1.0,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return the bicycle, upright with its rear skate at the origin."""
    ahead, rear, front = (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (w, 0.0, 0.0)
    steer_axis = (-sin(lam), 0.0, cos(lam))
    return Model(
        bodies=[
            Body("frame", mB, (xB, 0.0, hB)),
            Body("fork", mH, (xH, 0.0, hH)),
        ],
        joints=[Revolute("steer", "frame", "fork", steer_axis, (w + c, 0.0, 0.0))],
        contacts=[
            Blade("rear", "frame", rear, ahead, lifts=True),
            Blade("front", "fork", front, ahead, lifts=True),
        ],
        gravity=(0.0, 0.0, -g),
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("frame", rear),
                "m/s",
                "velocity of the rear skate along the heading",
            ),
        ],
    )
