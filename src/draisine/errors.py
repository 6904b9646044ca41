"""Every way a draisine call can fail, as one tree.

DraisineError
|-- ModelError           the drawing of the machine is wrong
|-- ParameterError       a parameter has no such name or an impossible value
|-- UnknownNameError     no vehicle, scenario, integrator ... of that name
|-- ConfigurationError   no pose or velocity satisfies what was asked for
|-- RedundancyError      constraints repeat or contradict each other; it names the rows
|-- SingularityError     a freedom without inertia, or a degenerate configuration
|-- MissingPackageError  a neighbour that is not installed; it names the extra
|-- DataError            a file that is not what it should be
|-- RoutineError         a routine goes beyond its subset of Python; it names file and line
|-- TerrainError         a ground that is not one, or that a wheel's shape cannot meet
`-- SimulationError      a run that had to stop; `partial` holds what was computed
|-- ContactSetError  no set of contacts is admissible
|-- DeadEndError     a run came to ground that a wheel's shape cannot meet; also a TerrainError
|-- GrazingError     a motion that has no derivatives
|-- ValidityError    a run that could not have been
`-- ZenoError        too many events
"""

import os
import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class DraisineError(Exception):
    """The root of all errors that draisine raises on purpose."""


class ModelError(DraisineError, ValueError):
    """The drawing of the machine is wrong."""


class ParameterError(DraisineError, ValueError):
    """A parameter has no such name or an impossible value."""


class UnknownNameError(DraisineError, LookupError):
    """Nothing of that name is known."""


class ConfigurationError(DraisineError, ValueError):
    """No pose or velocity satisfies what was asked for."""


class RedundancyError(DraisineError, ArithmeticError):
    """Constraints repeat or contradict each other."""


class SingularityError(DraisineError, ArithmeticError):
    """A freedom without inertia, or a degenerate configuration."""


class MissingPackageError(DraisineError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""


class DataError(DraisineError, ValueError):
    """A file that is not what it should be."""


class RoutineError(DraisineError, ValueError):
    """A routine goes beyond its subset of Python."""


class SimulationError(DraisineError, RuntimeError):
    """A run that had to stop; `partial` holds what was computed until then."""

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


class ContactSetError(SimulationError):
    """No set of contacts has non-negative forces and separations; `trials` are the sets that were
    tried, `state` is where it happened.
    """

    def __init__(self, message: str, trials: Any = (), state: Any = None) -> None:
        super().__init__(message)
        self.trials, self.state = trials, state


class ZenoError(SimulationError):
    """Too many events; `state` is where the run stopped."""

    def __init__(self, message: str, partial: Any = None, state: Any = None) -> None:
        super().__init__(message, partial)
        self.state = state


class GrazingError(SimulationError):
    """A motion that has no derivatives: it only just meets an event, or two at once."""


class ValidityError(SimulationError):
    """A run that is not physically valid: the ground would have to pull, friction exceeds its limit, the
    machine has fallen, or the result drifts.
    """


class ValidityWarning(UserWarning):
    """A run that is not physically valid, or that needs more friction than roads have."""


class TerrainError(DraisineError, ValueError):
    """A ground that is not one, or a wheel shape that cannot meet it."""


class DeadEndError(SimulationError, TerrainError):
    """A run came to ground that a wheel's shape cannot meet."""


class FileWarning(UserWarning):
    """A robot's file is taken otherwise than it is written; told where a vehicle is made of it."""


def import_extra(module: str, extra: str) -> Any:
    """Return a module of an optional package.

    >>> import_extra("numpy.linalg", "none").__name__
    'numpy.linalg'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"needs the package {module.partition('.')[0]} ({error}): pip install 'draisine[{extra}]'."
        ) from error


def check_file(path: Any) -> None:
    """Raise where what is there cannot be read to its end: a pipe, that one would wait for, or a device.

    >>> check_file("/dev/null")
    Traceback (most recent call last):
    draisine.errors.DataError: /dev/null: is no file, but a pipe or a device.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise DataError(f"{path!s:.200}: is no file, but a pipe or a device.")


def expect(what: str, value: object, kind: type, way: str) -> None:
    """Raise where a value is of another kind; `way` says how people get one of the right kind.

    >>> expect("simulate", "whipple", dict, 'draisine.compile("whipple") makes one')
    Traceback (most recent call last):
    draisine.errors.ParameterError: simulate: 'whipple' is no dict; draisine.compile("whipple") makes one.
    """
    if not isinstance(value, kind):
        raise ParameterError(f"{what}: {value!r} is no {kind.__name__}; {way}.")


def expect_known(
    what: str,
    names: str | Iterable[str],
    known: Collection[str],
    error: type[DraisineError] = ParameterError,
) -> None:
    """Raise where a name, or one of several, is not known; `what` says what it would be.

    >>> expect_known("no parameter", ["mB", "mb"], ["mB", "mR"])
    Traceback (most recent call last):
    draisine.errors.ParameterError: no parameter 'mb'. Did you mean 'mB'?
    """
    for name in [names] if isinstance(names, str) else names:
        if name not in known:
            raise error(f"{what} {name!r}. {did_you_mean(name, known)}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that leads from a wrong name to the right one: to what others call so, to those
    of which it is a whole part, the shortest first, else to the one that is spelt most alike.

    >>> did_you_mean("wipple", ["whipple", "rolling_disc"])
    "Did you mean 'whipple'?"
    >>> did_you_mean("speed", ["forward_speed", "steer"])
    "Did you mean 'forward_speed'?"
    >>> did_you_mean("roll_rate", ["lean_rate", "z_rate"])
    "Did you mean 'lean_rate'?"
    """
    choices = sorted(known)
    plain, rate = name.lower().removesuffix("_rate"), "_rate" * name.lower().endswith("_rate")
    other = [right for right in choices if right == f"{WORDS.get(plain)}{rate}"]
    if meant := other or _having(name, choices) or _begun(name, choices) or _alike(name, choices):
        *first, last = map(repr, meant)
        return f"Did you mean {', '.join(first)}{' or ' if first else ''}{last}?"
    if not choices:
        return "None is known."
    if len(choices) > MANY:
        return "None that is known is spelt alike."
    return f"Known: {', '.join(choices)}."


WORDS = {
    "velocity": "forward_speed",
    "v": "forward_speed",
    "roll": "lean",
    "roll_angle": "lean",
    "phi": "lean",
    "delta": "steer",
    "tilt": "lean",
    "heading": "yaw",
    "steering": "steer",
    "steer_angle": "steer",
    "height": "drop",
    "tex": "latex",
    "js": "javascript",
    "curb": "kerb",
    "py": "python",
    "pid": "turn_pi",
}
"""What things are called elsewhere, for answers alone: joints may have these names."""

MANY = 32
"""How many names a sentence may list."""


def _having(name: str, choices: Sequence[str]) -> list[str]:
    """Return the names that have all words of one, the shortest five."""
    words = _words(name)
    found = [choice for choice in choices if words and words <= _words(choice)]
    return sorted(found, key=len)[:5]


def _begun(name: str, choices: Sequence[str]) -> list[str]:
    """Return the names of which a word begins like this one, the shortest five."""
    if len(name) < 3:
        return []
    found = [c for c in choices if any(word.startswith(name.lower()) for word in _words(c))]
    return sorted(found, key=len)[:5]


def _words(name: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", name.lower()))


def _alike(name: str, choices: Sequence[str]) -> list[str]:
    """Return the name that is spelt most alike, as a whole or in its part after the last slash."""
    plain = {choice.rpartition("/")[2].lower(): choice for choice in choices}
    plain |= {choice.lower(): choice for choice in choices}
    close = get_close_matches(name, choices, n=1) or get_close_matches(name.lower(), plain, n=1)
    return [plain.get(each, each) for each in close]
