"""The Whipple bicycle, `whipple`, and its parameters.

`_outputs` has its output quantities, `_rider` the upper body, arms and legs, `_flexible` compliant parts.
Parameters: `_forms` (two published forms), `_other_forms` (Moore's and JBike6's), `_files` (files of
BicycleParameters), `_errata` (known errors in published values), `_tape_measure` (estimates from simple
measurements). `_thesis` is the notation of the thesis for equations to read.
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
