"""A swimmer of three hinged links in the plane, in a fluid that has inertia and, if wanted, drag.

After Kanso, Marsden, Rowley and Melli-Huber, Journal of Nonlinear Science 15 (2005) 255-289, with
links that do not feel each other through the fluid. Without drag, the momentum of body and fluid
together stays what it was; with much drag and little mass it is Purcell's swimmer.
"""

from typing import Literal

import numpy as np

from draisine.algebra.lie import hat
from draisine.algebra.scalar import Array, Scalar, array
from draisine.model import Body, Model, Output, Revolute, inertia
from draisine.model.motion import sine

MEANING = {
    "length": ("m", "length of each link"),
    "mass": ("kg", "mass of each link"),
    "added_along": ("kg", "added mass of each link along it"),
    "added_across": ("kg", "added mass of each link across it"),
    "added_turning": ("kg m2", "added moment of inertia of each link"),
    "drag_along": ("N s/m", "drag of each link along it"),
    "drag_across": ("N s/m", "drag of each link across it"),
    "drag_turning": ("N m s", "drag of each link against turning"),
    "amplitude": ("rad", "swing of both hinges"),
    "frequency": ("Hz", "frequency of both hinges"),
    "lag": ("rad", "how far the rear hinge lags behind the front one"),
}
"""Unit and meaning of every parameter; the swings are those of `drive="sine"`."""

SYMBOLS = {
    "length": "l",
    "mass": "m",
    "added_along": "m_a",
    "added_across": "m_c",
    "added_turning": "J_a",
    "drag_along": "d_a",
    "drag_across": "d_c",
    "drag_turning": "d_t",
    "amplitude": "A",
    "frequency": "f",
    "lag": r"\beta",
    "rear": r"\phi_b",
    "front": r"\phi_f",
}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def swimmer(
    *,
    length: float = 0.2,
    mass: float = 0.5,
    added_along: float = 0.05,
    added_across: float = 0.6,
    added_turning: float = 0.0015,
    drag_along: float = 0.0,
    drag_across: float = 0.0,
    drag_turning: float = 0.0,
    amplitude: float = 0.6,
    frequency: float = 1.0,
    lag: float = 1.2,
    drive: Literal["free", "sine"] = "free",
) -> Model:
    """Return the swimmer, drawn straight along x with the middle link at the origin; `MEANING` tells
    what each parameter is.

    >>> swimmer().speeds
    ('Vx', 'Vy', 'Wz', 'rear_rate', 'front_rate')
    """
    moment = mass * length * length / 12
    names = {"middle": 0.0, "rear": -length, "front": length}
    up = (0.0, 0.0, 1.0)
    front = rear = None
    if drive == "sine":
        front, rear = sine(amplitude, frequency), sine(-amplitude, frequency, -lag)
    return Model(
        bodies=[
            Body(
                name,
                mass,
                (x, 0.0, 0.0),
                inertia(0.0, moment, moment),
                added=_about_origin(x, added_along, added_across, added_turning),
                drag=_about_origin(x, drag_along, drag_across, drag_turning),
            )
            for name, x in names.items()
        ],
        joints=[
            Revolute("rear", "middle", "rear", up, (-length / 2, 0.0, 0.0), motion=rear),
            Revolute("front", "middle", "front", up, (length / 2, 0.0, 0.0), motion=front),
        ],
        gravity=np.zeros(3),
        base="SE(2)",
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("middle", (0.0, 0.0, 0.0)),
                "m/s",
                "velocity of the middle link along itself",
            ),
        ],
    )


def _about_origin(x: Scalar, along: Scalar, across: Scalar, turning: Scalar) -> Array:
    """Return the 6x6 fluid matrix about the drawing's origin of a link whose middle is at x: `X' A
    X`, where X takes a twist at the origin to one at x.
    """
    A = np.zeros((6, 6), dtype=object)
    A[0, 0], A[1, 1], A[5, 5] = along, across, turning
    X = np.eye(6).astype(object)
    X[:3, 3:] = -hat(array([x, 0.0, 0.0]))
    return array(X.T @ array(A) @ X)
