"""Compiled routines for a whole run without Python: begin, advance to a time, change the inputs.

The loops of both methods, `run_loop.advance_events` and `stepping.loop.advance_steps`, are those of native
runs. The routines here alternate between them, search features when a wheel leaves the searched boxes, and
write the samples and events of both methods into one log. A program that calls `begin_run` once and
`advance_run` for each interval needs no Python. Exported simulators are such programs.
"""

from typing import NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import IntegerMatrix, Record, call, routine
from draisine.mechanics.contact.features import FEATURE, SIDE
from draisine.simulation.contact.driver import EVENTS_PER_CALL
from draisine.simulation.contact.event_driven.arc_integration import SAMPLE_CAPACITY, RunStatus
from draisine.simulation.contact.event_driven.run_loop import (
    EventCause,
    EventStage,
    ImpactOrigin,
    RunLoop,
    add_sample,
    advance_events,
    begin_cause,
    begin_mode,
    mechanical_energy,
    search_ahead,
    search_at_start,
)
from draisine.simulation.contact.kernels import CLOSED, put_state
from draisine.simulation.contact.nearby.search import SearchResult
from draisine.simulation.contact.run import EVENT_WINDOW, STEPS_PER_CALL
from draisine.simulation.contact.stepping.grid import ADAPT_STEPS
from draisine.simulation.contact.stepping.loop import (
    StepLoop,
    advance_steps,
    begin_steps,
    change_step_inputs,
)
from draisine.simulation.contact.stepping.method_change import (
    NO_STEP,
    leave_events,
    leave_steps,
    return_to_steps,
)
from draisine.simulation.contact.stepping.search import search_for_steps
from draisine.simulation.contact.stepping.step import StepResult
from draisine.simulation.contact.stepping.switch import (
    MethodChange,
    Obstruction,
    SolverChoice,
    Switch,
    begin_switch,
    find_obstruction,
    first_step,
    remember_events,
    watch_rank,
)

RESERVED_EVENTS = 4  # entries of the event log reserved for changes of the method

STEP_STATUSES = 32
"""Status of a run that ends in time stepping, less the value of its `StepResult`; above all values of
`RunStatus`.
"""

NO_TIME = float("inf")  # s, time of an input jump, or duration of a flight, that does not occur


class Schedule(Record):
    """Ends of calls, and the count and limit of events per interval of simulated time."""

    stops_at_events: bool = False  # whether a call returns after each event
    max_events: int  # largest number of events within EVENT_WINDOW; more end the run
    window: float = 0.0  # s, start of the present interval EVENT_WINDOW
    events: int = 0  # number of events in the present interval
    withdrawn: int = (
        0  # number of events of earlier calls that time steps replace since the last call
    )


class StandaloneRun(NamedTuple):
    """All records of a standalone run: run loop, ends of calls, time stepping and outputs."""

    loop: RunLoop
    schedule: Schedule
    method: Switch
    stepping: StepLoop
    described: (
        IntegerMatrix  # kind, wheel, feature and side of each event of the log; -1 for no wheel
    )
    x_inputs: int  # offset of the inputs of the system in the program input x
    inputs: int  # number of inputs of the system


@routine
def begin_run(s: StandaloneRun, t: float, y: Floats, inputs: Floats) -> bool:
    """Begin a run at time t (s), state y and given inputs; return whether the table of contacts has room for
    the contacts near the wheels. The first call of `advance_run` finds the closed contacts.
    """
    r = s.loop
    arc = r.arc
    clock = r.arc.clock
    n = arc.stages.n
    x = arc.mode.x
    arc.stages.y[:n] = y[:n]
    put_state(x, t, y, n)
    x[s.x_inputs :][: s.inputs] = inputs[: s.inputs]
    for z in range(arc.mode.motion.remembered):
        r.lifted[z] = -NO_TIME
    clock.time = t
    begin_mode(r)
    begin_switch(s.method)
    r.jumps.next = 0
    s.schedule.window = t
    s.schedule.events = 0
    s.schedule.withdrawn = 0
    if s.method.solver is SolverChoice.TIME_STEPPING:
        return begin_time_steps(s, first_step(r, s.method))
    return search_at_start(r) is SearchResult.FOUND


@routine
def change_inputs(s: StandaloneRun, inputs: Floats) -> None:
    """Change the inputs of the system at the present time; the next call of `advance_run` finds the closed
    contacts under the new inputs.
    """
    s.loop.arc.mode.x[s.x_inputs :][: s.inputs] = inputs[: s.inputs]
    if s.method.is_stepping:
        change_step_inputs(s.stepping, s.loop.arc.clock.time, s.loop.arc.stages.y)
    else:
        begin_cause(s.loop, EventCause.INPUT)


@routine
def advance_run(s: StandaloneRun, until: float) -> int:
    """Advance the run towards time `until` (s); return ARC_END when it is reached, PAUSED or LOG_FULL if
    samples and events are to be read before the next call, or the status that ends the run: a `RunStatus`, or
    `STEP_STATUSES` plus a `StepResult`.
    """
    r = s.loop
    clock = r.arc.clock
    clock.samples = 0
    clock.nodes = 0
    clock.grazes = 0
    clock.end_time = until
    r.progress.events = 0
    r.progress.trials = 0
    s.schedule.withdrawn = 0
    if s.schedule.events > s.schedule.max_events:
        return RunStatus.NO_PROGRESS
    if s.method.is_stepping:
        # The first sample of a run that begins with time steps is not returned yet.
        store_step_samples(s)
    status = int(RunStatus.RESOLVED)
    while status == RunStatus.RESOLVED:
        has_mode = s.method.is_stepping or r.progress.stage is EventStage.ARC
        if has_mode and clock.time >= until:
            status = RunStatus.ARC_END
        elif r.progress.events > EVENTS_PER_CALL - RESERVED_EVENTS:
            status = RunStatus.LOG_FULL
        elif s.method.is_stepping:
            status = continue_steps(s, until)
        else:
            status = continue_events(s, until)
    if status == RunStatus.ARC_END:
        add_sample(r)
    count_logged_events(s)
    return status


# --- event-driven arcs


@routine
def continue_events(s: StandaloneRun, until: float) -> int:
    """Integrate event-driven arcs; return RESOLVED if the run continues, else the result of `advance_run`."""
    r = s.loop
    w = s.method
    clock = r.arc.clock
    progress = r.progress
    begin = clock.time
    events = progress.events
    is_auto = w.solver is SolverChoice.AUTO
    is_start = progress.stage is not EventStage.ARC and progress.cause is EventCause.START
    if s.schedule.stops_at_events or (w.watches_rank and is_auto):
        status = advance_events(r, STEPS_PER_CALL, events + 1)
    else:
        status = advance_events(r, STEPS_PER_CALL, EVENTS_PER_CALL - RESERVED_EVENTS + 1)
    describe_events(s, events)

    if status is RunStatus.OUTSIDE_SEARCH:
        is_found = search_ahead(r, True) is SearchResult.FOUND
        return RunStatus.RESOLVED if is_found else RunStatus.OUTSIDE_SEARCH
    if status is RunStatus.ARC_END or status is RunStatus.FALL:
        return int(status)
    if status is RunStatus.SHARP_FEATURE and r.arc.mode.contacts.moved[clock.subject] != 0:
        # The direction of an edge of moving ground is unknown here: assume that the disc can touch it.
        return RunStatus.RESOLVED

    if status is not RunStatus.PAUSED and status is not RunStatus.LOG_FULL:
        return enter_time_steps(s) if is_auto else int(status)
    if is_start and is_auto:
        watch_rank(r, w)
    elif is_auto and find_obstruction(r, w, begin) is not Obstruction.NONE:
        return enter_time_steps(s)
    if s.schedule.stops_at_events and progress.events > 0:
        return RunStatus.PAUSED
    is_long = clock.samples > 0.5 * SAMPLE_CAPACITY or clock.steps >= STEPS_PER_CALL
    return RunStatus.PAUSED if is_long else RunStatus.RESOLVED


# --- time steps


@routine
def log_change(s: StandaloneRun, kind: MethodChange, before: Floats, after: Floats) -> None:
    """Write the event at which a run changes between event location and time stepping into the log."""
    r = s.loop
    log = r.log
    n = r.arc.stages.n
    x = r.arc.mode.x
    k = r.progress.events
    t = r.arc.clock.time
    log.time[k] = t
    log.cause[k] = kind
    log.kind[k] = kind
    log.guard[k] = -1
    log.guard_contact[k] = -1
    log.guard_border[k] = -1
    log.samples[k] = r.arc.clock.samples
    log.impact[k] = ImpactOrigin.NONE
    log.closed_count[k] = 0
    log.closed_after_count[k] = 0
    log.fired_count[k] = 0
    log.y[k, :n] = before[:n]
    log.y_after[k, :n] = after[:n]
    put_state(x, t, before, n)
    log.energy[k] = mechanical_energy(r)
    put_state(x, t, after, n)
    log.energy_after[k] = mechanical_energy(r)
    s.described[k, 0] = kind
    s.described[k, 1] = -1
    r.progress.events += 1


@routine
def begin_time_steps(s: StandaloneRun, h: float) -> bool:
    """Begin time stepping with steps of length h (s) at the present state; return whether the table of
    contacts has room for those near the wheels.
    """
    r = s.loop
    begin_steps(s.stepping, r.arc.clock.time, r.arc.stages.y, h)
    result = search_for_steps(r.near, r.ground, s.stepping.steps, False)
    return result is SearchResult.FOUND


@routine
def store_step_samples(s: StandaloneRun) -> None:
    """Move the samples of time steps to those of the run, and make their last state the present one."""
    arc = s.loop.arc
    clock = s.loop.arc.clock
    samples = s.stepping.samples
    n = arc.stages.n
    for i in range(samples.count):
        arc.times[clock.samples] = samples.times[i]
        arc.samples[clock.samples * n :][:n] = samples.states[i][:n]
        clock.samples += 1
        clock.latest_sample = samples.times[i]
    samples.count = 0
    clock.time = s.method.grid.time
    arc.stages.y[:n] = s.stepping.steps.y[:n]


@routine
def enter_time_steps(s: StandaloneRun) -> int:
    """Begin time stepping at the present state; return RESOLVED, or the status with which the run ends."""
    h, discarded = leave_events(s.loop, s.method)
    if h == NO_STEP:
        return STEP_STATUSES + int(StepResult.OVER_CONSTRAINED)
    withdraw_events(s, discarded)
    log_change(s, MethodChange.TIME_STEPPING, s.loop.arc.stages.y, s.loop.arc.stages.y)
    fits = begin_time_steps(s, h)
    store_step_samples(s)
    return RunStatus.RESOLVED if fits else RunStatus.OUTSIDE_SEARCH


@routine
def withdraw_events(s: StandaloneRun, count: int) -> None:
    """Remove the latest `count` events from the log, with the samples after them; the caller is to remove
    those of earlier calls.
    """
    if count == 0:
        return
    r = s.loop
    kept = r.progress.events - count
    r.progress.events = max(kept, 0)
    r.arc.clock.samples = r.log.samples[kept] if kept >= 0 else 0
    s.schedule.withdrawn += max(-kept, 0)
    s.schedule.events -= max(-kept, 0)


@routine
def continue_steps(s: StandaloneRun, until: float) -> int:
    """Take time steps; return RESOLVED if the run continues, else the result of `advance_run`."""
    r = s.loop
    w = s.method
    clock = r.arc.clock
    # The first sample of the next trajectory arc replaces those that are not read yet.
    if clock.samples > 0.5 * SAMPLE_CAPACITY or (w.is_settled and clock.samples > 0):
        return RunStatus.PAUSED
    if w.is_settled and resume_events(s):
        return RunStatus.RESOLVED
    result = advance_steps(s.stepping, until, ADAPT_STEPS)
    store_step_samples(s)
    if result is StepResult.FALLEN or result is StepResult.TURNED_OVER:
        return RunStatus.FALL
    goes_on = result is StepResult.ADVANCED or result is StepResult.SETTLED
    if not goes_on and result is not StepResult.SAMPLES_FULL:
        return STEP_STATUSES + int(result)
    return RunStatus.ARC_END if clock.time >= until else RunStatus.RESOLVED


@routine
def resume_events(s: StandaloneRun) -> bool:
    """Resume event location if the state can be projected onto the contact constraints; return whether it
    could.
    """
    r = s.loop
    arc = r.arc
    clock = r.arc.clock
    progress = r.progress
    steps = s.stepping.steps
    n = arc.stages.n
    events = progress.events
    resumed = s.method.resumed
    if not leave_steps(s.stepping):
        return False
    arc.stages.y[:n] = arc.mode.x[1 : 1 + n]
    log_change(s, MethodChange.EVENT_LOCATION, steps.y, arc.stages.y)
    begin_mode(r)
    status = advance_events(r, 0, 0)
    if status is RunStatus.PAUSED or status is RunStatus.LOG_FULL:
        describe_events(s, events + 1)
        return True
    # If event location fails at once, continue with time steps.
    return_to_steps(s.stepping, resumed)
    progress.events = events
    clock.samples = 0
    clock.latest_sample = clock.time
    arc.stages.y[:n] = steps.y[:n]
    arc.mode.plan[CLOSED] = 0
    return False


# --- events


@routine
def count_logged_events(s: StandaloneRun) -> None:
    """Count the logged events in the present interval EVENT_WINDOW, without jumps of the inputs."""
    schedule = s.schedule
    log = s.loop.log
    for k in range(s.loop.progress.events):
        if log.time[k] > schedule.window + EVENT_WINDOW:
            schedule.window = log.time[k]
            schedule.events = 0
        if log.cause[k] != EventCause.INPUT:
            schedule.events += 1


@routine
def describe_events(s: StandaloneRun, first: int) -> None:
    """Write kind, wheel, feature and side of the logged events from index `first` on, and remember the events
    for their rate. Contact indices are not used, because the next search changes them.
    """
    remember_events(s.loop, s.method, first)
    log = s.loop.log
    contacts = s.loop.arc.mode.contacts
    for k in range(first, s.loop.progress.events):
        contact = find_event_contact(s, k)
        s.described[k, 0] = log.kind[k]
        s.described[k, 1] = -1
        if contact >= 0:
            s.described[k, 1] = contacts.wheels[contact]
            s.described[k, 2] = s.loop.near.features[contact]
            s.described[k, 3] = int(contacts.features[contact * FEATURE + SIDE])


@routine
def find_event_contact(s: StandaloneRun, k: int) -> int:
    """Return the index of the contact of event k of the log: the contact whose guard fired, or one that the
    event closed; -1 if there is none.
    """
    log = s.loop.log
    if log.fired_count[k] > 0:
        return log.fired[k, 0]
    for i in range(log.closed_after_count[k]):
        contact = log.closed_after[k, i]
        is_new = True
        for j in range(log.closed_count[k]):
            is_new = is_new and log.closed[k, j] != contact
        if is_new:
            return contact
    return log.guard_contact[k]


@routine
def is_touching(s: StandaloneRun, wheel: int) -> bool:
    """Return whether a wheel has a closed contact or, in time stepping, a contact that carries a load."""
    mode = s.loop.arc.mode
    if s.method.is_stepping:
        steps = s.stepping.steps
        for i in range(steps.loaded_count):
            if mode.contacts.wheels[steps.loaded[i]] == wheel:
                return True
        return False
    for i in range(mode.plan[CLOSED]):
        if mode.contacts.wheels[mode.which[i]] == wheel:
            return True
    return False


@routine
def observe_state(s: StandaloneRun, t: float, y: Floats) -> None:
    """Write the output variables at time t (s) and state y into `RunLoop.observed`; outputs that need
    accelerations are undefined.
    """
    put_state(s.loop.arc.mode.x, t, y, s.loop.arc.stages.n)
    call(s.loop.observe, s.loop.arc.mode.x, s.loop.table, s.loop.observed, 1)
