"""The task of all peers: the benchmark bicycle, pushed at 4.6 m/s.

draisine is imported only by peers that use its equations, so that its import is not part of the set-up
time of the others: they read the machine from `Work.parameters` or `Work.bicycle`.
"""

import ctypes
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

SPEED, LEAN_RATE, UNTIL, DT = 4.6, 0.5, 5.0, 0.005


def describe_bicycle():
    """Return the parameters, bodies, joints and reference result of the bicycle as JSON data."""
    import draisine

    system = draisine.compile("whipple")
    start = draisine.state(system, forward_speed=SPEED, lean_rate=LEAN_RATE)
    tight = draisine.Numerics(rtol=1e-13, atol=1e-15)
    end = draisine.simulate(system, start, UNTIL, numerics=tight).final()
    names = [joint.name for joint in system.model.joints]

    def numbers(values):
        return np.asarray(values, float).tolist()

    return {
        "parameters": {name: float(value) for name, value in system.parameters.items()},
        "bodies": [
            {
                "name": body.name,
                "mass": float(body.mass),
                "com": numbers(body.com),
                "inertia": numbers(body.inertia),
            }
            for body in system.model.bodies
        ],
        "joints": [
            {
                "name": joint.name,
                "parent": joint.parent,
                "child": joint.child,
                "axis": numbers(joint.axis),
                "through": numbers(joint.through),
            }
            for joint in system.model.joints
        ],
        "reference": float(end.r[names.index("steer")]),
    }


@dataclass
class Work:
    """The bicycle, its initial state, and the steer angle at the end to twelve digits."""

    folder: Path  # for compiled code
    description: dict[str, Any]  # result of `describe_bicycle`
    repeat: int = 2000  # calls of a right-hand side per job
    many: int = 64  # bicycles simulated side by side

    @property
    def parameters(self):
        """Parameters of the benchmark bicycle by name, SI units."""
        return self.description["parameters"]

    @property
    def bicycle(self):
        """Bodies (name, mass, com, inertia) and joints (name, parent, child, axis, through)."""
        return SimpleNamespace(
            bodies=[SimpleNamespace(**body) for body in self.description["bodies"]],
            joints=[SimpleNamespace(**joint) for joint in self.description["joints"]],
        )

    @property
    def reference(self):
        """Steer angle (rad) at the end, by DOP853 at 1e-13."""
        return self.description["reference"]

    def fresh(self, name):
        """Return the bicycle of draisine with an empty cache, and its initial state."""
        import draisine
        from draisine.codegen.cache import Store

        system = draisine.compile("whipple", store=Store(self.folder / name))
        return system, draisine.state(system, forward_speed=SPEED, lean_rate=LEAN_RATE)

    @cached_property
    def system(self):
        """The compiled bicycle of draisine."""
        import draisine

        return draisine.compile("whipple")

    @cached_property
    def start(self):
        """Initial state of draisine."""
        import draisine

        return draisine.state(self.system, forward_speed=SPEED, lean_rate=LEAN_RATE)

    @cached_property
    def y(self):
        """Initial values (q, p, r, u) of the equations of motion."""
        return self.system.machine().enter(self.start)

    @property
    def speeds(self):
        """Forward speeds to find eigenvalues at."""
        return np.linspace(0.0, 10.0, 400)

    @property
    def steer_entry(self):
        """Index of the steer angle in y."""
        names = [joint.name for joint in self.system.model.joints]
        return self.system.machine().layout.r.start + names.index("steer")

    def compile_c(self, text, name):
        """Return C text as a loaded library."""
        source, library = self.folder / f"{name}.c", self.folder / f"{name}.so"
        source.write_text(text)
        flags = ["-std=c99", "-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, str(source), "-o", str(library), "-lm"], check=True)
        return ctypes.CDLL(str(library))


def pointer(array):
    """Return where the numbers of an array are, for C."""
    return ctypes.c_void_p(array.ctypes.data)


def angles(states, work):
    """Return the steer angles of states, one per column."""
    return np.asarray(states)[work.steer_entry]
