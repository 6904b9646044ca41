"""Small dense systems as routines: elimination with full pivoting, solutions of least norm.

Matrices stand row by row.
"""

from math import sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine

REPEATS = 1e-9
"""Rows that are independent of others by less than this part of the largest repeat them."""


@routine
def solve(K: Floats, b: Floats, x: Floats, order: Integers, n: int) -> int:
    """Write the x of least norm with K x = b, by elimination with full pivoting in place; return how
    many rows repeat others, or -1 if they contradict each other.
    """
    largest, rank = 0.0, n
    for i in range(n):
        order[i] = i
        for j in range(n):
            largest = max(largest, abs(K[i * n + j]))
    for k in range(n):
        if not bring_pivot(K, b, order, n, k) > 1e-11 * largest:
            rank = k
            break
        pivot = K[k * n :]
        for i in range(k + 1, n):
            row = K[i * n :]
            f = row[k] / pivot[k]
            if f != 0.0:
                for j in range(k + 1, n):
                    row[j] -= f * pivot[j]
                b[i] -= f * b[k]
    for i in range(rank, n):
        if not abs(b[i]) <= 1e-6 * (1.0 + largest):
            return -1
        b[i] = 0.0
    for k in range(rank - 1, -1, -1):
        row = K[k * n :]
        for c in range(rank, n):
            for j in range(k + 1, rank):
                row[c] -= row[j] * K[j * n + c]
            row[c] /= row[k]
        for j in range(k + 1, rank):
            b[k] -= row[j] * b[j]
        b[k] /= row[k]
    shorten(K, b, n, rank)
    for k in range(n):
        x[order[k]] = b[k]
    return n - rank


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
        for i in range(rank, n):
            K[i * n + c] = -1.0 if i == c else 0.0
        for earlier in range(rank, c):
            along, size = 0.0, 0.0
            for i in range(n):
                along += K[i * n + c] * K[i * n + earlier]
                size += K[i * n + earlier] * K[i * n + earlier]
            for i in range(n):
                K[i * n + c] -= along / size * K[i * n + earlier]
        along, size = 0.0, 0.0
        for i in range(n):
            along += K[i * n + c] * b[i]
            size += K[i * n + c] * K[i * n + c]
        for i in range(n):
            b[i] -= along / size * K[i * n + c]


@routine
def least(J: Floats, g: Floats, x: Floats, m: int, n: int, work: Floats, order: Integers) -> None:
    """Write the least x with J x = g, m rows over n entries; `work` has room for m (m + 2)."""
    G, right, answer = work[0:], work[m * m :], work[m * (m + 1) :]
    for i in range(m):
        right[i] = g[i]
        for k in range(m):
            G[i * m + k] = 0.0
            for j in range(n):
                G[i * m + k] += J[i * n + j] * J[k * n + j]
    solve(G, right, answer, order, m)
    for j in range(n):
        x[j] = 0.0
        for i in range(m):
            x[j] += J[i * n + j] * answer[i]


@routine
def least_twice(
    J: Floats, g: Floats, x: Floats, m: int, n: int, work: Floats, order: Integers
) -> None:
    """Write the same to the last digits, by a second step for what the first has left; `work` has room
    for m (m + 3) + n.
    """
    rest, step = work[0:], work[m:]
    for j in range(n):
        x[j] = 0.0
    for _ in range(2):
        for i in range(m):
            rest[i] = g[i]
            for j in range(n):
                rest[i] -= J[i * n + j] * x[j]
        least(J, rest, step, m, n, work[m + n :], order)
        for j in range(n):
            x[j] += step[j]


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
    duals: Floats,
) -> None:
    """Change least multipliers along `count` null vectors (columns, orthonormal) until every contact
    pushes and, if it has three rows and friction, is within its cone: by as little as that takes where
    there are no cones; or until they lack least. There is room for one number per contact.

    Contacts that repeat each other, as two of one wheel do along their chord, have forces that are
    not unique.
    """
    largest, cones = 0.0, 0
    for i in range(size):
        largest = max(largest, abs(lam[i]))
    for k in range(contacts):
        cones += 1 if rows[k] == 3 and mu[k] > 0.0 else 0
    if cones == 0 and push_least(lam, size, null, count, normals, contacts, largest, duals) == 1:
        return
    for _ in range(2000):
        change = 0.0
        for c in range(count):
            step = lack_less(lam, null, count, c, normals, rows, mu, contacts, 1e-9 * largest)
            for i in range(size if step != 0.0 else 0):
                lam[i] += step * null[i * count + c]
            change = max(change, abs(step))
        if change <= 1e-13 * largest:
            break


@routine
def lack_less(
    lam: Floats,
    null: Floats,
    count: int,
    c: int,
    normals: Integers,
    rows: Integers,
    mu: Floats,
    contacts: int,
    enough: float,
) -> float:
    """Return how far along a null vector contacts lack least, where |lam_t| / mu - lam_n is measured by
    how far the shortest way is on which it vanishes.
    """
    step, stiff = 0.0, 0.0
    for k in range(contacts):
        at, along, across = normals[k], 0.0, 0.0
        lack = enough - lam[at]
        if rows[k] == 3 and mu[k] > 0.0:
            force = sqrt(lam[at + 1] * lam[at + 1] + lam[at + 2] * lam[at + 2])
            if force > 0.0:
                along, across = lam[at + 1] / (mu[k] * force), lam[at + 2] / (mu[k] * force)
                lack += force / mu[k]
        length = 0.0
        for j in range(count):
            way = gain(null, count, at, j, along, across)
            length += way * way
        if length > 1e-16:  # less: the others can do nothing for it
            way = gain(null, count, at, c, along, across) / length
            step += way * max(0.0, lack)
            stiff += way * way * length
    return step / stiff if stiff > 1e-16 else 0.0  # less: it moves no contact


@routine
def push_least(
    lam: Floats,
    size: int,
    null: Floats,
    count: int,
    normals: Integers,
    contacts: int,
    largest: float,
    duals: Floats,
) -> int:
    """Add to multipliers the shortest combination of null vectors with which no contact pulls, by
    Hildreth's method: it is unique, so that what is symmetric stays so. Return 1 if there is one; else
    the multipliers are as they were.
    """
    for k in range(contacts):
        duals[k] = 0.0
    for _ in range(2000):
        change = 0.0
        for k in range(contacts):
            row, length = null[normals[k] * count :], 0.0
            for c in range(count):
                length += row[c] * row[c]
            if length > 1e-16:  # less: the others can do nothing for it
                more = max((1e-9 * largest - lam[normals[k]]) / length, -duals[k])
                duals[k] += more
                change = max(change, abs(more) * sqrt(length))
                add_along(lam, size, null, count, row, more)
        if change <= 1e-13 * largest:
            return 1
    for k in range(contacts):
        add_along(lam, size, null, count, null[normals[k] * count :], -duals[k])
    return 0


@routine
def add_along(lam: Floats, size: int, null: Floats, count: int, row: Floats, part: float) -> None:
    """Add a share of the null vectors' combination that a row of theirs tells."""
    for i in range(size):
        for c in range(count):
            lam[i] += part * row[c] * null[i * count + c]


@routine
def gain(null: Floats, count: int, at: int, c: int, along: float, across: float) -> float:
    """Return how fast lam_n - |lam_t| / mu of a contact grows along a null vector."""
    rate = null[at * count + c]
    if along != 0.0 or across != 0.0:
        rate -= along * null[(at + 1) * count + c] + across * null[(at + 2) * count + c]
    return rate


@routine
def span(C: Floats, m: int, n: int, U: Floats, left: Floats) -> int:
    """Write orthonormal vectors of m entries, one after the other, that span the columns of C, m rows
    over n entries; return how many they are. `left` has room for C.
    """
    largest, rank = 0.0, 0
    for j in range(n):
        for i in range(m):
            left[j * m + i] = C[i * n + j]
    while rank < min(m, n):
        best, column, one = 0.0, 0, U[rank * m :]
        for j in range(n):
            size = 0.0
            for i in range(m):
                size += left[j * m + i] * left[j * m + i]
            if size > best:
                best, column = size, j
        largest = max(largest, best)
        if not best > REPEATS * REPEATS * largest:
            break
        for i in range(m):
            one[i] = left[column * m + i] / sqrt(best)
        for j in range(n):
            along = 0.0
            for i in range(m):
                along += one[i] * left[j * m + i]
            for i in range(m):
                left[j * m + i] -= along * one[i]
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
            out[r * n + j] = 0.0
            for i in range(m):
                out[r * n + j] += U[r * m + i] * A[i * row + j * column]


@routine
def saddle_point(n: int, m: int, given: Floats, x: Floats, room: Floats, order: Integers) -> int:
    """Write x and lam, one after the other, of `M x - G lam = right`, `C x = c`, which are given as M,
    right, C, G, c; return how many of the m rows repeat others (then lam is the least), or -1 if they
    contradict each other.
    """
    M, right, C, G = given[0:], given[n * n :], given[n * (n + 1) :], given[n * (n + 1 + m) :]
    size, U, K = n + m, room[0:], room[m * m :]
    b, left = room[m * m + size * size :], room[m * m + size * (size + 1) :]
    rank = span(C, m, n, U, K)
    if rank == m:
        for i in range(m * m):
            U[i] = 1.0 if i % (m + 1) == 0 else 0.0
    size = n + rank
    lines = left[size:]
    columns = lines[rank * n :]
    combine(U, rank, m, C, n, 1, n, lines)
    combine(U, rank, m, G, 1, m, n, columns)
    combine(U, rank, m, given[n * (n + 1 + 2 * m) :], 1, 0, 1, b[n:])
    for i in range(size * size):
        K[i] = 0.0
    for i in range(n):
        b[i] = right[i]
        for j in range(n):
            K[i * size + j] = M[i * n + j]
        for r in range(rank):
            K[i * size + n + r] = -columns[r * n + i]
            K[(n + r) * size + i] = lines[r * n + i]
    if solve(K, b, left, order, size) < 0:
        return -1
    for i in range(n):
        x[i] = left[i]
    for i in range(m):
        x[n + i] = 0.0
        for r in range(rank):
            x[n + i] += U[r * m + i] * left[n + r]
    return m - rank


@routine
def complement(U: Floats, rank: int, m: int, null: Floats, room: Floats) -> None:
    """Write orthonormal vectors of m entries, as columns, that `rank` orthonormal ones, one after the
    other in U, leave out; `room` has room for 3 m m.
    """
    left, found = room[0:], room[m * m :]
    for i in range(m):
        for j in range(m):
            left[i * m + j] = 1.0 if i == j else 0.0
            for r in range(rank):
                left[i * m + j] -= U[r * m + i] * U[r * m + j]
    span(left, m, m, found, room[2 * m * m :])
    for c in range(m - rank):
        for i in range(m):
            null[i * (m - rank) + c] = found[c * m + i]


@routine
def kernel_system(n: int, m: int, given: Floats, x: Floats, room: Floats, order: Integers) -> int:
    """Write what `saddle_point` does where G is C', by projection on the kernel H of C, (3.25)-(3.30):
    x = w + H u with w any that has C w = c, and `H' M H u = H' (right - M w)`.
    """
    M, right, C = given[0:], given[n * n :], given[n * (n + 1) :]
    rest, U, H, work = room[0:], room[n:], room[n * (n + 1) :], room[n * (2 * n + 1) :]
    for j in range(n):
        for i in range(m):
            work[j * m + i] = C[i * n + j]
    rank = span(work, n, m, U, work[n * m :])
    complement(U, rank, n, H, work)
    least_twice(C, given[n * (n + 1 + 2 * m) :], x, m, n, work, order)
    imbalance(n, M, right, x, rest)
    if step_along(n, n - rank, M, H, rest, x, work, order) != 0:
        return -1
    imbalance(n, M, right, x, rest)
    for r in range(rank):
        work[r] = 0.0
        for j in range(n):
            work[r] += U[r * n + j] * rest[j]
    combine(U, rank, n, C, 1, n, m, work[rank:])
    least_twice(work[rank:], work, x[n:], rank, m, work[rank * (m + 1) :], order)
    return m - rank


@routine
def imbalance(n: int, M: Floats, right: Floats, x: Floats, rest: Floats) -> None:
    """Write `M x - right`."""
    for i in range(n):
        rest[i] = -right[i]
        for j in range(n):
            rest[i] += M[i * n + j] * x[j]


@routine
def step_along(
    n: int, free: int, M: Floats, H: Floats, rest: Floats, x: Floats, work: Floats, order: Integers
) -> int:
    """Add to x the H u with `H' (M H u + rest) = 0`, H having so many columns; return how many of these
    equations repeat others.
    """
    K, b, u = work[0:], work[free * free :], work[free * (free + 1) :]
    for r in range(free):
        b[r] = 0.0
        for i in range(n):
            b[r] -= H[i * free + r] * rest[i]
        for q in range(free):
            K[r * free + q] = 0.0
            for i in range(n):
                for j in range(n):
                    K[r * free + q] += H[i * free + r] * M[i * n + j] * H[j * free + q]
    repeating = solve(K, b, u, order, free)
    for i in range(n):
        for r in range(free):
            x[i] += H[i * free + r] * u[r]
    return repeating
