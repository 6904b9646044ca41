"""Compilation of a scenario's vehicle from its name, parameter set, parameters and joint motions."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import UnionType
from typing import Any, get_args

from draisine.errors import DraisineError, UnknownNameError
from draisine.model import JointMotion, Model
from draisine.model.motion import motion_from_table
from draisine.model.names import SYNONYMS
from draisine.model.quantity import check_angle, parse_number
from draisine.model.sensor import build_sensor
from draisine.registry import find, is_parameter_file
from draisine.scenario.overrides import nest_dotted_keys
from draisine.scenario.schema import VehicleTable
from draisine.scenario.validate.mistakes import Mistakes
from draisine.system.system import System, compile
from draisine.vehicles import annotations, inclined, meanings, parameter_sets, suggest_parameter
from draisine.vehicles import parameter_set as published


def build_system(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
) -> System:
    """Compile a vehicle with parameters; raise one error that lists all mistakes in them.

    Parameters
    ----------
    vehicle
        Name of a vehicle, or FILE.py:function.
    parameters
        Values by name, as numbers in SI units or as text with a unit ("18deg").
    parameter_set
        Name of a parameter set, or path of a parameter file.

    Returns
    -------
    System
        Compiled vehicle.

    Examples
    --------
    >>> build_system("whipple", {"lam": "18deg"}, "benchmark").parameters["lam"]
    0.3141592653589793
    """
    _find_vehicle(vehicle)  # an unknown vehicle is reported without further mistakes
    table = VehicleTable(
        name=vehicle,
        parameter_set=parameter_set,
        parameters=dict(parameters or {}),
        motions={},
        sensors=[],
    )
    mistakes = Mistakes()
    system = read_vehicle(table, mistakes)
    mistakes.raise_all(vehicle)
    assert system is not None
    return system


def read_vehicle(
    table: VehicleTable, mistakes: Mistakes, content: Mapping[str, Any] | None = None
) -> System | None:
    """Compile the vehicle of the table `vehicle`; return None if the vehicle is unknown.

    If only parameters are wrong, they get default values, so that other tables can be validated.
    `content` (all tables) is searched for the table to which an unknown parameter may belong.
    """
    vehicle: Any = None
    with mistakes.convert_errors("vehicle.name", table.name):
        vehicle = _find_vehicle(table.name)
    if vehicle is None:
        return None
    vehicle = inclined(vehicle, table.parameters)
    arguments: dict[str, Any] = {}
    if table.parameter_set is not None:
        with mistakes.convert_errors("vehicle.parameter_set", table.parameter_set):
            values = table.parameter_set
            arguments |= published(vehicle.__name__, values) if isinstance(values, str) else values
    arguments |= _read_parameters(vehicle, table.parameters, mistakes, content or {})
    arguments |= _read_motions(vehicle, table.motions, mistakes)
    try:
        return _add_sensors(compile(vehicle, **arguments), table.sensors, mistakes)
    except (DraisineError, TypeError) as error:
        mistakes.add("vehicle.parameters", str(error))
        return compile(vehicle)


def _add_sensors(system: System, tables: Sequence[Mapping[str, Any]], mistakes: Mistakes) -> System:
    """Return the system with the sensors of the tables; report mistakes."""
    for k, table in enumerate(tables):
        with mistakes.convert_errors(f"vehicle.sensors[{k}]"):
            system = system.with_sensors(build_sensor(table))
    return system


def _find_vehicle(name: str) -> Any:
    """Return the vehicle function of a name; if the name is a parameter set, the error says so."""
    try:
        return find("vehicle", name)
    except UnknownNameError:
        if not is_parameter_file(name) and name not in parameter_sets("whipple"):
            raise
        raise UnknownNameError(
            f"{name} is a parameter set, not a vehicle. "
            f"Did you mean whipple --parameter-set {name}?"
        ) from None


def _read_parameters(
    vehicle: Callable[..., Model],
    table: Mapping[str, Any],
    mistakes: Mistakes,
    content: Mapping[str, Any],
) -> dict[str, Any]:
    """Convert the parameters of a scenario to arguments of the vehicle function; report mistakes."""
    parameters = inspect.signature(vehicle).parameters
    hints = annotations(vehicle)
    arguments: dict[str, Any] = {}
    for name, value in nest_dotted_keys(table).items():
        path = f"vehicle.parameters.{name}"
        if any(name.startswith(f"{record}_") for record in parameters if record in table):
            with mistakes.convert_errors(path):
                arguments[name] = parse_number(value)
        elif name not in parameters:
            hint = _suggest_key(vehicle, name, value, content)
            hint = hint or suggest_parameter(vehicle, name, parameters)
            mistakes.add(path, f"{vehicle.__name__} has no such parameter. {hint}", value)
        elif not _is_numeric_type(hints.get(name)):
            arguments[name] = value
        else:
            with mistakes.convert_errors(path):
                unit = meanings(vehicle).get(name, (None, ""))[0]
                parse_number(value, unit)
                check_angle(value, unit)
                arguments[name] = value
    return arguments


def _suggest_key(
    vehicle: Callable[..., Model], name: str, value: Any, content: Mapping[str, Any]
) -> str:
    """Return a hint at the key or option that sets a name which is not a vehicle parameter, or ""."""
    tables = [t for t in content if isinstance(content[t], Mapping) and name in content[t]]
    if tables:
        return f"Did you mean {tables[0]}.{name}?"
    if content.get("kind") != "run":
        return ""
    if name in SYNONYMS:
        return f"Did you mean --initial {name}={value:g}?"
    with suppress(DraisineError, TypeError):
        if name in vehicle().inputs:
            return f"Did you mean --input {name}={value}? In a file it belongs to [inputs]."
    return ""


def _is_numeric_type(annotation: Any) -> bool:
    """Return whether the type of a vehicle argument is numeric (a parameter, not a structural option)."""
    return annotation is float or (
        isinstance(annotation, UnionType) and float in get_args(annotation)
    )


def _read_motions(
    vehicle: Callable[..., Model], table: Mapping[str, Any], mistakes: Mistakes
) -> dict[str, Any]:
    """Convert the table `vehicle.motions` to joint motions, arguments of the vehicle function."""
    hints = annotations(vehicle)
    motions = [n for n, h in hints.items() if n != "return" and JointMotion in (h, *get_args(h))]
    arguments: dict[str, Any] = {}
    for name, entry in table.items():
        path = f"vehicle.motions.{name}"
        if mistakes.check_known(
            path, name, motions, f"{vehicle.__name__} has no such prescribed motion"
        ):
            with mistakes.convert_errors(path):
                arguments[name] = motion_from_table(entry)
    return arguments
