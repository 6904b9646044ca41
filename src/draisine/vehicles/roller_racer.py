"""Roller racer: a seat and a hinged steering arm, each on a pair of wheels that do not slip
sideways.

Krishnaprasad and Tsakiris, Oscillations, SE(2)-snakes and motion control: a study of the roller
racer (2001). Swinging the arm propels the vehicle: backwards if the axle of the arm is ahead of the
hinge (d2 > 0), forwards if it is behind.
"""

from typing import Annotated, Literal

import numpy as np

from draisine.model import Blade, Body, Model, Revolute, flat_inertia, forward_speed
from draisine.model.motion import sine

SYMBOLS = {
    "amplitude": "A",
    "frequency": "f",
    "phase": r"\beta",
    "arm": r"\phi",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def roller_racer(
    *,
    m1: Annotated[float, "kg", "mass of the seat with rider"] = 30.0,
    I1: Annotated[float, "kg m2", "seat, central moment of inertia about the vertical"] = 1.5,
    d1: Annotated[
        float, "m", "distance of the seat's axle behind the hinge; its mass centre is there"
    ] = 0.45,
    m2: Annotated[float, "kg", "mass of the arm"] = 1.5,
    I2: Annotated[float, "kg m2", "arm, central moment of inertia about the vertical"] = 0.05,
    d2: Annotated[
        float,
        "m",
        "distance of the arm's axle ahead of the hinge, where its mass centre is; < 0 runs ahead",
    ] = 0.1,
    spring: Annotated[float, "N m/rad", "stiffness of the hinge"] = 0.0,
    damper: Annotated[float, "N m s/rad", "damping of the hinge"] = 0.0,
    amplitude: Annotated[float, "rad", "swing of the arm"] = 0.6,
    frequency: Annotated[float, "Hz", "frequency of the arm"] = 1.0,
    phase: Annotated[float, "rad", "phase of the arm"] = 0.0,
    drive: Literal["free", "sine"] = "free",
) -> Model:
    """Return the roller racer in the plane; its arm is free, or swings by a sine (`drive="sine"`).

    >>> roller_racer().speeds
    ('Vx', 'Vy', 'Wz', 'arm_rate')
    """
    ahead = (1.0, 0.0, 0.0)
    rear = (-d1, 0.0, 0.0)
    front = (d2, 0.0, 0.0)
    swing = sine(amplitude, frequency, phase) if drive == "sine" else None
    hinge = Revolute(
        "arm", "seat", "arm", (0.0, 0.0, 1.0), spring=spring, damper=damper, motion=swing
    )
    return Model(
        bodies=[
            Body("seat", m1, rear, flat_inertia(I1)),
            Body("arm", m2, front, flat_inertia(I2)),
        ],
        joints=[hinge],
        contacts=[Blade("rear", "seat", rear, ahead), Blade("front", "arm", front, ahead)],
        gravity=np.zeros(3),
        base="SE(2)",
        outputs=[forward_speed("seat", rear, "velocity of the seat's axle along its heading")],
    )
