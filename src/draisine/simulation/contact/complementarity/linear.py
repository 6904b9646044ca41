"""Small dense vectors, matrices and systems as routines: products, elimination with full pivoting,
solutions of least norm.

Matrices stand row by row.
"""

from math import isfinite, sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine

REPEATS = 1e-9
"""Rows that are independent of others by less than this part of the largest repeat them."""

LEAST_LOAD = 1e-9  # of the largest force; contacts with redundant forces push by at least this

FIRMLY, FAR = 0.01, 1e6
"""The reserve of grip that forces which are not unique are given, and how far they are changed for it, in
parts of the largest force.
"""

STRIDES, FINE = 500, 1e-10
"""In how many steps at most that is found, and to which part of the largest force."""


@routine
def dot(a: Floats, b: Floats, n: int) -> float:
    """Return a' b."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@routine
def add_dot(c: float, a: Floats, b: Floats, n: int) -> float:
    """Return c + a' b, added up in this order."""
    total = c
    for i in range(n):
        total += a[i] * b[i]
    return total


@routine
def dot_apart(a: Floats, p: int, b: Floats, q: int, n: int) -> float:
    """Return a' b, of entries that are p and q apart."""
    total = 0.0
    for i in range(n):
        total += a[i * p] * b[i * q]
    return total


@routine
def max_norm(a: Floats, n: int) -> float:
    """Return the size of the largest entry."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(a[i]))
    return largest


@routine
def max_difference(a: Floats, b: Floats, n: int) -> float:
    """Return the size of the largest entry of a - b."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(a[i] - b[i]))
    return largest


@routine
def norm(x: float, y: float) -> float:
    """Return the length of (x, y)."""
    return sqrt(x * x + y * y)


@routine
def add_product(A: Floats, x: Floats, out: Floats, m: int, n: int) -> None:
    """Add A x, of m rows over n entries."""
    for i in range(m):
        out[i] = add_dot(out[i], A[i * n :], x, n)


@routine
def add_rows(A: Floats, x: Floats, out: Floats, m: int, n: int) -> None:
    """Add A' x, of m rows over n entries."""
    for i in range(m):
        out[:n] += x[i] * A[i * n :][:n]


@routine
def solve(K: Floats, b: Floats, x: Floats, order: Integers, n: int) -> int:
    """Write the x of least norm with K x = b, by elimination with full pivoting in place; return how
    many rows repeat others, or -1 if they contradict each other.
    """
    largest, rank = max_norm(K, n * n), n
    for i in range(n):
        order[i] = i
    for k in range(n):
        if not bring_pivot(K, b, order, n, k) > 1e-11 * largest:
            rank = k
            break
        pivot = K[k * n :]
        for i in range(k + 1, n):
            row = K[i * n :]
            f = row[k] / pivot[k]
            if f != 0.0:
                row[k + 1 : n] -= f * pivot[k + 1 : n]
                b[i] -= f * b[k]
    for i in range(rank, n):
        if not abs(b[i]) <= 1e-6 * (1.0 + largest):
            return -1
        b[i] = 0.0
    for k in range(rank - 1, -1, -1):
        row = K[k * n :]
        for j in range(k + 1, rank):
            row[rank:n] -= row[j] * K[j * n :][rank:n]
            b[k] -= row[j] * b[j]
        row[rank:n] /= row[k]
        b[k] /= row[k]
    shorten(K, b, n, rank)
    for k in range(n):
        x[order[k]] = b[k]
    return n - rank


@routine
def null_vectors(K: Floats, order: Integers, n: int, count: int, null: Floats) -> None:
    """Write the unit null vectors, so many, that `solve` has left in K, as columns."""
    for c in range(count):
        column = K[n - count + c :]
        length = sqrt(max(dot_apart(column, n, column, n, n), 1e-300))
        for i in range(n):
            null[order[i] * count + c] = column[i * n] / length


@routine
def bring_pivot(K: Floats, b: Floats, order: Integers, n: int, k: int) -> float:
    """Bring the largest entry of what is left to place (k, k); return its size."""
    best, row, column = 0.0, k, k
    for i in range(k, n):
        for j in range(k, n):
            if abs(K[i * n + j]) > best:
                best, row, column = abs(K[i * n + j]), i, j
    for j in range(n):
        K[k * n + j], K[row * n + j] = K[row * n + j], K[k * n + j]
    b[k], b[row] = b[row], b[k]
    for i in range(n):
        K[i * n + k], K[i * n + column] = K[i * n + column], K[i * n + k]
    order[k], order[column] = order[column], order[k]
    return best


@routine
def shorten(K: Floats, b: Floats, n: int, rank: int) -> None:
    """Take from b its part along the null vectors (-K[:rank, c], 1 at c), one after the other made
    orthogonal.
    """
    for c in range(rank, n):
        one = K[c:]
        one[rank * n :: n][: n - rank] = 0.0
        one[c * n] = -1.0
        for earlier in range(rank, c):
            other = K[earlier:]
            part = dot_apart(one, n, other, n, n) / dot_apart(other, n, other, n, n)
            one[::n][:n] -= part * other[::n][:n]
        b[:n] -= dot_apart(one, n, b, 1, n) / dot_apart(one, n, one, n, n) * one[::n][:n]


@routine
def least(J: Floats, g: Floats, x: Floats, m: int, n: int, work: Floats, order: Integers) -> None:
    """Write the least x with J x = g, m rows over n entries; `work` has room for m (m + 2)."""
    G, right, answer = work[0:], work[m * m :], work[m * (m + 1) :]
    right[:m] = g[:m]
    for i in range(m):
        for k in range(m):
            G[i * m + k] = dot(J[i * n :], J[k * n :], n)
    solve(G, right, answer, order, m)
    x[:n] = 0.0
    add_rows(J, answer, x, m, n)


@routine
def share(
    lam: Floats,
    size: int,
    null: Floats,
    count: int,
    normals: Integers,
    rows: Integers,
    mu: Floats,
    contacts: int,
    evenly: int,
    room: Floats,
) -> None:
    """Change least multipliers along `count` null vectors (columns, orthonormal): by as little as it
    takes until every contact pushes; and where contacts have three rows and friction until they have a
    reserve of grip, eq. [grip-reserve]: along all vectors or, where loads are shared evenly, along those
    that are not about loads alone. What is symmetric stays so. `room` has room for `3 size (size + 1)`
    numbers.

    Contacts that repeat each other, as two of one wheel do along their chord, or two wheels of one axle
    across, have forces that are not unique.
    """
    push_least(lam, size, null, count, normals, contacts, room)
    rub, ways, left = room[0:], room[size * count :], room[size * count + count * count :]
    rub[: size * count] = 0.0
    for k in range(contacts):
        if has_cone(rows[k], mu[k]) == 1:
            for i in range(normals[k] + evenly, normals[k] + 3):
                rub[i::size][:count] = null[i * count :][:count]
    free = span(rub, count, size, ways, left)
    if free > 0:
        for i in range(size):
            for c in range(free):
                left[i * free + c] = dot(null[i * count :], ways[c * count :], count)
        rub[: size * free] = left[: size * free]
        hold_firmly(lam, size, rub, free, normals, rows, mu, contacts, room[size * free :])


@routine
def hold_firmly(
    lam: Floats,
    size: int,
    null: Floats,
    count: int,
    normals: Integers,
    rows: Integers,
    mu: Floats,
    contacts: int,
    room: Floats,
) -> None:
    """Change multipliers along null vectors by as little as it takes until every contact has a reserve of
    grip, mu lam_n - |lam_t|, of a hundredth of the largest force, or as much as there is, eq.
    [grip-reserve]: the least r >= -a hundredth with which all cones, opened by r, hold their forces, and
    then the shortest change z. Newton's method on (r + |z|^2 / far) / weight - log(r + a hundredth) - sum
    log((mu lam_n + r)^2 - |lam_t|^2) for ever less weight.
    """
    n, largest, least = count + 1, max(max_norm(lam, size), 1e-300), 0.0
    H, g, z, weight = room[0:], room[n * n :], room[n * (n + 1) :], largest
    for k in range(contacts):
        if has_cone(rows[k], mu[k]) == 1:
            push = lam[normals[k] :]
            reserve = mu[k] * push[0] - norm(push[1], push[2])
            least = max(least, FIRMLY * largest - reserve)
    if least == 0.0:
        return
    z[:count] = 0.0
    r = least + largest
    for _ in range(STRIDES):
        bend, slack = 2.0 / (FAR * largest * weight), r + FIRMLY * largest
        H[: n * n] = 0.0
        H[:: n + 1][:n] = bend
        g[:count] = bend * z[:count]
        H[n * n - 1], g[count] = 1.0 / (slack * slack), 1.0 / weight - 1.0 / slack
        for k in range(contacts):
            add_barrier(lam, null, count, normals[k], rows[k], mu[k], r, H, g)
        fall = descend(H, g, n)
        part = 1.0 if fall < 0.25 else 1.0 / (1.0 + fall)
        r -= part * g[count]
        z[:count] -= part * g[:count]
        add_along(lam, size, null, count, g, -part)
        if fall < 1e-4:
            if weight < FINE * largest:
                return
            weight *= 0.1


@routine
def has_margin(
    lam: Floats, size: int, normals: Integers, rows: Integers, mu: Floats, contacts: int
) -> bool:
    """Return whether every contact pushes, and those that do not slip have the friction margin that
    redundant forces are given: `share` would change nothing.
    """
    largest = max_norm(lam, size)
    for k in range(contacts):
        push = lam[max(normals[k], 0) :]
        if normals[k] >= 0 and push[0] < LEAST_LOAD * largest:
            return False
        wanted = FIRMLY * largest
        if has_cone(rows[k], mu[k]) == 1 and mu[k] * push[0] < norm(push[1], push[2]) + wanted:
            return False
    return True


@routine
def has_cone(rows: int, mu: float) -> int:
    """Return 1 where a contact that does not slip has friction with a limit."""
    return 1 if rows == 3 and mu > 0.0 and isfinite(mu) else 0


@routine
def add_barrier(
    lam: Floats,
    null: Floats,
    count: int,
    at: int,
    rows: int,
    mu: float,
    r: float,
    H: Floats,
    g: Floats,
) -> None:
    """Add what a contact contributes to the slope and the bend of the barrier, log((mu lam_n + r)^2 -
    |lam_t|^2), or log(lam_n + r) without friction; one that null vectors do not change contributes nothing.
    """
    n, rubs, load = count + 1, has_cone(rows, mu), null[at * count :]
    if rows == 0 or not max_norm(load, (1 + 2 * rubs) * count) > 1e-8:
        return
    slope, steep = g[2 * n :], mu if rubs == 1 else 1.0
    a = steep * lam[at] + r
    slope[:count] = steep / a * load[:count]
    slope[count] = 1.0 / a
    if rubs == 1:
        x, y, along, across = lam[at + 1], lam[at + 2], load[count:], load[2 * count :]
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
def descend(H: Floats, g: Floats, n: int) -> float:
    """Write the Newton step H^-1 g in place of g, by Cholesky's method in place; return sqrt(g' H^-1 g)."""
    fall = 0.0
    for j in range(n):
        row = H[j * n :]
        row[j] = sqrt(max(row[j] - dot(row, row, j), 1e-300))
        g[j] = (g[j] - dot(row, g, j)) / row[j]
        fall += g[j] * g[j]
        for i in range(j + 1, n):
            H[i * n + j] = (H[i * n + j] - dot(H[i * n :], row, j)) / row[j]
    for j in range(n - 1, -1, -1):
        g[j] /= H[j * n + j]
        g[:j] -= g[j] * H[j * n :][:j]
    return sqrt(fall)


@routine
def push_least(
    lam: Floats,
    size: int,
    null: Floats,
    count: int,
    normals: Integers,
    contacts: int,
    duals: Floats,
) -> None:
    """Add to multipliers the shortest combination of null vectors with which no contact pulls, by
    Hildreth's method: it is unique, so that what is symmetric stays so. Where there is none the
    multipliers stay as they are.
    """
    largest = max_norm(lam, size)
    duals[:contacts] = 0.0
    for _ in range(2000):
        change = 0.0
        for k in range(contacts):
            if normals[k] < 0:
                continue
            row = null[normals[k] * count :]
            length = dot(row, row, count)
            if length > 1e-16:  # less: the others can do nothing for it
                more = max((LEAST_LOAD * largest - lam[normals[k]]) / length, -duals[k])
                duals[k] += more
                change = max(change, abs(more) * sqrt(length))
                add_along(lam, size, null, count, row, more)
        if change <= 1e-13 * largest:
            return
    for k in range(contacts):
        if normals[k] >= 0:
            add_along(lam, size, null, count, null[normals[k] * count :], -duals[k])


@routine
def add_along(lam: Floats, size: int, null: Floats, count: int, row: Floats, part: float) -> None:
    """Add a share of the null vectors' combination that a row of theirs tells."""
    for c in range(count):
        lam[:size] += part * row[c] * null[c::count][:size]


@routine
def span(C: Floats, m: int, n: int, U: Floats, left: Floats) -> int:
    """Write orthonormal vectors of m entries, one after the other, that span the columns of C, m rows
    over n entries; return how many they are. `left` has room for C.
    """
    largest, rank = 0.0, 0
    for j in range(n):
        left[j * m :][:m] = C[j::n][:m]
    while rank < min(m, n):
        best, column, one = 0.0, 0, U[rank * m :]
        for j in range(n):
            size = dot(left[j * m :], left[j * m :], m)
            if size > best:
                best, column = size, j
        largest = max(largest, best)
        if not best > REPEATS * REPEATS * largest:
            break
        one[:m] = left[column * m :][:m] / sqrt(best)
        for j in range(n):
            left[j * m :][:m] -= dot(one, left[j * m :], m) * one[:m]
        rank += 1
    return rank


@routine
def combine(
    U: Floats, rank: int, m: int, A: Floats, row: int, column: int, n: int, out: Floats
) -> None:
    """Write combinations of the m lines of A by the vectors of U, one row of n entries each; `row` and
    `column` tell how far apart lines and entries of A are.
    """
    for r in range(rank):
        for j in range(n):
            out[r * n + j] = dot_apart(U[r * m :], 1, A[j * column :], row, m)


@routine
def complement(U: Floats, rank: int, m: int, null: Floats, room: Floats) -> None:
    """Write orthonormal vectors of m entries, as columns, that `rank` orthonormal ones, one after the
    other in U, leave out; `room` has room for 3 m m.
    """
    left, found = room[0:], room[m * m :]
    left[: m * m] = 0.0
    left[:: m + 1][:m] = 1.0
    for i in range(m):
        for r in range(rank):
            left[i * m :][:m] -= U[r * m + i] * U[r * m :][:m]
    span(left, m, m, found, room[2 * m * m :])
    for c in range(m - rank):
        null[c :: m - rank][:m] = found[c * m :][:m]
