"""Machines, one file and one function each; published parameters in `_sets`; `_three_links`: the
drawing of both swimmers; `_records`: arguments that are records of numbers.
"""

from collections.abc import Callable
from typing import Any

from draisine.vehicles._records import draw, make_record, plain_structure, record_numbers
from draisine.vehicles._sets import (
    ParameterSource,
    parameter_deviations,
    parameter_set,
    parameter_sets,
    parameter_source,
    read_parameter_set,
)

__all__ = [
    "ParameterSource",
    "draw",
    "make_record",
    "meanings",
    "parameter_deviations",
    "parameter_set",
    "parameter_sets",
    "parameter_source",
    "plain_structure",
    "read_parameter_set",
    "record_numbers",
]


def meanings(vehicle: Callable[..., Any]) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of a vehicle's parameters, as the table `MEANING` of its file has them.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> meanings(whipple)["w"][0]
    'm'
    """
    found: dict[str, tuple[str, str]] = getattr(vehicle, "__globals__", {}).get("MEANING", {})
    return found
