"""The machine of a scenario: a vehicle, a parameter set, changes to it, motions of joints."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import UnionType
from typing import Any, get_args

from draisine.errors import DraisineError, UnknownNameError
from draisine.model import JointMotion, Model
from draisine.model.motion import motion_of
from draisine.model.names import SYNONYMS
from draisine.model.quantity import check_angle, number
from draisine.registry import find, is_parameter_file
from draisine.scenario.overrides import nest
from draisine.scenario.schema import VehicleTable
from draisine.scenario.validate.mistakes import Mistakes
from draisine.system.system import System, compile
from draisine.vehicles import annotations, meanings, parameter_sets, suggest_parameter
from draisine.vehicles import parameter_set as published


def build_system(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
) -> System:
    """Return a vehicle with a parameter set and parameters as people write them, or tell all that is
    wrong with them.

    >>> build_system("whipple", {"lam": "18deg"}, "benchmark").parameters["lam"]
    0.3141592653589793
    """
    _find(vehicle)  # a wrong name is told alone
    table = VehicleTable(
        name=vehicle, parameter_set=parameter_set, parameters=dict(parameters or {}), motions={}
    )
    mistakes = Mistakes()
    found = read_vehicle(table, mistakes)
    mistakes.check(vehicle)
    assert found is not None
    return found


def read_vehicle(
    table: VehicleTable, mistakes: Mistakes, content: Mapping[str, Any] | None = None
) -> System | None:
    """Return the machine that a table names; where only its numbers are wrong, the vehicle as it is,
    so that other names can be checked against it. In the `content` of a scenario a name that is no
    parameter may stand elsewhere.
    """
    vehicle: Any = None
    with mistakes.at("vehicle.name", table.name):
        vehicle = _find(table.name)
    if vehicle is None:
        return None
    arguments: dict[str, Any] = {}
    if table.parameter_set is not None:
        with mistakes.at("vehicle.parameter_set", table.parameter_set):
            given = table.parameter_set
            arguments |= published(vehicle.__name__, given) if isinstance(given, str) else given
    arguments |= _parameters(vehicle, table.parameters, mistakes, content or {})
    arguments |= _motions(vehicle, table.motions, mistakes)
    try:
        return compile(vehicle, **arguments)
    except (DraisineError, TypeError) as error:
        mistakes.add("vehicle.parameters", str(error))
        return compile(vehicle)


def _find(name: str) -> Any:
    """Return a vehicle by its name; a parameter set is none."""
    try:
        return find("vehicle", name)
    except UnknownNameError:
        if not is_parameter_file(name) and name not in parameter_sets("whipple"):
            raise
        raise UnknownNameError(
            f"{name} is a parameter set, not a vehicle. Did you mean whipple --parameter-set {name}?"
        ) from None


def _parameters(
    vehicle: Callable[..., Model],
    given: Mapping[str, Any],
    mistakes: Mistakes,
    content: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the arguments that parameters stand for: numbers where the vehicle takes numbers."""
    known, hints = inspect.signature(vehicle).parameters, annotations(vehicle)
    out: dict[str, Any] = {}
    for name, value in nest(given).items():
        path = f"vehicle.parameters.{name}"
        if any(name.startswith(f"{record}_") for record in known if record in given):
            with mistakes.at(path):
                out[name] = number(value)
        elif name not in known:
            tables = [t for t in content if isinstance(content[t], Mapping) and name in content[t]]
            meant = suggest_parameter(vehicle, name, known)
            meant = f"Did you mean {tables[0]}.{name}?" if tables else meant
            if content.get("kind") == "run" and not tables:
                meant = _meant_option(vehicle, name, value) or meant
            mistakes.add(path, f"{vehicle.__name__} has no such parameter. {meant}", value)
        elif not _is_number(hints.get(name)):
            out[name] = value
        else:
            with mistakes.at(path):
                unit = meanings(vehicle).get(name, (None, ""))[0]
                number(value, unit)
                check_angle(value, unit)
                out[name] = value
    return out


def _meant_option(vehicle: Callable[..., Model], name: str, value: Any) -> str:
    """Return which option sets what is no parameter: of the start, or an input."""
    if name in SYNONYMS:
        return f"Did you mean --initial {name}={value:g}?"
    with suppress(DraisineError, TypeError):
        if name in vehicle().inputs:
            return f"Did you mean --input {name}={value}? In a file it stands in [inputs]."
    return ""


def _is_number(hint: Any) -> bool:
    """Return whether an argument is a number that can change, rather than structure."""
    return hint is float or (isinstance(hint, UnionType) and float in get_args(hint))


def _motions(
    vehicle: Callable[..., Model], given: Mapping[str, Any], mistakes: Mistakes
) -> dict[str, Any]:
    """Return the arguments that motions of joints stand for."""
    hints = annotations(vehicle)
    known = [n for n, h in hints.items() if n != "return" and JointMotion in (h, *get_args(h))]
    out: dict[str, Any] = {}
    for name, entry in given.items():
        path = f"vehicle.motions.{name}"
        if mistakes.check_known(path, name, known, f"{vehicle.__name__} guides nothing so"):
            with mistakes.at(path):
                out[name] = motion_of(entry)
    return out
