"""Resolution of an event: touching contacts, impact, and contact mode after the event.

Problem: at the instant of an event several contacts may touch. Some approach (impact), some separate, some
have reached the border of their ground feature. The next smooth arc needs the set of closed contacts and the
status (rolling or sliding) of each. Method, `resolve_event`:

1. `store_wheel_centres`, `mark_ending`: a contact at the border of its feature ends, together with the other
   contacts of its wheel at this border.
2. `find_touching`: touching contacts are the closed contacts, those whose guard fired, and all others
   without a gap (`open_contact_touches`).
3. `merge_coincident`: if several contacts of one wheel have the same point and normal (a face and its edge,
   coplanar faces), only the contact onto which the wheel moves is kept: the hand-over between features.
4. `needs_impact`: if a contact approaches, the impact is resolved first (`impact.apply_impact`, or a model
   in Python).
5. `select_closed`: select the closed contacts at acceleration level, by enumeration of contact sets (ideal
   contacts) or by Coulomb's law (`select_with_friction`). This step also decides lift-off: a contact without
   force opens if its gap accelerates.
6. `apply_slip_onset`: contacts that begin to slide get a small initial slip, by an impulse.

`Tolerances.gap_event` decides which contacts touch, `no_approach` whether there is an impact, and `no_load`
which contacts carry a load.
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
    choose_set,
    mark_closed,
    multiplier_offset,
    solve_coulomb_forces,
)
from draisine.simulation.contact.complementarity.coulomb import FrictionProblem
from draisine.simulation.contact.complementarity.linear import add_dot, max_difference, plane_norm
from draisine.simulation.contact.complementarity.saddle_point import (
    SaddleStatus,
    set_equality_rows,
    set_row,
    solve_saddle_point,
)
from draisine.simulation.contact.event_driven.arc_integration import RunStatus, is_in_reach
from draisine.simulation.contact.kernels import (
    CLOSED,
    CONVERGED_LOAD,
    MAX_LOAD_ITERATIONS,
    ContactColumns,
    ContactMode,
    border_excess,
    evaluate_gap,
    evaluate_row,
    project_state,
    relative_velocity,
    slip_speed,
    solve_rates,
    update_tyre_load,
)
from draisine.simulation.contact.status import Status, count_rows

CONE_REDUCTION = 1e-6
"""Relative reduction of the friction coefficient at a FRICTION_CONE event.

The contact is then exactly on its friction cone. Without the reduction, rounding errors would decide whether
it slides.
"""

MAX_CANCELLATION = 100.0
"""Largest allowed cancellation in an initial slip C dv, with constraint rows C and speed changes dv.

It is the ratio of the sum of |C_ij dv_j| to the initial slip. A larger ratio means that the constraint rows
are nearly redundant: the contact then keeps rolling.
"""

SMALLEST_ONSET = 0.2
"""Smallest initial slip speed of a contact, as a fraction of the fastest initial slip.

A slower contact would stick again at once.
"""

REACHED_ONSET = 0.1
"""Smallest slip speed after the slip onset, as a fraction of the prescribed initial slip speed.

If the slip is smaller, the other contacts prevent it, and the contact keeps rolling.
"""

NOT_INCLUDED = -1
"""Value of `EventState.choice_index` for a candidate that is not part of the contact problem."""

FORCE_ONLY = -2
"""Value of `EventState.choice_index` for a tyre on a vertical spring.

Such a tyre has no constraint rows; it enters the contact problem as a force.
"""

TOUCHING, CANDIDATES = range(2)
"""Indices into `EventState.sizes`: number of touching contacts, number of candidates.

Candidates are the touching contacts that `merge_coincident` keeps.
"""


class SlipPlan(IntEnum):
    """Condition on the contact velocity of a candidate when initial slips are applied."""

    NOTHING = 0  # no condition
    BEGIN = 1  # the contact begins to slide: its initial slip is prescribed
    WATCH = 2  # the contact is open: check that it does not approach
    KEEP_APART = 3  # the open contact would approach otherwise: its normal velocity is zero


class EventState(NamedTuple):
    """Data of one event: the contact mode, the touching contacts and the contact problem.

    Arrays have one entry per contact of the table, per touching contact, or per candidate. Candidates are the
    touching contacts without duplicates: of several contacts at one point only one is a candidate.
    """

    mode: ContactMode  # contact mode before the event; `resolve_event` replaces it by the next one
    wheels: ContactColumns  # contacts of all wheels with a level plane, to locate the wheel centres
    choice: Choice  # contact problem without friction limits, solved by contact sets
    law: FrictionProblem  # contact problem with Coulomb friction
    most: int  # largest number of touching contacts that the arrays can store
    sizes: Integers  # (2) number of touching contacts and of candidates
    box: Floats  # (wheels, 2, 3) m, positions of the wheels' centres as boxes of zero size
    max_deflections: Floats  # m per wheel, largest deflection of a tyre on a vertical spring

    # Per contact of the table
    inside: Floats  # largest border excess (`kernels.border_excess`) at which the contact touches
    closed_status: Integers  # Status of the contact in an impact, if it is closed without slip
    mu: Floats  # friction coefficient, infinite for ideal contacts
    was_closed: Flags  # whether the contact was closed before the event
    fired: Flags  # whether the guard of the contact fired, or its load is zero
    ended: Flags  # whether the wheel has reached the border of the contact's ground feature
    avoid: Flags  # whether the contact should be open, if a set without it is admissible

    # Per touching contact
    touching: Integers  # index of the contact in the table
    gaps: Floats  # contact row; only gap and frame are evaluated

    # Per candidate
    candidates: Integers  # index of the contact in the table
    rows: Floats  # contact row, completely evaluated
    later_excess: Floats  # border excess at the time `Tolerances.lookahead` (s) after the event
    status: Integers  # Status of the contact if it is closed
    choice_index: Integers  # index in the contact problem, NOT_INCLUDED or FORCE_ONLY
    chosen: Integers  # 1 if the contact is closed after the event, else 0
    slip_plan: Integers  # SlipPlan of the contact
    slip_directions: Floats  # (2) initial slip direction of the contact

    y: Floats  # state at the event, followed by its time
    rates: Floats  # scratch: time derivatives of the state


@routine
def resolve_event(e: EventState, ending: int, unloads: bool, slipping: bool) -> RunStatus:
    """Find the touching contacts at the state in x, and select the closed contacts after the event.

    Parameters
    ----------
    e
        Contact mode before the event, and the contacts whose guard fired.
    ending
        Index of the contact that has reached the border of its ground feature, or -1 for none.
    unloads
        Whether a normal force becomes zero. If so, all contacts with a load below `Tolerances.no_load` open,
        unless only sets with them are admissible.
    slipping
        Whether a friction force reaches its cone. If so, the contacts whose guard fired may begin to slip.

    Returns
    -------
    RunStatus
        RESOLVED; IMPACT if an impact has to be resolved first; otherwise the reason why no contact mode
        exists.
    """
    s = e.mode
    m = s.motion
    store_wheel_centres(e)
    if unloads:
        if solve_rates(s, e.rates, s.lam, s.seen) != 0:
            return RunStatus.CONTRADICTION
        for i in range(s.plan[CLOSED]):
            if s.lam[3 * i] < m.tol.no_load:
                e.fired[s.which[i]] = True
        for k in range(s.contacts.size):
            e.avoid[k] = e.avoid[k] or e.fired[k]
    call(m.call, s.x, m.table, s.out, 1)
    if ending >= 0:
        mark_ending(e, ending)
    if not find_touching(e):
        return RunStatus.TOO_MANY_CONTACTS
    merge_coincident(e)
    evaluate_candidates(e)
    result = needs_impact(e)
    return select_next_mode(e, slipping) if result is RunStatus.RESOLVED else result


@routine
def select_next_mode(e: EventState, slipping: bool) -> RunStatus:
    """Select the closed contacts among the candidates, and project the state in x onto their constraints.

    `slipping` is whether contacts whose guard fired may begin to slip. Return RESOLVED, or the reason why no
    contact mode exists.
    """
    s = e.mode
    call(s.motion.call, s.x, s.motion.table, s.out, 1)
    evaluate_candidates(e)
    result = select_closed(e, slipping)
    store_state(e)
    if result is RunStatus.RESOLVED:
        project_state(s)
    return result


@routine
def store_state(e: EventState) -> None:
    """Store the state in x, followed by its time, as the state of the event."""
    n = e.mode.motion.y_z + e.mode.motion.states
    e.y[n] = e.mode.x[0]
    e.y[:n] = e.mode.x[1 : 1 + n]


@routine
def extrapolate_state(e: EventState, delay: float) -> None:
    """Extrapolate the stored pose and joint coordinates linearly over `delay` (s); write them to x."""
    m = e.mode.motion
    x = e.mode.x
    x[0] = e.y[m.y_z + m.states] + delay
    x[m.x_q :][: m.y_v] = e.y[: m.y_v] + delay * e.mode.out[m.flow :][: m.y_v]


# --- touching contacts


@routine
def store_wheel_centres(e: EventState) -> None:
    """Write the wheel centres (m) at the state in x to `box`, as boxes of zero size.

    Also mark the closed contacts in `was_closed`, and store the state as the state of the event.
    """
    s = e.mode
    m = s.motion
    e.was_closed[: s.contacts.size] = False
    for i in range(s.plan[CLOSED]):
        e.was_closed[s.which[i]] = True
    store_state(e)
    for w in range(e.wheels.size):
        evaluate_gap(s.x, e.wheels, w, e.gaps)
        e.box[6 * w :][:3] = e.gaps[m.centre :][:3]
        e.box[6 * w + 3 :][:3] = e.gaps[m.centre :][:3]


@routine
def mark_ending(e: EventState, ending: int) -> None:
    """Mark all contacts that end at a border in `ended`.

    Contact `ending` has reached the border of its feature. Other contacts of the same wheel may reach a
    border at the same instant: a face and its edge, if the wheel rolls along the edge.
    """
    s = e.mode
    m = s.motion
    b = s.contacts
    e.ended[ending] = True
    for k in range(b.size):
        if k == ending or b.wheels[k] != b.wheels[ending] or not is_in_reach(m.tol, b, e.box, k):
            continue
        evaluate_gap(s.x, b, k, e.gaps)
        if abs(e.gaps[m.gap]) <= m.tol.gap_event:
            present = border_excess(m, b, k, e.gaps)
            extrapolate_state(e, m.tol.lookahead)
            evaluate_gap(s.x, b, k, e.gaps)
            extrapolate_state(e, 0.0)
            # Below `border_guard` its own guard would not fire yet. The projection onto the contact may
            # bring a wheel at rest back over the border by rounding errors: if both contacts ended, it
            # would lose the ground.
            e.ended[k] = border_excess(m, b, k, e.gaps) > max(present, m.tol.border_guard)


@routine
def find_touching(e: EventState) -> bool:
    """List the touching contacts in `touching`; return False if there are more than the arrays can store.

    These are closed contacts that have not ended, contacts whose guard fired, and open contacts without a
    gap.
    """
    s = e.mode
    m = s.motion
    b = s.contacts
    count = 0
    for k in range(b.size):
        is_certain = e.was_closed[k] or e.fired[k]
        if e.ended[k] or (not is_certain and not is_in_reach(m.tol, b, e.box, k)):
            continue
        row = e.gaps[count * m.row :]
        evaluate_gap(s.x, b, k, row)
        if is_certain or open_contact_touches(e, k, row):
            if count == e.most:
                return False
            e.touching[count] = k
            count += 1
    e.sizes[TOUCHING] = count
    return True


@routine
def open_contact_touches(e: EventState, k: int, row: Floats) -> bool:
    """Return whether open contact k touches its ground feature.

    On entry the contact row `row` contains the gap (m); if the gap is small, the whole row is evaluated.
    """
    m = e.mode.motion
    gap = row[m.gap]
    # A compliant tyre may already be deflected when its wheel rolls onto another feature: its gap is
    # then negative.
    deflection = e.max_deflections[e.mode.contacts.wheels[k]]
    # Reject by the gap alone first: evaluating the whole contact row is expensive. If the gap is not a
    # number, wheel and feature have no contact point.
    if gap > m.tol.gap_search or not -gap <= m.tol.gap_search + deflection:
        return False
    evaluate_row(e.mode.x, e.mode.contacts, k, row)
    # Contacts that close together belong to one event. A fast approach closes a larger gap within the
    # time resolution, so that the bound of the gap grows with the approach velocity.
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
    """Select the candidates among the touching contacts.

    If several touching contacts of one wheel have the same point and normal (coplanar faces, a face and its
    edge, edges at a vertex), only the contact onto which the wheel moves becomes a candidate.
    """
    s = e.mode
    m = s.motion
    b = s.contacts
    count = 0
    extrapolate_state(e, m.tol.lookahead)
    for i in range(e.sizes[TOUCHING]):
        evaluate_gap(s.x, b, e.touching[i], e.rows)
        excess = border_excess(m, b, e.touching[i], e.rows)
        # In this routine `choice_index` is the index of a candidate in the list of touching contacts.
        place = count
        for j in range(count - 1, -1, -1):
            place = j if is_coincident(e, i, e.choice_index[j]) else place
        if place == count or excess < e.later_excess[place]:
            e.choice_index[place] = i
            e.later_excess[place] = excess
            e.candidates[place] = e.touching[i]
            count = max(count, place + 1)
    extrapolate_state(e, 0.0)
    e.sizes[CANDIDATES] = count


@routine
def is_coincident(e: EventState, i: int, j: int) -> bool:
    """Return whether two touching contacts belong to the same wheel and have the same point and normal."""
    m = e.mode.motion
    wheels = e.mode.contacts.wheels
    first = e.gaps[i * m.row :]
    second = e.gaps[j * m.row :]
    if wheels[e.touching[i]] != wheels[e.touching[j]]:
        return False
    if max_difference(first[m.normal :], second[m.normal :], 3) >= m.tol.same_normal:
        return False
    return max_difference(first[m.point :], second[m.point :], 3) < m.tol.same_point


# --- impact and next mode


@routine
def evaluate_candidates(e: EventState) -> None:
    """Evaluate the contact rows of the candidates at the state in x, and set their statuses for an impact."""
    for j in range(e.sizes[CANDIDATES]):
        k = e.candidates[j]
        e.mode.contacts.features[k * FEATURE + LOAD] = e.mode.motion.share
        evaluate_row(e.mode.x, e.mode.contacts, k, e.rows[j * e.mode.motion.row :])
        e.status[j] = e.closed_status[k]
        e.slip_plan[j] = SlipPlan.NOTHING
        e.choice_index[j] = NOT_INCLUDED


@routine
def needs_impact(e: EventState) -> RunStatus:
    """Return IMPACT if the event needs an impact, NO_CONTACT_SET without an admissible set, else RESOLVED.

    An impact is needed if a candidate approaches, or if a wheel of infinite friction slips and is pressed
    onto the ground.
    """
    m = e.mode.motion
    g = e.choice
    any_slips = False
    for j in range(e.sizes[CANDIDATES]):
        k = e.candidates[j]
        separation = relative_velocity(e.mode.x, e.rows[j * m.row :], m, 0)
        if count_rows(e.status[j]) > 0 and separation < -m.tol.no_approach:
            return RunStatus.IMPACT
        e.choice_index[j] = 0 if separation <= m.tol.no_approach else NOT_INCLUDED
        rests = abs(separation) <= m.tol.no_approach
        is_new = not e.was_closed[k] and not slides_before(e, k)
        if is_new and not isfinite(e.mu[k]) and rests and is_slipping(e, j):
            e.slip_plan[j] = SlipPlan.BEGIN
            e.status[j] = Status.SLIDING
            any_slips = True
    if not any_slips:
        return RunStatus.RESOLVED
    # An ideal wheel that slips is stopped by an impact, but only if it is pressed onto the ground.
    which = choose_contact_set(e)
    if which < 0:
        return RunStatus.NO_CONTACT_SET
    forces = g.trials[multiplier_offset(g, which) :]
    for j in range(e.sizes[CANDIDATES]):
        index = e.choice_index[j]
        slips = e.slip_plan[j] == SlipPlan.BEGIN and index >= 0
        if slips and forces[3 * max(index, 0)] > m.tol.pressed:
            return RunStatus.IMPACT
    return RunStatus.RESOLVED


@routine
def slides_before(e: EventState, k: int) -> bool:
    """Return whether the wheel of contact k slides on another feature before the event.

    At a hand-over to a neighbouring feature the slip continues, because the border is no obstacle.
    """
    mode = e.mode
    for i in range(mode.plan[CLOSED]):
        is_same_wheel = mode.contacts.wheels[mode.which[i]] == mode.contacts.wheels[k]
        if is_same_wheel and mode.status[i] == Status.SLIDING:
            return True
    return False


@routine
def is_slipping(e: EventState, j: int) -> bool:
    """Return whether the slip speed of candidate j exceeds `Tolerances.slip_detected` (m/s)."""
    m = e.mode.motion
    return slip_speed(e.mode.x, e.rows[j * m.row :], m) > m.tol.slip_detected


@routine
def choose_contact_set(e: EventState) -> int:
    """Return the index of the admissible contact set (trial) at acceleration level; -1 if there is none.

    Tyre forces that depend nonlinearly on the wheel load are linearised about the loads (N) of the last
    iteration.
    """
    m = e.mode.motion
    g = e.choice
    which = -1
    iterations = 0
    change = 1.0
    while change > CONVERGED_LOAD and iterations < MAX_LOAD_ITERATIONS:
        assemble_choice(e)
        which = choose_set(g, m.tol.set_pull, m.tol.no_acceleration, 0, 0)
        forces = g.trials[multiplier_offset(g, max(which, 0)) :]
        change = 0.0
        for j in range(e.sizes[CANDIDATES] if m.acted > 0 else 0):
            k = e.candidates[j]
            row = e.rows[j * m.row :]
            load = forces[3 * max(e.choice_index[j], 0)]
            if e.choice_index[j] >= 0 and row[m.uneven] > 0.0 and load != 0.0:
                change = max(change, update_tyre_load(m.tol, e.mode.contacts, k, load))
                evaluate_row(e.mode.x, e.mode.contacts, k, row)
        iterations += 1
    return which


@routine
def assemble_choice(e: EventState) -> None:
    """Write machine and candidates to the contact problem at acceleration level, eq. [contact-set].

    Tyres on vertical springs have no constraint rows; their forces are added to the right-hand side.
    """
    m = e.mode.motion
    g = e.choice
    n = g.n
    count = 0
    assemble_machine(e)
    g.right[:n] = -e.mode.out[m.F :][:n]
    g.targets[: g.holds] = e.mode.out[m.held_c :][: g.holds]
    for j in range(e.sizes[CANDIDATES]):
        row = e.rows[j * m.row :]
        if e.choice_index[j] == NOT_INCLUDED:
            continue
        if count_rows(e.status[j]) == 0:
            e.choice_index[j] = FORCE_ONLY
            g.right[:n] += row[m.push :][:n]
        else:
            e.choice_index[j] = count
            assemble_contact(e, j, row)
            count += 1
    g.sizes[CONTACTS] = count


@routine
def assemble_machine(e: EventState) -> None:
    """Write mass matrix and equality constraints (prescribed joints, couplings) to the contact problem."""
    m = e.mode.motion
    g = e.choice
    n = g.n
    g.M[: n * n] = e.mode.out[m.M :][: n * n]
    g.held[: g.holds * n] = e.mode.out[m.held :][: g.holds * n]


@routine
def write_candidate_jacobian(e: EventState, index: int, k: int, row: Floats, rows: int) -> None:
    """Write the Jacobian (3, n) of contact k, from its contact row, to entry `index` of the problem.

    The first `rows` of its three rows are constraint rows.
    """
    g = e.choice
    size = 3 * g.n
    C = row[e.mode.motion.C :]
    g.C[index * size :][:size] = C[:size]
    g.G[index * size :][:size] = C[:size]
    g.rows[index] = rows
    g.wheels[index] = e.mode.contacts.wheels[k]


@routine
def assemble_contact(e: EventState, j: int, row: Floats) -> None:
    """Write constraint rows, target accelerations (m/s2) and friction of candidate j to the contact problem.

    The friction force of a sliding candidate is opposite to its slip. `row` is the contact row of the
    candidate.
    """
    m = e.mode.motion
    g = e.choice
    n = g.n
    index = e.choice_index[j]
    k = e.candidates[j]
    C = row[m.C :]
    G = g.G[3 * index * n :]
    write_candidate_jacobian(e, index, k, row, count_rows(e.status[j]))
    g.c[3 * index :][:3] = row[m.c :][:3]
    g.level[index] = row[m.c]
    g.avoid[index] = int(e.avoid[k])
    g.push[index * n :][:n] = 0.0
    if m.acted > 0:
        g.push[index * n :][:n] = row[m.push :][:n]
        G[:n] += row[m.lift :][:n]
    if e.status[j] == Status.SLIDING and isfinite(e.mu[k]) and e.mu[k] > 0.0:
        along = relative_velocity(e.mode.x, row, m, 1)
        across = relative_velocity(e.mode.x, row, m, 2)
        speed = plane_norm(along, across)
        if speed > 0.0:
            G[:n] -= e.mu[k] * (along * C[n:][:n] + across * C[2 * n :][:n]) / speed


@routine
def select_closed(e: EventState, slipping: bool) -> RunStatus:
    """Select the candidates that are closed after the event, and the status of each.

    Contacts that begin to slide get an initial slip. `slipping` is whether contacts whose guard fired may
    begin to slip. Return RESOLVED, or the reason why no contact mode exists.
    """
    m = e.mode.motion
    g = e.choice
    has_friction = False
    for j in range(e.sizes[CANDIDATES]):
        k = e.candidates[j]
        stays = not e.avoid[k]
        if count_rows(e.status[j]) > 0:
            separation = relative_velocity(e.mode.x, e.rows[j * m.row :], m, 0)
            stays = separation <= m.tol.separation
        e.choice_index[j] = 0 if stays else NOT_INCLUDED
        if stays:
            if e.status[j] == Status.ROLLING and is_slipping(e, j):
                e.status[j] = Status.SLIDING
            has_friction = has_friction or (isfinite(e.mu[k]) and e.mu[k] > 0.0)
        e.chosen[j] = 1 if stays and count_rows(e.status[j]) == 0 else 0
    if has_friction:
        return select_with_friction(e, slipping)
    which = choose_contact_set(e)
    if which < 0:
        return RunStatus.NO_CONTACT_SET
    mark_closed(g, which)
    for j in range(e.sizes[CANDIDATES]):
        if e.choice_index[j] >= 0:
            e.chosen[j] = g.closed[e.choice_index[j]]
    apply_slip_onset(e)
    close_contacts(e)
    return RunStatus.RESOLVED


@routine
def close_contacts(e: EventState) -> None:
    """Write the chosen candidates, with status and friction coefficient, as closed contacts to the mode."""
    s = e.mode
    count = 0
    for j in range(e.sizes[CANDIDATES]):
        if e.chosen[j] == 1:
            k = e.candidates[j]
            s.which[count] = k
            s.status[count] = e.status[j]
            s.mu[count] = e.mu[k] if isfinite(e.mu[k]) else 0.0
            count += 1
    s.plan[CLOSED] = count


@routine
def select_with_friction(e: EventState, slipping: bool) -> RunStatus:
    """Select closed contacts, statuses and slip directions by Coulomb's law at acceleration level.

    Return RESOLVED, or NO_FRICTION_FORCES if no contact forces satisfy the law.
    """
    m = e.mode.motion
    g = e.choice
    law = e.law
    assemble_choice(e)
    for j in range(e.sizes[CANDIDATES]):
        if e.choice_index[j] >= 0:
            law.mu[e.choice_index[j]] = e.mu[e.candidates[j]] * (
                1.0 - CONE_REDUCTION * float(slipping)
            )
    if g.sizes[CONTACTS] > 0 and solve_coulomb_forces(g, law) == 1:
        return RunStatus.NO_FRICTION_FORCES
    if slipping:
        force_slip(e)
    for j in range(e.sizes[CANDIDATES]):
        index = e.choice_index[j]
        if index < 0:
            continue
        k = e.candidates[j]
        row = e.rows[j * m.row :]
        force = law.new[law.first_row[index] :]
        separation = add_dot(-row[m.c], row[m.C :], g.x, g.n)
        stays = not e.avoid[k] and separation <= m.tol.no_separation  # needs no force
        carries = force[0] > (m.tol.no_load if e.avoid[k] else 0.0)
        e.chosen[j] = 1 if carries or stays else 0
        rolls = e.chosen[j] == 1 and e.status[j] == Status.ROLLING
        if rolls and law.status[index] == Status.SLIDING:
            begin_slip(e, j, force)
    apply_slip_onset(e)
    close_contacts(e)
    return RunStatus.RESOLVED


@routine
def force_slip(e: EventState) -> None:
    """Set the contacts whose FRICTION_CONE guard fired to sliding if the solver changed no status.

    The solver does not change their status if their load is below its force resolution.
    """
    s = e.mode
    statuses = e.law.status
    changes = False
    for j in range(e.sizes[CANDIDATES]):
        rolls = e.choice_index[j] >= 0 and e.status[j] == Status.ROLLING
        if rolls and statuses[e.choice_index[j]] == Status.SLIDING:
            changes = True
        for i in range(s.plan[CLOSED]):
            if s.which[i] == e.candidates[j] and s.status[i] != e.status[j]:
                changes = True  # a contact that slid sticks now
    for j in range(e.sizes[CANDIDATES]):
        if not changes and e.choice_index[j] >= 0 and e.fired[e.candidates[j]]:
            statuses[e.choice_index[j]] = Status.SLIDING


@routine
def begin_slip(e: EventState, j: int, force: Floats) -> None:
    """Set candidate j to sliding, and write its initial slip direction.

    The direction is that of the tangential acceleration or, if this is zero, opposite to the friction in
    `force` (3), N. A candidate without load or friction is left unchanged.
    """
    m = e.mode.motion
    n = e.choice.n
    vdot = e.choice.x
    row = e.rows[j * m.row :]
    direction = e.slip_directions[2 * j :]
    friction = plane_norm(force[1], force[2])
    if force[0] < m.tol.no_load or friction == 0.0:
        return
    direction[0] = add_dot(-row[m.c + 1], row[m.C + n :], vdot, n)
    direction[1] = add_dot(-row[m.c + 2], row[m.C + 2 * n :], vdot, n)
    if not plane_norm(direction[0], direction[1]) > m.tol.no_acceleration:
        direction[0] = -force[1] / friction
        direction[1] = -force[2] / friction
    e.slip_plan[j] = SlipPlan.BEGIN
    e.status[j] = Status.SLIDING


@routine
def apply_slip_onset(e: EventState) -> None:
    """Change the speeds in x by impulses that give the initial slips to contacts that begin to slide.

    Afterwards rolling contacts do not slip, and no other candidate approaches. A contact whose slip the other
    contacts prevent keeps rolling.
    """
    m = e.mode.motion
    x = e.mode.x
    g = e.choice
    closed = 0
    scale_slips(e)
    for j in range(e.sizes[CANDIDATES]):
        closed += e.chosen[j]
        if e.choice_index[j] >= 0 and e.chosen[j] == 0:
            approach = -relative_velocity(x, e.rows[j * m.row :], m, 0)
            e.slip_plan[j] = SlipPlan.WATCH if approach <= m.tol.no_approach else SlipPlan.NOTHING
    if closed == 0:
        return
    changed = True
    while changed:
        changed = False
        solve_speed_change(e)
        for j in range(e.sizes[CANDIDATES]):
            if e.slip_plan[j] == SlipPlan.WATCH:
                row = e.rows[j * m.row :]
                after = add_dot(relative_velocity(x, row, m, 0), row[m.C :], g.x, g.n)
                if after < -m.tol.no_approach:
                    e.slip_plan[j] = SlipPlan.KEEP_APART
                    changed = True
            if e.chosen[j] == 1 and e.slip_plan[j] == SlipPlan.BEGIN and not can_begin_slip(e, j):
                # The other contacts prevent its slip.
                e.slip_plan[j] = SlipPlan.NOTHING
                e.status[j] = Status.ROLLING
                changed = True
    x[m.x_v :][: g.n] += g.x[: g.n]


@routine
def can_begin_slip(e: EventState, j: int) -> bool:
    """Return whether the change of speeds `choice.x` makes contact candidate j slip.

    If constraint rows are nearly redundant, even a small slip needs large speed changes, whose contributions
    to the slip cancel. Such a slip is a rounding error and does not count.
    """
    m = e.mode.motion
    g = e.choice
    row = e.rows[j * m.row :]
    fastest = 0.0
    for i in range(1, 3):
        C = row[m.C + i * g.n :]
        terms = 0.0
        for k in range(g.n):
            terms += abs(C[k] * g.x[k])
        if terms > MAX_CANCELLATION * m.tol.slip_onset:
            return False
        slip = add_dot(relative_velocity(e.mode.x, row, m, i), C, g.x, g.n)
        fastest = max(fastest, abs(slip))
    return fastest > REACHED_ONSET * m.tol.slip_onset


@routine
def scale_slips(e: EventState) -> None:
    """Scale the initial slip directions by a common factor, such that the longest one has length one.

    A common factor keeps the slips of wheels on one axle consistent. Slips below `SMALLEST_ONSET` are
    increased, so that no contact sticks again at once.
    """
    fastest = 0.0
    for j in range(e.sizes[CANDIDATES]):
        if e.slip_plan[j] == SlipPlan.BEGIN:
            fastest = max(
                fastest, plane_norm(e.slip_directions[2 * j], e.slip_directions[2 * j + 1])
            )
    for j in range(e.sizes[CANDIDATES]):
        if e.slip_plan[j] == SlipPlan.BEGIN:
            size = plane_norm(e.slip_directions[2 * j], e.slip_directions[2 * j + 1])
            e.slip_directions[2 * j :][:2] *= max(size / fastest, SMALLEST_ONSET) / size


@routine
def solve_speed_change(e: EventState) -> None:
    """Compute the smallest speed change `choice.x` (n) that satisfies all prescribed contact velocities.

    The norm is the kinetic one: dv' M dv is minimal.
    """
    m = e.mode.motion
    g = e.choice
    n = g.n
    count = 0
    for j in range(e.sizes[CANDIDATES]):
        row = e.rows[j * m.row :]
        for i in range(count_demanded_rows(e, j)):
            target = -relative_velocity(e.mode.x, row, m, i)
            if i > 0 and e.slip_plan[j] == SlipPlan.BEGIN:
                target += m.tol.slip_onset * e.slip_directions[2 * j + i - 1]
            set_row(g.system, count, row[m.C + i * n :], row[m.C + i * n :], target)
            count += 1
    set_equality_rows(g.system, count, g.held, g.targets, g.holds)
    g.system.target[count:][: g.holds] = 0.0
    g.system.force[:n] = 0.0
    g.system.rows = count + g.holds
    if solve_saddle_point(g.system) is SaddleStatus.UNSOLVABLE:
        g.x[:n] = 0.0


@routine
def count_demanded_rows(e: EventState, j: int) -> int:
    """Return the number of contact directions (0 to 3) of candidate j in which the velocity is prescribed."""
    if e.chosen[j] == 1:
        return 3 if e.slip_plan[j] == SlipPlan.BEGIN else count_rows(e.status[j])
    return 1 if e.slip_plan[j] == SlipPlan.KEEP_APART else 0
