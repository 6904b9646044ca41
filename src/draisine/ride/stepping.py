"""Steps of a machine with a law whose commands are written from outside: on the level plane in equal
steps, on a terrain from event to event.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import SimulationError
from draisine.simulation.contact.arc import TerrainArc
from draisine.simulation.contact.run import TerrainRun
from draisine.simulation.integrators import rk4
from draisine.simulation.integrators._drivers import Span
from draisine.simulation.options import CONTACT, ContactOptions, Numerics, Task
from draisine.simulation.smooth import REASONS, _Run
from draisine.system.state import State
from draisine.system.system import System
from draisine.terrain import Terrain

STEP = 2.0**-10
"""The step, s: a power of two, so that any slicing of time gives the same bits."""


class Steps(Protocol):
    """A machine that goes on step by step; its law's states z are there to be written."""

    system: System
    law: Any
    z: Floats

    @property
    def time(self) -> float:
        """The present time, s."""

    @property
    def r(self) -> Floats:
        """The joints."""

    @property
    def q(self) -> Floats:
        """The orientation."""

    def go(self, count: int, inputs: Mapping[str, float]) -> None:
        """Take so many steps with constant inputs."""

    def observe(self) -> dict[str, Floats]:
        """Return everything that can be seen of the present state."""


def command(steps: Steps, commands: Mapping[str, float]) -> None:
    """Write commands of the law."""
    if steps.law is not None:
        for name, value in commands.items():
            steps.z[1 + steps.law.commands.index(name)] = value


def values(steps: Steps, names: Sequence[str]) -> dict[str, float]:
    """Return what is asked for by name, as far as the machine has it."""
    seen, model, outputs = steps.observe(), steps.system.model, steps.system.outputs
    known = dict(zip(outputs, seen["outputs"], strict=True))
    known |= {f"{n}_rate": x for n, x in zip(outputs, seen["output_rates"], strict=True)}
    known |= dict(zip("xyz", seen["position"], strict=True))
    known |= dict(zip((j.name for j in model.joints), steps.r, strict=True))
    known |= dict(zip(model.speeds, seen["v"], strict=True))
    return {name: float(known[name]) for name in names if name in known}


class PlaneSteps:
    """Equal steps of the classical Runge-Kutta method on the level plane."""

    def __init__(self, system: System, start: State, law: Any, time: float = 0.0) -> None:
        self.system, self.law = system, law
        numerics = Numerics(integrator="rk4", dt=STEP, start=time)
        self.run = _Run(Task(system, start, time + STEP, None, law, None, CONTACT, numerics, None))
        self.y, self.first, self.count = self.run.y.copy(), time, 0
        self.z = self.y[self.run.machine.layout.z]
        self.inputs = self.run.given

    @property
    def time(self) -> float:
        """The present time, s."""
        return self.first + self.count * STEP

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
        return self.y[self.run.machine.layout.r]

    @property
    def q(self) -> Floats:
        """The orientation."""
        at = self.run.machine.layout
        return self.run.machine.user_pose(self.y[at.q], self.y[at.p])[0]


class TerrainSteps:
    """One run on a terrain that goes on and on: contacts and their history are kept."""

    def __init__(self, system: System, start: State, law: Any, terrain: Terrain, mu: float) -> None:
        self.system, self.law, self.terrain = system, law, terrain
        contact = ContactOptions(mu=mu, rest_speed=0.05, fall=np.inf)
        numerics = Numerics(dt=1.0, rtol=1e-8, atol=1e-10)
        self.run = TerrainRun(
            Task(system, start, STEP, terrain, law, None, contact, numerics, None)
        )
        self.run.begin()
        self.z, self.count = self.run.y[self.run.look.machine.layout.z].copy(), 0

    @property
    def time(self) -> float:
        """The present time, s."""
        return self.count * STEP

    def go(self, count: int, inputs: Mapping[str, float]) -> None:
        """Go on by so many steps' time with constant inputs."""
        run, at = self.run, self.run.look.machine.layout
        run.look.inputs = self.system.inputs(inputs)
        if not np.array_equal(run.y[at.z][1:], self.z[1:]):
            run.y = run.y.copy()
            run.y[at.z][1:] = self.z[1:]
            run.resolve("input", [], frozenset())
        self.count += count
        run.until, run.stops = self.time, [self.time]
        while run.t < run.until:
            run._open_arc()
            if run._arc():
                raise SimulationError(run.outcome)
        run.arcs.clear()
        run.events.clear()
        self.z = run.y[at.z].copy()

    def observe(self) -> dict[str, Floats]:
        """Return everything that can be seen of the present state."""
        run, look = self.run, self.run.look
        sample = (np.array([run.t]), run.y[None, :], look.inputs, tuple(run.closed))
        seen = TerrainArc(look.machine, *sample, self.terrain, run.mode, look.stops).seen
        return {name: value[:, 0] for name, value in seen.items()}

    @property
    def r(self) -> Floats:
        """The joints."""
        return self.run.y[self.run.look.machine.layout.r]

    @property
    def q(self) -> Floats:
        """The orientation."""
        return self.run.y[self.run.look.machine.layout.q]
