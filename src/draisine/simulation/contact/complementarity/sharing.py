"""Choice of the reported forces if the forces are statically indeterminate.

Problem. Multipliers may change along null vectors of the constraint rows without any effect on the
constraints. Examples are two contacts of one wheel (along their chord), two wheels of one axle (sideways) and
four wheels on a plane. The motion does not change either, unless contacts slide or tyre forces depend on
loads; then it is computed again. The multipliers of minimum norm may pull at a contact or lie outside a
friction cone, even if other multipliers with the same effect do neither.

Method.

1. `push_least`: the smallest change after which no contact pulls. It is the projection on a polyhedron, by
   Hildreth's method (1957, doi:10.1002/nav.3800040113). It is unique, so that symmetric forces stay
   symmetric.
2. `give_friction_margin`: the smallest change after which every sticking contact has a friction margin of
   `FRICTION_MARGIN`, or the largest possible one, eq. [grip-reserve], by an interior-point method.
"""

from math import isfinite, sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.simulation.contact.complementarity.linear import (
    divide_lower,
    divide_lower_transposed,
    dot,
    factor_cholesky,
    max_norm,
    plane_norm,
    span_columns,
)
from draisine.simulation.contact.status import Status, count_rows

LEAST_LOAD = 1e-9
"""Smallest normal force that `push_least` requires of each contact, relative to the largest force."""

FRICTION_MARGIN = 0.01
"""Required friction margin mu lam_n - |lam_t| of a sticking contact, relative to the largest force."""

NO_EFFECT = 1e-16
"""Squared length of a row of the null-vector matrix below which the row is zero.

The null vectors do not change the multiplier of this row.
"""

MAX_PROJECTIONS = 2000
"""Largest number of rounds of Hildreth's method, which converges linearly."""

SAME_FORCE = 1e-13
"""Change of the forces in one round, relative to the largest force, at which Hildreth's method ends."""

DISTANCE_WEIGHT = 1e6
"""Weight of the margin relative to the squared change of the forces in the interior-point method.

A gain of the margin by 1e-6 of the largest force outweighs a change of the forces by the largest force.
"""

MAX_BARRIER_STEPS = 500
"""Largest number of Newton steps of the interior-point method."""

SMALLEST_BARRIER_WEIGHT = 1e-10
"""Smallest weight of the logarithmic barrier, relative to the largest force: the accuracy of the margin."""


@routine
def has_cone(status: int, mu: float) -> bool:
    """Return whether a contact sticks and has a positive finite friction coefficient."""
    return status == Status.ROLLING and mu > 0.0 and isfinite(mu)


@routine
def has_margin(
    lam: Floats, size: int, normals: Integers, status: Integers, mu: Floats, contacts: int
) -> bool:
    """Return whether all contacts push and all sticking contacts have the friction margin `FRICTION_MARGIN`.

    `share_redundant_forces` would then not change the multipliers `lam` (size). `normals` is the row of the
    normal multiplier of each contact, or -1.
    """
    largest = max_norm(lam, size)
    margin = FRICTION_MARGIN * largest
    for k in range(contacts):
        push = lam[max(normals[k], 0) :]
        if normals[k] >= 0 and push[0] < LEAST_LOAD * largest:
            return False
        if has_cone(status[k], mu[k]) and mu[k] * push[0] < plane_norm(push[1], push[2]) + margin:
            return False
    return True


@routine
def share_redundant_forces(
    lam: Floats,
    size: int,
    null: Floats,
    count: int,
    normals: Integers,
    status: Integers,
    mu: Floats,
    contacts: int,
    evenly: int,
    scratch: Floats,
) -> None:
    """Change multipliers along null vectors until contacts push and sticking contacts have a friction margin.

    `lam` (size) are the multipliers, and the columns of `null` (size, count) are orthonormal null vectors.
    `normals` is the row of the normal multiplier of each contact, or -1, and `status` is the Status of the
    contact. If `evenly` is 1, combinations of null vectors that change only normal loads are not used for
    friction margins. `scratch` has at least 3 size (size + 1) entries.
    """
    push_least(lam, size, null, count, normals, contacts, scratch)
    # Margins change only along those combinations of null vectors that change friction.
    friction = scratch[0:]
    ways = scratch[size * count :]
    rest = scratch[size * count + count * count :]
    friction[: size * count] = 0.0
    for k in range(contacts):
        if has_cone(status[k], mu[k]):
            for i in range(normals[k] + evenly, normals[k] + 3):
                friction[i::size][:count] = null[i * count :][:count]
    free = span_columns(friction, count, size, ways, rest)
    if free > 0:
        for i in range(size):
            for c in range(free):
                rest[i * free + c] = dot(null[i * count :], ways[c * count :], count)
        friction[: size * free] = rest[: size * free]
        work = scratch[size * free :]
        give_friction_margin(lam, size, friction, free, normals, status, mu, contacts, work)


@routine
def give_friction_margin(
    lam: Floats,
    size: int,
    null: Floats,
    count: int,
    normals: Integers,
    status: Integers,
    mu: Floats,
    contacts: int,
    scratch: Floats,
) -> None:
    """Give every sticking contact the friction margin `FRICTION_MARGIN`, or the largest possible one.

    The multipliers change along null vectors by the shortest vector z. The method finds the smallest r >=
    -margin such that all friction cones, widened by r, contain their forces. It minimises (r + |z|^2 /
    (DISTANCE_WEIGHT largest)) / weight - log(r + margin) - sum log((mu lam_n + r)^2 - |lam_t|^2) by Newton's
    method for a decreasing sequence of weights. Arguments are those of `share_redundant_forces`.
    """
    n = count + 1
    largest = max(max_norm(lam, size), 1e-300)
    H = scratch[0:]
    g = scratch[n * n :]
    z = scratch[n * (n + 1) :]
    missing = 0.0
    for k in range(contacts):
        if has_cone(status[k], mu[k]):
            push = lam[normals[k] :]
            margin = mu[k] * push[0] - plane_norm(push[1], push[2])
            missing = max(missing, FRICTION_MARGIN * largest - margin)
    if missing == 0.0:
        return
    z[:count] = 0.0
    r = missing + largest
    weight = largest
    for _ in range(MAX_BARRIER_STEPS):
        bend = 2.0 / (DISTANCE_WEIGHT * largest * weight)
        slack = r + FRICTION_MARGIN * largest
        H[: n * n] = 0.0
        H[:: n + 1][:n] = bend
        g[:count] = bend * z[:count]
        H[n * n - 1] = 1.0 / (slack * slack)
        g[count] = 1.0 / weight - 1.0 / slack
        for k in range(contacts):
            add_barrier(lam, null, count, normals[k], status[k], mu[k], r, H, g)
        decrement = solve_newton_step(H, g, n)
        # A damped step stays inside the cones; full steps converge near the minimum.
        part = 1.0 if decrement < 0.25 else 1.0 / (1.0 + decrement)
        r -= part * g[count]
        z[:count] -= part * g[:count]
        add_null_vectors(lam, size, null, count, g, -part)
        if decrement < 1e-4:
            if weight < SMALLEST_BARRIER_WEIGHT * largest:
                return
            weight *= 0.1


@routine
def add_barrier(
    lam: Floats,
    null: Floats,
    count: int,
    at: int,
    status: int,
    mu: float,
    r: float,
    H: Floats,
    g: Floats,
) -> None:
    """Add the logarithmic barrier of one contact to gradient g and Hessian H.

    The barrier is -log((mu lam_n + r)^2 - |lam_t|^2), or -log(lam_n + r) without friction. `at` is the row of
    the normal multiplier. A contact that the null vectors do not change contributes nothing.
    """
    if count_rows(status) == 0:
        return
    n = count + 1
    rubs = has_cone(status, mu)
    load = null[at * count :]
    if not max_norm(load, (3 if rubs else 1) * count) > 1e-8:
        return
    slope = g[2 * n :]
    steep = mu if rubs else 1.0
    a = steep * lam[at] + r
    slope[:count] = steep / a * load[:count]
    slope[count] = 1.0 / a
    if rubs:
        x = lam[at + 1]
        y = lam[at + 2]
        along = load[count:]
        across = load[2 * count :]
        part = 2.0 / (a * a - x * x - y * y)
        slope[:n] *= a * a * part
        slope[:count] -= part * (x * along[:count] + y * across[:count])
        for i in range(count):
            row = H[i * n :]
            row[:count] -= part * steep * load[i] * steep * load[:count]
            row[:count] += part * (along[i] * along[:count] + across[i] * across[:count])
            row[count] -= part * steep * load[i]
            H[count * n + i] -= part * steep * load[i]
        H[count * n + count] -= part
    g[:n] -= slope[:n]
    for i in range(n):
        H[i * n :][:n] += slope[i] * slope[:n]


@routine
def solve_newton_step(H: Floats, g: Floats, n: int) -> float:
    """Replace the gradient g (n) by the Newton step H^-1 g; return the Newton decrement sqrt(g' H^-1 g).

    H (n, n) is overwritten by its Cholesky factor.
    """
    L = H[: n * n].reshape(n, n)
    factor_cholesky(L, n)
    divide_lower(L, g, n)
    decrement = sqrt(dot(g, g, n))
    divide_lower_transposed(L, g, n)
    return decrement


@routine
def push_least(
    lam: Floats,
    size: int,
    null: Floats,
    count: int,
    normals: Integers,
    contacts: int,
    scratch: Floats,
) -> None:
    """Add the shortest combination of null vectors after which no contact pulls to the multipliers `lam`.

    If there is no such combination, the multipliers do not change. Hildreth's method updates only loads and
    dual variables. The Gram matrix of the normal rows of the null vectors relates both; it is much smaller
    than the null vectors. `scratch` has at least contacts (contacts + 2) + count entries; the other arguments
    are those of `share_redundant_forces`.
    """
    duals = scratch[0:]
    loads = scratch[contacts:]
    gram = scratch[2 * contacts :]
    weights = scratch[contacts * (contacts + 2) :]
    largest = max_norm(lam, size)
    pulls = False
    for k in range(contacts):
        if normals[k] >= 0 and lam[normals[k]] < LEAST_LOAD * largest:
            pulls = True
    if not pulls:
        return
    for k in range(contacts):
        duals[k] = 0.0
        loads[k] = lam[max(normals[k], 0)]
        for i in range(contacts):
            gram[k * contacts + i] = 0.0
            if normals[k] >= 0 and normals[i] >= 0:
                gram[k * contacts + i] = dot(
                    null[normals[k] * count :], null[normals[i] * count :], count
                )
    rounds = 0
    change = largest
    while change > SAME_FORCE * largest:
        if rounds == MAX_PROJECTIONS:
            return
        rounds += 1
        change = 0.0
        for k in range(contacts):
            row = gram[k * contacts :]
            if row[k] > NO_EFFECT:
                more = max((LEAST_LOAD * largest - loads[k]) / row[k], -duals[k])
                duals[k] += more
                change = max(change, abs(more) * sqrt(row[k]))
                loads[:contacts] += more * row[:contacts]
    weights[:count] = 0.0
    for k in range(contacts):
        if normals[k] >= 0:
            weights[:count] += duals[k] * null[normals[k] * count :][:count]
    add_null_vectors(lam, size, null, count, weights, 1.0)


@routine
def add_null_vectors(
    lam: Floats, size: int, null: Floats, count: int, row: Floats, part: float
) -> None:
    """Add the combination of the null vectors with the weights part * row (count) to `lam` (size)."""
    for c in range(count):
        lam[:size] += part * row[c] * null[c::count][:size]
