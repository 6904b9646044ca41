"""Criteria for changing between event location and time stepping, as routines.

Event-driven arcs have high order. They make no progress if wheels over-constrain the system on uneven
ground, so that they stick and slip in quick succession, if bounces accumulate, or if no set of contacts is
admissible at acceleration level (Painlevé paradox, ideal wheels at an edge). Time steps always advance. A run
resumes event location when its contacts are settled: the same contacts have carried loads, with margin to
lift-off and slip, for a required number of steps. If the run soon changes back, this number is doubled.

* `find_obstruction`: does event location advance more slowly than time steps would?
* `discard_short_arcs`: the trajectory arcs that time steps replace.
* `has_ideal_conflict`: ideal contacts over-constrain the system, so that neither method can continue.
* `project_stepped_state`: can event location resume at the state of the time steps?
"""

from enum import IntEnum
from math import isfinite, sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import IntegerMatrix, Integers, Matrix, Record, routine
from draisine.mechanics.contact.features import FEATURE, SIDE
from draisine.simulation.contact.event_driven.rank import (
    Rank,
    RankWork,
    compute_rank,
)
from draisine.simulation.contact.event_driven.run_loop import EventCause, RunLoop
from draisine.simulation.contact.kernels import CLOSED, ContactMode, project_state, put_state
from draisine.simulation.contact.samples import find_penetrating_contacts
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping.grid import (
    StepGrid,
    choose_first_step,
    longest_step,
)
from draisine.simulation.contact.stepping.step import TimeStepping

CROWDED_EVENTS = 20
"""Number of latest events that are examined; if they lie within as many time steps, time stepping costs less
than event location.
"""
STORED_EVENTS = 2 * CROWDED_EVENTS
"""Number of latest events that are stored for their rate; collisions and jumps of the inputs, which do not
count, may be among them.
"""
PROGRESS_STEPS = 100
"""Number of integration steps over which the progress of a run is measured."""
MIN_STEP_RATIO = 0.1
"""Mean length of integration steps, as a fraction of the time step, below which event-driven integration
costs more than time stepping.
"""
FIRST_SETTLED = 10
"""Number of successive time steps with the same loaded contacts before event location resumes first."""
RETRY_STEPS = 20
"""Number of time steps after event location resumed; a change back to time stepping within this time doubles
the number of settled steps that the next resumption requires.
"""
MOST_SETTLED = 1 << 20
"""Upper bound of the number of settled steps (same loaded contacts) before event location resumes."""
CONFLICT_STEPS = 5
"""Number of time steps in which ideal contacts over-constrain the system before the run ends. When wheels
cross an edge one after the other, an impact lets them do so for a step or two, and then separates them.
"""
CONFLICT_MEMORY = 1000.0
"""Time without a conflict of ideal contacts after which earlier ones are forgotten, in longest time steps."""
MAX_PROJECTION = 1e-4
"""Largest change of a state by the projection onto the contact constraints, as a fraction of the wheel size
for positions and in rad for angles.
"""
RANK_SETS = 256
"""Number of sets of rolling contacts whose rank is cached."""

SMOOTH_HAND_OVER = -1
"""Stored kind of a hand-over from one smooth patch to the next. It does not count, because it is progress: on
a fine grid a wheel crosses a patch in less than a time step, and the ground is as smooth as on a coarse one.
"""

NEVER = -float("inf")  # s, time of a change of the method that did not occur


class SolverChoice(IntEnum):
    """Choice of the method, `ContactOptions.solver`, as a number."""

    AUTO = 0
    EVENTS = 1
    TIME_STEPPING = 2


class MethodChange(IntEnum):
    """Events at which a run changes between event location and time stepping; their values follow those of
    `EventCause`.
    """

    TIME_STEPPING = 7
    EVENT_LOCATION = 8


class Obstruction(IntEnum):
    """Reasons why event location advances more slowly than time steps would."""

    NONE = 0
    OVER_CONSTRAINED = 1
    CROWDED_EVENTS = 2
    SHORT_STEPS = 3


OBSTRUCTION_TEXTS = (
    "",
    "contacts over-constrain the machine",
    "events accumulate",
    "integration steps are too short",
)
"""Reasons for time steps in results, in the order of `Obstruction`."""


class Switch(Record):
    """Data for changing between event location and time stepping."""

    solver: SolverChoice
    is_stepping: bool = False
    is_settled: bool = False  # whether contacts were settled for `required` steps
    grid: StepGrid  # grid of the time steps

    # Return to event location
    required: int = FIRST_SETTLED  # number of settled steps before event location resumes
    resumed: float = NEVER  # s, time at which event location resumed last

    # Ideal contacts that over-constrain the system
    conflicts: int = 0  # number of latest time steps in which they did
    conflict_time: float = NEVER  # s, end of the last of them

    # Rank of the rolling contacts
    watches_rank: bool = True
    rank_count: int = 0  # number of contact sets whose rank is cached
    ranks: Integers  # (RANK_SETS) Rank of each cached contact set
    rank_sets: (
        IntegerMatrix  # (RANK_SETS, 1 + 3 k) number of contacts; wheel, feature and side of each
    )
    rank_work: RankWork

    # The latest events, for the rate at which they follow each other
    recent_count: int = 0
    arcs: int = 1  # number of trajectory arcs since the start of the run
    recent_time: Floats  # (STORED_EVENTS) s, times of the latest events
    # (STORED_EVENTS) EventCause, MethodChange or SMOOTH_HAND_OVER of each latest event
    recent_kind: Integers
    recent_state: Matrix  # (STORED_EVENTS, n) state before each latest event

    # Entries of the state
    turn_entries: int  # number of entries of the state for the rotation of the base
    position_entries: int  # number of entries for the position of the base, which follow


@routine
def begin_switch(w: Switch) -> None:
    """Forget all events, contact sets and changes of the method: a new run begins."""
    w.is_stepping = False
    w.is_settled = False
    w.required = FIRST_SETTLED
    w.resumed = NEVER
    w.conflicts = 0
    w.conflict_time = NEVER
    w.watches_rank = True
    w.rank_count = 0
    w.recent_count = 0
    w.arcs = 1


# --- rate of events


@routine
def remember_event(w: Switch, t: float, kind: int, y: Floats, n: int) -> None:
    """Add an event to the list of latest events; the oldest one is removed."""
    if w.recent_count == STORED_EVENTS:
        for i in range(STORED_EVENTS - 1):
            w.recent_time[i] = w.recent_time[i + 1]
            w.recent_kind[i] = w.recent_kind[i + 1]
            w.recent_state[i, :n] = w.recent_state[i + 1, :n]
        w.recent_count -= 1
    w.recent_time[w.recent_count] = t
    w.recent_kind[w.recent_count] = kind
    w.recent_state[w.recent_count, :n] = y[:n]
    w.recent_count += 1
    w.arcs += 1


@routine
def remember_events(r: RunLoop, w: Switch, first: int) -> None:
    """Add the logged events from index `first` on to the list of latest events."""
    log = r.log
    patches = r.arc.mode.contacts.patches
    for k in range(first, r.progress.events):
        kind = log.kind[k]
        contact = log.guard_contact[k]
        if kind == EventCause.HAND_OVER and contact >= 0 and patches[contact] == 1:
            kind = SMOOTH_HAND_OVER
        remember_event(w, log.time[k], kind, log.y[k], r.arc.stages.n)


@routine
def is_crowded(w: Switch, h: float) -> bool:
    """Return whether the latest events follow each other faster than time steps of length h (s) would.

    Collisions do not count, because accumulating bounces come to rest. Jumps of the inputs do not count
    either: a controller that acts every millisecond must not reduce the accuracy of the run, and neither must
    a fine grid of smooth ground.
    """
    last = 0.0
    count = 0
    for i in range(w.recent_count - 1, -1, -1):
        kind = w.recent_kind[i]
        counts = kind != EventCause.COLLISION and kind != EventCause.INPUT
        if counts and kind != SMOOTH_HAND_OVER:
            if count == 0:
                last = w.recent_time[i]
            count += 1
            if count == CROWDED_EVENTS:
                return last - w.recent_time[i] < CROWDED_EVENTS * h
    return False


# --- rank of the rolling contacts


@routine
def count_rolling(mode: ContactMode) -> int:
    """Return the number of closed contacts that roll."""
    rolling = 0
    for i in range(mode.plan[CLOSED]):
        if mode.status[i] == Status.ROLLING:
            rolling += 1
    return rolling


@routine
def find_rank(mode: ContactMode, features: Integers, w: Switch, t: float, y: Floats) -> Rank:
    """Return the `Rank` of the constraint rows of the rolling contacts of a contact mode at time t (s) and
    state y. The rank of each contact set is computed once.

    `features` (contacts) contains the index of the ground feature of each contact.
    """
    if count_rolling(mode) < 2:
        return Rank.INDEPENDENT
    key = w.rank_sets[w.rank_count]
    count = 0
    for i in range(mode.plan[CLOSED]):
        if mode.status[i] == Status.ROLLING:
            k = mode.which[i]
            key[1 + 3 * count] = mode.contacts.wheels[k]
            key[2 + 3 * count] = features[k]
            key[3 + 3 * count] = int(mode.contacts.features[k * FEATURE + SIDE])
            count += 1
    key[0] = count
    for i in range(w.rank_count):
        known = w.rank_sets[i]
        is_same = known[0] == count
        for j in range(3 * count if is_same else 0):
            is_same = is_same and known[1 + j] == key[1 + j]
        if is_same:
            return Rank(w.ranks[i])
    m = mode.motion
    put_state(mode.x, t, y, m.y_z + m.states)
    rank = compute_rank(mode, w.rank_work, mode.which, mode.status, mode.plan[CLOSED])
    w.ranks[w.rank_count] = rank
    w.rank_count = (w.rank_count + 1) % RANK_SETS
    return rank


@routine
def watch_rank(r: RunLoop, w: Switch) -> None:
    """Stop checking the rank after each event if the constraint rows of the rolling contacts are independent:
    if the wheels of a system have independent constraints in one configuration, they have them in all.
    """
    arc = r.arc
    if w.watches_rank and count_rolling(arc.mode) > 1:
        rank = find_rank(arc.mode, r.near.features, w, arc.clock.time, arc.stages.y)
        w.watches_rank = rank is not Rank.INDEPENDENT


@routine
def has_ideal_conflict(
    mode: ContactMode, features: Integers, mu: Floats, w: Switch, t: float, y: Floats
) -> bool:
    """Return whether ideal contacts over-constrain the system at time t (s) and state y: one of them has to
    creep, and without a friction limit it is undetermined which. `mu` (contacts) are the friction
    coefficients.
    """
    ideal = 0
    for i in range(mode.plan[CLOSED]):
        if mode.status[i] == Status.ROLLING and not isfinite(mu[mode.which[i]]):
            ideal += 1
    return ideal >= 2 and find_rank(mode, features, w, t, y) is Rank.OVER_CONSTRAINED


# --- change to time stepping


@routine
def first_step(r: RunLoop, w: Switch) -> float:
    """Return the length of the first time step (s) from the present state."""
    arc = r.arc
    return choose_first_step(
        w.grid, arc.mode.motion, arc.wheels, arc.mode.x, arc.clock.time, arc.stages.y
    )


@routine
def find_congestion(w: Switch, begin: float, t: float, steps: int, h: float) -> Obstruction:
    """Return why time steps of length h (s) would advance faster than event location, which took `steps`
    steps from time `begin` to time t (s).
    """
    if is_crowded(w, h):
        return Obstruction.CROWDED_EVENTS
    if steps >= PROGRESS_STEPS and t - begin < MIN_STEP_RATIO * steps * h:
        return Obstruction.SHORT_STEPS
    return Obstruction.NONE


@routine
def find_obstruction(r: RunLoop, w: Switch, begin: float) -> Obstruction:
    """Return why event location has advanced more slowly since time `begin` (s) than time steps would."""
    arc = r.arc
    t = arc.clock.time
    if w.watches_rank:
        if find_rank(arc.mode, r.near.features, w, t, arc.stages.y) is Rank.OVER_CONSTRAINED:
            return Obstruction.OVER_CONSTRAINED
        watch_rank(r, w)
    steps = arc.clock.steps
    # The longest step is an upper bound, which costs less than the first step.
    if find_congestion(w, begin, t, steps, longest_step(w.grid)) is Obstruction.NONE:
        return Obstruction.NONE
    return find_congestion(w, begin, t, steps, first_step(r, w))


@routine
def require_after_change(w: Switch, t: float, h: float) -> None:
    """Double the number of settled steps that the next resumption requires if event location, which ends at
    time t (s), has not lasted for `RETRY_STEPS` time steps of length h (s).
    """
    if t - w.resumed < RETRY_STEPS * h:
        w.required = min(2 * w.required, MOST_SETTLED)


@routine
def discard_short_arcs(r: RunLoop, w: Switch, h: float) -> int:
    """Go back over the latest trajectory arcs that are shorter than half a time step, with the events before
    them: time steps replace them. Impacts stay. Return the number of discarded arcs.
    """
    clock = r.arc.clock
    n = r.arc.stages.n
    discarded = 0
    is_stepped = False
    while w.arcs > 1 and w.recent_count > 0 and not is_stepped:
        last = w.recent_count - 1
        if (
            w.recent_kind[last] == EventCause.COLLISION
            or clock.time - w.recent_time[last] >= 0.5 * h
        ):
            break
        clock.time = w.recent_time[last]
        r.arc.stages.y[:n] = w.recent_state[last, :n]
        is_stepped = w.recent_kind[last] == MethodChange.EVENT_LOCATION
        w.recent_count -= 1
        w.arcs -= 1
        discarded += 1
    return discarded


# --- return to event location


@routine
def close_loaded_contacts(mode: ContactMode, s: TimeStepping) -> None:
    """Write the contacts that carry a load in time stepping as closed contacts into a contact mode."""
    for i in range(s.loaded_count):
        k = s.loaded[i]
        mode.which[i] = k
        mode.mu[i] = s.mu[k] if isfinite(s.mu[k]) else 0.0
        rolls = s.settled_status[i] == Status.ROLLING
        mode.status[i] = Status.ROLLING if rolls else Status.SLIDING
        if s.tyred[k]:
            mode.status[i] = s.closed_status[k]
    mode.plan[CLOSED] = s.loaded_count


@routine
def has_stepped_conflict(
    mode: ContactMode, features: Integers, s: TimeStepping, w: Switch, t: float
) -> bool:
    """Return whether the ideal contacts that carry loads over-constrain the system at time t (s), the end of
    a step in which they required more friction than any wheel has, and did so in `CONFLICT_STEPS` steps.
    """
    close_loaded_contacts(mode, s)
    has_conflict = has_ideal_conflict(mode, features, s.mu, w, t, s.y)
    mode.plan[CLOSED] = 0
    if not has_conflict:
        return False
    if t - w.conflict_time > CONFLICT_MEMORY * longest_step(w.grid):
        w.conflicts = 0
    w.conflict_time = t
    w.conflicts += 1
    return w.conflicts >= CONFLICT_STEPS


@routine
def project_stepped_state(
    mode: ContactMode, row: Floats, s: TimeStepping, w: Switch, t: float, near: int, most: int
) -> bool:
    """Project the state of time steps at time t (s) onto the constraints of the contacts that carry a load;
    return whether the result, in x, can begin an event-driven arc.

    Parameters
    ----------
    mode
        Contact mode for `most` closed contacts with the table of contacts of the time steps.
    row
        Scratch for one contact row.
    s, w
        The time steps, and the data for changing the method.
    t
        Present time (s).
    near
        Number of nearby contacts in the table of contacts.
    most
        Largest number of contacts onto which the state is projected.
    """
    m = mode.motion
    n = m.y_z + m.states
    close_loaded_contacts(mode, s)
    count = mode.plan[CLOSED]
    put_state(mode.x, t, s.y, n)
    if compute_rank(mode, w.rank_work, mode.which, mode.status, count) is Rank.OVER_CONSTRAINED:
        mode.plan[CLOSED] = 0
        return False
    # Penetrating contacts without load are lifted to the ground. Their list needs scratch: the list
    # of contacts in reach, which the next step makes again.
    s.reach_count = -1
    inside = find_penetrating_contacts(m, mode.x, mode.contacts, near, row, s.reach)
    loaded = count
    for j in range(inside):
        k = s.reach[j]
        is_new = count < most
        for i in range(loaded):
            is_new = is_new and mode.which[i] != k
        if is_new:
            mode.which[count] = k
            mode.status[count] = Status.SLIDING
            mode.mu[count] = 0.0
            count += 1
    mode.plan[CLOSED] = count
    if count > 0:
        project_state(mode)
    mode.plan[CLOSED] = 0

    turned = 0.0
    moved = 0.0
    largest = 0.0
    for i in range(m.y_v):
        change = mode.x[1 + i] - s.y[i]
        if not isfinite(change):
            return False
        if i < w.turn_entries:
            turned += change * change
        elif i < w.turn_entries + w.position_entries:
            moved += change * change
        else:
            largest = max(largest, abs(change))
    largest = max(largest, max(sqrt(turned), sqrt(moved) / w.grid.wheel_size))
    return largest <= MAX_PROJECTION


@routine
def require_more(w: Switch, s: TimeStepping) -> None:
    """Double the number of steps with settled contacts that are required before event location resumes."""
    w.required = min(2 * w.required, MOST_SETTLED)
    s.required = w.required
    s.settled = 0
    w.is_settled = False
