"""Purcell's swimmer: three hinged rods in a fluid so thick that inertia counts for nothing.

Purcell (1977), doi:10.1119/1.10903. The forces of the fluid balance at every instant: where it gets
depends on the path of its shape, not on how fast it goes through it, and a motion that is its own
reverse leads nowhere (the scallop theorem). `mechanics.connection.stokes` gives its connection; runs
need a little mass, which is forgotten within mass over drag seconds.
"""

from typing import Annotated

from draisine.model import JointMotion, Model
from draisine.vehicles._three_links import three_links

SYMBOLS = {
    "length": "L",
    "drag": "k_t",
    "ratio": "k_n/k_t",
    "mass": "m",
    "rear": r"\phi_b",
    "front": r"\phi_f",
}
"""LaTeX symbols of parameters and joints; the others follow by rule."""


def purcell_swimmer(
    *,
    length: Annotated[float, "m", "length of each rod"] = 1.0,
    drag: Annotated[float, "N s/m2", "drag per length along a rod"] = 1.0,
    ratio: Annotated[float, "1", "drag across over drag along, 2 for slender rods"] = 2.0,
    mass: Annotated[float, "kg", "mass of each rod"] = 0.001,
    rear: JointMotion | None = None,
    front: JointMotion | None = None,
) -> Model:
    """Return the swimmer, drawn straight along x with its middle rod at the origin; its hinges are
    free, or move as prescribed.

    >>> purcell_swimmer().inputs
    ('rear', 'front')
    """
    along = drag * length
    across = ratio * drag * length
    fluid = (along, across, across * length * length / 12)
    moment = mass * length * length / 12
    return three_links(length, mass, moment, (0.0, 0.0, 0.0), fluid, rear, front)
