"""Types of values in scenario files: numbers with units, limits, vectors, friction, joint motions.

Each type has a validator, which converts to SI units, and a JSON Schema for editors.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from draisine.model.quantity import SI_UNITS, UNIT_DIVISORS, parse_number

Text = Annotated[str, Field(min_length=1)]
"""Type of a non-empty text."""


class ScenarioTable(BaseModel):
    """Base class of scenario tables: immutable records that reject unknown keys."""

    # Build validators at their first use, because one scenario uses few of the table types.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def tables_by_tag(union: Any, key: str) -> dict[str, type[ScenarioTable]]:
    """Return the table types of a tagged union by the literal value of their tag `key`."""
    return {get_args(table.model_fields[key].annotation)[0]: table for table in get_args(union)}


def check_ends_increase(value_range: Any) -> Any:
    """Return an axis unchanged; raise `ValueError` if its upper end is not above its lower end."""
    if not value_range.low < value_range.high:
        raise ValueError(
            f"the range goes from {value_range.low:g} to {value_range.high:g}: low must be smaller "
            "than high"
        )
    return value_range


def parse_limit(value: Any) -> float:
    """Convert a value to a non-negative number in SI units, which may be infinite.

    >>> parse_limit(float("inf")), parse_limit("90deg")
    (inf, 1.5707963267948966)
    """
    if isinstance(value, float) and math.isinf(value) and value > 0:
        return value
    bound = parse_number(value)
    if bound < 0:
        raise ValueError(f"{bound:g} is negative")
    return bound


def _parse_vector(value: Any) -> tuple[float, float, float]:
    """Convert a list to a vector of three numbers."""
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise ValueError(f"{value!r} is not a list of three numbers")
    x, y, z = (parse_number(entry) for entry in value)
    return x, y, z


def _check_positive(value: float) -> float:
    """Return a positive number unchanged; raise `ValueError` otherwise."""
    if value <= 0.0:
        raise ValueError(f"{value:g} is not greater than zero")
    return value


def _check_not_negative(value: float) -> float:
    """Return a non-negative number unchanged; raise `ValueError` otherwise."""
    if value < 0.0:
        raise ValueError(f"{value:g} is negative")
    return value


def _parse_slope(value: Any) -> float:
    """Convert a slope to rad; values beyond a right angle are rejected as likely degrees."""
    slope = parse_number(value, "rad")
    if abs(slope) >= math.pi / 2:
        raise ValueError(
            f"{slope:g} rad is steeper than vertical; degrees are written '{slope:g}deg'"
        )
    return slope


NUMBER_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "number"},
        {"type": "string", "pattern": r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*deg\s*$"},
    ]
}
"""JSON Schema of a number, or of a text that contains a number with a unit."""


def _unit_schema(unit: str) -> dict[str, Any]:
    """Return the JSON Schema of a number that may be written with the given unit."""
    units = "|".join([unit, *(other for other, base in UNIT_DIVISORS if base == unit)])
    pattern = rf"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*({units})\s*$"
    return {"anyOf": [{"type": "number"}, {"type": "string", "pattern": pattern}]}


LENGTH_SCHEMA = _unit_schema("m")
"""JSON Schema of a length, as a number in m or as text with a unit."""

Length = Annotated[
    float, BeforeValidator(lambda x: parse_number(x, "m")), WithJsonSchema(LENGTH_SCHEMA)
]
"""Type of a length in m, optionally written with a unit."""

Duration = Annotated[
    float,
    BeforeValidator(lambda x: _check_positive(parse_number(x, "s"))),
    WithJsonSchema(_unit_schema("s")),
]
"""Type of a positive time in s, optionally written with a unit."""

Quantity = Annotated[float, BeforeValidator(parse_number), WithJsonSchema(NUMBER_SCHEMA)]
"""Type of a number in SI units, or an angle written in degrees ("18deg")."""

Slope = Annotated[float, BeforeValidator(_parse_slope), WithJsonSchema(NUMBER_SCHEMA)]
"""Type of a ground slope in rad, optionally written in degrees."""

Positive = Annotated[
    float,
    BeforeValidator(lambda x: _check_positive(parse_number(x, SI_UNITS))),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
"""Type of a positive number that is not an angle."""

NotNegative = Annotated[
    float,
    BeforeValidator(lambda x: _check_not_negative(parse_number(x, SI_UNITS))),
    WithJsonSchema({"type": "number", "minimum": 0}),
]
"""Type of a non-negative number that is not an angle."""

Limit = Annotated[float, BeforeValidator(parse_limit), WithJsonSchema(NUMBER_SCHEMA)]
"""Type of a non-negative number or angle that may be `inf`."""

WorldVector = Annotated[
    tuple[float, float, float],
    BeforeValidator(_parse_vector),
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}),
]
"""Type of a vector (3,) in world axes."""


def _parse_numbers(value: Any) -> float | list[float]:
    """Convert a number or a list of numbers, optionally with units, to SI units."""
    return [parse_number(x) for x in value] if isinstance(value, list) else parse_number(value)


def _parse_places(value: Any) -> list[float] | dict[str, list[float | str]]:
    """Convert times or speeds (list), or coordinates of grid points (lists by name), to SI units."""
    if isinstance(value, dict):
        return {
            name: [_parse_swept_value(x) for x in _check_non_empty(value[name])] for name in value
        }
    return _parse_number_list(value)


def _parse_swept_value(value: Any) -> float | str:
    """Convert a swept value: a name stays a name, anything else becomes a number in SI units."""
    return value if isinstance(value, str) and value.isidentifier() else parse_number(value)


def _parse_number_list(value: Any) -> list[float]:
    """Convert a non-empty list of numbers, optionally with units, to SI units."""
    return [parse_number(x) for x in _check_non_empty(value)]


def _check_non_empty(value: Any) -> list[Any]:
    """Return a non-empty list unchanged; raise `ValueError` otherwise."""
    if not isinstance(value, list) or not value:
        raise ValueError(f"{value!r} is not a list of numbers")
    return value


def _parse_drift_correction(value: Any) -> str | float:
    """Validate a drift correction: "project", "none" or a positive time constant in s."""
    if value in ("project", "none"):
        return str(value)
    if isinstance(value, str):
        raise ValueError(f"{value!r} is not 'project', 'none' or a time constant in seconds")
    if parse_number(value) <= 0.0:
        raise ValueError(f"{value} is not greater than zero")
    return parse_number(value)


def _parse_friction(value: Any) -> float | dict[str, float]:
    """Convert one friction coefficient, or a table of coefficients by contact."""
    return (
        {k: parse_limit(v) for k, v in value.items()}
        if isinstance(value, dict)
        else parse_limit(value)
    )


def _parse_interval(value: Any) -> tuple[float, float]:
    """Convert a list of two numbers to an interval with increasing ends."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f"{value!r} is not a list of two numbers, the lower and the upper end")
    low, high = (parse_number(x) for x in value)
    if not low < high:
        raise ValueError(
            f"the range goes from {low:g} to {high:g}: the lower end must be smaller than the "
            "upper end"
        )
    return low, high


_LIST_SCHEMA = {"type": "array", "items": NUMBER_SCHEMA, "minItems": 1}
"""JSON Schema of a non-empty list of numbers."""
Numbers = Annotated[
    float | list[float],
    BeforeValidator(_parse_numbers),
    WithJsonSchema({"anyOf": [NUMBER_SCHEMA, _LIST_SCHEMA]}),
]
"""Type of one number or a list of numbers, SI units."""
Places = Annotated[
    list[float] | dict[str, list[float | str]],
    BeforeValidator(_parse_places),
    WithJsonSchema(
        {
            "anyOf": [
                _LIST_SCHEMA,
                {"type": "object", "additionalProperties": {"type": "array", "minItems": 1}},
            ]
        }
    ),
]
"""Type of the times, speeds or grid points at which expected values apply."""
Friction = Annotated[
    float | dict[str, float],
    BeforeValidator(_parse_friction),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            ]
        }
    ),
]
"""Type of a friction coefficient, or of coefficients by contact."""
Ends = Annotated[
    tuple[float, float],
    BeforeValidator(_parse_interval),
    WithJsonSchema({"type": "array", "items": NUMBER_SCHEMA, "minItems": 2, "maxItems": 2}),
]
"""Type of an interval [lower end, upper end]."""
DriftValue = Annotated[
    str | float,
    BeforeValidator(_parse_drift_correction),
    WithJsonSchema(
        {"anyOf": [{"enum": ["project", "none"]}, {"type": "number", "exclusiveMinimum": 0}]}
    ),
]
"""Type of a drift correction: "project", "none" or a time constant in s."""


def check_motion_table(value: Any) -> dict[str, str | float | list[float]]:
    """Validate the table of a prescribed joint motion: its name and its options."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ValueError(f"{value!r} is not a table with a `name` and options")
    return {k: v if k == "name" else _parse_numbers(v) for k, v in value.items()}


MotionEntry = Annotated[
    dict[str, str | float | list[float]],
    BeforeValidator(check_motion_table),
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
"""Type of the table of a prescribed joint motion."""


def record_schema(record: Any, **tags: str) -> dict[str, Any]:
    """Return the JSON Schema of a table that describes a dataclass: its fields and constant tags.

    >>> from draisine.control import SIGNALS
    >>> record_schema(SIGNALS["ramp"], shape="ramp")["required"]
    ['shape', 'input', 'value', 'start', 'end']
    """
    hints = get_type_hints(record)
    fields = dataclasses.fields(record)
    required = [f.name for f in fields if f.default is dataclasses.MISSING]
    return {
        "type": "object",
        "title": record.__name__,
        "description": record.__doc__,
        "properties": {tag: {"const": value} for tag, value in tags.items()}
        | {f.name: _field_schema(hints[f.name]) for f in fields},
        "required": [*tags, *required],
        "additionalProperties": False,
    }


def _field_schema(annotation: Any) -> dict[str, Any]:
    """Return the JSON Schema of a dataclass field with the given type annotation."""
    if annotation in (str, bool):
        return {"type": "string" if annotation is str else "boolean"}
    if annotation is float:
        return dict(NUMBER_SCHEMA)
    arguments = get_args(annotation)
    if get_origin(annotation) is Mapping:
        return {"type": "object", "additionalProperties": NUMBER_SCHEMA}
    if get_origin(annotation) is Sequence:
        entry = {"type": "string"} if arguments[0] is str else dict(NUMBER_SCHEMA)
        return {"type": "array", "items": entry}
    return {"enum": list(arguments)} if isinstance(arguments[0], str) else dict(_LIST_SCHEMA)


def convert_field_value(annotation: Any, value: Any) -> Any:
    """Convert a value of a table to the annotated type of a dataclass field."""
    if annotation in (str, bool):
        if not isinstance(value, annotation):
            expected = "a name" if annotation is str else "true or false"
            raise ValueError(f"{value!r} is not {expected}")
        return value
    if annotation is Any:
        return value
    if annotation is int:
        count = parse_number(value)
        if not count.is_integer():
            raise ValueError(f"{value!r} is not a whole number")
        return int(count)
    arguments = get_args(annotation)
    if type(None) in arguments:  # the field is optional
        return convert_field_value(arguments[0], value)
    if get_origin(annotation) is Mapping:
        if not isinstance(value, dict):
            raise ValueError(f"{value!r} is not a table of numbers by name")
        return {name: parse_number(x) for name, x in value.items()}
    if get_origin(annotation) is Sequence:
        return _convert_sequence(arguments[0], value)
    if arguments and isinstance(arguments[0], str):
        if value not in arguments:
            raise ValueError(f"{value!r} is not one of {', '.join(map(repr, arguments))}")
        return value
    if arguments:
        if not isinstance(value, list):
            raise ValueError(f"{value!r} is not a list of numbers")
        if arguments[-1] is not Ellipsis and len(value) != len(arguments):
            raise ValueError(f"{value!r} has {len(value)} entries, but needs {len(arguments)}")
        return tuple(parse_number(x) for x in value)
    return value if value == math.inf else parse_number(value)


def _convert_sequence(entry_type: type, value: Any) -> tuple[Any, ...]:
    """Convert a list of a table to names or numbers of any count; a single name is a list of one."""
    if entry_type is str and isinstance(value, str):
        return (value,)
    kind = "names" if entry_type is str else "numbers"
    if not isinstance(value, list) or (
        entry_type is str and not all(isinstance(x, str) for x in value)
    ):
        raise ValueError(f"{value!r} is not a list of {kind}")
    return tuple(value) if entry_type is str else tuple(parse_number(x) for x in value)
