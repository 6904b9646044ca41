"""Machines, one file and one function each; published parameters in `_sets`; `_three_links`: the
drawing of both swimmers; `_records`: arguments that are records of numbers.
"""

import inspect
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, get_type_hints

from draisine.errors import did_you_mean
from draisine.vehicles._records import (
    draw,
    make_record,
    plain_structure,
    record_meanings,
    record_numbers,
)
from draisine.vehicles._sets import (
    ParameterSource,
    parameter_deviations,
    parameter_set,
    parameter_sets,
    parameter_source,
    read_parameter_set,
    set_owners,
)

__all__ = [
    "ParameterSource",
    "annotations",
    "draw",
    "make_record",
    "meanings",
    "meant_parameter",
    "parameter_deviations",
    "parameter_set",
    "parameter_sets",
    "parameter_source",
    "plain_structure",
    "read_parameter_set",
    "record_meanings",
    "record_numbers",
    "set_owners",
]


@lru_cache(maxsize=64)
def annotations(vehicle: Callable[..., Any]) -> dict[str, Any]:
    """Return the kinds of a vehicle's arguments by name; one without an annotation is what its value
    is, if that is a float.
    """
    given = inspect.signature(vehicle).parameters.items()
    plain = {name: float for name, argument in given if isinstance(argument.default, float)}
    return plain | get_type_hints(vehicle)


def meanings(vehicle: Callable[..., Any]) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of a vehicle's parameters, as the table `MEANING` of its file has them.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> meanings(whipple)["w"][0]
    'm'
    """
    found: dict[str, tuple[str, str]] = getattr(vehicle, "__globals__", {}).get("MEANING", {})
    return found


def meant_parameter(vehicle: Callable[..., Any], name: str, known: Iterable[str]) -> str:
    """Return a sentence that leads from a wrong name to parameters whose meaning has it as a word,
    else to those that are spelt alike.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> meant_parameter(whipple, "trail", ["w", "c"])
    'Did you mean c (trail)?'
    """
    word = re.compile(rf"\b{re.escape(name.replace('_', ' '))}\b", re.IGNORECASE)
    means = {n: text for n, (_, text) in meanings(vehicle).items() if word.search(text)}
    if means:
        few = sorted(means, key=lambda n: len(means[n]))[:5]
        return f"Did you mean {' or '.join(f'{n} ({means[n]})' for n in few)}?"
    return f"{did_you_mean(name, known)} `draisine show` tells all of a vehicle."
