"""Rank of the constraint rows of rolling contacts, which decides between event location and time stepping.

On a plane, the lateral constraint rows of the wheels of one rigid axle are identical. Such redundant rows are
harmless, because the motion is determined. On faces of different slope the rows are nearly, but not exactly,
redundant: one wheel must creep, and stick and slip events of this wheel follow each other without end.

Method, `compute_rank`:

1. Scale the rows to unit length in the metric of the inverse mass matrix, so that units do not matter.
2. If all singular values exceed `NEARLY_REDUNDANT_SINGULAR_VALUE`, the rows are independent. The test is a
   Cholesky factorisation of the Gram matrix minus the square of this bound.
3. On one plane, rows are independent or exactly redundant: count the redundant ones.
4. Otherwise the singular values decide. They are the roots of the eigenvalues of the Gram matrix.
"""

from enum import IntEnum
from math import sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, Matrix, Record, call, routine
from draisine.codegen.targets.native import make_record
from draisine.simulation.contact.complementarity.linear import (
    divide_lower,
    dot,
    factor_cholesky,
    mark_redundant_rows,
)
from draisine.simulation.contact.kernels import ContactMode, evaluate_row
from draisine.simulation.contact.status import Status

NEARLY_REDUNDANT_SINGULAR_VALUE = 0.1
"""Singular value of normalised constraint rows below which the rows are nearly redundant.

Ten systems on a plane, where rows are independent or exactly redundant, have singular values of 0 or above
0.06.
"""

REDUNDANT_SINGULAR_VALUE = 1e-5
"""Singular value of normalised constraint rows below which the rows are exactly redundant.

The rounding errors of states after impacts are smaller.
"""

PARALLEL_NORMALS = 1e-6
"""Difference of unit normals below which two faces are parallel."""

MAX_ROTATION_SWEEPS = 30
"""Largest number of sweeps of Jacobi's method; it needs about ten."""

DIAGONAL_REMAINDER = 1e-28
"""Sum of the squares of the entries below the diagonal at which Jacobi's method ends.

The eigenvalues of the Gram matrix of unit rows are then accurate to 1e-14.
"""


class Rank(IntEnum):
    """Classification of the constraint rows of rolling contacts by their rank."""

    INDEPENDENT = 0  # all constraint rows are linearly independent
    REDUNDANT = 1  # exactly redundant constraint rows, as of wheels of one axle on a plane
    OVER_CONSTRAINED = 2  # nearly redundant constraint rows: one axle on faces of different slope


class RankWork(Record):
    """Scratch arrays of `compute_rank` for k contacts of a system with n speeds."""

    row: Floats  # one contact row
    rows: Floats  # (3 k n) constraint rows of the rolling contacts
    held: Integers  # (k) number of constraint rows of each contact
    marks: Integers  # (3 k) marks of redundant rows
    normals: Matrix  # (k, 3) unit normals
    mass_factor: Matrix  # (n, n) Cholesky factor of the mass matrix
    units: Matrix  # (3 k, n) constraint rows of unit length
    gram: Matrix  # (3 k, 3 k) Gram matrix of `units`
    # (3 k, 3 k) Gram matrix minus the square of a singular value, then its Cholesky factor
    shifted: Matrix


def make_rank_work(contacts: int, speeds: int, row: int) -> RankWork:
    """Return the scratch arrays for a number of contacts and speeds; contact rows have `row` entries."""
    rows = 3 * contacts
    work: RankWork = make_record(
        RankWork,
        row=row,
        rows=rows * speeds,
        held=contacts,
        marks=rows,
        normals=(contacts, 3),
        mass_factor=(speeds, speeds),
        units=(rows, speeds),
        gram=(rows, rows),
        shifted=(rows, rows),
    )
    return work


@routine
def compute_rank(
    s: ContactMode, w: RankWork, which: Integers, status: Integers, count: int
) -> Rank:
    """Return the `Rank` of the constraint rows of the rolling contacts at the state in x.

    `which` and `status` are indices and statuses of `count` closed contacts. A single rolling contact is
    independent.
    """
    m = s.motion
    n = m.speeds
    rolling = 0
    is_plane = True
    for i in range(count):
        if status[i] != Status.ROLLING:
            continue
        evaluate_row(s.x, s.contacts, which[i], w.row)
        w.rows[3 * rolling * n :][: 3 * n] = w.row[m.C :][: 3 * n]
        w.normals[rolling, :3] = w.row[m.normal :][:3]
        w.held[rolling] = 3
        difference = 0.0
        for j in range(3):
            shift = w.normals[rolling, j] - w.normals[0, j]
            difference += shift * shift
        is_plane = is_plane and difference < PARALLEL_NORMALS * PARALLEL_NORMALS
        rolling += 1
    if rolling < 2:
        return Rank.INDEPENDENT

    call(m.call, s.x, m.table, s.out, 1)
    for i in range(n):
        w.mass_factor[i, :n] = s.out[m.M + i * n :][:n]
    if not factor_cholesky(w.mass_factor, n):
        # A singular mass matrix has no metric; event location reports it.
        return Rank.INDEPENDENT
    rows = write_unit_rows(w, 3 * rolling, n)
    bound = NEARLY_REDUNDANT_SINGULAR_VALUE
    for i in range(rows):
        for j in range(rows):
            w.gram[i, j] = dot(w.units[i], w.units[j], n)
            w.shifted[i, j] = w.gram[i, j]
        w.shifted[i, i] -= bound * bound
    if factor_cholesky(w.shifted, rows):
        return Rank.INDEPENDENT
    if is_plane:
        redundant = mark_redundant_rows(w.rows, w.held, rolling, n, w.marks)
        return Rank.REDUNDANT if redundant > 0 else Rank.INDEPENDENT
    find_eigenvalues(w.gram, rows)
    is_full = True
    for i in range(rows):
        value = sqrt(max(w.gram[i, i], 0.0))
        is_full = is_full and value > REDUNDANT_SINGULAR_VALUE
        if value > REDUNDANT_SINGULAR_VALUE and value < bound:
            return Rank.OVER_CONSTRAINED
    return Rank.INDEPENDENT if is_full else Rank.REDUNDANT


@routine
def write_unit_rows(w: RankWork, rows: int, n: int) -> int:
    """Scale `rows` constraint rows to unit length and write them to `units`; return their number.

    The metric is the inverse mass matrix. Rows that are zero are left out.
    """
    count = 0
    for i in range(rows):
        unit = w.units[count]
        unit[:n] = w.rows[i * n :][:n]
        divide_lower(w.mass_factor, unit, n)
        length = sqrt(dot(unit, unit, n))
        if length > 0.0:
            unit[:n] /= length
            count += 1
    return count


@routine
def find_eigenvalues(A: Matrix, n: int) -> None:
    """Diagonalise a symmetric matrix A (n, n) in place by Jacobi rotations; A_ii become its eigenvalues."""
    for _ in range(MAX_ROTATION_SWEEPS):
        outside = 0.0
        for i in range(n):
            for j in range(i):
                outside += A[i, j] * A[i, j]
        if outside < DIAGONAL_REMAINDER:
            return
        for p in range(n):
            for q in range(p + 1, n):
                if A[p, q] != 0.0:
                    theta = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
                    sign = 1.0 if theta >= 0.0 else -1.0
                    t = sign / (abs(theta) + sqrt(theta * theta + 1.0))
                    c = 1.0 / sqrt(t * t + 1.0)
                    s = t * c
                    for k in range(n):
                        a = A[k, p]
                        b = A[k, q]
                        A[k, p] = c * a - s * b
                        A[k, q] = s * a + c * b
                    for k in range(n):
                        a = A[p, k]
                        b = A[q, k]
                        A[p, k] = c * a - s * b
                        A[q, k] = s * a + c * b
