"""Integrators, one file each: `advance` takes y over one smooth stretch of time in machine code.

    advance(problem, y, span, tick=None) -> (times, samples, status)
Methods of equal steps return each step; adaptive ones return the times of the span's grid. `status`
says how it ended. `equal` is the method in equal steps, for many states side by side. A Runge-Kutta
method is `explicit` and a tableau; other methods of equal steps are `EqualSteps` and a routine.
`_drivers`: what all share, `_explicit`, `_adams`: methods of equal steps, `_dop853_tableau`: numbers.
"""

from draisine.simulation.integrators._drivers import (
    CHUNK,
    CHUNKS,
    DEGENERATE,
    DONE,
    ENDLESS,
    FELL,
    FLAT,
    INTERRUPTED,
    NO_END,
    NODES,
    NOT_FINITE,
    PLACES,
    SMOOTHER,
    TOO_SMALL,
    WATCH,
    Problem,
    Span,
    march_code,
)
from draisine.simulation.integrators._explicit import EqualSteps, explicit

__all__ = [
    "CHUNK", "CHUNKS", "DEGENERATE", "DONE", "ENDLESS", "FELL", "FLAT", "INTERRUPTED", "NODES",
    "NOT_FINITE", "NO_END", "PLACES", "SMOOTHER", "TOO_SMALL", "WATCH", "EqualSteps", "Problem", "Span",
    "explicit", "march_code",
]  # fmt: skip
