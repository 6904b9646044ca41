"""A mathematical pendulum."""

from typing import Annotated

from draisine.model import Body, Model, Revolute


def pendulum(
    *,
    length: Annotated[float, "m", "from the hinge to the bob"] = 1.0,
    mass: Annotated[float, "kg", "of the bob"] = 2.0,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return a bob below a hinge; it swings about the y axis."""
    return Model(
        bodies=[Body("ceiling"), Body("bob", mass, (0.0, 0.0, -length))],
        joints=[Revolute("hinge", "ceiling", "bob", (0.0, 1.0, 0.0))],
        gravity=(0.0, 0.0, -g),
        base="fixed",
    )
