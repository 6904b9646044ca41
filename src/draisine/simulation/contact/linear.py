"""Small dense systems in compiled code: elimination with full pivoting, solutions of least norm."""

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.contact._numba import jit


@jit
def solve(K: Floats, b: Floats, x: Floats, order: Floats) -> int:
    """Write the x of least norm with K x = b, by elimination with full pivoting in place; return how
    many rows repeat others, or -1 if they contradict each other.
    """
    n = len(b)
    largest, rank = 0.0, n
    for i in range(n):
        order[i] = i
        for j in range(n):
            largest = max(largest, abs(K[i, j]))
    for k in range(n):
        best, row, column = 0.0, k, k
        for i in range(k, n):
            for j in range(k, n):
                if abs(K[i, j]) > best:
                    best, row, column = abs(K[i, j]), i, j
        if not best > 1e-11 * largest:
            rank = k
            break
        for j in range(n):
            K[k, j], K[row, j] = K[row, j], K[k, j]
        b[k], b[row] = b[row], b[k]
        for i in range(n):
            K[i, k], K[i, column] = K[i, column], K[i, k]
        order[k], order[column] = order[column], order[k]
        for i in range(k + 1, n):
            f = K[i, k] / K[k, k]
            if f != 0.0:
                for j in range(k + 1, n):
                    K[i, j] -= f * K[k, j]
                b[i] -= f * b[k]
    for i in range(rank, n):
        if not abs(b[i]) <= 1e-6 * (1.0 + largest):
            return -1
        b[i] = 0.0
    for k in range(rank - 1, -1, -1):
        for c in range(rank, n):
            for j in range(k + 1, rank):
                K[k, c] -= K[k, j] * K[j, c]
            K[k, c] /= K[k, k]
        for j in range(k + 1, rank):
            b[k] -= K[k, j] * b[j]
        b[k] /= K[k, k]
    _shorten(K, b, rank)
    for k in range(n):
        x[order[k]] = b[k]
    return n - rank


@jit
def _shorten(K: Floats, b: Floats, rank: int) -> None:
    """Take from b its part along the null vectors (-K[:rank, c], 1 at c), one after the other made
    orthogonal.
    """
    n = len(b)
    for c in range(rank, n):
        for i in range(rank, n):
            K[i, c] = -1.0 if i == c else 0.0
        for earlier in range(rank, c):
            along, size = 0.0, 0.0
            for i in range(n):
                along += K[i, c] * K[i, earlier]
                size += K[i, earlier] * K[i, earlier]
            for i in range(n):
                K[i, c] -= along / size * K[i, earlier]
        along, size = 0.0, 0.0
        for i in range(n):
            along += K[i, c] * b[i]
            size += K[i, c] * K[i, c]
        for i in range(n):
            b[i] -= along / size * K[i, c]


@jit
def least(J: Floats, g: Floats, x: Floats) -> None:
    """Write the least x with J x = g."""
    m, n = J.shape
    G, right, answer = np.zeros((m, m)), np.zeros(m), np.zeros(m)
    order = np.zeros(m, dtype=np.int64)
    for i in range(m):
        right[i] = g[i]
        for k in range(m):
            for j in range(n):
                G[i, k] += J[i, j] * J[k, j]
    solve(G, right, answer, order)
    for j in range(n):
        x[j] = 0.0
        for i in range(m):
            x[j] += J[i, j] * answer[i]


@jit
def share(lam: Floats, null: Floats, normals: Floats) -> None:
    """Change multipliers along null vectors (columns, orthonormal) until no normal one pulls, or until
    the pulls are the least that can be.

    Contacts that repeat each other, as two of one wheel do along their chord, have forces that are
    not unique; those are taken in which all push.
    """
    size = 0.0
    for i in range(len(lam)):
        size = max(size, abs(lam[i]))
    for _ in range(2000):
        least = 0.0
        for c in range(null.shape[1]):
            along = 0.0
            for i in normals:
                along += null[i, c] * max(0.0, 1e-9 * size - lam[i])
            for i in range(len(lam)):
                lam[i] += along * null[i, c]
            least = max(least, abs(along))
        if least <= 1e-13 * size:
            break
