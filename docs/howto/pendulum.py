"""A mathematical pendulum."""

from draisine.model import Body, Model, Revolute

MEANING = {
    "length": ("m", "from the hinge to the bob"),
    "mass": ("kg", "of the bob"),
    "g": ("m/s2", "gravity"),
}


def pendulum(*, length: float = 1.0, mass: float = 2.0, g: float = 9.81) -> Model:
    """Return a bob below a hinge; it swings about the y axis."""
    return Model(
        bodies=[Body("ceiling"), Body("bob", mass, (0.0, 0.0, -length))],
        joints=[Revolute("hinge", "ceiling", "bob", (0.0, 1.0, 0.0))],
        gravity=(0.0, 0.0, -g),
        base="fixed",
    )
