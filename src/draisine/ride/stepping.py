"""Fixed steps of a machine with a law whose commands are written from outside."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import SimulationError
from draisine.simulation.integrators import rk4
from draisine.simulation.integrators._drivers import Span
from draisine.simulation.options import CONTACT, Numerics, Task
from draisine.simulation.smooth import REASONS, _Run
from draisine.system.state import State
from draisine.system.system import System

STEP = 2.0**-10
"""The step, s."""


class Steps:
    """A machine that goes on step by step; its law's states z are there to be written."""

    def __init__(self, system: System, start: State, law: Any, time: float = 0.0) -> None:
        self.system, self.law = system, law
        numerics = Numerics(integrator="rk4", dt=STEP, start=time)
        self.run = _Run(Task(system, start, time + STEP, None, law, None, CONTACT, numerics, None))
        self.y, self.first, self.count = self.run.y.copy(), time, 0
        self.z = self.y[len(self.y) - self.run.states :]
        self.inputs = self.run.given

    @property
    def time(self) -> float:
        """The present time, s."""
        return self.first + self.count * STEP

    def command(self, commands: Mapping[str, float]) -> None:
        """Write commands of the law."""
        if self.law is not None:
            for name, value in commands.items():
                self.z[1 + self.law.commands.index(name)] = value

    def go(self, count: int, inputs: Mapping[str, float]) -> None:
        """Take so many steps with constant inputs."""
        self.inputs = self.system.inputs(inputs)
        self.run.problem.tail[: len(self.inputs)] = self.inputs
        if count == 0:
            return
        span = Span(self.time, self.time + count * STEP, STEP, np.zeros(0))
        _, samples, wrong = rk4.advance(self.run.problem, self.y, span)
        self.y[:] = samples[-1]
        self.count += len(samples) - 1
        if wrong:
            raise SimulationError(REASONS[wrong])

    def observe(self) -> dict[str, Floats]:
        """Return everything that can be seen of the present state."""
        return self.run.machine.look(self.y, self.time, self.inputs)

    @property
    def r(self) -> Floats:
        """The joints."""
        return self.y[7 : 7 + len(self.system.model.joints)]

    @property
    def q(self) -> Floats:
        """The orientation."""
        return self.run.machine.user_pose(self.y[:4], self.y[4:7])[0]

    def values(self, names: Sequence[str]) -> dict[str, float]:
        """Return what is asked for by name, as far as this machine has it."""
        seen, model = self.observe(), self.system.model
        known = dict(zip(self.system.outputs, seen["outputs"], strict=True))
        rates = zip(self.system.outputs, seen["output_rates"], strict=True)
        known |= {f"{name}_rate": value for name, value in rates}
        known |= dict(zip("xyz", seen["position"], strict=True))
        known |= dict(zip((j.name for j in model.joints), self.r, strict=True))
        known |= dict(zip(model.speeds, seen["v"], strict=True))
        return {name: float(known[name]) for name in names if name in known}
