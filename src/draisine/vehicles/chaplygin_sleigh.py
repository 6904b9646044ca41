"""Chaplygin's sleigh: a body in the plane on two smooth feet and one runner that does not slip
sideways.

With the mass centre `a` ahead of the runner it ends up gliding straight ahead: the runner's speed
is `c tanh(k t)` and the yaw rate `c sqrt(m / (I + m a^2)) / cosh(k t)`, with k = a c m / (I + m
a^2).
"""

import numpy as np

from draisine.model import Blade, Body, Model, Output, inertia

MEANING = {
    "m": ("kg", "mass"),
    "I": ("kg m2", "central moment of inertia about the vertical"),
    "a": ("m", "distance of the mass centre ahead of the runner"),
}
"""Unit and meaning of every parameter."""


def chaplygin_sleigh(
    *,
    m: float = 2.0,
    I: float = 0.3,  # noqa: E741 - the usual name
    a: float = 0.4,
) -> Model:
    """Return the sleigh in the plane, its runner at the origin; `MEANING` tells what each parameter
    is.

    >>> chaplygin_sleigh().speeds
    ('Vx', 'Vy', 'Wz')
    """
    runner = (0.0, 0.0, 0.0)
    return Model(
        bodies=[Body("sleigh", m, (a, 0.0, 0.0), inertia(I / 2, I / 2, I))],
        contacts=[Blade("runner", "sleigh", runner, (1.0, 0.0, 0.0))],
        gravity=np.zeros(3),
        base="SE(2)",
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("sleigh", runner),
                "m/s",
                "velocity of the runner along its heading",
            ),
        ],
    )
