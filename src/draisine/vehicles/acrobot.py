"""Acrobot: a double pendulum that hangs from a bar and is driven at the hip only.

Spong (1995), doi:10.1109/37.341864.
"""

from typing import Annotated

from draisine.model import Body, Model, Output, Revolute, inertia

SYMBOLS = {
    "lc1": "c_1",
    "lc2": "c_2",
    "bar": r"\theta_1",
    "hip": r"\theta_2",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def acrobot(
    *,
    m1: Annotated[float, "kg", "mass of the trunk"] = 1.0,
    m2: Annotated[float, "kg", "mass of the legs"] = 1.0,
    l1: Annotated[float, "m", "distance from the bar to the hip"] = 1.0,
    l2: Annotated[float, "m", "distance from the hip to the toes"] = 2.0,
    lc1: Annotated[float, "m", "distance of the trunk's mass centre from the bar"] = 0.5,
    lc2: Annotated[float, "m", "distance of the legs' mass centre from the hip"] = 1.0,
    I1: Annotated[float, "kg m2", "trunk, central moment of inertia"] = 0.083,
    I2: Annotated[float, "kg m2", "legs, central moment of inertia"] = 0.33,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return the acrobot, hanging straight down from a bar at the origin in the zero configuration.

    >>> [joint.name for joint in acrobot().joints]
    ['bar', 'hip']
    """
    axis = (0.0, 1.0, 0.0)
    toes = (0.0, 0.0, -l1 - l2)
    return Model(
        bodies=[
            Body("rack"),
            Body("trunk", m1, (0.0, 0.0, -lc1), inertia(I1, I1, 0.0)),
            Body("legs", m2, (0.0, 0.0, -l1 - lc2), inertia(I2, I2, 0.0)),
        ],
        joints=[
            Revolute("bar", "rack", "trunk", axis),
            Revolute("hip", "trunk", "legs", axis, (0.0, 0.0, -l1)),
        ],
        gravity=(0.0, 0.0, -g),
        base="fixed",
        outputs=[
            Output(
                "toe_height",
                lambda readings: readings.position("legs", toes)[2],
                "m",
                "height of the toes over the bar",
            ),
        ],
    )
