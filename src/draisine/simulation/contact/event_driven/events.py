"""What happens at an event, as routines: which contacts touch, whether there is an impact, and which contacts
are closed afterwards, rolling or sliding.

Problem: at the instant of an event several contacts may touch. Some approach (impact), some separate, some
have come to the border of their feature. The next arc needs the set of closed contacts and their status.
Method, `resolve_event`:

1. `locate_wheels`, `mark_ending`: a contact at the border of its feature ends, with those that end with it.
2. `find_touching`: closed contacts, those that fired, and all others without a gap (`touches`).
3. `merge_coincident`: of contacts of one wheel at one point with one normal (a face and its edge, coplanar
   faces) the one onto which the wheel moves is kept: the hand-over between features.
4. `needs_impact`: if a contact approaches, the impact is resolved first (`impact.apply_impact`, or a model
   in Python).
5. `select_closed`: at acceleration level, by sets of closed contacts (ideal) or by Coulomb's law
   (`select_with_friction`). Lift-off is decided here: a contact without force whose gap accelerates opens.
6. `apply_slip_onset`: contacts that begin to slide get a first slip, by an impulse.

`Tolerances.gap_event` decides what touches, `no_approach` what is an impact, `no_load` what carries.
"""

from enum import IntEnum
from math import isfinite
from typing import NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Flags, Integers, call, routine
from draisine.mechanics.contact.features import FEATURE, LOAD
from draisine.simulation.contact.complementarity.active_set import (
    CONTACTS,
    Choice,
    choose,
    coulomb_forces,
    mark_closed,
    pushes_at,
    set_held_rows,
)
from draisine.simulation.contact.complementarity.coulomb import FrictionProblem
from draisine.simulation.contact.complementarity.linear import add_dot, max_difference, norm
from draisine.simulation.contact.complementarity.saddle_point import (
    SaddleStatus,
    set_row,
    solve_saddle_point,
)
from draisine.simulation.contact.event_driven.arc_integration import RunStatus, in_reach
from draisine.simulation.contact.kernels import (
    CLOSED,
    ROUNDS,
    SAME,
    ContactColumns,
    ContactMode,
    border_excess,
    evaluate_gap,
    evaluate_row,
    follow_load,
    project_state,
    rate,
    relative_velocity,
    slip_speed,
)
from draisine.simulation.contact.status import Status, count_rows

VERGE = 1e-6
"""Relative reduction of mu at a FRICTION_CONE event: a contact exactly on the cone is then found sliding."""

WILD = 100.0
"""Largest ratio of the single terms C_ij dv_j to the slip at its onset. Larger terms cancel, because rows
are nearly redundant.
"""

NONE, PUSHES = -1, -2
"""`EventState.part` of a candidate outside the contact problem, and of a compliant tyre without rows, which
enters as a force.
"""

MET, TOUCHING = range(2)
"""Entries of `EventState.sizes`. MET: number of touching contacts. TOUCHING: number of candidates, the
touching contacts left after `merge_coincident`.
"""


class SlipPlan(IntEnum):
    """What the first slip demands of a candidate."""

    NOTHING = 0
    BEGIN = 1  # it begins to slide: a first slip
    WATCH = 2  # it is open: it must not be made to approach
    KEEP_APART = 3  # it would be: no normal velocity


class EventState(NamedTuple):
    """An event: the mode that ends, the touching contacts and the choice among them.

    Arrays of flags, `closed_status`, `mu` and `inside` have one entry per contact of the table; `met` and
    `seen` one per touching contact; `who`, `near`, `status`, `part`, `chosen`, `slides`, `ways` and `beyond`
    one per candidate, a touching contact that counts (of several at one point only one does).
    """

    mode: ContactMode  # the mode before the event, then after it
    wheels: ContactColumns  # the wheels over level ground, for their centres
    choice: Choice  # the contact problem by sets of closed contacts
    law: FrictionProblem  # the contact problem with Coulomb friction
    most: int  # number of touching contacts that fit
    sizes: Integers  # MET touching contacts, TOUCHING candidates
    box: Floats  # (wheels, 2, 3) m, the wheels' centres
    inside: Floats  # border excess (`kernels.border_excess`) up to which a contact may touch
    dents: Floats  # m per wheel, deflection that a compliant tyre may have
    closed_status: Integers  # Status if it is closed and does not slip: in an impact
    mu: Floats  # friction coefficient, infinite for ideal contacts
    shut: Flags  # closed before the event
    fired: Flags  # its guard fired, or it has no load
    ended: Flags  # its feature ends here
    avoid: Flags  # it separates if another set is admissible
    met: Integers  # numbers of the touching contacts
    who: Integers  # numbers of the candidates
    chosen: Integers  # 1 if closed after the event
    beyond: Floats  # excess over the borders a moment later
    seen: Floats  # gaps of the touching contacts
    near: Floats  # rows of the candidates
    status: Integers  # Status of the candidate, if it is closed
    part: Integers  # its number in the choice, NONE or PUSHES
    slides: Integers  # SlipPlan
    ways: Floats  # (2) direction in which its slip begins
    y: Floats  # the state, and its time after it
    rates: Floats  # room


@routine
def resolve_event(e: EventState, own: int, unloads: bool, slipping: bool) -> RunStatus:
    """Find the contacts that touch and the closed contacts after the event with the state in x.

    The feature under contact `own` has ended, if that is not -1. If the event is about a force that
    vanishes (`unloads`), all contacts below `no_load` open, unless no other set is admissible. If it is
    about the friction cone (`slipping`), the contacts that fired may begin to slip.
    """
    s, m = e.mode, e.mode.motion
    locate_wheels(e)
    if unloads:
        if rate(s, e.rates, s.lam, s.seen) != 0:
            return RunStatus.CONTRADICTION
        for i in range(s.plan[CLOSED]):
            if s.lam[3 * i] < m.tol.no_load:
                e.fired[s.which[i]] = True
        for k in range(s.contacts.size):
            e.avoid[k] = e.avoid[k] or e.fired[k]
    call(m.call, s.x, m.table, s.out, 1)
    if own >= 0:
        mark_ending(e, own)
    if not find_touching(e):
        return RunStatus.TOO_MANY_CONTACTS
    merge_coincident(e)
    evaluate_candidates(e)
    how = needs_impact(e)
    return select_next_mode(e, slipping) if how is RunStatus.RESOLVED else how


@routine
def select_next_mode(e: EventState, slipping: bool) -> RunStatus:
    """Find the closed contacts of the state in x among those that touch, and project the state."""
    s = e.mode
    call(s.motion.call, s.x, s.motion.table, s.out, 1)
    evaluate_candidates(e)
    how = select_closed(e, slipping)
    keep_state(e)
    if how is RunStatus.RESOLVED:
        project_state(s)
    return how


@routine
def keep_state(e: EventState) -> None:
    """Keep the state in x, and its time after it."""
    n = e.mode.motion.y_z + e.mode.motion.states
    e.y[n] = e.mode.x[0]
    e.y[:n] = e.mode.x[1 : 1 + n]


@routine
def move_state(e: EventState, ahead: float) -> None:
    """Put the state that was kept into x, a little later."""
    m, x = e.mode.motion, e.mode.x
    x[0] = e.y[m.y_z + m.states] + ahead
    x[m.x_q :][: m.y_v] = e.y[: m.y_v] + ahead * e.mode.out[m.flow :][: m.y_v]


# --- what touches


@routine
def locate_wheels(e: EventState) -> None:
    """Mark the closed contacts, keep the state in x, and write where wheels' centres are."""
    s, m = e.mode, e.mode.motion
    e.shut[: s.contacts.size] = False
    for i in range(s.plan[CLOSED]):
        e.shut[s.which[i]] = True
    keep_state(e)
    for w in range(e.wheels.size):
        evaluate_gap(s.x, e.wheels, w, e.seen)
        e.box[6 * w :][:3] = e.seen[m.centre :][:3]
        e.box[6 * w + 3 :][:3] = e.seen[m.centre :][:3]


@routine
def mark_ending(e: EventState, own: int) -> None:
    """Mark a contact whose feature ends, with all that end under the same wheel at once: a face and
    its edge, where the wheel runs along the seam.
    """
    s, m, b = e.mode, e.mode.motion, e.mode.contacts
    e.ended[own] = True
    for k in range(b.size):
        if k == own or b.wheels[k] != b.wheels[own] or not in_reach(m.tol, b, e.box, k):
            continue
        evaluate_gap(s.x, b, k, e.seen)
        if abs(e.seen[m.gap]) <= m.tol.gap_event:
            now = border_excess(m, b, k, e.seen)
            move_state(e, m.tol.lookahead)
            evaluate_gap(s.x, b, k, e.seen)
            move_state(e, 0.0)
            e.ended[k] = border_excess(m, b, k, e.seen) > max(now, 0.0)


@routine
def find_touching(e: EventState) -> bool:
    """Write the contacts that touch: the closed ones that have not ended, those that fired, and all
    others without a gap; return whether there is room for all.
    """
    s, m, b, count = e.mode, e.mode.motion, e.mode.contacts, 0
    for k in range(b.size):
        known = e.shut[k] or e.fired[k]
        if e.ended[k] or (not known and not in_reach(m.tol, b, e.box, k)):
            continue
        row = e.seen[count * m.row :]
        evaluate_gap(s.x, b, k, row)
        if known or touches(e, k, row):
            if count == e.most:
                return False
            e.met[count] = k
            count += 1
    e.sizes[MET] = count
    return True


@routine
def touches(e: EventState, k: int, row: Floats) -> bool:
    """Return whether an open contact touches its feature; `row` holds its gap, and then all of its row."""
    m = e.mode.motion
    gap = row[m.gap]
    # A compliant tyre may be deflected when it comes onto another feature.
    deflection = e.dents[e.mode.contacts.wheels[k]]
    # Reject by the gap alone first: evaluating the whole row is expensive. A gap that is not a number
    # belongs to no contact.
    if gap > m.tol.gap_search or not -gap <= m.tol.gap_search + deflection:
        return False
    evaluate_row(e.mode.x, e.mode.contacts, k, row)
    # Contacts that close together belong to one event. A fast approach crosses a larger gap within the
    # resolution of time, so that the bound grows with it.
    approach = abs(row[m.stretch] * relative_velocity(e.mode.x, row, m, 0))
    bound = m.tol.gap_event + m.tol.event_resolution * approach
    if gap > bound or not -gap <= bound + deflection:
        return False
    # Walkers disarm a swinging foot, so that it does not scuff.
    if not row[m.armed] > 0.0:
        return False
    # Hysteresis: after leaving a feature, a wheel touches it again only if it is inside its border by
    # `Tolerances.border`; otherwise the same hand-over repeats.
    return border_excess(m, e.mode.contacts, k, row) <= e.inside[k]


@routine
def merge_coincident(e: EventState) -> None:
    """Keep the contacts; of those of one wheel at one point with the same normal (coplanar faces, a
    face and its edge, edges at a vertex) only the one that the wheel is about to be on.
    """
    s, m, b, count = e.mode, e.mode.motion, e.mode.contacts, 0
    move_state(e, m.tol.lookahead)
    for i in range(e.sizes[MET]):
        evaluate_gap(s.x, b, e.met[i], e.near)
        beyond, same = border_excess(m, b, e.met[i], e.near), count
        for j in range(count - 1, -1, -1):
            same = j if is_same(e, i, e.part[j]) else same
        if same == count or beyond < e.beyond[same]:
            e.part[same], e.beyond[same], e.who[same] = i, beyond, e.met[i]
            count = max(count, same + 1)
    move_state(e, 0.0)
    e.sizes[TOUCHING] = count


@routine
def is_same(e: EventState, i: int, j: int) -> bool:
    """Return whether two touching contacts belong to one wheel, at one point with the same normal."""
    m = e.mode.motion
    wheels = e.mode.contacts.wheels
    one = e.seen[i * m.row :]
    two = e.seen[j * m.row :]
    if wheels[e.met[i]] != wheels[e.met[j]]:
        return False
    if max_difference(one[m.normal :], two[m.normal :], 3) >= m.tol.same_normal:
        return False
    return max_difference(one[m.point :], two[m.point :], 3) < m.tol.same_point


# --- what comes of it


@routine
def evaluate_candidates(e: EventState) -> None:
    """Write what the contacts that are left look like, and what rows they hold in an impact."""
    for j in range(e.sizes[TOUCHING]):
        k = e.who[j]
        e.mode.contacts.features[k * FEATURE + LOAD] = e.mode.motion.share
        evaluate_row(e.mode.x, e.mode.contacts, k, e.near[j * e.mode.motion.row :])
        e.status[j] = e.closed_status[k]
        e.slides[j] = SlipPlan.NOTHING
        e.part[j] = NONE


@routine
def needs_impact(e: EventState) -> RunStatus:
    """Return IMPACT if a contact approaches, or if an ideal wheel that will stay on the ground still slips;
    else RESOLVED, or NO_CONTACT_SET.
    """
    s, m, some, g = e.mode, e.mode.motion, False, e.choice
    for j in range(e.sizes[TOUCHING]):
        k, row = e.who[j], e.near[j * m.row :]
        over = relative_velocity(s.x, row, m, 0)
        if count_rows(e.status[j]) > 0 and over < -m.tol.no_approach:
            return RunStatus.IMPACT
        e.part[j] = 0 if over <= m.tol.no_approach else NONE
        rests = abs(over) <= m.tol.no_approach
        if not e.shut[k] and not isfinite(e.mu[k]) and rests and is_slipping(e, j):
            e.slides[j] = SlipPlan.BEGIN
            e.status[j] = Status.SLIDING
            some = True
    if not some:
        return RunStatus.RESOLVED
    which = choose_contact_set(e)
    if which < 0:
        return RunStatus.NO_CONTACT_SET
    push = g.trials[pushes_at(g, which) :]
    for j in range(e.sizes[TOUCHING]):
        if e.slides[j] == SlipPlan.BEGIN and e.part[j] >= 0 and push[3 * e.part[j]] > m.tol.pressed:
            return RunStatus.IMPACT
    return RunStatus.RESOLVED


@routine
def is_slipping(e: EventState, j: int) -> bool:
    """Return whether a contact slips."""
    m = e.mode.motion
    return slip_speed(e.mode.x, e.near[j * m.row :], m) > m.tol.slip_detected


@routine
def choose_contact_set(e: EventState) -> int:
    """Return the trial at acceleration level that is admissible, -1 if none; tyres whose forces do not
    grow evenly with their loads are taken about loads that follow what comes out.
    """
    m, g, which, rounds, change = e.mode.motion, e.choice, -1, 0, 1.0
    while change > SAME and rounds < ROUNDS:
        assemble_choice(e)
        which, change = choose(g, m.tol.set_pull, m.tol.no_acceleration, 0, 0), 0.0
        push = g.trials[pushes_at(g, max(which, 0)) :]
        for j in range(e.sizes[TOUCHING] if m.acted > 0 else 0):
            row, at = e.near[j * m.row :], max(e.part[j], 0)
            if e.part[j] >= 0 and row[m.uneven] > 0.0 and push[3 * at] != 0.0:
                k = e.who[j]
                change = max(change, follow_load(m.tol, e.mode.contacts, k, push[3 * at]))
                evaluate_row(e.mode.x, e.mode.contacts, e.who[j], row)
        rounds += 1
    return which


@routine
def assemble_choice(e: EventState) -> None:
    """Put the contacts that take part into the choice at acceleration level, eq. [contact-set]; tyres
    on springs push anyway.
    """
    m, g, n, count = e.mode.motion, e.choice, e.choice.n, 0
    assemble_machine(e)
    g.right[:n] = -e.mode.out[m.F :][:n]
    g.targets[: g.holds] = e.mode.out[m.held_c :][: g.holds]
    for j in range(e.sizes[TOUCHING]):
        row = e.near[j * m.row :]
        if e.part[j] == NONE:
            continue
        if count_rows(e.status[j]) == 0:
            e.part[j] = PUSHES
            g.right[:n] += row[m.push :][:n]
        else:
            e.part[j] = count
            assemble_contact(e, j, row)
            count += 1
    g.sizes[CONTACTS] = count


@routine
def assemble_machine(e: EventState) -> None:
    """Put the mass matrix into the choice, and the rows that hold whatever touches."""
    m, g, n, out = e.mode.motion, e.choice, e.choice.n, e.mode.out
    g.M[: n * n] = out[m.M :][: n * n]
    g.held[: g.holds * n] = out[m.held :][: g.holds * n]


@routine
def assemble_rows(e: EventState, at: int, k: int, row: Floats, rows: int) -> None:
    """Put the rows of a contact into the choice, of which it holds so many."""
    m, g, size = e.mode.motion, e.choice, 3 * e.choice.n
    g.C[at * size :][:size] = row[m.C :][:size]
    g.G[at * size :][:size] = row[m.C :][:size]
    g.rows[at], g.wheels[at] = rows, e.mode.contacts.wheels[k]


@routine
def assemble_contact(e: EventState, j: int, row: Floats) -> None:
    """Put a contact into the choice; one that slides drags against its slip."""
    s, m, g, n, at, k = e.mode, e.mode.motion, e.choice, e.choice.n, e.part[j], e.who[j]
    C, G = row[m.C :], g.G[3 * at * n :]
    assemble_rows(e, at, k, row, count_rows(e.status[j]))
    g.c[3 * at :][:3] = row[m.c :][:3]
    g.level[at], g.avoid[at] = row[m.c], int(e.avoid[k])
    g.push[at * n :][:n] = 0.0
    if m.acted > 0:
        g.push[at * n :][:n] = row[m.push :][:n]
        G[:n] += row[m.lift :][:n]
    if e.status[j] == Status.SLIDING and isfinite(e.mu[k]) and e.mu[k] > 0.0:
        s1, s2 = relative_velocity(s.x, row, m, 1), relative_velocity(s.x, row, m, 2)
        if norm(s1, s2) > 0.0:
            G[:n] -= e.mu[k] * (s1 * C[n:][:n] + s2 * C[2 * n :][:n]) / norm(s1, s2)


@routine
def select_closed(e: EventState, slipping: bool) -> RunStatus:
    """Write which contacts stay closed, rolling or sliding; one that begins to slip is given a first
    small slip.
    """
    s, m, g, rubs = e.mode, e.mode.motion, e.choice, False
    for j in range(e.sizes[TOUCHING]):
        k, row = e.who[j], e.near[j * m.row :]
        stays = not e.avoid[k]
        if count_rows(e.status[j]) > 0:
            stays = relative_velocity(s.x, row, m, 0) <= m.tol.separation
        e.part[j] = 0 if stays else NONE
        if stays:
            if e.status[j] == Status.ROLLING and is_slipping(e, j):
                e.status[j] = Status.SLIDING
            rubs = rubs or (isfinite(e.mu[k]) and e.mu[k] > 0.0)
        e.chosen[j] = 1 if stays and count_rows(e.status[j]) == 0 else 0
    if rubs:
        return select_with_friction(e, slipping)
    which = choose_contact_set(e)
    if which < 0:
        return RunStatus.NO_CONTACT_SET
    mark_closed(g, which)
    for j in range(e.sizes[TOUCHING]):
        if e.part[j] >= 0:
            e.chosen[j] = g.closed[e.part[j]]
    apply_slip_onset(e)
    close_contacts(e)
    return RunStatus.RESOLVED


@routine
def close_contacts(e: EventState) -> None:
    """Make the contacts that are chosen the closed ones."""
    s, count = e.mode, 0
    for j in range(e.sizes[TOUCHING]):
        if e.chosen[j] == 1:
            k = e.who[j]
            s.which[count], s.status[count] = k, e.status[j]
            s.mu[count] = e.mu[k] if isfinite(e.mu[k]) else 0.0
            count += 1
    s.plan[CLOSED] = count


@routine
def select_with_friction(e: EventState, slipping: bool) -> RunStatus:
    """Select closed contacts and slip by Coulomb's law at acceleration level."""
    m, g, law, n = e.mode.motion, e.choice, e.law, e.choice.n
    assemble_choice(e)
    for j in range(e.sizes[TOUCHING]):
        if e.part[j] >= 0:
            law.mu[e.part[j]] = e.mu[e.who[j]] * (1.0 - VERGE * float(slipping))
    if g.sizes[CONTACTS] > 0 and coulomb_forces(g, law) == 1:
        return RunStatus.NO_FRICTION_FORCES
    if slipping:
        force_slip(e)
    for j in range(e.sizes[TOUCHING]):
        at, row, k = e.part[j], e.near[j * m.row :], e.who[j]
        if at < 0:
            continue
        push, parts = law.new[law.at[at] :], add_dot(-row[m.c], row[m.C :], g.x, n)
        stays = not e.avoid[k] and parts <= m.tol.no_separation  # without a force
        carries = push[0] > (m.tol.no_load if e.avoid[k] else 0.0)
        e.chosen[j] = 1 if carries or stays else 0
        rolls = e.chosen[j] == 1 and e.status[j] == Status.ROLLING
        if rolls and law.kinds[at] == Status.SLIDING:
            begin_slip(e, j, push)
    apply_slip_onset(e)
    close_contacts(e)
    return RunStatus.RESOLVED


@routine
def force_slip(e: EventState) -> None:
    """Let those that fired slide where nothing changes else: what they carry is too little to tell."""
    s, kinds, some = e.mode, e.law.kinds, False
    for j in range(e.sizes[TOUCHING]):
        rolls = e.part[j] >= 0 and e.status[j] == Status.ROLLING
        if rolls and kinds[e.part[j]] == Status.SLIDING:
            some = True
        for i in range(s.plan[CLOSED]):
            if s.which[i] == e.who[j] and s.status[i] != e.status[j]:
                some = True  # one that slid holds
    for j in range(e.sizes[TOUCHING]):
        if not some and e.part[j] >= 0 and e.fired[e.who[j]]:
            kinds[e.part[j]] = Status.SLIDING


@routine
def begin_slip(e: EventState, j: int, push: Floats) -> None:
    """Let a contact slide, and write how its slip begins to grow: against its friction where that cannot
    be told. What carries nothing needs no friction.
    """
    m, n, x, way = e.mode.motion, e.choice.n, e.choice.x, e.ways[2 * j :]
    row, size = e.near[j * m.row :], norm(push[1], push[2])
    if push[0] < m.tol.no_load or size == 0.0:
        return
    way[0] = add_dot(-row[m.c + 1], row[m.C + n :], x, n)
    way[1] = add_dot(-row[m.c + 2], row[m.C + 2 * n :], x, n)
    if not norm(way[0], way[1]) > m.tol.no_acceleration:
        way[0], way[1] = -push[1] / size, -push[2] / size
    e.slides[j] = SlipPlan.BEGIN
    e.status[j] = Status.SLIDING


@routine
def apply_slip_onset(e: EventState) -> None:
    """Change the speeds in x, by impulses, so that rolling contacts do not slip and those that begin
    to slide have a first slip; no other contact that touches comes to approach by it.
    """
    m, x, g, n, some, more = e.mode.motion, e.mode.x, e.choice, e.choice.n, 0, True
    scale_slips(e)
    for j in range(e.sizes[TOUCHING]):
        some += e.chosen[j]
        if e.part[j] >= 0 and e.chosen[j] == 0:
            approach = -relative_velocity(x, e.near[j * m.row :], m, 0)
            e.slides[j] = SlipPlan.WATCH if approach <= m.tol.no_approach else SlipPlan.NOTHING
    if some == 0:
        return
    while more:
        more = False
        solve_speed_change(e)
        for j in range(e.sizes[TOUCHING]):
            if e.slides[j] == SlipPlan.WATCH:
                row = e.near[j * m.row :]
                after = add_dot(relative_velocity(x, row, m, 0), row[m.C :], g.x, n)
                if after < -m.tol.no_approach:
                    e.slides[j] = SlipPlan.KEEP_APART
                    more = True
            if e.chosen[j] == 1 and e.slides[j] == SlipPlan.BEGIN and not can_begin_slip(e, j):
                # The other contacts leave it no slip.
                e.slides[j] = SlipPlan.NOTHING
                e.status[j] = Status.ROLLING
                more = True
    x[m.x_v :][:n] += g.x[:n]


@routine
def can_begin_slip(e: EventState, j: int) -> bool:
    """Return whether the change of the speeds lets the point of a contact slip, and is small: where rows all
    but repeat each other, a little slip would take large speeds that cancel.
    """
    x, m, g, most = e.mode.x, e.mode.motion, e.choice, 0.0
    row = e.near[j * m.row :]
    for i in range(1, 3):
        C, parts = row[m.C + i * g.n :], 0.0
        for k in range(g.n):
            parts += abs(C[k] * g.x[k])
        if parts > WILD * m.tol.slip_onset:
            return False
        most = max(most, abs(add_dot(relative_velocity(x, row, m, i), C, g.x, g.n)))
    return most > 0.1 * m.tol.slip_onset


@routine
def scale_slips(e: EventState) -> None:
    """Scale the ways of contacts that begin to slide so that the fastest has length one, as wheels of one
    axle slip across together, and none is so slow that it sticks at once.
    """
    fastest = 0.0
    for j in range(e.sizes[TOUCHING]):
        if e.slides[j] == SlipPlan.BEGIN:
            fastest = max(fastest, norm(e.ways[2 * j], e.ways[2 * j + 1]))
    for j in range(e.sizes[TOUCHING]):
        if e.slides[j] == SlipPlan.BEGIN:
            size = norm(e.ways[2 * j], e.ways[2 * j + 1])
            e.ways[2 * j :][:2] *= max(size / fastest, 0.2) / size


@routine
def solve_speed_change(e: EventState) -> None:
    """Write the change of the speeds after which contacts do what is demanded: those that carry and
    those that would approach otherwise.
    """
    m, x, g, n, size, at = e.mode.motion, e.mode.x, e.choice, e.choice.n, e.choice.holds, 0
    for j in range(e.sizes[TOUCHING]):
        size += count_demanded_rows(e, j)
    for j in range(e.sizes[TOUCHING]):
        row = e.near[j * m.row :]
        for i in range(count_demanded_rows(e, j)):
            wanted = -relative_velocity(x, row, m, i)
            if i > 0 and e.slides[j] == SlipPlan.BEGIN:
                wanted += m.tol.slip_onset * e.ways[2 * j + i - 1]
            set_row(g.system, at, row[m.C + i * n :], row[m.C + i * n :], wanted)
            at += 1
    set_held_rows(g, at, 0.0)
    g.system.force[:n] = 0.0
    g.system.rows = size
    if solve_saddle_point(g.system) is SaddleStatus.UNSOLVABLE:
        g.x[:n] = 0.0


@routine
def count_demanded_rows(e: EventState, j: int) -> int:
    """Return how many rows of a contact demand a speed."""
    if e.chosen[j] == 1:
        return 3 if e.slides[j] == SlipPlan.BEGIN else count_rows(e.status[j])
    return 1 if e.slides[j] == SlipPlan.KEEP_APART else 0
