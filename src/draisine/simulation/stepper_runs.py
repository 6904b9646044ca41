"""Runs that a `Stepper` advances.

`BilateralSteps` has ideal contacts and takes equal steps in minimal coordinates; `UnilateralSteps` has
unilateral contacts. The results of both are bitwise equal for any division of time into calls.
"""

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DeadEndError, ParameterError, SimulationError, TerrainError
from draisine.simulation.bilateral.run import STOP_HINTS, STOP_REASONS, BilateralRun
from draisine.simulation.contact.driver import RunState
from draisine.simulation.contact.query import Closed, return_query
from draisine.simulation.contact.run import TerrainRun, place_on_terrain
from draisine.simulation.integrators import DEGENERATE_PIVOT, MACHINE_FELL, step_loop_code
from draisine.simulation.options import Task
from draisine.simulation.trajectory import Event
from draisine.system.state import State

MAX_TIME = 1e9
"""Upper bound of the simulated time (s) of a stepper, which has no final time."""

MAX_STORED_EVENTS = 10_000
"""Largest number of events that a stepper keeps; older events are discarded."""

MAX_SHORT_STEPS = 4
"""Largest number of steps between two input changes for which short integration steps are used.

One integration step with event location costs as much as four short steps, and is cheaper for more than four.
"""

SHORT_STEP_PAUSE = 16
"""Number of input changes after a rejected short step during which no short steps are tried."""


class StepperRun(Protocol):
    """Interface of a run that a stepper advances; step numbers count from the start of the run."""

    outcome: str

    def hold(self, inputs: Floats, commands: Mapping[int, float]) -> None:
        """Set inputs (inputs,), N m or N, and commands: states of the law by index (-1: the last)."""

    def obey(self, task: Task) -> None:
        """Continue with the control law of another task."""

    def advance(self, count: int, end: int) -> tuple[int, tuple[Event, ...]]:
        """Advance from step `count` to step `end`; return the step that was reached, and the events."""

    def take_input_events(self) -> list[Event]:
        """Return the events of input changes since the last call that `advance` did not return.

        These input changes changed no contact.
        """

    def check(self) -> None:
        """Raise an error if the run cannot continue."""

    def release(self) -> None:
        """Release the memory of the run for the next run; this run cannot continue."""

    def state(self, t: float) -> State:
        """Return the present state, at time t (s)."""

    def law_state(self) -> Floats:
        """Return the states of force elements and control law."""

    def observe(self, t: float) -> dict[str, Floats]:
        """Return all variables of the present state, at time t (s)."""


class BilateralSteps:
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
        """Make the workspace of the integrator for the present pivots and state."""
        problem = self.run.problem
        method = self.method
        self.packed = problem.workspace(
            len(self.run.y), method.stages, method.coefficients, keep=False
        )
        self.work = self.packed.record
        self.work.x[1 : 1 + self.work.n] = self.run.y

    @property
    def y(self) -> Floats:
        """The present state vector."""
        return self.work.x[1 : 1 + self.work.n]

    def law_state(self) -> Floats:
        """Return the states of the control law."""
        return self.y[self.run.machine.layout.z].copy()

    def hold(self, inputs: Floats, commands: Mapping[int, float]) -> None:
        """Set the inputs and the commands, see `StepperRun`."""
        self.run.inputs = inputs
        self.work.x[1 + self.work.n :][: len(inputs)] = inputs
        for k, value in commands.items():
            self.y[k] = value
        self._observations = None

    def obey(self, task: Task) -> None:
        """Continue with the control law of another task."""
        raise ParameterError(
            "Without a terrain a law may guide joints at times: switch `active` of its Guide by a command."
        )

    def advance(self, count: int, end: int) -> tuple[int, tuple[Event, ...]]:
        """Advance from step `count` to step `end`, see `StepperRun`."""
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
        """Return no events: contacts of this run never change, see `StepperRun`."""
        return []

    def _change_pivots(self, t: float) -> None:
        """Choose other pivots at time t (s) and continue."""
        headings = self.work.headings.copy()
        self.run.y = self.y.copy()
        self.run.change_pivots(t)
        self._make_workspace()
        self.work.headings[:] = headings

    def release(self) -> None:
        """Make the memory of the run available to the next one."""

    def check(self) -> None:
        """Raise an error if the run cannot continue."""
        if self.cause is not None:
            hint = STOP_HINTS.get(self.cause, "")
            raise SimulationError(f"the run stopped: {self.cause}.{hint}") from self.run.law_error

    def state(self, t: float) -> State:
        """Return the present state, at time t (s)."""
        return self.run.machine.leave(self.y, t)

    def observe(self, t: float) -> dict[str, Floats]:
        """Return all variables of the present state, at time t (s)."""
        if self._observations is None:
            program = self.run.machine.observe
            x = self.work.x
            x[0] = t  # all programs of a contact mode read x = (t, y, inputs, anchors)
            self._observations = program.outputs.split(program.flat(x[: program.inputs.size]))
        return self._observations


class UnilateralSteps:
    """Run on a terrain whose result does not depend on the division of time into calls.

    On arcs with event location, `run` is at most one integration step behind the present time. `ahead` is a
    branch of the run beyond the present time; its dense output yields the states at the step times of the
    stepper. On time-stepping arcs, the run is at most one time step ahead of the present time, and the
    present state is interpolated. If inputs change, the run restarts from the present state.

    A controller changes inputs every few steps. Most input changes do not change the contacts. The next steps
    of the stepper are then short integration steps in the present mode. The number of short steps depends
    only on the times of the input changes.
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
        """Return the states of the control law."""
        self._settle()
        return self.now.y[self.query.y.z].copy()

    def hold(self, inputs: Floats, commands: Mapping[int, float]) -> None:
        """Set the inputs and the commands, see `StepperRun`."""
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
        """Choose the number of short steps after a change of the inputs.

        It is the number of steps since the previous change, or zero if this number exceeds `MAX_SHORT_STEPS`.
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
        """Continue with the control law of another task."""
        if self.outcome:
            return
        self._settle()
        inputs = self.query.inputs
        self.query, _ = place_on_terrain(task)
        self._restart(self.now.y, inputs)

    def _settle(self) -> None:
        """Restart the run if the inputs or commands changed since the last step."""
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
        """Advance from step `count` to step `end`, see `StepperRun`."""
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
        """Take the planned short steps from step `count`, at most to step `end`; return the step reached."""
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
        """Return the input changes that changed no contact, see `StepperRun`."""
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
        """Advance the run by its own steps until they cover time t (s), and set the state at t."""
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
        """Replace the run by the branch `ahead`.

        The branch may have replaced the events of short arcs by a change of the method. `_take_events` then
        returns this event, although it has already returned the replaced ones.
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
        """Return the run state at time t (s) within the last step; after the end, the last run state."""
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
        """Return the events since the last call; discard the stored events and samples of the run."""
        run = self.run
        events = tuple(run.events[self.reported :])
        # The branch has copies of these lists, and later becomes the run. Discard the past of the branch as
        # well: otherwise it would be copied from branch to branch.
        past: list[tuple[list[Any], list[Any], int]] = []
        if self.ahead is not None:
            ahead = self.ahead
            pairs = (
                (run.events, ahead.events),
                (run.arcs, ahead.arcs),
                (run.samples, ahead.samples),
                (run.grazes, ahead.grazes),
            )
            for own, copy in pairs:
                if own and copy and own[0] is copy[0]:
                    past.append((own, copy, len(own)))
        run.forget_past()
        self.reported = len(run.events)
        for own, copy, count in past:
            del copy[: count - len(own)]
        return events

    def release(self) -> None:
        """Make the memory of the run available to the next one."""
        # If the next run cannot start, this one cannot continue: its memory may be in use.
        self.failure = SimulationError("a reset failed; call reset() with a state that exists.")
        return_query(self.query)

    def check(self) -> None:
        """Raise an error if the run cannot continue."""
        if self.failure is not None:
            raise self.failure

    def state(self, t: float) -> State:
        """Return the present state, at time t (s)."""
        self._settle()
        return self.query.machine.leave(self.now.y)

    def observe(self, t: float) -> dict[str, Floats]:
        """Return all variables of the present state, at time t (s)."""
        self._settle()
        observations = self.run.observe_at(self.now.t, self.now.y, self.now.closed)
        return {name: values[..., -1] for name, values in observations.items()}
