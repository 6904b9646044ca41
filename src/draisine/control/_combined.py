"""Sum of several control laws: inputs are added, states are concatenated."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.readings import Readings, call_law, law_start, law_states


@dataclass(frozen=True)
class CombinedLaws:
    """Control law that adds the inputs of several control laws and concatenates their states.

    Parameters
    ----------
    laws
        The control laws, in the order of their states.
    """

    laws: tuple[Any, ...]

    @property
    def states(self) -> int:
        """Number of states of all control laws."""
        return sum(law_states(law) for law in self.laws)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times (s) at which the output of a control law may be discontinuous."""
        return tuple(sorted({t for law in self.laws for t in getattr(law, "breakpoints", ())}))

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states of all control laws; `z[k]` for control laws without names."""
        names: list[str] = []
        for law in self.laws:
            count = law_states(law)
            names += getattr(law, "state_names", [f"z[{len(names) + k}]" for k in range(count)])
        return tuple(names)

    def start_at(self, x: float, y: float, yaw: float) -> Array:
        """Return the initial states for a position (m) and yaw (rad) of the vehicle."""
        starts = [law_start(law, x, y, yaw) for law in self.laws]
        return np.concatenate([np.zeros(0), *starts])

    def __call__(
        self, readings: Readings, z: Array
    ) -> tuple[dict[str, Scalar], tuple[Scalar, ...]]:
        """Return the inputs, summed over all laws, and the rates of the states of all laws."""
        total: dict[str, Scalar] = {}
        rates: list[Scalar] = []
        for law in self.laws:
            count = law_states(law)
            inputs, law_rates = call_law(law, readings, z[len(rates) : len(rates) + count])
            rates += list(law_rates)
            for name, value in inputs.items():
                total[name] = total[name] + value if name in total else value
        return total, tuple(rates)
