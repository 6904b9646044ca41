"""Physical validity of a run: normal forces, friction limits, drift of energy and constraints, falls.

- `record`: the record `Validity` of every run.
- `assess`: computation of this record from the dense output of a run.
- `fall`: conditions under which a vehicle has fallen and a run stops.
- `observed`: variables of arcs at the nodes of their dense output.
- `margins`: times at which a margin becomes negative.
"""

from draisine.simulation.validity.record import EXPECTABLE, Validity

__all__ = ["EXPECTABLE", "Validity"]
