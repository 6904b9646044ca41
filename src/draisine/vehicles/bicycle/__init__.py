"""The bicycle: `whipple`; `_forms`: published forms of its parameters; `_tape_measure`: its own;
`_thesis`: its equations on paper; `_outputs`: what people ask of it; `_rider`: upper body, arms and legs;
`_flexible`: what gives; `_files`: files of BicycleParameters, `_other_forms`:
Moore's and JBike6's, `_errata`: what is wrong in published ones.
"""

from draisine.vehicles.bicycle._files import from_values, read_bicycle
from draisine.vehicles.bicycle._flexible import Flexible
from draisine.vehicles.bicycle._forms import BENCHMARK, THESIS, from_thesis, to_thesis
from draisine.vehicles.bicycle._rider import Arms, Legs, Seat
from draisine.vehicles.bicycle._tape_measure import (
    from_tape_measure,
    tape_measure_covariance,
)

__all__ = [
    "BENCHMARK",
    "THESIS",
    "Arms",
    "Flexible",
    "Legs",
    "Seat",
    "from_tape_measure",
    "from_thesis",
    "from_values",
    "read_bicycle",
    "tape_measure_covariance",
    "to_thesis",
]
