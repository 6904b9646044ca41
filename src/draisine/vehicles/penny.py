"""A penny that stands upright and rolls: the vertical disc of the textbooks.

It rolls where it heads and turns about the vertical; both freedoms live for themselves,
`(J + m R^2) roll'' = torque` and `I yaw'' = torque` (Bloch 2003, doi:10.1007/b97376).
"""

from draisine.model import Body, Force, Model, Revolute, Wheel, inertia

MEANING = {
    "m": ("kg", "mass"),
    "R": ("m", "radius"),
    "J": ("kg m2", "moment of inertia about the axle"),
    "I": ("kg m2", "moment of inertia about a diameter"),
}
"""Unit and meaning of every parameter."""


def penny(
    *,
    m: float = 0.5,
    R: float = 0.1,
    J: float = 0.0025,
    I: float = 0.00125,  # noqa: E741 - the usual name
) -> Model:
    """Return the penny in the plane. A torque about the axle acts in the joint `roll`, one about the
    vertical by the pushes `toe.y` and `heel.y` half a metre ahead and behind, across the heading.
    `MEANING` tells what each parameter is.

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
