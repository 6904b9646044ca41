"""Control laws, one file each, written over any scalar: `law(readings, z) -> (inputs by name, zdot)`.

A law is a frozen dataclass: its fields are its numbers, `states` is how many states z of its own it
has, `breakpoints` are the times at which it may jump. It is traced into the compiled code.
`lqr` and `follow_path` are designs: the machine decides the numbers of their laws.
A law whose states depend on where the machine starts has `start_at(x, y, yaw)` in place of `start`.
`_signals`: functions of time, delay, muscles. `_paths`: paths to follow. `_combined`: several laws as one.
"""

from draisine.control._combined import CombinedLaws
from draisine.control._paths import (
    HEADING_ERROR,
    OFFSET,
    ConstantCurvature,
    CurvedPath,
    LaneChange,
    LateralPath,
    Slalom,
    track,
)
from draisine.control._signals.delay import delay
from draisine.control._signals.neuromuscular import Neuromuscular
from draisine.control._signals.saturation import check_limit, saturate
from draisine.control._signals.smooth_step import smooth_step
from draisine.control._signals.time_inputs import (
    SIGNALS,
    Ramp,
    Signal,
    Sine,
    Step,
    Table,
    TimeInputs,
)

__all__ = [
    "HEADING_ERROR",
    "OFFSET",
    "SIGNALS",
    "CombinedLaws",
    "ConstantCurvature",
    "CurvedPath",
    "LaneChange",
    "LateralPath",
    "Neuromuscular",
    "Ramp",
    "Signal",
    "Sine",
    "Slalom",
    "Step",
    "Table",
    "TimeInputs",
    "check_limit",
    "delay",
    "saturate",
    "smooth_step",
    "track",
]
