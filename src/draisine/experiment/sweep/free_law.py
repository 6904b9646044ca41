"""Laws whose numbers differ from run to run: such a number is a state of the law that stays what it is
at the start, so that machines side by side share one code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar
from draisine.control._combined import CombinedLaws
from draisine.control._signals.time_inputs import TimeInputs
from draisine.errors import DraisineError
from draisine.mechanics.readings import Readings, call_law, law_start, law_states
from draisine.scenario.overrides import key_parts


@dataclass(frozen=True)
class FreeLaw:
    """The laws and inputs of a scenario, with the numbers at some key paths as states that follow their
    own ones.
    """

    law: Any
    paths: tuple[str, ...]

    @property
    def states(self) -> int:
        """How many states there are: those of the laws, and one for each number."""
        return law_states(self.law) + len(self.paths)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """When the laws may jump."""
        return tuple(getattr(self.law, "breakpoints", ()))

    def start_at(self, x: float, y: float, yaw: float) -> Floats:
        """Return the states at the start, with the numbers that stand in the scenario."""
        stands = [getattr(*_place(self.law, path)[:2]) for path in self.paths]
        return np.concatenate([law_start(self.law, x, y, yaw), stands])

    def __call__(
        self, readings: Readings, z: Array
    ) -> tuple[Mapping[str, Any], tuple[Scalar, ...]]:
        """Return what the laws give with the numbers that their last states are; these stay."""
        count = law_states(self.law)
        law = with_numbers(self.law, dict(zip(self.paths, z[count:], strict=True)))
        inputs, rates = call_law(law, readings, z[:count])
        return inputs, (*rates, *(0.0 for _ in self.paths))


def with_numbers(law: Any, numbers: Mapping[str, Any]) -> Any:
    """Return the law of a scenario with other numbers at some key paths.

    >>> from draisine.control.steer_into_lean import SteerIntoLean
    >>> with_numbers(SteerIntoLean(1.0, 2.0), {"law[0].rate_gain": 5.0}).rate_gain
    5.0
    """
    for path, x in numbers.items():
        part, name, within = _place(law, path)
        new = replace(part, **{name: x})
        for whole, key, k in reversed(within):
            parts = list(getattr(whole, key))
            parts[k] = new
            new = replace(whole, **{key: tuple(parts)})
        law = new
    return law


def _place(law: Any, path: str) -> tuple[Any, str, list[tuple[Any, str, int]]]:
    """Return the law or signal that a key path leads to, the name of its number, and what it is part of,
    from the outside in.
    """
    table, number, *rest = key_parts(path)
    within: list[tuple[Any, str, int]] = []
    k, name = int(number), ".".join(map(str, rest))
    if isinstance(law, CombinedLaws):
        within.append((law, "laws", k if table == "law" else len(law.laws) - 1))
        law = law.laws[within[-1][2]]
    if table == "inputs":
        within.append((law, "signals", k))
        law = law.signals[k]
    return law, name, within


def can_differ(law: Any, path: str, numbers: Sequence[float] | Floats) -> bool:
    """Return whether a number of a law may differ from lane to lane: neither how many states the law has,
    nor where they start, nor when it may jump depends on it.
    """
    if not path.startswith(("law[", "inputs[")):
        return False
    try:
        part, name, _ = _place(law, path)
        if isinstance(part, TimeInputs) or get_type_hints(type(part)).get(name) is not float:
            return False
        ends = [with_numbers(law, {path: x}) for x in (np.min(numbers), np.max(numbers))]
        return all(_frame(one) == _frame(law) for one in ends)
    except (DraisineError, LookupError, TypeError, ValueError, AttributeError):
        return False


def _frame(law: Any) -> tuple[Any, ...]:
    """Return what does not move with the numbers of a law."""
    start = law_start(law, 0.0, 0.0, 0.0)
    return law_states(law), tuple(getattr(law, "breakpoints", ())), tuple(start.tolist())
