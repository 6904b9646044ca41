"""The Whipple bicycle, `whipple`, and its parameters.

`_outputs`: output quantities of a bicycle.
`_rider`: upper body, arms and legs of the rider.
`_stance`: rider who stands on the pedals.
`_flexible`: compliant parts.
`_forms`: the two published forms of the parameters.
`_other_forms`: Moore's and JBike6's forms of the parameters.
`_files`: reader of BicycleParameters files.
`_errata`: warnings about known errors in published values.
`_tape_measure`: estimates of the parameters from simple measurements.
`_thesis`: the notation of Mauny's thesis (2018) for printed equations.
"""

from draisine.vehicles.bicycle._files import from_values, read_bicycle
from draisine.vehicles.bicycle._flexible import Flexible
from draisine.vehicles.bicycle._forms import BENCHMARK, THESIS, from_thesis, to_thesis
from draisine.vehicles.bicycle._rider import Arms, Legs, Seat
from draisine.vehicles.bicycle._stance import STANCE_JOINTS, Stance
from draisine.vehicles.bicycle._tape_measure import (
    from_tape_measure,
    tape_measure_covariance,
)

__all__ = [
    "BENCHMARK",
    "STANCE_JOINTS",
    "THESIS",
    "Arms",
    "Flexible",
    "Legs",
    "Seat",
    "Stance",
    "from_tape_measure",
    "from_thesis",
    "from_values",
    "read_bicycle",
    "tape_measure_covariance",
    "to_thesis",
]
