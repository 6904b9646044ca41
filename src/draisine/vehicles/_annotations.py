"""What annotations tell: the kind of an argument, its unit and its meaning,
`m: Annotated[float, "kg", "mass"]`.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any, get_type_hints

from draisine.errors import ParameterError, did_you_mean


@lru_cache(maxsize=64)
def annotations(vehicle: Callable[..., Any]) -> dict[str, Any]:
    """Return the kinds of a vehicle's arguments by name; one without an annotation is what its value
    is, if that is a float or a tuple.
    """
    given = inspect.signature(vehicle).parameters.items()
    plain = {
        name: kind
        for name, argument in given
        for kind in (float, tuple)
        if isinstance(argument.default, kind)
    }
    return plain | get_type_hints(vehicle)


@lru_cache(maxsize=64)
def meanings(vehicle: Any) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of a vehicle's parameters, or of the numbers of a record, as their
    annotations tell them; the others as the table `MEANING` of its file, or of its class, does.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> meanings(whipple)["w"]
    ('m', 'wheelbase')
    """
    table = getattr(vehicle, "MEANING", getattr(vehicle, "__globals__", {}).get("MEANING", {}))
    found = dict(table)
    for name, hint in get_type_hints(vehicle, include_extras=True).items():
        match getattr(hint, "__metadata__", ()):
            case str(unit), str(meaning):
                found[name] = (unit, meaning)
    return found


def meant_parameter(vehicle: Callable[..., Any], name: str, known: Iterable[str]) -> str:
    """Return a sentence that leads from a wrong name to the parameter that differs in case alone, to
    those whose meaning has it as a word, else to those that are spelt alike.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> meant_parameter(whipple, "trail", ["w", "c"])
    'Did you mean c (trail)?'
    >>> meant_parameter(whipple, "mb", ["mB", "mU"])
    'Did you mean mB (frame with rider, mass)?'
    """
    word = re.compile(rf"\b{re.escape(name.replace('_', ' '))}\b", re.IGNORECASE)
    texts = {n: text for n, (_, text) in meanings(vehicle).items()}
    means = {n: text for n, text in texts.items() if n.lower() == name.lower()}
    means = means or {n: text for n, text in texts.items() if word.search(text)}
    if means:
        few = sorted(means, key=lambda n: len(means[n]))[:5]
        return f"Did you mean {' or '.join(f'{n} ({means[n]})' for n in few)}?"
    return f"{did_you_mean(name, known)} `draisine show` tells all of a vehicle."


def expect_parameters(
    vehicle: Callable[..., Any], names: Iterable[str], known: Collection[str], what: str = ""
) -> None:
    """Raise where one of some names is none that is known of a vehicle; `what` says what it would be.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> expect_parameters(whipple, ["trail"], ["w", "c"])
    Traceback (most recent call last):
    draisine.errors.ParameterError: whipple has no parameter 'trail'. Did you mean c (trail)?
    """
    for name in names:
        if name not in known:
            meant = meant_parameter(vehicle, name, known)
            raise ParameterError(
                f"{vehicle.__name__} has no {what or 'parameter'} {name!r}. {meant}"
            )
