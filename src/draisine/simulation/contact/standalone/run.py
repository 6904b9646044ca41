"""A whole event-driven run as routines: begin, advance to a time, change the inputs.

`run_loop.run_arcs` returns whenever something outside an arc is due. The routines here do it: they search
features when a wheel leaves the searched boxes, and continue after a jump of the inputs. A program that calls
`begin_run` once and `advance_run` for each interval needs no Python. Exported simulators are such programs.
"""

from typing import NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Record, call, routine
from draisine.simulation.contact.driver import EVENTS_PER_CALL
from draisine.simulation.contact.event_driven.arc_integration import RunStatus
from draisine.simulation.contact.event_driven.run_loop import (
    EventCause,
    EventLog,
    EventStage,
    ImpactOrigin,
    RunLoop,
    add_sample,
    run_arcs,
)
from draisine.simulation.contact.kernels import CLOSED, ContactColumns, put_state
from draisine.simulation.contact.run import EVENT_WINDOW, STEPS_PER_CALL
from draisine.simulation.contact.standalone.ground import (
    Ground,
    is_untouchable,
    locate_centres,
    search_nearby,
)
from draisine.simulation.contact.status import Status

NO_TIME = float("inf")  # s, the time of a jump or of a flight that does not exist


class Schedule(Record):
    """Times at which inputs jump, and the number of events that a run may have."""

    jumps: Floats  # s, ascending; the last one is infinite
    before: Floats  # s, the last number before each
    next: int = 0  # index of the next jump
    max_events: int  # events within EVENT_WINDOW; more end the run
    window: float = 0.0  # s, beginning of the present window
    events: int = 0  # events within it


class StandaloneRun(NamedTuple):
    """A machine on its ground, with everything that a run needs."""

    loop: RunLoop
    ground: Ground
    schedule: Schedule
    x_inputs: int  # offset of the inputs in x
    inputs: int  # number of inputs


@routine
def begin_run(s: StandaloneRun, t: float, y: Floats, inputs: Floats) -> bool:
    """Begin a run at a time (s) in a state, with inputs; return whether the table of contacts has room for
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
    arc.mode.plan[CLOSED] = 0
    r.left[: arc.mode.contacts.size] = False
    r.leaving[: arc.mode.contacts.size] = False
    for z in range(arc.mode.motion.remembered):
        r.lifted[z] = -NO_TIME
    clock.time = t
    clock.step = NO_TIME
    clock.next_step = NO_TIME
    clock.is_first = True
    clock.latest_sample = -NO_TIME
    r.progress.stalled = 0
    s.schedule.next = 0
    s.schedule.window = t
    s.schedule.events = 0
    while s.schedule.jumps[s.schedule.next] <= t:
        s.schedule.next += 1
    begin_cause(r, EventCause.START)

    # A box without extent around each wheel centre.
    locate_centres(arc, s.ground)
    for w in range(s.ground.wheels):
        for j in range(3):
            arc.box[6 * w + j] = s.ground.begin[3 * w + j]
            arc.box[6 * w + 3 + j] = s.ground.begin[3 * w + j]
    return search_nearby(r, s.ground, False)


@routine
def begin_cause(r: RunLoop, cause: EventCause) -> None:
    """Begin an event that no guard causes: the start of a run, or a jump of the inputs."""
    progress = r.progress
    progress.stage = EventStage.CONTACTS
    progress.cause = cause
    progress.actor = -1
    progress.ending = -1
    progress.guard = -1
    progress.border = -1
    r.event.fired[: r.arc.mode.contacts.size] = False


@routine
def change_inputs(s: StandaloneRun, inputs: Floats) -> None:
    """Change the inputs of the machine at the present time; the next call of `advance_run` finds the closed
    contacts under the new inputs.
    """
    s.loop.arc.mode.x[s.x_inputs :][: s.inputs] = inputs[: s.inputs]
    begin_cause(s.loop, EventCause.INPUT)


@routine
def advance_run(s: StandaloneRun, until: float) -> RunStatus:
    """Advance towards a time (s); return ARC_END when it is reached, PAUSED or LOG_FULL if samples and events
    are to be read before the next call, or the reason why the run ends.
    """
    r = s.loop
    clock = r.arc.clock
    progress = r.progress
    schedule = s.schedule
    clock.samples = 0
    clock.nodes = 0
    clock.grazes = 0
    progress.events = 0
    progress.trials = 0
    clock.end_time = until
    if schedule.events > schedule.max_events:
        return RunStatus.NO_PROGRESS
    while True:
        clock.input_jump = schedule.jumps[schedule.next]
        clock.last_time = schedule.before[schedule.next]
        status = run_arcs(r, STEPS_PER_CALL, EVENTS_PER_CALL)
        if status is RunStatus.OUTSIDE_SEARCH:
            # A search numbers the contacts anew: the events of the log are to be read before it.
            if progress.events > 0:
                status = RunStatus.PAUSED
                break
            put_state(r.arc.mode.x, clock.time, r.arc.stages.y, r.arc.stages.n)
            locate_centres(r.arc, s.ground)
            if not search_nearby(r, s.ground, True):
                return RunStatus.OUTSIDE_SEARCH
        elif status is RunStatus.ARC_END and clock.time < until:
            schedule.next += 1
            begin_cause(r, EventCause.INPUT)
        elif status is not RunStatus.SHARP_FEATURE or is_untouchable(r, s.ground):
            break
    if status is RunStatus.ARC_END:
        add_sample(r)
    count_logged_events(s)
    return status


@routine
def count_logged_events(s: StandaloneRun) -> None:
    """Count the events of the present window of time; jumps of the inputs do not count."""
    schedule = s.schedule
    log = s.loop.log
    for k in range(s.loop.progress.events):
        if log.time[k] > schedule.window + EVENT_WINDOW:
            schedule.window = log.time[k]
            schedule.events = 0
        if log.cause[k] != EventCause.INPUT:
            schedule.events += 1


@routine
def classify_event(s: StandaloneRun, k: int) -> EventCause:
    """Return the kind of event k of the log: an impact is a collision, and a hand-over or a jump of the
    inputs after which a wheel has no contact is a lift-off; a jump after which a wheel slides is a slip.
    """
    log = s.loop.log
    contacts = s.loop.event.mode.contacts
    cause = EventCause(log.cause[k])
    if log.impact[k] != ImpactOrigin.NONE:
        return EventCause.COLLISION
    if cause is not EventCause.HAND_OVER and cause is not EventCause.INPUT:
        return cause
    for i in range(log.closed_count[k]):
        if not touches_after(contacts, log, k, contacts.wheels[log.closed[k, i]]):
            return EventCause.LIFT_OFF
    if cause is EventCause.INPUT:
        for i in range(log.closed_count[k]):
            for j in range(log.closed_after_count[k]):
                is_same = log.closed[k, i] == log.closed_after[k, j]
                rolled = log.status[k, i] == Status.ROLLING
                if is_same and rolled and log.status_after[k, j] == Status.SLIDING:
                    return EventCause.SLIP
    return cause


@routine
def find_event_contact(s: StandaloneRun, k: int) -> int:
    """Return the contact of event k of the log: the one whose guard fired, or one that is new after it; -1
    if there is none.
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
def touches_after(contacts: ContactColumns, log: EventLog, k: int, wheel: int) -> bool:
    """Return whether a wheel has a closed contact after event k of the log."""
    for i in range(log.closed_after_count[k]):
        if contacts.wheels[log.closed_after[k, i]] == wheel:
            return True
    return False


@routine
def observe_state(s: StandaloneRun, t: float, y: Floats) -> None:
    """Write the outputs of a state into `RunLoop.observed`; those that need accelerations are undefined."""
    put_state(s.loop.arc.mode.x, t, y, s.loop.arc.stages.n)
    call(s.loop.observe, s.loop.arc.mode.x, s.loop.table, s.loop.observed, 1)
