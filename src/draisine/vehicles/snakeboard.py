"""Snakeboard: a board, a rotor (the rider's trunk) and two trucks whose wheels do not slip
sideways.

Ostrowski, Lewis, Murray and Burdick (1994), doi:10.1109/ROBOT.1994.351153. Swinging the rotor and
the trucks in phase propels the board, although no wheel is driven. If both trucks are turned by 90
degrees, the constraints of the wheels are redundant.
"""

from typing import Annotated, Literal

import numpy as np

from draisine.model import Blade, Body, Model, Revolute, flat_inertia, forward_speed
from draisine.model.motion import sine

SYMBOLS = {
    "Jr": "J_r",
    "mw": "m_w",
    "Jw": "J_w",
    "rotor_amplitude": "A_r",
    "rotor_frequency": "f_r",
    "rotor_phase": r"\beta_r",
    "truck_amplitude": "A_t",
    "truck_frequency": "f_t",
    "truck_phase": r"\beta_t",
    "rotor": r"\psi_r",
    "rear_truck": r"\phi_b",
    "front_truck": r"\phi_f",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def snakeboard(
    *,
    m: Annotated[float, "kg", "mass of the board, without trucks"] = 4.0,
    J: Annotated[float, "kg m2", "board, moment of inertia about the vertical"] = 0.1,
    Jr: Annotated[float, "kg m2", "rotor, moment of inertia about the vertical"] = 0.3,
    mw: Annotated[float, "kg", "mass of each truck"] = 0.5,
    Jw: Annotated[float, "kg m2", "each truck, moment of inertia about the vertical"] = 0.01,
    l: Annotated[float, "m", "distance of each truck from the middle"] = 0.25,  # noqa: E741 - the paper's name
    rotor_amplitude: Annotated[float, "rad", "swing of the rotor"] = 0.7,
    rotor_frequency: Annotated[float, "Hz", "frequency of the rotor"] = 1.0,
    rotor_phase: Annotated[float, "rad", "phase of the rotor"] = 0.0,
    truck_amplitude: Annotated[
        float, "rad", "swing of the front truck; the rear one swings the other way"
    ] = 0.3,
    truck_frequency: Annotated[float, "Hz", "frequency of the trucks"] = 1.0,
    truck_phase: Annotated[float, "rad", "phase of the trucks"] = 0.0,
    drive: Literal["free", "sine"] = "free",
) -> Model:
    """Return the snakeboard in the plane; its joints are free, or swing by sines (`drive="sine"`).

    >>> [joint.name for joint in snakeboard(drive="sine").joints if joint.motion]
    ['rotor', 'rear_truck', 'front_truck']
    """
    up = (0.0, 0.0, 1.0)
    ahead = (1.0, 0.0, 0.0)
    middle = (0.0, 0.0, 0.0)
    rear = (-l, 0.0, 0.0)
    front = (l, 0.0, 0.0)
    turn = steer = back = None
    if drive == "sine":
        turn = sine(rotor_amplitude, rotor_frequency, rotor_phase)
        steer = sine(truck_amplitude, truck_frequency, truck_phase)
        back = sine(-truck_amplitude, truck_frequency, truck_phase)
    return Model(
        bodies=[
            Body("board", m, middle, flat_inertia(J)),
            Body("rotor", 0.0, middle, flat_inertia(Jr)),
            Body("rear_truck", mw, rear, flat_inertia(Jw)),
            Body("front_truck", mw, front, flat_inertia(Jw)),
        ],
        joints=[
            Revolute("rotor", "board", "rotor", up, middle, motion=turn),
            Revolute("rear_truck", "board", "rear_truck", up, rear, motion=back),
            Revolute("front_truck", "board", "front_truck", up, front, motion=steer),
        ],
        contacts=[
            Blade("rear", "rear_truck", rear, ahead),
            Blade("front", "front_truck", front, ahead),
        ],
        gravity=np.zeros(3),
        base="SE(2)",
        outputs=[forward_speed("board", middle, "velocity of the middle along the board")],
    )
