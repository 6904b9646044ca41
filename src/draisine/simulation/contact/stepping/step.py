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
symmetric. Torques of motors at their limits are implicit by an active set (`motors`).

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

import numpy as np
from numpy.typing import NDArray

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
from draisine.simulation.contact.stepping.motors import (
    MOTOR_PASSES,
    Motors,
    begin_motors,
    excess_torque,
    make_explicit,
    update_motors,
)


class StepResult(IntEnum):
    """Result of one step, or of a call of several steps."""

    ADVANCED = 0  # all steps were taken
    LEFT_SURROUNDINGS = 1  # a wheel leaves the boxes in which ground features were searched
    TOO_MANY_CONTACTS = 2  # the records are too small for the contacts of the step
    NOT_FINITE = 3  # a value is infinite or not a number
    SINGULAR_MASS = 4  # the mass matrix is not positive definite
    FALLEN = 5  # the lean angle exceeded its limit
    TURNED_OVER = 6  # the frame turned over
    INFEASIBLE = 7  # a prescribed motion pushes a contact into the ground
    SETTLED = 8  # contacts settled: the same ones carried loads with margin for `required` steps
    TOO_FAST = 9  # a wheel moves by more than its size in the shortest step
    OVER_CONSTRAINED = 10  # ideal contacts over-constrain the system
    SAMPLES_FULL = 11  # the samples of the next steps cannot be stored
    STRAINED = 12  # ideal contacts required more friction than wheels have, see `is_strained`


RATE_INCREMENT = 1e-6
"""Increment of a speed v in difference quotients, as a fraction of 1 + |v|; it is far below the speeds over
which friction laws are smoothed.
"""
INFEASIBLE_APPROACH = 1e-4
"""Remaining approach velocity after a step, as a fraction of the largest contact velocity without impulses,
above which feasibility is checked; in 99 % of feasible problems it is below 3e-6.
"""
MIN_TYRE_LOAD = 1e-3
"""Smallest normal load at which tyre forces are evaluated, as a fraction of the weight per wheel."""
MAX_TYRE_LOAD = 50.0
"""Largest normal load at which tyre forces are evaluated, as a multiple of the weight per wheel."""
SAME_DIRECTION = 0.9
"""Cosine of the angle between the normals of two contacts of a wheel, above which their constraint rows are
nearly equal.
"""
LOAD_PASSES = 6
"""Largest number of iterations for the tyre loads of one time step."""
LOAD_CHANGE = 1e-8
"""Relative change of the tyre loads in one iteration below which the iteration has converged."""
MASS_RIDGE = 1e-10
"""Diagonal term added to a singular mass matrix, as a fraction of its largest diagonal entry."""
NEGATIVE_PIVOT = 1e-8
"""Magnitude, as a fraction of the largest diagonal entry, above which a negative Cholesky pivot is not due to
rounding.
"""
REDUNDANT_ROW = 1e-12
"""Pivot of an equality constraint row, as a fraction of the largest pivot, below which the row is
redundant.
"""


class TimeStepping(Record):
    """Data of the time stepping of a system on a terrain: state, contacts, equations of the step, and sums of
    impulses and work.

    Sizes: n speeds, m equality constraints (prescribed joints, couplings), at most k contacts in a step,
    c nearby contacts, w wheels.
    """

    motion: Dynamics  # the system without ground
    contacts: ContactColumns  # nearby contacts, which may close
    wheels: ContactColumns  # wheels on the level plane, for the positions of their centres
    problem: ImpulseProblem  # contact problem of the present step

    # Settings
    most: int  # largest number k of contacts in a step
    rows: int  # number m of equality constraints
    applied: int  # offset of the applied forces in the output of the system's program
    required: int = 0  # number of steps with settled contacts after which a call ends; 0 for none
    along: int  # offset of the tangential unit vector in a contact row
    restitution: float  # normal coefficient of restitution of fast contacts
    # m/s; slower contacts do not rebound, and it limits the speed of penetration removal
    rest_speed: float
    # sine of the lean angle at which the system has fallen; above 1 for no limit
    lean_limit: float
    overturns: bool  # whether a frame that turns over ends the run
    weight: float  # N, weight of the system
    # (n) factor that converts each speed to m/s: 1 for linear speeds, the wheel size (m) for
    # angular ones
    lengths: Floats
    groups: int  # number of groups of speeds for difference quotients, see `group_speeds`
    group: Integers  # (n) group of each speed, -1 for none
    # (groups n) speed of each group on which each applied force depends, -1 for none
    acting: Integers
    motors: Motors  # torque limits of the motors

    # State
    x: Floats  # input of all programs
    y: Floats  # state (q, p, r, v, z)
    before: Floats  # state at the start of the last step
    middle: Floats  # state at mid-step
    after: Floats  # (n) speeds at the end of the step
    trend: Floats  # (n) mean acceleration of the previous step
    has_trend: bool = False  # whether `trend` is known

    # Dynamics
    out: Floats  # output of the system's program at mid-step
    shifted: Floats  # output of the system's program at perturbed speeds
    mass: Matrix  # (n, n) Cholesky factor of M + h A
    damping: Matrix  # (n, n) matrix A, symmetric part of -dQ/dv of the applied forces Q
    free: Floats  # (n) speeds at the end of the step without contact impulses
    equality: Matrix  # (m, n) (M + h A)^-1 J'
    schur: Matrix  # (m, m) Cholesky factor of J (M + h A)^-1 J'
    multiplier: Floats  # (m) impulses of the equality constraints without contact impulses
    response: Matrix  # (3 k, n) change of speeds per unit contact impulse
    reaction: Matrix  # (3 k, m) impulses of the equality constraints per unit contact impulse

    # Contacts of the step
    contact_count: int = 0  # number of contacts in the step
    seen: Matrix  # (k + 2, entries) contact rows of the step; the last two are scratch
    which: Integers  # (k) index of each contact of the step in `contacts`
    # (k) Status of each contact in this step, which determines its constraint rows
    status: Integers

    # Contacts nearby
    closed_status: Integers  # (c) Status of a closed contact without slip
    tyred: Flags  # (c) whether a tyre model determines the forces along axes without constraint row
    mu: Floats  # (c) friction coefficients
    warm: Matrix  # (c, 3) N s, impulses of the previous step, start values of the solver
    warmed_count: int = 0  # number of contacts of the previous step
    warmed: Integers  # (k) contacts of the previous step, whose start values may not be zero
    carried: Floats  # (c) N, normal load in the previous step
    reach_count: int = -1  # number of contacts in `reach`; -1 if the list is not valid
    reach: Integers  # (c) contacts that wheels can touch while they stay in `around`

    # Wheels
    centre: Matrix  # (w, 3) m, centres of the wheels at the last mid-step
    box: Floats  # (6 w) m, bounding boxes of the wheels' centres on the step
    swept: Floats  # (6 w) m, boxes in which ground features were searched
    around: Floats  # (6 w) m, boxes for which `reach` is valid
    slack: float  # m, distance by which `around` exceeds the boxes of the step
    airborne: Floats  # (w) s, time since the last contact of a wheel
    flight: float  # s, longest flight after which tyres keep their deflection
    owners: Integers  # (states) index of the wheel of each element state, -1 for none
    relaxed: Floats  # (states) states of the elements at the start of the step

    # Sums since the stepper was made or its sums were cleared
    own: Matrix  # (w + joints, 3) N s, contact impulses in contact axes
    # (w + joints, 3) N s, contact impulses in world axes; for joints N m s of their stops
    world: Matrix
    equality_sum: Floats  # (m) impulses of the equality constraints
    tyre_work: Floats  # (w + joints) J, work of the tyres on the system
    tyre_energy: Floats  # (w + joints) J, energy stored in tyres at the last step

    # Loaded contacts. Settled contacts carry loads with margin to lift-off and slip.
    loaded_count: int = 0  # number of contacts that carry a load
    loaded: Integers  # (k) index of each loaded contact in `contacts`
    settled_status: Integers  # (k) Status of each settled contact, OPEN for other loaded contacts
    # number of successive steps in which the same contacts carried loads with margin
    settled: int = 0

    # Contacts whose indices a search changes
    kept_count: int = -1  # number of contacts that the present search keeps; -1 if there is none
    kept_loaded: Integers  # (k) place of each loaded contact in `NearbyContacts.kept`

    # Measures of accuracy
    steps: int = 0  # number of steps taken in the last call
    unsolved: int = 0  # number of steps with a residual above MAX_STEP_RESIDUAL
    residual: float = 0.0  # largest residual of a step, as a fraction of the largest free velocity
    penetration: float = 0.0  # m, largest penetration at mid-step
    work: float = 0.0  # J, work of the contact impulses relative to the ground
    projection_work: float = 0.0  # J, part of `work` that removes penetration
    supplied: float = 0.0  # J, work of all impulses
    error: float = 0.0  # m, sum of the position errors of the steps
    travel: float = 0.0  # m, largest displacement of a wheel's centre in one step
    # index of the contact pushed into the ground by a prescribed motion; -1: none
    blocked: int = -1
    accepts_blocked: bool = False  # whether the next step is accepted with a blocked contact


MIN_LOAD = 0.01
"""Smallest normal force of a settled contact, as a fraction of the weight of the system; a contact with a
smaller force may open at any moment.
"""
NO_LOAD = 1e-8
"""Normal force of a contact, as a fraction of the weight of the system, below which it carries no load. A
contact that opens may have one of the size of rounding errors for one more step; the compliance of the solver
has the same size.
"""
MAX_FRICTION_USE = 0.95
"""Largest friction force of a settled sticking contact, as a fraction of mu times its normal force; with a
larger force it may slip at any moment.
"""
LARGEST_FRICTION = 2.0
"""Friction coefficient that no wheel has: rubber on dry asphalt has 0.8 to 1.2, racing tyres up to 2."""
MAX_STEP_RESIDUAL = 1e-6
"""Residual of the contact problem, as a fraction of the largest contact velocity without impulses, above
which a step counts as unsolved.
"""


# --- linear algebra of a step


@routine
def factor_semidefinite(A: Matrix, n: int, smallest: float) -> int:
    """Replace a symmetric matrix A (n, n) by its Cholesky factor, lower triangle. Return the number of
    redundant matrix rows, or -1 if a pivot is negative beyond rounding.

    Rows whose pivot is below `smallest` times the largest diagonal entry are redundant: their factor is zero.
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
    """Solve L L' x = b with the Cholesky factor L; x replaces b. Unknowns of redundant rows are zero."""
    for i in range(n):
        pivot = L[i, i]
        b[i] = (b[i] - dot(L[i], b, i)) / pivot if pivot > 0.0 else 0.0
    # Subtract row by row: the entries of a row are adjacent in memory.
    for i in range(n - 1, -1, -1):
        pivot = L[i, i]
        b[i] = b[i] / pivot if pivot > 0.0 else 0.0
        b[:i] -= b[i] * L[i, :i]


def group_speeds(depends: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Group speeds so that each force depends on at most one speed of a group: one evaluation of the forces
    then yields the difference quotients of all speeds of a group (Curtis, Powell and Reid 1974,
    doi:10.1093/imamat/13.1.117).

    Parameters
    ----------
    depends
        Whether each force depends on each speed, (forces, speeds).

    Returns
    -------
    group, acting
        Group of each speed (speeds,), -1 for speeds without influence; and the speed of each group on which
        each force depends (groups * forces,), -1 for none.
    """
    forces, speeds = depends.shape
    group = np.full(speeds, -1)
    acting: list[Integers] = []
    for j in range(speeds):
        on = depends[:, j]
        if not on.any():
            continue
        fitting = [k for k, taken in enumerate(acting) if (taken[on] < 0).all()]
        if not fitting:
            acting.append(np.full(forces, -1))
        group[j] = fitting[0] if fitting else len(acting) - 1
        acting[group[j]][on] = j
    return group, np.concatenate([*acting, np.full(forces, -1)])


# --- mid-step


@routine
def move_configuration(
    s: TimeStepping, source: Floats, rates: Floats, h: float, into: Floats
) -> None:
    """Write the configuration after a time h (s) at constant rates; quaternions are normalised."""
    m = s.motion
    into[: m.y_v] = source[: m.y_v] + h * rates[: m.y_v]
    if m.turns > 0:
        length = sqrt(dot(into, into, 4))
        into[:4] /= length


@routine
def move_configuration_by_midpoint(
    s: TimeStepping, t: float, source: Floats, h: float, into: Floats
) -> None:
    """Write the configuration after a time h (s) at constant speeds, by the midpoint rule: the base frame of
    a rolling wheel moves on a cycloid, from which a straight step would deviate by (omega h)^2 R / 2.
    """
    m = s.motion
    put_state(s.x, t, source, m.y_z + m.states)
    call(m.call, s.x, m.table, s.shifted, 1)
    # The mid-step quaternion is normalised: the rates of a quaternion of another length would
    # depend on the choice of world axes.
    move_configuration(s, source, s.shifted[m.flow :], 0.5 * h, s.x[m.x_q :])
    call(m.call, s.x, m.table, s.shifted, 1)
    move_configuration(s, source, s.shifted[m.flow :], h, into)


@routine
def evaluate_machine_at_mid_step(s: TimeStepping, t: float, h: float) -> None:
    """Evaluate the program of the system at the configuration of mid-step, with the speeds at the start of
    the step.
    """
    m = s.motion
    size = m.y_z + m.states
    s.middle[:size] = s.y[:size]
    move_configuration_by_midpoint(s, t, s.y, 0.5 * h, s.middle)
    put_state(s.x, t + 0.5 * h, s.middle, size)
    call(m.call, s.x, m.table, s.out, 1)


# --- contacts of the step


@routine
def bound_step_motion(s: TimeStepping, h: float) -> bool:
    """Compute the bounding boxes of the wheels' centres on the step. Return whether all of them lie in the
    boxes in which ground features were searched.
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
        # On the rest of the step a wheel moves about as far as it has moved since the last
        # mid-step.
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
def store_wheel_positions(s: TimeStepping) -> None:
    """Store the positions (m) of the wheels' centres at this mid-step, for use in the next step."""
    for w in range(s.wheels.size):
        for j in range(3):
            s.centre[w, j] = 0.5 * (s.box[6 * w + j] + s.box[6 * w + 3 + j])


@routine
def is_regular(m: Dynamics, row: Floats) -> bool:
    """Return whether a contact row is finite; the row of a disc on an edge in its plane is not."""
    total = 0.0
    for i in range(3 * m.speeds):
        total += 0.0 * row[m.C + i]
    return total == 0.0


@routine
def evaluate_contact(s: TimeStepping, k: int, h: float, row: Floats) -> None:
    """Evaluate the contact row of contact k at the speeds in x. The tyre states are those at the end of the
    step, because a relaxation length is a stiff spring, which explicit states would excite.
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
    """Set the load (N) at which the tyre forces of contact k are evaluated, within bounds. It is positive,
    because tyre forces have no derivative at zero, and bounded, because a side force in proportion to the
    load may increase the load.
    """
    share = s.motion.share
    s.carried[k] = min(load, MAX_TYRE_LOAD * share)
    s.contacts.features[k * FEATURE + LOAD] = max(s.carried[k], MIN_TYRE_LOAD * share)


@routine
def can_close(s: TimeStepping, k: int, h: float, row: Floats) -> bool:
    """Return whether contact k touches or can close within the step; if so, `row` is completely evaluated.

    The contact point must lie within the borders of its feature, and the wheel's centre outside the ground.
    """
    m = s.motion
    contacts = s.contacts
    evaluate_gap(s.x, contacts, k, row)
    gap = row[m.gap]
    # Reject by the gap alone first: evaluating a complete contact row is expensive.
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
def list_contacts_in_reach(s: TimeStepping) -> None:
    """List the contacts that the wheels can touch near their present positions. Most nearby contacts are out
    of reach for many steps, and testing each of them in each step would cost more than the step.
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
    """List the contacts that touch or can close within the step; return whether the arrays are large
    enough.
    """
    list_contacts_in_reach(s)
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
def duplicates_ideal_contact(s: TimeStepping, c: int) -> bool:
    """Return whether ideal contact c duplicates another contact of its wheel: in a shallow concave edge the
    wheel cannot roll without slip on both faces. The contact with the larger load keeps its tangential
    constraint rows.
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
    """Choose the status of each contact of the step, which determines its constraint rows."""
    for c in range(s.contact_count):
        k = s.which[c]
        s.status[c] = s.closed_status[k]
        if not isfinite(s.mu[k]) and duplicates_ideal_contact(s, c):
            s.status[c] = Status.SLIDING


# --- the momentum balance


@routine
def add_tyre_forces(s: TimeStepping, c: int, row: Floats, factor: float, into: Floats) -> None:
    """Add the generalised force (n) of the tyre at contact c of the step under its load, multiplied by
    `factor`.
    """
    m = s.motion
    n = m.speeds
    load = s.carried[s.which[c]]
    into[:n] += factor * (row[m.push :][:n] + load * row[m.lift :][:n])


@routine
def add_applied_derivative(s: TimeStepping) -> None:
    """Add the derivative of the applied forces with respect to the speeds, with their sign in F, to the
    matrix A. The speeds of a group change at once: no force depends on two of them.
    """
    m = s.motion
    n = m.speeds
    v = s.x[m.x_v :]
    before = s.middle[m.y_v :]
    motors = s.motors
    for i in range(motors.count):
        motors.slope[i, :n] = 0.0
    for g in range(s.groups):
        for j in range(n):
            if s.group[j] == g:
                v[j] = before[j] + RATE_INCREMENT * (1.0 + abs(before[j]))
        call(m.call, s.x, m.table, s.shifted, 1)
        for i in range(n):
            speed = s.acting[g * n + i]
            if speed >= 0:
                change = s.shifted[s.applied + i] - s.out[s.applied + i]
                s.damping[speed, i] -= change / (RATE_INCREMENT * (1.0 + abs(before[speed])))
        for i in range(motors.count):
            speed = s.acting[g * n + motors.speed[i]]
            if speed >= 0:
                increment = RATE_INCREMENT * (1.0 + abs(before[speed]))
                k = motors.requested + i
                motors.slope[i, speed] = (s.shifted[k] - s.out[k]) / increment
                change = excess_torque(motors, i, s.shifted, v)
                change -= excess_torque(motors, i, s.out, before)
                s.damping[speed, motors.speed[i]] -= change / increment
        for j in range(n):
            if s.group[j] == g:
                v[j] = before[j]


@routine
def add_tyre_derivative(s: TimeStepping, h: float) -> None:
    """Add the derivative of the tyre forces with respect to the speeds, with their sign in F, to the matrix
    A.
    """
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
    """Compute A, the symmetric part of the derivative of applied and tyre forces with respect to the speeds.

    Coriolis forces stay explicit: if they were included, the errors of a rolling bicycle would be three times
    as large.
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
def factor_step_matrix(s: TimeStepping, h: float) -> bool:
    """Compute the Cholesky factor of M + h A; return whether it exists.

    With an unstable control law it may not exist; then A is omitted. Bodies without inertia about an axis
    make M singular; then a small diagonal term is added, and the constraints make the motion unique.
    """
    m = s.motion
    n = m.speeds
    largest = 0.0
    for i in range(n):
        largest = max(largest, s.out[m.M + i * n + i])
    differentiate_rates(s, h)
    for attempt in range(4):
        if attempt == 1:
            # The limited torques of motors may be stable where the requested ones are not.
            if not make_explicit(s.motors, s.out, s.middle[m.y_v :]):
                continue
            differentiate_rates(s, h)
        for i in range(n):
            s.mass[i, :n] = s.out[m.M + i * n :][:n]
            if attempt < 2:
                s.mass[i, :n] += h * s.damping[i, :n]
            if attempt == 3:
                s.mass[i, i] += MASS_RIDGE * largest
        if factor_semidefinite(s.mass, n, 0.0) == 0:
            return True
    return False


@routine
def factor_equalities(s: TimeStepping) -> bool:
    """Compute (M + h A)^-1 J' and the Cholesky factor of the Schur complement of the equality constraints J;
    return whether it exists.
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
    return factor_semidefinite(s.schur, s.rows, REDUNDANT_ROW) >= 0


@routine
def solve_unit_response(s: TimeStepping, row: Floats, response: Floats, reaction: Floats) -> None:
    """Compute the change of speeds (n) and the impulses of the equality constraints (m) per unit impulse
    along a contact row.
    """
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
    """Compute the responses to unit contact impulses and the Delassus matrix W; rows that are not constraints
    are zero.
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
    """Compute the speeds (n) at the end of the step without contact impulses, and the corresponding impulses
    of the equality constraints (m).
    """
    m = s.motion
    n = m.speeds
    J = s.out[m.held :]
    s.free[:n] = -h * s.out[m.F :][:n]
    for i in range(s.motors.count):
        s.free[s.motors.speed[i]] += h * excess_torque(s.motors, i, s.out, s.middle[m.y_v :])
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
    """Return the velocity (m/s) of a contact point relative to the ground at speeds v, along axis 0 normal, 1
    along or 2 across.
    """
    m = s.motion
    n = m.speeds
    return add_dot(-row[m.b + axis], row[m.C + axis * n :], v, n)


@routine
def assemble_velocities(s: TimeStepping, h: float) -> None:
    """Compute the free velocities (m/s) of the contacts, including the terms of gap and restitution, and
    write their friction coefficients.
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
        # A tyre on a vertical spring has no constraint row: no impulse could satisfy a gap
        # condition.
        if rows > 0 and before < -s.rest_speed and s.restitution > 0.0:
            p.b[3 * c] += s.restitution * before
        elif rows > 0:
            p.b[3 * c] += max(row[s.motion.gap] / h, -s.rest_speed)
        p.mu[c] = s.mu[k] if rows > 1 else 0.0


@routine
def update_step_loads(s: TimeStepping, h: float) -> float:
    """Update the normal loads at which tyre forces are evaluated; return the largest relative change."""
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
    """Solve for the contact impulses and the speeds at the end of the step; return the residual of Coulomb's
    law.
    """
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
        change = update_step_loads(s, h) if s.motion.acted > 0 else 0.0
        passes += 1
    s.after[:n] = s.free[:n]
    for i in range(3 * s.contact_count):
        s.after[:n] += p.impulse[i] * s.response[i, :n]
    return residual


@routine
def solve_step_with_motors(s: TimeStepping, h: float) -> float:
    """Solve the step until the torques of all motors are within their limits at its end; return the residual
    of Coulomb's law, or -1 if the mass matrix is not positive definite.
    """
    m = s.motion
    before = s.middle[m.y_v :]
    begin_motors(s.motors, s.out, before)
    residual = 0.0
    passes = 0
    is_solved = False
    while not is_solved:
        if not factor_step_matrix(s, h) or not factor_equalities(s):
            return -1.0
        assemble_delassus(s)
        residual = solve_step(s, h)
        passes += 1
        is_solved = update_motors(s.motors, s.out, before, s.after, m.speeds)
        if passes == MOTOR_PASSES - 1 and not is_solved:
            is_solved = not make_explicit(s.motors, s.out, before)
    return residual


@routine
def find_blocked_contact(s: TimeStepping) -> int:
    """Return the index of the contact with the fastest approach to the ground after the step, or -1: a
    prescribed motion pushes it into the ground.
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
def add_world_force(s: TimeStepping, row: Floats, force: Vec3, into: Floats) -> None:
    """Add a contact force (normal, along, across), converted to world axes, to a force in world axes."""
    N = Vec3(*row[s.motion.normal : s.motion.normal + 3])
    along = Vec3(*row[s.along : s.along + 3])
    total = force[0] * N + force[1] * along + force[2] * cross(N, along)
    for j in range(3):
        into[j] += total[j]


@routine
def record_contact(s: TimeStepping, c: int, h: float) -> None:
    """Add the impulse (N s) of contact c to the sums of its wheel, and its work (J) to the total."""
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
        # A joint stop pushes in the positive (first feature coordinate 1) or negative direction
        # (-1).
        s.world[owner, 0] += s.contacts.features[k * FEATURE] * impulse[0]
    elif s.tyred[k]:
        load = s.carried[k]
        forces = Vec3(*row[m.forces : m.forces + 3])
        lifted = Vec3(*row[m.lifted : m.lifted + 3])
        impulse += h * (forces + load * lifted)
        s.tyre_work[owner] += h * (row[m.forces + POWER] + load * row[m.lifted + POWER])
        s.tyre_energy[owner] = row[m.forces + ENERGY] + load * row[m.lifted + ENERGY]
        add_world_force(s, row, impulse, s.world[owner])
    else:
        add_world_force(s, row, impulse, s.world[owner])
    for axis in range(3):
        s.own[owner, axis] += impulse[axis]
    s.penetration = max(s.penetration, -row[m.gap])


@routine
def record_impulses(s: TimeStepping, h: float) -> None:
    """Add the impulses of the step to the sums; keep them as start values of the next step."""
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
    """Add the work (J) of all impulses of the step, and the position error (m) of the step, to their sums."""
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
def classify_settled_contact(s: TimeStepping, c: int, h: float) -> Status:
    """Return the status that loaded contact c has with margin, or OPEN if its status may change at any moment
    because of a small load or friction close to its limit.
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
def is_strained(s: TimeStepping, h: float) -> bool:
    """Return whether at least two ideal contacts carry loads, and one of them requires more friction than any
    wheel has. Wheels that over-constrain the system on uneven ground require it, because small differences of
    their rows oppose the whole drive.
    """
    ideal = 0
    required = 0.0
    for c in range(s.contact_count):
        impulse = s.problem.impulse[3 * c :]
        is_loaded = impulse[0] > MIN_LOAD * s.weight * h
        if is_loaded and s.status[c] == Status.ROLLING and not isfinite(s.mu[s.which[c]]):
            required = max(required, plane_norm(impulse[1], impulse[2]) / impulse[0])
            ideal += 1
    return ideal >= 2 and required > LARGEST_FRICTION


@routine
def count_settled(s: TimeStepping, h: float) -> None:
    """Count the successive steps in which the same contacts carry loads, each with margin; event location may
    then resume with these contacts as constraints.
    """
    count = 0
    same = True
    for c in range(s.contact_count):
        if s.problem.impulse[3 * c] > NO_LOAD * s.weight * h:
            status = classify_settled_contact(s, c, h)
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
def wheel_touches(s: TimeStepping, wheel: int) -> bool:
    """Return whether a wheel has a contact in the step."""
    has_contact = False
    for c in range(s.contact_count):
        if s.contacts.wheels[s.which[c]] == wheel:
            has_contact = True
    return has_contact


@routine
def integrate_tyre_states(s: TimeStepping, h: float) -> None:
    """Integrate the states of force elements at contacts over the step, with the speeds at its end. Tyres of
    wheels that touch down after a flight begin without slip.
    """
    m = s.motion
    n = m.speeds
    scratch = s.seen[s.most]
    s.x[m.x_v :][:n] = s.after[:n]
    for i in range(m.remembered):
        owner = s.owners[i]
        if owner >= 0 and wheel_touches(s, owner) and s.airborne[owner] > s.flight:
            s.y[m.y_z + i] = 0.0
            s.x[m.x_q + m.y_z + i] = 0.0
    for c in range(s.contact_count):
        if s.tyred[s.which[c]]:
            evaluate_row(s.x, s.contacts, s.which[c], scratch)
            s.y[m.y_z :][: m.remembered] += h * scratch[m.rates :][: m.remembered]
    for w in range(s.wheels.size):
        s.airborne[w] = 0.0 if wheel_touches(s, w) else s.airborne[w] + h


@routine
def finish_step(s: TimeStepping, t: float, h: float) -> StepResult:
    """Move the state to the end of the step; return ADVANCED, NOT_FINITE, FALLEN or TURNED_OVER."""
    m = s.motion
    n = m.speeds
    size = m.y_z + m.states
    s.y[m.y_z :][: m.states] += h * s.out[m.zdot :][: m.states]
    if m.acted > 0:
        integrate_tyre_states(s, h)
    s.middle[m.y_v :][:n] = s.after[:n]
    move_configuration_by_midpoint(s, t + 0.5 * h, s.middle, 0.5 * h, s.y)
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
def take_time_step(s: TimeStepping, t: float, h: float) -> StepResult:
    """Take one step of length h (s) from the state in y at time t (s); return its result. After
    LEFT_SURROUNDINGS, TOO_MANY_CONTACTS or INFEASIBLE the state is unchanged and the step can be repeated.
    """
    size = s.motion.y_z + s.motion.states
    evaluate_machine_at_mid_step(s, t, h)
    if not bound_step_motion(s, h):
        return StepResult.LEFT_SURROUNDINGS
    if not find_contacts(s, h):
        return StepResult.TOO_MANY_CONTACTS
    choose_statuses(s)
    residual = solve_step_with_motors(s, h)
    if residual < 0.0:
        return StepResult.SINGULAR_MASS
    # Discard a state that is not finite; the state before the step remains.
    total = 0.0 * residual
    for i in range(s.motion.speeds):
        total += 0.0 * s.after[i]
    if total != 0.0:
        return StepResult.NOT_FINITE
    if s.rows > 0 and not s.accepts_blocked:
        s.blocked = find_blocked_contact(s)
        if s.blocked >= 0:
            return StepResult.INFEASIBLE
    s.accepts_blocked = False
    s.residual = max(s.residual, residual)
    if residual > MAX_STEP_RESIDUAL:
        s.unsolved += 1
    record_impulses(s, h)
    record_energy(s, h)
    count_settled(s, h)
    store_wheel_positions(s)
    s.before[:size] = s.y[:size]
    return finish_step(s, t, h)


@routine
def take_time_steps(s: TimeStepping, start: float, h: float, first: int, count: int) -> StepResult:
    """Take `count` steps on the grid start + i h (s), beginning with index `first`; return the result of the
    last step. `steps` is the number of steps taken.
    """
    s.steps = 0
    result = StepResult.ADVANCED
    while result is StepResult.ADVANCED and s.steps < count:
        result = take_time_step(s, start + (first + s.steps) * h, h)
        ends = result is StepResult.FALLEN or result is StepResult.TURNED_OVER
        if result is StepResult.ADVANCED or ends:
            s.steps += 1
        if result is StepResult.ADVANCED and s.required > 0 and s.settled >= s.required:
            result = StepResult.SETTLED
        if result is StepResult.ADVANCED and is_strained(s, h):
            result = StepResult.STRAINED
    return result
