"""ROCR, a robot of two bodies that climbs a wall by swinging its tail and alternating its two
grips.

Jensen-Segal, Virost and Provancher, ICRA 2008, pages 3040-3045; Mauny (2018), section 1.7, whose
table 1.1 lists the parameters. (The length c of the tail in this table contradicts MS1 / m1, but
has no effect.)
"""

import math
from typing import Annotated, Literal

import numpy as np

from draisine.model import Body, Model, Output, Pin, Revolute, flat_inertia
from draisine.model.motion import sine

SYMBOLS = {
    "amplitude": "A",
    "frequency": "f",
    "phase": r"\phi",
    "tail": "r_1",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def rocr(
    *,
    a: Annotated[float, "m", "distance between the grips"] = 0.1,
    b: Annotated[float, "m", "distance of the hinge from the middle of the grips"] = 0.02,
    m0: Annotated[float, "kg", "mass of the body"] = 0.199,
    m1: Annotated[float, "kg", "mass of the tail"] = 0.1,
    MS0: Annotated[
        float, "kg m", "first moment of the body about the middle of the grips"
    ] = 0.0035,
    MS1: Annotated[float, "kg m", "first moment of the tail about the hinge"] = 0.03,
    J0: Annotated[float, "kg m2", "body, moment of inertia about the middle of the grips"] = 1.3e-4,
    J1: Annotated[float, "kg m2", "tail, moment of inertia about the hinge"] = 9e-3,
    Cv: Annotated[
        float, "N m s", "viscous friction of a grip: torque per turning rate of the body"
    ] = 0.03,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    amplitude: Annotated[float, "rad", "swing of the tail"] = math.pi / 3,
    frequency: Annotated[
        float, "Hz", "frequency of the tail; the grips change twice in its period"
    ] = 1.5,
    phase: Annotated[float, "rad", "how far the tail is ahead of the grips"] = 1.5 * math.pi,
    drive: Literal["cosine", "free"] = "cosine",
) -> Model:
    """Return the robot on its wall, the plane z = 0 with y up.

    In the zero configuration the tail is along x, and the grips are below and above the middle; the
    robot hangs with the tail down at a yaw of -90 degrees. The tail follows `amplitude cos(2 pi
    frequency t + phase)`, eq. [tail-motion], or is free. `grip_1` is closed, unless the contact
    mode states otherwise.

    >>> rocr().speeds
    ('Vx', 'Vy', 'Wz', 'tail_rate')
    """
    normal = (0.0, 0.0, 1.0)
    hinge = (b, 0.0, 0.0)
    swing = sine(amplitude, frequency, phase + math.pi / 2) if drive == "cosine" else None
    drag = np.zeros((6, 6), dtype=object)
    drag[5, 5] = Cv
    tip = (b + MS1 / m1, 0.0, 0.0)
    return Model(
        bodies=[
            Body("body", m0, (MS0 / m0, 0.0, 0.0), flat_inertia(J0 - MS0 * MS0 / m0), drag=drag),
            Body("tail", m1, tip, flat_inertia(J1 - MS1 * MS1 / m1)),
        ],
        joints=[Revolute("tail", "body", "tail", normal, hinge, motion=swing)],
        contacts=[
            Pin("grip_1", "body", (0.0, -a / 2, 0.0), axes="xy"),
            Pin("grip_2", "body", (0.0, a / 2, 0.0), axes="xy", grips=False),
        ],
        gravity=(0.0, -g, 0.0),
        base="SE(2)",
        outputs=[
            Output(
                "tail_height",
                lambda readings: (
                    readings.position("tail", tip)[1]
                    - readings.position("body", (0.0, 0.0, 0.0))[1]
                ),
                "m",
                "height of the tail's mass centre over the middle of the grips",
            ),
        ],
    )
