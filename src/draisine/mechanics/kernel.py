"""Kernel and particular solutions of the constraint rows, by one elimination with chosen pivots.

The rows are `C v = b` (constraints) and `S v = u` (selection of independent speeds). Solving both together
yields `v = H u + particular`, for velocities and, with c and udot, for accelerations; solving the transposed
system yields the multipliers. Pivots are chosen once, at nominal numbers, and the elimination is then carried
out over any scalar type: on traced expressions it is straight-line code.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Array, Floats, Scalar, array, is_zero, sqrt
from draisine.errors import SingularityError

Pivot = tuple[int, int]
"""Position of a pivot in a matrix: (row, column)."""


def plan(values: NDArray[np.float64], pattern: NDArray[np.bool_], cost: Array) -> list[Pivot]:
    """Choose pivots for the elimination of a square matrix (threshold Markowitz pivoting).

    A pivot has at least half the magnitude of the largest remaining entry of its row and column.
    Among these candidates the one with the least fill-in is chosen, then the one with the lowest
    cost.

    Parameters
    ----------
    values
        (n, n), nominal numbers of the entries.
    pattern
        (n, n), whether an entry is structurally nonzero.
    cost
        (n, n), cost of the expression of an entry.

    Returns
    -------
    list of (row, column)
        In order of elimination; fewer than n if the matrix is numerically singular.
    """
    A = values.copy()
    nonzero = pattern.copy()
    cost = cost.copy()
    rows = set(range(A.shape[0]))
    columns = set(range(A.shape[1]))
    scale = np.abs(A).max(initial=0.0)
    pivots: list[Pivot] = []
    while rows:
        best: tuple[tuple[float, ...], Pivot] | None = None
        for i in sorted(rows):
            for j in sorted(columns):
                # Skip small entries: below 1e-9 of the largest entry they may be rounding errors of
                # a zero.
                if not nonzero[i, j] or abs(A[i, j]) <= 1e-9 * scale:
                    continue
                row_max = max(abs(A[i, k]) for k in columns)
                column_max = max(abs(A[k, j]) for k in rows)
                if abs(A[i, j]) < 0.5 * max(row_max, column_max):
                    continue
                # Markowitz count: an upper bound on the number of zeros that this pivot turns into
                # nonzero entries.
                fill = (sum(nonzero[i, k] for k in columns) - 1) * (
                    sum(nonzero[k, j] for k in rows) - 1
                )
                rank = (float(fill), float(cost[i, j]), -abs(A[i, j]))
                if best is None or rank < best[0]:
                    best = (rank, (i, j))
        if best is None:
            break
        i, j = best[1]
        pivots.append((i, j))
        rows.remove(i)
        columns.remove(j)
        for k in rows:
            if nonzero[k, j]:
                factor = A[k, j] / A[i, j]
                for c in columns:
                    if nonzero[i, c]:
                        A[k, c] -= factor * A[i, c]
                        nonzero[k, c] = True
                        cost[k, c] = max(cost[k, c], cost[i, c], cost[k, j], cost[i, j])
    return pivots


def choose_pivots(A: Array, evaluate: Callable[[list[Scalar]], Array]) -> list[Pivot]:
    """Return pivots for a square matrix of scalars; `evaluate` returns the nominal values of
    entries.

    Numbers cost less as pivots than parameters, and parameters less than functions of the state.
    """

    def rate_pivot(entry: Scalar) -> float:
        """Return the cost of an entry as a pivot: number, parameter, or function of the state."""
        if isinstance(entry, (int, float)):
            return 0.0 if abs(entry) == 1 else 1.0
        return 1.0 if getattr(entry, "fixed", False) else 2.0

    values = evaluate(list(A.ravel()))
    flat = A.ravel()
    pattern = np.array([not is_zero(x) for x in flat], dtype=bool)
    costs = np.array([rate_pivot(x) for x in flat])
    return plan(*(x.reshape(A.shape) for x in (values, pattern, costs)))


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """Sparse LU factors of a square matrix along chosen pivots."""

    order: list[Pivot]  # (row, column) of each pivot
    pivot: list[Scalar]  # values of the pivots
    lower: list[list[tuple[int, Scalar]]]  # (row, multiplier) of the rows below each pivot
    upper: list[list[tuple[int, Scalar]]]  # (column, entry) of the remaining row of each pivot

    def solve(self, b: Sequence[Scalar]) -> Array:
        """Return the solution x (n,) of A x = b for the factorised matrix A."""
        b = list(b)
        x: list[Scalar] = [0.0] * len(b)
        for (i, _), below in zip(self.order, self.lower, strict=True):
            if not is_zero(b[i]):
                for k, factor in below:
                    b[k] = b[k] - factor * b[i]
        for (i, j), pivot, above in zip(
            reversed(self.order), reversed(self.pivot), reversed(self.upper), strict=True
        ):
            total = b[i]
            for k, entry in above:
                if not is_zero(x[k]):
                    total = total - entry * x[k]
            x[j] = total if is_zero(total) else total / pivot
        return array(x)

    def solve_transposed(self, c: Sequence[Scalar]) -> Array:
        """Return the solution y (n,) of A' y = c for the factorised matrix A."""
        c = list(c)
        y: list[Scalar] = [0.0] * len(c)
        for (i, j), pivot, above in zip(self.order, self.pivot, self.upper, strict=True):
            y[i] = c[j] if is_zero(c[j]) else c[j] / pivot
            for k, entry in above:
                c[k] = c[k] - entry * y[i]
        for (i, _), below in zip(reversed(self.order), reversed(self.lower), strict=True):
            for k, factor in below:
                y[i] = y[i] - factor * y[k]
        return array(y)


def eliminate(A: Array, pivots: Sequence[Pivot]) -> Elimination:
    """Factorise a square matrix along given pivots, skipping structural zeros.

    Parameters
    ----------
    A
        (n, n), entries of any scalar type.
    pivots
        (row, column) in order, as `plan` returns them.

    Returns
    -------
    Elimination
        Factors with the methods `solve` and `solve_transposed`.
    """
    rows = [{j: x for j, x in enumerate(row) if not is_zero(x)} for row in A]
    remaining = set(range(len(rows)))
    elimination = Elimination(list(pivots), [], [], [])
    for i, j in pivots:
        remaining.remove(i)
        pivot = rows[i].pop(j)
        below = []
        for k in sorted(remaining):
            entry = rows[k].pop(j, None)
            if entry is None or is_zero(entry):
                continue
            factor = entry / pivot
            below.append((k, factor))
            for c, x in rows[i].items():
                # Store exact cancellations as structural zeros, so that later elimination steps
                # skip them.
                value = rows[k].get(c, 0.0) - factor * x
                if is_zero(value):
                    rows[k].pop(c, None)
                else:
                    rows[k][c] = value
        elimination.pivot.append(pivot)
        elimination.lower.append(below)
        elimination.upper.append(sorted(rows[i].items()))
    return elimination


def kernel_basis(solve: Callable[[list[Scalar]], Array], m: int, n: int) -> Array:
    """Return the kernel basis H (n, n - m) of m constraint rows, eq. [kernel].

    `solve` returns the n speeds for m right-hand sides of the rows, followed by n - m independent speeds.
    """
    columns = [solve([0.0] * m + list(e)) for e in np.eye(n - m)]
    return np.column_stack(columns) if columns else np.zeros((n, 0))


def independent_vectors(
    vectors: Floats,
    basis: list[Floats],
    min_remainder: float = 1e-9,
    order: Sequence[int] | None = None,
    max_size: int | None = None,
) -> list[int]:
    """Return the indices of vectors that are independent of an orthonormal basis and of each other.

    The method is Gram-Schmidt in two passes: the first accepts only clearly independent vectors,
    the second all vectors whose remainder exceeds `min_remainder` of their length. The accepted
    directions are appended to `basis`, up to `max_size` in total. `vectors` is (k, n); `order`
    lists the indices in order of preference.
    """
    max_size = vectors.shape[1] if max_size is None else max_size
    lengths = np.linalg.norm(vectors, axis=1)
    usable = lengths > 1e-12 * lengths.max(initial=0.0)
    accepted = list[int]()
    orthonormal = np.zeros((max(max_size, len(basis)), vectors.shape[1]))
    orthonormal[: len(basis)] = np.array(basis).reshape(len(basis), vectors.shape[1])
    for threshold in (0.2, min_remainder):
        for k in range(len(vectors)) if order is None else order:
            if k in accepted or not usable[k] or len(basis) >= max_size:
                continue
            remainder = vectors[k] / lengths[k]
            span = orthonormal[: len(basis)]
            # Orthogonalise twice: if the remainder is small, a single pass of Gram-Schmidt leaves
            # rounding errors along the basis.
            for _ in range(2):
                remainder = remainder - (span @ remainder) @ span
            length = math.sqrt(remainder @ remainder)
            if length > threshold:
                orthonormal[len(basis)] = remainder / length
                basis.append(orthonormal[len(basis)].copy())
                accepted.append(k)
    return sorted(accepted)


def _pivot_sort_key(pivot: Scalar, entry_count: int, column: int) -> tuple[bool, bool, int, int]:
    """Return the sort key of a diagonal pivot; the least key is eliminated first. Nonzero pivots come first,
    among them those that do not depend on the state, then those with few entries in their column.
    """
    return is_zero(pivot), not getattr(pivot, "fixed", False), entry_count, column


def solve_symmetric(A: Array, b: Array) -> Array:
    """Return the solution x of A x = b for a symmetric positive definite matrix, by L D L'
    factorisation.

    Pivots that depend on parameters alone come first, then those with the fewest entries.
    """
    # Read only the lower triangle of A. Its traced expressions may differ from those of the upper
    # one, which would prevent that the factors share them.
    work = {(i, j): A[max(i, j), min(i, j)] for i in range(len(b)) for j in range(len(b))}
    y: list[Scalar] = list(b)
    remaining = list(range(len(b)))
    steps: list[tuple[int, Scalar, list[tuple[int, Scalar]]]] = []
    while remaining:
        others = {
            j: [i for i in remaining if i != j and not is_zero(work[i, j])] for j in remaining
        }
        j = min(remaining, key=lambda j: _pivot_sort_key(work[j, j], len(others[j]), j))
        remaining.remove(j)
        if is_zero(work[j, j]):
            raise SingularityError(
                "A degree of freedom has no inertia: the reduced mass matrix is singular. Give the bodies "
                "that it moves some mass, or prescribe the joint."
            )
        inverse = 1.0 / work[j, j]
        column = [(i, work[i, j] * inverse) for i in others[j]]
        for first, (i, factor) in enumerate(column):
            y[i] = y[i] - factor * y[j]
            for k, _ in column[first:]:
                work[i, k] = work[k, i] = work[i, k] - factor * work[k, j]
        steps.append((j, inverse, column))
    x: list[Scalar] = [0.0] * len(b)
    for j, inverse, column in reversed(steps):
        value = y[j] * inverse
        for i, factor in column:
            value = value - factor * x[i]
        x[j] = value
    return array(x)


def minimum_norm_multipliers(
    solver: Elimination, lam: Array, C: Array, keep: Sequence[int], compliances: Sequence[Scalar]
) -> Array:
    """Return the minimum-norm multipliers (m,) of all constraint rows C (m, n) from the multipliers of the
    independent rows, eq. [shared-forces].

    `lam` are the multipliers of the independent rows, whose indices are `keep`. The norm contains each force
    times the square root of its compliance. A torque has zero compliance and no common unit with forces: it
    counts only in columns of the static multipliers that contain no force.
    """
    N = static_multipliers(solver, C, keep)
    full = np.zeros(len(C), dtype=object)
    full[keep] = lam
    full = array(full)
    torques = np.array([is_zero(c) for c in compliances])
    scale = array([1.0 if is_zero(c) else sqrt(c) for c in compliances])
    weighted = scale[:, None] * N
    for column in weighted.T:
        if not all(is_zero(x) for x in column[~torques]):
            column[torques] = 0.0
    return full - N @ solve_symmetric(weighted.T @ weighted, weighted.T @ (scale * full))


def static_multipliers(solver: Elimination, C: Array, keep: Sequence[int]) -> Array:
    """Return the self-equilibrated multipliers N with `C' N = 0`, one per redundant constraint row,
    (1.18).

    In each column one redundant constraint row has the multiplier 1, and the rows `keep` balance
    it.
    """
    redundant = [k for k in range(len(C)) if k not in keep]
    N = np.zeros((len(C), len(redundant)), dtype=object)
    for j, k in enumerate(redundant):
        N[k, j] = 1.0
        N[keep, j] = solver.solve_transposed(list(-C[k]))[: len(keep)]
    return array(N)
