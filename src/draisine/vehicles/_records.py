"""Arguments of vehicles that are records of numbers, such as a tyre or what is flexible: each number of
a record is a parameter of the vehicle, called after the argument and the number
(`front_tyre_cornering`). In files a record is a table; the `name` in the table of a force element, such
as a tyre, tells which, and its `parameter_set`, if any, whose numbers it has where none are given.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_origin

import numpy as np

from draisine.errors import ModelError, ParameterError, expect_known
from draisine.model import Model, Tyre
from draisine.registry import find, names, own_plugs
from draisine.vehicles._annotations import meanings
from draisine.vehicles._sets import parameter_set

PLAIN = (str, int, float)
"""Values that are no records, and no functions."""


def make_record(what: str, hint: Any, value: Any) -> Any:
    """Return the record that a table stands for, the argument `what` of a vehicle being annotated by
    `hint`, and the tuple that a list stands for; anything else as it is.

    >>> from draisine.model import Tyre
    >>> make_record("tyre", Tyre | None, {"name": "load_tyre", "cornering": 11, "camber": 1,
    ...     "relaxation": 0.2}).cornering
    11.0
    >>> make_record("tyre", Tyre, {"name": "load_tyre", "parameter_set": "city_bicycle"}).camber
    0.573
    """
    kinds = (hint, *get_args(hint))
    if isinstance(value, PLAIN) and not any(map(_takes_plain, kinds)):
        raise ParameterError(
            f"{what} = {value!r} is a plain value where a record is taken, or a table for one, or a function "
            f"of the time for a motion.{_as_table(what, kinds)}"
        )
    if isinstance(value, list) and any(tuple in (kind, get_origin(kind)) for kind in kinds):
        return _as_tuple(value)
    if not isinstance(value, Mapping):
        return value
    from draisine.model.quantity import number

    own: list[Any] = [kind for kind in kinds if is_dataclass(kind)]
    kind, given = (own[0], dict(value)) if own else _element(what, kinds, value)
    known = [f.name for f in fields(kind) if f.init]
    for name, x in given.items():
        expect_known(f"{what}: no", name, known)
        if isinstance(x, int | float) and not isinstance(x, bool):
            given[name] = number(x)
    needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    lacking = [name for name in needed if name not in given]
    if lacking:
        raise ParameterError(
            f"{what}: {', '.join(lacking)} not given.{_as_table(what, kinds) if not given else ''}"
        )
    return kind(**given)


def _element(what: str, kinds: tuple[Any, ...], table: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the class of a force element that a table names, and its values: those of a parameter
    set, if it names one, and then its own.
    """
    given = dict(table)
    name, published = given.pop("name", None), given.pop("parameter_set", None)
    if name is None:
        raise ParameterError(f"{what}: which one is not told.{_as_table(what, kinds)}")
    kind: Any = find("force", name)
    if published is None:
        return kind, given
    sorted_out = getattr(kind, "coefficients", dict)
    return kind, sorted_out(parameter_set(name, published)) | given


def _as_table(what: str, kinds: tuple[Any, ...]) -> str:
    """Return how a tyre is written as a table, for what takes one."""
    if Tyre not in kinds:
        return ""
    argument = what.rpartition(" ")[2]
    known = ", ".join(name for name in names("force") if hasattr(find("force", name), "on"))
    return (
        f" A tyre has a name ({known}) and its numbers, or a parameter set: {argument}.name=load_tyre, "
        f"{argument}.parameter_set=city_bicycle."
    )


def _takes_plain(kind: Any) -> bool:
    """Return whether an annotation lets a plain value pass."""
    return kind in (*PLAIN, bool, None, Any) or get_origin(kind) is Literal


def record_table(value: Any) -> dict[str, Any] | None:
    """Return the table that stands for a record; None for what is none, or a user's own law."""
    told = {name: x for name, x in _fields(value).items() if x is not None and x != ""}
    plug = type(value).__module__.rpartition(".")[2]
    if plug in own_plugs("force"):
        return {"name": plug, **told}
    return None if hasattr(value, "states") else told or None


def plain_structure(structure: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the structure of a vehicle as plain data: records as tables, tuples and lists
    as they are; functions, such as motions of joints, and what else is not plain are left out.
    """
    told = {name: record_table(value) or value for name, value in structure.items()}
    told = {k: x.item() if isinstance(x, np.generic) else x for k, x in told.items()}
    return {k: x for k, x in told.items() if _is_plain(x)}


def lost_structure(structure: Mapping[str, Any]) -> list[str]:
    """Return which arguments cannot be told as plain data, and are no functions either: without them a
    vehicle that is drawn again would be another machine.

    >>> lost_structure({"lengths": (1.0, 0.9), "links": {3, 4}, "steering": abs})
    ['links']
    """
    plain = plain_structure(structure)
    return [k for k, x in structure.items() if k not in plain and not callable(x)]


def _is_plain(value: Any) -> bool:
    """Return whether a value is read from a file as what it was, but for tuples, which are lists there."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(x) for key, x in value.items())
    return value is None or (
        all(map(_is_plain, value)) if isinstance(value, list | tuple) else isinstance(value, PLAIN)
    )


def _as_tuple(value: Any) -> Any:
    """Return a list, and all lists in it, as tuples."""
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def record_numbers(name: str, value: Any) -> dict[str, float]:
    """Return the numbers of a record that is given as an argument; none where it is no record.

    >>> from draisine.mechanics.forces.linear_tyre import LinearTyre
    >>> list(record_numbers("tyre", LinearTyre(1e4, 1e3, 0.2)))
    ['tyre_cornering', 'tyre_camber', 'tyre_relaxation']
    """
    return {f"{name}_{field}": x for field, x in _numbers(value).items()}


def record_meanings(name: str, value: Any) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of the numbers of a record that is given as an argument.

    >>> from draisine.mechanics.forces.linear_tyre import LinearTyre
    >>> record_meanings("rear_tyre", LinearTyre(1e4, 1e3, 0.2))["rear_tyre_relaxation"]
    ('m', 'rear tyre, relaxation length')
    """
    kind: Any = type(value)
    table, said = meanings(kind) if is_dataclass(value) else {}, name.replace("_", " ")
    return {f"{name}_{field}": (unit, f"{said}, {text}") for field, (unit, text) in table.items()}


def draw(
    vehicle: Callable[..., Model], parameters: Mapping[str, Any], structure: Mapping[str, Any]
) -> Model:
    """Return a vehicle drawn with its parameters, those of records put back into them."""
    left, whole = dict(parameters), dict(structure)
    for name, value in structure.items():
        own = {field: left.pop(f"{name}_{field}") for field in _numbers(value)}
        if own:
            whole[name] = replace(value, **own)
    model = vehicle(**left, **whole)
    if not isinstance(model, Model):
        kind = type(model).__name__
        raise ModelError(f"{vehicle.__name__} returns a {kind}; a vehicle returns a Model.")
    return model


def _numbers(value: Any) -> dict[str, float]:
    """Return the fields of a record that hold numbers."""
    return {k: x for k, x in _fields(value).items() if isinstance(x, float)}


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a record; none where it is none."""
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    return {f.name: getattr(value, f.name) for f in fields(value) if f.init}
