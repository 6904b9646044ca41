"""Saddle-point system of the equations of motion with constraint rows.

The solution consists of accelerations and constraint forces within a contact mode, or of the changes of
speeds and the impulses at an impact.

Problem. Find the motion x (n) and the multipliers lam (m) with

    M x = f + G' lam,    C x = c

M is the mass matrix, C contains the constraint rows of the closed contacts, prescribed joints and couplings,
and row i of G is the generalised force of a unit multiplier: the constraint row itself, plus the friction
force if the contact slides, plus the load-dependent force of a tyre. Constraint rows may be redundant (wheels
of one axle, four wheels on a plane).

Method.

1. `factor_mass`: M = L' L from the leaves of the tree to its root, which preserves the zeros of a kinematic
   tree (Featherstone 2008, doi:10.1007/978-1-4899-7560-7, section 6.5). If M is singular (massless bodies),
   M + rho C' C takes its place, and f + rho C' c that of f: on C x = c both systems have the same solution.
2. `scale_rows`: Y = L'^-1 C' and Z = L'^-1 G', of which S = C M^-1 G' = Y' Z, the Schur complement. Columns
   are scaled by the lengths of the rows in the metric of M^-1, so that the rank depends neither on units nor
   on the scale of a row.
3. `factor_symmetric`: without drag and lift S is positive semidefinite, and its upper factor has one row per
   independent constraint: each is computed when it becomes the pivot. `eliminate_rows`: otherwise Gaussian
   elimination with complete pivoting.
4. `add_multipliers`: those of minimum norm if rows are redundant (statically indeterminate forces).
5. `write_motion`: x = M^-1 (f + G' lam), with one step of iterative refinement if the rows are not satisfied.

Within a contact mode the same rows stay independent. After the first solution of a mode with G = C,
`choose_mode_pivots` chooses independent rows and, for each, the speed that it determines, leaf joints first:
a wheel's spin occurs in the rows of that wheel only. `solve_along_pivots` then solves later systems in the
coordinates of the remaining speeds. It accepts its solution only if all other rows are satisfied, too, which
makes the solution exact whichever rows were chosen (`solve_in_mode`).

`solve_reduced` solves the same system by projection on the null space of C, eqs. (3.25)-(3.30) of the
thesis, as an independent check. The Delassus matrix of the contacts is S after the elimination of the
equality rows, which are satisfied whichever contacts are closed (`write_delassus`).
"""

from collections.abc import Callable
from enum import IntEnum
from math import sqrt

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, Matrix, Record, routine
from draisine.codegen.targets.native import make_record, shared_code, workspace
from draisine.simulation.contact.complementarity.linear import (
    add_dot,
    add_product,
    complete_basis,
    divide_lower,
    divide_lower_transposed,
    dot,
    factor_cholesky,
    max_norm,
    project_on_basis,
    solve_by_complete_pivoting,
    solve_least_norm,
    span_columns,
    strided_dot,
)
from draisine.simulation.options import RESOLUTIONS

SINGULAR_MASS = 1e-12
"""Pivot of the mass matrix, over the diagonal entry, below which it is a rounding error.

Such pivots belong to massless bodies.
"""

REDUNDANT_PIVOT = 1e-9
"""Squared distance of a scaled constraint row from the span of the others below which it is redundant.

A row at a smaller distance would turn rounding errors of its target (1e-16) into accelerations of 1e-11 and
more, and the force of this row would be arbitrary.
"""

REFINED_RESIDUAL = 1e-15
"""Residual of a constraint row, relative to the largest scaled force, above which the solution is refined."""
CONSISTENT_RESIDUAL = 1e-13
"""Largest residual of a redundant row, relative to the largest scaled force, that is a rounding error."""

PIVOT_SHARE = 0.1
"""Smallest pivot in a mode, over the largest entry of its row; smaller ones amplify rounding errors."""

WELL_CONDITIONED = 1e-3
"""Remainder of a row after elimination, relative to the row, below which rows are nearly redundant.

Their system is then solved with pivoting in each solution.
"""

PIVOT_LOSS = 0.1
"""Ratio of a pivot to its initial value below which the pivots of a mode are chosen again."""


class SaddleStatus(IntEnum):
    """Status of the solution of a saddle-point system."""

    UNIQUE = 0  # all constraint rows are independent: motion and multipliers are unique
    REDUNDANT = 1  # some constraint rows are redundant; the multipliers have minimum norm
    UNSOLVABLE = 2  # the mass matrix is singular for a motion that the constraints allow


class SaddlePoint(Record):
    """A saddle-point system M x = f + G' lam, C x = c with n speeds, up to m rows, and scratch arrays."""

    n: int  # number of speeds
    rows: int = 0  # number of constraint rows in use
    # whether G equals C: no friction force and no tyre force depends on a load
    symmetric: bool = True
    # whether only the motion is needed, not the multipliers of redundant rows
    motion_only: bool = False
    rank: int = 0  # number of independent rows
    pivots: int = 0  # number of pivots chosen by `choose_mode_pivots`, 0 for none
    # number of rows among which the pivots were chosen; -1: choose them at the next solution, 0: use none
    pivoted_rows: int = 0
    inconsistency: float = 0.0  # largest residual of a redundant row, in the unit of the targets
    M: Matrix  # (n, n) mass matrix
    force: Floats  # (n) generalised force f
    C: Matrix  # (m, n) constraint rows
    G: Matrix  # (m, n) generalised force per unit multiplier
    target: Floats  # (m) right-hand side c of the rows
    x: Floats  # (n) motion: accelerations, or changes of speeds
    multiplier: Floats  # (m) multipliers lam: constraint forces, or impulses
    L: Matrix  # (n, n) lower triangular factor of the mass matrix, M = L' L
    Y: Matrix  # (n, m) L'^-1 C', columns scaled
    Z: Matrix  # (n, m) L'^-1 G', columns scaled
    S: Matrix  # (m, m) scaled Schur complement, then its upper factor
    rest: Floats  # (m) scaled right-hand side of the system with S, eliminated together with S
    scale: Floats  # (m) 1 / length of a row in the metric of M^-1; 1 for rows of zeros
    scaled: Floats  # (m) multipliers / scale
    load: Floats  # (n) L'^-1 f
    row_order: Integers  # (m) rows of S in the order of the pivots
    column_order: Integers  # (m) columns of S in the order of the pivots
    effect: Matrix  # (m, m) column j of the upper factor of S, per unit multiplier, as row j
    gram: Matrix  # (m, m) normal equations of the multipliers of minimum norm
    null: Floats  # (m m) multipliers without effect, as orthonormal columns
    work: Floats  # (10 (n + m)^2) scratch
    order: Integers  # (n + m) pivot order
    pivot_rows: Integers  # (m) rows of the pivots, then redundant rows
    pivot_columns: Integers  # (n) speeds of the pivots, then the other speeds
    pivot_sizes: Floats  # (n) absolute values of the pivots when they were chosen
    rounding: Floats  # (m) residual of a redundant row up to which it is a rounding error


def make_saddle_point(n: int, most: int) -> SaddlePoint:
    """Return an empty saddle-point system of n speeds and up to `most` constraint rows."""
    m = most + 1  # an array without entries has no address
    found: SaddlePoint = make_record(
        SaddlePoint,
        n=n,
        **dict.fromkeys(("M", "L"), (n, n)),
        **dict.fromkeys(("C", "G"), (m, n)),
        **dict.fromkeys(("Y", "Z"), (n, m)),
        **dict.fromkeys(("S", "effect", "gram"), (m, m)),
        **dict.fromkeys(("force", "x", "load"), n),
        **dict.fromkeys(("target", "multiplier", "rest", "scale", "scaled"), m),
        **dict.fromkeys(("row_order", "column_order", "pivot_rows", "rounding"), m),
        **dict.fromkeys(("pivot_columns", "pivot_sizes"), n),
        null=m * m,
        work=10 * (n + m) ** 2,
        order=n + m,
    )
    return found


@routine
def set_row(p: SaddlePoint, i: int, C: Floats, G: Floats, target: float) -> None:
    """Set constraint row i: the row C (n), generalised force G (n) per unit multiplier, and target."""
    p.C[i, : p.n] = C[: p.n]
    p.G[i, : p.n] = G[: p.n]
    p.target[i] = target


@routine
def set_equality_rows(
    p: SaddlePoint, first: int, rows: Floats, targets: Floats, count: int
) -> None:
    """Set `count` equality rows (prescribed joints, couplings) and their targets, from row `first` on."""
    for i in range(count):
        row = rows[i * p.n :]
        set_row(p, first + i, row, row, targets[i])


# --- steps of the solution


@routine
def factor_leaves_first(L: Matrix, diagonal: Floats, n: int) -> bool:
    """Replace the lower triangle of a matrix M (n, n) by the factor L with M = L' L.

    Return False if a pivot is zero relative to the `diagonal` (n) of M: each speed has its own unit and
    scale.
    """
    for k in range(n - 1, -1, -1):
        row = L[k]
        if not row[k] > SINGULAR_MASS * diagonal[k]:
            return False
        row[k] = sqrt(row[k])
        row[:k] /= row[k]
        for i in range(k):
            if row[i] != 0.0:
                L[i, : i + 1] -= row[i] * row[: i + 1]
    return True


@routine
def factor_mass(p: SaddlePoint) -> bool:
    """Compute the factor L of the mass matrix, M = L' L, and write the force f to `load`.

    If M is singular, M + rho C' C and f + rho C' c replace M and f. Return False if no inertia resists a
    motion that the constraint rows allow.
    """
    n = p.n
    p.load[:n] = p.force[:n]
    largest = 0.0
    for i in range(n):
        p.L[i, : i + 1] = p.M[i, : i + 1]
        p.x[i] = p.M[i, i]
        largest = max(largest, p.M[i, i])
    if factor_leaves_first(p.L, p.x, n):
        return True
    for i in range(n):
        p.L[i, : i + 1] = p.M[i, : i + 1]
    for k in range(p.rows):
        row = p.C[k]
        rho = largest / max(dot(row, row, n), 1e-300)
        for i in range(n):
            p.L[i, : i + 1] += rho * row[i] * row[: i + 1]
        p.load[:n] += rho * p.target[k] * row[:n]
    for i in range(n):
        p.x[i] = p.L[i, i]
    return factor_leaves_first(p.L, p.x, n)


@routine
def divide_transposed(p: SaddlePoint, A: Matrix, columns: int) -> None:
    """Replace A (n, columns) by L'^-1 A."""
    for k in range(p.n - 1, -1, -1):
        row = A[k]
        row[:columns] /= p.L[k, k]
        for j in range(k):
            if p.L[k, j] != 0.0:
                A[j, :columns] -= p.L[k, j] * row[:columns]


@routine
def is_symmetric(p: SaddlePoint) -> bool:
    """Return whether G equals C: every multiplier acts along its constraint row."""
    for i in range(p.rows):
        for j in range(p.n):
            if p.G[i, j] != p.C[i, j]:
                return False
    return True


@routine
def scale_columns(p: SaddlePoint) -> None:
    """Compute the scale of each constraint row, 1 / length of its column of Y, and scale Y and Z by it."""
    m = p.rows
    p.scale[:m] = 0.0
    for j in range(p.n):
        p.scale[:m] += p.Y[j, :m] * p.Y[j, :m]
    for i in range(m):
        p.scale[i] = 1.0 / sqrt(p.scale[i]) if p.scale[i] > 0.0 else 1.0
    for j in range(p.n):
        p.Y[j, :m] *= p.scale[:m]
        if not p.symmetric:
            p.Z[j, :m] *= p.scale[:m]
    for i in range(m):
        p.row_order[i] = i
        p.column_order[i] = i


@routine
def add_outer_products(S: Matrix, Y: Matrix, Z: Matrix, m: int, n: int) -> None:
    """Write the product S = Y' Z of two matrices (n, m), skipping zeros.

    There are many zeros: the spin of a wheel has entries in the rows of this wheel only.
    """
    S[:m, :m] = 0.0
    for j in range(n):
        left = Y[j]
        right = Z[j]
        for i in range(m):
            if left[i] != 0.0:
                S[i, :m] += left[i] * right[:m]


@routine
def scale_rows(p: SaddlePoint) -> None:
    """Compute the scaled matrices Y = L'^-1 C' and Z = L'^-1 G', and write L'^-1 f to `load`."""
    n = p.n
    m = p.rows
    p.symmetric = is_symmetric(p)
    for i in range(m):
        p.Y[:n, i] = p.C[i, :n]
    divide_transposed(p, p.Y, m)
    if not p.symmetric:
        for i in range(m):
            p.Z[:n, i] = p.G[i, :n]
        divide_transposed(p, p.Z, m)
    divide_lower_transposed(p.L, p.load, n)
    scale_columns(p)


@routine
def write_right_side(p: SaddlePoint) -> None:
    """Write the scaled right-hand side c - C M^-1 f to `rest`, in the order of the rows of S."""
    m = p.rows
    right = p.scaled
    right[:m] = p.scale[:m] * p.target[:m]
    for j in range(p.n):
        right[:m] -= p.load[j] * p.Y[j, :m]
    for i in range(m):
        p.rest[i] = right[p.row_order[i]]


@routine
def eliminate_right_side(p: SaddlePoint) -> None:
    """Apply the elimination steps of S to the right-hand side `rest`."""
    m = p.rows
    for k in range(p.rank):
        if p.symmetric:
            p.rest[k + 1 : m] -= p.rest[k] / p.S[k, k] * p.S[k, k + 1 : m]
        else:
            p.rest[k + 1 : m] -= p.rest[k] * p.S[k + 1 : m, k]


@routine
def factor_symmetric(p: SaddlePoint) -> None:
    """Compute the upper factor of S = Y' Y with pivoting, the `rank`, and the eliminated right-hand side.

    Only the diagonal of the remaining part of S is updated: row k of the factor is row k of S minus its
    components along the previous rows. Redundant rows of S are never computed.
    """
    m = p.rows
    left = p.scaled  # squared distance of each scaled row from the span of the pivots
    left[:m] = 0.0
    for j in range(p.n):
        left[:m] += p.Y[j, :m] * p.Y[j, :m]
    p.rank = m
    for k in range(m):
        place = k
        for i in range(k + 1, m):
            if left[p.row_order[i]] > left[p.row_order[place]]:
                place = i
        p.row_order[k], p.row_order[place] = p.row_order[place], p.row_order[k]
        pivot = p.row_order[k]
        if not left[pivot] > REDUNDANT_PIVOT:
            p.rank = k
            break
        row = p.S[k]
        row[:m] = 0.0
        for j in range(p.n):
            if p.Y[j, pivot] != 0.0:
                row[:m] += p.Y[j, pivot] * p.Y[j, :m]
        for i in range(k):
            above = p.S[i]
            if above[pivot] != 0.0:
                row[:m] -= above[pivot] / above[p.row_order[i]] * above[:m]
        left[:m] -= row[:m] / row[pivot] * row[:m]
    # The steps that follow read columns in the order of the pivots, too.
    for k in range(p.rank):
        p.effect[0, :m] = p.S[k, :m]
        for j in range(k, m):
            p.S[k, j] = p.effect[0, p.row_order[j]]
    p.column_order[:m] = p.row_order[:m]
    write_right_side(p)
    eliminate_right_side(p)


@routine
def move_schur_pivot(p: SaddlePoint, k: int, among: int) -> float:
    """Move the largest entry of S[k:among, k:among] to position (k, k) by exchanges; return its magnitude."""
    m = p.rows
    S = p.S
    best = 0.0
    pivot_row = k
    pivot_column = k
    for i in range(k, among):
        for j in range(k, among):
            if abs(S[i, j]) > best:
                best = abs(S[i, j])
                pivot_row = i
                pivot_column = j
    if pivot_row != k:
        for j in range(m):
            S[k, j], S[pivot_row, j] = S[pivot_row, j], S[k, j]
        p.rest[k], p.rest[pivot_row] = p.rest[pivot_row], p.rest[k]
        p.row_order[k], p.row_order[pivot_row] = p.row_order[pivot_row], p.row_order[k]
    if pivot_column != k:
        for i in range(m):
            S[i, k], S[i, pivot_column] = S[i, pivot_column], S[i, k]
        p.column_order[k], p.column_order[pivot_column] = (
            p.column_order[pivot_column],
            p.column_order[k],
        )
    return best


@routine
def eliminate_rows(p: SaddlePoint, among: int) -> None:
    """Eliminate the first `among` rows of S = Y' Z with complete pivoting, also in the right-hand side.

    `rank` becomes the number of independent rows among them.
    """
    m = p.rows
    largest = 1.0
    if p.symmetric:
        add_outer_products(p.S, p.Y, p.Y, m, p.n)
    else:
        add_outer_products(p.S, p.Y, p.Z, m, p.n)
    write_right_side(p)
    p.rank = among
    for k in range(among):
        pivot = move_schur_pivot(p, k, among)
        largest = max(largest, pivot)
        if not pivot > REDUNDANT_PIVOT * largest:
            p.rank = k
            break
        top = p.S[k]
        for i in range(k + 1, m):
            row = p.S[i]
            row[k] /= top[k]
            if row[k] != 0.0:
                row[k + 1 : m] -= row[k] * top[k + 1 : m]
                p.rest[i] -= row[k] * p.rest[k]


@routine
def measure_inconsistency(p: SaddlePoint) -> float:
    """Return the largest residual of a redundant row, in the unit of the targets.

    The independent rows are satisfied exactly. A nonzero residual means that targets of redundant rows
    differ.
    """
    largest = 0.0
    for i in range(p.rank, p.rows):
        largest = max(largest, abs(p.rest[i]) / p.scale[p.row_order[i]])
    return largest


@routine
def is_consistent(p: SaddlePoint) -> bool:
    """Return whether redundant rows agree with the independent rows up to rounding errors."""
    size = max_norm(p.load, p.n)
    for i in range(p.rows):
        size = max(size, abs(p.scale[i] * p.target[i]))
    return max_norm(p.rest[p.rank :], p.rows - p.rank) <= CONSISTENT_RESIDUAL * size


@routine
def project_targets(p: SaddlePoint) -> None:
    """Replace the targets by the nearest consistent ones, and update the right-hand side.

    The result does not depend on the order of the rows. Symmetric machines therefore keep their symmetry.
    """
    m = p.rows
    nearest = p.work[m * (p.n + m) :]
    project_on_motions(p, 0, p.target, nearest)
    p.target[:m] = nearest[:m]
    write_right_side(p)
    eliminate_right_side(p)


@routine
def project_on_motions(p: SaddlePoint, first: int, given: Floats, nearest: Floats) -> int:
    """Project right-hand sides `given` onto those for which a motion satisfies all rows from `first` on.

    Write the result to `nearest`; return the number of independent rows among these rows.

    The first (rows - first) (rows - first + n) entries of `work` are scratch; `nearest` may follow them.
    """
    n = p.n
    size = p.rows - first
    rows = p.work[0:]
    U = p.work[size * n :]
    for i in range(size):
        rows[i * n :][:n] = p.C[first + i, :n]
    rank = span_columns(rows, size, n, U, p.work[size * (n + size) :])
    nearest[:size] = 0.0
    for r in range(rank):
        nearest[:size] += dot(U[r * size :], given, size) * U[r * size :][:size]
    return rank


@routine
def substitute_back(p: SaddlePoint) -> None:
    """Compute the scaled multipliers of the independent rows by back substitution.

    On entry `scaled` contains the scaled multipliers of the redundant rows.
    """
    m = p.rows
    for k in range(p.rank - 1, -1, -1):
        total = p.rest[k]
        for j in range(k + 1, m):
            total -= p.S[k, j] * p.scaled[p.column_order[j]]
        p.scaled[p.column_order[k]] = total / p.S[k, k]


@routine
def factor_gram(p: SaddlePoint) -> None:
    """Compute the Cholesky factor `gram` of B B', where B (rank, m) maps multipliers to the right-hand side.

    The columns of B are written to the rows of `effect`.
    """
    m = p.rows
    r = p.rank
    p.gram[:r, :r] = 0.0
    for j in range(m):
        column = p.effect[j]
        column[:r] = 0.0
        for k in range(min(j + 1, r)):
            column[k] = p.S[k, j] / p.scale[p.column_order[j]]
        for i in range(min(j + 1, r)):
            if column[i] != 0.0:
                p.gram[i, : i + 1] += column[i] * column[: i + 1]
    factor_cholesky(p.gram, r)


@routine
def add_minimum_norm(p: SaddlePoint) -> None:
    """Add the multipliers of minimum norm with the effect `rest` to `multiplier`: B' (B B')^-1 rest."""
    r = p.rank
    z = p.work[0:]
    z[:r] = p.rest[:r]
    divide_lower(p.gram, z, r)
    divide_lower_transposed(p.gram, z, r)
    for j in range(p.rows):
        p.multiplier[p.column_order[j]] += dot(p.effect[j], z, r)


@routine
def add_independent_multipliers(p: SaddlePoint) -> None:
    """Add multipliers of independent rows with the effect `rest` to `multiplier`; redundant rows get zero."""
    m = p.rows
    p.scaled[:m] = 0.0
    substitute_back(p)
    p.multiplier[:m] += p.scale[:m] * p.scaled[:m]


@routine
def add_multipliers(p: SaddlePoint) -> None:
    """Add the multipliers with the effect `rest`, of minimum norm if rows are redundant.

    If G equals C and only the motion is needed, redundant rows get zero: the motion does not depend on the
    distribution of the force.
    """
    if p.rank < p.rows and not (p.motion_only and p.symmetric):
        add_minimum_norm(p)
    else:
        add_independent_multipliers(p)


@routine
def write_residual(p: SaddlePoint) -> float:
    """Write the scaled residual c - C x, eliminated like S, to `rest`; return its largest absolute entry."""
    m = p.rows
    largest = 0.0
    for i in range(m):
        k = p.row_order[i]
        p.rest[i] = -p.scale[k] * add_dot(-p.target[k], p.C[k], p.x, p.n)
        largest = max(largest, abs(p.rest[i]))
    eliminate_right_side(p)
    return largest


@routine
def write_motion(p: SaddlePoint) -> None:
    """Compute the motion x = M^-1 (f + G' lam) of the present multipliers."""
    write_response(p, 1.0)


@routine
def write_response(p: SaddlePoint, share: float) -> None:
    """Compute the motion x = M^-1 (share f + G' lam) of the present multipliers."""
    n = p.n
    m = p.rows
    p.x[:n] = 0.0
    for i in range(m):
        p.x[:n] += p.multiplier[i] * p.G[i, :n]
    divide_lower_transposed(p.L, p.x, n)
    p.x[:n] += share * p.load[:n]
    divide_lower(p.L, p.x, n)


@routine
def refine_solution(p: SaddlePoint) -> None:
    """Correct motion and multipliers by one step of iterative refinement; `rest` is the residual.

    Nearly redundant rows have large multipliers that cancel, and x loses as many digits. The
    correction has small multipliers and does not lose these digits.
    """
    n = p.n
    m = p.rows
    motion = p.work[m:]
    multipliers = p.work[m + n :]
    motion[:n] = p.x[:n]
    multipliers[:m] = p.multiplier[:m]
    p.multiplier[:m] = 0.0
    add_multipliers(p)
    write_response(p, 0.0)
    p.x[:n] += motion[:n]
    p.multiplier[:m] += multipliers[:m]


# --- along pivots that are known from an earlier solution


@routine
def largest_entry(row: Floats, weights: Floats, n: int) -> float:
    """Return the largest absolute entry of a row (n) times the weight (n) of this entry."""
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(row[j]) * weights[j])
    return largest


@routine
def choose_mode_pivots(p: SaddlePoint) -> None:
    """Choose pivots for `solve_along_pivots`: independent rows, and the speed that each row determines.

    Entries are compared in the kinetic metric, because speeds have different units. No pivots are chosen if
    rows contradict each other or are nearly redundant. The same holds if most speeds are free, because the
    general solution is then faster.
    """
    n = p.n
    m = p.rows
    A = p.work[: m * n].reshape(m, n)
    weights = p.load
    whole = p.scaled
    left = p.rest
    is_pivot = p.order
    p.pivots = 0
    p.pivoted_rows = m
    size = max_norm(p.load, n)
    for i in range(m):
        size = max(size, abs(p.scale[i] * p.target[i]))
    p.rounding[:m] = CONSISTENT_RESIDUAL * size / p.scale[:m]
    if p.inconsistency > max_norm(p.rounding, m):
        return
    is_pivot[:n] = 0
    for j in range(n):
        weights[j] = 1.0 / sqrt(p.M[j, j]) if p.M[j, j] > 0.0 else 0.0
    for i in range(m):
        A[i, :n] = p.C[i, :n]
        p.pivot_rows[i] = i
        whole[i] = largest_entry(A[i], weights, n)
        left[i] = whole[i]
    count = 0
    before = -1
    # A speed that is no pivot in the first round may become one in the next.
    while count > before:
        before = count
        for j in range(n - 1, -1, -1):
            place = -1
            best = PIVOT_SHARE
            for i in range(count, m):
                k = p.pivot_rows[i]
                share = abs(A[k, j]) * weights[j]
                is_redundant = left[k] <= REDUNDANT_PIVOT * whole[k]
                if is_pivot[j] == 0 and not is_redundant and share > best * left[k]:
                    best = share / left[k]
                    place = i
            if place < 0:
                continue
            p.pivot_rows[count], p.pivot_rows[place] = p.pivot_rows[place], p.pivot_rows[count]
            pivot = p.pivot_rows[count]
            top = A[pivot]
            if left[pivot] < WELL_CONDITIONED * whole[pivot]:
                return
            is_pivot[j] = 1
            p.pivot_columns[count] = j
            p.pivot_sizes[count] = abs(top[j])
            count += 1
            for i in range(count, m):
                row = A[p.pivot_rows[i]]
                if row[j] != 0.0:
                    part = row[j] / top[j]
                    row[:n] -= part * top[:n]
                    row[j] = 0.0
                    left[p.pivot_rows[i]] = largest_entry(row, weights, n)
    if 2 * count < n:
        return
    p.pivots = count
    for j in range(n):
        if is_pivot[j] == 0:
            p.pivot_columns[count] = j
            count += 1


@routine
def solve_along_pivots(p: SaddlePoint) -> bool:
    """Solve a system with G = C by elimination of the chosen rows along their pivots.

    The motion is x = w + H u with C w = c and C H = 0. The multipliers of minimum norm follow from the
    motion. Return False if a pivot became small, or if a row that was not chosen is not satisfied.
    """
    n = p.n
    free = n - p.pivots
    wide = free + 1
    X = p.work[: n * wide].reshape(n, wide)  # columns H, w
    MX = p.work[n * wide : 2 * n * wide].reshape(n, wide)
    if not write_null_space(p, X):
        return False
    for i in range(n):
        MX[i, :wide] = 0.0
        for j in range(n):
            if p.M[i, j] != 0.0:
                MX[i, :wide] += p.M[i, j] * X[j, :wide]
    # H' M H u = H' (f - M w)
    u = p.load
    u[:free] = 0.0
    p.L[:free, :free] = 0.0
    for i in range(n):
        u[:free] += (p.force[i] - MX[i, free]) * X[i, :free]
        for k in range(free):
            if X[i, k] != 0.0:
                p.L[k, : k + 1] += X[i, k] * MX[i, : k + 1]
    for k in range(free):
        p.x[k] = p.L[k, k]
    if not factor_leaves_first(p.L, p.x, free):
        return False
    divide_lower_transposed(p.L, u, free)
    divide_lower(p.L, u, free)
    for i in range(n):
        p.x[i] = add_dot(X[i, free], X[i], u, free)
    p.inconsistency = 0.0
    for i in range(p.pivots, p.rows):
        row = p.pivot_rows[i]
        residual = abs(add_dot(-p.target[row], p.C[row], p.x, n))
        if not residual <= p.rounding[row]:
            return False
        p.inconsistency = max(p.inconsistency, residual)
    p.rank = p.pivots
    return p.motion_only or balance_forces(p)


@routine
def write_null_space(p: SaddlePoint, X: Matrix) -> bool:
    """Write a basis H of the null space of C and a motion w with C w = c as columns of X (n, n - pivots + 1).

    Return False if a pivot became small.
    """
    n = p.n
    r = p.pivots
    wide = n - r + 1
    A = p.work[2 * n * wide : 2 * n * wide + r * n].reshape(r, n)
    right = p.rest
    for k in range(r):
        A[k, :n] = p.C[p.pivot_rows[k], :n]
        right[k] = p.target[p.pivot_rows[k]]
    for k in range(r):
        top = A[k]
        j = p.pivot_columns[k]
        if not abs(top[j]) > PIVOT_LOSS * p.pivot_sizes[k]:
            return False
        for i in range(k + 1, r):
            row = A[i]
            if row[j] != 0.0:
                part = row[j] / top[j]
                row[:n] -= part * top[:n]
                right[i] -= part * right[k]
    for k in range(n - r):
        motion = X[p.pivot_columns[r + k]]
        motion[:wide] = 0.0
        motion[k] = 1.0
    for k in range(r - 1, -1, -1):
        row = A[k]
        motion = X[p.pivot_columns[k]]
        motion[:wide] = 0.0
        motion[n - r] = right[k]
        for i in range(k + 1, n):
            j = p.pivot_columns[i]
            if row[j] != 0.0:
                motion[:wide] -= row[j] * X[j, :wide]
        motion[:wide] /= row[p.pivot_columns[k]]
    return True


@routine
def balance_forces(p: SaddlePoint) -> bool:
    """Compute the multipliers lam of minimum norm with C' lam = M x - f.

    lam = C z, where only the entries of z at the speeds of the pivots are nonzero. Return False if rounding
    errors prevent it.
    """
    n = p.n
    z = p.load
    measure_imbalance(p, z)
    p.L[:n, :n] = 0.0
    for i in range(p.rows):
        row = p.C[i]
        for j in range(n):
            if row[j] != 0.0:
                p.L[j, : j + 1] += row[j] * row[: j + 1]
    for k in range(p.pivots, n):
        free = p.pivot_columns[k]
        p.L[free, :free] = 0.0
        p.L[free:n, free] = 0.0
        p.L[free, free] = 1.0
        z[free] = 0.0
    for j in range(n):
        p.work[j] = p.L[j, j]
    if not factor_leaves_first(p.L, p.work, n):
        return False
    divide_lower_transposed(p.L, z, n)
    divide_lower(p.L, z, n)
    for i in range(p.rows):
        p.multiplier[i] = dot(p.C[i], z, n)
    return True


# --- the whole solution


@routine
def count_zero_rows(p: SaddlePoint) -> int:
    """Return the number of constraint rows whose entries are all zero."""
    number = 0
    for i in range(p.rows):
        number += 0 if max_norm(p.C[i], p.n) > 0.0 else 1
    return number


@routine
def solve_saddle_point(p: SaddlePoint) -> SaddleStatus:
    """Solve for the motion x and the multipliers of all rows; return the status.

    With `motion_only`, redundant rows may have zero multipliers, and the status does not report them.
    """
    if not factor_mass(p):
        return SaddleStatus.UNSOLVABLE
    scale_rows(p)
    if p.symmetric:
        factor_symmetric(p)
    else:
        eliminate_rows(p, p.rows)
    p.inconsistency = measure_inconsistency(p)
    if not is_consistent(p):
        project_targets(p)
    shares = p.rank < p.rows and not (p.motion_only and p.symmetric)
    if shares:
        factor_gram(p)
    p.multiplier[: p.rows] = 0.0
    add_multipliers(p)
    write_motion(p)
    if write_residual(p) > REFINED_RESIDUAL * max_norm(p.load, p.n):
        refine_solution(p)
    if shares and p.rank < p.rows - count_zero_rows(p):
        return SaddleStatus.REDUNDANT
    return SaddleStatus.UNIQUE


@routine
def solve_in_mode(p: SaddlePoint) -> SaddleStatus:
    """Solve one of many similar systems of a contact mode, if possible along pivots of an earlier solution.

    On entry `symmetric` is whether G equals C. Return the status.
    """
    is_same = p.symmetric and p.pivoted_rows == p.rows
    if is_same and p.pivots > 0 and solve_along_pivots(p):
        is_redundant = not p.motion_only and p.rank < p.rows - count_zero_rows(p)
        return SaddleStatus.REDUNDANT if is_redundant else SaddleStatus.UNIQUE
    status = solve_saddle_point(p)
    is_new = p.pivoted_rows != 0 and (p.pivots > 0 or not is_same)
    if p.symmetric and is_new and status is not SaddleStatus.UNSOLVABLE:
        choose_mode_pivots(p)
    return status


@routine
def solve_minimum_norm(p: SaddlePoint) -> None:
    """Solve C x = c for the x = C' lam of minimum norm, the saddle-point system of unit masses without force.

    Targets of redundant rows are replaced by the nearest consistent ones.
    """
    n = p.n
    p.symmetric = True
    p.load[:n] = 0.0
    for i in range(p.rows):
        p.Y[:n, i] = p.C[i, :n]
    scale_columns(p)
    factor_symmetric(p)
    if not is_consistent(p):
        project_targets(p)
    p.x[:n] = 0.0
    add_minimum_norm_motion(p)
    # One step of iterative refinement. The first solution mixes the rounding errors of all constraint rows;
    # those of the row with the largest velocity would destroy the symmetry of a motion.
    write_residual(p)
    add_minimum_norm_motion(p)


@routine
def add_minimum_norm_motion(p: SaddlePoint) -> None:
    """Add the motion C' lam with the effect `rest` on the constraint rows to x."""
    p.multiplier[: p.rows] = 0.0
    add_independent_multipliers(p)
    for i in range(p.rows):
        p.x[: p.n] += p.multiplier[i] * p.C[i, : p.n]


@routine
def find_null_space(p: SaddlePoint) -> int:
    """Compute an orthonormal basis of the multipliers without effect on the motion.

    The basis is written as columns of `null`; return the number of columns.
    """
    m = p.rows
    wide = p.n if p.symmetric else p.rank
    effects = p.work[0:]
    U = p.work[m * wide :]
    rest = p.work[m * (wide + m) :]
    for j in range(m):
        if p.symmetric:
            effects[j * wide :][:wide] = p.C[j, :wide]
        else:
            effects[p.column_order[j] * wide :][:wide] = p.effect[j, :wide]
    rank = span_columns(effects, m, wide, U, rest)
    complete_basis(U, rank, m, p.null, rest)
    return m - rank


@routine
def write_delassus(p: SaddlePoint, held: int, W: Floats, b: Floats) -> bool:
    """Compute the Delassus matrix W and the free motion b of u = W lam + b.

    u = C x - c is the relative motion of all rows after the first `held` rows, which are satisfied exactly.
    Return False if no inertia resists a motion that these rows allow.
    """
    if not factor_mass(p):
        return False
    scale_rows(p)
    eliminate_rows(p, held)
    size = p.rows - held
    for i in range(size):
        row = p.S[held + i]
        b[i] = -p.rest[held + i] / p.scale[held + i]
        for j in range(size):
            W[i * size + j] = row[held + j] / (p.scale[held + i] * p.scale[held + j])
    return True


@routine
def apply_multipliers(p: SaddlePoint, held: int, lam: Floats) -> None:
    """Compute the motion x under multipliers lam of all rows after the first `held` rows.

    Call `write_delassus` first.
    """
    size = p.rows - held
    p.scaled[:held] = 0.0
    p.scaled[held:][:size] = lam[:size] / p.scale[held:][:size]
    substitute_back(p)
    p.multiplier[: p.rows] = p.scale[: p.rows] * p.scaled[: p.rows]
    write_motion(p)


# --- by projection on the null space of the rows


@routine
def solve_reduced(p: SaddlePoint) -> SaddleStatus:
    """Solve M x = f + C' lam, C x = c by projection on the null space H of C; return the status.

    x = w + H u, where C w = c and H' M H u = H' (f - M w): equations (3.25)-(3.30) of Mauny (2018).
    """
    n = p.n
    m = p.rows
    p.symmetric = True
    rest = p.work[0:]
    U = p.work[n:]
    H = p.work[n * (n + 1) :]
    work = p.work[n * (2 * n + 1) :]
    rows = p.work[8 * (n + m) * (n + m) :]
    for i in range(m):
        rows[i * n :][:n] = p.C[i, :n]
    for j in range(n):
        work[j * m :][:m] = p.C[:m, j]
    rank = span_columns(work, n, m, U, work[n * m :])
    complete_basis(U, rank, n, H, work)
    solve_minimum_norm_refined(rows, p.target, p.x, m, n, work, p.order)
    measure_imbalance(p, rest)
    if add_null_space_motion(p, n - rank, H, rest, work) != 0:
        return SaddleStatus.UNSOLVABLE
    measure_imbalance(p, rest)
    work[:rank] = 0.0
    add_product(U, rest, work, rank, n)
    project_on_basis(U, rank, n, rows, 1, n, m, work[rank:])
    solve_minimum_norm_refined(
        work[rank:], work, p.multiplier, rank, m, work[rank * (m + 1) :], p.order
    )
    p.rank = rank
    if rank < m - count_zero_rows(p):
        return SaddleStatus.REDUNDANT
    return SaddleStatus.UNIQUE


@routine
def solve_minimum_norm_refined(
    J: Floats, g: Floats, x: Floats, m: int, n: int, work: Floats, order: Integers
) -> None:
    """Solve J x = g (m equations, n unknowns) for the x of minimum norm, with iterative refinement.

    `work` is scratch of at least m (m + 3) + n entries.
    """
    rest = work[0:]
    step = work[m:]
    x[:n] = 0.0
    for _ in range(2):
        for i in range(m):
            rest[i] = -add_dot(-g[i], J[i * n :], x, n)
        solve_least_norm(J, rest, step, m, n, work[m + n :], order)
        x[:n] += step[:n]


@routine
def measure_imbalance(p: SaddlePoint, rest: Floats) -> None:
    """Write the residual M x - f of the equations of motion without multipliers to `rest` (n)."""
    for i in range(p.n):
        rest[i] = add_dot(-p.force[i], p.M[i], p.x, p.n)


@routine
def add_null_space_motion(p: SaddlePoint, free: int, H: Floats, rest: Floats, work: Floats) -> int:
    """Add the motion H u with H' (M H u + rest) = 0 to x; H (n, free) is a basis of the null space.

    Return the number of redundant equations, which is nonzero if no inertia resists a motion in the null
    space.
    """
    n = p.n
    K = work[0:]
    b = work[free * free :]
    u = work[free * (free + 1) :]
    for r in range(free):
        b[r] = -strided_dot(H[r:], free, rest, 1, n)
        for q in range(free):
            K[r * free + q] = 0.0
            for i in range(n):
                for j in range(n):
                    K[r * free + q] += H[i * free + r] * p.M[i, j] * H[j * free + q]
    redundant = solve_by_complete_pivoting(K, b, u, p.order, free)
    add_product(H, u, p.x, n, free)
    return redundant


def solve_constrained(
    M: Floats, force: Floats, C: Floats, target: Floats, resolution: str = "complete"
) -> tuple[Floats, Floats, int]:
    """Solve M x = force + C' lam, C x = target.

    Parameters
    ----------
    M
        Mass matrix, shape (n, n).
    force
        Generalised force, shape (n,).
    C
        Constraint rows, shape (m, n); they may be redundant.
    target
        Right-hand side of the constraint rows, shape (m,).
    resolution
        "complete", with multipliers as unknowns, or "reduced", by projection on the null space of C.

    Returns
    -------
    x, lam, redundant
        Motion (n,), multipliers of minimum norm (m,), and the number of redundant rows. If no inertia
        resists a motion that the rows allow, x and lam are NaN, and the last result is -1.

    Examples
    --------
    >>> M, weight, C = 2.0 * np.eye(2), np.array([0.0, -19.62]), np.eye(2)[1:]
    >>> x, lam, redundant = solve_constrained(M, weight, C, np.zeros(1))
    >>> (abs(x) + 0.0).tolist(), lam.tolist(), redundant
    ([0.0, 0.0], [19.62], 0)
    """
    n = len(force)
    m = len(target)
    p: SaddlePoint = workspace(make_saddle_point, n, max(m, 1))
    p.rows = m
    p.M[:] = M
    p.force[:] = force
    p.C[:m] = C
    p.G[:m] = C
    p.target[:m] = target
    solver = (solve_saddle_point, solve_reduced)[RESOLUTIONS.index(resolution)]
    if shared_code(solver)(p) is SaddleStatus.UNSOLVABLE:
        return np.full(n, np.nan), np.full(m, np.nan), -1
    return p.x.copy(), p.multiplier[:m].copy(), m - p.rank


def make_contact_response(
    M: Floats, C: Floats, held: Floats
) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Return the Delassus matrix of contacts, and the function from their impulses to the change of speeds.

    Parameters
    ----------
    M
        Mass matrix, shape (n, n).
    C
        Constraint rows of the contacts, shape (m, n).
    held
        Constraint rows whose velocities do not change (prescribed joints, couplings), shape (h, n).

    Returns
    -------
    W, change
        Delassus matrix (m, m), and a function from impulses (m,) to the change of speeds (n,).
    """
    n = len(M)
    m = len(C)
    h = len(held)
    p = make_saddle_point(n, h + m)
    p.rows = h + m
    p.M[:] = M
    p.C[: h + m] = np.vstack([held, C])
    p.G[: h + m] = p.C[: h + m]
    W = np.zeros((m, m))
    if not shared_code(write_delassus)(p, h, W.reshape(-1), np.zeros(m)):
        W[:] = np.nan

    def change(impulses: Floats) -> Floats:
        shared_code(apply_multipliers)(p, h, np.ascontiguousarray(impulses))
        return p.x.copy()

    return W, change
