"""Exceptions and warnings of draisine, and the hints in their messages.

DraisineError
|-- ModelError           the drawing of the machine is wrong
|-- ParameterError       a parameter does not exist or has an impossible value
|-- UnknownNameError     no vehicle, scenario, integrator ... has that name
|-- ConfigurationError   no pose or velocity satisfies the requested values
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
    """The drawing of the machine is wrong."""


class ParameterError(DraisineError, ValueError):
    """A parameter does not exist or has an impossible value."""


class UnknownNameError(DraisineError, LookupError):
    """No object of this kind has that name."""


class ConfigurationError(DraisineError, ValueError):
    """No pose or velocity satisfies the requested values."""


class RedundancyError(DraisineError, ArithmeticError):
    """Constraint rows are redundant or contradict each other."""


class SingularityError(DraisineError, ArithmeticError):
    """A degree of freedom has no inertia, or the configuration is degenerate."""


class MissingPackageError(DraisineError, ImportError):
    """An optional package is not installed; the message names the extra that installs it."""


class DataError(DraisineError, ValueError):
    """A file is damaged, has another format, or cannot be read."""


class RoutineError(DraisineError, ValueError):
    """A routine uses Python outside the compiled subset."""


class SimulationError(DraisineError, RuntimeError):
    """A run stopped before its end.

    Attributes
    ----------
    partial
        The trajectory up to that time, or None.
    """

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


class ContactSetError(SimulationError):
    """No set of closed contacts has non-negative normal forces and separations.

    Attributes
    ----------
    trials
        The sets that were tried.
    state
        The state at the event.
    """

    def __init__(self, message: str, trials: Any = (), state: Any = None) -> None:
        super().__init__(message)
        self.trials = trials
        self.state = state


class ZenoError(SimulationError):
    """A run had too many events within a short time.

    Attributes
    ----------
    state
        The state at the last event.
    """

    def __init__(self, message: str, partial: Any = None, state: Any = None) -> None:
        super().__init__(message, partial)
        self.state = state


class GrazingError(SimulationError):
    """The derivatives of a motion do not exist: an event grazes, or two events coincide."""


class ValidityError(SimulationError):
    """A run is not physically valid.

    The ground would have to pull, friction exceeds its limit, the machine has fallen, or energy or
    constraints drift.
    """


class ValidityWarning(UserWarning):
    """A run is not physically valid, or requires more friction than roads have."""


class TerrainError(DraisineError, ValueError):
    """A terrain is invalid, or a wheel's surface cannot touch it."""


class DeadEndError(SimulationError, TerrainError):
    """A run reached ground that a wheel's surface cannot touch."""


class FileWarning(UserWarning):
    """A value in a robot's file is interpreted in another way than the file says."""


def import_extra(module: str, extra: str) -> Any:
    """Import and return a module of an optional package.

    Parameters
    ----------
    module
        Dotted name of the module.
    extra
        The extra of draisine that installs the package.

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
    """Raise if a path is a pipe or a device, which cannot be read to an end.

    >>> check_file("/dev/null")
    Traceback (most recent call last):
    draisine.errors.DataError: /dev/null is not a file, but a pipe or a device.
    """
    # Reading from a pipe without a writer would block for ever.
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise DataError(f"{path!s:.200} is not a file, but a pipe or a device.")


def expect(what: str, value: object, kind: type, way: str) -> None:
    """Raise if a value has another type than expected.

    Parameters
    ----------
    what
        The function or argument, for the message.
    value
        The value to check.
    kind
        The expected type.
    way
        How users get a value of the expected type, for the message.

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
    """Raise if a name, or one of several names, is unknown.

    Parameters
    ----------
    what
        Beginning of the message, before the name.
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
    """Return a sentence that suggests valid names for a wrong one.

    The first of these rules that applies decides: synonyms of other programs, names that contain all
    words of the wrong one, names with a word that begins like it, the most similar spelling.

    Parameters
    ----------
    name
        The wrong name.
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
"""Names of quantities in other programs. They are only suggestions, since joints may have these names."""

MAX_NAMES_IN_MESSAGE = 32
"""A message with more names than this (about five lines) hides the mistake that it reports."""

MAX_SUGGESTIONS = 5
"""Suggested names in a message: they fit on one line."""


def _with_all_words(name: str, choices: Sequence[str]) -> list[str]:
    """Return the shortest names that contain all words of a name."""
    words = _words(name)
    matches = [choice for choice in choices if words and words <= _words(choice)]
    return sorted(matches, key=len)[:MAX_SUGGESTIONS]


def _with_prefix(name: str, choices: Sequence[str]) -> list[str]:
    """Return the shortest names with a word that begins like a name."""
    # One or two letters begin too many words.
    if len(name) < 3:
        return []
    matches = [c for c in choices if any(word.startswith(name.lower()) for word in _words(c))]
    return sorted(matches, key=len)[:MAX_SUGGESTIONS]


def _words(name: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", name.lower()))


def _most_similar(name: str, choices: Sequence[str]) -> list[str]:
    """Return the name with the most similar spelling, compared as a whole or after its last slash."""
    by_spelling = {choice.rpartition("/")[2].lower(): choice for choice in choices}
    by_spelling |= {choice.lower(): choice for choice in choices}
    matches = get_close_matches(name, choices, n=1)
    matches = matches or get_close_matches(name.lower(), by_spelling, n=1)
    return [by_spelling.get(match, match) for match in matches]
