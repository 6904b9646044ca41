"""Purcell's swimmer: three hinged rods in a fluid so thick that inertia counts for nothing.

Purcell (1977), doi:10.1119/1.10903. The forces of the fluid balance at every instant: where it gets
depends on the path of its shape, not on how fast it goes through it, and a motion that is its own
reverse leads nowhere (the scallop theorem). `mechanics.connection.stokes` gives its connection; runs
need a little mass, which is forgotten within mass over drag seconds.
"""

from draisine.model import JointMotion, Model
from draisine.vehicles._three_links import three_links

MEANING = {
    "length": ("m", "length of each rod"),
    "drag": ("N s/m2", "drag per length along a rod"),
    "ratio": ("1", "drag across over drag along, 2 for slender rods"),
    "mass": ("kg", "mass of each rod"),
}
"""Unit and meaning of every parameter."""

SYMBOLS = {
    "length": "L",
    "drag": "k_t",
    "ratio": "k_n/k_t",
    "mass": "m",
    "rear": r"\phi_b",
    "front": r"\phi_f",
}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def purcell_swimmer(
    *,
    length: float = 1.0,
    drag: float = 1.0,
    ratio: float = 2.0,
    mass: float = 0.001,
    rear: JointMotion | None = None,
    front: JointMotion | None = None,
) -> Model:
    """Return the swimmer, drawn straight along x with its middle rod at the origin; its hinges are
    free, or move as prescribed. `MEANING` tells what each parameter is.

    >>> purcell_swimmer().inputs
    ('rear', 'front')
    """
    along, across = drag * length, ratio * drag * length
    fluid = (along, across, across * length * length / 12)
    moment = mass * length * length / 12
    return three_links(length, mass, moment, (0.0, 0.0, 0.0), fluid, rear, front)
