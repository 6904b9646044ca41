"""A cart on a rail with a pole hinged to it: the inverted pendulum of every control course."""

from draisine.model import Body, Model, Output, Prismatic, Revolute, inertia

MEANING = {
    "mC": ("kg", "mass of the cart"),
    "mP": ("kg", "mass of the pole"),
    "l": ("m", "distance of the pole's mass centre from the hinge"),
    "I": ("kg m2", "pole, central moment of inertia about the hinge's direction"),
    "g": ("m/s2", "gravity"),
    "spring": ("N/m", "spring that holds the cart at the middle of the rail"),
    "damper": ("N s/m", "friction of the cart"),
}
"""Unit and meaning of every parameter."""

SYMBOLS = {
    "spring": "k",
    "damper": "d",
    "cart": "x",
    "pole": r"\theta",
}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def cart_pole(
    *,
    mC: float = 1.0,
    mP: float = 0.1,
    l: float = 0.5,  # noqa: E741 - the usual name
    I: float = 0.01,  # noqa: E741 - the usual name
    g: float = 9.81,
    spring: float = 0.0,
    damper: float = 0.0,
) -> Model:
    """Return the cart, which slides along x, with its pole drawn upright; the pole's angle grows
    towards x. `MEANING` tells what each parameter is.

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
