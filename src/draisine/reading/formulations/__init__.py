"""Pages of equations of the formulations other than the projected one, each in its own coordinates.

`write_formulation` selects the page by the name of the formulation:

- `multiplier`: the saddle-point system in the speeds of the projected equations
- `absolute`: Newton and Euler for each body, joints and contacts as constraints (Schwab)
- `partitioned`: nine coordinates, Lagrange's equations of the first kind (Escalona and Recuero)
- `planar`: the bicycle on SE(2) x S (thesis of Mauny, remarks 2.10 to 2.12)

`_given` names the coordinates, speeds, inputs and parameters of a page.
"""

from draisine.errors import expect_known
from draisine.reading.document import Equations
from draisine.reading.formulations.absolute import write_absolute
from draisine.reading.formulations.multiplier import write_multiplier
from draisine.reading.formulations.partitioned import write_partitioned
from draisine.reading.formulations.planar import write_planar
from draisine.reading.subject import Subject

PAGES = {
    "absolute": write_absolute,
    "multiplier": write_multiplier,
    "partitioned": write_partitioned,
    "planar": write_planar,
}
"""Functions that write the page of a formulation, by its name."""


def write_formulation(subject: Subject, formulation: str, title: str) -> Equations:
    """Return the printed equations of a formulation other than the projected one.

    Raises
    ------
    ParameterError
        The formulation has no page.
    """
    expect_known("No page of equations for the formulation", formulation, PAGES)
    return PAGES[formulation](subject, title)
