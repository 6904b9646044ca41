"""The bicycle: `whipple`; `_forms`: published forms of its parameters; `_tape_measure`: its own;
`_thesis`: its equations on paper; `_outputs`: what people ask of it; `_rider`: upper body, arms and legs;
`_flexible`: what gives.
"""

from draisine.vehicles.bicycle._flexible import Flexible
from draisine.vehicles.bicycle._forms import BENCHMARK, THESIS, from_thesis, to_thesis
from draisine.vehicles.bicycle._rider import Arms, Legs, Seat
from draisine.vehicles.bicycle._tape_measure import from_tape_measure

__all__ = [
    "BENCHMARK",
    "THESIS",
    "Arms",
    "Flexible",
    "Legs",
    "Seat",
    "from_tape_measure",
    "from_thesis",
    "to_thesis",
]
