"""Steering linkage of bars: two knuckles on one beam, their arms joined by a tie rod.

It is a four-bar linkage whose loop is closed by a pin. To second order the outer wheel turns by
`inner - tan(bias) track / rod inner^2`, with a rod of the length `track - 2 arm sin(bias)`. If this
factor is track / wheelbase, the axles of the wheels meet almost in one point (by default for a
wheelbase of 1.2 m). `car` satisfies Ackermann's condition exactly, by a coupling.
"""

from typing import Annotated

from draisine.algebra.scalar import cos, sin
from draisine.model import Body, Loop, Model, Revolute, flat_inertia


def steering_linkage(
    *,
    track: Annotated[float, "m", "distance of the kingpins"] = 0.8,
    arm: Annotated[float, "m", "length of the steering arms"] = 0.12,
    bias: Annotated[float, "rad", "angle by which the arms point inwards"] = 0.5164832994463787,
    I: Annotated[  # noqa: E741 - the usual name
        float, "kg m2", "each knuckle with its wheel, moment of inertia about the kingpin"
    ] = 0.05,
    m: Annotated[float, "kg", "mass of the tie rod"] = 0.0,
) -> Model:
    """Return the linkage, straight ahead in the zero configuration with the middle of the beam at
    the origin.

    Torques act at the kingpins.

    >>> [loop.name for loop in steering_linkage().loops]
    ['tie']
    """
    up = (0.0, 0.0, 1.0)
    pins = {"left": (0.0, track / 2, 0.0), "right": (0.0, -track / 2, 0.0)}
    half = track / 2 - arm * sin(bias)
    left = (-arm * cos(bias), half, 0.0)
    right = (-arm * cos(bias), -half, 0.0)
    rod = m * half * half / 3.0
    return Model(
        bodies=[
            Body("beam", 1.0),
            *(Body(side, 1.0, pin, flat_inertia(I)) for side, pin in pins.items()),
            Body("rod", m, (-arm * cos(bias), 0.0, 0.0), flat_inertia(rod)),
        ],
        joints=[
            *(Revolute(side, "beam", side, up, pin) for side, pin in pins.items()),
            Revolute("rod", "left", "rod", up, left),
        ],
        couplings=[Loop("tie", "rod", "right", right)],
        base="fixed",
    )
