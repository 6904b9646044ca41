"""Time stepping of a run without Python: step length, search of ground features, and the changes between
event location and time stepping.

The routines do what `stepping.arc.TimeStepper` and `stepping.switch` do for runs in Python: steps lie on a
grid whose spacing follows the position error, a run changes to time steps if event location makes no
progress, and returns when the same contacts have carried their loads with margin.
"""

from enum import IntEnum
from math import isfinite, sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import IntegerMatrix, Integers, Matrix, Record, routine
from draisine.simulation.contact.event_driven.rank import Rank, RankWork, compute_rank
from draisine.simulation.contact.event_driven.run_loop import EventCause, RunLoop
from draisine.simulation.contact.kernels import (
    CLOSED,
    evaluate_gap,
    project_state,
    put_state,
)
from draisine.simulation.contact.samples import touches_or_penetrates
from draisine.simulation.contact.standalone.ground import (
    GroundTable,
    fill_slots,
    find_slot,
    is_used,
    keep_contact,
    locate_centres,
    widen_boxes,
)
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping.grid import (
    ADAPT_STEPS,
    StepGrid,
    StepSamples,
    begin_grid,
    take_grid_steps,
)
from draisine.simulation.contact.stepping.step import (
    StepResult,
    TimeStepping,
)
from draisine.simulation.contact.stepping.switch import (
    CROWDED_EVENTS,
    FIRST_SETTLED,
    MAX_PROJECTION,
    MIN_STEP_RATIO,
    MOST_SETTLED,
    PROGRESS_STEPS,
)

RANK_SETS = 256  # number of sets of rolling contacts whose rank is cached

NO_STEP = float("inf")  # s, bound of a step length that is not bounded


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


class StepFailure(IntEnum):
    """Reasons why a run ends during time stepping; their values follow those of `RunStatus`."""

    OVER_CONSTRAINED = 19  # ideal contacts over-constrain the system
    INFEASIBLE = 20  # a prescribed motion pushes a contact into the ground
    NOT_FINITE = 21
    SINGULAR_MASS = 22
    TOO_FAST = 23  # a wheel moves by more than its size in the shortest step


class Switch(Record):
    """Data for changing between event location and time stepping, and the grid of the time steps."""

    solver: SolverChoice
    is_stepping: bool = False
    is_settled: bool = False  # whether contacts were settled for `required` steps

    # Time steps
    grid: StepGrid
    margin: float  # m, distance around the wheels within which time steps search ground features

    # Return to event location
    required: int = FIRST_SETTLED  # number of settled steps before event location resumes
    resumed: float = -NO_STEP  # s, time at which event location resumed last

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
    recent_time: Floats  # (2 CROWDED_EVENTS) s, times of the latest events
    recent_kind: Integers  # (2 CROWDED_EVENTS) EventCause or MethodChange of each latest event
    recent_state: Matrix  # (2 CROWDED_EVENTS, n) state before each latest event

    # Scratch
    carried: Matrix  # (k, 4) impulses (N s) and load (N) of contacts whose indices change

    # Entries of the state
    turn_entries: int  # number of entries of the state for the rotation of the base
    position_entries: int  # number of entries for the position of the base, which follow


@routine
def remember_event(w: Switch, t: float, kind: int, y: Floats, n: int) -> None:
    """Add an event to the list of latest events; the oldest one is removed."""
    most = 2 * CROWDED_EVENTS
    if w.recent_count == most:
        for i in range(most - 1):
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
def is_crowded_by(w: Switch, h: float) -> bool:
    """Return whether the latest events follow each other faster than time steps of length h (s) would."""
    last = 0.0
    count = 0
    for i in range(w.recent_count - 1, -1, -1):
        kind = w.recent_kind[i]
        if kind != EventCause.COLLISION and kind != EventCause.INPUT:
            if count == 0:
                last = w.recent_time[i]
            count += 1
            if count == CROWDED_EVENTS:
                return last - w.recent_time[i] < CROWDED_EVENTS * h
    return False


# --- rank of the rolling contacts


@routine
def count_rolling(r: RunLoop) -> int:
    """Return the number of closed contacts that roll."""
    rolling = 0
    for i in range(r.arc.mode.plan[CLOSED]):
        if r.arc.mode.status[i] == Status.ROLLING:
            rolling += 1
    return rolling


@routine
def find_rank(r: RunLoop, g: GroundTable, w: Switch) -> Rank:
    """Return the `Rank` of the constraint rows of the rolling contacts of the present contact mode; the rank
    of each contact set is computed once.
    """
    mode = r.arc.mode
    if count_rolling(r) < 2:
        return Rank.INDEPENDENT
    key = w.rank_sets[w.rank_count]
    count = 0
    for i in range(mode.plan[CLOSED]):
        if mode.status[i] == Status.ROLLING:
            keep_contact(r, g, 0, mode.which[i])
            key[1 + 3 * count :][:3] = g.kept[0, :3]
            count += 1
    key[0] = count
    for i in range(w.rank_count):
        known = w.rank_sets[i]
        is_same = known[0] == count
        for j in range(3 * count if is_same else 0):
            is_same = is_same and known[1 + j] == key[1 + j]
        if is_same:
            return Rank(w.ranks[i])
    put_state(mode.x, r.arc.clock.time, r.arc.stages.y, r.arc.stages.n)
    rank = compute_rank(mode, w.rank_work, mode.which, mode.status, mode.plan[CLOSED])
    w.ranks[w.rank_count] = rank
    w.rank_count = (w.rank_count + 1) % RANK_SETS
    return rank


@routine
def has_ideal_conflict(r: RunLoop, g: GroundTable, w: Switch) -> bool:
    """Return whether ideal contacts over-constrain the system, so that it is undetermined which of them
    slips.
    """
    mode = r.arc.mode
    ideal = 0
    for i in range(mode.plan[CLOSED]):
        if mode.status[i] == Status.ROLLING and not isfinite(r.event.mu[mode.which[i]]):
            ideal += 1
    return ideal >= 2 and find_rank(r, g, w) is Rank.OVER_CONSTRAINED


# --- contacts near the wheels


@routine
def follow_slots(r: RunLoop, g: GroundTable, s: TimeStepping) -> None:
    """Write status and friction coefficient of each slot into the record of time stepping, and clear the
    impulses of earlier steps.
    """
    for k in range(g.slots):
        wheel = r.arc.mode.contacts.wheels[k]
        s.tyred[k] = wheel < g.wheels and g.features[k] >= 0 and g.tyres[min(wheel, g.wheels)] >= 0
        s.closed_status[k] = r.event.closed_status[k]
        s.mu[k] = r.event.mu[k]
        if s.tyred[k]:
            # A tyre without longitudinal slip (two constraint rows) has no friction limit along.
            s.mu[k] = NO_STEP if s.closed_status[k] == Status.TRACKING_TYRE else 0.0
        s.carried[k] = s.motion.share
        for j in range(3):
            s.warm[k, j] = 0.0
    s.reach_count = -1
    s.loaded_count = 0
    s.settled = 0
    s.warmed_count = 0


@routine
def search_for_steps(
    r: RunLoop, g: GroundTable, s: TimeStepping, w: Switch, has_path: bool
) -> bool:
    """Find the contacts that are possible near the boxes `TimeStepping.box` of the wheel centres; return
    whether the table has room for them. Impulses and loads of the last step stay with their contacts.
    """
    arc = r.arc
    kept = 0
    for i in range(s.warmed_count):
        k = s.warmed[i]
        if s.warm[k, 0] != 0.0:
            keep_contact(r, g, kept, k)
            for j in range(3):
                w.carried[kept, j] = s.warm[k, j]
            w.carried[kept, 3] = s.carried[k]
            kept += 1
    for i in range(6 * g.wheels):
        arc.box[i] = s.box[i]
    for wheel in range(g.wheels):
        for j in range(3):
            g.begin[3 * wheel + j] = s.centre[wheel, j]
    margin = w.margin
    widen_boxes(arc, g, margin, has_path)
    fits = fill_slots(r, g)
    for _ in range(8):
        if not fits:
            margin *= 0.5
            widen_boxes(arc, g, margin, has_path)
            fits = fill_slots(r, g)
    if not fits:
        return False
    follow_slots(r, g, s)
    s.swept[: 6 * g.wheels] = arc.swept[: 6 * g.wheels]
    for i in range(kept):
        k = find_slot(r, g, i)
        if k >= 0:
            for j in range(3):
                s.warm[k, j] = w.carried[i, j]
            s.carried[k] = w.carried[i, 3]
            s.warmed[s.warmed_count] = k
            s.warmed_count += 1
    return True


# --- time steps


@routine
def begin_steps(
    r: RunLoop, g: GroundTable, s: TimeStepping, samples: StepSamples, w: Switch, h: float
) -> bool:
    """Begin time stepping with steps of length h (s) at the present state; return whether the table of
    contacts has room for those near the wheels.
    """
    arc = r.arc
    n = arc.stages.n
    t = arc.clock.time
    w.is_stepping = True
    w.is_settled = False
    w.grid.block = 0
    w.grid.error = 0.0
    begin_grid(w.grid, t, h)
    s.y[:n] = arc.stages.y[:n]
    s.before[:n] = arc.stages.y[:n]
    s.middle[:n] = arc.stages.y[:n]
    s.has_trend = False
    s.trend[: s.motion.speeds] = 0.0
    s.error = 0.0
    s.travel = 0.0
    s.settled = 0
    s.required = w.required if w.solver is SolverChoice.AUTO else 0
    s.warmed_count = 0
    s.blocked = -1
    s.accepts_blocked = False
    s.airborne[: g.wheels] = 0.0
    put_state(arc.mode.x, t, arc.stages.y, n)
    locate_centres(arc, g)
    for wheel in range(g.wheels):
        for j in range(3):
            s.centre[wheel, j] = g.begin[3 * wheel + j]
            s.box[6 * wheel + j] = g.begin[3 * wheel + j]
            s.box[6 * wheel + 3 + j] = g.begin[3 * wheel + j]
    samples.count = 0
    samples.begin = t
    samples.number = int((t - samples.first) / samples.dt + 1e-9) + 1
    # The present state is the first sample of the trajectory arc.
    arc.times[arc.clock.samples] = t
    arc.samples[arc.clock.samples * n :][:n] = s.y[:n]
    arc.clock.samples += 1
    arc.clock.latest_sample = t
    return search_for_steps(r, g, s, w, False)


@routine
def advance_grid(
    r: RunLoop, s: TimeStepping, samples: StepSamples, w: Switch, until: float
) -> StepResult:
    """Take the next time steps of the grid, at most until time `until` (s), and store their samples."""
    arc = r.arc
    n = arc.stages.n
    result = take_grid_steps(w.grid, s, samples, until, ADAPT_STEPS)
    for i in range(samples.count):
        arc.times[arc.clock.samples] = samples.times[i]
        arc.samples[arc.clock.samples * n :][:n] = samples.states[i][:n]
        arc.clock.samples += 1
        arc.clock.latest_sample = samples.times[i]
    samples.count = 0
    arc.clock.time = w.grid.time
    arc.stages.y[:n] = s.y[:n]
    w.is_settled = result is StepResult.SETTLED
    return result


# --- changes of the method


@routine
def find_congestion(w: Switch, begin: float, t: float, steps: int, h: float) -> bool:
    """Return whether time steps of a length (s) would advance faster than event location, which took some
    steps since a time.
    """
    if is_crowded_by(w, h):
        return True
    return steps >= PROGRESS_STEPS and t - begin < MIN_STEP_RATIO * steps * h


@routine
def watch_rank(r: RunLoop, g: GroundTable, w: Switch) -> None:
    """Stop checking the rank after each event if the constraint rows of the rolling contacts are
    independent.
    """
    if w.watches_rank and count_rolling(r) > 1:
        w.watches_rank = find_rank(r, g, w) is not Rank.INDEPENDENT


@routine
def discard_short_arcs(r: RunLoop, w: Switch, h: float) -> None:
    """Go back over the latest trajectory arcs that are shorter than half a time step, with the events before
    them: time steps replace them. Impacts stay.
    """
    clock = r.arc.clock
    n = r.arc.stages.n
    is_stepped = False
    while w.arcs > 1 and w.recent_count > 0 and not is_stepped:
        last = w.recent_count - 1
        if (
            w.recent_kind[last] == EventCause.COLLISION
            or clock.time - w.recent_time[last] >= 0.5 * h
        ):
            return
        clock.time = w.recent_time[last]
        r.arc.stages.y[:n] = w.recent_state[last, :n]
        is_stepped = w.recent_kind[last] == MethodChange.EVENT_LOCATION
        w.recent_count -= 1
        w.arcs -= 1
        if r.progress.events > 0:
            r.progress.events -= 1
    while clock.samples > 0 and r.arc.times[clock.samples - 1] > clock.time:
        clock.samples -= 1


@routine
def close_loaded_contacts(r: RunLoop, s: TimeStepping) -> None:
    """Write the contacts that carry a load in time stepping as closed contacts into the contact mode of
    event-driven integration.
    """
    mode = r.arc.mode
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
def project_stepped_state(r: RunLoop, g: GroundTable, s: TimeStepping, w: Switch) -> bool:
    """Project the state of time steps onto the constraints of the contacts that carry a load; return whether
    the result, in x, can begin an event-driven arc.
    """
    mode = r.arc.mode
    m = r.arc.mode.motion
    n = r.arc.stages.n
    close_loaded_contacts(r, s)
    count = mode.plan[CLOSED]
    put_state(mode.x, r.arc.clock.time, s.y, n)
    if compute_rank(mode, w.rank_work, mode.which, mode.status, count) is Rank.OVER_CONSTRAINED:
        return False
    loaded = count
    for k in range(mode.contacts.size):
        is_new = is_used(g, k) and count < r.event.most
        for i in range(loaded):
            is_new = is_new and mode.which[i] != k
        if is_new:
            evaluate_gap(mode.x, mode.contacts, k, r.arc.rows)
            gap = r.arc.rows[m.gap]
            if gap < 0.0 and touches_or_penetrates(m, mode.contacts, k, r.arc.rows):
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
