"""Values in scenario files: what a number, a list of them, a limit, a motion may look like."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from draisine.model.quantity import SI_UNITS, UNIT_DIVISORS, number

Text = Annotated[str, Field(min_length=1)]


class ScenarioTable(BaseModel):
    """A table of a scenario: no keys but the known ones, nothing changes afterwards. How it is read is
    worked out when it is: a scenario has few of all the tables that there are.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def by_word(union: Any, key: str) -> dict[str, type[ScenarioTable]]:
    """Return the tables of a union by the word at a key that tells them apart."""
    return {get_args(one.model_fields[key].annotation)[0]: one for one in get_args(union)}


def check_rising(axis: Any) -> Any:
    """Return an axis whose high end is higher than its low one."""
    if not axis.low < axis.high:
        raise ValueError(f"goes from {axis.low:g} to {axis.high:g}; low must be below high")
    return axis


def limit(value: Any) -> float:
    """Return a number that is not negative; it may be infinite.

    >>> limit(float("inf")), limit("90deg")
    (inf, 1.5707963267948966)
    """
    if isinstance(value, float) and math.isinf(value) and value > 0:
        return value
    found = number(value)
    if found < 0:
        raise ValueError(f"{found:g} is negative")
    return found


def _vector(value: Any) -> tuple[float, float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise ValueError(f"{value!r} is not a list of three numbers")
    x, y, z = (number(entry) for entry in value)
    return x, y, z


def _positive(value: float) -> float:
    if value <= 0.0:
        raise ValueError(f"{value:g} is not greater than zero")
    return value


def _not_negative(value: float) -> float:
    if value < 0.0:
        raise ValueError(f"{value:g} is negative")
    return value


def _slope(value: Any) -> float:
    """Return an angle of ground, less steep than a wall: 20 was meant as degrees."""
    found = number(value, "rad")
    if abs(found) >= math.pi / 2:
        raise ValueError(f"{found:g} rad is as steep as a wall; degrees are written '{found:g}deg'")
    return found


NUMBER_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "number"},
        {"type": "string", "pattern": r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*deg\s*$"},
    ]
}


def _unit_schema(unit: str) -> dict[str, Any]:
    """Return the JSON Schema of a number that may be written with a unit."""
    units = "|".join([unit, *(own for own, meant in UNIT_DIVISORS if meant == unit)])
    pattern = rf"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*({units})\s*$"
    return {"anyOf": [{"type": "number"}, {"type": "string", "pattern": pattern}]}


LENGTH_SCHEMA = _unit_schema("m")

Length = Annotated[float, BeforeValidator(lambda x: number(x, "m")), WithJsonSchema(LENGTH_SCHEMA)]
"""A length in m, or with another unit."""

Duration = Annotated[
    float, BeforeValidator(lambda x: _positive(number(x, "s"))), WithJsonSchema(_unit_schema("s"))
]
"""A time greater than zero, in s, or with another unit."""

Quantity = Annotated[float, BeforeValidator(number), WithJsonSchema(NUMBER_SCHEMA)]
"""A number, or an angle written in degrees."""

Slope = Annotated[float, BeforeValidator(_slope), WithJsonSchema(NUMBER_SCHEMA)]
"""An angle of ground."""

Positive = Annotated[
    float,
    BeforeValidator(lambda x: _positive(number(x, SI_UNITS))),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
"""A number greater than zero; no angle."""

NotNegative = Annotated[
    float,
    BeforeValidator(lambda x: _not_negative(number(x, SI_UNITS))),
    WithJsonSchema({"type": "number", "minimum": 0}),
]
"""A number that is not negative; no angle."""

Limit = Annotated[float, BeforeValidator(limit), WithJsonSchema(NUMBER_SCHEMA)]
"""A number that is not negative, an angle, or `inf`."""

WorldVector = Annotated[
    tuple[float, float, float],
    BeforeValidator(_vector),
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}),
]
"""Three numbers, world axes."""


def _numbers(value: Any) -> float | list[float]:
    return [number(x) for x in value] if isinstance(value, list) else number(value)


def _places(value: Any) -> list[float] | dict[str, list[float | str]]:
    if isinstance(value, dict):
        return {name: [_label(x) for x in _some(value[name])] for name in value}
    return _list(value)


def _label(value: Any) -> float | str:
    """Return a number, or a word that stands in a sweep."""
    return value if isinstance(value, str) and value.isidentifier() else number(value)


def _list(value: Any) -> list[float]:
    return [number(x) for x in _some(value)]


def _some(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{value!r} is not a list of numbers")
    return value


def _drift(value: Any) -> str | float:
    if value in ("project", "none"):
        return str(value)
    if isinstance(value, str):
        raise ValueError(f"{value!r}: take 'project', 'none', or an epsilon in seconds")
    if number(value) <= 0.0:
        raise ValueError(f"{value} is not greater than zero")
    return number(value)


def _friction(value: Any) -> float | dict[str, float]:
    return {k: limit(v) for k, v in value.items()} if isinstance(value, dict) else limit(value)


def _ends(value: Any) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f"{value!r} is not a list of two numbers, the lower and the upper end")
    low, high = (number(x) for x in value)
    if not low < high:
        raise ValueError(f"goes from {low:g} to {high:g}; the lower end must be below the upper")
    return low, high


_LIST_SCHEMA = {"type": "array", "items": NUMBER_SCHEMA, "minItems": 1}
Numbers = Annotated[
    float | list[float],
    BeforeValidator(_numbers),
    WithJsonSchema({"anyOf": [NUMBER_SCHEMA, _LIST_SCHEMA]}),
]
Places = Annotated[
    list[float] | dict[str, list[float | str]],
    BeforeValidator(_places),
    WithJsonSchema(
        {
            "anyOf": [
                _LIST_SCHEMA,
                {"type": "object", "additionalProperties": {"type": "array", "minItems": 1}},
            ]
        }
    ),
]
Friction = Annotated[
    float | dict[str, float],
    BeforeValidator(_friction),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            ]
        }
    ),
]
Ends = Annotated[
    tuple[float, float],
    BeforeValidator(_ends),
    WithJsonSchema({"type": "array", "items": NUMBER_SCHEMA, "minItems": 2, "maxItems": 2}),
]
DriftValue = Annotated[
    str | float,
    BeforeValidator(_drift),
    WithJsonSchema(
        {"anyOf": [{"enum": ["project", "none"]}, {"type": "number", "exclusiveMinimum": 0}]}
    ),
]


def motion_entry(value: Any) -> dict[str, str | float | list[float]]:
    """Return the motion of a joint as plain data: its name and its numbers, or lists of them."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ValueError(f"{value!r} is not a table with a `name` and its numbers")
    return {k: v if k == "name" else _numbers(v) for k, v in value.items()}


MotionEntry = Annotated[
    dict[str, str | float | list[float]],
    BeforeValidator(motion_entry),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": {
                "anyOf": [NUMBER_SCHEMA, {"type": "array", "items": NUMBER_SCHEMA}]
            },
        }
    ),
]


def record_schema(record: Any, **tags: str) -> dict[str, Any]:
    """Return the JSON Schema of a table that stands for a dataclass: its fields, and the tags that
    tell it from others.

    >>> from draisine.control import SIGNALS
    >>> record_schema(SIGNALS["ramp"], shape="ramp")["required"]
    ['shape', 'input', 'value', 'start', 'end']
    """
    hints, fields = get_type_hints(record), dataclasses.fields(record)
    needed = [f.name for f in fields if f.default is dataclasses.MISSING]
    return {
        "type": "object",
        "title": record.__name__,
        "description": record.__doc__,
        "properties": {tag: {"const": value} for tag, value in tags.items()}
        | {f.name: _field_schema(hints[f.name]) for f in fields},
        "required": [*tags, *needed],
        "additionalProperties": False,
    }


def _field_schema(hint: Any) -> dict[str, Any]:
    if hint in (str, bool):
        return {"type": "string" if hint is str else "boolean"}
    if hint is float:
        return dict(NUMBER_SCHEMA)
    inside = get_args(hint)
    if get_origin(hint) is Mapping:
        return {"type": "object", "additionalProperties": NUMBER_SCHEMA}
    return {"enum": list(inside)} if isinstance(inside[0], str) else dict(_LIST_SCHEMA)


def field_value(hint: Any, value: Any) -> Any:
    """Return a value of a table as the field of a dataclass takes it, by the field's type."""
    if hint in (str, bool):
        if not isinstance(value, hint):
            wanted = "a name" if hint is str else "true or false"
            raise ValueError(f"{value!r} is not {wanted}")
        return value
    if hint is Any:
        return value
    if hint is int:
        count = number(value)
        if not count.is_integer():
            raise ValueError(f"{value!r} is not a whole number")
        return int(count)
    inside = get_args(hint)
    if type(None) in inside:  # an optional value
        return field_value(inside[0], value)
    if get_origin(hint) is Mapping:
        if not isinstance(value, dict):
            raise ValueError(f"{value!r} is not a table of numbers by name")
        return {name: number(x) for name, x in value.items()}
    if inside and isinstance(inside[0], str):
        if value not in inside:
            raise ValueError(f"{value!r} is none of {', '.join(map(repr, inside))}")
        return value
    if inside:
        if not isinstance(value, list):
            raise ValueError(f"{value!r} is not a list of numbers")
        if inside[-1] is not Ellipsis and len(value) != len(inside):
            raise ValueError(f"{value!r} has {len(value)} entries, it needs {len(inside)}")
        return tuple(number(x) for x in value)
    return value if value == math.inf else number(value)
