"""Whether a run is physically valid, and when a machine has fallen.

`record`: the record that every run has. `assess`: how it is computed from the dense output of a run.
`fall`: the rule by which every run stops. `margins`: when a margin becomes negative.
"""

from draisine.simulation.validity.record import EXPECTABLE, Validity

__all__ = ["EXPECTABLE", "Validity"]
