"""Exact, fast dynamics of machines that roll, grip and bounce.

>>> import draisine
>>> bicycle = draisine.compile("whipple")
>>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
>>> run = draisine.simulate(bicycle, start, until=5.0).to_xarray()
>>> print(f"{float(run.forward_speed[-1]):.4f} m/s")
4.6224 m/s
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draisine.errors import DraisineError
    from draisine.simulation.many import simulate_many
    from draisine.simulation.options import ContactOptions, GripSchedule, Numerics
    from draisine.simulation.simulate import simulate
    from draisine.simulation.stepper import Stepper
    from draisine.simulation.trajectory import Trajectory
    from draisine.system.state import State, state
    from draisine.system.system import System, compile

__version__ = "0.1.0"

__all__ = [
    "ContactOptions",
    "DraisineError",
    "GripSchedule",
    "Numerics",
    "State",
    "Stepper",
    "System",
    "Trajectory",
    "compile",
    "simulate",
    "simulate_many",
    "state",
]

_HOMES = {
    "ContactOptions": "simulation.options",
    "DraisineError": "errors",
    "GripSchedule": "simulation.options",
    "Numerics": "simulation.options",
    "State": "system.state",
    "Stepper": "simulation.stepper",
    "System": "system.system",
    "Trajectory": "simulation.trajectory",
    "compile": "system.system",
    "simulate": "simulation.simulate",
    "simulate_many": "simulation.many",
    "state": "system.state",
}


def __getattr__(name: str) -> Any:
    """Return a public name, importing its home only now."""
    if name not in _HOMES:
        raise AttributeError(f"module 'draisine' has no attribute {name!r}")
    return getattr(importlib.import_module(f"draisine.{_HOMES[name]}"), name)
