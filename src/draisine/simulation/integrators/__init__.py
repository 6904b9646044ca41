"""Integrators of initial value problems, one file each. `advance` integrates y over an interval without
jumps, in machine code.

`advance(problem, y, span, tick=None)` returns (times, samples, status). Methods with equal steps return the
state after each step; adaptive methods return it at the times of the span's grid. `status` is the reason why
the integration ended. `equal` is the method with equal steps, for many states in SIMD lanes.

A Runge-Kutta method is defined by `explicit` and a tableau; other methods with equal steps by `EqualSteps`
and a routine. `_drivers` contains problem, workspace, projection and fall checks, which all methods share;
`_explicit` and `_adams` the methods with equal steps; `_dop853_tableau` coefficients.
"""

from draisine.simulation.integrators._drivers import (
    DEGENERATE_PIVOT,
    DENSE_NODE_COUNT,
    DENSE_NODE_POSITIONS,
    ENDLESS,
    ENDLESS_REASON,
    ENDLESS_REMEDY,
    FALL_WATCH_SIZE,
    FELL_FLAT,
    INTERRUPTED,
    MACHINE_FELL,
    MAX_REMAINING_CALLS,
    REACHED_END,
    STEP_BELOW_LIMIT,
    STEPS_PER_NATIVE_CALL,
    VALUE_NOT_FINITE,
    Problem,
    Span,
    step_loop_code,
)
from draisine.simulation.integrators._explicit import EqualSteps, explicit

__all__ = [
    "DEGENERATE_PIVOT",
    "DENSE_NODE_COUNT",
    "DENSE_NODE_POSITIONS",
    "ENDLESS",
    "ENDLESS_REASON",
    "ENDLESS_REMEDY",
    "FALL_WATCH_SIZE",
    "FELL_FLAT",
    "INTERRUPTED",
    "MACHINE_FELL",
    "MAX_REMAINING_CALLS",
    "REACHED_END",
    "STEPS_PER_NATIVE_CALL",
    "STEP_BELOW_LIMIT",
    "VALUE_NOT_FINITE",
    "EqualSteps",
    "Problem",
    "Span",
    "explicit",
    "step_loop_code",
]
