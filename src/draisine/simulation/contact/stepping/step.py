"""One time step on a terrain, as routines: Moreau and Jean's scheme, linearly implicit in rates.

A step of length h goes from (q, v) to (q+, v+), eq. [moreau-jean]:

    q_m = q + h/2 v                                            configuration at mid-step
    (M + h A) (v+ - v) = -h F(q_m, v) + J' nu + C' lam         balance of momentum
    J v+ = b - e_m / h                                         prescribed joints, couplings
    0 <= lam_n _|_ C_n v+ - w_n + gap_m / h >= 0               contacts, with Coulomb friction
    q+ = q_m + h/2 v+

A is the symmetric part of dF/dv, by differences. It makes servos, dampers, joint friction and tyres
implicit: explicit, a servo of gain k on a free wheel of inertia J is unstable for k h > 2 J. The
antisymmetric (gyroscopic) part stays explicit, so that the Delassus matrix is symmetric.

The gap at mid-step enters with the factor 1 / h: a penetration is gone after two steps. With 2 / h the
end position would be exact, but the load of a resting wheel would alternate from step to step
(eigenvalue -1). Contacts that can close within the step are included, so that a plastic impact ends on
the ground and not below it. A fast contact with restitution e is an impact instead, resolved when its
gap has closed, by u_n(after) + e u_n(before) >= 0.

References: Moreau 1988 (doi:10.1007/978-3-7091-2624-0_1), Jean 1999 (doi:10.1016/S0045-7825(98)00383-1),
Acary 2013 (doi:10.1016/j.cma.2012.12.012).
"""

from math import isfinite, sqrt
from typing import NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, call, routine
from draisine.mechanics.contact.features import FEATURE, LOAD
from draisine.simulation.contact.complementarity.impulses import (
    ImpulseProblem,
    solve_impulses,
)
from draisine.simulation.contact.complementarity.linear import add_dot, dot, max_norm
from draisine.simulation.contact.kernels import (
    Bundle,
    Dynamics,
    excess,
    is_above,
    look_at,
    meet_one,
    put_state,
    slip,
)
from draisine.simulation.contact.march import in_reach

ADVANCED, LEFT_SWEEP, TOO_MANY, NOT_FINITE, SINGULAR_MASS, FALLEN, TURNED_OVER, INFEASIBLE = range(8)
"""How a call ended: all steps done; a wheel leaves the searched surroundings; more contacts than there
is room for; a value is not finite; the mass matrix is not positive definite; the lean passes its limit;
the frame turns over; a prescribed motion pushes a contact into the ground.
"""

BORDER_TOLERANCE = 1e-7  # m; a contact this far beyond the border of its feature still counts
RATE_INCREMENT = 1e-6  # of 1 + |v|; far below the rates over which friction laws are smoothed
INFEASIBLE_APPROACH = 1e-4  # of the largest free velocity; feasible problems leave 3e-6 (SOLVED: p99)
LOAD_PASSES = 6  # rounds in which tyre forces follow the loads of the step
LOAD_CHANGE = 1e-8  # of the load; the rounds end below it
MASS_RIDGE = 1e-10  # of the largest diagonal entry; added to a singular mass matrix
REDUNDANT_ROW = 1e-12  # of the largest pivot; equality rows below it are redundant


class TimeStepping(NamedTuple):
    """A machine on a terrain that moves in time steps, with room to work.

    n speeds, m equality rows, k contacts at most, w wheels. Matrices are stored row by row.
    """

    motion: Dynamics  # the free machine
    contacts: Bundle  # contacts that may close nearby
    wheels: Bundle  # the wheels on the level plane, queried for their centres
    problem: ImpulseProblem  # contacts of the present step
    most: int  # k
    rows: int  # m
    wheel_count: int  # w; joints with stops are numbered after the wheels
    restitution: float  # normal restitution of fast contacts
    rest_speed: float  # m/s; slower contacts do not rebound, and penetration is removed no faster
    implicit: int  # 1 if rates are implicit
    lean_limit: float  # sine of the lean at which the machine has fallen; above 1: none
    overturns: int  # 1 if a frame that turns over ends the run
    x: Floats  # input of all programs
    y: Floats  # state (q, p, r, v, z)
    middle: Floats  # state at mid-step
    after: Floats  # speeds at the end of the step (n)
    out: Floats  # output of the program of the free machine
    centred: Floats  # the same at the speeds of the step or their negative
    shifted: Floats  # the same at perturbed speeds
    mass: Floats  # (n, n) Cholesky factor of M + h A
    damping: Floats  # (n, n) A
    free: Floats  # (n) speeds without contact impulses
    force: Floats  # (n) generalised impulse over the step without contacts
    equality: Floats  # (m, n) (M + h A)^-1 J'
    schur: Floats  # (m, m) Cholesky factor of J (M + h A)^-1 J'
    multiplier: Floats  # (m) impulses of the equality rows
    response: Floats  # (3 k, n) speeds per unit contact impulse
    reaction: Floats  # (3 k, m) impulses of the equality rows per unit contact impulse
    seen: Floats  # (k + 1, row) what the programs of the contacts return
    which: Integers  # (k) contacts of the step, by number among those nearby
    held: Integers  # (contacts) rows that the law of contact acts on: normal, along, across in this order
    tyred: Integers  # (contacts) 1 if a tyre makes the forces of the other rows
    mu: Floats  # (contacts) friction coefficients
    warm: Floats  # (3 contacts) impulses of the step before
    carried: Floats  # (contacts) load of the step before, N
    centre: Floats  # (3 w) the wheels' centres at the last mid-step
    box: Floats  # (6 w) boxes around the wheels' centres on the step
    swept: Floats  # (6 w) boxes within which the surroundings are known
    along: int  # offset of the direction along in the row of a contact
    owners: Integers  # (states) wheel to which each state of an element belongs, -1: none
    down: Integers  # (w) 1 if a wheel touched in the step before
    single_force: Floats  # (3) forces of a tyre
    relaxed: Floats  # (states) states of the elements at the beginning of the step
    own: Floats  # (w + joints, 3) contact impulses since the last sample, in the contact's own axes
    world: Floats  # (w + joints, 3) the same in world axes; of joints the angular impulse of their stops
    equality_sum: Floats  # (m) impulses of the equality rows since the last sample
    loaded: Integers  # (k) contacts that carry a load, by number among those nearby
    rolling: Integers  # (k) 1 for those that stick, 0 for those that slide or have no friction
    weight: float  # N; weight of the machine
    counts: Integers  # see below
    worst: Floats  # see below


CONTACTS, STEPS, UNSOLVED, BLOCKED, ACCEPTS, SETTLED, LOADED = range(7)
"""Entries of `counts`: contacts of the step, steps of the call, unsolved steps of the arc, the contact
that a prescribed motion pushes into the ground, 1 if the next such step is accepted, successive steps
in which the same contacts carried a load with margin, contacts that carry a load.
"""

RESIDUAL, PENETRATION, WORK = range(3)
"""Entries of `worst` over the arc: largest residual (of the largest free velocity), deepest penetration
at mid-step (m), work of the contact impulses (J).
"""

MIN_LOAD = 0.01  # of the weight; a contact with less may open at any moment
FRICTION_MARGIN = 0.95  # of mu; a contact that uses more may slip at any moment
ACCEPTED_RESIDUAL = 1e-6  # of the largest free velocity; steps above it are counted as unsolved


# --- linear algebra of a step


@routine
def factor(A: Floats, n: int, smallest: float) -> int:
    """Write the Cholesky factor of a symmetric matrix in place, lower triangle. Rows whose pivot is
    below `smallest` times the largest diagonal entry are redundant: their factor is zero. Return
    how many there are, or -1 if a pivot is negative beyond rounding.
    """
    largest = 0.0
    for i in range(n):
        largest = max(largest, A[i * n + i])
    redundant = 0
    for j in range(n):
        row = A[j * n :]
        pivot = row[j] - dot(row, row, j)
        if not pivot > smallest * largest:
            if not pivot > -1e-8 * largest:
                return -1
            redundant += 1
            row[j] = 0.0
            for i in range(j + 1, n):
                A[i * n + j] = 0.0
            continue
        row[j] = sqrt(pivot)
        for i in range(j + 1, n):
            lower = A[i * n :]
            lower[j] = (lower[j] - dot(lower, row, j)) / row[j]
    return redundant


@routine
def solve_factored(L: Floats, b: Floats, n: int) -> None:
    """Solve L L' x = b by the Cholesky factor; x replaces b. Redundant rows get zero."""
    for i in range(n):
        pivot = L[i * n + i]
        b[i] = (b[i] - dot(L[i * n :], b, i)) / pivot if pivot > 0.0 else 0.0
    for i in range(n - 1, -1, -1):
        pivot = L[i * n + i]
        rest = b[i]
        for j in range(i + 1, n):
            rest -= L[j * n + i] * b[j]
        b[i] = rest / pivot if pivot > 0.0 else 0.0


# --- mid-step


@routine
def move_pose(s: TimeStepping, source: Floats, rates: Floats, h: float, into: Floats) -> None:
    """Write the configuration after a time h at constant rates; quaternions keep their length."""
    m = s.motion
    into[: m.y_v] = source[: m.y_v] + h * rates[: m.y_v]
    if m.turns > 0:
        length = sqrt(dot(into, into, 4))
        into[:4] /= length


@routine
def drift_pose(s: TimeStepping, t: float, source: Floats, h: float, into: Floats) -> None:
    """Write the configuration after a time h at constant speeds, by the midpoint rule: the base frame
    of a rolling wheel moves on a cycloid, which a straight step would leave by (omega h)^2 R / 2.
    """
    m = s.motion
    size = m.y_z + m.states
    put_state(s.x, t, source, size)
    call(m.call, s.x, m.table, s.shifted, 1)
    s.x[m.x_q :][: m.y_v] += 0.5 * h * s.shifted[m.flow :][: m.y_v]
    call(m.call, s.x, m.table, s.shifted, 1)
    move_pose(s, source, s.shifted[m.flow :], h, into)


@routine
def evaluate_middle(s: TimeStepping, t: float, h: float) -> None:
    """Evaluate the free machine at the configuration of mid-step, with the speeds of the beginning."""
    m = s.motion
    size = m.y_z + m.states
    s.middle[:size] = s.y[:size]
    drift_pose(s, t, s.y, 0.5 * h, s.middle)
    put_state(s.x, t + 0.5 * h, s.middle, size)
    call(m.call, s.x, m.table, s.out, 1)


@routine
def locate_wheels(s: TimeStepping, h: float) -> int:
    """Write the boxes around the wheels' centres on the step; return 1 if one leaves the surroundings
    that are known.
    """
    m = s.motion
    outside = 0
    for w in range(s.wheels.size):
        look_at(s.x, s.wheels, w, s.seen)
        centre, last = s.seen[m.centre :], s.centre[3 * w :]
        box, swept = s.box[6 * w :], s.swept[6 * w :]
        # A wheel moves on the rest of the step about as far as since the last mid-step.
        travel = 1.5 * max(max(abs(centre[0] - last[0]), abs(centre[1] - last[1])), 0.0)
        travel = max(travel, 1.5 * abs(centre[2] - last[2])) + s.rest_speed * h
        for j in range(3):
            box[j] = centre[j] - travel
            box[3 + j] = centre[j] + travel
            if box[j] < swept[j] or box[3 + j] > swept[3 + j]:
                outside = 1
    return outside


@routine
def keep_centres(s: TimeStepping) -> None:
    """Keep the wheels' centres of this mid-step for the next one."""
    for w in range(s.wheels.size):
        for j in range(3):
            s.centre[3 * w + j] = 0.5 * (s.box[6 * w + j] + s.box[6 * w + 3 + j])


@routine
def is_regular(m: Dynamics, row: Floats) -> int:
    """Return 1 if the rows of a contact are finite; those of a disc on an edge in its plane are not."""
    total = 0.0
    for i in range(3 * m.speeds):
        total += 0.0 * row[m.C + i]
    return 1 if total == 0.0 else 0


@routine
def find_contacts(s: TimeStepping, h: float) -> int:
    """Write the contacts that touch or can close within the step; return 1 if there are too many.

    A contact counts if its gap at mid-step is below what it closes in the step, its point lies within
    the borders of its feature, and the wheel's centre is outside the ground.
    """
    m, b = s.motion, s.contacts
    count = 0
    for k in range(b.size):
        if in_reach(b, s.box, k) == 0:
            continue
        row = s.seen[count * m.row :]
        look_at(s.x, b, k, row)
        gap = row[m.gap]
        if b.wheels[k] < s.wheels.size:
            box = s.box[6 * b.wheels[k] :]
            if not gap <= box[3] - box[0]:
                continue
        if excess(m, b, k, row) > BORDER_TOLERANCE or is_above(m, b, k, row) == 0:
            continue
        b.features[k * FEATURE + LOAD] = max(s.carried[k], 1e-3 * m.share)
        if s.tyred[k] == 1:
            meet_tyre(s, k, h, row)
        else:
            meet_one(s.x, b, k, row)
        if is_regular(m, row) == 0:
            continue
        approach = -slip(s.x, row, m, 0)
        if gap > h * (max(approach, 0.0) + s.rest_speed):
            continue
        if gap > 0.0 and approach > s.rest_speed and s.restitution > 0.0:
            continue  # an impact with restitution is resolved when the gap has closed
        if count == s.most:
            return 1
        s.which[count] = k
        count += 1
    s.counts[CONTACTS] = count
    return 0


# --- the momentum balance


@routine
def meet_tyre(s: TimeStepping, k: int, h: float, row: Floats) -> None:
    """Evaluate a contact on a tyre with the tyre's states at the end of the step, for the speeds in x:
    a relaxation length is a stiff spring, which explicit states would excite.
    """
    m = s.motion
    z = s.x[m.x_q + m.y_z :]
    meet_one(s.x, s.contacts, k, row)
    s.relaxed[: m.remembered] = z[: m.remembered]
    z[: m.remembered] += h * row[m.rates :][: m.remembered]
    meet_one(s.x, s.contacts, k, row)
    z[: m.remembered] = s.relaxed[: m.remembered]


@routine
def add_tyre_forces(s: TimeStepping, j: int, row: Floats, factor: float, into: Floats) -> None:
    """Add the generalised force of the elements at contact j of the step under its load."""
    m, n = s.motion, s.motion.speeds
    load = s.carried[s.which[j]]
    into[:n] += factor * (row[m.push :][:n] + load * row[m.lift :][:n])


@routine
def add_rate_derivative(s: TimeStepping, sign: float) -> None:
    """Add half of the derivative of F by the speeds at `sign` times the speeds of the step."""
    m, n = s.motion, s.motion.speeds
    v = s.x[m.x_v :]
    v[:n] *= sign
    call(m.call, s.x, m.table, s.centred, 1)
    for j in range(n):
        speed = v[j]
        increment = RATE_INCREMENT * (1.0 + abs(speed))
        v[j] = speed + increment
        call(m.call, s.x, m.table, s.shifted, 1)
        column = s.damping[j * n :]
        column[:n] += 0.5 * (s.shifted[m.F :][:n] - s.centred[m.F :][:n]) / increment
        v[j] = speed
    v[:n] *= sign


@routine
def add_tyre_derivative(s: TimeStepping, h: float) -> None:
    """Add the derivative of the tyre forces, with their sign in F, by the speeds."""
    m, n = s.motion, s.motion.speeds
    scratch = s.seen[s.most * m.row :]
    for j in range(n):
        speed = s.x[m.x_v + j]
        increment = RATE_INCREMENT * (1.0 + abs(speed))
        s.x[m.x_v + j] = speed + increment
        column = s.damping[j * n :]
        for c in range(s.counts[CONTACTS]):
            if s.tyred[s.which[c]] == 1:
                meet_tyre(s, s.which[c], h, scratch)
                add_tyre_forces(s, c, scratch, -1.0 / increment, column)
                add_tyre_forces(s, c, s.seen[c * m.row :], 1.0 / increment, column)
        s.x[m.x_v + j] = speed


@routine
def differentiate_rates(s: TimeStepping, h: float) -> None:
    """Write A, the symmetric part of the derivative of all dissipative forces by the speeds.

    The mean of the derivatives at v and at -v contains no Coriolis forces, which are quadratic in v.
    With them the errors of a rolling bicycle were three times as large.
    """
    m, n = s.motion, s.motion.speeds
    s.damping[: n * n] = 0.0
    add_rate_derivative(s, 1.0)
    add_rate_derivative(s, -1.0)
    if m.acted > 0:
        add_tyre_derivative(s, h)
    for i in range(n):
        for j in range(i):
            mean = 0.5 * (s.damping[i * n + j] + s.damping[j * n + i])
            s.damping[i * n + j] = mean
            s.damping[j * n + i] = mean


@routine
def factor_mass(s: TimeStepping, h: float) -> int:
    """Write the Cholesky factor of M + h A; without A if that is not positive definite, which an
    unstable law can cause. Return 1 if M is not positive definite.
    """
    m, n = s.motion, s.motion.speeds
    M = s.out[m.M :]
    if s.implicit == 1:
        differentiate_rates(s, h)
        s.mass[: n * n] = M[: n * n] + h * s.damping[: n * n]
        if factor(s.mass, n, 0.0) == 0:
            return 0
    s.mass[: n * n] = M[: n * n]
    if factor(s.mass, n, 0.0) == 0:
        return 0
    # Bodies without inertia about an axis leave M singular; constraints make the motion unique.
    largest = 0.0
    for i in range(n):
        largest = max(largest, M[i * n + i])
    s.mass[: n * n] = M[: n * n]
    for i in range(n):
        s.mass[i * n + i] += MASS_RIDGE * largest
    return 0 if factor(s.mass, n, 0.0) == 0 else 1


@routine
def factor_equalities(s: TimeStepping) -> int:
    """Write (M + h A)^-1 J' and the Cholesky factor of the Schur complement of the equality rows."""
    m, n = s.motion, s.motion.speeds
    J = s.out[m.held :]
    for i in range(s.rows):
        column = s.equality[i * n :]
        column[:n] = J[i * n :][:n]
        solve_factored(s.mass, column, n)
    for i in range(s.rows):
        for j in range(s.rows):
            s.schur[i * s.rows + j] = dot(J[i * n :], s.equality[j * n :], n)
    return 1 if factor(s.schur, s.rows, REDUNDANT_ROW) < 0 else 0


@routine
def respond(s: TimeStepping, row: Floats, response: Floats, reaction: Floats) -> None:
    """Write the speeds and the impulses of the equality rows per unit impulse along a row."""
    m, n = s.motion, s.motion.speeds
    J = s.out[m.held :]
    response[:n] = row[:n]
    solve_factored(s.mass, response, n)
    for i in range(s.rows):
        reaction[i] = -dot(J[i * n :], response, n)
    solve_factored(s.schur, reaction, s.rows)
    for i in range(s.rows):
        response[:n] += reaction[i] * s.equality[i * n :][:n]


@routine
def assemble_responses(s: TimeStepping) -> None:
    """Write the responses to unit contact impulses and the Delassus matrix. Rows that a contact does
    not hold are zero.
    """
    m, n, p = s.motion, s.motion.speeds, s.problem
    count = s.counts[CONTACTS]
    size = 3 * count
    for c in range(count):
        C = s.seen[c * m.row + m.C :]
        for a in range(3):
            i = 3 * c + a
            if a < s.held[s.which[c]]:
                respond(s, C[a * n :], s.response[i * n :], s.reaction[i * s.rows :])
            else:
                s.response[i * n :][:n] = 0.0
                s.reaction[i * s.rows :][: s.rows] = 0.0
    for c in range(count):
        C = s.seen[c * m.row + m.C :]
        for a in range(3):
            i = 3 * c + a
            for j in range(size):
                keeps = 1.0 if a < s.held[s.which[c]] else 0.0
                p.W[i * size + j] = keeps * dot(C[a * n :], s.response[j * n :], n)
    for i in range(size):
        for j in range(i):
            mean = 0.5 * (p.W[i * size + j] + p.W[j * size + i])
            p.W[i * size + j] = mean
            p.W[j * size + i] = mean


@routine
def free_speeds(s: TimeStepping, h: float) -> None:
    """Write the speeds at the end of the step without contact impulses, and the impulses of the
    equality rows for them.
    """
    m, n = s.motion, s.motion.speeds
    s.force[:n] = -h * s.out[m.F :][:n]
    for c in range(s.counts[CONTACTS] if m.acted > 0 else 0):
        if s.tyred[s.which[c]] == 1:
            add_tyre_forces(s, c, s.seen[c * m.row :], h, s.force)
    s.free[:n] = s.force[:n]
    solve_factored(s.mass, s.free, n)
    s.free[:n] += s.y[m.y_v :][:n]
    J = s.out[m.held :]
    for i in range(s.rows):
        target = s.out[m.held_b + i] - s.out[m.held_gap + i] / h
        s.multiplier[i] = target - dot(J[i * n :], s.free, n)
    solve_factored(s.schur, s.multiplier, s.rows)
    for i in range(s.rows):
        s.free[:n] += s.multiplier[i] * s.equality[i * n :][:n]


@routine
def assemble_velocities(s: TimeStepping, h: float) -> None:
    """Write the free velocities of the contacts, with the terms of gap and restitution, and their
    friction.
    """
    m, n, p = s.motion, s.motion.speeds, s.problem
    for c in range(s.counts[CONTACTS]):
        k = s.which[c]
        row = s.seen[c * m.row :]
        for a in range(3):
            keeps = 1.0 if a < s.held[k] else 0.0
            free = add_dot(-row[m.b + a], row[m.C + a * n :], s.free, n)
            p.b[3 * c + a] = keeps * free
        before = slip(s.x, row, m, 0)
        gap = row[m.gap]
        if before < -s.rest_speed and s.restitution > 0.0:
            p.b[3 * c] += s.restitution * before
        else:
            p.b[3 * c] += max(gap / h, -s.rest_speed)
        p.mu[c] = s.mu[k]


@routine
def follow_loads(s: TimeStepping, h: float) -> float:
    """Update the loads under which tyre forces are taken; return the largest relative change."""
    m, largest = s.motion, 0.0
    for c in range(s.counts[CONTACTS]):
        k = s.which[c]
        if s.tyred[k] == 1 and s.held[k] > 0:
            load = s.problem.impulse[3 * c] / h
            change = abs(load - s.carried[k]) / (abs(load) + 1e-3 * m.share)
            largest = max(largest, change)
            s.carried[k] = load
            s.contacts.features[k * FEATURE + LOAD] = max(load, 1e-3 * m.share)
            meet_tyre(s, k, h, s.seen[c * m.row :])
    return largest


@routine
def solve_step(s: TimeStepping, h: float) -> float:
    """Solve for the contact impulses and the speeds at the end of the step; return the residual."""
    m, n, p = s.motion, s.motion.speeds, s.problem
    count = s.counts[CONTACTS]
    for c in range(count):
        p.impulse[3 * c :][:3] = s.warm[3 * s.which[c] :][:3]
    found = 0.0
    passes = 0
    change = 1.0
    while change > LOAD_CHANGE and passes < LOAD_PASSES:
        free_speeds(s, h)
        assemble_velocities(s, h)
        found = solve_impulses(p, count)
        change = follow_loads(s, h) if m.acted > 0 else 0.0
        passes += 1
    s.after[:n] = s.free[:n]
    for i in range(3 * count):
        s.after[:n] += p.impulse[i] * s.response[i * n :][:n]
    return found


@routine
def find_blocked(s: TimeStepping) -> int:
    """Return the contact that still approaches the ground, -1 if none does: a prescribed motion pushes
    it there.
    """
    p = s.problem
    limit = INFEASIBLE_APPROACH * max_norm(p.b, 3 * s.counts[CONTACTS])
    blocked = -1
    for c in range(s.counts[CONTACTS]):
        if -p.velocity[3 * c] > limit:
            limit = -p.velocity[3 * c]
            blocked = s.which[c]
    return blocked


# --- what a step leaves


@routine
def add_world(s: TimeStepping, row: Floats, force: Floats, factor: float, into: Floats) -> None:
    """Add a contact force (normal, along, across) in world axes."""
    N, T = row[s.motion.normal :], row[s.along :]
    for j in range(3):
        a = (j + 1) % 3
        b = (j + 2) % 3
        across = N[a] * T[b] - N[b] * T[a]
        into[j] += factor * (force[0] * N[j] + force[1] * T[j] + force[2] * across)


@routine
def record_impulses(s: TimeStepping, h: float) -> None:
    """Add the impulses of the step to the sums since the last sample, and their work; keep them as the
    start values of the next step.
    """
    m, n, p = s.motion, s.motion.speeds, s.problem
    s.warm[: 3 * s.contacts.size] = 0.0
    s.equality_sum[: s.rows] += s.multiplier[: s.rows]
    for c in range(s.counts[CONTACTS]):
        k = s.which[c]
        row, lam = s.seen[c * m.row :], p.impulse[3 * c :]
        wheel = 3 * s.contacts.wheels[k]
        s.warm[3 * k :][:3] = lam[:3]
        s.own[wheel:][:3] += lam[:3]
        if s.contacts.wheels[k] < s.wheels.size:
            add_world(s, row, lam, 1.0, s.world[wheel:])
        else:
            # A stop pushes its joint up (feature number 1) or down (-1).
            s.world[wheel] += s.contacts.features[k * FEATURE] * lam[0]
        for a in range(3):
            mean = 0.5 * (slip(s.x, row, m, a) + add_dot(-row[m.b + a], row[m.C + a * n :], s.after, n))
            s.worst[WORK] += lam[a] * mean
            s.equality_sum[: s.rows] += lam[a] * s.reaction[(3 * c + a) * s.rows :][: s.rows]
        if s.tyred[k] == 1:
            tyre = s.single_force[0:]
            for a in range(3):
                tyre[a] = row[m.forces + a] + s.carried[k] * row[m.lifted + a]
                s.own[wheel + a] += h * tyre[a]
            add_world(s, row, tyre, h, s.world[wheel:])
        s.worst[PENETRATION] = max(s.worst[PENETRATION], -row[m.gap])


@routine
def judge_contact(s: TimeStepping, c: int, h: float) -> int:
    """Return 1 if a loaded contact sticks with margin, 0 if it slides with margin or has no friction,
    -1 if it is near a change of its status.
    """
    m, n = s.motion, s.motion.speeds
    row, lam, k = s.seen[c * m.row :], s.problem.impulse[3 * c :], s.which[c]
    if lam[0] < MIN_LOAD * s.weight * h:
        return -1
    if s.held[k] < 3 or s.mu[k] == 0.0:
        return 0
    if not isfinite(s.mu[k]):
        return 1
    if sqrt(lam[1] * lam[1] + lam[2] * lam[2]) < FRICTION_MARGIN * s.mu[k] * lam[0]:
        return 1
    along = add_dot(-row[m.b + 1], row[m.C + n :], s.after, n)
    across = add_dot(-row[m.b + 2], row[m.C + 2 * n :], s.after, n)
    return 0 if sqrt(along * along + across * across) > s.rest_speed else -1


@routine
def count_settled(s: TimeStepping, h: float) -> None:
    """Count successive steps in which the same contacts carry a load, each with margin: then the motion
    may be continued with these contacts as constraints.
    """
    count = 0
    same = 1
    for c in range(s.counts[CONTACTS]):
        if s.problem.impulse[3 * c] > 0.0:
            status = judge_contact(s, c, h)
            if status < 0:
                same = 0
            elif count >= s.counts[LOADED] or s.loaded[count] != s.which[c] or s.rolling[count] != status:
                same = 0
            s.loaded[count] = s.which[c]
            s.rolling[count] = status
            count += 1
    if count != s.counts[LOADED]:
        same = 0
    s.counts[LOADED] = count
    s.counts[SETTLED] = s.counts[SETTLED] + 1 if same == 1 else 0


@routine
def relax_tyres(s: TimeStepping, h: float) -> None:
    """Integrate the states of force elements at contacts, with the speeds at the end of the step. Tyres
    of wheels that touch down begin without slip.
    """
    m, n = s.motion, s.motion.speeds
    scratch = s.seen[s.most * m.row :]
    s.x[m.x_v :][:n] = s.after[:n]
    for i in range(m.remembered):
        touching = 0
        for c in range(s.counts[CONTACTS]):
            if s.contacts.wheels[s.which[c]] == s.owners[i]:
                touching = 1
        if touching == 1 and s.down[s.owners[i]] == 0:
            s.y[m.y_z + i] = 0.0
            s.x[m.x_q + m.y_z + i] = 0.0
    for c in range(s.counts[CONTACTS]):
        if s.tyred[s.which[c]] == 1:
            meet_one(s.x, s.contacts, s.which[c], scratch)
            s.y[m.y_z :][: m.remembered] += h * scratch[m.rates :][: m.remembered]
    s.down[: s.wheels.size] = 0
    for c in range(s.counts[CONTACTS]):
        if s.contacts.wheels[s.which[c]] < s.wheels.size:
            s.down[s.contacts.wheels[s.which[c]]] = 1


@routine
def finish_step(s: TimeStepping, t: float, h: float) -> int:
    """Move to the end of the step; return how the run goes on."""
    m, n = s.motion, s.motion.speeds
    size = m.y_z + m.states
    s.y[m.y_z :][: m.states] += h * s.out[m.zdot :][: m.states]
    if m.acted > 0:
        relax_tyres(s, h)
    s.middle[m.y_v :][:n] = s.after[:n]
    drift_pose(s, t + 0.5 * h, s.middle, 0.5 * h, s.y)
    s.y[m.y_v :][:n] = s.after[:n]
    total = 0.0
    for i in range(size):
        total += 0.0 * s.y[i]
    if total != 0.0:
        return NOT_FINITE
    q = s.y[0:]
    if abs(2.0 * (q[2] * q[3] + q[0] * q[1])) > s.lean_limit:
        return FALLEN
    if s.overturns == 1 and 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]) < 0.0:
        return TURNED_OVER
    return ADVANCED


@routine
def take_step(s: TimeStepping, t: float, h: float) -> int:
    """Take one step from the state in y at time t; return how it ended. A step that ends with
    LEFT_SWEEP, TOO_MANY or INFEASIBLE changes nothing and can be repeated.
    """
    evaluate_middle(s, t, h)
    if locate_wheels(s, h) == 1:
        return LEFT_SWEEP
    if find_contacts(s, h) == 1:
        return TOO_MANY
    if factor_mass(s, h) == 1 or factor_equalities(s) == 1:
        return SINGULAR_MASS
    assemble_responses(s)
    found = solve_step(s, h)
    if not isfinite(found):
        return NOT_FINITE
    s.counts[BLOCKED] = find_blocked(s) if s.rows > 0 and s.counts[ACCEPTS] == 0 else -1
    if s.counts[BLOCKED] >= 0:
        return INFEASIBLE
    s.counts[ACCEPTS] = 0
    s.worst[RESIDUAL] = max(s.worst[RESIDUAL], found)
    if found > ACCEPTED_RESIDUAL:
        s.counts[UNSOLVED] += 1
    record_impulses(s, h)
    count_settled(s, h)
    keep_centres(s)
    return finish_step(s, t, h)


@routine
def take_steps(s: TimeStepping, start: float, h: float, first: int, count: int) -> int:
    """Take some steps on the grid start + i h, from step number `first` on; return how that ended.
    `counts[STEPS]` is the number of steps taken.
    """
    s.counts[STEPS] = 0
    how = ADVANCED
    while how == ADVANCED and s.counts[STEPS] < count:
        how = take_step(s, start + (first + s.counts[STEPS]) * h, h)
        if how == ADVANCED or how == FALLEN or how == TURNED_OVER:
            s.counts[STEPS] += 1
    return how
