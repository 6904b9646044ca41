"""Fixed steps of a machine with a law whose commands are written from outside."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.integrators import rk4
from draisine.simulation.smooth import REASONS, _Run
from draisine.errors import SimulationError
from draisine.system.closed_form import State
from draisine.system.system import System

H = 2.0**-10


class Steps:
    def __init__(self, system: System, start: State, law: Any, time: float = 0.0) -> None:
        self.system, self.law = system, law
        self.run = _Run(system, None, law, None, None, "project")
        self.run.begin(start, time)
        self.y, self.first, self.count = self.run.y.copy(), time, 0
        self.states = self.run.states
        self.z = self.y[len(self.y) - self.states :]
        self.inputs = self.run.given

    @property
    def time(self) -> float:
        return self.first + self.count * H

    def command(self, commands: Mapping[str, float]) -> None:
        if self.law is not None:
            for name, value in commands.items():
                self.z[1 + self.law.commands.index(name)] = value

    def go(self, count: int, inputs: Mapping[str, float]) -> None:
        self.inputs = self.system.inputs(inputs)
        self.run.problem.code.tail[: len(self.inputs)] = self.inputs
        t = self.time
        _, samples, status = rk4.advance(self.run.problem, self.y, t, t + count * H, H, None, 0, 0)
        self.y[:] = samples[-1]
        self.count += len(samples) - 1
        if status:
            raise SimulationError(REASONS[status])

    def observe(self) -> dict[str, Floats]:
        return self.run.machine.look(self.y, self.time, self.inputs)

    @property
    def r(self) -> Floats:
        return self.y[7 : 7 + len(self.system.model.joints)]

    @property
    def q(self) -> Floats:
        return self.run.machine.user_pose(self.y[:4], self.y[4:7])[0]

    def values(self, names: Sequence[str]) -> dict[str, float]:
        seen, model = self.observe(), self.system.model
        known = dict(zip(self.system.outputs, seen["outputs"], strict=True))
        rates = zip(self.system.outputs, seen["output_rates"], strict=True)
        known |= {f"{name}_rate": value for name, value in rates}
        known |= dict(zip("xyz", seen["position"], strict=True))
        known |= dict(zip((j.name for j in model.joints), self.r, strict=True))
        known |= dict(zip(model.speeds, seen["v"], strict=True))
        return {name: float(known[name]) for name in names if name in known}
