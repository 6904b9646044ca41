"""Types, units and meanings of the arguments of a vehicle, from `m: Annotated[float, "kg",
"mass"]`.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any, get_type_hints

from draisine.errors import ParameterError, did_you_mean


@lru_cache(maxsize=64)
def annotations(vehicle: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a vehicle's arguments by name.

    An argument without an annotation has the type of its default if that is a float or a tuple.
    """
    plain = {
        name: kind
        for name, argument in inspect.signature(vehicle).parameters.items()
        for kind in (float, tuple)
        if isinstance(argument.default, kind)
    }
    return plain | get_type_hints(vehicle)


@lru_cache(maxsize=64)
def meanings(vehicle: Any) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of the parameters of a vehicle, or of the fields of a record, by
    name.

    They come from annotations, or else from the table `MEANING` of the file or of the class.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> meanings(whipple)["w"]
    ('m', 'wheelbase')
    """
    table = getattr(vehicle, "MEANING", getattr(vehicle, "__globals__", {}).get("MEANING", {}))
    entries = dict(table)
    for name, hint in get_type_hints(vehicle, include_extras=True).items():
        match getattr(hint, "__metadata__", ()):
            case str(unit), str(meaning):
                entries[name] = (unit, meaning)
    return entries


def suggest_parameter(vehicle: Callable[..., Any], name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests existing parameters for an unknown name.

    Candidates differ only in case, have the name as a word of their meaning, or have a similar
    spelling.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> suggest_parameter(whipple, "trail", ["w", "c"])
    'Did you mean c (trail)?'
    >>> suggest_parameter(whipple, "mb", ["mB", "mU"])
    'Did you mean mB (frame with rider, mass)?'
    """
    word = re.compile(rf"\b{re.escape(name.replace('_', ' '))}\b", re.IGNORECASE)
    texts = {n: text for n, (_, text) in meanings(vehicle).items()}
    candidates = {n: text for n, text in texts.items() if n.lower() == name.lower()}
    candidates = candidates or {n: text for n, text in texts.items() if word.search(text)}
    if candidates:
        # Prefer short meanings, which are the most specific ones. More than five suggestions do not
        # help.
        best = sorted(candidates, key=lambda n: len(candidates[n]))[:5]
        return f"Did you mean {' or '.join(f'{n} ({candidates[n]})' for n in best)}?"
    return f"{did_you_mean(name, known)} `draisine show VEHICLE` lists all parameters."


def expect_parameters(
    vehicle: Callable[..., Any], names: Iterable[str], known: Collection[str], description: str = ""
) -> None:
    """Raise `ParameterError` if a name is not a parameter of a vehicle; `description` describes the name
    in the message.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> expect_parameters(whipple, ["trail"], ["w", "c"])
    Traceback (most recent call last):
    draisine.errors.ParameterError: whipple has no parameter 'trail'. Did you mean c (trail)?
    """
    for name in names:
        if name not in known:
            suggestion = suggest_parameter(vehicle, name, known)
            raise ParameterError(
                f"{vehicle.__name__} has no {description or 'parameter'} {name!r}. {suggestion}"
            )
