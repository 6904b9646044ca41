"""Small dense vectors, matrices and systems: products, orthonormal bases, elimination with complete pivoting,
solutions of minimum norm.

Matrices are stored row by row.
"""

from math import sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine

REPEATS = 1e-9  # of the largest row; a row that is independent of others by less is redundant

ZERO_PIVOT = 1e-11  # of the largest entry; a smaller pivot is zero

CONTRADICTION = (
    1e-6  # of one plus the largest entry; residual of redundant equations that contradict others
)


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
    """Return a' b, of entries with strides p and q."""
    total = 0.0
    for i in range(n):
        total += a[i * p] * b[i * q]
    return total


@routine
def max_norm(a: Floats, n: int) -> float:
    """Return the largest absolute entry."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(a[i]))
    return largest


@routine
def max_difference(a: Floats, b: Floats, n: int) -> float:
    """Return the largest absolute entry of a - b."""
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
    """Write the x of minimum norm with K x = b, by elimination with complete pivoting in place; return the
    number of redundant equations, or -1 if equations contradict each other.
    """
    largest = max_norm(K, n * n)
    rank = n
    for i in range(n):
        order[i] = i
    for k in range(n):
        if not bring_pivot(K, b, order, n, k) > ZERO_PIVOT * largest:
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
        if not abs(b[i]) <= CONTRADICTION * (1.0 + largest):
            return -1
        b[i] = 0.0
    for k in range(rank - 1, -1, -1):
        row = K[k * n :]
        for j in range(k + 1, rank):
            row[rank:n] -= row[j] * K[j * n :][rank:n]
            b[k] -= row[j] * b[j]
        row[rank:n] /= row[k]
        b[k] /= row[k]
    remove_null_part(K, b, n, rank)
    for k in range(n):
        x[order[k]] = b[k]
    return n - rank


@routine
def null_vectors(K: Floats, order: Integers, n: int, count: int, null: Floats) -> None:
    """Write the `count` null vectors of unit length that `solve` has left in K, as columns."""
    for c in range(count):
        column = K[n - count + c :]
        length = sqrt(max(dot_apart(column, n, column, n, n), 1e-300))
        for i in range(n):
            null[order[i] * count + c] = column[i * n] / length


@routine
def bring_pivot(K: Floats, b: Floats, order: Integers, n: int, k: int) -> float:
    """Bring the largest entry of the remaining rows to place (k, k); return its size."""
    best = 0.0
    row = k
    column = k
    for i in range(k, n):
        for j in range(k, n):
            if abs(K[i * n + j]) > best:
                best = abs(K[i * n + j])
                row = i
                column = j
    for j in range(n):
        K[k * n + j], K[row * n + j] = K[row * n + j], K[k * n + j]
    b[k], b[row] = b[row], b[k]
    for i in range(n):
        K[i * n + k], K[i * n + column] = K[i * n + column], K[i * n + k]
    order[k], order[column] = order[column], order[k]
    return best


@routine
def remove_null_part(K: Floats, b: Floats, n: int, rank: int) -> None:
    """Remove from b its components along the null vectors (-K[:rank, c], 1 at c), which are made
    orthogonal one after the other.
    """
    for c in range(rank, n):
        vector = K[c:]
        vector[rank * n :: n][: n - rank] = 0.0
        vector[c * n] = -1.0
        for earlier in range(rank, c):
            other = K[earlier:]
            part = dot_apart(vector, n, other, n, n) / dot_apart(other, n, other, n, n)
            vector[::n][:n] -= part * other[::n][:n]
        part = dot_apart(vector, n, b, 1, n) / dot_apart(vector, n, vector, n, n)
        b[:n] -= part * vector[::n][:n]


@routine
def least(J: Floats, g: Floats, x: Floats, m: int, n: int, work: Floats, order: Integers) -> None:
    """Write the x of minimum norm with J x = g, m rows over n entries; `work` has room for m (m + 2)."""
    G = work[0:]
    right = work[m * m :]
    weights = work[m * (m + 1) :]
    right[:m] = g[:m]
    for i in range(m):
        for k in range(m):
            G[i * m + k] = dot(J[i * n :], J[k * n :], n)
    solve(G, right, weights, order, m)
    x[:n] = 0.0
    add_rows(J, weights, x, m, n)


@routine
def span(C: Floats, m: int, n: int, U: Floats, rest: Floats) -> int:
    """Write orthonormal vectors of m entries, one after the other, that span the columns of C, m rows over n
    entries (Gram-Schmidt with pivoting); return their number. `rest` has room for C.
    """
    largest = 0.0
    rank = 0
    for j in range(n):
        rest[j * m :][:m] = C[j::n][:m]
    while rank < min(m, n):
        best = 0.0
        column = 0
        vector = U[rank * m :]
        for j in range(n):
            size = dot(rest[j * m :], rest[j * m :], m)
            if size > best:
                best = size
                column = j
        largest = max(largest, best)
        if not best > REPEATS * REPEATS * largest:
            break
        vector[:m] = rest[column * m :][:m] / sqrt(best)
        for j in range(n):
            rest[j * m :][:m] -= dot(vector, rest[j * m :], m) * vector[:m]
        rank += 1
    return rank


@routine
def complement(U: Floats, rank: int, m: int, null: Floats, scratch: Floats) -> None:
    """Write orthonormal vectors of m entries, as columns, that complete `rank` orthonormal ones, one after
    the other in U, to a basis; `scratch` has space for 3 m m.
    """
    rest = scratch[0:]
    vectors = scratch[m * m :]
    rest[: m * m] = 0.0
    rest[:: m + 1][:m] = 1.0
    for i in range(m):
        for r in range(rank):
            rest[i * m :][:m] -= U[r * m + i] * U[r * m :][:m]
    span(rest, m, m, vectors, scratch[2 * m * m :])
    for c in range(m - rank):
        null[c :: m - rank][:m] = vectors[c * m :][:m]


@routine
def combine(
    U: Floats, rank: int, m: int, A: Floats, row: int, column: int, n: int, out: Floats
) -> None:
    """Write U A, of `rank` rows over n entries; `row` and `column` are the strides of A (m, n)."""
    for r in range(rank):
        for j in range(n):
            out[r * n + j] = dot_apart(U[r * m :], 1, A[j * column :], row, m)
