"""One time step on a terrain, as routines: Moreau and Jean's scheme, linearly implicit in rates.

A step of length h goes from (q, v) to (q+, v+), eq. [moreau-jean]:

    q_m = q + h/2 v                                            configuration at mid-step
    (M + h A) (v+ - v) = -h F(q_m, v) + J' nu + C' lam         balance of momentum
    J v+ = b - e_m / h                                         prescribed joints, couplings
    0 <= lam_n _|_ C_n v+ - w_n + gap_m / h >= 0               contacts, with Coulomb friction
    q+ = q_m + h/2 v+

A is the symmetric part of -dQ/dv, by differences; Q are the applied forces, those without a potential. A
makes servos, dampers, joint friction and tyres implicit: explicit, a servo of gain k on a free wheel of
inertia J is unstable for k h > 2 J. The antisymmetric part stays explicit, so that the Delassus matrix is
symmetric.

The gap at mid-step enters with the factor 1 / h: a penetration is gone after two steps. With 2 / h the
end position would be exact, but the load of a resting wheel would alternate from step to step
(eigenvalue -1). Contacts that can close within the step are included, so that a plastic impact ends on
the ground and not below it. A fast contact with restitution e is an impact instead, resolved when its
gap has closed, by u_n(after) + e u_n(before) >= 0.

Energy. With the mean speeds w = (v + v+) / 2, all impulses of a step do the work
w . (M (v+ - v) + h (F + Q)), where F + Q are the Coriolis forces, weight and springs. The energy changes by
a different amount, because these forces vary within a step; the difference is the energy drift. Normal
impulses do no positive work on fixed ground, except for that which pushes a penetrating wheel out: the
projection work.

Error. The acceleration jumps from step to step where the motion is not smooth. A position is uncertain by
half a step times the change of speed that the step before does not predict; the sum controls the step.

References: Moreau 1988 (doi:10.1007/978-3-7091-2624-0_1), Jean 1999 (doi:10.1016/S0045-7825(98)00383-1),
Acary 2013 (doi:10.1016/j.cma.2012.12.012).
"""

from enum import IntEnum
from math import isfinite, sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import (
    Flags,
    Integers,
    Matrix,
    Record,
    Vec3,
    call,
    cross,
    routine,
)
from draisine.mechanics.contact.elements import ENERGY, POWER
from draisine.mechanics.contact.features import FEATURE, LOAD
from draisine.simulation.contact.complementarity.impulses import (
    ImpulseProblem,
    solve_impulses,
)
from draisine.simulation.contact.complementarity.linear import add_dot, dot, max_norm, plane_norm
from draisine.simulation.contact.event_driven.arc_integration import is_in_reach
from draisine.simulation.contact.kernels import (
    ContactColumns,
    Dynamics,
    border_excess,
    evaluate_gap,
    evaluate_row,
    is_above,
    put_state,
    relative_velocity,
)
from draisine.simulation.contact.status import Status, count_rows


class StepResult(IntEnum):
    """How a step or a call of several steps ended."""

    ADVANCED = 0  # all steps were taken
    LEFT_SURROUNDINGS = 1  # a wheel leaves the surroundings whose features are known
    TOO_MANY_CONTACTS = 2  # more contacts than there is room for
    NOT_FINITE = 3
    SINGULAR_MASS = 4  # the mass matrix is not positive definite
    FALLEN = 5  # the lean passed its limit
    TURNED_OVER = 6
    INFEASIBLE = 7  # a prescribed motion pushes a contact into the ground
    SETTLED = (
        8  # the same contacts have carried a load with margin for the required number of steps
    )


RATE_INCREMENT = 1e-6  # of 1 + |v|; far below the rates over which friction laws are smoothed
INFEASIBLE_APPROACH = (
    1e-4  # of the largest free velocity; 99 % of feasible problems leave below 3e-6
)
MIN_TYRE_LOAD = 1e-3  # of a wheel's share of the weight; tyre forces are evaluated at no less
MAX_TYRE_LOAD = 50.0  # of a wheel's share of the weight; nor at more
SAME_DIRECTION = (
    0.9  # cosine between normals; two contacts of a wheel then hold nearly the same rows
)
LOAD_PASSES = 6  # rounds in which tyre forces follow the loads of the step
LOAD_CHANGE = 1e-8  # of the load; the rounds end below it
MASS_RIDGE = 1e-10  # of the largest diagonal entry; added to a singular mass matrix
NEGATIVE_PIVOT = 1e-8  # of the largest diagonal entry; a pivot below minus this is negative
REDUNDANT_ROW = 1e-12  # of the largest pivot; equality rows below it are redundant


class TimeStepping(Record):
    """A machine on a terrain that moves in time steps, with room to work.

    n speeds, m equality rows, k contacts of a step at most, c contacts nearby, w wheels.
    """

    motion: Dynamics  # the free machine
    contacts: ContactColumns  # contacts that may close nearby
    wheels: ContactColumns  # the wheels on the level plane, queried for their centres
    problem: ImpulseProblem  # contacts of the present step

    # Settings
    most: int  # k
    rows: int  # m
    applied: int  # offset of the applied forces in the output of the program of the free machine
    required: int = 0  # settled steps after which a call ends; 0: none
    along: int  # offset of the direction along in the row of a contact
    restitution: float  # normal restitution of fast contacts
    rest_speed: float  # m/s; slower contacts do not rebound, and penetration is removed no faster
    lean_limit: float  # sine of the lean at which the machine has fallen; above 1: none
    overturns: bool  # whether a frame that turns over ends the run
    weight: float  # N; weight of the machine
    lengths: Floats  # (n) m/s per unit of each speed: 1 for velocities, the wheel size for rates

    # State
    x: Floats  # input of all programs
    y: Floats  # state (q, p, r, v, z)
    before: Floats  # state at the beginning of the last step
    middle: Floats  # state at mid-step
    after: Floats  # (n) speeds at the end of the step
    trend: Floats  # (n) mean acceleration of the step before
    has_trend: bool = False

    # Dynamics
    out: Floats  # output of the program of the free machine at mid-step
    shifted: Floats  # the same at perturbed speeds
    mass: Matrix  # (n, n) Cholesky factor of M + h A
    damping: Matrix  # (n, n) A
    free: Floats  # (n) speeds without contact impulses
    equality: Matrix  # (m, n) (M + h A)^-1 J'
    schur: Matrix  # (m, m) Cholesky factor of J (M + h A)^-1 J'
    multiplier: Floats  # (m) impulses of the equality rows without contact impulses
    response: Matrix  # (3 k, n) speeds per unit contact impulse
    reaction: Matrix  # (3 k, m) impulses of the equality rows per unit contact impulse

    # Contacts of the step
    contact_count: int = 0
    seen: Matrix  # (k + 2, row) what the programs of the contacts return; the last rows are scratch
    which: Integers  # (k) contacts of the step, by number among those nearby
    status: Integers  # (k) Status of each in this step; the law of contact acts on its rows

    # Contacts nearby
    closed_status: Integers  # (c) Status if closed without slip
    tyred: Flags  # (c) whether a tyre makes the forces of the other rows
    mu: Floats  # (c) friction coefficients
    warm: Matrix  # (c, 3) impulses of the step before
    warmed_count: int = 0
    warmed: Integers  # (k) contacts of the step before, whose entries of `warm` may not be zero
    carried: Floats  # (c) load of the step before, N
    reach_count: int = -1  # -1: the list is not made
    reach: Integers  # (c) contacts that the wheels can meet while they stay in `around`

    # Wheels
    centre: Matrix  # (w, 3) the wheels' centres at the last mid-step
    box: Floats  # (6 w) boxes around the wheels' centres on the step
    swept: Floats  # (6 w) boxes within which the surroundings are known
    around: Floats  # (6 w) boxes for which `reach` is valid
    slack: float  # m; by so much these exceed the boxes of the step for which the list was made
    airborne: Floats  # (w) time since a wheel touched, s
    flight: float  # s; tyres keep their deflection over shorter flights
    owners: Integers  # (states) wheel to which each state of an element belongs, -1: none
    relaxed: Floats  # (states) states of the elements at the beginning of the step

    # Sums since the stepper was made or its sums were cleared
    own: Matrix  # (w + joints, 3) contact impulses in the contact's own axes
    world: Matrix  # (w + joints, 3) the same in world axes; of joints the angular impulse of their stops
    equality_sum: Floats  # (m) impulses of the equality rows
    tyre_work: Floats  # (w + joints) work that tyres do on the machine, J
    tyre_energy: Floats  # (w + joints) energy stored in tyres at the last step, J

    # Contacts that carry a load
    loaded_count: int = 0
    loaded: Integers  # (k) by number among those nearby
    settled_status: Integers  # (k) Status that each has with margin, OPEN if none
    settled: int = 0  # successive steps in which the same contacts carried a load with margin

    # Quality
    steps: int = 0  # steps of the last call
    unsolved: int = 0  # steps whose residual is above MAX_STEP_RESIDUAL
    residual: float = 0.0  # largest residual, of the largest free velocity
    penetration: float = 0.0  # deepest penetration at mid-step, m
    work: float = 0.0  # work of the contact impulses relative to the ground, J
    projection_work: float = 0.0  # the part of it that pushes penetrating wheels out, J
    supplied: float = 0.0  # work of all impulses, J
    error: float = 0.0  # sum of the position errors of the steps, m
    travel: float = 0.0  # largest distance that a wheel's centre moves in a step, m
    blocked: int = -1  # the contact that a prescribed motion pushes into the ground
    accepts_blocked: bool = False  # whether the next step is accepted with a blocked contact


MIN_LOAD = 0.01  # of the weight; a contact with less may open at any moment
MAX_FRICTION_USE = 0.95  # of mu; a contact that uses more may slip at any moment
MAX_STEP_RESIDUAL = 1e-6  # of the largest free velocity; steps above it are counted as unsolved


# --- linear algebra of a step


@routine
def factor(A: Matrix, n: int, smallest: float) -> int:
    """Write the Cholesky factor of a symmetric matrix in place, lower triangle. Rows whose pivot is
    below `smallest` times the largest diagonal entry are redundant: their factor is zero. Return
    how many there are, or -1 if a pivot is negative beyond rounding.
    """
    largest = 0.0
    for i in range(n):
        largest = max(largest, A[i, i])
    redundant = 0
    for j in range(n):
        row = A[j]
        pivot = row[j] - dot(row, row, j)
        if not pivot > smallest * largest:
            if not pivot > -NEGATIVE_PIVOT * largest:
                return -1
            redundant += 1
            for i in range(j, n):
                A[i, j] = 0.0
            continue
        row[j] = sqrt(pivot)
        for i in range(j + 1, n):
            lower = A[i]
            lower[j] = (lower[j] - dot(lower, row, j)) / row[j]
    return redundant


@routine
def solve_factored(L: Matrix, b: Floats, n: int) -> None:
    """Solve L L' x = b by the Cholesky factor; x replaces b. Redundant rows get zero."""
    for i in range(n):
        pivot = L[i, i]
        b[i] = (b[i] - dot(L[i], b, i)) / pivot if pivot > 0.0 else 0.0
    for i in range(n - 1, -1, -1):
        pivot = L[i, i]
        rest = b[i]
        for j in range(i + 1, n):
            rest -= L[j, i] * b[j]
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
    put_state(s.x, t, source, m.y_z + m.states)
    call(m.call, s.x, m.table, s.shifted, 1)
    # A quaternion of another length would turn and stretch in a way that depends on the world's axes.
    move_pose(s, source, s.shifted[m.flow :], 0.5 * h, s.x[m.x_q :])
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


# --- contacts of the step


@routine
def locate_wheels(s: TimeStepping, h: float) -> bool:
    """Write the boxes around the wheels' centres on the step; return whether all of them lie within the
    surroundings that are known.
    """
    m = s.motion
    row = s.seen[s.most]
    inside = True
    for w in range(s.wheels.size):
        evaluate_gap(s.x, s.wheels, w, row)
        centre = row[m.centre :]
        last = s.centre[w]
        box = s.box[6 * w :]
        swept = s.swept[6 * w :]
        # A wheel moves on the rest of the step about as far as since the last mid-step.
        squared = 0.0
        for j in range(3):
            squared += (centre[j] - last[j]) * (centre[j] - last[j])
        moved = sqrt(squared)
        s.travel = max(s.travel, moved)
        travel = 1.5 * moved + s.rest_speed * h
        for j in range(3):
            box[j] = centre[j] - travel
            box[3 + j] = centre[j] + travel
            if box[j] < swept[j] or box[3 + j] > swept[3 + j]:
                inside = False
    return inside


@routine
def keep_centres(s: TimeStepping) -> None:
    """Keep the wheels' centres of this mid-step for the next one."""
    for w in range(s.wheels.size):
        for j in range(3):
            s.centre[w, j] = 0.5 * (s.box[6 * w + j] + s.box[6 * w + 3 + j])


@routine
def is_regular(m: Dynamics, row: Floats) -> bool:
    """Return whether the rows of a contact are finite; those of a disc on an edge in its plane are not."""
    total = 0.0
    for i in range(3 * m.speeds):
        total += 0.0 * row[m.C + i]
    return total == 0.0


@routine
def evaluate_contact(s: TimeStepping, k: int, h: float, row: Floats) -> None:
    """Evaluate a contact for the speeds in x. The states of its tyre are those of the end of the step: a
    relaxation length is a stiff spring, which explicit states would excite.
    """
    m = s.motion
    evaluate_row(s.x, s.contacts, k, row)
    if s.tyred[k]:
        z = s.x[m.x_q + m.y_z :]
        s.relaxed[: m.remembered] = z[: m.remembered]
        z[: m.remembered] += h * row[m.rates :][: m.remembered]
        evaluate_row(s.x, s.contacts, k, row)
        z[: m.remembered] = s.relaxed[: m.remembered]


@routine
def set_load(s: TimeStepping, k: int, load: float) -> None:
    """Set the load under which the forces of a tyre are evaluated. It is positive, because they have no
    derivative at zero, and bounded, because a side force in proportion to the load may increase it.
    """
    share = s.motion.share
    s.carried[k] = min(load, MAX_TYRE_LOAD * share)
    s.contacts.features[k * FEATURE + LOAD] = max(s.carried[k], MIN_TYRE_LOAD * share)


@routine
def can_close(s: TimeStepping, k: int, h: float, row: Floats) -> bool:
    """Return whether a contact touches or can close within the step; if so, `row` is complete.

    Its point must lie within the borders of its feature, and the wheel's centre outside the ground.
    """
    m = s.motion
    contacts = s.contacts
    evaluate_gap(s.x, contacts, k, row)
    gap = row[m.gap]
    # Reject by the gap alone first: the rows of a contact are expensive.
    if contacts.wheels[k] < s.wheels.size:
        box = s.box[6 * contacts.wheels[k] :]
        if not gap <= box[3] - box[0]:
            return False
    if border_excess(m, contacts, k, row) > m.tol.border or not is_above(m, contacts, k, row):
        return False
    set_load(s, k, s.carried[k])
    evaluate_contact(s, k, h, row)
    if not is_regular(m, row):
        return False
    approach = -relative_velocity(s.x, row, m, 0)
    # An impact with restitution is resolved when the gap has closed.
    if gap > 0.0 and approach > s.rest_speed and s.restitution > 0.0:
        return False
    return gap <= h * (max(approach, 0.0) + s.rest_speed)


@routine
def list_reach(s: TimeStepping) -> None:
    """Write the contacts that the wheels can meet around their present places. Most contacts nearby are
    out of reach for many steps: testing each of them in each step would cost more than the step.
    """
    size = 6 * s.wheels.size
    is_valid = s.reach_count >= 0
    for i in range(size):
        outside = s.box[i] < s.around[i] if i % 6 < 3 else s.box[i] > s.around[i]
        if outside:
            is_valid = False
    if is_valid:
        return
    for i in range(size):
        s.around[i] = s.box[i] - s.slack if i % 6 < 3 else s.box[i] + s.slack
    s.reach_count = 0
    for k in range(s.contacts.size):
        if is_in_reach(s.motion.tol, s.contacts, s.around, k):
            s.reach[s.reach_count] = k
            s.reach_count += 1


@routine
def find_contacts(s: TimeStepping, h: float) -> bool:
    """Write the contacts that touch or can close within the step; return whether there is room for all."""
    list_reach(s)
    s.contact_count = 0
    for i in range(s.reach_count):
        k = s.reach[i]
        if not is_in_reach(s.motion.tol, s.contacts, s.box, k):
            continue
        if not can_close(s, k, h, s.seen[s.contact_count]):
            continue
        if s.contact_count == s.most:
            return False
        s.which[s.contact_count] = k
        s.contact_count += 1
    return True


@routine
def duplicates_ideal(s: TimeStepping, c: int) -> bool:
    """Return whether an ideal contact duplicates another contact of its wheel: the wheel lies in a shallow
    concave edge and cannot roll without slip on both faces. The more loaded contact holds the tangents.
    """
    m = s.motion
    k = s.which[c]
    duplicates = False
    for other in range(s.contact_count):
        near = s.which[other]
        if other == c or s.contacts.wheels[near] != s.contacts.wheels[k] or isfinite(s.mu[near]):
            continue
        if dot(s.seen[c, m.normal :], s.seen[other, m.normal :], 3) > SAME_DIRECTION:
            heavier = s.warm[near, 0] > s.warm[k, 0]
            if heavier or (s.warm[near, 0] == s.warm[k, 0] and other < c):
                duplicates = True
    return duplicates


@routine
def choose_statuses(s: TimeStepping) -> None:
    """Write the status of each contact of the step: the law of contact acts on the rows that it holds."""
    for c in range(s.contact_count):
        k = s.which[c]
        s.status[c] = s.closed_status[k]
        if not isfinite(s.mu[k]) and duplicates_ideal(s, c):
            s.status[c] = Status.SLIDING


# --- the momentum balance


@routine
def add_tyre_forces(s: TimeStepping, c: int, row: Floats, factor: float, into: Floats) -> None:
    """Add the generalised force of the elements at contact c of the step under its load."""
    m = s.motion
    n = m.speeds
    load = s.carried[s.which[c]]
    into[:n] += factor * (row[m.push :][:n] + load * row[m.lift :][:n])


@routine
def add_applied_derivative(s: TimeStepping) -> None:
    """Add the derivative of the applied forces, with their sign in F, by the speeds."""
    m = s.motion
    n = m.speeds
    v = s.x[m.x_v :]
    for j in range(n):
        speed = v[j]
        increment = RATE_INCREMENT * (1.0 + abs(speed))
        v[j] = speed + increment
        call(m.call, s.x, m.table, s.shifted, 1)
        s.damping[j, :n] -= (s.shifted[s.applied :][:n] - s.out[s.applied :][:n]) / increment
        v[j] = speed


@routine
def add_tyre_derivative(s: TimeStepping, h: float) -> None:
    """Add the derivative of the tyre forces, with their sign in F, by the speeds."""
    m = s.motion
    n = m.speeds
    scratch = s.seen[s.most]
    for j in range(n):
        speed = s.x[m.x_v + j]
        increment = RATE_INCREMENT * (1.0 + abs(speed))
        s.x[m.x_v + j] = speed + increment
        for c in range(s.contact_count):
            if s.tyred[s.which[c]]:
                evaluate_contact(s, s.which[c], h, scratch)
                add_tyre_forces(s, c, scratch, -1.0 / increment, s.damping[j])
                add_tyre_forces(s, c, s.seen[c], 1.0 / increment, s.damping[j])
        s.x[m.x_v + j] = speed


@routine
def differentiate_rates(s: TimeStepping, h: float) -> None:
    """Write A, the symmetric part of the derivative of applied and tyre forces by the speeds.

    Coriolis forces stay explicit: with them the errors of a rolling bicycle were three times as large.
    """
    n = s.motion.speeds
    s.damping[:n, :n] = 0.0
    add_applied_derivative(s)
    if s.motion.acted > 0:
        add_tyre_derivative(s, h)
    for i in range(n):
        for j in range(i):
            mean = 0.5 * (s.damping[i, j] + s.damping[j, i])
            s.damping[i, j] = mean
            s.damping[j, i] = mean


@routine
def factor_mass(s: TimeStepping, h: float) -> bool:
    """Write the Cholesky factor of M + h A; return whether there is one.

    An unstable law may prevent it: then A is left out. Bodies without inertia about an axis leave M
    singular: then a small ridge is added, and the constraints make the motion unique.
    """
    m = s.motion
    n = m.speeds
    differentiate_rates(s, h)
    largest = 0.0
    for i in range(n):
        largest = max(largest, s.out[m.M + i * n + i])
    for attempt in range(3):
        for i in range(n):
            s.mass[i, :n] = s.out[m.M + i * n :][:n]
            if attempt == 0:
                s.mass[i, :n] += h * s.damping[i, :n]
            if attempt == 2:
                s.mass[i, i] += MASS_RIDGE * largest
        if factor(s.mass, n, 0.0) == 0:
            return True
    return False


@routine
def factor_equalities(s: TimeStepping) -> bool:
    """Write (M + h A)^-1 J' and the Cholesky factor of the Schur complement of the equality rows; return
    whether there is one.
    """
    m = s.motion
    n = m.speeds
    J = s.out[m.held :]
    for i in range(s.rows):
        s.equality[i, :n] = J[i * n :][:n]
        solve_factored(s.mass, s.equality[i], n)
    for i in range(s.rows):
        for j in range(s.rows):
            s.schur[i, j] = dot(J[i * n :], s.equality[j], n)
    return factor(s.schur, s.rows, REDUNDANT_ROW) >= 0


@routine
def solve_unit_response(s: TimeStepping, row: Floats, response: Floats, reaction: Floats) -> None:
    """Write the speeds and the impulses of the equality rows per unit impulse along a row."""
    m = s.motion
    n = m.speeds
    J = s.out[m.held :]
    response[:n] = row[:n]
    solve_factored(s.mass, response, n)
    for i in range(s.rows):
        reaction[i] = -dot(J[i * n :], response, n)
    solve_factored(s.schur, reaction, s.rows)
    for i in range(s.rows):
        response[:n] += reaction[i] * s.equality[i, :n]


@routine
def assemble_delassus(s: TimeStepping) -> None:
    """Write the responses to unit contact impulses and the Delassus matrix. Rows that a contact does
    not hold are zero.
    """
    m = s.motion
    n = m.speeds
    p = s.problem
    size = 3 * s.contact_count
    for i in range(size):
        if i % 3 < count_rows(s.status[i // 3]):
            solve_unit_response(
                s, s.seen[i // 3, m.C + (i % 3) * n :], s.response[i], s.reaction[i]
            )
        else:
            s.response[i, :n] = 0.0
            s.reaction[i, : s.rows] = 0.0
    for i in range(size):
        holds = i % 3 < count_rows(s.status[i // 3])
        for j in range(size):
            row = s.seen[i // 3, m.C + (i % 3) * n :]
            p.W[i, j] = dot(row, s.response[j], n) if holds else 0.0
    for i in range(size):
        for j in range(i):
            mean = 0.5 * (p.W[i, j] + p.W[j, i])
            p.W[i, j] = mean
            p.W[j, i] = mean


@routine
def compute_free_speeds(s: TimeStepping, h: float) -> None:
    """Write the speeds at the end of the step without contact impulses, and the impulses of the
    equality rows for them.
    """
    m = s.motion
    n = m.speeds
    J = s.out[m.held :]
    s.free[:n] = -h * s.out[m.F :][:n]
    for c in range(s.contact_count):
        if s.tyred[s.which[c]]:
            add_tyre_forces(s, c, s.seen[c], h, s.free)
    solve_factored(s.mass, s.free, n)
    s.free[:n] += s.y[m.y_v :][:n]
    for i in range(s.rows):
        target = s.out[m.held_b + i] - s.out[m.held_gap + i] / h
        s.multiplier[i] = target - dot(J[i * n :], s.free, n)
    solve_factored(s.schur, s.multiplier, s.rows)
    for i in range(s.rows):
        s.free[:n] += s.multiplier[i] * s.equality[i, :n]


@routine
def contact_velocity(s: TimeStepping, row: Floats, axis: int, v: Floats) -> float:
    """Return the velocity of a contact point relative to the ground at speeds v; axis 0 normal, 1 along,
    2 across.
    """
    m = s.motion
    n = m.speeds
    return add_dot(-row[m.b + axis], row[m.C + axis * n :], v, n)


@routine
def assemble_velocities(s: TimeStepping, h: float) -> None:
    """Write the free velocities of the contacts, with the terms of gap and restitution, and their
    friction.
    """
    p = s.problem
    p.count = s.contact_count
    for c in range(s.contact_count):
        k = s.which[c]
        row = s.seen[c]
        rows = count_rows(s.status[c])
        for axis in range(3):
            holds = axis < rows
            p.b[3 * c + axis] = contact_velocity(s, row, axis, s.free) if holds else 0.0
        before = relative_velocity(s.x, row, s.motion, 0)
        # A tyre on a vertical spring holds no row: no impulse could meet a condition on its gap.
        if rows > 0 and before < -s.rest_speed and s.restitution > 0.0:
            p.b[3 * c] += s.restitution * before
        elif rows > 0:
            p.b[3 * c] += max(row[s.motion.gap] / h, -s.rest_speed)
        p.mu[c] = s.mu[k] if rows > 1 else 0.0


@routine
def follow_loads(s: TimeStepping, h: float) -> float:
    """Update the loads under which tyre forces are evaluated; return the largest relative change."""
    largest = 0.0
    for c in range(s.contact_count):
        k = s.which[c]
        if s.tyred[k] and count_rows(s.closed_status[k]) > 0:
            load = s.problem.impulse[3 * c] / h
            change = abs(load - s.carried[k]) / (abs(load) + MIN_TYRE_LOAD * s.motion.share)
            largest = max(largest, change)
            set_load(s, k, load)
            evaluate_contact(s, k, h, s.seen[c])
    return largest


@routine
def solve_step(s: TimeStepping, h: float) -> float:
    """Solve for the contact impulses and the speeds at the end of the step; return the residual."""
    n = s.motion.speeds
    p = s.problem
    for c in range(s.contact_count):
        p.impulse[3 * c :][:3] = s.warm[s.which[c], :3]
    residual = 0.0
    change = 1.0
    passes = 0
    while change > LOAD_CHANGE and passes < LOAD_PASSES:
        compute_free_speeds(s, h)
        assemble_velocities(s, h)
        residual = solve_impulses(p)
        change = follow_loads(s, h) if s.motion.acted > 0 else 0.0
        passes += 1
    s.after[:n] = s.free[:n]
    for i in range(3 * s.contact_count):
        s.after[:n] += p.impulse[i] * s.response[i, :n]
    return residual


@routine
def find_blocked(s: TimeStepping) -> int:
    """Return the contact that approaches the ground fastest after the step, -1 if none does: a prescribed
    motion pushes it there.
    """
    p = s.problem
    fastest = INFEASIBLE_APPROACH * max_norm(p.b, 3 * s.contact_count)
    blocked = -1
    for c in range(s.contact_count):
        if -p.velocity[3 * c] > fastest:
            fastest = -p.velocity[3 * c]
            blocked = s.which[c]
    return blocked


# --- results of a step


@routine
def add_world(s: TimeStepping, row: Floats, force: Vec3, into: Floats) -> None:
    """Add a contact force (normal, along, across) in world axes."""
    N = Vec3(*row[s.motion.normal : s.motion.normal + 3])
    along = Vec3(*row[s.along : s.along + 3])
    total = force[0] * N + force[1] * along + force[2] * cross(N, along)
    for j in range(3):
        into[j] += total[j]


@routine
def record_contact(s: TimeStepping, c: int, h: float) -> None:
    """Add the impulse of contact c to the sums since these were cleared, and its work to the total."""
    m = s.motion
    k = s.which[c]
    row = s.seen[c]
    owner = s.contacts.wheels[k]
    impulse = Vec3(*s.problem.impulse[3 * c : 3 * c + 3])
    for axis in range(3):
        before = relative_velocity(s.x, row, m, axis)
        work = 0.5 * impulse[axis] * (before + contact_velocity(s, row, axis, s.after))
        s.work += work
        if axis == 0:
            s.projection_work += max(0.0, work)
        s.equality_sum[: s.rows] += impulse[axis] * s.reaction[3 * c + axis, : s.rows]
    if owner >= s.wheels.size:
        # A stop pushes its joint up (feature number 1) or down (-1).
        s.world[owner, 0] += s.contacts.features[k * FEATURE] * impulse[0]
    elif s.tyred[k]:
        load = s.carried[k]
        forces = Vec3(*row[m.forces : m.forces + 3])
        lifted = Vec3(*row[m.lifted : m.lifted + 3])
        impulse += h * (forces + load * lifted)
        s.tyre_work[owner] += h * (row[m.forces + POWER] + load * row[m.lifted + POWER])
        s.tyre_energy[owner] = row[m.forces + ENERGY] + load * row[m.lifted + ENERGY]
        add_world(s, row, impulse, s.world[owner])
    else:
        add_world(s, row, impulse, s.world[owner])
    for axis in range(3):
        s.own[owner, axis] += impulse[axis]
    s.penetration = max(s.penetration, -row[m.gap])


@routine
def record_impulses(s: TimeStepping, h: float) -> None:
    """Add the impulses of the step to the sums since these were cleared; keep them as the start values of
    the next step.
    """
    for i in range(s.warmed_count):
        s.warm[s.warmed[i], :3] = 0.0
    s.warmed_count = s.contact_count
    s.equality_sum[: s.rows] += s.multiplier[: s.rows]
    s.tyre_energy[: s.wheels.size] = 0.0
    for c in range(s.contact_count):
        s.warmed[c] = s.which[c]
        s.warm[s.which[c], :3] = s.problem.impulse[3 * c :][:3]
        record_contact(s, c, h)


@routine
def record_energy(s: TimeStepping, h: float) -> None:
    """Add the work of all impulses of the step, and the position error of the step."""
    m = s.motion
    n = m.speeds
    largest = 0.0
    for i in range(n):
        mean = 0.5 * (s.y[m.y_v + i] + s.after[i])
        conservative = s.out[m.F + i] + s.out[s.applied + i]
        momentum = 0.0
        for j in range(n):
            momentum += s.out[m.M + i * n + j] * (s.after[j] - s.y[m.y_v + j])
        s.supplied += mean * (momentum + h * conservative)
        change = s.after[i] - s.y[m.y_v + i]
        if s.has_trend:
            largest = max(largest, s.lengths[i] * abs(change - h * s.trend[i]))
        s.trend[i] = change / h
    s.error += 0.5 * h * largest
    s.has_trend = True


@routine
def judge_contact(s: TimeStepping, c: int, h: float) -> Status:
    """Return the status that a loaded contact has with margin, OPEN if it may change at any moment: little
    load, or friction close to its limit.
    """
    k = s.which[c]
    row = s.seen[c]
    impulse = s.problem.impulse[3 * c :]
    if impulse[0] < MIN_LOAD * s.weight * h:
        return Status.OPEN
    if s.status[c] != Status.ROLLING:
        return Status.SLIDING
    if not isfinite(s.mu[k]):
        return Status.ROLLING
    if plane_norm(impulse[1], impulse[2]) < MAX_FRICTION_USE * s.mu[k] * impulse[0]:
        return Status.ROLLING
    along = contact_velocity(s, row, 1, s.after)
    across = contact_velocity(s, row, 2, s.after)
    if plane_norm(along, across) > s.rest_speed:
        return Status.SLIDING
    return Status.OPEN


@routine
def count_settled(s: TimeStepping, h: float) -> None:
    """Count successive steps in which the same contacts carry a load, each with margin: then the motion
    may be continued with these contacts as constraints.
    """
    count = 0
    same = True
    for c in range(s.contact_count):
        if s.problem.impulse[3 * c] > 0.0:
            status = judge_contact(s, c, h)
            is_listed = count < s.loaded_count and s.loaded[count] == s.which[c]
            if not is_listed or status is Status.OPEN or s.settled_status[count] != status:
                same = False
            s.loaded[count] = s.which[c]
            s.settled_status[count] = status
            count += 1
    if count != s.loaded_count:
        same = False
    s.loaded_count = count
    s.settled = s.settled + 1 if same else 0


@routine
def touches(s: TimeStepping, wheel: int) -> bool:
    """Return whether a wheel has a contact in the step."""
    has_contact = False
    for c in range(s.contact_count):
        if s.contacts.wheels[s.which[c]] == wheel:
            has_contact = True
    return has_contact


@routine
def relax_tyres(s: TimeStepping, h: float) -> None:
    """Integrate the states of force elements at contacts, with the speeds at the end of the step. Tyres
    of wheels that touch down after a flight begin without slip.
    """
    m = s.motion
    n = m.speeds
    scratch = s.seen[s.most]
    s.x[m.x_v :][:n] = s.after[:n]
    for i in range(m.remembered):
        owner = s.owners[i]
        if owner >= 0 and touches(s, owner) and s.airborne[owner] > s.flight:
            s.y[m.y_z + i] = 0.0
            s.x[m.x_q + m.y_z + i] = 0.0
    for c in range(s.contact_count):
        if s.tyred[s.which[c]]:
            evaluate_row(s.x, s.contacts, s.which[c], scratch)
            s.y[m.y_z :][: m.remembered] += h * scratch[m.rates :][: m.remembered]
    for w in range(s.wheels.size):
        s.airborne[w] = 0.0 if touches(s, w) else s.airborne[w] + h


@routine
def finish_step(s: TimeStepping, t: float, h: float) -> StepResult:
    """Move to the end of the step; return how the run goes on."""
    m = s.motion
    n = m.speeds
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
        s.y[:size] = s.before[:size]
        return StepResult.NOT_FINITE
    q = s.y[0:]
    if abs(2.0 * (q[2] * q[3] + q[0] * q[1])) > s.lean_limit:
        return StepResult.FALLEN
    if s.overturns and 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]) < 0.0:
        return StepResult.TURNED_OVER
    return StepResult.ADVANCED


# --- steps


@routine
def take_step(s: TimeStepping, t: float, h: float) -> StepResult:
    """Take one step from the state in y at time t; return how it ended. A step that ends with
    LEFT_SURROUNDINGS, TOO_MANY_CONTACTS or INFEASIBLE changes nothing and can be repeated.
    """
    size = s.motion.y_z + s.motion.states
    evaluate_middle(s, t, h)
    if not locate_wheels(s, h):
        return StepResult.LEFT_SURROUNDINGS
    if not find_contacts(s, h):
        return StepResult.TOO_MANY_CONTACTS
    choose_statuses(s)
    if not factor_mass(s, h) or not factor_equalities(s):
        return StepResult.SINGULAR_MASS
    assemble_delassus(s)
    residual = solve_step(s, h)
    # A state that is not finite is discarded: the last one remains.
    total = 0.0 * residual
    for i in range(s.motion.speeds):
        total += 0.0 * s.after[i]
    if total != 0.0:
        return StepResult.NOT_FINITE
    if s.rows > 0 and not s.accepts_blocked:
        s.blocked = find_blocked(s)
        if s.blocked >= 0:
            return StepResult.INFEASIBLE
    s.accepts_blocked = False
    s.residual = max(s.residual, residual)
    if residual > MAX_STEP_RESIDUAL:
        s.unsolved += 1
    record_impulses(s, h)
    record_energy(s, h)
    count_settled(s, h)
    keep_centres(s)
    s.before[:size] = s.y[:size]
    return finish_step(s, t, h)


@routine
def take_steps(s: TimeStepping, start: float, h: float, first: int, count: int) -> StepResult:
    """Take some steps on the grid start + i h, from step number `first` on; return how that ended.
    `steps` is the number of steps taken.
    """
    s.steps = 0
    result = StepResult.ADVANCED
    while result is StepResult.ADVANCED and s.steps < count:
        result = take_step(s, start + (first + s.steps) * h, h)
        ends = result is StepResult.FALLEN or result is StepResult.TURNED_OVER
        if result is StepResult.ADVANCED or ends:
            s.steps += 1
        if result is StepResult.ADVANCED and s.required > 0 and s.settled >= s.required:
            result = StepResult.SETTLED
    return result
