"""Coulomb's law at several contacts at once, between velocities and impulses or accelerations and forces.

Problem. For k contacts find lam (normal, along, across of each) with u = W lam + b and, at each contact,

    0 <= lam_n _|_ u_n >= 0,   |lam_t| <= mu lam_n,   lam_t opposed to u_t if it is at the limit

eq. [coulomb]. W is the Delassus matrix and b the motion without contact forces. A contact that slides already
has only a normal row, and W contains the friction of this contact. W is then not symmetric, and there may be
no solution (Painleve paradox) or several.

Method.

1. `try_sticking`: if all contacts are pressed and can stick, use the sticking forces.
2. `sweep_jacobi`: Jacobi sweeps with the exact solution of one contact, which preserve symmetry. Every few
   sweeps `propose_statuses` derives from the iterate which contacts are open, stick or slide, and
   `solve_for_statuses` solves exactly for these statuses, by Newton's method in the slip directions.
3. `solve_by_impulse_iteration`: if the sweeps do not converge, or if there are more than `MAX_ENUMERATED`
   contacts, use the iteration of `impulses`.
4. `try_all_statuses`: as the last resort, try all combinations of open, sticking and sliding contacts.

If the forces are statically indeterminate, `sharing.share_redundant_forces` chooses forces of minimum norm
without pull and with a friction margin.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, isfinite, pi, sin, sqrt
from typing import NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.codegen.targets.native import make_record, shared_code, workspace
from draisine.simulation.contact.complementarity.impulses import (
    ImpulseProblem,
    make_impulse_problem,
    solve_impulses,
)
from draisine.simulation.contact.complementarity.linear import (
    add_dot,
    add_product,
    complete_basis,
    dot,
    max_norm,
    null_vectors,
    plane_norm,
    solve_by_complete_pivoting,
    span_columns,
)
from draisine.simulation.contact.complementarity.sharing import share_redundant_forces
from draisine.simulation.contact.complementarity.single_contact import solve_single_contact
from draisine.simulation.contact.status import Status

MAX_ENUMERATED = 6
"""Largest number of contacts for which all contact sets, or all combinations of statuses, are tried."""

MAX_SWEEPS = 128
"""Largest number of Jacobi sweeps before the next method is tried."""

SWEEPS_PER_GUESS = 8
"""Number of Jacobi sweeps between two guesses of the contact statuses."""

MAX_COMBINATIONS = 200_000
"""Largest number of status combinations (open, sticking, sliding in a direction) that are tried."""

MAX_DIRECTIONS = 32
"""Largest number of initial slip directions of a contact if all status combinations are tried."""

STICKING_SLIP = 1e-9
"""Slip, relative to the largest entry of b, below which a contact sticks if sticking forces exist."""

MAX_NEWTON_STEPS = 16
"""Largest number of Newton steps in the slip directions."""

ACCEPTED_RESIDUAL = 1e-6
"""Largest residual of Coulomb's law, relative to the largest entry of b, of an accepted impulse iteration.

The result is accepted even if there is no exact solution for the statuses of this iteration.
"""

MAX_SLIP_RATIO = 1e6
"""Largest ratio of slip to friction force, over the largest entry of W; a larger ratio is infinite."""

MIN_SLIP_RATIO = 1e-4
"""Smallest ratio of slip to friction force, over the largest entry of W.

At a smaller ratio, other contacts prevent motion across the slip direction.
"""

COS_DIRECTION_STEP = cos(2.0 * pi / MAX_DIRECTIONS)
"""Cosine of the angle between two neighbouring initial slip directions."""
SIN_DIRECTION_STEP = sin(2.0 * pi / MAX_DIRECTIONS)
"""Sine of the angle between two neighbouring initial slip directions."""


@dataclass(frozen=True, eq=False)
class FrictionContact:
    """One contact of a friction problem."""

    first_row: int  # index of the contact's normal row in W
    rows: int  # number of rows: 3, or 1 if the contact slides already and W contains its friction
    mu: float  # friction coefficient


class FrictionProblem(NamedTuple):
    """Friction problem u = W lam + b of up to k contacts with up to m = 3 k rows, with scratch arrays."""

    # (3) number of contacts, of rows of W, and of redundant load distributions
    sizes: Integers
    first_row: Integers  # (k) first row of each contact
    rows: Integers  # (k) number of rows of each contact: 3, or 1 if it slides already
    mu: Floats  # (k) friction coefficients
    W: Floats  # (m m) Delassus matrix
    b: Floats  # (m) motion without contact forces
    lam: Floats  # (m) forces of the last iterate
    new: Floats  # (m) forces of the present iterate; the result
    u: Floats  # (m) relative motion W new + b
    slope: Floats  # (m m) matrix of the linear equations of `solve_for_statuses`
    null: Floats  # (m m) forces that `slope` does not determine, as columns
    spare: Floats  # (k k) load distributions without effect on the motion, as orthonormal columns
    room: Floats  # (3 m (m + 1)) scratch of `share_redundant_forces`
    value: Floats  # (m) right-hand side of the linear equations
    sliding: Floats  # (m) per contact: ratio of slip to friction, and direction of slip (2)
    order: Integers  # (m) pivot order of the linear equations
    status: Integers  # (k) Status of each contact: OPEN, SLIDING or ROLLING (the contact sticks)
    local: Floats  # (20) scratch of one contact
    impulses: ImpulseProblem  # the same contacts, three rows each


@routine
def has_friction(g: FrictionProblem, k: int) -> bool:
    """Return whether contact k has tangential rows and a positive friction coefficient."""
    return g.rows[k] == 3 and g.mu[k] > 0.0


@routine
def is_sliding(g: FrictionProblem, k: int) -> bool:
    """Return whether contact k has tangential rows and the status SLIDING."""
    return g.status[k] == Status.SLIDING and g.rows[k] == 3


# --- sweeps


@routine
def solve_isolated_contact(g: FrictionProblem, k: int, new: Floats) -> bool:
    """Solve Coulomb's law for the force `new` (3) of contact k, with fixed forces of the other contacts.

    The block of W of this contact is multiplied by the number of contacts, so that simultaneous changes of
    all contacts do not overshoot. Return whether a solution exists.
    """
    n = g.sizes[1]
    first = g.first_row[k]
    rows = g.rows[k]
    count = float(g.sizes[0])
    block = g.local[8:]
    free = g.local[17:]
    for i in range(rows):
        free[i] = add_dot(g.b[first + i], g.W[(first + i) * n :], g.lam, n)
        for j in range(rows):
            block[i * rows + j] = count * g.W[(first + i) * n + first + j]
            free[i] -= block[i * rows + j] * g.lam[first + j]
    if rows == 3:
        return solve_single_contact(block, 3, free, g.mu[k], new, g.local) == 0
    new[0] = 0.0
    if free[0] < 0.0:
        if not block[0] > 0.0:
            return False
        new[0] = -free[0] / block[0]
    return True


@routine
def sweep_jacobi(g: FrictionProblem) -> float:
    """Solve Coulomb's law at each contact with the previous forces of the others (one Jacobi sweep).

    The simultaneous update preserves the symmetry of a system. Return the largest change of u, or -1 if a
    contact has no solution.
    """
    n = g.sizes[1]
    exists = True
    for k in range(g.sizes[0]):
        new = g.new[g.first_row[k] :]
        if not solve_isolated_contact(g, k, new):
            exists = False
            new[: g.rows[k]] = 0.0
    g.value[:n] = g.new[:n] - g.lam[:n]
    change = 0.0
    for i in range(n):
        change = max(change, abs(dot(g.W[i * n :], g.value, n)))
    minimise_load_norm(g)
    g.lam[:n] = g.new[:n]
    return change if exists else -1.0


@routine
def find_redundant_loads(g: FrictionProblem) -> None:
    """Compute an orthonormal basis `spare` (columns) of the normal loads without effect on the motion."""
    n = g.sizes[1]
    count = g.sizes[0]
    loads = g.room[0:]
    U = g.room[count * n :]
    work = g.room[count * (n + count) :]
    for k in range(count):
        loads[k * n :][:n] = g.W[g.first_row[k] :: n][:n]
    rank = span_columns(loads, count, n, U, work)
    g.sizes[2] = count - rank
    complete_basis(U, rank, count, g.spare, work)


@routine
def minimise_load_norm(g: FrictionProblem) -> None:
    """Replace statically indeterminate normal loads by loads of minimum norm, unless a contact then pulls."""
    count = g.sizes[0]
    spare = g.sizes[2]
    redundant = g.room[0:]
    redundant[:count] = 0.0
    for c in range(spare):
        weight = 0.0
        for k in range(count):
            weight += g.spare[k * spare + c] * g.new[g.first_row[k]]
        redundant[:count] += weight * g.spare[c::spare][:count]
    for k in range(count):
        if g.new[g.first_row[k]] < redundant[k]:
            return
    for k in range(count):
        g.new[g.first_row[k]] -= redundant[k]


# --- the law as a whole


@routine
def solve_friction_law(g: FrictionProblem, tolerance: float) -> int:
    """Solve Coulomb's law for the forces `new` and the statuses of all contacts.

    Jacobi sweeps end when u changes by less than `tolerance` times the largest entry of b. Return 0, or 1 if
    no solution is found.
    """
    scale = max(max_norm(g.b, g.sizes[1]), 1e-300)
    g.lam[: g.sizes[1]] = 0.0
    find_redundant_loads(g)
    if g.sizes[0] > 1 and try_sticking(g, scale):
        return 0
    if g.sizes[0] == 1:
        change = sweep_jacobi(g)
        g.status[0] = int(Status.SLIDING if is_at_limit(g, 0) else Status.ROLLING)
        return 1 if change < 0.0 else 0
    for count in range(MAX_SWEEPS if g.sizes[0] <= MAX_ENUMERATED else 0):
        change = sweep_jacobi(g)
        settled = change >= 0.0 and change <= tolerance * scale
        if not settled and count % SWEEPS_PER_GUESS != SWEEPS_PER_GUESS - 1:
            continue
        sticking = max(10.0 * change, STICKING_SLIP * scale)
        if propose_statuses(g, sticking, scale) or settled:
            return 0
    if solve_by_impulse_iteration(g, scale):
        return 0
    if g.sizes[0] > MAX_ENUMERATED:
        return 1
    return 0 if try_all_statuses(g, scale) else 1


@routine
def try_sticking(g: FrictionProblem, scale: float) -> bool:
    """Try to make all contacts stick; write the forces to `new`.

    `scale` is the largest entry of b. Return whether such forces obey Coulomb's law.
    """
    for k in range(g.sizes[0]):
        stick = has_friction(g, k)
        g.status[k] = int(Status.ROLLING if stick else Status.SLIDING)
        if g.b[g.first_row[k]] > 0.0:
            return False
    return solve_for_statuses(g, scale, True)


@routine
def propose_statuses(g: FrictionProblem, sticking: float, scale: float) -> bool:
    """Guess the statuses from the present forces, and solve exactly for these statuses.

    A pressed contact sticks if its slip is at most `sticking`; otherwise it slides. Return whether a solution
    exists; if not, `new` is restored.
    """
    measure_motion(g)
    for k in range(g.sizes[0]):
        push = g.new[g.first_row[k] :]
        slip = g.u[g.first_row[k] :]
        sliding = g.sliding[g.first_row[k] :]
        g.status[k] = int(Status.SLIDING if push[0] > 0.0 else Status.OPEN)
        if push[0] > 0.0 and has_friction(g, k):
            force = plane_norm(push[1], push[2])
            if max(abs(slip[1]), abs(slip[2])) <= sticking or force == 0.0:
                g.status[k] = Status.ROLLING
            else:
                sliding[1] = -push[1] / force
                sliding[2] = -push[2] / force
    if not solve_for_statuses(g, scale, True):
        g.new[: g.sizes[1]] = g.lam[: g.sizes[1]]
        return False
    g.lam[: g.sizes[1]] = g.new[: g.sizes[1]]
    if stick_slow_contacts(g, STICKING_SLIP * scale) and not solve_for_statuses(g, scale, True):
        g.new[: g.sizes[1]] = g.lam[: g.sizes[1]]
    return True


@routine
def stick_slow_contacts(g: FrictionProblem, sticking: float) -> bool:
    """Set sliding contacts with a slip of at most `sticking` to sticking; return whether there are any."""
    changed = False
    for k in range(g.sizes[0]):
        slip = g.u[g.first_row[k] :]
        slow = is_sliding(g, k) and max(abs(slip[1]), abs(slip[2])) <= sticking
        if slow and g.mu[k] > 0.0:
            g.status[k] = Status.ROLLING
            changed = True
    return changed


@routine
def solve_by_impulse_iteration(g: FrictionProblem, scale: float) -> bool:
    """Solve by the iteration of `impulses`, then exactly for the resulting statuses.

    Return whether a solution is found; it is written to `new`. The iteration needs a symmetric block of W for
    each contact. All blocks are symmetric even if W is not: only contacts that slide already have friction in
    W, and these have no tangential rows.
    """
    p = g.impulses
    n = g.sizes[1]
    count = g.sizes[0]
    p.count = count
    p.W[: 3 * count, : 3 * count] = 0.0
    p.b[: 3 * count] = 0.0
    p.impulse[: 3 * count] = 0.0
    for k in range(count):
        p.mu[k] = g.mu[k] if g.rows[k] == 3 else 0.0
        for i in range(g.rows[k]):
            p.b[3 * k + i] = g.b[g.first_row[k] + i]
            for other in range(count):
                for j in range(g.rows[other]):
                    p.W[3 * k + i, 3 * other + j] = g.W[
                        (g.first_row[k] + i) * n + g.first_row[other] + j
                    ]
    residual = solve_impulses(p)
    if not residual <= ACCEPTED_RESIDUAL:
        return False
    for k in range(count):
        for i in range(g.rows[k]):
            g.new[g.first_row[k] + i] = p.impulse[3 * k + i]
    g.lam[:n] = g.new[:n]
    if propose_statuses(g, max(10.0 * residual, ACCEPTED_RESIDUAL) * scale, scale):
        return True
    # At the border between two statuses the status of a contact is ambiguous, but the impulses obey
    # Coulomb's law for both.
    measure_motion(g)
    return count > MAX_ENUMERATED


@routine
def try_all_statuses(g: FrictionProblem, scale: float) -> bool:
    """Try all combinations of open, sticking and sliding contacts; return whether a solution is found.

    First no contact slides, and combinations with the most sticking contacts come first. Then contacts slide,
    from an increasing number of initial slip directions.
    """
    directions = 0
    while directions <= MAX_DIRECTIONS and count_combinations(g, directions) <= MAX_COMBINATIONS:
        total = count_combinations(g, directions)
        for number in range(total):
            rest = number if directions > 0 else total - 1 - number
            for k in range(g.sizes[0]):
                choices = count_trial_statuses(g, k, directions)
                set_trial_status(g, k, rest % choices, directions)
                rest = rest // choices
            if solve_for_statuses(g, scale, False):
                return True
        directions = max(1, 2 * directions)
    return False


@routine
def set_trial_status(g: FrictionProblem, k: int, choice: int, directions: int) -> None:
    """Set the status of contact k for a trial.

    Choice 0: open. Choice 1: sticking or, without friction, sliding. Choices from 2 on: sliding in one of the
    `directions` initial directions.
    """
    sliding = g.sliding[g.first_row[k] :]
    g.status[k] = int(Status.OPEN if choice == 0 else Status.SLIDING)
    if choice == 1 and has_friction(g, k):
        g.status[k] = Status.ROLLING
    if choice > 1:
        c = 1.0
        s = 0.0
        for _ in range((choice - 2) * (MAX_DIRECTIONS // directions)):
            c, s = (
                c * COS_DIRECTION_STEP - s * SIN_DIRECTION_STEP,
                s * COS_DIRECTION_STEP + c * SIN_DIRECTION_STEP,
            )
        sliding[1] = c
        sliding[2] = s


@routine
def count_trial_statuses(g: FrictionProblem, k: int, directions: int) -> int:
    """Return the number of choices of `set_trial_status` for contact k."""
    return 2 + directions if has_friction(g, k) and isfinite(g.mu[k]) else 2


@routine
def count_combinations(g: FrictionProblem, directions: int) -> int:
    """Return the number of status combinations of all contacts, limited to `MAX_COMBINATIONS` + 1."""
    total = 1
    for k in range(g.sizes[0]):
        total = min(total * count_trial_statuses(g, k, directions), MAX_COMBINATIONS + 1)
    return total


# --- exact solution for given statuses of all contacts


@routine
def solve_for_statuses(g: FrictionProblem, scale: float, evenly: bool) -> bool:
    """Solve for the forces `new` of contacts with given statuses, by Newton's method in the slip directions.

    The iteration starts from the slip directions in `sliding`. Statically indeterminate forces are changed
    only if they violate the law; `evenly` is an argument of `share_redundant_forces`. `scale` is the largest
    entry of b. Return whether the solution obeys Coulomb's law.
    """
    n = g.sizes[1]
    stiff = max_norm(g.W, n * n)
    turned = 1.0
    spare = 0
    for k in range(g.sizes[0]):
        g.sliding[g.first_row[k]] = MAX_SLIP_RATIO * stiff  # initial guess: infinite slip
    for step in range(MAX_NEWTON_STEPS):
        write_status_equations(g, stiff)
        spare = solve_by_complete_pivoting(g.slope, g.value, g.new, g.order, n)
        if spare < 0:
            return False
        measure_motion(g)
        turned = 0.0
        is_linear = True
        largest = max(max_norm(g.new, n), 1e-300)
        for k in range(g.sizes[0]):
            if is_sliding(g, k):
                is_linear = False
                weight = min(1.0, g.mu[k] * abs(g.new[g.first_row[k]]) / largest)
                turned = max(
                    turned, weight * abs(update_slip_direction(g, k, MAX_SLIP_RATIO * stiff))
                )
        if is_linear or (turned <= 1e-13 and step > 0):
            break
    if not turned <= 1e-12:
        return False
    size = scale
    for i in range(n):
        terms = abs(g.b[i])
        for j in range(n):
            terms += abs(g.W[i * n + j] * g.new[j])
        size = max(size, terms)
    if spare > 0 and not obeys_law(g, 1e-12 * size):
        share_forces(g, spare, evenly)
    return obeys_law(g, 1e-12 * size)


@routine
def share_forces(g: FrictionProblem, spare: int, evenly: bool) -> None:
    """Change statically indeterminate forces such that contacts push and sticking ones keep to their cones.

    The forces change along the `spare` null vectors of the linear equations. Without such forces, violations
    remain.
    """
    n = g.sizes[1]
    null_vectors(g.slope, g.order, n, spare, g.null)
    share_redundant_forces(
        g.new, n, g.null, spare, g.first_row, g.status, g.mu, g.sizes[0], int(evenly), g.room
    )
    for k in range(g.sizes[0]):
        if g.status[k] == Status.OPEN:
            g.new[g.first_row[k] :][: g.rows[k]] = 0.0
    measure_motion(g)


@routine
def write_status_equations(g: FrictionProblem, stiff: float) -> None:
    """Write the linear equations for lam with the present statuses, slip directions and slip ratios.

    An open contact has zero force, a sticking contact zero slip. For a sliding contact, friction is at its
    limit along the slip; across it, the slip is -ratio lam_t, eq. [slip-ratio]. `stiff`, the largest entry of
    W, scales equations.
    """
    n = g.sizes[1]
    W = g.W
    for k in range(g.sizes[0]):
        first = g.first_row[k]
        mu = g.mu[k]
        x = first + 1
        y = first + 2
        for i in range(first, first + g.rows[k]):
            free = g.status[k] == Status.OPEN
            free = free or (g.status[k] == Status.SLIDING and i > first)
            g.value[i] = 0.0 if free else -g.b[i]
            if free:
                g.slope[i * n :][:n] = 0.0
                g.slope[i * n + i] = stiff
            else:
                g.slope[i * n :][:n] = W[i * n :][:n]
        if is_sliding(g, k) and mu > 0.0:
            ratio = g.sliding[first]
            c = g.sliding[x]
            s = g.sliding[y]
            along = g.slope[x * n :]
            across = g.slope[y * n :]
            scale = stiff / (stiff + ratio)
            along[first] = stiff * mu
            along[x] = stiff * c
            along[y] = stiff * s
            across[:n] = scale * (c * W[y * n :][:n] - s * W[x * n :][:n])
            across[x] -= scale * ratio * s
            across[y] += scale * ratio * c
            g.value[y] = scale * (s * g.b[x] - c * g.b[y])


@routine
def update_slip_direction(g: FrictionProblem, k: int, max_ratio: float) -> float:
    """Turn the slip direction of sliding contact k opposite to its friction force.

    Return the tangent of the angle of rotation. The ratio of slip to friction force is updated as well, up to
    `max_ratio`.
    """
    push = g.new[g.first_row[k] :]
    slip = g.u[g.first_row[k] :]
    sliding = g.sliding[g.first_row[k] :]
    limit = g.mu[k] * push[0]
    if limit == 0.0:
        return 0.0
    turn = (sliding[2] * push[1] - sliding[1] * push[2]) / limit
    turn = max(-1.0, min(1.0, turn))
    size = sqrt(1.0 + turn * turn)
    sliding[1], sliding[2] = (
        (sliding[1] - turn * sliding[2]) / size,
        (sliding[2] + turn * sliding[1]) / size,
    )
    sliding[0] = max(
        min(plane_norm(slip[1], slip[2]) / abs(limit), max_ratio),
        MIN_SLIP_RATIO / MAX_SLIP_RATIO * max_ratio,
    )
    push[1] = -limit * sliding[1]
    push[2] = -limit * sliding[2]
    return turn


@routine
def measure_motion(g: FrictionProblem) -> None:
    """Compute the relative motion u = W new + b of all contacts."""
    n = g.sizes[1]
    g.u[:n] = g.b[:n]
    add_product(g.W, g.new, g.u, n, n)


# --- the law as a test


@routine
def is_at_limit(g: FrictionProblem, k: int) -> bool:
    """Return whether the friction force of contact k is at its limit mu lam_n."""
    push = g.new[g.first_row[k] :]
    return not plane_norm(push[1], push[2]) < g.mu[k] * push[0] * (1.0 - 1e-9)


@routine
def obeys_law(g: FrictionProblem, small: float) -> bool:
    """Return whether u and lam obey Coulomb's law at all contacts; motions below `small` count as zero."""
    for k in range(g.sizes[0]):
        if not contact_obeys_law(g, k, small):
            return False
    return True


@routine
def contact_obeys_law(g: FrictionProblem, k: int, small: float) -> bool:
    """Return whether u and lam obey Coulomb's law at contact k; motions below `small` count as zero."""
    push = g.new[g.first_row[k] :]
    slip = g.u[g.first_row[k] :]
    mu = g.mu[k]
    if g.status[k] == Status.OPEN:
        return slip[0] >= -small
    if not push[0] >= 0.0 or not abs(slip[0]) <= small:
        return False
    sticks = g.status[k] == Status.ROLLING
    if sticks and not max(abs(slip[1]), abs(slip[2])) <= small:
        return False
    if g.rows[k] == 3 and isfinite(mu):
        size = plane_norm(push[1], push[2])
        if not size <= mu * push[0] + 1e-11 * max_norm(g.new, g.sizes[1]):
            return False
        if not sticks and slip[1] * push[1] + slip[2] * push[2] > small * size:
            return False
    return True


# --- from Python


def make_friction_problem(most: int) -> FrictionProblem:
    """Return an empty friction problem for up to `most` contacts."""
    n = 3 * most
    problem: FrictionProblem = make_record(
        FrictionProblem,
        sizes=3,
        **dict.fromkeys(("first_row", "rows", "mu", "status"), most),
        **dict.fromkeys(("b", "lam", "new", "u", "value", "sliding", "order"), n),
        **dict.fromkeys(("W", "slope", "null"), n * n),
        spare=most * most,
        room=3 * n * (n + 1),
        local=20,
        impulses=make_impulse_problem(most),
    )
    return problem


def solve_friction(
    W: Floats, b: Floats, contacts: Sequence[FrictionContact], tolerance: float
) -> Floats | None:
    """Return the forces lam (m) that satisfy Coulomb's law with u = W lam + b; None if there are none.

    W (m, m) is the Delassus matrix and b (m) the motion without contact forces. `tolerance` is the change of
    u, relative to the largest entry of b, at which sweeps end.
    """
    n = len(b)
    packed = workspace(make_friction_problem, len(contacts))
    law: FrictionProblem = packed.record
    law.sizes[:2] = len(contacts), n
    law.W[: n * n] = W.ravel()
    law.b[:n] = b
    law.mu[:] = [contact.mu for contact in contacts]
    law.first_row[:] = [contact.first_row for contact in contacts]
    law.rows[:] = [contact.rows for contact in contacts]
    return None if shared_code(solve_friction_law)(packed, tolerance) else law.new[:n].copy()
