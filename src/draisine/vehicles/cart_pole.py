"""Cart-pole: a cart on a rail with an inverted pendulum hinged to it."""

from typing import Annotated

from draisine.model import Body, Model, Output, Prismatic, Revolute, inertia

SYMBOLS = {
    "spring": "k",
    "damper": "d",
    "cart": "x",
    "pole": r"\theta",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def cart_pole(
    *,
    mC: Annotated[float, "kg", "mass of the cart"] = 1.0,
    mP: Annotated[float, "kg", "mass of the pole"] = 0.1,
    l: Annotated[float, "m", "distance of the pole's mass centre from the hinge"] = 0.5,  # noqa: E741 - the usual name
    I: Annotated[  # noqa: E741 - the usual name
        float, "kg m2", "pole, central moment of inertia about the hinge's direction"
    ] = 0.01,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    spring: Annotated[float, "N/m", "spring that holds the cart at the middle of the rail"] = 0.0,
    damper: Annotated[float, "N s/m", "friction of the cart"] = 0.0,
) -> Model:
    """Return the cart, which slides along x, with its pole upright in the zero configuration.

    The angle of the pole is positive towards x.

    >>> cart_pole().inputs
    ('cart', 'pole')
    """
    top = (0.0, 0.0, l)
    return Model(
        bodies=[
            Body("rail"),
            Body("cart", mC),
            Body("pole", mP, top, inertia(I, I, 0.0)),
        ],
        joints=[
            Prismatic("cart", "rail", "cart", (1.0, 0.0, 0.0), spring=spring, damper=damper),
            Revolute("pole", "cart", "pole", (0.0, 1.0, 0.0)),
        ],
        gravity=(0.0, 0.0, -g),
        base="fixed",
        outputs=[
            Output(
                "height",
                lambda readings: readings.position("pole", top)[2],
                "m",
                "height of the pole's mass centre over the hinge",
            ),
        ],
    )
