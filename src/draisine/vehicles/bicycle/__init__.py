"""The bicycle: `whipple`; `_forms`: published forms of its parameters; `_tape_measure`: its own;
`_thesis`: its equations on paper.
"""

from draisine.vehicles.bicycle._forms import BENCHMARK, THESIS, from_thesis, to_thesis
from draisine.vehicles.bicycle._tape_measure import from_tape_measure

__all__ = ["BENCHMARK", "THESIS", "from_tape_measure", "from_thesis", "to_thesis"]
