"""Integrators, one file each: `advance` integrates y over an interval without jumps, in machine code.

advance(problem, y, span, tick=None) -> (times, samples, status) Methods of equal steps return the state
after each step; adaptive ones return it at the times of the span's grid. `status` is the reason why the
integration ended. `equal` is the method with equal steps, for many states side by side. A Runge-Kutta method
consists of `explicit` and a tableau; other methods of equal steps of `EqualSteps` and a routine. `_drivers`:
problem, workspace, projection and falls, which all methods share. `_explicit`, `_adams`: methods of equal
steps. `_dop853_tableau`: coefficients.
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
    step_loop_code,
)
from draisine.simulation.integrators._explicit import EqualSteps, explicit

__all__ = [
    "CHUNK", "CHUNKS", "DEGENERATE", "DONE", "ENDLESS", "FELL", "FLAT", "INTERRUPTED", "NODES",
    "NOT_FINITE", "NO_END", "PLACES", "SMOOTHER", "TOO_SMALL", "WATCH", "EqualSteps", "Problem", "Span",
    "explicit", "step_loop_code",
]  # fmt: skip
