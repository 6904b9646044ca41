"""The roller racer: a seat and a steering arm, hinged, each on a pair of wheels that do not slip
sideways.

Krishnaprasad and Tsakiris, Oscillations, SE(2)-snakes and motion control: a study of the roller
racer (2001). Swinging the arm to and fro drives it: with the arm's axle ahead of the hinge (d2 > 0)
it runs backwards, with the axle behind it ahead.
"""

from typing import Literal

import numpy as np

from draisine.model import Blade, Body, Model, Output, Revolute, inertia
from draisine.model.motion import sine

MEANING = {
    "m1": ("kg", "mass of the seat with rider"),
    "I1": ("kg m2", "seat, central moment of inertia about the vertical"),
    "d1": ("m", "distance of the seat's axle behind the hinge; its mass centre is there"),
    "m2": ("kg", "mass of the arm"),
    "I2": ("kg m2", "arm, central moment of inertia about the vertical"),
    "d2": (
        "m",
        "distance of the arm's axle ahead of the hinge, where its mass centre is; < 0 runs ahead",
    ),
    "spring": ("N m/rad", "stiffness of the hinge"),
    "damper": ("N m s/rad", "damping of the hinge"),
    "amplitude": ("rad", "swing of the arm"),
    "frequency": ("Hz", "frequency of the arm"),
    "phase": ("rad", "phase of the arm"),
}
"""Unit and meaning of every parameter; the swing is that of `drive="sine"`."""

SYMBOLS = {
    "amplitude": "A",
    "frequency": "f",
    "phase": r"\beta",
    "arm": r"\phi",
}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def roller_racer(
    *,
    m1: float = 30.0,
    I1: float = 1.5,
    d1: float = 0.45,
    m2: float = 1.5,
    I2: float = 0.05,
    d2: float = 0.1,
    spring: float = 0.0,
    damper: float = 0.0,
    amplitude: float = 0.6,
    frequency: float = 1.0,
    phase: float = 0.0,
    drive: Literal["free", "sine"] = "free",
) -> Model:
    """Return the roller racer in the plane; its arm is free, or swings by a sine. `MEANING`
    tells what each parameter is.

    >>> roller_racer().speeds
    ('Vx', 'Vy', 'Wz', 'arm_rate')
    """
    ahead, rear, front = (1.0, 0.0, 0.0), (-d1, 0.0, 0.0), (d2, 0.0, 0.0)
    swing = sine(amplitude, frequency, phase) if drive == "sine" else None
    hinge = Revolute(
        "arm", "seat", "arm", (0.0, 0.0, 1.0), spring=spring, damper=damper, motion=swing
    )
    return Model(
        bodies=[
            Body("seat", m1, rear, inertia(I1 / 2, I1 / 2, I1)),
            Body("arm", m2, front, inertia(I2 / 2, I2 / 2, I2)),
        ],
        joints=[hinge],
        contacts=[Blade("rear", "seat", rear, ahead), Blade("front", "arm", front, ahead)],
        gravity=np.zeros(3),
        base="SE(2)",
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("seat", rear),
                "m/s",
                "velocity of the seat's axle along its heading",
            ),
        ],
    )
