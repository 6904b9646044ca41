"""Gymnasium environments: `draisine/Balance-v0`, `draisine/Path-v0`, `draisine/Jump-v0`.

The environments are registered for `gymnasium.make` when this module is imported (extra `gymnasium`). A
`LearningTask` defines observations, actions and rewards for a scenario with any vehicle. A single vehicle is
simulated by a `Stepper`, many vehicles in SIMD lanes on the ground plane, or in threads on terrain.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, ClassVar

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import (
    ConfigurationError,
    ParameterError,
    SimulationError,
    UnknownNameError,
    expect_known,
    import_extra,
)
from draisine.scenario.library import load
from draisine.scenario.plan import Plan
from draisine.scenario.terrain import starts_on
from draisine.simulation.bilateral.lanes import Fleet
from draisine.simulation.options import Numerics
from draisine.simulation.sensing import (
    WHOLE_STEP,
    add_errors,
    noise_key,
    signal_names,
    signal_rows,
)
from draisine.simulation.stepper import DEFAULT_STEP, Stepper, state_values
from draisine.simulation.validity.fall import fall_rule
from draisine.system.state import State, states

gymnasium = import_extra("gymnasium", "gymnasium")
vector = import_extra("gymnasium.vector", "gymnasium")

MAX_NOISE_SEED = 2**31
"""Exclusive upper bound of the random seeds of sensor noise; each episode draws one seed."""

NamedValues = Mapping[str, Any]
"""Type of named quantities: numbers for one vehicle, arrays (vehicles,) for many."""


@dataclass(frozen=True)
class LearningTask:
    """A reinforcement learning task for the vehicle and the ground of a scenario.

    Parameters
    ----------
    scenario
        Name or file of the scenario.
    start
        Lower and upper bound of each random initial value by name, SI units. The distribution is uniform.
    observed
        Largest magnitude of each observed quantity by name, SI units.
    actions
        Largest value of each input by name (N m or N); actions between -1 and 1 are scaled by it.
    reward, failed
        Functions of the named values of a vehicle. `reward` returns the reward of one period; `failed`
        returns whether the episode has failed. The values are those of `Stepper.values`, and `lost`: the
        energy (J) that impacts dissipated in the period.
    period
        Time for which an action is constant, s.
    duration
        Length of an episode, s.
    """

    scenario: str
    start: Mapping[str, tuple[float, float]]
    observed: Mapping[str, float]
    actions: Mapping[str, float]
    reward: Callable[[NamedValues], Any]
    failed: Callable[[NamedValues], Any]
    period: float = 1.0 / 32.0
    duration: float = 8.0

    @cached_property
    def plan(self) -> Plan:
        """Validated scenario without control laws; the actions of the agent add to the scenario's inputs."""
        plan = load(self.scenario, {"law": []}).plan
        expect_known("no input", self.actions, plan.system.model.inputs)
        if plan.motion is not None:
            raise ParameterError(
                f"{self.scenario}: the scenario starts in a steady motion (initial.steady), but a learning "
                "task draws initial values. Use the table [initial] instead."
            )
        return plan

    @cached_property
    def bounds(self) -> Floats:
        """Largest magnitudes of the observed quantities, (observations,), SI units."""
        return np.array(list(self.observed.values()))

    @property
    def steps(self) -> int:
        """Number of actions in an episode."""
        return round(self.duration / self.period)

    def draw_start(self, random: np.random.Generator, count: int) -> dict[str, Floats]:
        """Return fixed and random initial values of `count` vehicles, as arrays (count,) by name."""
        fixed = {name: np.full(count, value) for name, value in self.plan.start.values.items()}
        low, high = np.array([*self.start.values()], float).reshape(-1, 2).T
        drawn = random.uniform(low, high, (count, len(self.start)))
        return fixed | dict(zip(self.start, drawn.T, strict=True))

    def begin(self, random: np.random.Generator) -> State:
        """Return a random initial state of one vehicle."""
        return self.begin_many(random, 1)[0]

    def begin_many(self, random: np.random.Generator, count: int) -> list[State]:
        """Return random initial states of `count` vehicles, all computed in one call."""
        if not count:
            return []
        start = self.plan.start
        return starts_on(
            self.plan.system,
            self.draw_start(random, count),
            self.plan.terrain,
            start.place,
            mode=start.mode,
            at_rest=start.at_rest,
        )

    def noise_seeds(self, random: np.random.Generator, count: int) -> Any:
        """Return one random seed of the sensor noise per vehicle, (count,); zeros if there are no sensors."""
        if not self.plan.system.model.sensors:
            return np.zeros(count, int)
        return random.integers(MAX_NOISE_SEED, size=count)

    def spaces(self) -> tuple[Any, Any]:
        """Return the Gymnasium spaces of observations and of actions."""
        high = self.bounds.astype(np.float32)
        observations = gymnasium.spaces.Box(-high, high, dtype=np.float32)
        return observations, gymnasium.spaces.Box(-1.0, 1.0, (len(self.actions),), np.float32)

    def inputs(self, actions: Floats) -> dict[str, Any]:
        """Convert actions (..., actions) to inputs by name, N m or N."""
        scaled = np.clip(np.asarray(actions, float), -1.0, 1.0) * list(self.actions.values())
        return {name: scaled[..., k] for k, name in enumerate(self.actions)}

    def observation(self, values: NamedValues) -> Floats:
        """Return the observations (..., observations), clipped to their bounds."""
        expect_known("no quantity", self.observed, values)
        observations = np.stack([np.asarray(values[name]) for name in self.observed], axis=-1)
        return np.clip(observations, -self.bounds, self.bounds).astype(np.float32)


def _tilted(values: NamedValues) -> Any:
    """Return whether the lean angle exceeds 0.7 rad or the steer angle exceeds 1.2 rad: the episode ends."""
    return (np.abs(values["lean"]) > 0.7) | (np.abs(values["steer"]) > 1.2)


_BICYCLE_OBSERVATIONS = {"lean": 0.8, "steer": 1.5, "lean_rate": 5.0, "steer_rate": 10.0}
"""Largest magnitudes of the observed angles (rad) and angular rates (rad/s) of a bicycle."""

TASKS = {
    "Balance": LearningTask(
        "mauny2018/passive-stabilisation",
        {"forward_speed": (2.5, 3.5), "lean": (-0.1, 0.1), "lean_rate": (-0.1, 0.1)},
        _BICYCLE_OBSERVATIONS | {"forward_speed": 10.0},
        {"steer": 10.0},
        lambda values: 1.0 - (values["lean"] / 0.7) ** 2,
        _tilted,
    ),
    "Path": LearningTask(
        "mauny2018/passive-stabilisation",
        {"forward_speed": (4.0, 5.0), "lean_rate": (-0.1, 0.1), "y": (-1.0, 1.0)},
        _BICYCLE_OBSERVATIONS | {"forward_speed": 10.0, "yaw": 3.2, "y": 20.0},
        {"steer": 10.0},
        lambda values: 1.0 / (1.0 + values["y"] ** 2),
        lambda values: _tilted(values) | (np.abs(values["y"]) > 10.0),
    ),
    "Jump": LearningTask(
        "mauny2018/ramp-jump",
        {"forward_speed": (8.0, 12.0), "lean": (-0.02, 0.02)},
        _BICYCLE_OBSERVATIONS
        | {"pitch": 1.6, "pitch_rate": 10.0, "forward_speed": 20.0, "x": 50.0, "z": 5.0},
        {"steer": 10.0, "rear_wheel": 50.0},
        lambda values: 1.0 / 48.0 - values["lost"] / 1000.0,
        _tilted,
        duration=1.5,
    ),
}
"""Learning tasks by name: balance by steer torque, follow the line y = 0, land softly after a ramp."""


def find_task(task: str | LearningTask) -> LearningTask:
    """Return the learning task of the given name; return a task object unchanged."""
    if isinstance(task, LearningTask):
        return task
    expect_known("no task", task, TASKS, UnknownNameError)
    return TASKS[task]


class MachineEnv(gymnasium.Env):  # type: ignore[name-defined, misc]
    """Gymnasium environment with one vehicle."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, task: str | LearningTask, render_mode: str | None = None) -> None:
        """Create the environment of a learning task."""
        self.task = find_task(task)
        self.render_mode = render_mode
        self.observation_space, self.action_space = self.task.spaces()
        self.stepper: Any = None  # `Stepper` of the vehicle, created by the first reset

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Start an episode; return the observations and all values by name."""
        super().reset(seed=seed)
        state = self.task.begin(self.np_random)
        values = self.start(state, int(self.task.noise_seeds(self.np_random, 1)[0]))
        return self.task.observation(values), values

    def start(self, state: State, noise_seed: int = 0) -> dict[str, Any]:
        """Start an episode at an initial state; return all values by name.

        `noise_seed` is the seed of the sensor noise.
        """
        plan = self.task.plan
        if self.stepper is None:
            self.stepper = Stepper(
                plan.system,
                state,
                terrain=plan.terrain,
                law=plan.law,
                contact=plan.contact,
                noise_seed=noise_seed,
            )
        else:
            self.stepper.reset(state, dict.fromkeys(plan.system.model.inputs, 0.0), noise_seed)
        self.count = 0
        return self.stepper.values()

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Apply an action for one period.

        Returns
        -------
        tuple
            Observations (observations,), reward, terminated (the vehicle fell), truncated (the duration of
            the episode is over), values by name.
        """
        task = self.task
        stepper = self.stepper
        stopped = False
        before = stepper.time
        try:
            stepper.step(task.period, {k: float(x) for k, x in task.inputs(action).items()})
        except SimulationError:
            stopped = True
        self.count += 1
        latest = takewhile(lambda event: event.t > before, reversed(stepper.events))
        lost = sum(-event.gain for event in latest)
        values = stepper.values() | {"lost": lost}
        fell = stopped or stepper.outcome != "" or bool(task.failed(values))
        over = self.count >= task.steps
        return task.observation(values), float(task.reward(values)), fell, over, values


class MachineLanesEnv(vector.VectorEnv):  # type: ignore[name-defined, misc]
    """Vectorised Gymnasium environment with many vehicles on the ground plane, one per SIMD lane.

    Each vehicle behaves like a `MachineEnv`. After the end of its episode, a new one starts at the next step.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": [],
        "autoreset_mode": vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self, task: str | LearningTask, num_envs: int = 1, render_mode: str | None = None
    ) -> None:
        """Create the vectorised environment of a learning task with `num_envs` vehicles."""
        self.task = find_task(task)
        self.num_envs = num_envs
        self.render_mode = render_mode
        plan = self.task.plan
        if plan.terrain is not None or plan.law is not None:
            raise ParameterError(
                f"{self.task.scenario}: scenarios with a terrain or inputs cannot be simulated in lanes. Use "
                "MachineThreadsEnv, which runs them over threads."
            )
        spaces = self.task.spaces()
        self.single_observation_space, self.single_action_space = spaces
        self.observation_space, self.action_space = (
            vector.utils.batch_space(space, num_envs) for space in spaces
        )
        self._check_sensors()
        self.machine = plan.system.machine()
        self.numerics = Numerics(integrator="rk4", dt=DEFAULT_STEP)
        parameters = np.repeat(plan.system.values[:, None], num_envs, axis=1)
        no_inputs = np.zeros((len(plan.system.model.inputs), num_envs))
        rule = fall_rule(plan.system.model, plan.contact.fall)
        self.fleet = Fleet(self.machine, no_inputs, parameters, rule=rule)

    def _check_sensors(self) -> None:
        """Raise `ParameterError` if a sensor has readings within a period.

        Lanes can read sensors only at the end of a period.
        """
        for sensor in self.task.plan.system.model.sensors:
            readings = (sensor.rate or 0.0) * self.task.period
            if abs(readings - round(readings)) > WHOLE_STEP:
                raise ParameterError(
                    f"sensor {sensor.name!r}: in lanes its rate of {sensor.rate:g} Hz must be a multiple of "
                    f"the {1.0 / self.task.period:g} Hz of the actions. Use MachineThreadsEnv."
                )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Start the episodes of all machines; return the observations and all values by name."""
        super().reset(seed=seed)
        self.noise_keys = {
            sensor.name: np.zeros(self.num_envs, np.uint64)
            for sensor in self.task.plan.system.model.sensors
        }
        self.y: Floats = np.zeros((self.machine.layout.size, self.num_envs))
        self.count = np.zeros(self.num_envs, int)
        self._begin(np.ones(self.num_envs, bool))
        return self._observe()

    def _begin(self, lanes: Any) -> None:
        """Start new episodes with random initial states in the lanes selected by a mask (lanes,)."""
        if lanes.any():
            start = self.task.plan.start
            system = self.task.plan.system
            drawn = self.task.draw_start(self.np_random, int(lanes.sum()))
            starts, errors = states(system, drawn, mode=start.mode, at_rest=start.at_rest)
            if any(errors):
                raise ConfigurationError(f"{self.task.scenario}: {next(filter(None, errors))}")
            element_states = np.zeros(self.machine.memory)
            values = self.fleet.values[:, lanes]
            self.y[:, lanes] = self.machine.enter_all(starts, values, element_states)
            seeds = self.task.noise_seeds(self.np_random, int(lanes.sum()))
            for sensor in system.model.sensors:
                keys = [noise_key(sensor, int(seed)) for seed in seeds]
                self.noise_keys[sensor.name][lanes] = keys
        self.count[lanes] = 0
        self.ended = np.zeros(self.num_envs, bool)

    def _observe(self) -> tuple[Floats, dict[str, Any]]:
        """Return the observations (lanes, observations) and all values by name."""
        system = self.task.plan.system
        outputs = self.machine.observations(self.y.T, w=self.fleet.tail)
        transposed = {name: x.T for name, x in outputs.items()}
        joints = self.y[self.machine.layout.r].T
        values = state_values(system.model, joints, transposed)
        values["lost"] = np.zeros(self.num_envs)
        values |= self._readings(outputs)
        return self.task.observation(values), values

    def _readings(self, outputs: dict[str, Floats]) -> dict[str, Floats]:
        """Return the readings of all sensors by name of the signal, (lanes,)."""
        system = self.task.plan.system
        model = system.model
        if not model.sensors:
            return {}
        layout = self.machine.layout
        q, p = self.machine.user_pose(self.y[layout.q], self.y[layout.p])
        ideal = system.ideal_signals(q, p, self.y[layout.r], outputs)
        rows = signal_rows(model)
        readings = []
        for sensor in model.sensors:
            ticks = self.count * round((sensor.rate or 0.0) * self.task.period)
            keys = self.noise_keys[sensor.name]
            readings += [*add_errors(model, sensor, ideal[rows[sensor.name]], ticks, keys)]
        return dict(zip(signal_names(model), readings, strict=True))

    def step(self, actions: Floats) -> tuple[Floats, Floats, Any, Any, dict[str, Any]]:
        """Apply actions (lanes, actions) for one period.

        Returns
        -------
        tuple
            Observations (lanes, observations), rewards, terminated (the vehicle fell), truncated (the
            duration of the episode is over), each (lanes,), and values by name.
        """
        task = self.task
        ended = self.ended
        for name, values_held in task.inputs(actions).items():
            self.fleet.tail[task.plan.system.model.inputs.index(name)] = values_held
        self.y, _, faults = self.fleet.advance(self.y, [0.0, task.period], self.numerics)
        self.count += 1
        self._begin(ended)
        self.fleet.tail[: len(task.plan.system.model.inputs), ended] = 0.0  # as after a reset
        observations, values = self._observe()
        fell = ~ended & ((faults != 0) | task.failed(values))
        over = ~ended & (self.count >= task.steps)
        self.ended = fell | over
        return observations, np.where(ended, 0.0, task.reward(values)), fell, over, values


class MachineThreadsEnv(vector.VectorEnv):  # type: ignore[name-defined, misc]
    """Vectorised Gymnasium environment with many vehicles in threads, on terrain or on the ground plane.

    Each vehicle behaves like a `MachineEnv`. After the end of its episode, a new one starts at the next step.

    Parameters
    ----------
    task
        Name of a task, or a `LearningTask`.
    num_envs
        Number of vehicles.
    render_mode
        Not used.
    threads
        Number of threads; by default one per core.
    """

    metadata: ClassVar[dict[str, Any]] = MachineLanesEnv.metadata

    def __init__(
        self,
        task: str | LearningTask,
        num_envs: int = 1,
        render_mode: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.task = find_task(task)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.machines = [MachineEnv(self.task) for _ in range(num_envs)]
        spaces = self.task.spaces()
        self.single_observation_space, self.single_action_space = spaces
        self.observation_space, self.action_space = (
            vector.utils.batch_space(space, num_envs) for space in spaces
        )
        self._threads = min(threads or os.cpu_count() or 1, num_envs)
        self._pool = ThreadPoolExecutor(self._threads)

    def close_extras(self, **kwargs: Any) -> None:
        """Shut down the pool of threads."""
        self._pool.shutdown()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Start the episodes of all machines; return the observations and all values by name."""
        super().reset(seed=seed)
        starts = self.task.begin_many(self.np_random, self.num_envs)
        seeds = self.task.noise_seeds(self.np_random, self.num_envs).tolist()
        values = self._gather(lambda k: self.machines[k].start(starts[k], seeds[k]) | {"lost": 0.0})
        self.ended = np.zeros(self.num_envs, bool)
        return self.task.observation(values), values

    def step(self, actions: Floats) -> tuple[Floats, Floats, Any, Any, dict[str, Any]]:
        """Apply actions (vehicles, actions) for one period.

        Returns
        -------
        tuple
            Observations (vehicles, observations), rewards, terminated (the vehicle fell), truncated (the
            duration of the episode is over), each (vehicles,), and values by name.
        """
        ended = np.flatnonzero(self.ended).tolist()
        starts = dict(zip(ended, self.task.begin_many(self.np_random, len(ended)), strict=True))
        seeds = dict(zip(ended, self.task.noise_seeds(self.np_random, len(ended)), strict=True))
        rewards = np.zeros(self.num_envs)
        fell = np.zeros(self.num_envs, bool)
        over = np.zeros(self.num_envs, bool)

        def advance(k: int) -> dict[str, Any]:
            if k in starts:
                return self.machines[k].start(starts[k], int(seeds[k])) | {"lost": 0.0}
            _, rewards[k], fell[k], over[k], values = self.machines[k].step(actions[k])
            return values

        values = self._gather(advance)
        self.ended = fell | over
        return self.task.observation(values), rewards, fell, over, values

    def _gather(self, advance: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
        """Call `advance(k)` for each vehicle k in threads; return the values by name, (vehicles,)."""

        def advance_some(first: int) -> list[dict[str, Any]]:
            return [advance(k) for k in range(first, self.num_envs, self._threads)]

        of_machines: list[Any] = [None] * self.num_envs
        for first, results in enumerate(self._pool.map(advance_some, range(self._threads))):
            of_machines[first :: self._threads] = results
        return {name: np.array([values[name] for values in of_machines]) for name in of_machines[0]}


def _register() -> None:
    """Register the environments of all tasks with Gymnasium."""
    for name in TASKS:
        many = "MachineThreadsEnv" if name == "Jump" else "MachineLanesEnv"
        gymnasium.register(
            f"draisine/{name}-v0",
            entry_point=f"{__name__}:MachineEnv",
            vector_entry_point=f"{__name__}:{many}",
            kwargs={"task": name},
        )


_register()
