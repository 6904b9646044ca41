"""Step-by-step simulation for interactive rides, learning environments, co-simulation and hardware.

Inputs are constant between calls. `Stepper` counts steps and stores the inputs; `engines` chooses the run
that it advances.
"""

import math
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, ValidityWarning, did_you_mean, expect
from draisine.mechanics.readings import law_states
from draisine.model import Model
from draisine.model.names import dimensions
from draisine.simulation.dataset import named_values
from draisine.simulation.engines import choose_engine
from draisine.simulation.options import CONTACT, ContactOptions, Numerics, Task
from draisine.simulation.run_kinds import check_options
from draisine.simulation.sensing import SensorSampler
from draisine.simulation.stepper_runs import MAX_STORED_EVENTS, MAX_TIME, StepperRun
from draisine.simulation.trajectory import Event
from draisine.system.artifacts import require_system
from draisine.system.state import State, consistent_state
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain

DEFAULT_STEP = 2.0**-10
"""Default step length (s). Multiples of a power of two are exact in floating-point arithmetic."""


class Stepper:
    """A run that advances step by step, with inputs that are constant between calls.

    Steps have the length `numerics.dt` (1/1024 s by default) and are counted from the start. The result
    therefore does not depend on the division of time into calls. If the step is 2^-k s, the result equals
    that of `simulate`. On a terrain the motion equals that of `simulate` if the inputs jump at the same
    times. States between the steps of the integrator, or between time steps, are interpolated.

    The run ends if the system falls: `outcome` then states the fall, and further steps only cause a warning.

    Parameters
    ----------
    system
        Compiled system.
    state
        Initial state.
    terrain
        The ground; without it contacts are ideal, on the level plane.
    law
        Control law. A law may have commands: states that you set like inputs. They are its last states,
        and its attribute `commands` contains their names.
    inputs
        Initial inputs (N m or N) and commands by name. A name of both an input and a command is the command.
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
        engine = choose_engine(terrain)
        if numerics is None:
            numerics = Numerics(integrator=engine.stepper_integrator, dt=DEFAULT_STEP)
        expect("numerics", numerics, Numerics, "Numerics(dt=1/512) makes one")
        until = numerics.start + numerics.dt
        self._task = Task(system, state, until, terrain, law, None, contact, numerics, None)
        check_options(engine.stepper_kind, self._task)
        self._start_run = engine.start_steps
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
        """Begin a run at the start time with the present inputs; forget earlier events and readings."""
        task = replace(self._task, inputs=self.inputs)
        self._run: StepperRun = self._start_run(task)
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
        return self._run.state(self.time)

    @property
    def law_state(self) -> Floats:
        """The present states of force elements and control law; the last ones are the commands of the law."""
        return self._run.law_state()

    @property
    def outcome(self) -> str:
        """The reason why the run ended; empty while it continues."""
        return self._run.outcome

    @property
    def events(self) -> deque[Event]:
        """The latest events, at most `MAX_STORED_EVENTS`; on a terrain, input changes are events, too."""
        self._events.extend(self._run.take_input_events())
        return self._events

    def observe(self) -> dict[str, Floats]:
        """Return all observations of the present state as arrays by name.

        The names include `outputs`, `output_rates`, `v`, `vdot`, `forces`, `points`, `gaps`, `kinetic`,
        `potential` and `inputs`.
        """
        return self._run.observe(self.time)

    def hold(self, inputs: Mapping[str, float]) -> None:
        """Set the given inputs and commands (by name) from now on; all others keep their values."""
        values, commands = self._numbers(inputs)
        self.inputs |= values
        self._run.hold(np.array(list(self.inputs.values())), commands)

    def _numbers(self, inputs: Mapping[str, float]) -> tuple[dict[str, float], dict[int, float]]:
        """Check values by name; return the inputs by name and the commands by negative index."""
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
            self.count, events = self._run.advance(self.count, end)
            if events:
                self.events.extend(events)
            self._run.check()
            if self.sensors is not None and self.sensors.is_due(self.count):
                self._take_readings()

    def _warn_ended(self) -> None:
        """Issue one warning per run that the run has ended and further steps have no effect."""
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
        """Continue from the present state with another control law of the same number of states and commands.

        On a terrain a control law prescribes the motion of a joint always or never. Use this method to begin
        or to end the prescribed motion of a joint.
        """
        if law_states(law) != law_states(self._task.law):
            raise ParameterError(
                "The new law must have the same number of states as the present one."
            )
        task = replace(self._task, law=law)
        self._run.obey(task)
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
        self._run.release()
        self._begin()
        self.hold(inputs or {})
        self._take_readings()

    def move_to(self, state: State) -> None:
        """Continue from another state at the present time, with the present inputs.

        The states and commands of the control law do not change; force elements get their states from the new
        state. Use this method if another program computes or measures the motion.

        Parameters
        ----------
        state
            The new state of the same system.
        """
        expect("move_to", state, State, "draisine.state(system, ...) makes one")
        numerics = replace(self._task.numerics, start=self.time)
        control_states = self.law_state[self.system.model.memory :]
        until = numerics.start + numerics.dt
        self._task = replace(self._task, state=state, until=until, numerics=numerics)
        remainder = self._requested - self.count * numerics.dt
        self._run.release()
        self._begin()
        self._requested = remainder
        self._hold_law_states(control_states)
        self._take_readings()

    def _hold_law_states(self, z: Floats) -> None:
        """Set the last len(z) states of the control law to z, and the inputs to the present ones."""
        held = {k - len(z): float(x) for k, x in enumerate(z)}
        self._run.hold(self.system.inputs(self.inputs), held)

    def with_parameters(self, keep: Sequence[str] = (), **changes: float) -> "Stepper":
        """Return a stepper of the same system with other parameters, at the present time.

        Parameters
        ----------
        keep
            Names of the values of the present state that the new state keeps; by default x, y, yaw, lean, the
            joints and the independent speeds. All other values follow from the contacts. Inputs and states of
            the control law do not change.
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
        kept: dict[str, Any] = {name: values[name] for name in names}
        start = consistent_state(system.machine(task.mode), kept, self.time)
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
        other._hold_law_states(self.law_state)
        return other

    def _free_names(self) -> list[str]:
        """Return the names of the joints and of the independent speeds."""
        machine = self.system.machine(self._task.mode)
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
    """Return the values of a state by name, from joint coordinates r (..., joints) and observations."""
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
"""Base coordinates that `Stepper.with_parameters` keeps by default; contacts determine pitch and z."""
