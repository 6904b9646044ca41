"""Exceptions and warnings of draisine, and functions that suggest valid names in their messages.

DraisineError
|-- ModelError           the description of a machine (bodies, joints, contacts) is invalid
|-- ParameterError       a parameter or argument does not exist or has an invalid value
|-- UnknownNameError     no vehicle, scenario, integrator ... has that name
|-- ConfigurationError   no configuration or velocity satisfies the requested initial values
|-- RedundancyError      constraints are redundant or contradict each other; names the rows
|-- SingularityError     a degree of freedom without inertia, or a degenerate configuration
|-- MissingPackageError  an optional package is not installed; names the extra
|-- DataError            a file is damaged or has another format
|-- RoutineError         a routine uses Python outside the compiled subset; names file and line
|-- TerrainError         a terrain is invalid, or a wheel's surface cannot touch it
`-- SimulationError      a run stopped; `partial` is the computed part
    |-- ContactSetError  no set of closed contacts is admissible
    |-- DeadEndError     a run reached ground that a wheel's surface cannot touch; also a TerrainError
    |-- GrazingError     the derivatives of a motion do not exist
    |-- ValidityError    a run is not physically valid
    `-- ZenoError        too many events
"""

import os
import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class DraisineError(Exception):
    """Base class of all exceptions that draisine raises deliberately."""


class ModelError(DraisineError, ValueError):
    """The description of a machine (bodies, joints, contacts, forces) is invalid."""


class ParameterError(DraisineError, ValueError):
    """A parameter or argument does not exist or has an invalid value."""


class UnknownNameError(DraisineError, LookupError):
    """No vehicle, scenario, integrator or other plug-in has the requested name."""


class ConfigurationError(DraisineError, ValueError):
    """No configuration or velocity of the machine satisfies the requested initial values."""


class RedundancyError(DraisineError, ArithmeticError):
    """Constraint rows are redundant or contradict each other; the message names the rows."""


class SingularityError(DraisineError, ArithmeticError):
    """A degree of freedom has no inertia, or the configuration is degenerate."""


class MissingPackageError(DraisineError, ImportError):
    """An optional package is not installed; the message names the extra that installs it."""


class DataError(DraisineError, ValueError):
    """A file is damaged, has an unexpected format, or cannot be read."""


class RoutineError(DraisineError, ValueError):
    """A routine uses Python outside the compiled subset; the message names file and line."""


class SimulationError(DraisineError, RuntimeError):
    """A simulation stopped before its final time.

    Attributes
    ----------
    partial
        Trajectory until the simulation stopped, or None.
    """

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


class ContactSetError(SimulationError):
    """No set of closed contacts has non-negative normal forces and non-negative separation velocities.

    Attributes
    ----------
    trials
        Sets of closed contacts that were tried.
    state
        State of the machine at the event.
    """

    def __init__(self, message: str, trials: Any = (), state: Any = None) -> None:
        super().__init__(message)
        self.trials = trials
        self.state = state


class ZenoError(SimulationError):
    """A simulation had too many events within a short time (accumulation of events).

    Attributes
    ----------
    state
        State of the machine at the last event.
    """

    def __init__(self, message: str, partial: Any = None, state: Any = None) -> None:
        super().__init__(message, partial)
        self.state = state


class GrazingError(SimulationError):
    """The derivatives of a motion do not exist, because an event grazes or two events coincide."""


class ValidityError(SimulationError):
    """A simulated motion is not physically valid.

    A normal force is negative, friction exceeds its limit, the machine has fallen, or energy or
    constraints drift.
    """


class ValidityWarning(UserWarning):
    """A simulated motion is not physically valid, or requires a friction coefficient above 1.5."""


class TerrainError(DraisineError, ValueError):
    """A terrain is invalid, or the surface of a wheel cannot touch one of its features."""


class DeadEndError(SimulationError, TerrainError):
    """A simulation reached a terrain feature that the surface of a wheel cannot touch."""


class FileWarning(UserWarning):
    """A value in a robot description file is interpreted differently from its literal meaning."""


def import_extra(module: str, extra: str) -> Any:
    """Import a module of an optional package and return it.

    Parameters
    ----------
    module
        Dotted name of the module.
    extra
        Name of the optional dependency group (`pip install 'draisine[extra]'`) with the package.

    Raises
    ------
    MissingPackageError
        If the package is not installed.

    Examples
    --------
    >>> import_extra("numpy.linalg", "none").__name__
    'numpy.linalg'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"This needs the package {module.partition('.')[0]} ({error}). Install it: "
            f"pip install 'draisine[{extra}]'."
        ) from error


def check_file(path: Any) -> None:
    """Raise `DataError` if a path is a pipe or a device, because reading it might never end.

    >>> check_file("/dev/null")
    Traceback (most recent call last):
    draisine.errors.DataError: /dev/null is not a file, but a pipe or a device.
    """
    # Reading from a pipe without a writer would block forever.
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise DataError(f"{path!s:.200} is not a file, but a pipe or a device.")


def expect(what: str, value: object, kind: type, way: str) -> None:
    """Raise `ParameterError` if a value does not have the expected type.

    Parameters
    ----------
    what
        Name of the function or argument, for the error message.
    value
        The value to check.
    kind
        The expected type.
    way
        Clause of the error message that explains how to obtain a value of the expected type.

    Examples
    --------
    >>> expect("simulate", "whipple", dict, 'draisine.compile("whipple") makes one')
    Traceback (most recent call last):
    draisine.errors.ParameterError: simulate: 'whipple' is not of type dict; \
draisine.compile("whipple") makes one.
    """
    if not isinstance(value, kind):
        raise ParameterError(f"{what}: {value!r} is not of type {kind.__name__}; {way}.")


def expect_known(
    what: str,
    names: str | Iterable[str],
    known: Collection[str],
    error: type[DraisineError] = ParameterError,
) -> None:
    """Raise an error with a suggestion if one of the names is not among the valid names.

    Parameters
    ----------
    what
        Text of the error message before the unknown name.
    names
        The name or names to check.
    known
        The valid names.
    error
        The exception to raise.

    Examples
    --------
    >>> expect_known("no parameter", ["mB", "mb"], ["mB", "mR"])
    Traceback (most recent call last):
    draisine.errors.ParameterError: no parameter 'mb'. Did you mean 'mB'?
    """
    for name in [names] if isinstance(names, str) else names:
        if name not in known:
            raise error(f"{what} {name!r}. {did_you_mean(name, known)}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests valid names in place of an unknown name.

    The suggestions come from the first rule with a match: synonyms in other programs, valid names
    that contain all words of the unknown name, valid names with a word that begins with it, and the
    valid name with the most similar spelling.

    Parameters
    ----------
    name
        The unknown name.
    known
        The valid names.

    Examples
    --------
    >>> did_you_mean("wipple", ["whipple", "rolling_disc"])
    "Did you mean 'whipple'?"
    >>> did_you_mean("speed", ["forward_speed", "steer"])
    "Did you mean 'forward_speed'?"
    >>> did_you_mean("roll_rate", ["lean_rate", "z_rate"])
    "Did you mean 'lean_rate'?"
    """
    choices = sorted(known)
    quantity = name.lower().removesuffix("_rate")
    rate = "_rate" if name.lower().endswith("_rate") else ""
    synonym = f"{SUGGESTED_NAMES.get(quantity)}{rate}"
    suggestions = (
        [choice for choice in choices if choice == synonym]
        or _with_all_words(name, choices)
        or _with_prefix(name, choices)
        or _most_similar(name, choices)
    )
    if suggestions:
        *first, last = map(repr, suggestions)
        return f"Did you mean {', '.join(first)}{' or ' if first else ''}{last}?"
    if not choices:
        return "None exists."
    if len(choices) > MAX_NAMES_IN_MESSAGE:
        return "No similar name exists."
    return f"Available: {', '.join(choices)}."


SUGGESTED_NAMES = {
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
    "jump": "ramp",
    "bump": "kerb",
    "step": "kerb",
    "motorbike": "motorcycle",
}
"""Names of quantities in other programs -> names in draisine, for suggestions only.

They are not accepted as aliases, because joints may have these names.

"""

MAX_NAMES_IN_MESSAGE = 32
"""Largest number of valid names in an error message (about five lines of text)."""

MAX_SUGGESTIONS = 5
"""Largest number of suggested names in an error message, so that they fit on one line."""


def _with_all_words(name: str, choices: Sequence[str]) -> list[str]:
    """Return the shortest valid names (at most `MAX_SUGGESTIONS`) that contain all words of a name."""
    words = _words(name)
    matches = [choice for choice in choices if words and words <= _words(choice)]
    return sorted(matches, key=len)[:MAX_SUGGESTIONS]


def _with_prefix(name: str, choices: Sequence[str]) -> list[str]:
    """Return the shortest valid names that contain a word beginning with the given name."""
    # Prefixes of one or two letters match too many words.
    if len(name) < 3:
        return []
    matches = [c for c in choices if any(word.startswith(name.lower()) for word in _words(c))]
    return sorted(matches, key=len)[:MAX_SUGGESTIONS]


def _words(name: str) -> set[str]:
    """Return the words of a snake-case or hyphenated name."""
    return set(re.findall(r"[^\W_]+", name.lower()))


def _most_similar(name: str, choices: Sequence[str]) -> list[str]:
    """Return the valid name with the most similar spelling, if any is similar enough.

    Names with slashes are compared as a whole and by their last part.
    """
    by_spelling = {choice.rpartition("/")[2].lower(): choice for choice in choices}
    by_spelling |= {choice.lower(): choice for choice in choices}
    matches = get_close_matches(name, choices, n=1)
    matches = matches or get_close_matches(name.lower(), by_spelling, n=1)
    return [by_spelling.get(match, match) for match in matches]
