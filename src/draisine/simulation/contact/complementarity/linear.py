"""Routines for small dense vectors, matrices and linear systems, stored row by row.

They compute scalar products, orthonormal bases (Gram-Schmidt with pivoting), null vectors, and solutions of
minimum norm of square systems that may be singular (Gaussian elimination with complete pivoting).
"""

from math import sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, Matrix, routine

REDUNDANT_ROW_DISTANCE = 1e-9
"""Distance of a matrix row from the span of the other rows, over the largest row, of a redundant row."""

ZERO_PIVOT = 1e-11
"""Magnitude of a pivot, as a fraction of the largest matrix entry, below which it counts as zero."""

CLEAR_ROW_DISTANCE = 0.2
"""Distance of a unit row from the span of other rows above which the row is clearly independent."""

CONTRADICTION = 1e-6
"""Largest residual of a redundant equation, over one plus the largest matrix entry.

Above it the equations are inconsistent.
"""

SMALLEST_PIVOT = 1e-300
"""Value that replaces squared Cholesky pivots below it, to avoid a division by zero."""


@routine
def dot(a: Floats, b: Floats, n: int) -> float:
    """Return the scalar product a' b of two vectors (n)."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@routine
def add_dot(c: float, a: Floats, b: Floats, n: int) -> float:
    """Return c + a' b for vectors (n), added up in this order."""
    total = c
    for i in range(n):
        total += a[i] * b[i]
    return total


@routine
def strided_dot(a: Floats, p: int, b: Floats, q: int, n: int) -> float:
    """Return the scalar product a' b of n entries with strides p (of a) and q (of b)."""
    total = 0.0
    for i in range(n):
        total += a[i * p] * b[i * q]
    return total


@routine
def max_norm(a: Floats, n: int) -> float:
    """Return the largest absolute entry of a vector (n)."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(a[i]))
    return largest


@routine
def max_difference(a: Floats, b: Floats, n: int) -> float:
    """Return the largest absolute entry of the difference a - b of two vectors (n)."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(a[i] - b[i]))
    return largest


@routine
def plane_norm(x: float, y: float) -> float:
    """Return the length of the plane vector (x, y)."""
    return sqrt(x * x + y * y)


@routine
def add_product(A: Floats, x: Floats, out: Floats, m: int, n: int) -> None:
    """Add the product A x of a matrix (m, n) and a vector (n) to the vector `out` (m)."""
    for i in range(m):
        out[i] = add_dot(out[i], A[i * n :], x, n)


@routine
def add_transposed_product(A: Floats, x: Floats, out: Floats, m: int, n: int) -> None:
    """Add the product A' x of a transposed matrix (m, n) and a vector (m) to the vector `out` (n)."""
    for i in range(m):
        out[:n] += x[i] * A[i * n :][:n]


@routine
def solve_by_complete_pivoting(K: Floats, b: Floats, x: Floats, order: Integers, n: int) -> int:
    """Solve K x = b (n equations) by elimination with complete pivoting; K and b are overwritten.

    If equations are redundant, x has minimum norm. Return the number of redundant equations, or -1 if
    equations are inconsistent.
    """
    largest = max_norm(K, n * n)
    rank = n
    for i in range(n):
        order[i] = i
    for k in range(n):
        if not move_largest_pivot(K, b, order, n, k) > ZERO_PIVOT * largest:
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
    """Write the `count` unit null vectors (n) of K as columns of `null` (n, count).

    K and `order` are those that `solve_by_complete_pivoting` has left.
    """
    for c in range(count):
        column = K[n - count + c :]
        length = sqrt(max(strided_dot(column, n, column, n, n), 1e-300))
        for i in range(n):
            null[order[i] * count + c] = column[i * n] / length


@routine
def move_largest_pivot(K: Floats, b: Floats, order: Integers, n: int, k: int) -> float:
    """Move the largest entry of K[k:, k:] to position (k, k) by exchanges; return its absolute value."""
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
    """Subtract from b (n) the components along the null vectors of an eliminated matrix K.

    Null vector c (rank <= c < n) is K[:rank, c] with -1 at entry c. The null vectors are orthogonalised in
    place.
    """
    for c in range(rank, n):
        vector = K[c:]
        vector[rank * n :: n][: n - rank] = 0.0
        vector[c * n] = -1.0
        for earlier in range(rank, c):
            other = K[earlier:]
            part = strided_dot(vector, n, other, n, n) / strided_dot(other, n, other, n, n)
            vector[::n][:n] -= part * other[::n][:n]
        part = strided_dot(vector, n, b, 1, n) / strided_dot(vector, n, vector, n, n)
        b[:n] -= part * vector[::n][:n]


@routine
def solve_least_norm(
    J: Floats, g: Floats, x: Floats, m: int, n: int, work: Floats, order: Integers
) -> None:
    """Solve J x = g, m equations for n unknowns, for the x of minimum norm.

    `work` is scratch of at least m (m + 2) entries, `order` of at least m.
    """
    G = work[0:]
    right = work[m * m :]
    weights = work[m * (m + 1) :]
    right[:m] = g[:m]
    for i in range(m):
        for k in range(m):
            G[i * m + k] = dot(J[i * n :], J[k * n :], n)
    solve_by_complete_pivoting(G, right, weights, order, m)
    x[:n] = 0.0
    add_transposed_product(J, weights, x, m, n)


@routine
def span_columns(C: Floats, m: int, n: int, U: Floats, rest: Floats) -> int:
    """Compute an orthonormal basis of the column space of C (m, n) by Gram-Schmidt; return its dimension.

    The columns are processed with pivoting. Row i of U is the i-th basis vector (m). `rest` is scratch of the
    size of C.
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
        if not best > REDUNDANT_ROW_DISTANCE * REDUNDANT_ROW_DISTANCE * largest:
            break
        vector[:m] = rest[column * m :][:m] / sqrt(best)
        for j in range(n):
            rest[j * m :][:m] -= dot(vector, rest[j * m :], m) * vector[:m]
        rank += 1
    return rank


@routine
def mark_redundant_rows(rows: Floats, held: Integers, size: int, n: int, marks: Integers) -> int:
    """Mark redundant constraint rows of `size` contacts with 1 in `marks`; return their number.

    Contact k has the rows 3 k to 3 k + 2 (n entries each); the first `held[k]` of them are constraint rows.
    Tangential rows are marked rather than normal ones, because normal rows prevent a drift of the gaps.
    Clearly independent rows are processed before nearly redundant ones. `rows` is overwritten by Gram-Schmidt
    orthogonalisation.
    """
    count = 0
    for i in range(3 * size):
        row = rows[i * n :]
        length = sqrt(dot(row, row, n))
        marks[i] = 1 if i % 3 < held[i // 3] and length > 0.0 else 0
        count += marks[i]
        if marks[i] == 1:
            row[:n] /= length
    for turn in range(4):
        distance = CLEAR_ROW_DISTANCE if turn < 2 else REDUNDANT_ROW_DISTANCE
        for i in range(3 * size):
            unit = rows[i * n :]
            square = dot(unit, unit, n)
            is_next = marks[i] == 1 and (i % 3 == 0) == (turn % 2 == 0)
            if not is_next or not square > distance * distance:
                continue
            marks[i] = 0
            count -= 1
            unit[:n] /= sqrt(square)
            for k in range(3 * size):
                part = dot(unit, rows[k * n :], n)
                if marks[k] == 1 and part != 0.0:
                    rows[k * n :][:n] -= part * unit[:n]
    return count


@routine
def complete_basis(U: Floats, rank: int, m: int, null: Floats, scratch: Floats) -> None:
    """Complete the first `rank` rows of U, orthonormal vectors (m), to a basis.

    The m - rank further vectors are written as columns of `null`. `scratch` has at least 3 m m entries.
    """
    rest = scratch[0:]
    vectors = scratch[m * m :]
    rest[: m * m] = 0.0
    rest[:: m + 1][:m] = 1.0
    for i in range(m):
        for r in range(rank):
            rest[i * m :][:m] -= U[r * m + i] * U[r * m :][:m]
    span_columns(rest, m, m, vectors, scratch[2 * m * m :])
    for c in range(m - rank):
        null[c :: m - rank][:m] = vectors[c * m :][:m]


@routine
def project_on_basis(
    U: Floats, rank: int, m: int, A: Floats, row: int, column: int, n: int, out: Floats
) -> None:
    """Write the product U A (rank, n) to `out`: coordinates of the columns of A (m, n) in the basis U.

    `row` and `column` are the strides of A.
    """
    for r in range(rank):
        for j in range(n):
            out[r * n + j] = strided_dot(U[r * m :], 1, A[j * column :], row, m)


@routine
def factor_cholesky(A: Matrix, n: int) -> bool:
    """Replace the lower triangle of A (n, n) by the Cholesky factor L with A = L L'.

    Return whether A is positive definite. If it is not, `SMALLEST_PIVOT` replaces squared pivots that are
    zero or negative.
    """
    is_definite = True
    for j in range(n):
        row = A[j]
        pivot = row[j] - dot(row, row, j)
        is_definite = is_definite and pivot > 0.0
        row[j] = sqrt(max(pivot, SMALLEST_PIVOT))
        for i in range(j + 1, n):
            lower = A[i]
            lower[j] = (lower[j] - dot(lower, row, j)) / row[j]
    return is_definite


@routine
def divide_lower(L: Matrix, x: Floats, n: int) -> None:
    """Replace a vector (n) by L^-1 times the vector, where L is lower triangular."""
    for k in range(n):
        x[k] = (x[k] - dot(L[k], x, k)) / L[k, k]


@routine
def divide_lower_transposed(L: Matrix, x: Floats, n: int) -> None:
    """Replace a vector (n) by L'^-1 times the vector, where L is lower triangular."""
    for k in range(n - 1, -1, -1):
        if x[k] != 0.0:
            x[k] /= L[k, k]
            x[:k] -= x[k] * L[k, :k]
