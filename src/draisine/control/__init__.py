"""Control laws, one file each, written over any scalar type: `law(readings, z) -> (inputs by name, zdot)`.

A control law is a frozen dataclass: its fields are its constants, `states` is the number of its states z,
`breakpoints` are the times (s) at which its output may be discontinuous. It is traced into the compiled code.
`lqr` and `follow_path` are designs: their gains are computed for a vehicle. A control law whose initial
states depend on the position of the vehicle has `start_at(x, y, yaw)` instead of `start`.

`_signals` has functions of time, delay and muscles, `_paths` paths to follow, `_combined` combined control
laws.
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
    track_path,
)
from draisine.control._signals.delay import delay
from draisine.control._signals.neuromuscular import Neuromuscular
from draisine.control._signals.saturation import check_limit, saturate
from draisine.control._signals.smooth_transition import smooth_transition
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
    "smooth_transition",
    "track_path",
]
