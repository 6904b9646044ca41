"""What the tables of scenario files share."""

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from draisine.model.quantity import NUMBER_SCHEMA, number

Text = Annotated[str, Field(min_length=1)]


class ScenarioTable(BaseModel):
    """A table of a scenario: no keys but the known ones, nothing changes afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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


Limit = Annotated[float, BeforeValidator(limit), WithJsonSchema(NUMBER_SCHEMA)]
"""A number that is not negative, an angle, or `inf`."""

WorldVector = Annotated[
    tuple[float, float, float],
    BeforeValidator(_vector),
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}),
]
"""Three numbers, world axes."""
