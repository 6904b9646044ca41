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
from draisine.codegen.routine import Address, Flags, Integers, Record, call, routine
from draisine.codegen.targets.native import routine_code, share_code
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.complementarity.active_set import TRIALS, choose, trial_at
from draisine.simulation.contact.complementarity.coulomb import settle_friction
from draisine.simulation.contact.complementarity.linear import dot
from draisine.simulation.contact.complementarity.single_contact import press
from draisine.simulation.contact.event_driven.arc_integration import (
    ArcState,
    RunStatus,
    integrate_arc,
)
from draisine.simulation.contact.event_driven.events import (
    MET,
    TOUCHING,
    EventState,
    resolve_event,
    select_next_mode,
)
from draisine.simulation.contact.event_driven.guards import set_guards
from draisine.simulation.contact.event_driven.impact import OTHER, PUSH, SETS, apply_impact
from draisine.simulation.contact.kernels import (
    CLOSED,
    border_excess,
    evaluate_gaps,
    evaluate_gaps_each,
    evaluate_rows,
    find_mode,
    flow,
    project_state,
    put_state,
    rate,
)
from draisine.simulation.contact.samples import find_inside, find_nearest, observe_modes
from draisine.simulation.integrators.dop853 import WIDTH
from draisine.simulation.trajectory import GuardKind


class EventStage(IntEnum):
    """What the run loop does next."""

    ARC = 0  # integrate an arc
    CONTACTS = 1  # find the contacts that touch at an event
    RESOLUTION = 2  # continue with what was found
    IMPACT = 3  # resolve the impact
    ACTIVE_SET = 4  # find the closed contacts after it
    END = 5  # take over the state after the event


class EventCause(IntEnum):
    """What an event is about."""

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
    """What the run loop keeps between calls."""

    stage: EventStage = EventStage.ARC
    cause: EventCause = EventCause.COLLISION  # of the present event
    actor: int = -1  # the contact that fired, -1 for none
    ending: int = -1  # the contact whose feature has ended, -1 for none
    guard: int = -1  # kind of the guard that fired, -1 for none; its contact is `actor` or `ending`
    border: int = -1  # index of its border among those of the contact's feature, -1 for none
    resolution: RunStatus = RunStatus.RESOLVED  # what `resolve` returned
    stalled: int = 0  # number of events without progress of time
    latest: float = 0.0  # s, time of the latest sample before the event
    events: int = 0  # number of events in the log
    trials: int = 0  # number of entries that their trials take in the log


WHAT, BLOW, SAMPLE, GRAZED, TRIAL, TRIES, CHOSEN, BEFORE, AFTER, FIRED, HITS = range(11)
GUARD, GUARD_CONTACT, GUARD_BORDER, HEAD = range(11, 15)  # of the guard that fired; kind -1: none
SHUT, ROWS, SHUT_AFTER, ROWS_AFTER, FIRE, HIT, LISTS = range(7)
"""What is told of an event in whole numbers: what it is about, whether there was an impact, made by routines
(1) or not (2), how many samples and grazes there were before it, where its trials begin and how many they
are, which was chosen; how long lists are, and these: the contacts that were closed before and their rows,
those that are closed after it and their rows, those that fired, those that were struck.
"""

WHEN_TOLD, ENERGY, ENERGY_AFTER, STATES = range(4)
"""What is told of it in numbers: time, energies before and after; states before it, after an impact, at the
end; what an impact is to contacts.
"""

FLAT = 0.02
"""An edge whose direction leaves a disc's plane by less is in it."""

MOST_STUCK = 8
"""How many events there may be at one instant."""


class RunLoop(NamedTuple):
    """A run under way: arcs, events, how impacts are resolved, and the log of events."""

    course: ArcState  # the arc
    event: EventState  # the event
    stand: RunProgress  # what the loop does next
    sharp: Flags  # per contact, whether it is an edge or a vertex under a disc
    left: Flags  # per contact, whether its wheel has just left the feature
    leaving: Flags  # per contact, whether it separates at this instant
    model: int  # impact model: OTHER, SETS or FRICTION
    reduced: int  # 1 for the reduced resolution of impacts
    normal: float  # coefficient of restitution, normal
    along: float  # the same, tangential
    rest: float  # m/s, approach below which nothing rebounds
    owners: Integers  # the wheel of each tyre state
    lifted: Floats  # s, when the wheel of each tyre state lifted off
    flight: float  # s, longest flight that keeps the deflection of a tyre
    observe: Address  # address of the program of energies
    table: Floats  # its constants
    seen: Floats  # its output
    kinetic: int  # where it has the kinetic energy
    potential: int  # and the potential one
    told: Integers  # log of events: integers (see HEAD)
    numbers: Floats  # log of events: numbers (see STATES)
    trials: Floats  # log of contact sets that were tried
    room: int  # number of trials that fit


@routine
def run_arcs(r: RunLoop, steps: int, events: int) -> RunStatus:
    """Go through arcs and events, so many steps and events at most; return why not further."""
    stand, clock = r.stand, r.course.clock
    clock.steps = 0
    while True:
        if stand.stage is EventStage.ARC:
            if stand.events >= events or stand.trials > r.room:
                return RunStatus.LOG_FULL
            if not open_arc(r):
                return RunStatus.UNKNOWN_MODE
            if clock.time >= min(clock.input_jump, clock.end_time):
                return RunStatus.PAUSED
            how = integrate_arc(r.course, steps - clock.steps)
            if how is not RunStatus.EVENT:
                return how
            how = begin_event(r)
        elif stand.stage is EventStage.CONTACTS:
            how = find_event_contacts(r)
        elif stand.stage is EventStage.RESOLUTION:
            how = choose_resolution(r)
        elif stand.stage is EventStage.IMPACT:
            how = resolve_impact(r)
        elif stand.stage is EventStage.ACTIVE_SET:
            how = select_mode_after_impact(r)
        else:
            how = finish_event(r)
        if how is not RunStatus.RESOLVED:
            return how


@routine
def open_arc(r: RunLoop) -> bool:
    """Prepare an arc with the closed contacts; return whether their mode is known."""
    c, s = r.course, r.course.saddle
    set_border_hysteresis(r, -1)
    if find_mode(s) == 1:
        return False
    c.guards[0] = set_guards(s, c.falls, c.kinds, c.contacts, c.borders)
    return True


@routine
def set_border_hysteresis(r: RunLoop, own: int) -> None:
    """Write how far beyond its borders each contact may touch: a feature that a wheel has just left only
    well inside them, except at a hand-over of contact `own` for its wheel (-1: for none).
    """
    wheels = r.course.saddle.contacts.wheels
    border = r.course.saddle.motion.tol.border
    for k in range(r.course.saddle.contacts.size):
        gone = r.left[k] and (own < 0 or wheels[k] != wheels[own])
        r.course.inside[k] = -border if gone else border


@routine
def take_sample(r: RunLoop) -> None:
    """Keep the present state as a sample, unless it is there."""
    if r.course.clock.time > r.course.clock.latest_sample:
        begin_samples(r)


@routine
def begin_samples(r: RunLoop) -> None:
    """Keep the present state as the first sample of an arc."""
    c, g = r.course, r.course.stages
    at = c.clock.samples
    c.times[at] = c.clock.time
    c.samples[at * g.n :][: g.n] = g.y[: g.n]
    c.clock.samples += 1
    c.clock.latest_sample = c.clock.time


@routine
def drop_sample(r: RunLoop) -> None:
    """Drop the sample of an event that is not recorded, unless one is due at its time: rounding decides
    how many such events there are.
    """
    c, clock = r.course, r.course.clock
    number = (clock.time - c.start) / c.dt + 1e-9
    is_due = number - int(number) < 2e-9
    if clock.samples > 0 and clock.latest_sample > r.stand.latest and not is_due:
        clock.samples -= 1
        clock.latest_sample = r.stand.latest


# --- what happens at an event


@routine
def begin_event(r: RunLoop) -> RunStatus:
    """Go on to the event that ends an arc; return RESOLVED, or why the run ends with it."""
    c, e, clock, stand = r.course, r.event, r.course.clock, r.stand
    guard, before = clock.subject, clock.time
    kind, k = c.kinds[guard], c.contacts[guard]
    clock.time = before + clock.event_delay
    c.stages.y[: c.stages.n] = c.state[: c.stages.n]
    stand.latest = clock.latest_sample
    take_sample(r)
    stand.stalled = 0 if clock.time > before else stand.stalled + 1
    e.fired[: c.saddle.contacts.size] = False
    if clock.time > before:
        r.leaving[: c.saddle.contacts.size] = False
    if stand.stalled > MOST_STUCK:
        return RunStatus.NO_PROGRESS
    if kind == GuardKind.LEAN or kind == GuardKind.OVERTURN:
        return RunStatus.FALL
    stand.stage, stand.actor, stand.ending = EventStage.CONTACTS, -1, -1
    stand.guard, stand.border = kind, -1
    if kind == GuardKind.BORDER or kind == GuardKind.FOLD:
        stand.ending, stand.cause = c.saddle.which[k], EventCause.HAND_OVER
        if kind == GuardKind.BORDER:
            stand.border = c.borders[guard] - c.saddle.contacts.first[stand.ending]
        return RunStatus.RESOLVED
    stand.actor = k if kind == GuardKind.GAP else c.saddle.which[k]
    e.fired[stand.actor] = True
    if kind == GuardKind.GAP:
        stand.cause = EventCause.COLLISION
    elif kind == GuardKind.FRICTION_CONE:
        stand.cause = EventCause.SLIP
    elif kind == GuardKind.SLIP:
        stand.cause = EventCause.STICK
    else:
        stand.cause = EventCause.LIFT_OFF
    return RunStatus.RESOLVED


@routine
def find_event_contacts(r: RunLoop) -> RunStatus:
    """Find out what touches, and what comes of it without an impact; keep what has left."""
    e, s, stand, cause, own = r.event, r.course.saddle, r.stand, r.stand.cause, r.stand.ending
    take_sample(r)
    put_state(s.x, r.course.clock.time, r.course.stages.y, r.course.stages.n)
    set_border_hysteresis(r, own)
    e.ended[: s.contacts.size] = False
    e.avoid[: s.contacts.size] = False
    if cause is EventCause.LIFT_OFF and stand.stalled > 0:
        e.avoid[: s.contacts.size] = r.leaving[: s.contacts.size]
    log_event_begin(r)
    stand.resolution = resolve_event(e, own, cause is EventCause.LIFT_OFF, cause is EventCause.SLIP)
    if stand.resolution is RunStatus.TOO_MANY_CONTACTS:
        return RunStatus.TOO_MANY_CONTACTS
    for k in range(s.contacts.size):
        if own >= 0 and s.contacts.wheels[k] == s.contacts.wheels[own]:
            r.left[k] = e.ended[k]
        if cause is EventCause.LIFT_OFF:
            r.leaving[k] = r.leaving[k] or e.fired[k]
    stand.stage = EventStage.RESOLUTION
    return RunStatus.SHARP_FEATURE if is_on_sharp_feature(r) else RunStatus.RESOLVED


@routine
def is_on_sharp_feature(r: RunLoop) -> bool:
    """Return whether a disc has come onto an edge in its plane, or to the end of one: it may not be able to
    touch it.
    """
    e, b, m = r.event, r.event.saddle.contacts, r.event.saddle.motion
    for i in range(e.sizes[MET]):
        k, axle = e.met[i], e.seen[i * m.row + m.axle :]
        lean = dot(axle, b.features[k * FEATURE + 3 :], 3)
        if r.sharp[k] and (abs(lean) < FLAT or b.moved[k] != 0):
            return True
    for k in range(b.size if r.stand.ending >= 0 else 0):
        alone = r.sharp[k] and e.ended[k]
        for i in range(e.sizes[MET] if alone else 0):
            alone = alone and b.wheels[e.met[i]] != b.wheels[k]
        if alone:
            return True
    return False


@routine
def choose_resolution(r: RunLoop) -> RunStatus:
    """Choose how to go on with an event."""
    stand = r.stand
    if stand.resolution is RunStatus.IMPACT:
        stand.stage = EventStage.IMPACT
    elif stand.resolution is RunStatus.RESOLVED:
        stand.stage = EventStage.END
    else:
        return stand.resolution
    return RunStatus.RESOLVED


@routine
def resolve_impact(r: RunLoop) -> RunStatus:
    """Make the impact, if its model is a routine."""
    e, g, told, stand = r.event, r.event.choice, r.told[log_offset(r) :], r.stand
    push = r.numbers[numbers_offset(r) + STATES + 3 * r.course.stages.n :]
    if r.model == OTHER:
        return RunStatus.IMPACT
    chosen = apply_impact(e, r.model, r.reduced, r.normal, r.along, r.rest, push)
    if chosen < 0:
        return RunStatus.IMPACT
    told[BLOW], told[CHOSEN], told[TRIAL], told[TRIES] = 1, chosen, stand.trials, 0
    if r.model == SETS:
        told[TRIES] = g.sizes[TRIALS]
        r.trials[stand.trials :][: trial_at(g, told[TRIES])] = g.trials[: trial_at(g, told[TRIES])]
        stand.trials += trial_at(g, told[TRIES])
    stand.stage = EventStage.ACTIVE_SET
    return RunStatus.RESOLVED


@routine
def select_mode_after_impact(r: RunLoop) -> RunStatus:
    """Find out which contacts carry after the impact."""
    n = r.course.stages.n
    struck = r.numbers[numbers_offset(r) + STATES + n :]
    struck[:n] = r.course.saddle.x[1 : 1 + n]
    how = select_next_mode(r.event, r.stand.cause is EventCause.SLIP)
    if how is RunStatus.RESOLVED:
        r.stand.stage = EventStage.END
    return how


@routine
def finish_event(r: RunLoop) -> RunStatus:
    """Take over what has come out, tell it if it is something, and begin the next arc."""
    c, g, clock, stand = r.course, r.course.stages, r.course.clock, r.stand
    told = r.told[log_offset(r) :]
    g.y[: g.n] = c.saddle.x[1 : 1 + g.n]
    log_event_end(r)
    relax_tyres(r)
    if stand.cause is EventCause.START and told[BLOW] == 0:
        clock.samples = 0
        begin_samples(r)
    elif told[BLOW] > 0 or is_changed(r) or not is_idle(r):
        stand.events += 1
        begin_samples(r)
    else:
        drop_sample(r)
    clock.step, clock.is_first = min(clock.step, c.saddle.motion.tol.first_step), True
    stand.stage = EventStage.ARC
    return RunStatus.RESOLVED


@routine
def is_changed(r: RunLoop) -> bool:
    """Return whether other contacts are closed after an event, or hold other rows."""
    told, wide = r.told[log_offset(r) :], r.event.most + 1
    shut, after = told[HEAD:], told[HEAD + SHUT_AFTER * wide :]
    if told[BEFORE] != told[AFTER]:
        return True
    for i in range(told[BEFORE]):
        if shut[i] != after[i] or shut[wide + i] != after[wide + i]:
            return True
    return False


@routine
def is_idle(r: RunLoop) -> bool:
    """Return whether an event that changes nothing is not recorded: a contact cannot be released (the next
    steps show whether it is pulled), or is exactly on a border: it counts as left.
    """
    if r.stand.cause is EventCause.COLLISION and r.stand.stalled > 2:
        for k in range(r.course.saddle.contacts.size):
            r.left[k] = r.left[k] or r.event.fired[k]
        return True
    return r.stand.cause is EventCause.LIFT_OFF


@routine
def relax_tyres(r: RunLoop) -> None:
    """Set the tyres of wheels that have touched down to no deflection; those of the start keep theirs.

    A flight shorter than `flight` leaves the tyre no time to relax: otherwise the bounces of a rocking
    machine, which accumulate within milliseconds, would erase the deflection again and again.
    """
    if r.stand.cause is EventCause.START:
        return
    t = r.course.clock.time
    m, told, wide = r.event.saddle.motion, r.told[log_offset(r) :], r.event.most + 1
    for z in range(m.remembered):
        before = is_among(r, told[HEAD:], told[BEFORE], r.owners[z])
        after = is_among(r, told[HEAD + SHUT_AFTER * wide :], told[AFTER], r.owners[z])
        if before and not after:
            r.lifted[z] = t
        if after and not before and t - r.lifted[z] > r.flight:
            r.course.stages.y[m.y_z + z] = 0.0


@routine
def is_among(r: RunLoop, contacts: Integers, count: int, wheel: int) -> bool:
    """Return whether one of some contacts belongs to a wheel."""
    for i in range(count):
        if r.event.saddle.contacts.wheels[contacts[i]] == wheel:
            return True
    return False


# --- what is told of it


@routine
def log_offset(r: RunLoop) -> int:
    """Return where the whole numbers of the present event begin."""
    return r.stand.events * (HEAD + LISTS * (r.event.most + 1))


@routine
def numbers_offset(r: RunLoop) -> int:
    """Return where the numbers of the present event begin."""
    return r.stand.events * (STATES + 3 * r.course.stages.n + PUSH * (r.event.most + 1))


@routine
def log_event_begin(r: RunLoop) -> None:
    """Write when an event is, its state and its closed contacts."""
    s, g, clock, wide = r.course.saddle, r.course.stages, r.course.clock, r.event.most + 1
    told, numbers = r.told[log_offset(r) :], r.numbers[numbers_offset(r) :]
    told[WHAT], told[BLOW], told[TRIES] = r.stand.cause, 0, 0
    told[GUARD], told[GUARD_BORDER] = r.stand.guard, r.stand.border
    told[GUARD_CONTACT] = max(r.stand.actor, r.stand.ending)
    told[SAMPLE], told[GRAZED], told[BEFORE] = clock.samples, clock.grazes, s.plan[CLOSED]
    told[HEAD + SHUT * wide :][: told[BEFORE]] = s.which[: told[BEFORE]]
    told[HEAD + ROWS * wide :][: told[BEFORE]] = s.status[: told[BEFORE]]
    numbers[STATES:][: g.n] = g.y[: g.n]
    numbers[WHEN_TOLD], numbers[ENERGY] = clock.time, energy(r)


@routine
def log_event_end(r: RunLoop) -> None:
    """Write what an event leaves: the closed contacts, which fired and which were struck, the state at
    the end, and the energy of what was there before it was settled.
    """
    e, s, g, wide = r.event, r.course.saddle, r.course.stages, r.event.most + 1
    told, numbers = r.told[log_offset(r) :], r.numbers[numbers_offset(r) :]
    told[AFTER], told[FIRED], told[HITS] = s.plan[CLOSED], 0, 0
    told[HEAD + SHUT_AFTER * wide :][: s.plan[CLOSED]] = s.which[: s.plan[CLOSED]]
    told[HEAD + ROWS_AFTER * wide :][: s.plan[CLOSED]] = s.status[: s.plan[CLOSED]]
    if r.stand.actor >= 0:
        told[HEAD + FIRE * wide], told[FIRED] = r.stand.actor, 1
    for i in range(told[BEFORE] if r.stand.cause is EventCause.LIFT_OFF else 0):
        k = told[HEAD + i]
        if e.fired[k] and k != r.stand.actor:
            told[HEAD + FIRE * wide + told[FIRED]] = k
            told[FIRED] += 1
    for j in range(e.sizes[TOUCHING]):
        if e.rows[e.who[j]] > 0:
            told[HEAD + HIT * wide + told[HITS]] = e.who[j]
            told[HITS] += 1
    numbers[STATES + 2 * g.n :][: g.n] = s.x[1 : 1 + g.n]
    s.x[1 : 1 + g.n] = e.y[: g.n]
    numbers[ENERGY_AFTER] = energy(r)


@routine
def energy(r: RunLoop) -> float:
    """Return the mechanical energy of the state in x; where the program reads accelerations, which make no
    difference to it, x holds something else.
    """
    call(r.observe, r.course.saddle.x, r.table, r.seen, 1)
    return r.seen[r.kinetic] + r.seen[r.potential]


@cache
def terrain_code() -> Any:
    """Return the routines that Python calls, as machine code."""
    entries = (
        run_arcs,
        find_mode,
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
    )
    parts = (choose, press, settle_friction)
    made = routine_code(*entries, *parts, width=WIDTH, passes="few")
    share_code(made[len(entries) :])
    return SimpleNamespace(
        **{entry.__name__: code for entry, code in zip(entries, made, strict=False)}
    )
