"""Chaplygin's sleigh: a planar body on two frictionless feet and one runner that does not slip
sideways.

With the mass centre `a` ahead of the runner, the motion converges to straight gliding: the speed of
the runner is `c tanh(k t)` and the yaw rate `c sqrt(m / (I + m a^2)) / cosh(k t)`, with k = a c m /
(I + m a^2).
"""

from typing import Annotated

import numpy as np

from draisine.model import Blade, Body, Model, flat_inertia, forward_speed


def chaplygin_sleigh(
    *,
    m: Annotated[float, "kg", "mass"] = 2.0,
    I: Annotated[float, "kg m2", "central moment of inertia about the vertical"] = 0.3,  # noqa: E741 - the usual name
    a: Annotated[float, "m", "distance of the mass centre ahead of the runner"] = 0.4,
) -> Model:
    """Return the sleigh in the plane, with its runner at the origin.

    >>> chaplygin_sleigh().speeds
    ('Vx', 'Vy', 'Wz')
    """
    runner = (0.0, 0.0, 0.0)
    return Model(
        bodies=[Body("sleigh", m, (a, 0.0, 0.0), flat_inertia(I))],
        contacts=[Blade("runner", "sleigh", runner, (1.0, 0.0, 0.0))],
        gravity=np.zeros(3),
        base="SE(2)",
        outputs=[forward_speed("sleigh", runner, "velocity of the runner along its heading")],
    )
