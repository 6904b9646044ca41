"""Linear systems about steady motions and along runs, by exact differentiation of the equations of motion.

`contacts`: equations of motion of a vehicle with bilateral or unilateral contacts (`ContactSetup`).
`along_run`: equations of motion at the samples of a run.
`matrices`: matrices of a linear system from the derivatives of the equations of motion.
`cyclic`: coordinates that a linear system omits: cyclic ones, and those along symmetries of the ground.
`motions`: the public function `linearise`; linear systems about motions.
`state_space`: linear systems with named states, inputs and outputs; transfer functions.
"""

from draisine.analysis.linear.along_run import smooth_arcs
from draisine.analysis.linear.contacts import ContactSetup, set_on_ground
from draisine.analysis.linear.cyclic import (
    GROUND_COORDINATES,
    cyclic_coordinates,
    find_symmetric_states,
)
from draisine.analysis.linear.motions import (
    LINEARISATIONS,
    SYMMETRY_MARGIN,
    linear_systems,
    linearise,
)
from draisine.analysis.linear.state_space import (
    Linear,
    Transfer,
    convert_axes,
    find_connected_states,
)

__all__ = [
    "GROUND_COORDINATES",
    "LINEARISATIONS",
    "SYMMETRY_MARGIN",
    "ContactSetup",
    "Linear",
    "Transfer",
    "convert_axes",
    "cyclic_coordinates",
    "find_connected_states",
    "find_symmetric_states",
    "linear_systems",
    "linearise",
    "set_on_ground",
    "smooth_arcs",
]
