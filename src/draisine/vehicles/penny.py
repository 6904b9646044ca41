"""Penny: a vertical disc that rolls along its heading and turns about the vertical.

The two degrees of freedom are decoupled, `(J + m R^2) roll'' = torque` and `I yaw'' = torque`
(Bloch 2003, doi:10.1007/b97376).
"""

from typing import Annotated

from draisine.model import Body, Force, Model, Revolute, Wheel, inertia


def penny(
    *,
    m: Annotated[float, "kg", "mass"] = 0.5,
    R: Annotated[float, "m", "radius"] = 0.1,
    J: Annotated[float, "kg m2", "moment of inertia about the axle"] = 0.0025,
    I: Annotated[float, "kg m2", "moment of inertia about a diameter"] = 0.00125,  # noqa: E741 - the usual name
) -> Model:
    """Return the penny, a planar model with one rolling joint.

    A torque about the axle acts on the joint `roll`. A torque about the vertical is applied by the
    lateral forces `toe.y` and `heel.y`, half a metre ahead and behind.

    >>> penny().speeds
    ('Vx', 'Vy', 'Wz', 'roll_rate')
    """
    hub = (0.0, 0.0, R)
    axle = (0.0, 1.0, 0.0)
    return Model(
        bodies=[Body("upright", 0.0), Body("penny", m, hub, inertia(I, J, I))],
        joints=[Revolute("roll", "upright", "penny", axle, hub)],
        contacts=[Wheel("ground", "penny", hub, axle, R, lifts=False)],
        forces=[
            Force("toe", "upright", (0.5, 0.0, 0.0), "body"),
            Force("heel", "upright", (-0.5, 0.0, 0.0), "body"),
        ],
        base="SE(2)",
    )
