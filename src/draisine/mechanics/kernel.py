"""The kernel of the constraints and particular solutions, by one elimination whose pivots are an
argument.

The rows are `C v = b` (constraints) and `S v = u` (what the independent speeds are). Solving both
together gives `v = H u + particular`, for velocities and, with c and udot, for accelerations; the
transpose gives the multipliers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Array, Floats, Scalar, array, is_zero, sqrt
from draisine.errors import SingularityError

Pivot = tuple[int, int]


def plan(values: NDArray[np.float64], pattern: NDArray[np.bool_], cost: Array) -> list[Pivot]:
    """Return pivots (row, column) for a square matrix known by its nominal values, its pattern and
    the cost of its entries.

    A pivot is at least half as large as what is left of its row and column; among those the
    cheapest entry with the least fill wins. Fewer pivots than rows come back where the matrix is
    singular.
    """
    A = values.copy()
    there = pattern.copy()
    cost = cost.copy()
    rows = set(range(A.shape[0]))
    columns = set(range(A.shape[1]))
    scale = np.abs(A).max(initial=0.0)
    pivots: list[Pivot] = []
    while rows:
        best: tuple[tuple[float, ...], Pivot] | None = None
        for i in sorted(rows):
            for j in sorted(columns):
                if not there[i, j] or abs(A[i, j]) <= 1e-9 * scale:
                    continue
                row_max = max(abs(A[i, k]) for k in columns)
                column_max = max(abs(A[k, j]) for k in rows)
                if abs(A[i, j]) < 0.5 * max(row_max, column_max):
                    continue
                fill = (sum(there[i, k] for k in columns) - 1) * (
                    sum(there[k, j] for k in rows) - 1
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
            if there[k, j]:
                factor = A[k, j] / A[i, j]
                for c in columns:
                    if there[i, c]:
                        A[k, c] -= factor * A[i, c]
                        there[k, c] = True
                        cost[k, c] = max(cost[k, c], cost[i, c], cost[k, j], cost[i, j])
    return pivots


def choose_pivots(A: Array, evaluate: Callable[[list[Scalar]], Array]) -> list[Pivot]:
    """Return pivots for a square matrix of scalars that `evaluate` knows in numbers: numbers are
    cheaper than parameters, these than what moves.
    """

    def cost(x: Scalar) -> float:
        if isinstance(x, (int, float)):
            return 0.0 if abs(x) == 1 else 1.0
        return 1.0 if getattr(x, "fixed", False) else 2.0

    values = evaluate(list(A.ravel()))
    flat = A.ravel()
    pattern = np.array([not is_zero(x) for x in flat], dtype=bool)
    costs = np.array([cost(x) for x in flat])
    return plan(*(x.reshape(A.shape) for x in (values, pattern, costs)))


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """A square matrix taken apart along given pivots: `pivot` values, multipliers below, rows
    above.
    """

    order: list[Pivot]
    pivot: list[Scalar]
    lower: list[list[tuple[int, Scalar]]]
    upper: list[list[tuple[int, Scalar]]]

    def solve(self, b: Sequence[Scalar]) -> Array:
        """Return x with A x = b."""
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
        """Return y with A' y = c."""
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
    """Return the elimination of a square matrix along the pivots, skipping structural zeros."""
    rows = [{j: x for j, x in enumerate(row) if not is_zero(x)} for row in A]
    left = set(range(len(rows)))
    out = Elimination(list(pivots), [], [], [])
    for i, j in pivots:
        left.remove(i)
        pivot = rows[i].pop(j)
        below = []
        for k in sorted(left):
            entry = rows[k].pop(j, None)
            if entry is None or is_zero(entry):
                continue
            factor = entry / pivot
            below.append((k, factor))
            for c, x in rows[i].items():
                value = rows[k].get(c, 0.0) - factor * x
                if is_zero(value):
                    rows[k].pop(c, None)
                else:
                    rows[k][c] = value
        out.pivot.append(pivot)
        out.lower.append(below)
        out.upper.append(sorted(rows[i].items()))
    return out


def kernel_basis(solve: Callable[[list[Scalar]], Array], m: int, n: int) -> Array:
    """Return H over n speeds, eq. [kernel], from the solution of m rows and n - m independent speeds."""
    columns = [solve([0.0] * m + list(e)) for e in np.eye(n - m)]
    return np.column_stack(columns) if columns else np.zeros((n, 0))


def independent_vectors(
    vectors: Floats,
    basis: list[Floats],
    least: float = 1e-9,
    order: Sequence[int] | None = None,
    most: int | None = None,
) -> list[int]:
    """Return which vectors are independent of an orthonormal basis and of each other, tried in an
    order: those that are plainly so come first. The basis grows by them, to `most` vectors if told.
    """
    most = vectors.shape[1] if most is None else most
    sizes = np.linalg.norm(vectors, axis=1)
    there = sizes > 1e-12 * sizes.max(initial=0.0)
    kept = list[int]()
    whole = np.zeros((max(most, len(basis)), vectors.shape[1]))
    whole[: len(basis)] = np.array(basis).reshape(len(basis), vectors.shape[1])
    for threshold in (0.2, least):
        for k in range(len(vectors)) if order is None else order:
            if k in kept or not there[k] or len(basis) >= most:
                continue
            left = vectors[k] / sizes[k]
            known = whole[: len(basis)]
            for _ in range(2):  # once more, for what rounding has left
                left = left - (known @ left) @ known
            size = math.sqrt(left @ left)
            if size > threshold:
                whole[len(basis)] = left / size
                basis.append(whole[len(basis)].copy())
                kept.append(k)
    return sorted(kept)


def _eagerness(pivot: Scalar, others: int, j: int) -> tuple[bool, bool, int, int]:
    """Return what orders pivots: not zero, of parameters alone, few entries, as they come."""
    return is_zero(pivot), not getattr(pivot, "fixed", False), others, j


def solve_symmetric(A: Array, b: Array) -> Array:
    """Return x with A x = b for a symmetric positive definite matrix, by L D L', eq.
    [reduced-dynamics].

    Pivots that depend on parameters alone come first, then those with the fewest entries.
    """
    work = {(i, j): A[max(i, j), min(i, j)] for i in range(len(b)) for j in range(len(b))}
    y: list[Scalar] = list(b)
    left = list(range(len(b)))
    done: list[tuple[int, Scalar, list[tuple[int, Scalar]]]] = []
    while left:
        others = {j: [i for i in left if i != j and not is_zero(work[i, j])] for j in left}
        j = min(left, key=lambda j: _eagerness(work[j, j], len(others[j]), j))
        left.remove(j)
        if is_zero(work[j, j]):
            raise SingularityError(
                "a freedom has no inertia: the reduced mass matrix is singular. Give the bodies that it "
                "moves some mass, or prescribe the joint."
            )
        inverse = 1.0 / work[j, j]
        column = [(i, work[i, j] * inverse) for i in others[j]]
        for at, (i, factor) in enumerate(column):
            y[i] = y[i] - factor * y[j]
            for k, _ in column[at:]:
                work[i, k] = work[k, i] = work[i, k] - factor * work[k, j]
        done.append((j, inverse, column))
    x: list[Scalar] = [0.0] * len(b)
    for j, inverse, column in reversed(done):
        total = y[j] * inverse
        for i, factor in column:
            total = total - factor * x[i]
        x[j] = total
    return array(x)


def share(
    solver: Elimination, lam: Array, C: Array, keep: Sequence[int], compliances: Sequence[Scalar]
) -> Array:
    """Return the multipliers of all rows C, of least norm, from those of the rows that are kept, eq.
    [shared-forces].

    Forces are weighed by compliances. Torques, whose compliance is zero, have no common measure with
    them, and count only where a column of static multipliers has no force.
    """
    N = static_multipliers(solver, C, keep)
    full = np.zeros(len(C), dtype=object)
    full[keep] = lam
    full = array(full)
    torques = np.array([is_zero(c) for c in compliances])
    scale = array([1.0 if is_zero(c) else sqrt(c) for c in compliances])
    weigh = scale[:, None] * N
    for column in weigh.T:
        if not all(is_zero(x) for x in column[~torques]):
            column[torques] = 0.0
    return full - N @ solve_symmetric(weigh.T @ weigh, weigh.T @ (scale * full))


def static_multipliers(solver: Elimination, C: Array, keep: Sequence[int]) -> Array:
    """Return N with `C' N = 0`, multipliers that move nothing (1.18): in each column a row that is
    not kept pushes, and the kept ones hold against it.
    """
    spare = [k for k in range(len(C)) if k not in keep]
    N = np.zeros((len(C), len(spare)), dtype=object)
    for j, k in enumerate(spare):
        N[k, j] = 1.0
        N[keep, j] = solver.solve_transposed(list(-C[k]))[: len(keep)]
    return array(N)
