"""Trikke in the plane: a frame on two wheeled feet and a steered front wheel, propelled by a
swaying rider.

After Chitta, Cheng, Frazzoli and Kumar (2005), doi:10.1109/ROBOT.2005.1570173, simplified. Both
feet prevent lateral slip. Two of the three constraint rows are independent: always with straight
feet, and with steered feet if the front wheel has no trail.
"""

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from draisine.algebra.scalar import Scalar, atan2, cos, sin
from draisine.model import Blade, Body, Model, Revolute, flat_inertia, forward_speed
from draisine.model.motion import follow_joint, sine

SYMBOLS = {
    "front_amplitude": "A_f",
    "rider_amplitude": "A_r",
    "frequency": "f",
    "rider_phase": r"\eta",
    "kappa": r"\kappa",
    "front": r"\delta",
    "rider": r"\rho",
    "left_foot": r"\delta_l",
    "right_foot": r"\delta_r",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def trikke(
    *,
    mf: Annotated[float, "kg", "mass of the frame"] = 8.0,
    If: Annotated[float, "kg m2", "frame, central moment of inertia about the vertical"] = 0.6,
    xf: Annotated[float, "m", "distance of its mass centre ahead of the rear axle"] = 0.35,
    b: Annotated[float, "m", "distance of each foot from the middle"] = 0.25,
    mw: Annotated[float, "kg", "mass of each foot"] = 0.6,
    Iw: Annotated[float, "kg m2", "each foot, moment of inertia about the vertical"] = 0.004,
    L: Annotated[float, "m", "distance of the steering axis ahead of the rear axle"] = 0.9,
    mk: Annotated[float, "kg", "mass of the front fork, at its wheel"] = 2.0,
    Ik: Annotated[float, "kg m2", "fork, central moment of inertia about the vertical"] = 0.03,
    c: Annotated[float, "m", "trail: distance of the front wheel behind the steering axis"] = 0.05,
    mr: Annotated[float, "kg", "mass of the rider"] = 20.0,
    Ir: Annotated[float, "kg m2", "rider, central moment of inertia about the vertical"] = 0.5,
    xr: Annotated[float, "m", "distance of the rider's axis ahead of the rear axle"] = 0.25,
    h: Annotated[float, "m", "distance of the rider's mass centre ahead of that axis"] = 0.15,
    front_amplitude: Annotated[float, "rad", "swing of the front fork"] = 0.35,
    rider_amplitude: Annotated[float, "rad", "swing of the rider"] = 0.5,
    frequency: Annotated[float, "Hz", "frequency of both"] = 1.0,
    rider_phase: Annotated[float, "rad", "how far the rider is ahead of the fork"] = 0.6,
    kappa: Annotated[float, "1", "how much the feet steer against the fork"] = 0.0,
    drive: Literal["free", "sine"] = "sine",
) -> Model:
    """Return the trikke, straight in the zero configuration with the middle of its rear axle at the
    origin.

    The joints are free. With `drive="sine"`, fork and rider swing by sines while the feet steer so
    that all axles meet in one point.

    >>> [contact.name for contact in trikke().contacts]
    ['left', 'right', 'front']
    """
    up = (0.0, 0.0, 1.0)
    ahead = (1.0, 0.0, 0.0)
    sides = {"left": b, "right": -b}
    hinge = (L, 0.0, 0.0)
    blade = (L - c, 0.0, 0.0)
    front = rider = None
    feet = dict.fromkeys(sides, None)
    if drive == "sine":
        front = sine(front_amplitude, frequency)
        rider = sine(rider_amplitude, frequency, rider_phase)
        feet = {
            side: follow_joint(front, _make_foot_linkage(L, y, kappa)) for side, y in sides.items()
        }
    return Model(
        bodies=[
            Body("frame", mf, (xf, 0.0, 0.0), flat_inertia(If)),
            *(
                Body(f"{side}_foot", mw, (0.0, y, 0.0), flat_inertia(Iw))
                for side, y in sides.items()
            ),
            Body("fork", mk, blade, flat_inertia(Ik)),
            Body("rider", mr, (xr + h, 0.0, 0.0), flat_inertia(Ir)),
        ],
        joints=[
            *(
                Revolute(f"{s}_foot", "frame", f"{s}_foot", up, (0.0, y, 0.0), motion=feet[s])
                for s, y in sides.items()
            ),
            Revolute("front", "frame", "fork", up, hinge, motion=front),
            Revolute("rider", "frame", "rider", up, (xr, 0.0, 0.0), motion=rider),
        ],
        contacts=[
            *(Blade(side, f"{side}_foot", (0.0, y, 0.0), ahead) for side, y in sides.items()),
            Blade("front", "fork", blade, ahead),
        ],
        gravity=np.zeros(3),
        base="SE(2)",
        outputs=[
            forward_speed(
                "frame", (0.0, 0.0, 0.0), "velocity of the rear axle's middle along the heading"
            )
        ],
    )


def _make_foot_linkage(L: Scalar, y: Scalar, kappa: Scalar) -> Callable[[Scalar], Scalar]:
    """Return the function from the front steering angle to the angle of the foot at lateral offset y (m).

    All axles meet in one point. The middle of the rear axle steers by e = -kappa front, so that
    `tan(foot) = L tan e / (L - y (tan front - tan e))`.
    """

    def foot_angle(steer_angle: Scalar) -> Scalar:
        """Return the angle of the foot (rad) for the steer angle of the front wheel (rad)."""
        e = -kappa * steer_angle
        tan_e = sin(e) / cos(e)
        tan_front = sin(steer_angle) / cos(steer_angle)
        return atan2(L * tan_e, L - y * (tan_front - tan_e))

    return foot_angle
