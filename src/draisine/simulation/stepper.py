"""Stepping from outside: one driver for rides, learning environments, co-simulation and hardware."""

import math
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Protocol

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import (
    DeadEndError,
    ParameterError,
    SimulationError,
    TerrainError,
    ValidityWarning,
    did_you_mean,
    expect,
)
from draisine.mechanics.readings import law_states
from draisine.model import Model
from draisine.model.names import dimensions
from draisine.simulation.contact.arc import SteppedArc, TerrainArc
from draisine.simulation.contact.run import TerrainRun, place_on_terrain
from draisine.simulation.dataset import named_values
from draisine.simulation.integrators import DEGENERATE, FELL, march_code
from draisine.simulation.options import CONTACT, ContactOptions, Numerics, Task
from draisine.simulation.run_kinds import STEPPER_ON_PLANE, STEPPER_ON_TERRAIN, check_options
from draisine.simulation.smooth import HINTS, REASONS, SmoothRun
from draisine.simulation.trajectory import Event
from draisine.system.artifacts import check_system
from draisine.system.state import State, consistent_state
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain

STEP = 2.0**-10
"""The step by default, in s: a power of two, so that whole runs in equal steps have the same bits."""

FAR = 1e9
"""No run goes on for so many seconds."""

REMEMBERED = 10_000
"""How many events a stepper remembers."""


class Stepper:
    """A machine that goes on step by step, with inputs that are held from one call to the next.

    The unit is the step, `numerics.dt` (1/1024 s by default), counted from the start: any slicing of
    time into calls gives the same bits, and with a step of 2^-k s they are those of `simulate`. On a
    `terrain` the motion is that of `simulate` with a breakpoint wherever inputs change. `inputs`
    are the inputs of the model by name, and the commands of the law, if it has any: those of its
    states, the last ones, that are named in its `commands` (of two of one name, the command).

    The run ends where the machine falls (`contact.fall = inf` lets it go on): then `outcome` says so,
    and further steps do nothing, with a warning.

    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> ride = Stepper(bicycle, draisine.state(bicycle, forward_speed=5.0))
    >>> for torque in (0.5, 0.0):
    ...     ride.step(0.25, {"steer": torque})
    >>> print(f"{ride.time} s, steer {ride.state.r[0]:.4f} rad")
    0.5 s, steer -0.0128 rad
    """

    def __init__(
        self,
        system: System,
        state: State,
        *,
        terrain: Terrain | None = None,
        law: Law | None = None,
        inputs: Mapping[str, float] | None = None,
        contact: ContactOptions = CONTACT,
        numerics: Numerics | None = None,
    ) -> None:
        check_system("Stepper", system)
        expect("Stepper", state, State, "draisine.state(system, ...) makes one")
        if numerics is None:
            numerics = Numerics(integrator="rk4" if terrain is None else "dop853", dt=STEP)
        expect("numerics", numerics, Numerics, "Numerics(dt=1/512) makes one")
        until = numerics.start + numerics.dt
        self._task = Task(system, state, until, terrain, law, None, contact, numerics, None)
        kind = STEPPER_ON_PLANE if terrain is None else STEPPER_ON_TERRAIN
        check_options(kind, self._task)
        commands = tuple(getattr(law, "commands", ()))
        self._commands = {name: k - len(commands) for k, name in enumerate(commands)}
        self.inputs = dict.fromkeys(system.model.inputs, 0.0)
        given, _ = self._numbers(inputs or {})
        self.inputs |= given
        self._set_out()
        self.hold(inputs or {})

    def _set_out(self) -> None:
        task = replace(self._task, inputs=self.inputs)
        self._driver: _Driver = _OnPlane(task) if task.terrain is None else _OnTerrain(task)
        self.count, self._asked, self._warned = 0, 0.0, False
        self.events: deque[Event] = deque(maxlen=REMEMBERED)
        self.arcs: tuple[TerrainArc | SteppedArc, ...] = ()

    @property
    def system(self) -> System:
        """The machine."""
        return self._task.system

    def __repr__(self) -> str:
        vehicle = self._task.system.vehicle.__name__
        return (
            f"Stepper of {vehicle} at {self.time:g} s, {1.0 / self._task.numerics.dt:g} steps per s"
        )

    @property
    def time(self) -> float:
        """The present time, in s."""
        return self._task.numerics.start + self.count * self._task.numerics.dt

    @property
    def state(self) -> State:
        """The present state."""
        return self._driver.state(self.time)

    @property
    def law_state(self) -> Floats:
        """The present states of the law, its commands among them."""
        return self._driver.law_state()

    @property
    def outcome(self) -> str:
        """How the run ended, if it did: a machine that fell does not go on."""
        return self._driver.outcome

    def observe(self) -> dict[str, Floats]:
        """Return everything that can be seen of the present state: `outputs`, `output_rates`, `v`,
        `vdot`, `forces`, `points`, `gaps`, `kinetic`, `potential`, `inputs`, ...
        """
        return self._driver.observe(self.time)

    def hold(self, inputs: Mapping[str, float]) -> None:
        """Hold these inputs and commands from now on; what is not named stays as it is."""
        given, commands = self._numbers(inputs)
        self.inputs |= given
        self._driver.hold(np.array(list(self.inputs.values())), commands)

    def _numbers(self, inputs: Mapping[str, float]) -> tuple[dict[str, float], dict[int, float]]:
        """Return inputs by name and commands by place; what is none of either is told."""
        expect("inputs", inputs, Mapping, 'give numbers by name, as {"steer": 0.5}')
        plain, commands = dict[str, float](), dict[int, float]()
        for name, value in inputs.items():
            if not (isinstance(value, (int, float, np.number)) and abs(value) < math.inf):
                raise ParameterError(f"input {name} = {value!r:.80} is not a finite number.")
            if name in self._commands:
                commands[self._commands[name]] = float(value)
            elif name in self.inputs:
                plain[name] = float(value)
            else:
                known = [*self.inputs, *self._commands]
                raise ParameterError(f"no input {name!r}. {did_you_mean(str(name), known)}")
        return plain, commands

    def step(self, dt: float, inputs: Mapping[str, float] | None = None) -> None:
        """Go on by dt seconds, to the last whole step in them: what is left over is not lost, but
        added to the next call.

        A run that cannot go on raises `SimulationError`; the state is then the last one before.
        """
        if not (isinstance(dt, (int, float, np.number)) and 0 <= dt < FAR):
            raise ParameterError(f"dt = {dt!r:.80} s is no time to go on by.")
        if inputs:
            self.hold(inputs)
        if self.outcome:
            self._warn_ended()
            return
        self._asked += dt
        count = math.floor(self._asked / self._task.numerics.dt + 1e-6)
        if count <= self.count:
            return
        self.count, events, self.arcs = self._driver.advance(self.count, count)
        self.events.extend(events)
        self._driver.check()

    def _warn_ended(self) -> None:
        """Warn once that the run has ended."""
        if not self._warned:
            warnings.warn(
                f"the run of {self.system.vehicle.__name__} ended at {self.time:.4g} s ({self.outcome}); "
                "further steps do nothing. reset() begins anew, ContactOptions(fall=math.inf) lets it go "
                "on.",
                ValidityWarning,
                stacklevel=3,
            )
        self._warned = True

    def obey(self, law: Law) -> None:
        """Go on from the same state under another law of the same states and commands. This is how
        one takes up or lets go of a joint on a terrain, where a law guides it always or never.
        """
        if law_states(law) != law_states(self._task.law):
            raise ParameterError("a law can be followed only by one that has as many states.")
        task = replace(self._task, law=law)
        self._driver.obey(task)
        self._task = task

    def reset(self, state: State | None = None) -> None:
        """Begin anew at the start time, from a state or the first one; inputs stay held."""
        if state is not None:
            expect("reset", state, State, "draisine.state(system, ...) makes one")
            self._task = replace(self._task, state=state)
        self._set_out()

    def with_parameters(self, keep: Sequence[str] = (), **changes: float) -> "Stepper":
        """Return a stepper of the machine with other parameters, at the same time and place: what is
        named in `keep` is as it was (by default x, y, yaw, lean, the joints, and the independent
        speeds), the rest follows from the contacts; inputs and states of the law are kept.
        """
        task, here = self._task, self.values()
        names = keep or [n for n in (*_PLACE, *self._free_names()) if n in here]
        missing = [name for name in names if name not in here]
        if missing:
            raise ParameterError(f"no {missing[0]!r} to keep. {did_you_mean(missing[0], here)}")
        system = self.system.with_parameters(**changes)
        mode = task.mode if task.terrain is None else None
        kept: dict[str, Any] = {name: here[name] for name in names}
        start = consistent_state(system.machine(mode), kept, self.time)
        other = Stepper(
            system,
            start,
            terrain=task.terrain,
            law=task.law,
            inputs=self.inputs,
            contact=task.contact,
            numerics=replace(task.numerics, start=self.time),
        )
        states = len(self.law_state)
        other._driver.hold(
            system.inputs(self.inputs), {k - states: float(z) for k, z in enumerate(self.law_state)}
        )
        return other

    def _free_names(self) -> list[str]:
        machine = self.system.machine(self._task.mode if self._task.terrain is None else None)
        return [*(joint.name for joint in self.system.model.joints), *machine.choice.names]

    def values(self) -> dict[str, float]:
        """Return what is known of the present state by name, forces of the ground as
        `contact_force[rear, normal]`.
        """
        known = state_values(self.system.model, self.state.r, self.observe())
        return {name: float(value) for name, value in known.items()}


def state_values(model: Model, r: Floats, seen: Mapping[str, Floats]) -> dict[str, Any]:
    """Return what is known of a state by name, from shape and observations along their last axis."""
    place = {axis: seen["position"][..., k] for k, axis in enumerate("xyz")}
    speeds = {name: seen["v"][..., k] for k, name in enumerate(model.speeds)}
    labels = dimensions(model)
    ways = enumerate(product(labels["contact"], labels["direction"]))
    forces = {f"contact_force[{name}, {way}]": seen["forces"][..., k] for k, (name, way) in ways}
    return named_values(model, r, seen) | place | speeds | forces


_PLACE = ("x", "y", "yaw", "lean")


class _Driver(Protocol):
    """What goes on underneath a stepper; steps are counted from the start."""

    outcome: str

    def hold(self, inputs: Floats, commands: Mapping[int, float]) -> None:
        """Hold inputs, and write states of the law, counted from the last one."""

    def obey(self, task: Task) -> None:
        """Go on from here under the law of a task."""

    def advance(
        self, count: int, end: int
    ) -> tuple[int, tuple[Event, ...], tuple[TerrainArc | SteppedArc, ...]]:
        """Go on from one step to another; return how far it came, events, and arcs that ended."""

    def check(self) -> None:
        """Raise where the run could not go on."""

    def state(self, t: float) -> State:
        """Return the present state."""

    def law_state(self) -> Floats:
        """Return the states of the law."""

    def observe(self, t: float) -> dict[str, Floats]:
        """Return everything that can be seen."""


class _OnPlane:
    """Equal steps in one mode: the integrator's own loop, taken up where it was left."""

    def __init__(self, task: Task) -> None:
        self.run, self.numerics, self.outcome = SmoothRun(task), task.numerics, ""
        self.method: Any = task.numerics.method.equal
        if self.method.ring > 1:
            raise ParameterError(
                f"integrator {task.numerics.integrator!r} remembers steps before; a stepper needs "
                "one that does not, as rk4."
            )
        self.cause: str | None = None
        self._seen: dict[str, Floats] | None = None
        self._pose()

    def _pose(self) -> None:
        problem, method = self.run.problem, self.method
        self.packed = problem.workspace(
            len(self.run.y), method.stages, method.coefficients, keep=False
        )
        self.work = self.packed.record
        self.work.x[1 : 1 + self.work.n] = self.run.y

    @property
    def y(self) -> Floats:
        return self.work.x[1 : 1 + self.work.n]

    def law_state(self) -> Floats:
        return self.y[self.run.machine.layout.z].copy()

    def hold(self, inputs: Floats, commands: Mapping[int, float]) -> None:
        self.run.given = inputs
        self.work.x[1 + self.work.n :][: len(inputs)] = inputs
        for k, value in commands.items():
            self.y[k] = value
        self._seen = None

    def obey(self, task: Task) -> None:
        raise ParameterError(
            "on the ground plane a law guides joints at times: switch `active` of its Guide by a command."
        )

    def advance(
        self, count: int, end: int
    ) -> tuple[int, tuple[Event, ...], tuple[TerrainArc | SteppedArc, ...]]:
        start, h, work, stalled = self.numerics.start, self.numerics.dt, self.work, False
        march = march_code(self.method.march, 1)
        self.check()
        self._seen = None
        while count < end:
            self.work.wrong[:] = 0.0
            reached = march(self.packed, start, h, np.inf, count, end, np.zeros(1))
            status, moved, count = int(self.work.wrong[0]), reached > count, reached
            if status == 0 or (status == DEGENERATE and count == end):
                break
            if status == FELL:
                self.run.y = self.y.copy()
                self.outcome = self.run.fall.outcome(self.run.pose())
                break
            if status != DEGENERATE or (stalled and not moved):
                self.run.y, self.run.last = work.y.copy(), start + count * h
                self.cause = self.run.failure(status) or REASONS[status]
                work.x[1 : 1 + work.n] = work.y
                return max(count - 1, 0) if count == end else count, (), ()
            stalled = not moved
            self._change_pivots(start + count * h)
        return count, (), ()

    def _change_pivots(self, t: float) -> None:
        headings = self.work.headings.copy()
        self.run.y = self.y.copy()
        self.run.change_pivots(t)
        self._pose()
        self.work.headings[:] = headings

    def check(self) -> None:
        if self.cause is not None:
            hint = HINTS.get(self.cause, "")
            raise SimulationError(f"the run stopped: {self.cause}.{hint}") from self.run.cause

    def state(self, t: float) -> State:
        machine, at = self.run.machine, self.run.machine.layout
        q, p = machine.user_pose(self.y[at.q], self.y[at.p])
        z = self.y[at.z][: machine.system.model.memory].copy()
        return State(q, p, self.y[at.r].copy(), self.observe(t)["v"], element_state=z)

    def observe(self, t: float) -> dict[str, Floats]:
        if self._seen is None:
            code, x = self.run.machine.observe, self.work.x
            x[0] = t  # x = (t, y, inputs, anchors) is what all programs of a mode read
            self._seen = code.outputs.split(code.flat(x[: code.inputs.size]))
        return self._seen


class _OnTerrain:
    """A run on a terrain that never sees where time is sliced.

    While it locates events, `run` is at most one integration step behind the present time, and `ahead`
    is a branch of it beyond that time, whose samples lie on the grid of the stepper. In time steps the
    run is at most one step ahead, and the present state is interpolated. If inputs change, the run
    continues from the present state: from a branch that is integrated to the present time, or from the
    interpolated state in time steps.
    """

    def __init__(self, task: Task) -> None:
        self.numerics, self.outcome = task.numerics, ""
        self.t = task.numerics.start
        self.run = TerrainRun(task).branch(self.t + FAR)
        self.run.keeps_dense = False
        self.run.begin()
        self.look = self.run.look
        self.ahead: TerrainRun | None = None
        self._exact: TerrainRun | None = None  # branch that ends at the present time
        self._reported = 0  # events of the run that were reported
        self.failure: SimulationError | None = None

    def _here(self) -> TerrainRun:
        """Return the run at the present time, or a branch that is integrated to it."""
        if self.run.steps is not None or self.run.outcome or self.run.at.t >= self.t:
            return self.run
        if self._exact is None:
            self._exact = self.run.branch(self.t)
            while self._exact.at.t < self.t and not self._exact.outcome:
                self._exact.move()
        return self._exact

    def _y(self) -> Floats:
        """Return the present state."""
        run = self.run
        if run.steps is not None:
            return run.steps.stepper.state_at(self.t)
        if self.ahead is not None and self._exact is None and run.at.t < self.t:
            sample = self.ahead.sample_at(self.t)
            if sample is not None:
                return sample
        return self._here().at.y

    def law_state(self) -> Floats:
        return self._y()[self.look.y.z].copy()

    def hold(self, inputs: Floats, commands: Mapping[int, float]) -> None:
        changed = not np.array_equal(inputs, self.look.inputs)
        if not changed and commands:
            z = self._y()
            changed = any(z[k] != value for k, value in commands.items())
        if changed:
            self._continue(inputs, commands)

    def obey(self, task: Task) -> None:
        inputs = self.look.inputs
        self.look, _ = place_on_terrain(task)
        self._continue(inputs, {})

    def _continue(self, inputs: Floats, commands: Mapping[int, float]) -> None:
        """Let the run continue from the present state, with inputs and written states of the law."""
        here = self._here()
        y = self._y().copy() if here.steps is not None else here.at.y.copy()
        for k, value in commands.items():
            y[k] = value
        if here is not self.run:
            self.run = here.branch(self.numerics.start + FAR)
        self.run.at = replace(self.run.at, t=self.t) if here.steps is not None else self.run.at
        self.run.restart(self.look, y, inputs)
        self.ahead = self._exact = None

    def advance(
        self, count: int, end: int
    ) -> tuple[int, tuple[Event, ...], tuple[TerrainArc | SteppedArc, ...]]:
        self.check()
        start, h = self.numerics.start, self.numerics.dt
        last, self.t = self.t, start + end * h
        self._exact = None
        try:
            self._go(self.t)
        except (ParameterError, SimulationError, TerrainError) as error:
            kind = DeadEndError if isinstance(error, TerrainError) else SimulationError
            self.failure = error if isinstance(error, SimulationError) else kind(str(error))
            self.t = last
            return count, (), ()
        if self.run.outcome and self.run.at.t <= self.t:
            self.outcome = self.run.outcome
            end = int((self.run.at.t - start) / h)
        return end, *self._news()

    def _go(self, t: float) -> None:
        """Let the run go on by its own steps until the present time lies before the end of the next one."""
        run = self.run
        while run.at.t < t and not run.outcome:
            if run.steps is not None:
                run.move(run.steps.stepper.steps_until(t))
                continue
            if self.ahead is None:
                self.ahead = run.branch(run.until)
                try:
                    self.ahead.move()
                except (ParameterError, SimulationError, TerrainError):
                    self.ahead = None
                    self._here()  # raises if the error belongs to a time before t
                    return
            if self.ahead.at.t > t:
                return
            self.run, self.ahead = self.ahead, None
            run = self.run

    def _news(self) -> tuple[tuple[Event, ...], tuple[TerrainArc | SteppedArc, ...]]:
        """Return the events and arcs that were not reported yet."""
        run = self.run
        events = tuple(run.events[self._reported :])
        arcs = tuple(run.arcs[-len(events) :]) if events else ()
        run.forget()
        self._reported = len(run.events)
        return events, arcs

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def state(self, t: float) -> State:
        return self.look.machine.leave(self._y())

    def observe(self, t: float) -> dict[str, Floats]:
        here = self._here()
        seen = here.observe(self.t) if here.steps is not None else here.observe()
        return {name: values[..., -1] for name, values in seen.items()}
