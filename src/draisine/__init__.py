"""Exact, fast dynamics of machines that roll, grip and bounce.

>>> import draisine
>>> bicycle = draisine.compile("whipple")
>>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
>>> run = draisine.simulate(bicycle, start, until=5.0).to_xarray()
>>> print(f"{float(run.forward_speed[-1]):.4f} m/s")
4.6224 m/s
"""

import importlib
import logging
import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draisine.analysis.bicycle.critical import critical_speeds
    from draisine.analysis.bicycle.eigenvalues import eigenvalues
    from draisine.analysis.continuation import steady_turns
    from draisine.analysis.gradient import gradient, optimise
    from draisine.analysis.linear import linearise
    from draisine.analysis.return_map import return_map
    from draisine.errors import DraisineError
    from draisine.experiment.run import run, sweep
    from draisine.model import Blade, Body, Model, Pin, Prismatic, Revolute, Wheel
    from draisine.results.store import load, save
    from draisine.scenario.terrain import place
    from draisine.simulation.many import simulate_many
    from draisine.simulation.options import ContactOptions, GripSchedule, Numerics
    from draisine.simulation.simulate import simulate
    from draisine.simulation.stepper import Stepper
    from draisine.simulation.trajectory import Event, Trajectory
    from draisine.system.state import State, state
    from draisine.system.system import System, compile
    from draisine.view.film import animate
    from draisine.view.notebook import sliders
    from draisine.view.plot import plot

logging.getLogger(__name__).addHandler(logging.NullHandler())

__version__ = "0.1.0"

__all__ = [
    "Blade",
    "Body",
    "ContactOptions",
    "DraisineError",
    "Event",
    "GripSchedule",
    "Model",
    "Numerics",
    "Pin",
    "Prismatic",
    "Revolute",
    "State",
    "Stepper",
    "System",
    "Trajectory",
    "Wheel",
    "animate",
    "compile",
    "critical_speeds",
    "eigenvalues",
    "gradient",
    "linearise",
    "load",
    "optimise",
    "place",
    "plot",
    "return_map",
    "run",
    "save",
    "simulate",
    "simulate_many",
    "sliders",
    "state",
    "steady_turns",
    "sweep",
]

_MODULES = {
    "analysis.bicycle.critical": ("critical_speeds",),
    "analysis.bicycle.eigenvalues": ("eigenvalues",),
    "analysis.continuation": ("steady_turns",),
    "analysis.gradient": ("gradient", "optimise"),
    "analysis.linear": ("linearise",),
    "analysis.return_map": ("return_map",),
    "errors": ("DraisineError",),
    "experiment.run": ("run", "sweep"),
    "model": ("Blade", "Body", "Model", "Pin", "Prismatic", "Revolute", "Wheel"),
    "results.store": ("load", "save"),
    "scenario.terrain": ("place",),
    "simulation.many": ("simulate_many",),
    "simulation.options": ("ContactOptions", "GripSchedule", "Numerics"),
    "simulation.simulate": ("simulate",),
    "simulation.stepper": ("Stepper",),
    "simulation.trajectory": ("Event", "Trajectory"),
    "system.state": ("State", "state"),
    "system.system": ("System", "compile"),
    "view.film": ("animate",),
    "view.notebook": ("sliders",),
    "view.plot": ("plot",),
}


_import_lock = threading.RLock()
# `os.fork` waits until other threads have finished their imports. Otherwise the child process inherits
# locked import locks of partly imported modules and blocks forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_import_lock.acquire,
        after_in_parent=_import_lock.release,
        after_in_child=_import_lock.release,
    )


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first used (lazy import, PEP 562)."""
    for module, names in _MODULES.items():
        if name in names:
            with _import_lock:
                globals()[name] = getattr(importlib.import_module(f"draisine.{module}"), name)
            return globals()[name]
    from draisine.errors import did_you_mean

    hint = "" if name.startswith("_") else f". {did_you_mean(name, __all__)}"
    raise AttributeError(f"module 'draisine' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    """Return the public names of the package."""
    return [*__all__, "__version__"]
