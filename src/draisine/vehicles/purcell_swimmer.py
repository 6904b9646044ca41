"""Purcell's swimmer: three hinged rods in a fluid at low Reynolds number, where inertia is
negligible.

Purcell (1977), doi:10.1119/1.10903. The forces of the fluid are in equilibrium at every instant.
The displacement depends on the path of the joint angles, not on the speed along it, and a
reciprocal motion causes no displacement (the scallop theorem).
`mechanics.connection.stokes_connection` computes its connection. Runs need a small mass, whose
effect decays within mass over drag seconds.
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
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def purcell_swimmer(
    *,
    length: Annotated[float, "m", "length of each rod"] = 1.0,
    drag: Annotated[float, "N s/m2", "drag per length along a rod"] = 1.0,
    ratio: Annotated[float, "1", "drag across over drag along, 2 for slender rods"] = 2.0,
    mass: Annotated[float, "kg", "mass of each rod"] = 0.001,
    rear: JointMotion | None = None,
    front: JointMotion | None = None,
) -> Model:
    """Return the swimmer, straight along x in the zero configuration with its middle rod at the
    origin.

    The hinges are free, or have prescribed motions.

    >>> purcell_swimmer().inputs
    ('rear', 'front')
    """
    along = drag * length
    across = ratio * drag * length
    fluid = (along, across, across * length * length / 12)
    moment = mass * length * length / 12
    return three_links(length, mass, moment, (0.0, 0.0, 0.0), fluid, rear, front)
