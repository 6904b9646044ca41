"""Arguments of vehicles that are records of numbers, such as a tyre or flexible parts.

Each number of a record is a parameter of the vehicle, named by argument and field (`front_tyre_cornering`).
In files a record is a table. The table of a force element, such as a tyre, has its `name` and optionally a
`parameter_set` for the numbers that the table does not state.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_origin

import numpy as np

from draisine.errors import ModelError, ParameterError, expect_known
from draisine.model import Model, Tyre
from draisine.registry import find, names, shipped_plugins
from draisine.vehicles._annotations import meanings
from draisine.vehicles._sets import parameter_set

PLAIN_TYPES = (str, int, float)
"""Types of plain values, as opposed to records and functions."""


def parse_record(argument: str, annotation: Any, value: Any) -> Any:
    """Return an argument of a vehicle with tables converted to records and lists to tuples.

    Parameters
    ----------
    argument
        Name of the argument, for messages.
    annotation
        Annotation of the argument.
    value
        Value, for example from a file.

    Examples
    --------
    >>> from draisine.model import Tyre
    >>> parse_record("tyre", Tyre | None, {"name": "load_tyre", "cornering": 11, "camber": 1,
    ...     "relaxation": 0.2}).cornering
    11.0
    >>> parse_record("tyre", Tyre, {"name": "load_tyre", "parameter_set": "city_bicycle"}).camber
    0.573
    """
    kinds = (annotation, *get_args(annotation))
    if isinstance(value, PLAIN_TYPES) and not any(map(_allows_plain_value, kinds)):
        raise ParameterError(
            f"{argument} = {value!r} is a plain value, but a record is expected: a table of its fields, "
            f"or for a motion a function of time.{_suggest_table(argument, kinds)}"
        )
    if isinstance(value, list) and any(tuple in (kind, get_origin(kind)) for kind in kinds):
        return _lists_to_tuples(value)
    if not isinstance(value, Mapping):
        return value
    from draisine.model.quantity import parse_number

    records: list[Any] = [kind for kind in kinds if is_dataclass(kind)]
    kind, entries = (records[0], dict(value)) if records else _parse_element(argument, kinds, value)
    allowed = [f.name for f in fields(kind) if f.init]
    for name, x in entries.items():
        expect_known(f"{argument}: no", name, allowed)
        if isinstance(x, int | float) and not isinstance(x, bool):
            entries[name] = parse_number(x)
    needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    missing = [name for name in needed if name not in entries]
    if missing:
        advice = _suggest_table(argument, kinds) if not entries else ""
        raise ParameterError(f"{argument}: {', '.join(missing)} missing.{advice}")
    return kind(**entries)


def _parse_element(
    argument: str, kinds: tuple[Any, ...], table: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Return the class of the force element that a table names, and the values of its fields.

    Values of the table override those of its parameter set.
    """
    entries = dict(table)
    name = entries.pop("name", None)
    published = entries.pop("parameter_set", None)
    if name is None:
        raise ParameterError(f"{argument}: `name` is missing.{_suggest_table(argument, kinds)}")
    kind: Any = find("force", name)
    if published is None:
        return kind, entries
    # Some force elements use a part of the coefficients of a published set only.
    convert = getattr(kind, "coefficients", dict)
    return kind, convert(parameter_set(name, published)) | entries


def _suggest_table(what: str, kinds: tuple[Any, ...]) -> str:
    """Return a hint on how to write a tyre as a table, for error messages; empty for other
    arguments.
    """
    if Tyre not in kinds:
        return ""
    argument = what.rpartition(" ")[2]
    tyre_names = ", ".join(name for name in names("force") if hasattr(find("force", name), "on"))
    return (
        f" A tyre has a name ({tyre_names}) and its numbers, or a parameter set: {argument}.name=load_tyre, "
        f"{argument}.parameter_set=city_bicycle."
    )


def _allows_plain_value(annotation: Any) -> bool:
    """Return whether an annotation allows a plain value."""
    return annotation in (*PLAIN_TYPES, bool, None, Any) or get_origin(annotation) is Literal


def record_table(value: Any) -> dict[str, Any] | None:
    """Return a record as a table; None for other values and for force elements defined by the user."""
    entries = {name: x for name, x in _fields_by_name(value).items() if x is not None and x != ""}
    plugin = type(value).__module__.rpartition(".")[2]
    if plugin in shipped_plugins("force"):
        return {"name": plugin, **entries}
    return None if hasattr(value, "states") else entries or None


def plain_structure(structure: Mapping[str, Any]) -> dict[str, Any]:
    """Return the structural arguments of a vehicle as plain data, with records as tables.

    Functions, such as motions of joints, and other values that are not plain are left out.
    """
    values = {name: record_table(value) or value for name, value in structure.items()}
    values = {k: x.item() if isinstance(x, np.generic) else x for k, x in values.items()}
    return {k: x for k, x in values.items() if _is_storable(x)}


def unstored_arguments(structure: Mapping[str, Any]) -> list[str]:
    """Return the names of the arguments that are neither plain data nor functions.

    Without them, a vehicle that is restored from a file would be a different vehicle.

    >>> unstored_arguments({"lengths": (1.0, 0.9), "links": {3, 4}, "steering": abs})
    ['links']
    """
    plain = plain_structure(structure)
    return [k for k, x in structure.items() if k not in plain and not callable(x)]


def _is_storable(value: Any) -> bool:
    """Return whether a value can be stored as JSON, except that tuples become lists."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_storable(x) for key, x in value.items())
    return value is None or (
        all(map(_is_storable, value))
        if isinstance(value, list | tuple)
        else isinstance(value, PLAIN_TYPES)
    )


def _lists_to_tuples(value: Any) -> Any:
    """Return a list, and all lists inside it, as tuples."""
    return tuple(map(_lists_to_tuples, value)) if isinstance(value, list) else value


def record_numbers(name: str, value: Any) -> dict[str, float]:
    """Return the numbers of an argument that is a record, by parameter name; empty for other values.

    >>> from draisine.mechanics.forces.linear_tyre import LinearTyre
    >>> list(record_numbers("tyre", LinearTyre(1e4, 1e3, 0.2)))
    ['tyre_cornering', 'tyre_camber', 'tyre_relaxation']
    """
    return {f"{name}_{field}": x for field, x in _float_fields(value).items()}


def record_meanings(name: str, value: Any) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of the numbers of an argument that is a record, by parameter name.

    >>> from draisine.mechanics.forces.linear_tyre import LinearTyre
    >>> record_meanings("rear_tyre", LinearTyre(1e4, 1e3, 0.2))["rear_tyre_relaxation"]
    ('m', 'rear tyre, relaxation length')
    """
    kind: Any = type(value)
    table = meanings(kind) if is_dataclass(value) else {}
    prefix = name.replace("_", " ")
    return {f"{name}_{field}": (unit, f"{prefix}, {text}") for field, (unit, text) in table.items()}


def build_model(
    vehicle: Callable[..., Model], parameters: Mapping[str, Any], structure: Mapping[str, Any]
) -> Model:
    """Return the model of a vehicle for values of its parameters and structural arguments.

    Parameters that belong to records are put back into their records.
    """
    own_parameters = dict(parameters)
    arguments = dict(structure)
    for name, value in structure.items():
        numbers = {field: own_parameters.pop(f"{name}_{field}") for field in _float_fields(value)}
        if numbers:
            arguments[name] = replace(value, **numbers)
    model = vehicle(**own_parameters, **arguments)
    if not isinstance(model, Model):
        kind = type(model).__name__
        raise ModelError(f"{vehicle.__name__} returns a {kind}; a vehicle must return a Model.")
    return model


def _float_fields(record: Any) -> dict[str, float]:
    """Return the fields of a record that are floats, by name."""
    return {k: x for k, x in _fields_by_name(record).items() if isinstance(x, float)}


def _fields_by_name(record: Any) -> dict[str, Any]:
    """Return the fields of a record by name; empty for other values."""
    if not is_dataclass(record) or isinstance(record, type):
        return {}
    return {f.name: getattr(record, f.name) for f in fields(record) if f.init}
