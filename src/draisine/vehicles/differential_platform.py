"""Platform on two driven wheels with a common axle, in the plane.

Both wheels prevent the same lateral slip, so that three of the four constraint rows are
independent. The rates of the wheels determine the motion, `V = r (right + left) / 2`, `W = r (right
- left) / track`: a kinematic connection (Mauny 2018, section 1.5).
"""

from typing import Annotated

from draisine.model import (
    Body,
    JointMotion,
    Model,
    Revolute,
    Wheel,
    flat_inertia,
    forward_speed,
    inertia,
)

SYMBOLS = {"radius": "r", "track": "w", "left": r"\phi_l", "right": r"\phi_r"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def differential_platform(
    *,
    radius: Annotated[float, "m", "radius of the wheels"] = 0.1,
    track: Annotated[float, "m", "distance of the wheels"] = 0.5,
    m: Annotated[float, "kg", "mass of the platform"] = 8.0,
    I: Annotated[float, "kg m2", "platform, central moment of inertia about the vertical"] = 0.4,  # noqa: E741 - the field's name
    x: Annotated[float, "m", "distance of its mass centre ahead of the axle"] = 0.05,
    mW: Annotated[float, "kg", "mass of each wheel"] = 0.5,
    Ia: Annotated[float, "kg m2", "each wheel, moment of inertia about the axle"] = 0.0025,
    Id: Annotated[float, "kg m2", "each wheel, moment of inertia about a diameter"] = 0.00125,
    left: JointMotion | None = None,
    right: JointMotion | None = None,
) -> Model:
    """Return the platform; the wheels are driven by torques or have a prescribed motion.

    >>> differential_platform().inputs
    ('left', 'right')
    """
    axle = (0.0, 1.0, 0.0)
    middle = (0.0, 0.0, radius)
    hubs = {"left": (0.0, track / 2, radius), "right": (0.0, -track / 2, radius)}
    motions = {"left": left, "right": right}
    return Model(
        bodies=[
            Body("platform", m, (x, 0.0, radius), flat_inertia(I)),
            *(Body(side, mW, hub, inertia(Id, Ia, Id)) for side, hub in hubs.items()),
        ],
        joints=[
            Revolute(side, "platform", side, axle, hub, motion=motions[side])
            for side, hub in hubs.items()
        ],
        contacts=[Wheel(side, side, hub, axle, radius, lifts=False) for side, hub in hubs.items()],
        base="SE(2)",
        outputs=[
            forward_speed("platform", middle, "velocity of the axle's middle along the heading")
        ],
    )
