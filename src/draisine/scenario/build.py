"""From a scenario's words to the machine, its laws and its initial state."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, get_args, get_type_hints

from draisine.control import SIGNALS, TimeInputs, Together
from draisine.model import JointMotion, Model
from draisine.model.motion import motion_of
from draisine.model.names import state_units
from draisine.model.quantity import number
from draisine.registry import find
from draisine.scenario.schema import RunScenario, Vehicle
from draisine.scenario.terrain import place_state
from draisine.system.state import State, state
from draisine.system.system import System, compile
from draisine.terrain import Terrain
from draisine.vehicles import parameter_set


def build_system(vehicle: Vehicle) -> System:
    """Return the machine that a scenario names."""
    name = vehicle.name
    arguments: dict[str, Any] = (
        dict(parameter_set(name, vehicle.parameter_set)) if vehicle.parameter_set else {}
    )
    function = find("vehicle", name)
    for key, value in vehicle.parameters.items():
        arguments[key] = number(value) if is_numeric(function, key) else value
    arguments |= {key: motion_of(entry) for key, entry in vehicle.motions.items()}
    return compile(name, **arguments)


def control_law(scenario: RunScenario) -> Any:
    """Return the control laws and inputs of a scenario as one law; None where there are none."""
    laws = [make_law(entry) for entry in scenario.law]
    signals = []
    for signal in scenario.inputs:
        given = {k: v for k, v in signal.model_dump(exclude={"shape"}).items() if v is not None}
        fixed = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        signals.append(SIGNALS[signal.shape](**fixed))
    if signals:
        laws.append(TimeInputs(tuple(signals)))
    if not laws:
        return None
    return laws[0] if len(laws) == 1 else Together(tuple(laws))


def build_state(
    system: System, initial: Mapping[str, Any], terrain: Terrain | None = None
) -> State:
    """Return the initial state that a scenario asks for; on a terrain where it is placed."""
    units = state_units(system.model)
    asked = {k: number(v, units[k]) for k, v in initial.items() if k not in WORDS}
    rest = initial.get("at_rest")
    found = state(system, mode=initial.get("mode"), at_rest=rest, **asked)
    if terrain is None or "place" not in initial:
        return found
    return place_state(system.model, terrain, found, initial["place"])


WORDS = ("mode", "place", "at_rest")
"""What an initial state may say beside names and numbers."""


def is_numeric(vehicle: Callable[..., Model], name: str) -> bool:
    """Return whether a vehicle's argument is a number that can change, rather than structure."""
    hint = get_type_hints(vehicle).get(name)
    return hint is float or (isinstance(hint, UnionType) and float in get_args(hint))


def motion_arguments(vehicle: Callable[..., Model]) -> list[str]:
    """Return the arguments of a vehicle that take motions of joints."""
    hints = get_type_hints(vehicle)
    return [
        n for n, hint in hints.items() if n != "return" and JointMotion in (hint, *get_args(hint))
    ]


def check_lean(name: str, value: float) -> float:
    """Return a value of an initial state; a lean of a quarter turn, where headings end, is none."""
    if name == "lean" and abs(value) > math.pi / 2 - 1e-6:
        raise ValueError(f"{value:g} rad lies flat or beyond; lean stays between -90deg and 90deg")
    return value


def law_value(field: "dataclasses.Field[Any]", value: Any) -> Any:
    """Return a value of a scenario as a law's field takes it."""
    kind = str(field.type)
    if "tuple" in kind:
        if not isinstance(value, list):
            raise ValueError(f"{value!r} is not a list of numbers")
        wanted = kind.count("float") if "..." not in kind else len(value)
        if len(value) != wanted:
            raise ValueError(f"{value!r} has {len(value)} entries, it needs {wanted}")
        return tuple(number(x) for x in value)
    if "bool" in kind:
        if not isinstance(value, bool):
            raise ValueError(f"{value!r} is neither true nor false")
        return value
    if "str" in kind:
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not a name")
        return value
    if isinstance(value, float) and math.isinf(value) and value > 0:
        return value
    return number(value)


def make_law(entry: Mapping[str, Any]) -> Any:
    """Return the law that an entry of `law` describes."""
    law = find("law", str(entry["name"]))
    fields = {f.name: f for f in dataclasses.fields(law)}
    return law(**{k: law_value(fields[k], v) for k, v in entry.items() if k != "name"})
