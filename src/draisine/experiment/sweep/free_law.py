"""Control laws with constants that differ between runs in SIMD lanes.

Such a constant becomes an additional state of the control law with zero time derivative. All lanes then
share one compiled program and differ in initial states only.
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
from draisine.scenario.overrides import split_key_path


@dataclass(frozen=True)
class FreeLaw:
    """Combined control law of a scenario whose varied constants are additional states.

    Attributes
    ----------
    law
        Combined control law with nominal constants.
    paths
        Key paths of the varied constants, whose states follow those of the control law.
    """

    law: Any
    paths: tuple[str, ...]

    @property
    def states(self) -> int:
        """Number of states: those of the control law, and one per varied constant."""
        return law_states(self.law) + len(self.paths)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times in s at which the control law may be discontinuous."""
        return tuple(getattr(self.law, "breakpoints", ()))

    def start_at(self, x: float, y: float, yaw: float) -> Floats:
        """Return the initial states of the control law at a position (m) and yaw (rad).

        The last states are the nominal values of the varied constants.
        """
        nominal = [getattr(*_locate_constant(self.law, path)[:2]) for path in self.paths]
        return np.concatenate([law_start(self.law, x, y, yaw), nominal])

    def __call__(
        self, readings: Readings, z: Array
    ) -> tuple[Mapping[str, Any], tuple[Scalar, ...]]:
        """Return inputs (N m or N) by name, and the time derivatives of the states of the control law.

        The last states are the varied constants; their time derivatives are zero.
        """
        count = law_states(self.law)
        law = replace_constants(self.law, dict(zip(self.paths, z[count:], strict=True)))
        inputs, rates = call_law(law, readings, z[:count])
        return inputs, (*rates, *(0.0 for _ in self.paths))


def replace_constants(law: Any, numbers: Mapping[str, Any]) -> Any:
    """Return a control law in which the constants at some key paths are replaced.

    >>> from draisine.control.steer_into_lean import SteerIntoLean
    >>> replace_constants(SteerIntoLean(1.0, 2.0), {"law[0].rate_gain": 5.0}).rate_gain
    5.0
    """
    for path, x in numbers.items():
        member, name, parents = _locate_constant(law, path)
        new = replace(member, **{name: x})
        # Records are immutable. Therefore rebuild the enclosing records from the innermost
        # outwards.
        for parent, key, k in reversed(parents):
            children = list(getattr(parent, key))
            children[k] = new
            new = replace(parent, **{key: tuple(children)})
        law = new
    return law


def _locate_constant(law: Any, path: str) -> tuple[Any, str, list[tuple[Any, str, int]]]:
    """Find a constant of a combined control law by its key path.

    Return the control law or signal, the name of the constant, and the enclosing records as (record,
    field, index), outermost first.
    """
    table, number, *rest = split_key_path(path)
    parents: list[tuple[Any, str, int]] = []
    k = int(number)
    name = ".".join(map(str, rest))
    if isinstance(law, CombinedLaws):
        # All input signals are combined into one law, the last one.
        parents.append((law, "laws", k if table == "law" else len(law.laws) - 1))
        law = law.laws[parents[-1][2]]
    if table == "inputs":
        parents.append((law, "signals", k))
        law = law.signals[k]
    return law, name, parents


def can_differ(law: Any, path: str, values: Sequence[float] | Floats) -> bool:
    """Return whether a constant of a control law may differ between lanes.

    The constant must not influence the number of states of the law, their initial values or its breakpoints.
    Only the smallest and the largest value are tested.
    """
    if not path.startswith(("law[", "inputs[")):
        return False
    try:
        member, name, _ = _locate_constant(law, path)
        if isinstance(member, TimeInputs) or get_type_hints(type(member)).get(name) is not float:
            return False
        extremes = [replace_constants(law, {path: x}) for x in (np.min(values), np.max(values))]
        return all(_fixed_properties(extreme) == _fixed_properties(law) for extreme in extremes)
    except (DraisineError, LookupError, TypeError, ValueError, AttributeError):
        return False


def _fixed_properties(law: Any) -> tuple[Any, ...]:
    """Return the properties of a control law that must be equal in all lanes.

    They are the number of states, the breakpoints and the initial values.
    """
    start = law_start(law, 0.0, 0.0, 0.0)
    return law_states(law), tuple(getattr(law, "breakpoints", ())), tuple(start.tolist())
