"""The loop over smooth arcs and events of an event-driven run, as compiled routines without Python calls.

`advance_events` calls `run_arcs`, and continues after jumps of the inputs. `run_arcs` is a state machine over
`EventStage`: integrate an arc, find the contacts that touch at its end, resolve the impact, select the closed
contacts, begin the next arc. It returns a `RunStatus` if the closed-form equations of a contact mode are not
compiled yet, if ground features must be searched in new boxes (`search_ahead`), if the impact model is a
Python function, or on an error.

If a wheel leaves its feature, a BORDER guard fires. `begin_event` starts a hand-over, `events.resolve_event`
finds the next feature, and `set_border_hysteresis` prevents the wheel from returning to the old feature at
once.
"""

from enum import IntEnum
from typing import NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import (
    Address,
    Flags,
    IntegerMatrix,
    Integers,
    Matrix,
    Record,
    call,
    routine,
)
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.complementarity.active_set import TRIALS, trial_offset
from draisine.simulation.contact.complementarity.linear import dot
from draisine.simulation.contact.event_driven.arc_integration import (
    ArcState,
    RunStatus,
    integrate_arc,
)
from draisine.simulation.contact.event_driven.events import (
    CANDIDATES,
    TOUCHING,
    EventState,
    resolve_event,
    select_next_mode,
)
from draisine.simulation.contact.event_driven.guards import set_guards
from draisine.simulation.contact.event_driven.impact import ImpactSolver, apply_impact
from draisine.simulation.contact.event_driven.short_step import take_short_step
from draisine.simulation.contact.kernels import (
    CLOSED,
    evaluate_row,
    find_closed_form,
    put_state,
)
from draisine.simulation.contact.nearby.search import (
    UNLIMITED_TIME,
    GroundTable,
    NearbyContacts,
    SearchResult,
    find_kept,
    find_nearby,
    keep_contact,
    keep_flagged,
    locate_centres,
)
from draisine.simulation.contact.status import Status, count_rows
from draisine.simulation.trajectory import GuardKind


class EventStage(IntEnum):
    """The stage of the run loop that is executed next."""

    ARC = 0  # integrate an arc
    CONTACTS = 1  # find the contacts that touch at an event
    RESOLUTION = 2  # continue according to the result of `resolve_event`
    IMPACT = 3  # resolve the impact
    ACTIVE_SET = 4  # find the closed contacts after the impact
    END = 5  # make the state after the event the present state


class EventCause(IntEnum):
    """The cause of an event."""

    COLLISION = 0
    LIFT_OFF = 1
    HAND_OVER = 2
    SLIP = 3
    STICK = 4
    INPUT = 5
    START = 6


EVENT_KIND_NAMES = ("collision", "lift-off", "hand-over", "slip", "stick", "input", "start")
"""Names of the causes of events in results, in the order of `EventCause`."""


class RunProgress(Record):
    """State of the run loop between calls."""

    stage: EventStage = EventStage.ARC  # stage of the run loop that is executed next
    cause: EventCause = EventCause.COLLISION  # cause of the present event
    actor: int = -1  # index of the contact that caused the event, -1 for none
    ending: int = -1  # index of the contact at the border of its ground feature, -1 for none
    guard: int = -1  # kind of the guard that fired, -1 for none; its contact is `actor` or `ending`
    border: int = -1  # index of the border of the fired guard in the contact's feature, -1 for none
    resolution: RunStatus = RunStatus.RESOLVED  # status that `resolve_event` returned
    stalled: int = 0  # number of events without progress of time
    latest: float = 0.0  # s, time of the latest sample before the event
    events: int = 0  # number of events in the log
    trials: int = 0  # number of used entries of `EventLog.trials`

    # Limits of a call of `advance_events`; the next call keeps them if this one waits for Python
    most_steps: int = 0  # largest number of steps
    most_events: int = 0  # largest number of events in the log
    taken: int = 0  # number of steps taken
    waits: bool = False  # whether the call has returned because Python must act first


class InputJumps(Record):
    """Times at which inputs jump."""

    times: Floats  # s, times of the jumps, ascending; the last entry is infinite
    before: Floats  # s, largest floating-point number below each time
    next: int = 0  # index of the next jump


class ImpactOrigin(IntEnum):
    """The code that resolved the impact of an event."""

    NONE = 0  # there was no impact
    ROUTINE = 1  # a compiled impact model; the log holds its result
    PYTHON = 2  # an impact model in Python; its result is not in the log


class EventLog(NamedTuple):
    """Log of the events of one call of the run loop.

    The first index of all arrays except `trials` is the event. Contacts are indices into the table of
    contacts. A list of contacts begins at index 0 of its row; the field with the suffix `_count` contains its
    length.
    """

    time: Floats  # s, time of the event
    cause: Integers  # EventCause of the event
    kind: Integers  # kind of the event in results, as an EventCause; see `classify_event`
    guard: Integers  # GuardKind of the guard that fired, -1 for none
    guard_contact: Integers  # contact of the guard that fired, -1 for none
    guard_border: Integers  # border of the fired guard in the contact's feature, -1 for none
    samples: Integers  # number of samples before the event in this call
    grazes: Integers  # number of grazing contacts before the event in this call
    energy: Floats  # J, mechanical energy before the event
    # J, mechanical energy after the event, before projection onto the constraints
    energy_after: Floats
    y: Matrix  # state (n) before the event
    y_impact: Matrix  # state after the impact, if there was one
    y_after: Matrix  # state after the event
    closed_count: Integers  # number of contacts closed before the event
    closed: IntegerMatrix  # contacts closed before the event
    status: IntegerMatrix  # Status of each contact closed before the event
    closed_after_count: Integers  # number of contacts closed after the event
    closed_after: IntegerMatrix  # contacts closed after the event
    status_after: IntegerMatrix  # Status of each contact closed after the event
    fired_count: Integers  # number of contacts whose guards fired
    fired: IntegerMatrix  # contacts whose guards fired
    impact: Integers  # ImpactOrigin of the event
    impact_count: Integers  # number of contacts with constraint rows in the impact
    impact_contacts: IntegerMatrix  # contacts with constraint rows in the impact
    # per contact of the impact: three impulses (N s), normal velocity after it (m/s)
    impulses: Matrix
    trial_offset: Integers  # offset in `trials` of the contact sets tried for the impact
    trial_count: Integers  # number of contact sets tried for the impact
    chosen_trial: Integers  # index of the admissible contact set among the tried sets
    trials: Floats  # trials of all events, one after the other
    # largest number of used entries of `trials` at which the sets of another event still fit
    trial_limit: int


EVENT_COLUMNS = (
    "time", "kind", "guard", "guard_contact", "guard_border", "samples", "grazes",
    "energy", "energy_after", "closed_count", "closed_after_count", "fired_count", "impact",
)  # fmt: skip
"""Fields of `EventLog` with one number per event, which Python reads for every event."""

EDGE_IN_PLANE = 0.02
"""Smallest sine of the angle between an edge and the plane of a disc that touches it.

Below this angle the run stops, because a disc has no unique contact point with an edge in its plane.
"""

MAX_EVENTS_AT_INSTANT = 8
"""Largest number of successive events at one instant.

Simultaneous contacts need only a few events. More events are an endless cycle of contact modes.
"""


class RunLoop(NamedTuple):
    """State of an event-driven run: the present arc and event, the impact model, and the log of events."""

    arc: ArcState
    event: EventState
    progress: RunProgress  # stage and cause of the present event
    jumps: InputJumps
    log: EventLog
    near: NearbyContacts  # table of the possible contacts near the wheels
    ground: GroundTable  # table of the ground features around the wheels
    left: Flags  # (contacts) whether the wheel has just left the feature of the contact
    leaving: Flags  # (contacts) whether the contact separates at this instant
    model: int  # ImpactSolver of the impact model
    reduced: int  # 1 for the reduced resolution of impacts, 0 for the complete one
    normal: float  # normal coefficient of restitution
    along: float  # tangential coefficient of restitution
    rest: float  # m/s, approach velocity below which a contact does not rebound
    owners: Integers  # index of the wheel of each tyre state
    lifted: Floats  # s, time at which the wheel of each tyre state lifted off
    flight: float  # s, duration of the longest flight after which a tyre keeps its deflection
    observe: Address  # address of the compiled program that computes energies
    table: Floats  # constants of the energy program
    observed: Floats  # output of the energy program
    kinetic: int  # index of the kinetic energy in `observed`
    potential: int  # index of the potential energy in `observed`


@routine
def run_arcs(r: RunLoop, steps: int, events: int) -> RunStatus:
    """Integrate arcs and resolve events, up to `steps` steps and `events` events in the log.

    Return the reason why the loop stopped.
    """
    progress = r.progress
    clock = r.arc.clock
    clock.steps = 0
    while True:
        if progress.stage is EventStage.ARC:
            if progress.events >= events or progress.trials > r.log.trial_limit:
                return RunStatus.LOG_FULL
            if not open_arc(r):
                return RunStatus.UNKNOWN_MODE
            if clock.time >= min(clock.input_jump, clock.end_time):
                return RunStatus.PAUSED
            status = integrate_arc(r.arc, steps - clock.steps)
            if status is not RunStatus.EVENT:
                return status
            status = begin_event(r)
        elif progress.stage is EventStage.CONTACTS:
            status = find_event_contacts(r)
        elif progress.stage is EventStage.RESOLUTION:
            status = choose_resolution(r)
        elif progress.stage is EventStage.IMPACT:
            status = resolve_impact(r)
        elif progress.stage is EventStage.ACTIVE_SET:
            status = select_mode_after_impact(r)
        else:
            status = finish_event(r)
        if status is not RunStatus.RESOLVED:
            return status


@routine
def advance_events(r: RunLoop, steps: int, events: int) -> RunStatus:
    """Integrate arcs through events and input jumps, up to `steps` steps and `events` logged events.

    Return the reason why the loop stopped. If an event has begun before the call, the call resolves this
    event and ends.

    A call after a return to Python continues with the limits of the interrupted call. Each call of `run_arcs`
    chooses pivots anew, which changes rounding errors. The first run, which compiles the equations of its
    modes, therefore ends its calls after the same steps as all later runs.
    """
    clock = r.arc.clock
    progress = r.progress
    if not progress.waits:
        set_limits(r, steps, events)
    while True:
        status = run_arcs(r, progress.most_steps - progress.taken, progress.most_events)
        progress.taken += clock.steps
        clock.steps = progress.taken
        progress.waits = needs_python(status)
        if status is not RunStatus.ARC_END or clock.time >= clock.end_time:
            return status
        begin_cause(r, EventCause.INPUT)
        set_limits(r, steps, events)


@routine
def needs_python(status: RunStatus) -> bool:
    """Return whether Python must act before the run loop can continue with the present event or arc."""
    is_unprepared = status is RunStatus.UNKNOWN_MODE or status is RunStatus.TOO_MANY_CONTACTS
    return is_unprepared or status is RunStatus.IMPACT or status is RunStatus.SHARP_FEATURE


@routine
def set_limits(r: RunLoop, steps: int, events: int) -> None:
    """Set the limits of a call of `advance_events`, and the time of the next jump of the inputs."""
    progress = r.progress
    jumps = r.jumps
    clock = r.arc.clock
    is_event = progress.stage is not EventStage.ARC
    progress.most_steps = 0 if is_event else steps
    progress.most_events = progress.events + 1 if is_event else events
    progress.taken = 0
    # Another branch of the run may be ahead of this one.
    while jumps.next > 0 and jumps.times[jumps.next - 1] > clock.time:
        jumps.next -= 1
    while jumps.times[jumps.next] <= clock.time:
        jumps.next += 1
    clock.input_jump = jumps.times[jumps.next]
    clock.last_time = jumps.before[jumps.next]


@routine
def continue_mode(r: RunLoop, end: float, is_loaded: bool) -> bool:
    """After a jump of the inputs, take a short step to time `end` (s) in the same contact mode.

    Return True if no event can have occurred during the step. Otherwise return False, and the state does not
    change. `is_loaded` is whether Python has just written the closed contacts.
    """
    if is_loaded and not open_arc(r):
        return False
    if not take_short_step(r.arc, end):
        return False
    r.leaving[: r.arc.mode.contacts.size] = False
    r.progress.stalled = 0
    return True


@routine
def open_arc(r: RunLoop) -> bool:
    """Prepare the integration of an arc with the present closed contacts.

    Return False if the closed-form equations of the contact mode are not compiled yet.
    """
    arc = r.arc
    arc.mode.system.pivoted_rows = -1
    set_border_hysteresis(r, -1)
    if find_closed_form(arc.mode) == 1:
        return False
    arc.guards[0] = set_guards(arc.mode, arc.falls, arc.kinds, arc.contacts, arc.borders)
    return True


@routine
def set_border_hysteresis(r: RunLoop, ending: int) -> None:
    """Set `ArcState.inside`, the largest `kernels.border_excess` at which each contact touches.

    After a wheel has left a feature, it touches this feature again only well inside the borders; otherwise
    the same BORDER event repeats. At a hand-over, the wheel of contact `ending` (-1 for none) is exempt,
    because it must find the next feature.
    """
    wheels = r.arc.mode.contacts.wheels
    border = r.arc.mode.motion.tol.border
    for k in range(r.arc.mode.contacts.size):
        must_be_inside = r.left[k] and (ending < 0 or wheels[k] != wheels[ending])
        r.arc.inside[k] = -border if must_be_inside else border


@routine
def add_sample(r: RunLoop) -> None:
    """Store the present state as a sample, unless the latest sample has the same time."""
    if r.arc.clock.time > r.arc.clock.latest_sample:
        begin_samples(r)


@routine
def begin_samples(r: RunLoop) -> None:
    """Store the present state as the first sample of an arc."""
    arc = r.arc
    clock = r.arc.clock
    n = arc.stages.n
    arc.times[clock.samples] = clock.time
    arc.samples[clock.samples * n :][:n] = arc.stages.y[:n]
    clock.samples += 1
    clock.latest_sample = clock.time


@routine
def drop_sample(r: RunLoop) -> None:
    """Remove the sample at an event that is not recorded, unless a regular sample is due at this time.

    The number of such events depends on rounding errors; the number of samples must not.
    """
    arc = r.arc
    clock = r.arc.clock
    number = (clock.time - arc.start) / arc.dt + 1e-9
    is_due = number - int(number) < 2e-9
    if clock.samples > 0 and clock.latest_sample > r.progress.latest and not is_due:
        clock.samples -= 1
        clock.latest_sample = r.progress.latest


# --- events without a guard


@routine
def begin_mode(r: RunLoop) -> None:
    """Begin the run loop at the present time and state, without closed contacts and earlier arcs."""
    arc = r.arc
    clock = r.arc.clock
    arc.mode.plan[CLOSED] = 0
    r.left[: arc.mode.contacts.size] = False
    r.leaving[: arc.mode.contacts.size] = False
    clock.step = UNLIMITED_TIME
    clock.next_step = UNLIMITED_TIME
    clock.is_first = True
    clock.latest_sample = -UNLIMITED_TIME
    r.progress.stalled = 0
    begin_cause(r, EventCause.START)


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
    progress.waits = False
    r.event.fired[: r.arc.mode.contacts.size] = False


# --- the search of nearby contacts


@routine
def search_at_start(r: RunLoop) -> SearchResult:
    """Find the possible contacts near the wheels at the state in x, the start of a run."""
    arc = r.arc
    locate_centres(arc.mode.motion, arc.mode.x, arc.wheels, arc.rows, r.near.begin)
    for w in range(arc.wheels.size):
        for corner in range(2):
            arc.box[6 * w + 3 * corner :][:3] = r.near.begin[3 * w :][:3]
    return search_nearby(r, False)


@routine
def search_ahead(r: RunLoop, has_path: bool) -> SearchResult:
    """Find the possible contacts near the present state and the boxes `ArcState.box` of the wheel centres.

    With `has_path` the boxes enclose a step from the present state, and the search extends further in the
    direction of this step.
    """
    arc = r.arc
    put_state(arc.mode.x, arc.clock.time, arc.stages.y, arc.stages.n)
    locate_centres(arc.mode.motion, arc.mode.x, arc.wheels, arc.rows, r.near.begin)
    return search_nearby(r, has_path)


@routine
def search_nearby(r: RunLoop, has_path: bool) -> SearchResult:
    """Find the possible contacts near the boxes `ArcState.box` of the wheel centres.

    The search makes a new table of contacts. The closed contacts, and the contacts flagged in `left` and
    `leaving`, get their new indices.
    """
    mode = r.arc.mode
    closed = mode.plan[CLOSED]
    for i in range(closed):
        keep_contact(r.near, i, mode.which[i])
    left = keep_flagged(r.near, r.left, closed)
    leaving = keep_flagged(r.near, r.leaving, left)
    result = find_nearby(r.near, r.ground, r.arc.box, r.ground.margin, has_path)
    if result is not SearchResult.FOUND:
        return result
    for i in range(closed):
        mode.which[i] = find_kept(r.near, i)
    for i in range(closed, leaving):
        k = find_kept(r.near, i)
        if k >= 0 and i < left:
            r.left[k] = True
        elif k >= 0:
            r.leaving[k] = True
    return result


# --- stages of an event


@routine
def begin_event(r: RunLoop) -> RunStatus:
    """Begin the event of the guard that ended the arc; return RESOLVED, or the reason why the run ends."""
    arc = r.arc
    clock = r.arc.clock
    mode = r.arc.mode
    progress = r.progress
    guard = clock.subject
    kind = arc.kinds[guard]
    k = arc.contacts[guard]

    # Proceed to the instant of the event.
    before = clock.time
    clock.time = before + clock.event_delay
    arc.stages.y[: arc.stages.n] = arc.state[: arc.stages.n]
    progress.latest = clock.latest_sample
    add_sample(r)
    progress.stalled = 0 if clock.time > before else progress.stalled + 1
    r.event.fired[: mode.contacts.size] = False
    if clock.time > before:
        r.leaving[: mode.contacts.size] = False
    if progress.stalled > MAX_EVENTS_AT_INSTANT:
        return RunStatus.NO_PROGRESS
    if kind == GuardKind.LEAN or kind == GuardKind.OVERTURN:
        return RunStatus.FALL

    # Determine the cause of the event, and its contact.
    progress.stage = EventStage.CONTACTS
    progress.actor = -1
    progress.ending = -1
    progress.guard = kind
    progress.border = -1
    if kind == GuardKind.BORDER or kind == GuardKind.FOLD:
        progress.ending = mode.which[k]
        progress.cause = EventCause.HAND_OVER
        if kind == GuardKind.BORDER:
            progress.border = arc.borders[guard] - mode.contacts.first[progress.ending]
        return RunStatus.RESOLVED
    progress.actor = k if kind == GuardKind.GAP else mode.which[k]
    r.event.fired[progress.actor] = True
    if kind == GuardKind.GAP:
        progress.cause = EventCause.COLLISION
    elif kind == GuardKind.FRICTION_CONE:
        progress.cause = EventCause.SLIP
    elif kind == GuardKind.SLIP:
        progress.cause = EventCause.STICK
    else:
        progress.cause = EventCause.LIFT_OFF
    return RunStatus.RESOLVED


@routine
def find_event_contacts(r: RunLoop) -> RunStatus:
    """Find the touching contacts and, if there is no impact, select the closed contacts after the event.
    Return RESOLVED, or the reason why the run loop returns to Python.
    """
    event = r.event
    mode = r.arc.mode
    progress = r.progress
    count = mode.contacts.size
    ending = progress.ending
    lifts_off = progress.cause is EventCause.LIFT_OFF
    add_sample(r)
    put_state(mode.x, r.arc.clock.time, r.arc.stages.y, r.arc.stages.n)
    set_border_hysteresis(r, ending)
    event.ended[:count] = False
    event.avoid[:count] = False
    # Prefer sets in which the contacts that separated at this instant stay open: closing them again
    # could repeat the same event.
    if lifts_off and progress.stalled > 0:
        event.avoid[:count] = r.leaving[:count]
    log_event_begin(r)
    r.arc.mode.system.pivoted_rows = 0
    progress.resolution = resolve_event(event, ending, lifts_off, progress.cause is EventCause.SLIP)
    if progress.resolution is RunStatus.TOO_MANY_CONTACTS:
        return RunStatus.TOO_MANY_CONTACTS
    for k in range(count):
        if ending >= 0 and mode.contacts.wheels[k] == mode.contacts.wheels[ending]:
            r.left[k] = event.ended[k]
        if lifts_off:
            r.leaving[k] = r.leaving[k] or event.fired[k]
    progress.stage = EventStage.RESOLUTION
    sharp = find_untouchable(r)
    if sharp < 0:
        return RunStatus.RESOLVED
    r.arc.clock.subject = sharp
    return RunStatus.SHARP_FEATURE


# --- edges and vertices under a disc


@routine
def find_untouchable(r: RunLoop) -> int:
    """Return the index of a contact of a disc with a feature that a disc cannot touch; -1 if there is none.

    There are two such cases: an edge almost in the plane of the disc, which has no unique contact point, and
    an edge at whose end the disc has reached a vertex. A touching edge of moving ground is returned as well,
    because its direction is not known here.
    """
    event = r.event
    contacts = r.arc.mode.contacts
    m = r.arc.mode.motion
    moving = -1
    for i in range(event.sizes[TOUCHING]):
        k = event.touching[i]
        axle = event.gaps[i * m.row + m.axle :]
        inclination = dot(axle, contacts.features[k * FEATURE + 3 :], 3)
        if r.near.is_sharp[k] and contacts.moved[k] != 0:
            moving = k
        elif r.near.is_sharp[k] and abs(inclination) < EDGE_IN_PLANE:
            return k
    for k in range(contacts.size if r.progress.ending >= 0 else 0):
        # The wheel of a contact that ended at a border rolls on if it has another contact.
        is_alone = r.near.is_sharp[k] and event.ended[k]
        for i in range(event.sizes[TOUCHING] if is_alone else 0):
            is_alone = is_alone and contacts.wheels[event.touching[i]] != contacts.wheels[k]
        if is_alone and finds_vertex(r, k):
            return k
    return moving


@routine
def finds_vertex(r: RunLoop, k: int) -> bool:
    """Return whether the contact point of contact k at the state in x is a vertex of the ground."""
    g = r.ground
    m = r.arc.mode.motion
    row = r.arc.rows
    evaluate_row(r.arc.mode.x, r.arc.mode.contacts, k, row)
    point = row[m.local_point :]
    normal = row[m.local_normal :]
    for feature in range(g.size):
        kind = g.kinds[feature]
        is_here = g.is_vertex[kind] and g.motions[kind] == r.arc.mode.contacts.moved[k]
        for j in range(3):
            is_here = is_here and abs(g.numbers[feature, j] - point[j]) < m.tol.gap_search
        for i in range(g.first[feature], g.first[feature + 1] if is_here else 0):
            border = g.borders[7 * i :]
            excess = dot(border, point, 3) + dot(border[3:], normal, 3) - border[6]
            is_here = is_here and excess <= m.tol.border
        if is_here:
            return True
    return False


@routine
def choose_resolution(r: RunLoop) -> RunStatus:
    """Set the next stage of the event by the status of `resolve_event`; return RESOLVED, or this status."""
    progress = r.progress
    if progress.resolution is RunStatus.IMPACT:
        progress.stage = EventStage.IMPACT
    elif progress.resolution is RunStatus.RESOLVED:
        progress.stage = EventStage.END
    else:
        return progress.resolution
    return RunStatus.RESOLVED


@routine
def resolve_impact(r: RunLoop) -> RunStatus:
    """Resolve and log the impact of an event; return RESOLVED, or IMPACT if Python must resolve it."""
    choice = r.event.choice
    log = r.log
    progress = r.progress
    k = progress.events
    if r.model == ImpactSolver.PYTHON:
        return RunStatus.IMPACT
    impulses = log.impulses[k]
    chosen = apply_impact(r.event, r.model, r.reduced, r.normal, r.along, r.rest, impulses)
    if chosen < 0:
        return RunStatus.IMPACT
    log.impact[k] = ImpactOrigin.ROUTINE
    log.chosen_trial[k] = chosen
    log.trial_offset[k] = progress.trials
    if r.model == ImpactSolver.SETS:
        log.trial_count[k] = choice.sizes[TRIALS]
        size = trial_offset(choice, choice.sizes[TRIALS])
        log.trials[progress.trials :][:size] = choice.trials[:size]
        progress.trials += size
    progress.stage = EventStage.ACTIVE_SET
    return RunStatus.RESOLVED


@routine
def select_mode_after_impact(r: RunLoop) -> RunStatus:
    """Select the closed contacts after an impact; return RESOLVED, or the reason why no mode exists."""
    n = r.arc.stages.n
    r.log.y_impact[r.progress.events, :n] = r.arc.mode.x[1 : 1 + n]
    status = select_next_mode(r.event, r.progress.cause is EventCause.SLIP)
    if status is RunStatus.RESOLVED:
        r.progress.stage = EventStage.END
    return status


@routine
def finish_event(r: RunLoop) -> RunStatus:
    """Finish an event: log it unless it changed nothing, and begin the next arc at the state after it."""
    clock = r.arc.clock
    progress = r.progress
    n = r.arc.stages.n
    has_impact = r.log.impact[progress.events] != ImpactOrigin.NONE
    r.arc.stages.y[:n] = r.arc.mode.x[1 : 1 + n]
    log_event_end(r)
    reset_tyre_deflections(r)
    has_new_mode = has_impact or changes_contact_status(r)
    if progress.cause is EventCause.START and not has_impact:
        clock.samples = 0
        begin_samples(r)
    elif has_new_mode or not leaves_mode_unchanged(r):
        r.log.kind[progress.events] = classify_event(r, progress.events)
        progress.events += 1
        begin_samples(r)
    else:
        drop_sample(r)
    # If only the inputs jump, or if a wheel rolls from patch to patch, the motion after the event is as
    # smooth as before, and the step length is kept.
    only_inputs = progress.cause is EventCause.INPUT and not has_new_mode
    if not only_inputs and (has_impact or not stays_smooth(r)):
        clock.step = min(clock.step, r.arc.mode.motion.tol.first_step)
    clock.is_first = True
    progress.stage = EventStage.ARC
    return RunStatus.RESOLVED


@routine
def stays_smooth(r: RunLoop) -> bool:
    """Return whether the event was only a hand-over between patches, without a change of any status.

    The motion is then as smooth as before.
    """
    log = r.log
    contacts = r.arc.mode.contacts
    k = r.progress.events - 1
    if r.progress.cause is not EventCause.HAND_OVER or k < 0:
        return False
    count = log.closed_count[k]
    if count != log.closed_after_count[k]:
        return False
    for i in range(count):
        old = log.closed[k, i]
        new = log.closed_after[k, i]
        if old == new and log.status[k, i] == log.status_after[k, i]:
            continue
        is_same_wheel = contacts.wheels[old] == contacts.wheels[new]
        is_smooth = contacts.patches[old] == 1 and contacts.patches[new] == 1
        if not (is_same_wheel and is_smooth) or log.status[k, i] != log.status_after[k, i]:
            return False
    return True


@routine
def changes_contact_status(r: RunLoop) -> bool:
    """Return whether an event changed the closed contacts or their statuses."""
    log = r.log
    k = r.progress.events
    if log.closed_count[k] != log.closed_after_count[k]:
        return True
    for i in range(log.closed_count[k]):
        if log.closed[k, i] != log.closed_after[k, i] or log.status[k, i] != log.status_after[k, i]:
            return True
    return False


@routine
def leaves_mode_unchanged(r: RunLoop) -> bool:
    """Return whether an event without a new contact mode is not recorded, because it changed nothing.

    There are two cases. A contact cannot open at a lift-off; the next steps show whether it pulls. Or a
    contact lies exactly on a border, and counts as outside from now on.
    """
    if r.progress.cause is EventCause.COLLISION and r.progress.stalled > 2:
        for k in range(r.arc.mode.contacts.size):
            r.left[k] = r.left[k] or r.event.fired[k]
        return True
    return r.progress.cause is EventCause.LIFT_OFF


@routine
def reset_tyre_deflections(r: RunLoop) -> None:
    """Set the deflections of tyres whose wheels have touched down to zero, except at the start of a run.

    After a flight shorter than `RunLoop.flight` (s) the deflection is kept, because the tyre has had no time
    to relax. Otherwise the bounces of a rocking vehicle, milliseconds apart, would erase the deflection again
    and again.
    """
    if r.progress.cause is EventCause.START:
        return
    log = r.log
    motion = r.event.mode.motion
    t = r.arc.clock.time
    k = r.progress.events
    for z in range(motion.remembered):
        touched = has_wheel(r, log.closed[k], log.closed_count[k], r.owners[z])
        touches = has_wheel(r, log.closed_after[k], log.closed_after_count[k], r.owners[z])
        if touched and not touches:
            r.lifted[z] = t
        if touches and not touched and t - r.lifted[z] > r.flight:
            r.arc.stages.y[motion.y_z + z] = 0.0


@routine
def has_wheel(r: RunLoop, contacts: Integers, count: int, wheel: int) -> bool:
    """Return whether one of the first `count` contacts of a list belongs to a wheel."""
    for i in range(count):
        if r.event.mode.contacts.wheels[contacts[i]] == wheel:
            return True
    return False


# --- the event log


@routine
def log_event_begin(r: RunLoop) -> None:
    """Log the time, the guard, the state and the closed contacts at the beginning of an event."""
    log = r.log
    clock = r.arc.clock
    mode = r.arc.mode
    progress = r.progress
    n = r.arc.stages.n
    k = progress.events
    count = mode.plan[CLOSED]
    log.time[k] = clock.time
    log.cause[k] = progress.cause
    log.guard[k] = progress.guard
    log.guard_contact[k] = max(progress.actor, progress.ending)
    log.guard_border[k] = progress.border
    log.samples[k] = clock.samples
    log.grazes[k] = clock.grazes
    log.impact[k] = ImpactOrigin.NONE
    log.trial_count[k] = 0
    log.closed_count[k] = count
    log.closed[k, :count] = mode.which[:count]
    log.status[k, :count] = mode.status[:count]
    log.y[k, :n] = r.arc.stages.y[:n]
    log.energy[k] = mechanical_energy(r)


@routine
def log_event_end(r: RunLoop) -> None:
    """Log the outcome of an event.

    This comprises closed contacts and state after the event, contacts whose guards fired, contacts of the
    impact, and the energy (J) before the projection onto the constraints.
    """
    log = r.log
    event = r.event
    mode = r.arc.mode
    progress = r.progress
    n = r.arc.stages.n
    k = progress.events
    count = mode.plan[CLOSED]
    log.closed_after_count[k] = count
    log.closed_after[k, :count] = mode.which[:count]
    log.status_after[k, :count] = mode.status[:count]

    # The contact whose guard fired is listed first; the contacts that lift off with it follow.
    fired = 0
    if progress.actor >= 0:
        log.fired[k, 0] = progress.actor
        fired = 1
    for i in range(log.closed_count[k] if progress.cause is EventCause.LIFT_OFF else 0):
        contact = log.closed[k, i]
        if event.fired[contact] and contact != progress.actor:
            log.fired[k, fired] = contact
            fired += 1
    log.fired_count[k] = fired

    in_impact = 0
    for j in range(event.sizes[CANDIDATES]):
        if count_rows(event.closed_status[event.candidates[j]]) > 0:
            log.impact_contacts[k, in_impact] = event.candidates[j]
            in_impact += 1
    log.impact_count[k] = in_impact

    # The energy balance of the event excludes the projection onto the constraints.
    log.y_after[k, :n] = mode.x[1 : 1 + n]
    mode.x[1 : 1 + n] = event.y[:n]
    log.energy_after[k] = mechanical_energy(r)


@routine
def classify_event(r: RunLoop, k: int) -> int:
    """Return the kind of event k of the log in results, as an `EventCause`.

    An event with an impact is a collision. A hand-over or a jump of the inputs is a lift-off if a wheel has
    no contact after it. A jump of the inputs is a slip if a rolling contact slides after it. Otherwise the
    kind is the cause.
    """
    log = r.log
    contacts = r.event.mode.contacts
    cause = log.cause[k]
    if log.impact[k] != ImpactOrigin.NONE:
        return EventCause.COLLISION
    if cause != EventCause.HAND_OVER and cause != EventCause.INPUT:
        return cause
    for i in range(log.closed_count[k]):
        wheel = contacts.wheels[log.closed[k, i]]
        if not has_wheel(r, log.closed_after[k], log.closed_after_count[k], wheel):
            return EventCause.LIFT_OFF
    if cause == EventCause.INPUT:
        for i in range(log.closed_count[k]):
            for j in range(log.closed_after_count[k]):
                is_same = log.closed[k, i] == log.closed_after[k, j]
                rolled = log.status[k, i] == Status.ROLLING
                if is_same and rolled and log.status_after[k, j] == Status.SLIDING:
                    return EventCause.SLIP
    return cause


@routine
def mechanical_energy(r: RunLoop) -> float:
    """Return the mechanical energy (J) of the state in x.

    The energy program also reads accelerations, which x does not contain. The energy does not depend on them.
    """
    call(r.observe, r.arc.mode.x, r.table, r.observed, 1)
    return r.observed[r.kinetic] + r.observed[r.potential]
