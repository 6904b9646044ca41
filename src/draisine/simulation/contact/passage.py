"""A run in one call, as routines: arcs, and the events between them, one after the other, until
something is met that routines do not know.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Address, Integers, call, routine
from draisine.codegen.targets.native import routine_code, share_code
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.complementarity.active_set import TRIALS, choose, trial_at
from draisine.simulation.contact.complementarity.coulomb import press, settle_friction
from draisine.simulation.contact.complementarity.linear import dot
from draisine.simulation.contact.events import (
    DONE,
    FULL,
    MET,
    STRUCK,
    TOUCHING,
    Encounter,
    carry_on,
    resolve,
)
from draisine.simulation.contact.guards import BORDER, CONE, FORCE, GAP, OVER, set_guards
from draisine.simulation.contact.kernels import (
    CLOSED,
    excess,
    excess_each,
    find_mode,
    flow,
    look,
    look_each,
    meet_some,
    put_state,
    rate,
    rate_each,
    settle,
)
from draisine.simulation.contact.march import (
    COUNT,
    EVENT,
    FIRST,
    GRAZES,
    LATEST,
    PASSED,
    STEPS,
    STOP,
    UNTIL,
    WHEN,
    WHICH,
    Course,
    H,
    T,
    march,
)
from draisine.simulation.contact.strike import OTHER, PUSH, SETS, strike
from draisine.simulation.integrators.dop853 import WIDTH

UNKNOWN, SHARP, STALLED, FELL, MADE = range(14, 19)
"""Why a call ended, besides what ends arcs and stops events: a mode that is not known yet, a disc that may
have come onto what it cannot meet, no progress, a fall, as many events as there is room for.
"""

ARC, MEETING, JUDGED, STRIKING, CARRYING, SETTLED = range(6)
"""Where a call goes on: in an arc, or at an event: to find out what touches, with what was found out,
with the impact, with what carries after it, with what has come out.
"""

COLLISION, LIFT_OFF, HAND_OVER, SLIDES, STICKS, JUMP, BEGIN = range(7)
KINDS = ("collision", "lift-off", "hand-over", "slip", "stick", "input", "start")
"""What events are about."""

STAGE, CAUSE, ACTOR, OWN, FOUND, STUCK, TOLD, TRIED, STAND = range(9)
"""What is kept between calls: where one goes on; of an event what it is about, the contact that fired and
that whose feature has ended (or -1), and how far it was resolved; how often no time has passed, how many
events are told, and how much room their trials take; how much all that is.
"""

WHAT, BLOW, SAMPLE, GRAZED, TRIAL, TRIES, CHOSEN, BEFORE, AFTER, FIRED, HITS, HEAD = range(12)
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

SEAM = 1e-7
"""By how much a contact may lie beyond the borders of a feature that it touches, or must lie inside those
of one that its wheel has just left.
"""

FLAT = 0.02
"""An edge whose direction leaves a disc's plane by less is in it."""

MOST_STUCK = 8
"""How many events there may be at one instant."""


class Passage(NamedTuple):
    """A run under way: arcs and events; what is kept between calls; contacts that are edges to discs,
    those whose features wheels have just left, those that leave at this instant; how an impact goes:
    its model, the resolution, restitution (normal, tangential) and the speed below which there is
    none; the wheel that owns each state of an element; the program that tells energies, its table, room for
    what it tells and where they stand in that; what is told of events in whole numbers and in numbers, and
    their trials, with room for those of one more.
    """

    course: Course
    event: Encounter
    stand: Integers
    sharp: Integers
    left: Integers
    leaving: Integers
    model: int
    reduced: int
    normal: float
    along: float
    rest: float
    owners: Integers
    observe: Address
    table: Floats
    seen: Floats
    kinetic: int
    potential: int
    told: Integers
    numbers: Floats
    trials: Floats
    room: int


@routine
def traverse(r: Passage, steps: int, events: int) -> int:
    """Go through arcs and events, so many steps and events at most; return why not further."""
    stand, clock = r.stand, r.course.clock
    clock[STEPS] = 0.0
    while True:
        if stand[STAGE] == ARC:
            if stand[TOLD] >= events or stand[TRIED] > r.room:
                return MADE
            if open_arc(r) == 1:
                return UNKNOWN
            if clock[T] >= min(clock[STOP], clock[UNTIL]):
                return PASSED
            how = march(r.course, steps - int(clock[STEPS]))
            if how != EVENT:
                return how
            how = reach_event(r)
        elif stand[STAGE] == MEETING:
            how = meet_event(r)
        elif stand[STAGE] == JUDGED:
            how = judge_event(r)
        elif stand[STAGE] == STRIKING:
            how = strike_event(r)
        elif stand[STAGE] == CARRYING:
            how = carry_event(r)
        else:
            how = settle_event(r)
        if how != DONE:
            return how


@routine
def open_arc(r: Passage) -> int:
    """Make ready for an arc with the closed contacts; return 1 where their mode is not known."""
    c, s = r.course, r.course.saddle
    leave_out(r, -1)
    if find_mode(s) == 1:
        return 1
    c.guards[0] = set_guards(s, c.falls, c.kinds, c.contacts, c.borders)
    return 0


@routine
def leave_out(r: Passage, own: int) -> None:
    """Let features that wheels have just left count only well inside their borders, but for the wheel of
    one contact.
    """
    wheels = r.course.saddle.contacts.wheels
    for k in range(r.course.saddle.contacts.size):
        gone = 1 if r.left[k] == 1 and (own < 0 or wheels[k] != wheels[own]) else 0
        r.course.inside[k] = -SEAM if gone == 1 else SEAM


@routine
def take_sample(r: Passage) -> None:
    """Keep the present state as a sample, unless it is there."""
    if r.course.clock[T] > r.course.clock[LATEST]:
        begin_samples(r)


@routine
def begin_samples(r: Passage) -> None:
    """Keep the present state as the first sample of an arc."""
    c, g = r.course, r.course.stages
    at = int(c.clock[COUNT])
    c.times[at] = c.clock[T]
    c.samples[at * g.n :][: g.n] = g.y[: g.n]
    c.clock[COUNT] += 1.0
    c.clock[LATEST] = c.clock[T]


# --- what happens at an event


@routine
def reach_event(r: Passage) -> int:
    """Go on to the event that ends an arc; return what it is where the run ends with it."""
    c, e, clock, stand = r.course, r.event, r.course.clock, r.stand
    guard, before = int(clock[WHICH]), clock[T]
    kind, k = c.kinds[guard], c.contacts[guard]
    clock[T] = before + clock[WHEN]
    c.stages.y[: c.stages.n] = c.state[: c.stages.n]
    take_sample(r)
    stand[STUCK] = 0 if clock[T] > before else stand[STUCK] + 1
    e.fired[: c.saddle.contacts.size] = 0
    if clock[T] > before:
        r.leaving[: c.saddle.contacts.size] = 0
    if stand[STUCK] > MOST_STUCK:
        return STALLED
    if kind <= OVER:
        return FELL
    stand[STAGE], stand[ACTOR], stand[OWN] = MEETING, -1, -1
    if kind >= BORDER:
        stand[OWN], stand[CAUSE] = c.saddle.which[k], HAND_OVER
        return DONE
    stand[ACTOR], stand[CAUSE] = k if kind == GAP else c.saddle.which[k], COLLISION
    e.fired[stand[ACTOR]] = 1
    if kind == FORCE:
        stand[CAUSE] = LIFT_OFF
    elif kind != GAP:
        stand[CAUSE] = SLIDES if kind == CONE else STICKS
    return DONE


@routine
def meet_event(r: Passage) -> int:
    """Find out what touches, and what comes of it without an impact; keep what has left."""
    e, s, stand, cause, own = r.event, r.course.saddle, r.stand, r.stand[CAUSE], r.stand[OWN]
    take_sample(r)
    put_state(s.x, r.course.clock[T], r.course.stages.y, r.course.stages.n)
    leave_out(r, own)
    e.ended[: s.contacts.size] = 0
    e.avoid[: s.contacts.size] = 0
    if cause == LIFT_OFF and stand[STUCK] > 0:
        e.avoid[: s.contacts.size] = r.leaving[: s.contacts.size]
    tell_begin(r)
    unloads, slips = 1 if cause == LIFT_OFF else 0, 1 if cause == SLIDES else 0
    stand[FOUND] = resolve(e, own, unloads, slips)
    if stand[FOUND] == FULL:
        return FULL
    for k in range(s.contacts.size):
        if own >= 0 and s.contacts.wheels[k] == s.contacts.wheels[own]:
            r.left[k] = e.ended[k]
        if cause == LIFT_OFF:
            r.leaving[k] = max(r.leaving[k], e.fired[k])
    stand[STAGE] = JUDGED
    return SHARP if is_sharp(r) == 1 else DONE


@routine
def is_sharp(r: Passage) -> int:
    """Return 1 where a disc has come onto an edge in its plane, or to the end of one: what it cannot
    meet, perhaps.
    """
    e, b, m = r.event, r.event.saddle.contacts, r.event.saddle.motion
    for i in range(e.sizes[MET]):
        k, axle = e.met[i], e.seen[i * m.row + m.axle :]
        lean = dot(axle, b.features[k * FEATURE + 3 :], 3)
        if r.sharp[k] == 1 and (abs(lean) < FLAT or b.moved[k] != 0):
            return 1
    for k in range(b.size if r.stand[OWN] >= 0 else 0):
        alone = r.sharp[k] * e.ended[k]
        for i in range(e.sizes[MET] if alone == 1 else 0):
            alone = 0 if b.wheels[e.met[i]] == b.wheels[k] else alone
        if alone == 1:
            return 1
    return 0


@routine
def judge_event(r: Passage) -> int:
    """See how far an event is resolved."""
    stand = r.stand
    if stand[FOUND] == STRUCK:
        stand[STAGE] = STRIKING
    elif stand[FOUND] == DONE:
        stand[STAGE] = SETTLED
    else:
        return stand[FOUND]
    return DONE


@routine
def strike_event(r: Passage) -> int:
    """Make the impact, if its model is a routine."""
    e, g, told, stand = r.event, r.event.choice, r.told[told_at(r) :], r.stand
    push = r.numbers[numbers_at(r) + STATES + 3 * r.course.stages.n :]
    if r.model == OTHER:
        return STRUCK
    chosen = strike(e, r.model, r.reduced, r.normal, r.along, r.rest, push)
    if chosen < 0:
        return STRUCK
    told[BLOW], told[CHOSEN], told[TRIAL], told[TRIES] = 1, chosen, stand[TRIED], 0
    if r.model == SETS:
        told[TRIES] = g.sizes[TRIALS]
        r.trials[stand[TRIED] :][: trial_at(g, told[TRIES])] = g.trials[: trial_at(g, told[TRIES])]
        stand[TRIED] += trial_at(g, told[TRIES])
    stand[STAGE] = CARRYING
    return DONE


@routine
def carry_event(r: Passage) -> int:
    """Find out which contacts carry after the impact."""
    n = r.course.stages.n
    struck = r.numbers[numbers_at(r) + STATES + n :]
    struck[:n] = r.course.saddle.x[1 : 1 + n]
    how = carry_on(r.event, 1 if r.stand[CAUSE] == SLIDES else 0)
    if how == DONE:
        r.stand[STAGE] = SETTLED
    return how


@routine
def settle_event(r: Passage) -> int:
    """Take over what has come out, tell it if it is something, and begin the next arc."""
    c, g, clock, stand = r.course, r.course.stages, r.course.clock, r.stand
    told = r.told[told_at(r) :]
    g.y[: g.n] = c.saddle.x[1 : 1 + g.n]
    tell_end(r)
    relax(r)
    if stand[CAUSE] == BEGIN and told[BLOW] == 0:
        clock[COUNT] = 0.0
        begin_samples(r)
    elif told[BLOW] > 0 or is_changed(r) == 1 or is_idle(r) == 0:
        stand[TOLD] += 1
        begin_samples(r)
    clock[H], clock[FIRST] = min(clock[H], 1e-3), 1.0
    stand[STAGE] = ARC
    return DONE


@routine
def is_changed(r: Passage) -> int:
    """Return 1 where other contacts are closed after an event, or other rows."""
    told, wide = r.told[told_at(r) :], r.event.most + 1
    shut, after = told[HEAD:], told[HEAD + SHUT_AFTER * wide :]
    if told[BEFORE] != told[AFTER]:
        return 1
    for i in range(told[BEFORE]):
        if shut[i] != after[i] or shut[wide + i] != after[wide + i]:
            return 1
    return 0


@routine
def is_idle(r: Passage) -> int:
    """Return 1 where what changes nothing is no event: a contact cannot be released (the next steps tell
    whether it is pulled), or is exactly on a border: what it does not take, it has left.
    """
    if r.stand[CAUSE] == COLLISION and r.stand[STUCK] > 2:
        for k in range(r.course.saddle.contacts.size):
            r.left[k] = max(r.left[k], r.event.fired[k])
        return 1
    return 1 if r.stand[CAUSE] == LIFT_OFF else 0


@routine
def relax(r: Passage) -> None:
    """Set the tyres of wheels that have touched down to no deflection; those of the start keep theirs."""
    if r.stand[CAUSE] == BEGIN:
        return
    m, told, wide = r.event.saddle.motion, r.told[told_at(r) :], r.event.most + 1
    for z in range(m.remembered):
        before = is_among(r, told[HEAD:], told[BEFORE], r.owners[z])
        after = is_among(r, told[HEAD + SHUT_AFTER * wide :], told[AFTER], r.owners[z])
        if after == 1 and before == 0:
            r.course.stages.y[m.y_z + z] = 0.0


@routine
def is_among(r: Passage, contacts: Integers, count: int, wheel: int) -> int:
    """Return 1 where one of some contacts is a wheel's."""
    for i in range(count):
        if r.event.saddle.contacts.wheels[contacts[i]] == wheel:
            return 1
    return 0


# --- what is told of it


@routine
def told_at(r: Passage) -> int:
    """Return where the whole numbers of the present event begin."""
    return r.stand[TOLD] * (HEAD + LISTS * (r.event.most + 1))


@routine
def numbers_at(r: Passage) -> int:
    """Return where the numbers of the present event begin."""
    return r.stand[TOLD] * (STATES + 3 * r.course.stages.n + PUSH * (r.event.most + 1))


@routine
def tell_begin(r: Passage) -> None:
    """Write when an event is, its state and its closed contacts."""
    s, g, clock, wide = r.course.saddle, r.course.stages, r.course.clock, r.event.most + 1
    told, numbers = r.told[told_at(r) :], r.numbers[numbers_at(r) :]
    told[WHAT], told[BLOW], told[TRIES] = r.stand[CAUSE], 0, 0
    told[SAMPLE], told[GRAZED], told[BEFORE] = int(clock[COUNT]), int(clock[GRAZES]), s.plan[CLOSED]
    told[HEAD + SHUT * wide :][: told[BEFORE]] = s.which[: told[BEFORE]]
    told[HEAD + ROWS * wide :][: told[BEFORE]] = s.status[: told[BEFORE]]
    numbers[STATES:][: g.n] = g.y[: g.n]
    numbers[WHEN_TOLD], numbers[ENERGY] = clock[T], energy(r)


@routine
def tell_end(r: Passage) -> None:
    """Write what an event leaves: the closed contacts, which fired and which were struck, the state at
    the end, and the energy of what was there before it was settled.
    """
    e, s, g, wide = r.event, r.course.saddle, r.course.stages, r.event.most + 1
    told, numbers = r.told[told_at(r) :], r.numbers[numbers_at(r) :]
    told[AFTER], told[FIRED], told[HITS] = s.plan[CLOSED], 0, 0
    told[HEAD + SHUT_AFTER * wide :][: s.plan[CLOSED]] = s.which[: s.plan[CLOSED]]
    told[HEAD + ROWS_AFTER * wide :][: s.plan[CLOSED]] = s.status[: s.plan[CLOSED]]
    if r.stand[ACTOR] >= 0:
        told[HEAD + FIRE * wide], told[FIRED] = r.stand[ACTOR], 1
    for i in range(told[BEFORE] if r.stand[CAUSE] == LIFT_OFF else 0):
        k = told[HEAD + i]
        if e.fired[k] == 1 and k != r.stand[ACTOR]:
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
def energy(r: Passage) -> float:
    """Return the mechanical energy of the state in x; where the program reads accelerations, which make no
    difference to it, x holds something else.
    """
    call(r.observe, r.course.saddle.x, r.table, r.seen, 1)
    return r.seen[r.kinetic] + r.seen[r.potential]


@cache
def terrain_code() -> Any:
    """Return the routines that Python calls, as machine code."""
    entries = (traverse, find_mode, look, look_each, meet_some, excess, excess_each) + (
        flow, rate, rate_each, settle,
    )  # fmt: skip
    parts = (choose, press, settle_friction)
    made = routine_code(*entries, *parts, width=WIDTH, passes="few")
    share_code(made[len(entries) :])
    return SimpleNamespace(
        **{entry.__name__: code for entry, code in zip(entries, made, strict=False)}
    )
