"""The work that all peers are given: the benchmark bicycle, pushed at 4.6 m/s."""

import ctypes
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

import draisine
from draisine.codegen.cache import Store

SPEED, LEAN_RATE, UNTIL, DT = 4.6, 0.5, 5.0, 0.005


@dataclass
class Work:
    """The bicycle, its start, and the steer angle at the end to twelve digits."""

    folder: Path
    repeat: int = 2000
    many: int = 64
    system: draisine.System = field(default_factory=lambda: draisine.compile("whipple"))

    def fresh(self, name):
        """Return the bicycle with nothing kept, and its start."""
        system = draisine.compile("whipple", store=Store(self.folder / name))
        return system, draisine.state(system, forward_speed=SPEED, lean_rate=LEAN_RATE)

    @cached_property
    def start(self):
        """The state at the start."""
        return draisine.state(self.system, forward_speed=SPEED, lean_rate=LEAN_RATE)

    @cached_property
    def y(self):
        """The start as the numbers (q, p, r, u) that equations of motion advance."""
        return self.system.machine().enter(self.start)

    @property
    def speeds(self):
        """Forward speeds to find eigenvalues at."""
        return np.linspace(0.0, 10.0, 400)

    @property
    def steer_entry(self):
        """Where the steer angle stands in y."""
        names = [joint.name for joint in self.system.model.joints]
        return self.system.machine().layout.r.start + names.index("steer")

    @cached_property
    def reference(self):
        """The steer angle at the end, by DOP853 at 1e-13."""
        tight = draisine.Numerics(rtol=1e-13, atol=1e-15)
        run = draisine.simulate(self.system, self.start, UNTIL, numerics=tight)
        return float(run.final().r[self.steer_entry - self.system.machine().layout.r.start])

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
