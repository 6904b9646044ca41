"""Every way a draisine call can fail, as one tree.

DraisineError
|-- ModelError           the drawing of the machine is wrong
|-- ParameterError       a parameter has no such name or an impossible value
|-- UnknownNameError     no vehicle, scenario, integrator ... of that name
|-- ConfigurationError   no pose or velocity satisfies what was asked for
|-- RedundancyError      constraints repeat or contradict each other; it names the rows
|-- SingularityError     a freedom without inertia, or a degenerate configuration
|-- DataError            a file that is not what it should be
|-- RoutineError         a routine goes beyond its subset of Python; it names file and line
|-- TerrainError         a ground that is not one, or that a wheel's shape cannot meet
`-- SimulationError      a run that had to stop; `partial` holds what was computed
|-- ContactSetError  no set of contacts is admissible
|-- DeadEndError     a run came to ground that a wheel's shape cannot meet; also a TerrainError
|-- ValidityError    a run that could not have been
`-- ZenoError        too many events
"""

from collections.abc import Iterable
from difflib import get_close_matches
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


class ValidityError(SimulationError):
    """A run that could not have been: the ground would pull, friction pass its limit, or the
    machine has fallen.
    """


class TerrainError(DraisineError, ValueError):
    """A ground that is not one, or a wheel shape that cannot meet it."""


class DeadEndError(SimulationError, TerrainError):
    """A run came to ground that a wheel's shape cannot meet."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that leads from a wrong name to the right one.

    >>> did_you_mean("wipple", ["whipple", "rolling_disc"])
    "Did you mean 'whipple'?"
    """
    choices = sorted(known)
    plain = {choice.lower(): choice for choice in choices}
    close = get_close_matches(name, choices, n=1) or get_close_matches(name.lower(), plain, n=1)
    if close:
        return f"Did you mean {plain.get(close[0], close[0])!r}?"
    return f"Known: {', '.join(choices)}." if choices else "None is known."
