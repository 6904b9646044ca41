"""The Whipple bicycle: frame with rider, fork, two wheels that roll without slipping."""

import math

from draisine.model import Body, Model, Output, Revolute, Wheel, inertia
from draisine.scalar import cos, sin


def whipple(
    *,
    w: float = 1.02,
    c: float = 0.08,
    lam: float = math.pi / 10,
    g: float = 9.81,
    rR: float = 0.3,
    mR: float = 2.0,
    IRxx: float = 0.0603,
    IRyy: float = 0.12,
    xB: float = 0.3,
    zB: float = -0.9,
    mB: float = 85.0,
    IBxx: float = 9.2,
    IByy: float = 11.0,
    IBzz: float = 2.8,
    IBxz: float = 2.4,
    xH: float = 0.9,
    zH: float = -0.7,
    mH: float = 4.0,
    IHxx: float = 0.05892,
    IHyy: float = 0.06,
    IHzz: float = 0.00708,
    IHxz: float = -0.00756,
    rF: float = 0.35,
    mF: float = 3.0,
    IFxx: float = 0.1405,
    IFyy: float = 0.28,
) -> Model:
    """Return the bicycle."""
    up = (-sin(lam), 0.0, cos(lam))
    left = (0.0, 1.0, 0.0)
    rear, front = (0.0, 0.0, rR), (w, 0.0, rF)
    return Model(
        bodies=[
            Body("frame", mB, (xB, 0.0, -zB), inertia(IBxx, IByy, IBzz, xz=-IBxz)),
            Body("fork", mH, (xH, 0.0, -zH), inertia(IHxx, IHyy, IHzz, xz=-IHxz)),
            Body("rear_wheel", mR, rear, inertia(IRxx, IRyy, IRxx)),
            Body("front_wheel", mF, front, inertia(IFxx, IFyy, IFxx)),
        ],
        joints=[
            Revolute("steer", "frame", "fork", up, (w + c, 0.0, 0.0)),
            Revolute("rear_wheel", "frame", "rear_wheel", left, rear),
            Revolute("front_wheel", "fork", "front_wheel", left, front),
        ],
        contacts=[
            Wheel("rear", "rear_wheel", rear, left, rR),
            Wheel("front", "front_wheel", front, left, rF),
        ],
        gravity=(0.0, 0.0, -g),
        outputs=[
            Output(
                "forward_speed",
                lambda view: view.heading @ view.velocity("frame", rear),
                "m/s",
                "velocity of the rear hub along the heading",
            ),
            Output(
                "rear_wheel_speed",
                lambda view: rR * view.rate("rear_wheel"),
                "m/s",
                "rear radius times the rear wheel's rate",
            ),
        ],
    )
