"""Machines to learn on, as environments of Gymnasium: `draisine/Balance-v0`, `draisine/Path-v0`,
`draisine/Jump-v0`, known to `gymnasium.make` as soon as this module is imported (extra `gymnasium`).

A `LearningTask` says what is to be learned on a scenario of any kind of machine. One machine is
driven by a `Stepper`; many on the ground plane move side by side in SIMD lanes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
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
from draisine.simulation.many import Fleet
from draisine.simulation.options import Numerics
from draisine.simulation.stepper import DEFAULT_STEP, Stepper, state_values
from draisine.simulation.validity.fall import fall_rule
from draisine.system.state import State, states

gymnasium = import_extra("gymnasium", "gymnasium")
vector = import_extra("gymnasium.vector", "gymnasium")

NamedValues = Mapping[str, Any]
"""What is known of a machine by name: numbers, or arrays with one entry per lane."""


@dataclass(frozen=True)
class LearningTask:
    """What is to be learned: on a scenario's machine and ground, from initial values drawn evenly
    between the bounds of `start`, by holding the inputs `actions` (with their largest values, to
    which actions between -1 and 1 are scaled) for `period` seconds each. `observed` names what is
    seen, with the largest sizes shown. `reward` and `failed` are functions of named values, those of
    `Stepper.values` and `lost`, the energy (J) that impacts took in the period. An episode lasts
    `duration` seconds.
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
        """The scenario, with everything built that it names; the agent takes the place of its laws, and
        its inputs act beside.
        """
        plan = load(self.scenario, {"law": []}).plan
        expect_known("no input", self.actions, plan.system.model.inputs)
        if plan.motion is not None:
            raise ParameterError(
                f"{self.scenario}: it starts in a steady motion (initial.steady). Learning tasks draw their "
                "starts: give values in [initial]."
            )
        return plan

    @cached_property
    def bounds(self) -> Floats:
        """The largest sizes of what is seen."""
        return np.array(list(self.observed.values()))

    @property
    def steps(self) -> int:
        """How many actions an episode has."""
        return round(self.duration / self.period)

    def draw(self, random: np.random.Generator, count: int) -> dict[str, Floats]:
        """Return initial values for so many machines, those of the scenario and those drawn."""
        fixed = {name: np.full(count, value) for name, value in self.plan.start.values.items()}
        low, high = np.array([*self.start.values()], float).reshape(-1, 2).T
        drawn = random.uniform(low, high, (count, len(self.start)))
        return fixed | dict(zip(self.start, drawn.T, strict=True))

    def begin(self, random: np.random.Generator) -> State:
        """Return a state to begin with."""
        values = {name: float(x[0]) for name, x in self.draw(random, 1).items()}
        return replace(self.plan, start=replace(self.plan.start, values=values)).state()

    def spaces(self) -> tuple[Any, Any]:
        """Return the spaces of observations and of actions."""
        high = self.bounds.astype(np.float32)
        seen = gymnasium.spaces.Box(-high, high, dtype=np.float32)
        return seen, gymnasium.spaces.Box(-1.0, 1.0, (len(self.actions),), np.float32)

    def inputs(self, actions: Floats) -> dict[str, Any]:
        """Return inputs by name for actions, which come along the last axis."""
        held = np.clip(np.asarray(actions, float), -1.0, 1.0) * list(self.actions.values())
        return {name: held[..., k] for k, name in enumerate(self.actions)}

    def observation(self, values: NamedValues) -> Floats:
        """Return what is seen, along the last axis, no larger than its bounds."""
        expect_known("nothing to be seen is", self.observed, values)
        seen = np.stack([np.asarray(values[name]) for name in self.observed], axis=-1)
        return np.clip(seen, -self.bounds, self.bounds).astype(np.float32)


def _tilted(values: NamedValues) -> Any:
    """Return whether a bicycle leans, or its bar is turned, beyond what is worth learning."""
    return (np.abs(values["lean"]) > 0.7) | (np.abs(values["steer"]) > 1.2)


_BICYCLE = {"lean": 0.8, "steer": 1.5, "lean_rate": 5.0, "steer_rate": 10.0}

TASKS = {
    "Balance": LearningTask(
        "mauny2018/passive-stabilisation",
        {"forward_speed": (2.5, 3.5), "lean": (-0.1, 0.1), "lean_rate": (-0.1, 0.1)},
        _BICYCLE | {"forward_speed": 10.0},
        {"steer": 10.0},
        lambda values: 1.0 - (values["lean"] / 0.7) ** 2,
        _tilted,
    ),
    "Path": LearningTask(
        "mauny2018/passive-stabilisation",
        {"forward_speed": (4.0, 5.0), "lean_rate": (-0.1, 0.1), "y": (-1.0, 1.0)},
        _BICYCLE | {"forward_speed": 10.0, "yaw": 3.2, "y": 20.0},
        {"steer": 10.0},
        lambda values: 1.0 / (1.0 + values["y"] ** 2),
        lambda values: _tilted(values) | (np.abs(values["y"]) > 10.0),
    ),
    "Jump": LearningTask(
        "mauny2018/ramp-jump",
        {"forward_speed": (8.0, 12.0), "lean": (-0.02, 0.02)},
        _BICYCLE | {"pitch": 1.6, "pitch_rate": 10.0, "forward_speed": 20.0, "x": 50.0, "z": 5.0},
        {"steer": 10.0, "rear_wheel": 50.0},
        lambda values: 1.0 / 48.0 - values["lost"] / 1000.0,
        _tilted,
        duration=1.5,
    ),
}
"""A slow bicycle to be kept upright by steer torques; one to be led onto the line y = 0; and one to
be driven over a ramp so that it lands softly.
"""


def find_task(task: str | LearningTask) -> LearningTask:
    """Return a task, or the one of that name."""
    if isinstance(task, LearningTask):
        return task
    expect_known("no task", task, TASKS, UnknownNameError)
    return TASKS[task]


class MachineEnv(gymnasium.Env):  # type: ignore[name-defined, misc]
    """One machine to learn on."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, task: str | LearningTask, render_mode: str | None = None) -> None:
        self.task = find_task(task)
        self.render_mode = render_mode
        self.observation_space, self.action_space = self.task.spaces()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin anew; return what is seen, and all values by name."""
        super().reset(seed=seed)
        plan = self.task.plan
        start = self.task.begin(self.np_random)
        self.stepper = Stepper(
            plan.system, start, terrain=plan.terrain, law=plan.law, contact=plan.contact
        )
        self.count = 0
        values = self.stepper.values()
        return self.task.observation(values), values

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Hold an action for a period; return what is seen then, the reward, whether the machine
        fell, whether time is over, and all values by name.
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
        lost = sum(-event.gain for event in stepper.events if event.t > before)
        values = stepper.values() | {"lost": lost}
        fell = stopped or stepper.outcome != "" or bool(task.failed(values))
        over = self.count >= task.steps
        return task.observation(values), float(task.reward(values)), fell, over, values


class MachineLanesEnv(vector.VectorEnv):  # type: ignore[name-defined, misc]
    """Many machines to learn on, side by side in SIMD lanes; one whose episode has ended begins anew
    at the next step. Its numbers are those of a `MachineEnv` for each.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": [],
        "autoreset_mode": vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self, task: str | LearningTask, num_envs: int = 1, render_mode: str | None = None
    ) -> None:
        self.task = find_task(task)
        self.num_envs = num_envs
        self.render_mode = render_mode
        plan = self.task.plan
        if plan.terrain is not None or plan.law is not None:
            raise ParameterError(
                f"{self.task.scenario}: a terrain or inputs of its own do not move in lanes; take "
                'gymnasium.make_vec(..., vectorization_mode="sync").'
            )
        spaces = self.task.spaces()
        self.single_observation_space, self.single_action_space = spaces
        self.observation_space, self.action_space = (
            vector.utils.batch_space(space, num_envs) for space in spaces
        )
        self.machine = plan.system.machine()
        self.numerics = Numerics(integrator="rk4", dt=DEFAULT_STEP)
        parameters = np.repeat(plan.system.values[:, None], num_envs, axis=1)
        still = np.zeros((len(plan.system.model.inputs), num_envs))
        rule = fall_rule(plan.system.model, plan.contact.fall)
        self.fleet = Fleet(self.machine, still, parameters, rule=rule)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin anew with all machines; return what is seen, and all values by name."""
        super().reset(seed=seed)
        self.y: Floats = np.zeros((self.machine.layout.size, self.num_envs))
        self.count = np.zeros(self.num_envs, int)
        self._begin(np.ones(self.num_envs, bool))
        return self._look()

    def _begin(self, which: Any) -> None:
        """Draw new starts for some machines."""
        if which.any():
            start = self.task.plan.start
            system = self.task.plan.system
            drawn = self.task.draw(self.np_random, int(which.sum()))
            found, wrong = states(system, drawn, mode=start.mode, at_rest=start.at_rest)
            if any(wrong):
                raise ConfigurationError(f"{self.task.scenario}: {next(filter(None, wrong))}")
            none = np.zeros(self.machine.memory)
            self.y[:, which] = self.machine.enter_all(found, self.fleet.values[:, which], none)
        self.count[which], self.ended = 0, np.zeros(self.num_envs, bool)

    def _look(self) -> tuple[Floats, dict[str, Any]]:
        """Return what is seen, and all values by name."""
        system = self.task.plan.system
        at = self.machine.layout
        told = self.machine.observations(self.y.T, w=self.fleet.tail)
        seen = {name: x.T for name, x in told.items()}
        values = state_values(system.model, self.y[at.r].T, seen)
        values["lost"] = np.zeros(self.num_envs)
        return self.task.observation(values), values

    def step(self, actions: Floats) -> tuple[Floats, Floats, Any, Any, dict[str, Any]]:
        """Hold actions for a period; return what is seen then, rewards, which machines fell, for
        which time is over, and all values by name.
        """
        task = self.task
        ended = self.ended
        for name, held in task.inputs(actions).items():
            self.fleet.tail[task.plan.system.model.inputs.index(name)] = held
        self.y, _, wrong = self.fleet.advance(self.y, [0.0, task.period], self.numerics)
        self.count += 1
        self._begin(ended)
        seen, values = self._look()
        fell = ~ended & ((wrong != 0) | task.failed(values))
        over = ~ended & (self.count >= task.steps)
        self.ended = fell | over
        return seen, np.where(ended, 0.0, task.reward(values)), fell, over, values


def _register() -> None:
    """Make the tasks known to Gymnasium."""
    for name in TASKS:
        lanes = None if name == "Jump" else f"{__name__}:MachineLanesEnv"
        gymnasium.register(
            f"draisine/{name}-v0",
            entry_point=f"{__name__}:MachineEnv",
            vector_entry_point=lanes,
            kwargs={"task": name},
        )


_register()
