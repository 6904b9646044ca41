"""Step-by-step simulation with inputs that stay constant between calls, for interactive rides, learning
environments, co-simulation and hardware.

`Stepper` counts steps and keeps the inputs. `_Bilateral` advances a system with ideal contacts, `_Unilateral`
a system on a terrain. The results of both are bitwise equal for any division of time into calls.
"""

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
from draisine.simulation.bilateral import STOP_HINTS, STOP_REASONS, BilateralRun
from draisine.simulation.contact.driver import RunState
from draisine.simulation.contact.query import Closed, return_query
from draisine.simulation.contact.run import TerrainRun, place_on_terrain
from draisine.simulation.dataset import named_values
from draisine.simulation.integrators import DEGENERATE_PIVOT, MACHINE_FELL, step_loop_code
from draisine.simulation.options import CONTACT, ContactOptions, Numerics, Task
from draisine.simulation.run_kinds import STEPPER_ON_PLANE, STEPPER_ON_TERRAIN, check_options
from draisine.simulation.sensing import SensorSampler
from draisine.simulation.trajectory import Event
from draisine.system.artifacts import require_system
from draisine.system.state import State, consistent_state
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain

DEFAULT_STEP = 2.0**-10
"""Default step length (s); it is a power of two, so that its multiples are exact."""

MAX_TIME = 1e9
"""Upper bound of the simulated time (s)."""

MAX_STORED_EVENTS = 10_000
"""Largest number of events that a stepper keeps; older events are discarded."""

MAX_SHORT_STEPS = 4
"""Largest number of steps between two changes of the inputs for which short integration steps are used. For
more steps, one integration step with event location is cheaper: it costs as much as four short ones.
"""

SHORT_STEP_PAUSE = 16
"""Number of changes of the inputs for which no short steps are tried after a short step was rejected."""


class Stepper:
    """A run that advances step by step, with inputs that stay constant from one call to the next.

    Steps have the length `numerics.dt` (1/1024 s by default) and are counted from the start, so that slicing
    time into calls does not change the result; with a step of 2^-k s it equals that of `simulate`. On a
    terrain the motion is that of `simulate` with a breakpoint at each change of the inputs; states between
    integration steps or time steps are interpolated.

    The run ends if the system falls: `outcome` then states the fall, and further steps have no effect except
    a warning.

    Parameters
    ----------
    system
        Compiled system.
    state
        Initial state.
    terrain
        The ground; without it contacts are ideal, on the level plane.
    law
        Control law. Its last states may be commands (values set from outside like inputs), named in its
        attribute `commands`.
    inputs
        Initial inputs and commands by name; a command hides an input of the same name.
    contact
        Options of contacts; `fall=inf` continues after a fall.
    numerics
        Integrator, step and tolerances.
    noise_seed
        Seed of the run for the noise of sensors, in addition to the seed of each sensor.

    Examples
    --------
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
        noise_seed: int = 0,
    ) -> None:
        require_system("Stepper", system)
        expect("Stepper", state, State, "draisine.state(system, ...) makes one")
        if numerics is None:
            integrator = "rk4" if terrain is None else "dop853"
            numerics = Numerics(integrator=integrator, dt=DEFAULT_STEP)
        expect("numerics", numerics, Numerics, "Numerics(dt=1/512) makes one")
        until = numerics.start + numerics.dt
        self._task = Task(system, state, until, terrain, law, None, contact, numerics, None)
        kind = STEPPER_ON_PLANE if terrain is None else STEPPER_ON_TERRAIN
        check_options(kind, self._task)
        commands = tuple(getattr(law, "commands", ()))
        self._commands = {name: k - len(commands) for k, name in enumerate(commands)}
        self.inputs = dict.fromkeys(system.model.inputs, 0.0)
        values, _ = self._numbers(inputs or {})
        self.inputs |= values
        self.noise_seed = noise_seed
        self._begin()
        self.hold(inputs or {})
        self._take_readings()

    def _begin(self) -> None:
        """Begin a run at the start time."""
        task = replace(self._task, inputs=self.inputs)
        self._driver: _Driver = _Bilateral(task) if task.terrain is None else _Unilateral(task)
        self.count = 0
        self._requested = 0.0  # s, sum of the durations of all calls
        self._has_warned = False
        self._events: deque[Event] = deque(maxlen=MAX_STORED_EVENTS)
        self.sensors: SensorSampler | None = None  # latest readings of the sensors
        if self.system.model.sensors:
            numerics = task.numerics
            self.sensors = SensorSampler(self.system, numerics.start, numerics.dt, self.noise_seed)

    def _take_readings(self) -> None:
        """Take the readings of the sensors that are due at the present step."""
        if self.sensors is None:
            return
        state = self.state
        ideal = self.system.ideal_signals(state.q, state.p, state.r, self.observe())
        self.sensors.update(self.count, ideal)

    @property
    def system(self) -> System:
        """The compiled system."""
        return self._task.system

    @property
    def law(self) -> Law | None:
        """The control law."""
        return self._task.law

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
        """The present states of the control law, including its commands."""
        return self._driver.law_state()

    @property
    def outcome(self) -> str:
        """The reason why the run ended; empty while it continues."""
        return self._driver.outcome

    @property
    def events(self) -> deque[Event]:
        """The latest events, at most `MAX_STORED_EVENTS`; on a terrain every change of the inputs is one."""
        self._events.extend(self._driver.take_input_events())
        return self._events

    def observe(self) -> dict[str, Floats]:
        """Return all observations of the present state by name: `outputs`, `output_rates`, `v`, `vdot`,
        `forces`, `points`, `gaps`, `kinetic`, `potential`, `inputs`, ...
        """
        return self._driver.observe(self.time)

    def hold(self, inputs: Mapping[str, float]) -> None:
        """Set the given inputs and commands (by name) from now on; all others keep their values."""
        values, commands = self._numbers(inputs)
        self.inputs |= values
        self._driver.hold(np.array(list(self.inputs.values())), commands)

    def _numbers(self, inputs: Mapping[str, float]) -> tuple[dict[str, float], dict[int, float]]:
        """Return inputs by name and commands by index; raise ParameterError if a name is neither."""
        expect("inputs", inputs, Mapping, 'give numbers by name, as {"steer": 0.5}')
        plain: dict[str, float] = {}
        commands: dict[int, float] = {}
        for name, value in inputs.items():
            if not (isinstance(value, (int, float, np.number)) and abs(value) < math.inf):
                raise ParameterError(f"input {name} = {value!r:.80} is not a finite number.")
            if name in self._commands:
                commands[self._commands[name]] = float(value)
            elif name in self.inputs:
                plain[name] = float(value)
            else:
                names = [*self.inputs, *self._commands]
                raise ParameterError(f"no input {name!r}. {did_you_mean(str(name), names)}")
        return plain, commands

    def step(self, dt: float, inputs: Mapping[str, float] | None = None) -> None:
        """Advance by dt seconds.

        Parameters
        ----------
        dt
            Duration, s. Only whole steps are taken; the remainder is added to the next call.
        inputs
            Inputs and commands by name, held from now on.

        Raises
        ------
        SimulationError
            If the run cannot continue; the state is then the last valid one.
        """
        if not (isinstance(dt, (int, float, np.number)) and 0 <= dt < MAX_TIME):
            raise ParameterError(f"dt = {dt!r:.80} s must be a non-negative time.")
        if inputs:
            self.hold(inputs)
        if self.outcome:
            self._warn_ended()
            return
        self._requested += dt
        # Sums of durations have rounding errors: a remainder below a millionth of a step counts as zero.
        count = math.floor(self._requested / self._task.numerics.dt + 1e-6)
        if count <= self.count:
            return
        while self.count < count and not self.outcome:
            # Stop at the next reading of a sensor. Stops do not change the motion.
            end = count
            if self.sensors is not None:
                end = int(min(count, self.sensors.next_step(self.count)))
            self.count, events = self._driver.advance(self.count, end)
            if events:
                self.events.extend(events)
            self._driver.check()
            if self.sensors is not None and self.sensors.is_due(self.count):
                self._take_readings()

    def _warn_ended(self) -> None:
        """Warn once that the run has ended."""
        if not self._has_warned:
            warnings.warn(
                f"the run of {self.system.vehicle.__name__} ended at {self.time:.4g} s ({self.outcome}); "
                "further steps do nothing. Call reset() to begin again, or pass "
                "ContactOptions(fall=math.inf) to continue after a fall.",
                ValidityWarning,
                stacklevel=3,
            )
        self._has_warned = True

    def obey(self, law: Law) -> None:
        """Continue from the present state with another control law, which has the same number of states and
        commands.

        On a terrain a control law prescribes the motion of a joint always or never; use this method to start
        or stop prescribing it.
        """
        if law_states(law) != law_states(self._task.law):
            raise ParameterError(
                "The new law must have the same number of states as the present one."
            )
        task = replace(self._task, law=law)
        self._driver.obey(task)
        self._task = task

    def reset(
        self,
        state: State | None = None,
        inputs: Mapping[str, float] | None = None,
        noise_seed: int | None = None,
    ) -> None:
        """Begin again at the start time. On a terrain this costs less than a new stepper.

        Parameters
        ----------
        state
            Initial state; by default that of the previous run.
        inputs
            Inputs and commands by name, constant from the start on. All other inputs keep their values.
        noise_seed
            Seed of the run for the noise of sensors; by default that of the previous run.
        """
        if state is not None:
            expect("reset", state, State, "draisine.state(system, ...) makes one")
            self._task = replace(self._task, state=state)
        values, _ = self._numbers(inputs or {})
        self.inputs |= values
        if noise_seed is not None:
            self.noise_seed = noise_seed
        self._driver.release()
        self._begin()
        self.hold(inputs or {})
        self._take_readings()

    def with_parameters(self, keep: Sequence[str] = (), **changes: float) -> "Stepper":
        """Return a stepper of the same system with other parameters, at the present time.

        Parameters
        ----------
        keep
            Names of the values that the new state has in common with the present one; by default x, y, yaw,
            lean, the joints and the independent speeds. All other values follow from the contacts. Inputs
            and states of the control law are kept.
        **changes
            New values of the changed parameters, by name.
        """
        task = self._task
        values = self.values()
        names = keep or [n for n in (*_KEPT_POSE, *self._free_names()) if n in values]
        missing = [name for name in names if name not in values]
        if missing:
            raise ParameterError(f"no {missing[0]!r} to keep. {did_you_mean(missing[0], values)}")
        system = self.system.with_parameters(**changes)
        mode = task.mode if task.terrain is None else None
        kept: dict[str, Any] = {name: values[name] for name in names}
        start = consistent_state(system.machine(mode), kept, self.time)
        other = Stepper(
            system,
            start,
            terrain=task.terrain,
            law=task.law,
            inputs=self.inputs,
            contact=task.contact,
            numerics=replace(task.numerics, start=self.time),
            noise_seed=self.noise_seed,
        )
        states = len(self.law_state)
        other._driver.hold(
            system.inputs(self.inputs), {k - states: float(z) for k, z in enumerate(self.law_state)}
        )
        return other

    def _free_names(self) -> list[str]:
        """Return the names of the joints and of the independent speeds."""
        machine = self.system.machine(self._task.mode if self._task.terrain is None else None)
        return [*(joint.name for joint in self.system.model.joints), *machine.choice.names]

    def values(self) -> dict[str, float]:
        """Return all values of the present state by name.

        Returns
        -------
        dict
            Joint coordinates, angles, outputs and their rates, and the position. Further values have the
            column names of a stored run: contact forces (`contact_force[rear, normal]`), states of tyres and
            other force elements (`element_state[rear.0]`), states of the control law (`control_state[0]`),
            and the inputs, including those that the control law sets (`inputs[steer]`). Sensors have
            their latest readings (`imu_specific_force_x`).
        """
        model = self.system.model
        state = self.state
        observations = self.observe()
        values = state_values(model, state.r, observations)
        labels = dimensions(model)
        elements = zip(labels["memory"], state.elements(model.memory), strict=True)
        values |= {f"element_state[{name}]": z for name, z in elements}
        values |= {f"control_state[{k}]": z for k, z in enumerate(self.law_state[model.memory :])}
        inputs = zip(labels["input"], observations["inputs"], strict=True)
        values |= {f"inputs[{name}]": w for name, w in inputs}
        readings = {}
        if self.sensors is not None:
            if any(sensor.rate is None for sensor in model.sensors):
                self._take_readings()
            readings = self.sensors.values()
        return {name: float(value) for name, value in values.items()} | readings


def state_values(model: Model, r: Floats, observations: Mapping[str, Floats]) -> dict[str, Any]:
    """Return the values of a state by name, from its joint coordinates r and its observations; both may have
    further axes before the last one.
    """
    position = {axis: observations["position"][..., k] for k, axis in enumerate("xyz")}
    speeds = {name: observations["v"][..., k] for k, name in enumerate(model.speeds)}
    labels = dimensions(model)
    components = enumerate(product(labels["contact"], labels["direction"]))
    forces = {
        f"contact_force[{name}, {direction}]": observations["forces"][..., k]
        for k, (name, direction) in components
    }
    return named_values(model, r, observations) | position | speeds | forces


_KEPT_POSE = ("x", "y", "yaw", "lean")
"""Coordinates of the base that `Stepper.with_parameters` keeps by default; pitch and z follow from the
contacts.
"""


class _Driver(Protocol):
    """Interface of a run that a stepper advances; step numbers count from the start of the run."""

    outcome: str

    def hold(self, inputs: Floats, commands: Mapping[int, float]) -> None:
        """Set the inputs, and the commands: states of the control law by negative index from the last one."""

    def obey(self, task: Task) -> None:
        """Continue with the control law of another task."""

    def advance(self, count: int, end: int) -> tuple[int, tuple[Event, ...]]:
        """Advance from step `count` to step `end`; return the step that was reached, and the events."""

    def take_input_events(self) -> list[Event]:
        """Return the input changes since the last call that changed no contact and that `advance` did not
        return.
        """

    def check(self) -> None:
        """Raise an error if the run cannot continue."""

    def release(self) -> None:
        """Make the memory of the run available to the next one; the run cannot continue."""

    def state(self, t: float) -> State:
        """Return the present state, at time t (s)."""

    def law_state(self) -> Floats:
        """Return the states of the control law."""

    def observe(self, t: float) -> dict[str, Floats]:
        """Return all variables of the present state, at time t (s)."""


class _Bilateral:
    """Run of a system with ideal contacts in one contact mode, by equal integration steps."""

    def __init__(self, task: Task) -> None:
        self.run = BilateralRun(task)
        self.numerics = task.numerics
        self.outcome = ""
        self.method: Any = task.numerics.method.equal
        if self.method.ring > 1:
            raise ParameterError(
                f"integrator {task.numerics.integrator!r} is a multistep method; a stepper needs a "
                "one-step method such as rk4."
            )
        self.cause: str | None = None
        self._observations: dict[str, Floats] | None = None  # observations of the present state
        self._make_workspace()

    def _make_workspace(self) -> None:
        """Make the integrator's workspace for the present pivots."""
        problem = self.run.problem
        method = self.method
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
        self.run.inputs = inputs
        self.work.x[1 + self.work.n :][: len(inputs)] = inputs
        for k, value in commands.items():
            self.y[k] = value
        self._observations = None

    def obey(self, task: Task) -> None:
        raise ParameterError(
            "Without a terrain a law may guide joints at times: switch `active` of its Guide by a command."
        )

    def advance(self, count: int, end: int) -> tuple[int, tuple[Event, ...]]:
        start = self.numerics.start
        h = self.numerics.dt
        work = self.work
        is_stalled = False
        take_steps = step_loop_code(self.method.take_steps, 1)
        self.check()
        self._observations = None
        while count < end:
            self.work.wrong[:] = 0.0
            reached = take_steps(self.packed, start, h, np.inf, count, end, np.zeros(1))
            status = int(self.work.wrong[0])
            has_moved = reached > count
            count = reached
            if status == 0 or (status == DEGENERATE_PIVOT and count == end):
                break
            if status == MACHINE_FELL:
                self.run.y = self.y.copy()
                self.outcome = self.run.fall.outcome(self.run.pose())
                break
            if status != DEGENERATE_PIVOT or (is_stalled and not has_moved):
                self.run.y = work.y.copy()
                self.run.last = start + count * h
                self.cause = self.run.find_cause(status) or STOP_REASONS[status]
                work.x[1 : 1 + work.n] = work.y
                return max(count - 1, 0) if count == end else count, ()
            is_stalled = not has_moved
            self._change_pivots(start + count * h)
        return count, ()

    def take_input_events(self) -> list[Event]:
        return []

    def _change_pivots(self, t: float) -> None:
        """Choose other pivots at time t (s) and continue."""
        headings = self.work.headings.copy()
        self.run.y = self.y.copy()
        self.run.change_pivots(t)
        self._make_workspace()
        self.work.headings[:] = headings

    def release(self) -> None:
        pass

    def check(self) -> None:
        if self.cause is not None:
            hint = STOP_HINTS.get(self.cause, "")
            raise SimulationError(f"the run stopped: {self.cause}.{hint}") from self.run.law_error

    def state(self, t: float) -> State:
        machine = self.run.machine
        layout = machine.layout
        q, p = machine.user_pose(self.y[layout.q], self.y[layout.p])
        z = self.y[layout.z][: machine.system.model.memory].copy()
        return State(q, p, self.y[layout.r].copy(), self.observe(t)["v"], element_state=z)

    def observe(self, t: float) -> dict[str, Floats]:
        if self._observations is None:
            program = self.run.machine.observe
            x = self.work.x
            x[0] = t  # all programs of a contact mode read x = (t, y, inputs, anchors)
            self._observations = program.outputs.split(program.flat(x[: program.inputs.size]))
        return self._observations


class _Unilateral:
    """Run on a terrain whose result does not depend on the division of time into calls.

    During event location, `run` is at most one integration step behind the present time, and `ahead` is a
    branch of it beyond that time, whose samples lie on the grid of the stepper and come from the dense
    output. On time-stepping arcs the run is at most one step ahead of the present time, and the present state
    is interpolated. If inputs change, the run restarts from the present state.

    A controller changes inputs every few steps. Most of these changes leave all contacts unchanged: the next
    steps of the stepper are then short integration steps within the mode. Their number depends on the times
    of the changes only.
    """

    def __init__(self, task: Task) -> None:
        self.numerics = task.numerics
        self.outcome = ""
        self.run = TerrainRun(task).branch(task.numerics.start + MAX_TIME)
        self.run.keeps_dense = False
        self.run.begin()
        self.query = self.run.query
        self.ahead: TerrainRun | None = None
        self.now = self.run.now  # time, state and closed contacts at the present time
        self.reported = 0  # number of events of the run that were returned
        self.failure: SimulationError | None = None
        self.changed = -math.inf  # s, time of the last change of the inputs
        self.change: tuple[Floats, Floats] | None = None  # state and inputs of a pending restart
        self.short_steps = 0  # number of planned short steps
        self.pause = 0  # number of further input changes without short steps
        # Changes of inputs that changed no contact: time, states before and after, closed contacts.
        self.quiet: deque[tuple[float, Floats, Floats, tuple[Closed, ...]]] = deque(
            maxlen=MAX_STORED_EVENTS
        )

    def law_state(self) -> Floats:
        self._settle()
        return self.now.y[self.query.y.z].copy()

    def hold(self, inputs: Floats, commands: Mapping[int, float]) -> None:
        if self.outcome:
            return  # the run has ended; a reset uses the inputs of the stepper
        y, present = self.change or (self.now.y, self.query.inputs)
        if commands:
            old = y
            y = y.copy()
            y[list(commands)] = list(commands.values())
            is_changed = bool((y != old).any())
        else:
            is_changed = False
        if not is_changed and inputs.tolist() == present.tolist():
            return
        self._plan_short_steps()
        if self.short_steps:
            self.change = y, inputs
        else:
            self._restart(y, inputs)

    def _plan_short_steps(self) -> None:
        """Choose the number of short steps after a change of the inputs: the number of steps since the
        previous change, if it is small.
        """
        if self.now.t == self.changed:
            return
        passed = (self.now.t - self.changed) / self.numerics.dt
        steps = round(min(passed, MAX_SHORT_STEPS + 1.0))
        self.changed = self.now.t
        self.short_steps = 0
        if self.pause:
            self.pause -= 1
        elif steps <= MAX_SHORT_STEPS and self.run.steps is None:
            self.short_steps = steps

    def obey(self, task: Task) -> None:
        if self.outcome:
            return
        self._settle()
        inputs = self.query.inputs
        self.query, _ = place_on_terrain(task)
        self._restart(self.now.y, inputs)

    def _settle(self) -> None:
        """Restart the run with the inputs that were changed since its last step."""
        if self.change is not None:
            y, inputs = self.change
            self.change = None
            self._restart(y, inputs)

    def _restart(self, y: Floats, inputs: Floats) -> None:
        """Restart the run at the present time from state y with new inputs."""
        self.run.now = self.now
        self.run.add_sample()
        self.run.restart(self.query, y, inputs)
        self.ahead = None
        self.now = self.run.now

    def advance(self, count: int, end: int) -> tuple[int, tuple[Event, ...]]:
        self.check()
        start = self.numerics.start
        h = self.numerics.dt
        try:
            if self.short_steps and self._take_short_steps(count, end) == end:
                return end, ()
            self._settle()
            self._advance_to(start + end * h)
        except (ParameterError, SimulationError, TerrainError) as error:
            kind = DeadEndError if isinstance(error, TerrainError) else SimulationError
            self.failure = error if isinstance(error, SimulationError) else kind(str(error))
            return count, ()
        self.outcome = self.run.outcome
        reached = end if not self.outcome else min(end, int((self.run.now.t - start) / h))
        return reached, self._take_events()

    def _take_short_steps(self, count: int, end: int) -> int:
        """Take the planned short steps from step `count` towards step `end`; return the step that was
        reached.
        """
        while count < end and self.short_steps and self.run.steps is None:
            before = self.now
            y, inputs = self.change or (before.y, self.query.inputs)
            self.run.now = before
            t = self.numerics.start + (count + 1) * self.numerics.dt
            if not self.run.continue_mode(y, inputs, t):
                self.short_steps = 0
                self.pause = SHORT_STEP_PAUSE
                break
            if self.change is not None:
                self.quiet.append((before.t, before.y, y, before.closed))
                self.change = None
            self.ahead = None
            self.now = self.run.now
            self.short_steps -= 1
            count += 1
        return count

    def take_input_events(self) -> list[Event]:
        query = self.query
        events = []
        for t, y, y_after, closed in self.quiet:
            mode = query.mode(closed)
            event = Event(
                t,
                "input",
                (),
                True,
                query.machine.leave(y),
                query.machine.leave(y_after),
                mode,
                mode,
                query.energy(t, y),
                query.energy(t, y_after),
            )
            events.append(event)
        self.quiet.clear()
        return events

    def _advance_to(self, t: float) -> None:
        """Advance the run by its own steps, and find the state at time t (s)."""
        while self.run.now.t < t and not self.run.outcome:
            if self.run.steps is not None:
                self.run.advance(self.run.steps.steps_until(t))
                continue
            if self.ahead is None:
                self.ahead = self.run.branch(self.run.until)
                try:
                    self.ahead.advance()
                except (ParameterError, SimulationError, TerrainError):
                    self.ahead = None  # an error after t is not raised in this call
                    break
            if self.ahead.now.t > t:
                break
            self._adopt(self.ahead)
        self.now = self._find_state(t)

    def _adopt(self, ahead: TerrainRun) -> None:
        """Replace the run by the branch `ahead`. The branch may have discarded events of short arcs that were
        returned already, and replaced them by a change of the method, which is still to be returned.
        """
        old = self.run.events
        new = ahead.events
        # Only the latest events can have been discarded: usually the last old event and all before it are
        # kept.
        kept = min(len(old), len(new))
        while kept > 0 and old[kept - 1] is not new[kept - 1]:
            kept -= 1
        self.reported = min(self.reported, kept)
        self.run = ahead
        self.ahead = None

    def _find_state(self, t: float) -> RunState:
        """Return the run state at a time t (s) within the last step, or at the end of the run."""
        run = self.run
        if run.now.t == t or run.outcome:
            return run.now
        if run.steps is not None:
            return RunState(t, run.steps.state_at(t))
        y = None if self.ahead is None else self.ahead.sample_at(t)
        if y is not None:
            return run.now.at(t, y)
        # The next integration step fails, perhaps after t: integrate exactly to t instead.
        branch = run.branch(t)
        while branch.now.t < t and not branch.outcome:
            branch.advance()
        return branch.now

    def _take_events(self) -> tuple[Event, ...]:
        """Return the events since the last call, and discard the stored past of the run."""
        events = tuple(self.run.events[self.reported :])
        count = len(self.run.events)
        self.run.forget_past()
        self.reported = len(self.run.events)
        if self.ahead is not None:
            # The branch has its own copy of the event list, and later becomes the run.
            del self.ahead.events[: count - self.reported]
        return events

    def release(self) -> None:
        # If the next run cannot start, this one cannot continue: its memory may be in use.
        self.failure = SimulationError("a reset failed; call reset() with a state that exists.")
        return_query(self.query)

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def state(self, t: float) -> State:
        self._settle()
        return self.query.machine.leave(self.now.y)

    def observe(self, t: float) -> dict[str, Floats]:
        self._settle()
        observations = self.run.observe_at(self.now.t, self.now.y, self.now.closed)
        return {name: values[..., -1] for name, values in observations.items()}
