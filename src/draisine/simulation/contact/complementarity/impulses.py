"""Impulses of several frictional contacts at once: Coulomb's law at impulse level.

Problem. For k contacts with rows (normal, along, across), find impulses that satisfy

    u = W lam + b,   0 <= lam_n _|_ u_n >= 0,   |lam_t| <= mu lam_n,
    u_t = 0 or lam_t = -mu lam_n u_t / |u_t|

where W is the Delassus matrix (symmetric, often rank-deficient: two wheels on one axle, four wheels on
a plane), b the velocities without contact impulses. If mu is infinite, the tangential velocity of a closed
contact is zero and its normal row is unilateral: a convex quadratic programme.

Method. A compliance `eps D` makes redundant impulses unique. D is the least W_nn for normal rows and
tr(W_ii) / 3 for tangential rows. Then

1. Gauss-Seidel sweeps with the exact solution of one contact, from the impulses of the step before;
2. Newton's method on the map of Alart and Curnier (1991, doi:10.1016/0045-7825(91)90022-X) with steps of
   full length, which keeps the best iterate: a line search rejects the right steps;
3. continuation from a larger compliance, if both fail: lateral impulses of two almost parallel rows
   move from wheel to wheel by small amounts in each sweep, and Newton's method jumps too far;
4. pseudo-arclength continuation along the path of solutions over the compliance, if continuation fails:
   with much friction and few speeds the path turns back at folds, and at kinks where the status of a contact
   changes.
   With a large compliance the solution is unique, and the velocities are bounded for every compliance. The
   path therefore leads to a solution. The orientation of the path decides how it leaves a kink (Allgower and
   Georg 2003, doi:10.1137/1.9780898719154, chapters 2 and 15).

The result is the best iterate with its residual. The caller decides which residual is acceptable.
"""

from math import e, inf, isfinite, log, sqrt

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Flags, Matrix, Record, routine
from draisine.codegen.targets.native import make_record, shared_code, workspace
from draisine.simulation.contact.complementarity.linear import add_dot, max_norm
from draisine.simulation.contact.complementarity.single_contact import solve_single_contact

COMPLIANCE = 1e-8
"""Relative compliance eps of the contact rows; eps D is the compliance, see the top of this file.

It changes velocities by 7e-8 of the largest velocity.
"""
FIRST_COMPLIANCE = 1e-3
"""Relative compliance at the first level of the continuation; all recorded problems converge there."""
COMPLIANCE_FACTOR = 1e-2
"""Factor by which the compliance decreases from one level of the continuation to the next."""
LARGEST_COMPLIANCE = 1.0
"""Largest relative compliance that is tried as the first level of the continuation."""
SMALLEST_PROGRESS = 0.7
"""Largest ratio of the compliances of two successive levels; above it the continuation makes no progress."""
SOLVED_RESIDUAL = 1e-10
"""Residual, relative to the largest free velocity, at which a problem counts as solved."""
ROUNDING_RESIDUAL = 1e-14
"""Bound of the rounding errors in the residual, relative to the largest sum of |W_ij lam_j|."""

FIRST_SWEEPS = 5
"""Number of Gauss-Seidel sweeps before Newton's method.

Five sweeps solve two thirds of the problems. More sweeps do not help the other third.
"""
NEWTON_STEPS = 8
"""Largest number of full Newton steps; the method converges within five steps or not at all."""
LINE_SEARCH_STEPS = 15
"""Largest number of damped Newton steps; only the levels of the continuation use them."""
SWEEPS_BETWEEN = 2
"""Number of Gauss-Seidel sweeps after every third Newton step, from impulses inside the friction cones."""
RELEASE_PASSES = 4
"""Largest number of passes in which ideal contacts without load are released."""
PATH_END = log(COMPLIANCE)
"""Logarithm of the compliance at the end of the path of solutions; the path begins at logarithm 0."""
MAX_PATH_START = 8.0
"""Largest logarithm of the compliance at the start of the path, if logarithm 0 does not converge."""
PATH_SWEEPS = 80
"""Number of Gauss-Seidel sweeps at the beginning of the path; with a large compliance they converge fast."""
FIRST_PATH_STEP = 0.1
"""Length of the first step along the path of solutions, in the units of `LONGEST_PATH_STEP`."""
LONGEST_PATH_STEP = 1.0
"""Largest length of a step along the path of solutions, dimensionless.

A step of length 1 changes the compliance by the factor e, or a velocity by the largest free velocity.
"""
LEAST_PATH_STEP = 1e-7
"""Smallest step length along the path of solutions; if shorter steps fail, a kink of the path is near."""
KINK_STEP = 1e-3
"""Length of the first step beyond a kink of the path of solutions, in the units of `LONGEST_PATH_STEP`."""
PATH_GROWTH = 1.5
"""Growth factor of the step length along the path of solutions after a step that converged."""
MAX_PATH_RATIO = 2.5
"""Largest distance of two successive points of the path, over the step length.

A more distant point belongs to another part of the path, and the step is repeated with half the length.
"""
PATH_NEWTON_STEPS = 6
"""Largest number of Newton steps by which a predicted point returns to the path of solutions."""
MAX_PATH_STEPS = 3000
"""Largest number of steps along the path that are tried; the longest known path needs about 700."""
MAX_PATH_POSITION = 50.0
"""Largest magnitude of the logarithm of the compliance on the path."""


class ImpulseProblem(Record):
    """Coulomb's law at impulse level for k contacts, with scratch arrays of the solver.

    Arrays have three entries per contact (normal, along, across) unless noted.
    """

    count: int = 0  # number k of contacts
    mu: Floats  # (k) friction coefficients; infinite for ideal contacts
    W: Matrix  # (3 k, 3 k) Delassus matrix, symmetric, 1/kg
    b: Floats  # (3 k) velocities without contact impulses, m/s
    impulse: Floats  # (3 k) contact impulses, N s; start value and result
    velocity: Floats  # (3 k) relative velocities W impulse + b, m/s
    released: Flags  # (k) whether an ideal contact is open, so that its three rows are dropped
    scale: Floats  # (k) mean inverse mass tr(W_ii) / 3 of each contact, 1/kg
    softness: Floats  # (3 k) compliance D of each row per unit of eps, 1/kg
    start: Floats  # impulses at the start of `solve_from_start`
    best: Floats  # impulses of the best iterate
    level: Floats  # impulses of the last converged level of the continuation
    entry: Floats  # impulses before Newton's method on a level of the continuation
    point: Floats  # impulses before a damped Newton step
    unreleased: Floats  # impulses before ideal contacts are released
    first: Floats  # impulses of the first Newton iteration, before the continuation
    kept: Floats  # impulses of the smallest residual before the path is followed
    # (3 k + 1, 3 k + 1) Jacobian of Newton's method; last column: derivatives by log(compliance)
    jacobian: Matrix
    step: Floats  # (3 k + 1) Newton step; last entry: change of the logarithm of the compliance
    tangent: Floats  # (3 k + 1) tangent of the path of solutions
    block: Floats  # (12) block of W of one contact row by row (9), and its free velocity (3)
    single: Floats  # (11) impulse of one contact (3), and scratch of `solve_single_contact` (8)


@routine
def measure_scales(p: ImpulseProblem) -> None:
    """Compute the mean inverse mass of each contact and the compliance D of its rows, both in 1/kg.

    All normal rows have the same compliance, the least inverse mass. Redundant loads then have minimum norm,
    as on event-driven arcs. A compliance in proportion to the trace would not be suitable: the spin of light
    wheels dominates the trace, and wheels beside casters would carry almost no load.
    """
    largest = 1e-300
    for k in range(p.count):
        largest = max(largest, p.W[3 * k, 3 * k])
    least = largest
    for k in range(p.count):
        # A contact whose constraint rows are zero has no inverse mass.
        if p.W[3 * k, 3 * k] > 0.0:
            least = min(least, p.W[3 * k, 3 * k])
    for k in range(p.count):
        i = 3 * k
        trace = p.W[i, i] + p.W[i + 1, i + 1] + p.W[i + 2, i + 2]
        p.scale[k] = trace / 3.0 if trace > 0.0 else least
        p.softness[i] = least
        p.softness[i + 1] = p.scale[k]
        p.softness[i + 2] = p.scale[k]


@routine
def measure_velocities(p: ImpulseProblem, compliance: float) -> None:
    """Compute the velocities u = (W + eps D) lam + b (m/s) with the relative compliance eps."""
    size = 3 * p.count
    for i in range(size):
        free = p.b[i] + compliance * p.softness[i] * p.impulse[i]
        p.velocity[i] = add_dot(free, p.W[i], p.impulse, size)


@routine
def largest_response(p: ImpulseProblem) -> float:
    """Return the largest row sum of |W_ij lam_j| (m/s), the scale of rounding errors of velocities."""
    size = 3 * p.count
    largest = 0.0
    for i in range(size):
        total = 0.0
        for j in range(size):
            total += abs(p.W[i, j] * p.impulse[j])
        largest = max(largest, total)
    return largest


@routine
def contact_residual(p: ImpulseProblem, k: int) -> float:
    """Return the violation of Coulomb's law at contact k (m/s).

    It is the natural map d |lam - P(lam - u / d)| with the mean inverse mass d. P projects the normal impulse
    onto non-negative numbers, and the tangential impulse onto the friction disc of this normal impulse.
    """
    lam = p.impulse[3 * k :]
    u = p.velocity[3 * k :]
    d = p.scale[k]
    if p.released[k]:
        return max(-u[0], 0.0)
    normal = max(lam[0] - u[0] / d, 0.0)
    worst = abs(lam[0] - normal)
    if not isfinite(p.mu[k]):
        return d * max(worst, max(abs(u[1]), abs(u[2])) / d)
    along = lam[1] - u[1] / d
    across = lam[2] - u[2] / d
    length = sqrt(along * along + across * across)
    radius = p.mu[k] * normal
    if length > radius:
        along *= radius / length
        across *= radius / length
    return d * max(worst, max(abs(lam[1] - along), abs(lam[2] - across)))


@routine
def friction_law_residual(p: ImpulseProblem, compliance: float) -> float:
    """Return the largest violation of Coulomb's law, relative to the largest free velocity."""
    measure_velocities(p, compliance)
    worst = 0.0
    for k in range(p.count):
        worst = max(worst, contact_residual(p, k))
    return worst / max(max_norm(p.b, 3 * p.count), 1e-300)


@routine
def solved_tolerance(p: ImpulseProblem) -> float:
    """Return the relative residual at which the problem is solved: SOLVED_RESIDUAL plus rounding errors."""
    rounding = ROUNDING_RESIDUAL * largest_response(p)
    return SOLVED_RESIDUAL + rounding / max(max_norm(p.b, 3 * p.count), 1e-300)


@routine
def solve_ideal_contact(W: Floats, b: Floats, lam: Floats) -> None:
    """Solve for the impulse lam (3), N s, of one ideal contact with u = W lam + b.

    The tangential velocity is zero; the normal row is unilateral. W (3, 3) is stored row by row.
    """
    # Eliminate the tangential rows; W has a compliance, so the block is positive definite.
    det = W[4] * W[8] - W[5] * W[7]
    g1 = (W[8] * W[1] - W[5] * W[2]) / det
    g2 = (W[4] * W[2] - W[7] * W[1]) / det
    h1 = (W[8] * b[1] - W[5] * b[2]) / det
    h2 = (W[4] * b[2] - W[7] * b[1]) / det
    normal = W[0] - W[1] * g1 - W[2] * g2
    free = b[0] - W[1] * h1 - W[2] * h2
    lam[0] = max(-free / normal, 0.0)
    lam[1] = -h1 - g1 * lam[0]
    lam[2] = -h2 - g2 * lam[0]


@routine
def sweep_contacts(p: ImpulseProblem, compliance: float) -> None:
    """Perform one Gauss-Seidel sweep: solve each contact exactly with the impulses of the others fixed."""
    size = 3 * p.count
    W = p.block[0:]
    rest = p.block[9:]
    lam = p.single[0:]
    for k in range(p.count):
        first = 3 * k
        if p.released[k]:
            p.impulse[first:][:3] = 0.0
            continue
        for i in range(3):
            row = p.W[first + i]
            rest[i] = add_dot(p.b[first + i], row, p.impulse, size)
            for j in range(3):
                W[3 * i + j] = row[first + j]
                rest[i] -= row[first + j] * p.impulse[first + j]
            W[3 * i + i] += compliance * p.softness[first + i]
        if isfinite(p.mu[k]):
            solve_single_contact(W, 3, rest, p.mu[k], lam, p.single[3:])
        else:
            solve_ideal_contact(W, rest, lam)
        p.impulse[first:][:3] = lam[:3]


@routine
def clip_to_cones(p: ImpulseProblem) -> None:
    """Project impulses outside their friction cones onto the cones."""
    for k in range(p.count):
        lam = p.impulse[3 * k :]
        lam[0] = max(lam[0], 0.0)
        if isfinite(p.mu[k]):
            length = sqrt(lam[1] * lam[1] + lam[2] * lam[2])
            if length > p.mu[k] * lam[0]:
                lam[1] *= p.mu[k] * lam[0] / length
                lam[2] *= p.mu[k] * lam[0] / length


@routine
def write_newton_row(p: ImpulseProblem, compliance: float, i: int) -> None:
    """Write row i of Newton's system for the condition u_i = 0: W_i dlam = -u_i."""
    size = 3 * p.count
    p.jacobian[i, :size] = p.W[i, :size]
    p.jacobian[i, i] += compliance * p.softness[i]
    p.jacobian[i, size] = compliance * p.softness[i] * p.impulse[i]
    p.step[i] = -p.velocity[i]


@routine
def write_zero_row(p: ImpulseProblem, i: int) -> None:
    """Write row i of Newton's system for the condition lam_i = 0, scaled to velocities."""
    size = 3 * p.count
    p.jacobian[i, : size + 1] = 0.0
    p.jacobian[i, i] = p.scale[i // 3]
    p.step[i] = -p.scale[i // 3] * p.impulse[i]


@routine
def write_newton_system(p: ImpulseProblem, compliance: float) -> None:
    """Write Jacobian and right-hand side of the map of Alart and Curnier at the present impulses.

    The last column of the Jacobian is the derivative by the logarithm of the compliance, for
    `follow_impulse_path`. The position of x = lam - u / D relative to the friction cone decides whether a
    contact is open, sticks or slips. The equation of a slipping contact is lam_t = mu x_n x_t / |x_t|.
    """
    size = 3 * p.count
    measure_velocities(p, compliance)
    for k in range(p.count):
        first = 3 * k
        d = p.scale[k]
        x_n = p.impulse[first] - p.velocity[first] / d
        ideal = not isfinite(p.mu[k])
        if p.released[k]:
            for i in range(3):
                write_zero_row(p, first + i)
            continue
        if x_n <= 0.0:
            write_zero_row(p, first)
        else:
            write_newton_row(p, compliance, first)
        if x_n <= 0.0 and not ideal:
            write_zero_row(p, first + 1)
            write_zero_row(p, first + 2)
            continue
        x_1 = p.impulse[first + 1] - p.velocity[first + 1] / d
        x_2 = p.impulse[first + 2] - p.velocity[first + 2] / d
        length = sqrt(x_1 * x_1 + x_2 * x_2)
        if ideal or length <= p.mu[k] * x_n:
            write_newton_row(p, compliance, first + 1)
            write_newton_row(p, compliance, first + 2)
            continue
        # d(lam_t - mu x_n e) with e = x_t / |x_t| and dx = dlam - (W + eps D) dlam / D.
        e_1 = x_1 / length
        e_2 = x_2 / length
        turn = p.mu[k] * x_n / length
        normal = p.W[first]
        along = p.W[first + 1]
        across = p.W[first + 2]
        for i in range(2):
            e_i = e_1 if i == 0 else e_2
            t_1 = turn * ((1.0 if i == 0 else 0.0) - e_i * e_1)
            t_2 = turn * ((1.0 if i == 1 else 0.0) - e_i * e_2)
            push = p.mu[k] * e_i
            row = p.jacobian[first + 1 + i]
            row[:size] = push * normal[:size] + t_1 * along[:size] + t_2 * across[:size]
            keeps = d * (1.0 - compliance)
            row[first] -= push * (d - compliance * p.softness[first])
            row[first + 1] -= t_1 * keeps
            row[first + 2] -= t_2 * keeps
            row[first + 1 + i] += d
            softened = push * p.softness[first] * p.impulse[first]
            softened += t_1 * p.softness[first + 1] * p.impulse[first + 1]
            softened += t_2 * p.softness[first + 2] * p.impulse[first + 2]
            row[size] = compliance * softened
            p.step[first + 1 + i] = d * (p.mu[k] * x_n * e_i - p.impulse[first + 1 + i])


@routine
def solve_dense(A: Matrix, b: Floats, n: int) -> float:
    """Solve A x = b (n equations) by elimination with partial pivoting; x replaces b, and A is overwritten.

    Return the sign of the determinant of A, 0 if A is singular.
    """
    sign = 1.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if not abs(A[pivot, k]) > 0.0:
            return 0.0
        if pivot != k:
            for j in range(k, n):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
            b[k], b[pivot] = b[pivot], b[k]
            sign = -sign
        top = A[k]
        if top[k] < 0.0:
            sign = -sign
        for i in range(k + 1, n):
            row = A[i]
            factor = row[k] / top[k]
            if factor != 0.0:
                row[k + 1 : n] -= factor * top[k + 1 : n]
                b[i] -= factor * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]
    return sign


@routine
def iterate_newton(p: ImpulseProblem, compliance: float, sweeps: int) -> float:
    """Perform full Newton steps, with `sweeps` Gauss-Seidel sweeps after every third step.

    The sweeps end cycles, but they also undo slip that has just begun. The impulses of the best iterate are
    the result; return its relative residual.
    """
    size = 3 * p.count
    smallest = friction_law_residual(p, compliance)
    p.best[:size] = p.impulse[:size]
    for number in range(NEWTON_STEPS):
        # At least one Newton step is taken: it makes the loads of a resting system constant up to rounding.
        if number > 0 and smallest <= solved_tolerance(p):
            break
        write_newton_system(p, compliance)
        if solve_dense(p.jacobian, p.step, size) == 0.0:
            break
        p.impulse[:size] += p.step[:size]
        if sweeps > 0 and number % 3 == 2:
            clip_to_cones(p)
            for _ in range(sweeps):
                sweep_contacts(p, compliance)
        now = friction_law_residual(p, compliance)
        if not isfinite(now):
            break
        if now < smallest:
            smallest = now
            p.best[:size] = p.impulse[:size]
    p.impulse[:size] = p.best[:size]
    return smallest


@routine
def iterate_damped(p: ImpulseProblem, compliance: float) -> float:
    """Perform Newton steps with Armijo's line search on the residual; return the last relative residual."""
    size = 3 * p.count
    now = friction_law_residual(p, compliance)
    for _ in range(LINE_SEARCH_STEPS):
        if now <= solved_tolerance(p):
            break
        write_newton_system(p, compliance)
        if solve_dense(p.jacobian, p.step, size) == 0.0:
            break
        p.point[:size] = p.impulse[:size]
        length = 1.0
        accepted = False
        while not accepted and length > 1e-3:
            p.impulse[:size] = p.point[:size] + length * p.step[:size]
            trial = friction_law_residual(p, compliance)
            if isfinite(trial) and trial < (1.0 - 1e-4 * length) * now:
                now = trial
                accepted = True
            length *= 0.5
        if not accepted:
            p.impulse[:size] = p.point[:size]
            break
    return now


@routine
def solve_level(p: ImpulseProblem, compliance: float, sweeps: int) -> float:
    """Solve at one relative compliance from the present impulses; return the relative residual.

    The steps are: `sweeps` Gauss-Seidel sweeps, full Newton steps without and with sweeps in between, damped
    Newton steps. Each Newton iteration starts from the same impulses.
    """
    size = 3 * p.count
    for _ in range(sweeps):
        sweep_contacts(p, compliance)
    p.entry[:size] = p.impulse[:size]
    for sweeps_between in range(0, 3, 2):
        reached = iterate_newton(p, compliance, sweeps_between)
        if reached <= solved_tolerance(p):
            return reached
        p.impulse[:size] = p.entry[:size]
    return iterate_damped(p, compliance)


@routine
def enter_continuation(p: ImpulseProblem) -> float:
    """Solve at the first level of the continuation; return its compliance, or 0 if no level converges."""
    size = 3 * p.count
    compliance = FIRST_COMPLIANCE
    while compliance <= LARGEST_COMPLIANCE:
        sweeps = 5
        while sweeps <= 80:
            p.impulse[:size] = p.start[:size]
            if solve_level(p, compliance, sweeps) <= solved_tolerance(p):
                return compliance
            sweeps *= 4
        compliance *= 10.0
    return 0.0


@routine
def continue_compliance(p: ImpulseProblem) -> float:
    """Decrease the compliance level by level down to `COMPLIANCE`; return the relative residual there.

    After a failed level the next compliance is the geometric mean of the failed and the last converged one.
    """
    size = 3 * p.count
    solved = enter_continuation(p)
    if solved == 0.0:
        return 1e300
    p.level[:size] = p.impulse[:size]
    trial = max(solved * COMPLIANCE_FACTOR, COMPLIANCE)
    while solved > COMPLIANCE:
        p.impulse[:size] = p.level[:size]
        reached = solve_level(p, trial, 0)
        if reached <= solved_tolerance(p):
            p.level[:size] = p.impulse[:size]
            solved = trial
            trial = max(solved * COMPLIANCE_FACTOR, COMPLIANCE)
        else:
            trial = sqrt(solved * trial)
            if trial > SMALLEST_PROGRESS * solved:
                break
    p.impulse[:size] = p.level[:size]
    return friction_law_residual(p, COMPLIANCE)


@routine
def weigh_path(p: ImpulseProblem, i: int) -> float:
    """Return the weight of unknown i in the length of a step along the path of solutions.

    The weight of an impulse (1/(N s)) converts it to a velocity relative to the largest free velocity. The
    logarithm of the compliance, the last unknown, has weight one.
    """
    if i == 3 * p.count:
        return 1.0
    return p.scale[i // 3] / max_norm(p.b, 3 * p.count)


@routine
def write_path_row(p: ImpulseProblem) -> None:
    """Append a row to Newton's system: the step is perpendicular to the tangent of the path."""
    size = 3 * p.count
    for i in range(size + 1):
        weight = weigh_path(p, i)
        p.jacobian[size, i] = weight * weight * p.tangent[i]


@routine
def turn_tangent(p: ImpulseProblem, compliance: float, orientation: float) -> float:
    """Write the unit tangent of the path at the present impulses; return its orientation, 0 without one.

    The orientation is the sign of the determinant of Newton's system with the tangent as the last row. It is
    constant along a path, even if the status of a contact changes. If it differs from the given `orientation`
    (0: any), the tangent is reversed.
    """
    size = 3 * p.count
    write_newton_system(p, compliance)
    write_path_row(p)
    p.step[:size] = 0.0
    p.step[size] = 1.0
    sign = solve_dense(p.jacobian, p.step, size + 1)
    length = 0.0
    for i in range(size + 1):
        entry = weigh_path(p, i) * p.step[i]
        length += entry * entry
    length = sqrt(length)
    if sign == 0.0 or not isfinite(length):
        return 0.0
    if orientation != 0.0 and sign != orientation:
        length = -length
    p.tangent[: size + 1] = p.step[: size + 1] / length
    return sign if orientation == 0.0 else orientation


@routine
def return_to_path(p: ImpulseProblem, position: float) -> float:
    """Correct a predicted point until it is on the path, by Newton steps perpendicular to the tangent.

    The point consists of the present impulses and the logarithm of the compliance, `position`. Return the
    corrected logarithm; infinity if Newton's method does not converge.
    """
    size = 3 * p.count
    logarithm = position
    for _ in range(PATH_NEWTON_STEPS):
        if friction_law_residual(p, e**logarithm) <= solved_tolerance(p):
            return logarithm
        write_newton_system(p, e**logarithm)
        write_path_row(p)
        p.step[size] = 0.0
        if solve_dense(p.jacobian, p.step, size + 1) == 0.0:
            return inf
        p.impulse[:size] += p.step[:size]
        logarithm += p.step[size]
        if not abs(logarithm) < MAX_PATH_POSITION:
            return inf
    return inf


@routine
def begin_path(p: ImpulseProblem) -> float:
    """Solve at a large compliance, for which the solution is unique: the start of the path.

    Return the logarithm of this compliance; infinity if no level converges.
    """
    size = 3 * p.count
    position = 0.0
    while position < MAX_PATH_START:
        p.impulse[:size] = 0.0
        if solve_level(p, e**position, PATH_SWEEPS) <= solved_tolerance(p):
            return position
        position += 1.0
    return inf


@routine
def pass_kink(p: ImpulseProblem, position: float, ahead: float, orientation: float) -> float:
    """Write the tangent of the path beyond a kink; return its orientation as `turn_tangent` does.

    At a kink the status of a contact changes, and the path may turn back. The kink lies between the impulses
    in `level` and the point at the length `ahead` along the tangent. The impulses are reset to `level`.
    """
    size = 3 * p.count
    p.impulse[:size] = p.level[:size] + ahead * p.tangent[:size]
    beyond = turn_tangent(p, e ** (position + ahead * p.tangent[size]), orientation)
    p.impulse[:size] = p.level[:size]
    return beyond


@routine
def follow_impulse_path(p: ImpulseProblem) -> float:
    """Follow the path of solutions from a large compliance to `COMPLIANCE`, by pseudo-arclength continuation.

    Steps along the length of the path pass folds. Return the relative residual at the end of the path;
    infinity if the end is not reached.
    """
    size = 3 * p.count
    position = begin_path(p)
    if not isfinite(position):
        return inf
    p.tangent[:size] = 0.0
    p.tangent[size] = -1.0
    orientation = turn_tangent(p, e**position, 0.0)
    length = FIRST_PATH_STEP
    trials = 0
    while orientation != 0.0 and trials < MAX_PATH_STEPS:
        trials += 1
        p.level[:size] = p.impulse[:size]
        predicted = position + length * p.tangent[size]
        if predicted <= PATH_END:
            # The end of the path is within one step: extrapolate to it along the tangent, and solve there.
            part = (PATH_END - position) / p.tangent[size]
            p.impulse[:size] += part * p.tangent[:size]
            reached = iterate_newton(p, COMPLIANCE, 0)
            if reached <= solved_tolerance(p):
                return reached
            moved = inf
        else:
            p.impulse[:size] += length * p.tangent[:size]
            predicted = return_to_path(p, predicted)
            moved = (predicted - position) * (predicted - position)
            for i in range(size):
                entry = weigh_path(p, i) * (p.impulse[i] - p.level[i])
                moved += entry * entry
        # A far point belongs to another part of the path.
        if moved < MAX_PATH_RATIO * MAX_PATH_RATIO * length * length:
            position = predicted
            orientation = turn_tangent(p, e**position, orientation)
            length = min(PATH_GROWTH * length, LONGEST_PATH_STEP)
        elif length > LEAST_PATH_STEP:
            p.impulse[:size] = p.level[:size]
            length *= 0.5
        else:
            orientation = pass_kink(p, position, 4.0 * length, orientation)
            length = KINK_STEP
    return inf


@routine
def solve_from_start(p: ImpulseProblem) -> float:
    """Solve from the present impulses by Newton's method, sweeps and continuation in the compliance.

    The result is the best iterate; return its relative residual.
    """
    size = 3 * p.count
    p.start[:size] = p.impulse[:size]
    ideal = False
    for k in range(p.count):
        ideal = ideal or not isfinite(p.mu[k])
    # From the impulses of the step before, Newton's method mostly needs one or two steps. Ideal contacts
    # begin with sweeps: which of them are released depends on which of them carry a load.
    reached = 1.0 if ideal else iterate_newton(p, COMPLIANCE, 0)
    if reached <= solved_tolerance(p):
        return reached
    p.impulse[:size] = p.start[:size]
    for _ in range(FIRST_SWEEPS):
        sweep_contacts(p, COMPLIANCE)
        if friction_law_residual(p, COMPLIANCE) <= SOLVED_RESIDUAL:
            return friction_law_residual(p, COMPLIANCE)
    reached = iterate_newton(p, COMPLIANCE, SWEEPS_BETWEEN)
    if reached <= solved_tolerance(p):
        return reached
    p.first[:size] = p.impulse[:size]
    followed = continue_compliance(p)
    if reached < followed:
        p.impulse[:size] = p.first[:size]
    return min(reached, followed)


@routine
def solve_fixed_contacts(p: ImpulseProblem) -> float:
    """Solve for the impulses of all contacts that are not released, by all methods; return the residual."""
    size = 3 * p.count
    least = solve_from_start(p)
    if least <= solved_tolerance(p):
        return least
    p.kept[:size] = p.impulse[:size]
    reached = follow_impulse_path(p)
    if reached < least:
        return reached
    p.impulse[:size] = p.kept[:size]
    return least


@routine
def release_unloaded(p: ImpulseProblem) -> int:
    """Release ideal contacts that have no load and separate; return the number of newly released contacts."""
    number = 0
    for k in range(p.count):
        ideal = not isfinite(p.mu[k])
        unloaded = p.impulse[3 * k] <= 0.0
        separates = p.velocity[3 * k] > SOLVED_RESIDUAL * max_norm(p.b, 3 * p.count)
        if ideal and unloaded and separates and not p.released[k]:
            p.released[k] = True
            number += 1
    return number


@routine
def solve_impulses(p: ImpulseProblem) -> float:
    """Solve Coulomb's law for the impulses of k contacts, from the start value in `impulse`.

    Ideal contacts have zero tangential velocity at first, even without load. Then ideal contacts that have no
    load and separate are released, unless one of them approaches afterwards. `velocity` becomes W lam + b
    without compliance. Return the residual, relative to the largest free velocity.
    """
    size = 3 * p.count
    for k in range(p.count):
        p.released[k] = False
    if not max_norm(p.b, size) > 0.0:
        p.impulse[:size] = 0.0
        measure_velocities(p, 0.0)
        return 0.0
    measure_scales(p)
    reached = solve_fixed_contacts(p)
    measure_velocities(p, COMPLIANCE)
    passes = 0
    while passes < RELEASE_PASSES and release_unloaded(p) > 0:
        passes += 1
        p.unreleased[:size] = p.impulse[:size]
        again = solve_fixed_contacts(p)
        if not again <= max(reached, 1e-9):
            # A released contact approaches: keep the previous solution, in which its tangential velocity
            # is zero.
            p.impulse[:size] = p.unreleased[:size]
            break
        reached = again
        measure_velocities(p, COMPLIANCE)
    measure_velocities(p, 0.0)
    return reached


def make_impulse_problem(most: int) -> ImpulseProblem:
    """Return an empty impulse problem for up to `most` contacts."""
    rows = 3 * most
    vectors = ("b", "impulse", "velocity", "start", "best", "level", "entry", "point")
    made: ImpulseProblem = make_record(
        ImpulseProblem,
        count=0,
        **dict.fromkeys(("mu", "released", "scale"), most),
        **dict.fromkeys((*vectors, "unreleased", "first", "kept", "softness"), rows),
        **dict.fromkeys(("step", "tangent"), rows + 1),
        W=np.zeros((rows, rows)),
        jacobian=np.zeros((rows + 1, rows + 1)),
        block=12,
        single=11,
    )
    return made


def solve_contact_impulses(
    W: Floats, b: Floats, mu: Floats, start: Floats | None = None
) -> tuple[Floats, Floats, float]:
    """Solve Coulomb's law for the impulses of several contacts.

    Parameters
    ----------
    W
        Delassus matrix, shape (3 k, 3 k), 1/kg; rows (normal, along, across) per contact.
    b
        Velocities without contact impulses, shape (3 k,), m/s.
    mu
        Friction coefficients, shape (k,); infinite for ideal contacts.
    start
        Initial impulses of the iteration, shape (3 k,), N s; zero by default.

    Returns
    -------
    impulses, velocities, residual
        Impulses (3 k,) in N s, velocities W impulses + b (3 k,) in m/s, and the largest violation of
        Coulomb's law as a fraction of the largest entry of b.

    Examples
    --------
    >>> W = np.eye(3)
    >>> impulse, velocity, residual = solve_contact_impulses(W, np.array([-1.0, 3.0, 0.0]), np.array([0.5]))
    >>> impulse.round(6).tolist(), abs(velocity).round(6).tolist(), residual < 1e-10
    ([1.0, -0.5, 0.0], [0.0, 2.5, 0.0], True)
    """
    p: ImpulseProblem = workspace(make_impulse_problem, max(len(mu), 1))
    p.count = len(mu)
    size = 3 * p.count
    p.W[:size, :size] = 0.5 * (W + W.T)
    p.b[:size] = b
    p.mu[: p.count] = mu
    p.impulse[:size] = 0.0 if start is None else start
    reached = shared_code(solve_impulses)(p)
    return p.impulse[:size].copy(), p.velocity[:size].copy(), float(reached)
