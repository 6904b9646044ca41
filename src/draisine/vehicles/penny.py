"""A penny that stands upright and rolls: the vertical disc of the textbooks.

It rolls where it heads and turns about the vertical; both freedoms live for themselves,
`(J + m R^2) roll'' = torque` and `I yaw'' = torque` (Bloch 2003, doi:10.1007/b97376).
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
    """Return the penny in the plane. A torque about the axle acts in the joint `roll`, one about the
    vertical by the pushes `toe.y` and `heel.y` half a metre ahead and behind, across the heading.

    >>> penny().speeds
    ('Vx', 'Vy', 'Wz', 'roll_rate')
    """
    hub, axle = (0.0, 0.0, R), (0.0, 1.0, 0.0)
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
