"""Several laws at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.readings import Readings, call_law, law_start, law_states


@dataclass(frozen=True)
class CombinedLaws:
    """Laws that act at the same time: their inputs add up, their states follow one another."""

    laws: tuple[Any, ...]

    @property
    def states(self) -> int:
        """How many states all laws have."""
        return sum(law_states(law) for law in self.laws)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """All times at which one of the laws may jump."""
        return tuple(sorted({t for law in self.laws for t in getattr(law, "breakpoints", ())}))

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states of all laws, `z[k]` if a law has none."""
        names: list[str] = []
        for law in self.laws:
            count = law_states(law)
            names += getattr(law, "state_names", [f"z[{len(names) + k}]" for k in range(count)])
        return tuple(names)

    def start_at(self, x: float, y: float, yaw: float) -> Array:
        """Return the states at the start, those of one law after those of the other."""
        parts = [law_start(law, x, y, yaw) for law in self.laws]
        return np.concatenate([np.zeros(0), *parts])

    def __call__(
        self, readings: Readings, z: Array
    ) -> tuple[dict[str, Scalar], tuple[Scalar, ...]]:
        """Return the sum of all inputs, and the rates of all states."""
        given: dict[str, Scalar] = {}
        rates: list[Scalar] = []
        for law in self.laws:
            count = law_states(law)
            inputs, own = call_law(law, readings, z[len(rates) : len(rates) + count])
            rates += list(own)
            for name, value in inputs.items():
                given[name] = given[name] + value if name in given else value
        return given, tuple(rates)
