"""The run loop, as routines: arcs and the events between them, until Python has to do something.

`run_arcs` is a state machine over `EventStage`: integrate an arc, find the contacts that touch at its end,
resolve the impact, select the closed contacts, begin the next arc. It returns (`RunStatus`) for a closed form
that is not compiled yet, ground that was not searched, an impact model in Python, or an error.

A contact that leaves its feature fires a BORDER guard: `begin_event` makes it a hand-over,
`events.resolve_event` finds the next feature, and `set_border_hysteresis` keeps the wheel from returning at
once.
"""

from enum import IntEnum
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

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
from draisine.codegen.targets.native import routine_code, share_code
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.complementarity.active_set import TRIALS, choose_set, trial_offset
from draisine.simulation.contact.complementarity.coulomb import solve_friction_law
from draisine.simulation.contact.complementarity.linear import dot
from draisine.simulation.contact.complementarity.single_contact import solve_single_contact
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
from draisine.simulation.contact.kernels import (
    CLOSED,
    border_excess,
    evaluate_gaps,
    evaluate_gaps_each,
    evaluate_rows,
    find_closed_form,
    flow,
    project_state,
    put_state,
    rate,
)
from draisine.simulation.contact.samples import (
    find_inside,
    find_nearest,
    observe_forces,
    observe_modes,
)
from draisine.simulation.contact.status import count_rows
from draisine.simulation.integrators.dop853 import VECTOR_WIDTH
from draisine.simulation.trajectory import GuardKind


class EventStage(IntEnum):
    """The next stage of an event."""

    ARC = 0  # integrate an arc
    CONTACTS = 1  # find the contacts that touch at an event
    RESOLUTION = 2  # continue with what was found
    IMPACT = 3  # resolve the impact
    ACTIVE_SET = 4  # find the closed contacts after it
    END = 5  # take over the state after the event


class EventCause(IntEnum):
    """The cause of an event."""

    COLLISION = 0
    LIFT_OFF = 1
    HAND_OVER = 2
    SLIP = 3
    STICK = 4
    INPUT = 5
    START = 6


KINDS = ("collision", "lift-off", "hand-over", "slip", "stick", "input", "start")
"""The names of causes in results."""


class RunProgress(Record):
    """State of the run loop between calls."""

    stage: EventStage = EventStage.ARC
    cause: EventCause = EventCause.COLLISION  # of the present event
    actor: int = -1  # the contact that fired, -1 for none
    ending: int = -1  # the contact whose feature has ended, -1 for none
    guard: int = -1  # kind of the guard that fired, -1 for none; its contact is `actor` or `ending`
    border: int = -1  # index of its border among those of the contact's feature, -1 for none
    resolution: RunStatus = RunStatus.RESOLVED  # what `resolve_event` returned
    stalled: int = 0  # number of events without progress of time
    latest: float = 0.0  # s, time of the latest sample before the event
    events: int = 0  # number of events in the log
    trials: int = 0  # number of used entries of `EventLog.trials`


class ImpactOrigin(IntEnum):
    """The code that resolved the impact of an event."""

    NONE = 0  # there was no impact
    ROUTINE = 1  # a compiled impact model; the log holds its result
    PYTHON = 2  # an impact model in Python, which keeps its result itself


class EventLog(NamedTuple):
    """The events of a call. The first index of all arrays but `trials` is the event.

    Contacts are numbers in the table of contacts. Lists of contacts begin at index 0 of their row; the field
    `..._count` holds their length.
    """

    time: Floats  # s
    cause: Integers  # EventCause
    guard: Integers  # GuardKind of the guard that fired, -1 for none
    guard_contact: Integers  # its contact, -1 for none
    guard_border: Integers  # its border among those of the contact's feature, -1 for none
    samples: Integers  # number of samples before the event, in this call
    grazes: Integers  # number of grazing contacts before the event, in this call
    energy: Floats  # J, before the event
    energy_after: Floats  # J, after it, before the state is projected onto the constraints
    y: Matrix  # state before the event
    y_impact: Matrix  # state after the impact, if there was one
    y_after: Matrix  # state after the event
    closed_count: Integers
    closed: IntegerMatrix  # contacts closed before the event
    status: IntegerMatrix  # Status of each of them
    closed_after_count: Integers
    closed_after: IntegerMatrix  # contacts closed after the event
    status_after: IntegerMatrix  # Status of each of them
    fired_count: Integers
    fired: IntegerMatrix  # contacts whose guards fired
    impact: Integers  # ImpactOrigin
    impact_count: Integers
    impact_contacts: IntegerMatrix  # contacts with constraint rows in the impact
    impulses: Matrix  # three impulses (N s) and the normal velocity after it (m/s) of each of them
    trial_offset: Integers  # where the contact sets tried for the impact begin in `trials`
    trial_count: Integers  # number of these sets
    chosen_trial: Integers  # the admissible one among them
    trials: Floats  # contact sets of all events, one behind the other
    trial_limit: (
        int  # number of entries of `trials` beyond which the sets of another event may not fit
    )


EDGE_IN_PLANE = 0.02
"""Sine of the angle below which an edge lies in the plane of a disc, which cannot touch it then."""

MAX_EVENTS_AT_INSTANT = 8
"""Largest number of successive events without progress of time. Simultaneous contacts need a few; more are a
cycle of modes that would not end.
"""


class RunLoop(NamedTuple):
    """A run under way: arcs, events, how impacts are resolved, and the log of events."""

    arc: ArcState
    event: EventState
    progress: RunProgress  # what the loop does next
    log: EventLog
    is_sharp: Flags  # per contact, whether it is an edge or a vertex under a disc
    left: Flags  # per contact, whether its wheel has just left the feature
    leaving: Flags  # per contact, whether it separates at this instant
    model: int  # impact model: ImpactSolver.PYTHON, ImpactSolver.SETS or FRICTION
    reduced: int  # 1 for the reduced resolution of impacts
    normal: float  # coefficient of restitution, normal
    along: float  # the same, tangential
    rest: float  # m/s, approach below which nothing rebounds
    owners: Integers  # the wheel of each tyre state
    lifted: Floats  # s, when the wheel of each tyre state lifted off
    flight: float  # s, longest flight that keeps the deflection of a tyre
    observe: Address  # address of the program of energies
    table: Floats  # its constants
    observed: Floats  # its output
    kinetic: int  # index of the kinetic energy in its output
    potential: int  # index of the potential energy


@routine
def run_arcs(r: RunLoop, steps: int, events: int) -> RunStatus:
    """Run through arcs and events up to given numbers of steps and events; return the reason for the stop."""
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
def open_arc(r: RunLoop) -> bool:
    """Prepare an arc with the closed contacts; return whether their mode is compiled."""
    arc = r.arc
    set_border_hysteresis(r, -1)
    if find_closed_form(arc.mode) == 1:
        return False
    arc.guards[0] = set_guards(arc.mode, arc.falls, arc.kinds, arc.contacts, arc.borders)
    return True


@routine
def set_border_hysteresis(r: RunLoop, ending: int) -> None:
    """Set the border excess (dimensionless, `kernels.border_excess`) up to which each contact may touch.

    A wheel touches a feature that it has just left only well inside its borders: otherwise the same border
    event repeats. At a hand-over of contact `ending` (-1: none) its wheel is exempt, because it must find
    the next feature.
    """
    wheels = r.arc.mode.contacts.wheels
    border = r.arc.mode.motion.tol.border
    for k in range(r.arc.mode.contacts.size):
        must_be_inside = r.left[k] and (ending < 0 or wheels[k] != wheels[ending])
        r.arc.inside[k] = -border if must_be_inside else border


@routine
def add_sample(r: RunLoop) -> None:
    """Store the present state as a sample, unless it is stored."""
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
    """Drop the sample of an event that is not recorded, unless one is due at its time: rounding decides
    how many such events there are.
    """
    arc = r.arc
    clock = r.arc.clock
    number = (clock.time - arc.start) / arc.dt + 1e-9
    is_due = number - int(number) < 2e-9
    if clock.samples > 0 and clock.latest_sample > r.progress.latest and not is_due:
        clock.samples -= 1
        clock.latest_sample = r.progress.latest


# --- stages of an event


@routine
def begin_event(r: RunLoop) -> RunStatus:
    """Begin the event that ends an arc; return RESOLVED, or why the run ends with it."""
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

    # Name its cause and its contact.
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
    """Find the touching contacts and, if there is no impact, the closed contacts after the event."""
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
    progress.resolution = resolve_event(event, ending, lifts_off, progress.cause is EventCause.SLIP)
    if progress.resolution is RunStatus.TOO_MANY_CONTACTS:
        return RunStatus.TOO_MANY_CONTACTS
    for k in range(count):
        if ending >= 0 and mode.contacts.wheels[k] == mode.contacts.wheels[ending]:
            r.left[k] = event.ended[k]
        if lifts_off:
            r.leaving[k] = r.leaving[k] or event.fired[k]
    progress.stage = EventStage.RESOLUTION
    return RunStatus.SHARP_FEATURE if is_on_sharp_feature(r) else RunStatus.RESOLVED


@routine
def is_on_sharp_feature(r: RunLoop) -> bool:
    """Return whether a disc has reached an edge in its plane, or the end of an edge without another contact:
    its contact point may not exist there.
    """
    event = r.event
    contacts = r.event.mode.contacts
    motion = r.event.mode.motion
    for i in range(event.sizes[TOUCHING]):
        k = event.touching[i]
        axle = event.gaps[i * motion.row + motion.axle :]
        inclination = dot(axle, contacts.features[k * FEATURE + 3 :], 3)
        if r.is_sharp[k] and (abs(inclination) < EDGE_IN_PLANE or contacts.moved[k] != 0):
            return True
    for k in range(contacts.size if r.progress.ending >= 0 else 0):
        is_alone = r.is_sharp[k] and event.ended[k]
        for i in range(event.sizes[TOUCHING] if is_alone else 0):
            is_alone = is_alone and contacts.wheels[event.touching[i]] != contacts.wheels[k]
        if is_alone:
            return True
    return False


@routine
def choose_resolution(r: RunLoop) -> RunStatus:
    """Choose the next stage of an event by what `resolve_event` returned."""
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
    """Resolve the impact; return IMPACT if Python has to do it."""
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
    """Select the closed contacts after the impact."""
    n = r.arc.stages.n
    r.log.y_impact[r.progress.events, :n] = r.arc.mode.x[1 : 1 + n]
    status = select_next_mode(r.event, r.progress.cause is EventCause.SLIP)
    if status is RunStatus.RESOLVED:
        r.progress.stage = EventStage.END
    return status


@routine
def finish_event(r: RunLoop) -> RunStatus:
    """Take over the state after the event, keep its log if it changed something, and begin the next arc."""
    clock = r.arc.clock
    progress = r.progress
    n = r.arc.stages.n
    has_impact = r.log.impact[progress.events] != ImpactOrigin.NONE
    r.arc.stages.y[:n] = r.arc.mode.x[1 : 1 + n]
    log_event_end(r)
    relax_tyres(r)
    has_new_mode = has_impact or is_changed(r)
    if progress.cause is EventCause.START and not has_impact:
        clock.samples = 0
        begin_samples(r)
    elif has_new_mode or not is_idle(r):
        progress.events += 1
        begin_samples(r)
    else:
        drop_sample(r)
    # If only the inputs jump, or a wheel rolls from patch to patch, the motion is as smooth as before, and
    # the step length remains adequate.
    only_inputs = progress.cause is EventCause.INPUT and not has_new_mode
    if not only_inputs and (has_impact or not stays_smooth(r)):
        clock.step = min(clock.step, r.arc.mode.motion.tol.first_step)
    clock.is_first = True
    progress.stage = EventStage.ARC
    return RunStatus.RESOLVED


@routine
def stays_smooth(r: RunLoop) -> bool:
    """Return whether at an event a contact is handed over from patch to patch and no status changes."""
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
def is_changed(r: RunLoop) -> bool:
    """Return whether other contacts are closed after an event, or have another status."""
    log = r.log
    k = r.progress.events
    if log.closed_count[k] != log.closed_after_count[k]:
        return True
    for i in range(log.closed_count[k]):
        if log.closed[k, i] != log.closed_after[k, i] or log.status[k, i] != log.status_after[k, i]:
            return True
    return False


@routine
def is_idle(r: RunLoop) -> bool:
    """Return whether an event that changes nothing is not recorded: a contact cannot be released (the next
    steps show whether it is pulled), or is exactly on a border: it counts as left.
    """
    if r.progress.cause is EventCause.COLLISION and r.progress.stalled > 2:
        for k in range(r.arc.mode.contacts.size):
            r.left[k] = r.left[k] or r.event.fired[k]
        return True
    return r.progress.cause is EventCause.LIFT_OFF


@routine
def relax_tyres(r: RunLoop) -> None:
    """Reset the deflection of the tyres whose wheels have touched down; at the start they keep theirs.

    A flight shorter than `flight` leaves the tyre no time to relax: otherwise the bounces of a rocking
    machine, which accumulate within milliseconds, would erase the deflection again and again.
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
    log.energy[k] = energy(r)


@routine
def log_event_end(r: RunLoop) -> None:
    """Log the closed contacts and the state after an event, its fired contacts and those of its impact, and
    the energy before the projection.
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

    # The contact whose guard fired comes first; those that lift off with it follow.
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
    log.energy_after[k] = energy(r)


@routine
def energy(r: RunLoop) -> float:
    """Return the mechanical energy (J) of the state in x. The program also reads accelerations, which x does
    not hold; the energy does not depend on them.
    """
    call(r.observe, r.arc.mode.x, r.table, r.observed, 1)
    return r.observed[r.kinetic] + r.observed[r.potential]


@cache
def terrain_code() -> Any:
    """Return the routines that Python calls, as machine code."""
    entries = (
        run_arcs,
        find_closed_form,
        evaluate_gaps,
        evaluate_gaps_each,
        evaluate_rows,
        border_excess,
        flow,
        rate,
        project_state,
        find_inside,
        find_nearest,
        observe_modes,
        observe_forces,
    )
    parts = (choose_set, solve_single_contact, solve_friction_law)
    made = routine_code(*entries, *parts, width=VECTOR_WIDTH, passes="few")
    share_code(made[len(entries) :])
    return SimpleNamespace(
        **{entry.__name__: code for entry, code in zip(entries, made, strict=False)}
    )
