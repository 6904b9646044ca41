"""The run loop on a terrain: event-driven arcs, time-stepping arcs, and the changes between them.

A run combines two methods (docs/contact.md).

* Event-driven arcs. Compiled routines integrate the equations of motion within one contact mode, locate the
  event that ends it, resolve the impact and select the next contact mode. `ArcDriver` calls their loop,
  `run_loop.advance_events`.
* Time-stepping arcs. The contact problem is solved at impulse level, without event location. `TimeStepper`
  calls their loop, `stepping.loop.advance_steps`.

`TerrainRun` stores the results of both as trajectory arcs and events: `begin` checks the start, `advance`
extends the present trajectory arc by some steps, `_enter_time_stepping` and `_resume_events` store the arc
before a change of the method (`method_change`). `trajectory` returns the stored trajectory arcs and events.
Slices of a `Stepper` use `branch`, `advance` and `restart`.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import (
    ConfigurationError,
    ContactSetError,
    DeadEndError,
    DraisineError,
    ParameterError,
    SimulationError,
    TerrainError,
    ZenoError,
    expect_known,
)
from draisine.simulation.contact.arc import SteppedArc, UnilateralArc, observe_states
from draisine.simulation.contact.driver import (
    MIN_TOUCHING,
    ArcDriver,
    EventRecord,
    RunState,
    jump_times,
    take_driver,
)
from draisine.simulation.contact.event_driven.arc_integration import RunStatus
from draisine.simulation.contact.event_driven.run_loop import EventCause
from draisine.simulation.contact.failures import (
    Failure,
    find_failure,
    make_contact_set_failure,
)
from draisine.simulation.contact.query import (
    Closed,
    ContactQuery,
    ModeInterval,
    borrow_query,
    return_query,
)
from draisine.simulation.contact.start import lift_start
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping.arc import (
    TimeStepper,
    copy_switch,
    reserve_ranks,
    switch_code,
    take_switch,
)
from draisine.simulation.contact.stepping.method_change import NO_STEP
from draisine.simulation.contact.stepping.switch import (
    OBSTRUCTION_TEXTS,
    STORED_EVENTS,
    Obstruction,
    Switch,
)
from draisine.simulation.integrators import ENDLESS_REASON, ENDLESS_REMEDY, MAX_REMAINING_CALLS
from draisine.simulation.options import ContactOptions, Task
from draisine.simulation.trajectory import DenseOutput, Event, Guard, GuardKind, Key, Trajectory
from draisine.simulation.validity.fall import describe_fall
from draisine.system.generic import make_generic
from draisine.system.state import State
from draisine.terrain import Terrain

STEPS_PER_CALL = 200
"""Number of integration steps per call of the compiled loop; a run can be interrupted between calls."""
CALLS_PER_CHECK = 50
"""Number of calls of the compiled loop between two checks of the progress of the run."""

SAME_TIME = 1e-9
"""Largest difference (s) of two sample times that counts as rounding; large enough for a year of simulated
time.
"""

EVENT_WINDOW = 1.0
"""Length (s) of the interval of simulated time in which at most `ContactOptions.events` events may occur."""

ENERGY_GAIN = 1e-9
"""Largest energy gain of an impact that counts as rounding, as a fraction of the mechanical energy, or in J
if that is below 1 J.
"""

EVENT_ERRORS = (ConfigurationError, SimulationError, TerrainError)
"""Errors of event location after which the run can continue with time steps."""


class EnergyWarning(UserWarning):
    """Warning of an impact that increases the mechanical energy."""


class TerrainRun:
    """State of a run on a terrain: its present state, the open trajectory arc, and the stored trajectory arcs
    and events.
    """

    def __init__(self, task: Task) -> None:
        self.query, y = place_on_terrain(task)
        self.contact = task.contact
        self.numerics = task.numerics
        self.progress = task.progress
        self.start = task.numerics.start
        self.until = task.until
        self.jumps = jump_times(task)

        # The present state, and the open trajectory arc that ends with it.
        self.now = RunState(self.start, y)
        self.arc_closed: tuple[Closed, ...] = ()
        self.samples: list[tuple[Floats, Floats]] = []
        self.grazes: list[tuple[float, Key]] = []
        self.nodes: list[tuple[Floats, Floats]] = []
        self.keeps_dense = True
        self.driver: ArcDriver | None = None
        self.steps: TimeStepper | None = None  # the open time-stepping arc

        # The stored trajectory arcs, events and outcome.
        self.arcs: list[UnilateralArc | SteppedArc] = []
        self.events: list[Event] = []
        self.outcome = ""
        self.failed_outcome = (
            ""  # outcome of the partial trajectory of a run that stops by an error
        )

        # Data that decide about the change between event location and time stepping; branches share
        # them until they change.
        wheels = len(self.query.machine.wheels)
        self.switch = take_switch(self.query, task.contact, max(MIN_TOUCHING, wheels))
        self.shares_switch = False

    def state(self) -> State:
        """Return the present state as a `State`."""
        return self.query.machine.leave(self.now.y)

    def sample_at(self, t: float) -> Floats | None:
        """Return the state y of the sample at time t (s) of the latest event-driven arc, or None."""
        latest = [(arc.t, arc.y) for arc in self.arcs[-1:]]
        for times, states in (*reversed(self.samples), *latest):
            k = min(int(np.searchsorted(times, t - SAME_TIME)), len(times) - 1)
            if abs(times[k] - t) <= SAME_TIME:
                state: Floats = states[k]
                return state
        return None

    def observe_at(self, t: float, y: Floats, closed: Sequence[Closed]) -> dict[str, Floats]:
        """Return all output variables of a state of the present trajectory arc, time as the last axis. On
        time-stepping arcs, forces are mean values over the last step until time t.
        """
        if self.steps is not None:
            return self.steps.arc(t).observations
        instant = ModeInterval(np.array([t]), y[None], tuple(closed), self.query.inputs)
        return observe_states(self.query, [instant])

    def forget_past(self) -> None:
        """Discard stored samples and arcs, which a stepper does not return. The latest arcs and events stay,
        because time steps may replace them.
        """
        del self.samples[:-1], self.grazes[:], self.arcs[:-STORED_EVENTS]
        del self.events[: -self.contact.events - STORED_EVENTS]

    def branch(self, until: float) -> "TerrainRun":
        """Return a copy of an event-driven run that continues independently until a time (s)."""
        assert self.steps is None
        other = object.__new__(TerrainRun)
        vars(other).update(vars(self))
        other.arcs = list(self.arcs)
        other.events = list(self.events)
        other.samples = list(self.samples)
        other.grazes = list(self.grazes)
        other.nodes = list(self.nodes)
        other.now = self.now.copy()
        other.until = until
        self.shares_switch = other.shares_switch = True
        return other

    def _own_switch(self) -> Switch:
        """Return the data for changing the method, which no other branch shares any more."""
        if self.shares_switch:
            self.switch = copy_switch(self.switch)
            self.shares_switch = False
        return self.switch

    # --- the run loop

    def run(self) -> Trajectory:
        """Run to the end and return the whole trajectory."""
        self.begin()
        before = self.now.t
        calls = 0
        is_auto = self.contact.solver == "auto"
        while self.now.t < self.until and not self.outcome:
            watches_rank = is_auto and self.switch.watches_rank
            self.advance(STEPS_PER_CALL, 1 if watches_rank else STEPS_PER_CALL)
            calls += 1
            if calls % CALLS_PER_CHECK == 0:
                self._check_end(before)
                before = self.now.t
        return self.trajectory(self.outcome or "completed")

    def begin(self) -> None:
        """Find the closed contacts of the initial state, or begin time stepping if the options request it."""
        lift_start(self.query, self.now.t, self.now.y)
        if self.contact.solver == "time_stepping":
            self._begin_steps("requested")
            return
        try:
            self._call_routines(0, 1, EventCause.START)
        except (ConfigurationError, ContactSetError) as error:
            self._switch_method(error)
        if not self.events:
            self.arc_closed = self.now.closed
        if self.contact.solver == "auto" and self.driver is not None:
            switch_code().watch_rank(self.driver.packed_loop, self.switch)

    def restart(self, query: ContactQuery, y: Floats, inputs: Floats) -> None:
        """Continue from another state with other inputs and, if the query differs, another control law. On
        time-stepping arcs no event is recorded: their forces are piecewise constant anyway.
        """
        self.driver = self.driver if query is self.query else None
        self.query = query
        query.inputs = inputs
        self.now = self.now.copy()
        self.now.y = y
        if self.steps is not None:
            if query is self.steps.query:
                self.steps.restart(self.now.t, y)
            else:
                self._begin_steps(self.steps.reason, self.steps.h)
            return
        try:
            self._call_routines(0, 1, EventCause.INPUT)
        except EVENT_ERRORS as error:
            self._switch_method(error)

    def continue_mode(self, y: Floats, inputs: Floats, end: float) -> bool:
        """Continue from a state to a time (s) with other inputs by a short step, if these change no contact
        and no event follows until then; return whether it was taken. Otherwise only the state and the inputs
        of the run change: `restart` resolves the jump.
        """
        assert self.steps is None
        driver = self._find_driver()
        self.query.inputs = inputs
        self.now.y = y
        now = driver.continue_mode(self.now, self.until, end)
        if now is None:
            return False
        self.now = now
        return True

    def advance(self, steps: int = 1, events: int = 1) -> None:
        """Advance the run by at most `steps` integration or time steps, through at most `events` events."""
        if self.steps is not None:
            self._advance_time_steps(steps)
        else:
            before = self.now.t
            try:
                status = self._call_routines(steps, events if self.progress is None else 1)
            except EVENT_ERRORS as error:
                self._switch_method(error)
            else:
                if status is RunStatus.ARC_END:
                    self.add_sample()
                    self._close_arc(None)
                # After a search the closed contacts have other indices until the loop continues.
                elif self.contact.solver == "auto" and status is not RunStatus.OUTSIDE_SEARCH:
                    self._watch_progress(before)
        if self.progress is not None:
            self.progress((self.now.t - self.start) / (self.until - self.start))

    def _check_end(self, before: float) -> None:
        """Change to time stepping if the run advances so slowly that it would not end. `before` is the
        simulated time (s) at the previous check.
        """
        taken = self.now.t - before
        if MAX_REMAINING_CALLS * taken < self.until - self.now.t and self.steps is None:
            text = f"the run stopped at {self.now.t:.9g} s: {ENDLESS_REASON}. {ENDLESS_REMEDY}"
            self._switch_method(SimulationError(text))

    # --- calls of the compiled routines

    def _call_routines(self, steps: int, events: int, cause: EventCause | None = None) -> RunStatus:
        """Call the compiled loop for at most `steps` steps and `events` events; return the reason why it
        stopped. If `cause` is given, begin with the event that it causes.
        """
        driver = self._find_driver()
        # One event more than allowed, so that exceeding the limit is detected.
        most_events = min(events, self.contact.events + 1)
        driver.load(self.now, self.until, cause)
        events_before = len(self.events)
        try:
            status = self._traverse(driver, steps, most_events)
            while status is RunStatus.TOO_MANY_CONTACTS:
                reserve_ranks(self._own_switch(), self.query, 2 * driver.touching)
                driver.grow(self.now, self.until)
                status = self._traverse(driver, steps, most_events)
        except ContactSetError as error:  # raised by an impact model
            self._raise(make_contact_set_failure(self.query, self.now, error, self.now.y))
        if status is RunStatus.OUTSIDE_SEARCH:
            driver.search(self.now.t, self.now.y, driver.arc.box, has_path=True)
        failure = find_failure(status, self.query, self.now, driver, self.events)
        if failure is not None:
            self._raise(failure)
        if status is RunStatus.FALL:
            overturned = driver.guard()[0] == GuardKind.OVERTURN
            self.outcome = describe_fall(None if overturned else math.asin(driver.arc.fall))
            self._close_arc(None)
        if any(event.kind != "input" for event in self.events[events_before:]):
            self._limit_events()
        return status

    def _find_driver(self) -> ArcDriver:
        """Return the `ArcDriver` of the run, after a new search if its boxes do not contain the present
        state.
        """
        query = self.query
        t = self.now.t
        y = self.now.y
        if self.driver is None:
            self.driver = take_driver(query, self.contact, self.numerics, self.jumps, t, y)
        elif not self.driver.contains(self.now.closed):
            # Another branch of the run has moved the search boxes away from this state.
            self.driver.search(t, y, query.boxes(t, y))
        return self.driver

    def _traverse(self, driver: ArcDriver, steps: int, events: int) -> RunStatus:
        """Call the compiled loop, perform the tasks for which it returns to Python, and store its results;
        return the reason why it stopped.
        """
        try:
            while True:
                status = driver.run(steps, events)
                if status is RunStatus.UNKNOWN_MODE:
                    driver.compile_mode()
                elif status is RunStatus.SHARP_FEATURE:
                    self.query.refuse_sharp_feature(driver.arc.clock.time, driver.y, driver.subject)
                elif status is RunStatus.IMPACT:
                    driver.resolve_impact()
                else:
                    return status
        finally:
            self._store_results(driver)

    def _store_results(self, driver: ArcDriver) -> None:
        """Store the samples, events and dense output of a call, and the state that it reached."""
        times, states = driver.samples()
        grazes = driver.grazes()
        records = driver.events()
        if records:
            switch_code().remember_events(driver.packed_loop, self._own_switch(), 0)
        self.now = driver.run_state()
        node_times, nodes = driver.nodes(self.keeps_dense)
        begins = node_times[:, 0]
        # Samples of all arcs of a call are stored in sequence; each event ends one trajectory arc.
        ends = [(record.samples, record.grazes) for record in records]
        bounds = [(0, 0), *ends, (len(times), len(grazes))]
        for k, ((first, first_graze), (last, last_graze)) in enumerate(pairwise(bounds)):
            if last > first:
                self.samples.append((times[first:last], states[first:last]))
            self.grazes += grazes[first_graze:last_graze]
            # A step belongs to the trajectory arc in which it begins; arcs of zero duration have no
            # steps.
            if len(begins):
                end = records[k].t if k < len(records) else np.inf
                count = int(np.searchsorted(begins, end))
                if count:
                    self.nodes.append((node_times[:count], nodes[:count]))
                node_times = node_times[count:]
                nodes = nodes[count:]
                begins = begins[count:]
            if k < len(records):
                self._store_event(records[k])

    def _limit_events(self) -> None:
        """Raise if there are more events within a second than the options allow. Jumps of the inputs do not
        count: a controller may act more often.
        """
        most = self.contact.events
        begin = self.now.t - EVENT_WINDOW
        recent = takewhile(lambda event: event.t > begin, reversed(self.events))
        if sum(event.kind != "input" for event in recent) > most:
            error = ZenoError(
                f"more than {most} events within a second until {self.now.t:.9g} s; "
                "a rest_speed turns small bounces into plastic impacts.",
                state=self.state(),
            )
            self._raise(Failure("too many events", error))

    def _raise(self, failure: Failure) -> None:
        """Store the last physically valid state, and raise the error that stops event location."""
        if failure.last is not None:
            self.now.t, self.now.y = failure.last
            self.add_sample()
        self.failed_outcome = failure.outcome
        raise failure.error

    # --- arcs and events

    def add_sample(self) -> None:
        """Store the present time and state as a sample, unless a sample at this time exists already."""
        if self.samples and self.now.t > self.now.latest_sample:
            self.samples.append((np.array([self.now.t]), self.now.y[None].copy()))
            self.now.latest_sample = self.now.t

    def _store_event(self, record: EventRecord) -> None:
        """Store an event, and the trajectory arc that it ends."""
        query = self.query
        kind = record.kind
        fired = record.fired
        impact = record.impact
        is_soft = impact is None
        impulses = {} if impact is None else impact.chosen.pushes
        trials = () if impact is None else impact.trials
        energy, energy_after = record.energies
        if impact is not None:
            self._warn_of_gain(record.t, energy_after - energy, energy)
        closed_before = [contact for contact, *_ in record.closed]
        if not fired and kind == "lift-off":
            wheels_after = {contact.wheel for contact, *_ in record.closed_after}
            fired = [contact for contact in closed_before if contact.wheel not in wheels_after]
            is_soft = False
        if not fired and kind == "slip":
            fired = [
                contact
                for contact, status, mu in record.closed_after
                if status == Status.SLIDING and (contact, Status.ROLLING, mu) in record.closed
            ]
        names = tuple(query.key(contact) for contact in fired) or tuple(impulses)
        if kind == "hand-over":
            names = tuple(
                query.key(contact)
                for contact, *_ in record.closed_after
                if contact not in closed_before
            )
        event = Event(
            record.t,
            kind,
            names,
            is_soft,
            query.machine.leave(record.before),
            query.machine.leave(record.after),
            query.mode(record.closed),
            query.mode(record.closed_after),
            energy,
            energy_after,
            impulses,
            trials,
            record.guard,
        )
        self._close_arc(event)
        self.arc_closed = record.closed_after

    def _warn_of_gain(self, t: float, gain: float, energy: float) -> None:
        """Warn of an impact on fixed ground that increases the mechanical energy by `gain` (J)."""
        if not self.query.terrain.motions and gain > ENERGY_GAIN * max(1.0, abs(energy)):
            warnings.warn(
                f"the impact at {t:.9g} s creates {gain:.3g} J; "
                "restitution with friction, or with unequal coefficients, can.",
                EnergyWarning,
                stacklevel=8,
            )

    def _close_arc(self, event: Event | None) -> None:
        """Store the event-driven arc that ends at the present state, and the event that ends it."""
        query = self.query
        if self.samples:
            times, states = _join_samples(self.samples)
            dense = None
            if self.nodes:
                dense = DenseOutput(*_join_samples(self.nodes), query.inputs)
            arc = UnilateralArc(
                machine=query.machine,
                t=times,
                y=states,
                inputs=query.inputs,
                closed=self.arc_closed,
                terrain=query.terrain,
                mode=query.mode(self.arc_closed),
                stops=query.stops,
                grazes=tuple(self.grazes),
                dense=dense,
            )
            self.arcs.append(arc)
            self.samples = []
            self.grazes = []
            self.nodes = []
        if event is not None:
            self.events.append(event)

    def trajectory(self, outcome: str) -> Trajectory:
        """Return the stored trajectory arcs and events as a trajectory with an outcome."""
        settings = {
            "impact": self.contact.impact_name,
            "dt": self.numerics.dt,
            "rtol": self.numerics.rtol,
            "atol": self.numerics.atol,
            "solver": self.contact.solver,
        }
        return Trajectory(tuple(self.arcs), outcome, settings, tuple(self.events), self.contact)

    def partial(self, outcome: str) -> Trajectory:
        """Return the trajectory up to the present state, including the open trajectory arc."""
        if self.steps is not None:
            self._close_steps()
            return self.trajectory(outcome)
        if len(self.arcs) <= len(self.events) and not self.samples:
            self.samples.append((np.array([self.now.t]), self.now.y[None].copy()))
        self._close_arc(None)
        return self.trajectory(outcome)

    # --- change of the method

    def _switch_method(self, error: DraisineError) -> None:
        """Continue with time steps after an error of event location; raise the error if the options exclude
        time steps.
        """
        if self.contact.solver != "auto" or isinstance(error, DeadEndError):
            raise self.with_partial(error)
        guard = None if self.driver is None else self.driver.unresolved()
        self._enter_time_stepping(_describe_error(error), guard)

    def _watch_progress(self, before: float) -> None:
        """Change to time stepping if event-driven integration advances more slowly than time steps would."""
        if self.outcome or self.now.t >= self.until or self.driver is None:
            return
        find = switch_code().find_obstruction
        obstruction = find(self.driver.packed_loop, self.switch, before)
        if obstruction is not Obstruction.NONE:
            self._enter_time_stepping(OBSTRUCTION_TEXTS[obstruction])

    def _raise_ideal_conflict(self) -> None:
        """Raise ContactSetError with the names of the ideal contacts that over-constrain the system."""
        ideal = [
            contact
            for contact, status, mu in self.now.closed
            if status == Status.ROLLING and not np.isfinite(mu)
        ]
        names = ", ".join(":".join(self.query.key(contact)) for contact in ideal)
        self.failed_outcome = "over-constrained"
        error = ContactSetError(
            f"at {self.now.t:.9g} s: the ideal contacts {names} over-constrain the machine on this "
            "ground: wheels on one axle cannot all roll without slip where it is uneven. Set a finite "
            "friction coefficient, ContactOptions(mu=0.8).",
            state=self.state(),
        )
        raise self.with_partial(error)

    def with_partial(self, error: DraisineError) -> DraisineError:
        """Return an error with the partial trajectory that was computed before it."""
        if isinstance(error, SimulationError) and error.partial is None:
            self.add_sample()
            error.partial = self.partial(self.failed_outcome or str(error))
        return error

    def _enter_time_stepping(self, reason: str, guard: Guard | None = None) -> None:
        """Begin a time-stepping arc, for a reason that is stored with the arc.

        Time steps replace the latest event-driven arcs that are shorter than half a time step, and the events
        before them: they begin at the start of the first of these arcs. `guard` is the guard that fired, or
        None.
        """
        if self.driver is None or not self.samples:
            self._begin_steps(reason)
            return
        switch = self._own_switch()
        h, discarded = self.driver.leave_events(switch, self.now.t, self.now.y)
        if h == NO_STEP:
            self._raise_ideal_conflict()
        self.add_sample()
        self._close_arc(None)
        for _ in range(discarded):
            self.arcs.pop()
            guard = self.events.pop().guard
        last = self.arcs[-1]
        y = last.y[-1].copy()
        self.now = RunState(float(last.t[-1]), y)
        event = self._make_change("time-stepping", y, y, getattr(last, "closed", ()), ())
        self.events.append(replace(event, guard=guard))
        self._begin_steps(reason, h)

    def _begin_steps(self, reason: str, h: float | None = None) -> None:
        """Begin a time-stepping arc at the present state with steps of length h (s)."""
        self.failed_outcome = ""
        query = self.query
        switch = self._own_switch()
        now = self.now
        if h is None:
            query.fill(now.t, now.y)
            choose = switch_code().choose_first_step
            h = choose(switch.grid, query.motion, query.level, query.x, now.t, now.y)
        sampling = (self.start, self.numerics.dt if self.keeps_dense else math.inf)
        self.steps = TimeStepper(
            query, self.contact, now.t, now.y, h, reason, switch, sampling=sampling
        )

    def _advance_time_steps(self, steps: int) -> None:
        """Take `steps` time steps; resume event location if the contacts are settled: the same contacts carry
        loads with margin.
        """
        assert self.steps is not None
        stepper = self.steps
        if stepper.is_settled and self._resume_events(stepper):
            return
        stepper.advance(steps, self.until)
        self.now = RunState(stepper.t, stepper.y.copy())
        if stepper.is_over_constrained:
            self.now.closed = tuple(stepper.loaded())
            self._raise_ideal_conflict()
        if stepper.outcome or self.now.t >= self.until:
            self.outcome = stepper.outcome
            self._close_steps()

    def _resume_events(self, stepper: TimeStepper) -> bool:
        """Resume event location, if the state can be projected onto the constraints of the loaded contacts;
        return whether it has begun.
        """
        query = self.query
        stepped = self.now
        resumed = self.switch.resumed
        query.fill(stepped.t, stepped.y)
        if not switch_code().leave_steps(stepper.loop):
            return False
        self.now = RunState(stepped.t, query.x[query.machine.inputs.span("q", "z")].copy())
        arcs = len(self.arcs)
        events = len(self.events)
        self.arc_closed = ()
        # The wheels have left the features that were near them before the time steps: search again.
        self.driver = None
        try:
            self._call_routines(0, 1, EventCause.START)
        except EVENT_ERRORS:
            switch_code().return_to_steps(stepper.loop, resumed)
            del self.arcs[arcs:], self.events[events:], self.samples[:], self.grazes[:]
            del self.nodes[:]
            self.now = stepped
            self.failed_outcome = ""
            return False
        # The time-stepping arc precedes the samples and events of the call: an impact may occur at once.
        closed = self.now.closed
        change = self._make_change("event-location", stepped.y, self.now.y, (), closed)
        self.arcs.insert(arcs, stepper.arc())
        self.events.insert(events, change)
        self.steps = None
        self.arc_closed = closed
        return True

    def _make_change(
        self,
        kind: str,
        before: Floats,
        after: Floats,
        closed: Sequence[Closed],
        closed_after: Sequence[Closed],
    ) -> Event:
        """Return the `Event` that records a change between event location and time stepping."""
        query = self.query
        t = self.now.t
        return Event(
            t,
            kind,
            (),
            True,
            query.machine.leave(before),
            query.machine.leave(after),
            query.mode(closed),
            query.mode(closed_after),
            query.energy(t, before),
            query.energy(t, after),
        )

    def _close_steps(self) -> None:
        """Store the time-stepping arc that ends at the present state."""
        assert self.steps is not None
        self.arcs.append(self.steps.arc())
        self.steps = None


def _join_samples(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the concatenated times (samples) and states (samples, n) of the parts of a trajectory arc."""
    if len(parts) == 1:
        return parts[0]
    times, states = zip(*parts, strict=True)
    return np.concatenate(times), np.concatenate(states)


def _describe_error(error: DraisineError) -> str:
    """Return a short description of the error that stopped event location."""
    if isinstance(error, ZenoError):
        return "events accumulate"
    if isinstance(error, ContactSetError):
        return "no admissible contact set"
    if isinstance(error, TerrainError):
        return "a point of the ground that the wheel's shape cannot meet"
    return "no step is small enough"


def run_on_terrain(task: Task) -> Trajectory:
    """Simulate a task on its terrain and return the trajectory with its events."""
    run = TerrainRun(task)
    try:
        return run.run()
    except KeyboardInterrupt:
        raise SimulationError(
            f"the run was interrupted after {run.now.t:.6g} s of {task.until:.6g} s. "
            "The part before is in the error's `partial`.",
            run.partial("interrupted"),
        ) from None
    except (ParameterError, TerrainError) as error:  # a ParameterError comes from an impact model
        run.add_sample()
        kind = DeadEndError if isinstance(error, TerrainError) else SimulationError
        raise kind(f"at {run.now.t:.9g} s: {error}", run.partial(str(error))) from error
    except SimulationError as error:
        raise run.with_partial(error) from error.__cause__
    finally:
        return_query(run.query)


def place_on_terrain(task: Task) -> tuple[ContactQuery, Floats]:
    """Return the `ContactQuery` of a task's system on its terrain, and the initial state y."""
    terrain = task.terrain
    assert terrain is not None
    machine = make_generic(task.system, task.law, terrain.motions)
    _check_friction(task.contact, terrain)
    _check_tyres(task)
    y = machine.enter(task.state, task.law_start(machine.states))
    inputs = task.system.inputs(task.inputs)
    return borrow_query(machine, terrain, inputs, task.contact.stops), y


def _check_tyres(task: Task) -> None:
    """Raise ParameterError if a friction coefficient is set for a wheel with a tyre, or an impact model that
    its tyre excludes.
    """
    contact = task.contact
    model = task.system.model
    tyred = [wheel for wheel in model.wheels if wheel.tyre is not None]
    has_others = len(model.contacts) > len(tyred)
    for wheel in tyred:
        if isinstance(contact.mu, Mapping):
            is_named = any(name.partition("/")[0] == wheel.name for name in contact.mu)
        else:
            # A single friction coefficient for all contacts applies to wheels without tyres, if
            # any.
            is_named = np.isfinite(contact.mu) and not has_others
        if is_named:
            raise ParameterError(
                f"mu: wheel {wheel.name!r} has a tyre, whose law is its friction; leave mu out."
            )
        if "along" in wheel.rows["tyre"] and contact.impact_name not in ("plastic", "newton"):
            raise ParameterError(
                f"wheel {wheel.name!r}: its tyre cannot slip along its heading, in impacts neither; "
                f"use the impact model 'plastic' or 'newton', not {contact.impact_name!r}."
            )


def _check_friction(contact: ContactOptions, terrain: Terrain) -> None:
    """Raise an error if the options set a friction coefficient for a terrain feature that does not exist."""
    for name in contact.mu if isinstance(contact.mu, Mapping) else ():
        feature = name.partition("/")[2]
        if feature:
            known = [terrain.name(k) for k in range(len(terrain))]
            expect_known("mu: no feature", feature, known)
