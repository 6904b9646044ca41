"""Integrators of initial value problems, one file each.

The function `advance` of each file integrates the state y over an interval without jumps of the inputs, in
machine code.

`advance(problem, y, span, tick=None)` returns (times, samples, status). Methods with equal steps return the
state after each step; adaptive methods return it at the sample times `span.grid`. `status` is a code from
`_drivers`: the reason why the integration ended (0: it reached the end of the interval). Each file also has
an object `equal`, the method with equal steps that integrates many states in SIMD lanes.

To define a Runge-Kutta method, pass its tableau to `explicit`; for other methods with equal steps, pass the
routine of one step to `EqualSteps`. `_drivers` contains the code that all methods share: problem, workspace,
projection and fall checks. `_explicit` and `_adams` contain the methods with equal steps, and
`_dop853_tableau` the coefficients of dop853. `_python_law` calls control laws that cannot be compiled.
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
from draisine.simulation.integrators._python_law import PythonRate

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
    "PythonRate",
    "Span",
    "explicit",
    "step_loop_code",
]
