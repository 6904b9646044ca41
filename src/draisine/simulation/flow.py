"""Continuous motion in one mode on any features: the saddle-point system in compiled code, one
adaptive step at a time with dense output (Dormand and Prince, order 8), and a projection that keeps
closed contacts closed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.meeting import FEATURE, Motion
from draisine.simulation.free import Free
from draisine.simulation.integrators.dop853 import A_EXTRA, C_EXTRA, E3, E5, A, C, D
from draisine.simulation.integrators.native import Floats, call, jit

OPEN, SLIDING, ROLLING = 0, 1, 3
"""How many rows a contact of each status holds."""

METHOD = (A, C, E3, E5, D, A_EXTRA, C_EXTRA)


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
def meet(
    x: Floats, calls: Floats, tables: Floats, starts: Floats, features: Floats, seen: Floats
) -> None:
    """Write what the programs of the given contacts tell of the state in x; `seen` has one row
    each.
    """
    first, step = len(x) - features.shape[1], seen.shape[1]
    for k in range(len(calls)):
        for j in range(features.shape[1]):
            x[first + j] = features[k, j]
        table = tables.ctypes.data + 8 * starts[k]
        call(calls[k], x.ctypes.data, table, seen.ctypes.data + 8 * step * k, 1)


@jit
def rate(
    x: Floats,
    ydot: Floats,
    lam: Floats,
    seen: Floats,
    sizes: Floats,
    motion: int,
    table: Floats,
    out_size: int,
    driven: Floats,
    calls: Floats,
    tables: Floats,
    starts: Floats,
    features: Floats,
    status: Floats,
    mu: Floats,
) -> int:
    """Write ydot and the contact forces lam (normal, along, across) for the state in x, eq.
    [saddle-point]; return 1 if the system is singular.

    A sliding contact pushes with mu times its normal force against its slip. Redundant rows are
    solved by the least forces.
    """
    pose, n, nz = sizes[0], sizes[1], sizes[2]
    out = np.empty(out_size)
    call(motion, x.ctypes.data, table.ctypes.data, out.ctypes.data, 1)
    meet(x, calls, tables, starts, features, seen)
    m = len(driven)
    for k in range(len(calls)):
        m += status[k]
    K, b, answer = np.zeros((n + m, n + m)), np.zeros(n + m), np.zeros(n + m)
    order = np.zeros(n + m, dtype=np.int64)
    for i in range(n):
        for j in range(n):
            K[i, j] = out[pose + i * n + j]
        b[i] = -out[pose + n * n + i]
    at = n
    for k in range(len(calls)):
        for i in range(status[k]):
            for j in range(n):
                K[at + i, j] = seen[k, i * n + j]
                K[j, at + i] = -seen[k, i * n + j]
            b[at + i] = seen[k, 3 * n + i]
        if status[k] == 1 and mu[k] > 0.0:
            s1, s2 = slip(x, seen, k, pose, n)
            for j in range(n):
                K[j, at] += mu[k] * (s1 * seen[k, n + j] + s2 * seen[k, 2 * n + j])
        at += status[k]
    for i in range(len(driven)):
        K[at + i, driven[i]] = 1.0
        K[driven[i], at + i] = -1.0
        b[at + i] = out[pose + n * n + n + nz + i]
    repeating = solve(K, b, answer, order)
    if repeating < 0:
        return 1
    if repeating > 0:
        _push(K, answer, order, repeating, n, status)
    for k in range(pose):
        ydot[k] = out[k]
    for k in range(n):
        ydot[pose + k] = answer[k]
    for k in range(nz):
        ydot[pose + n + k] = out[pose + n * n + n + k]
    at = n
    for k in range(len(calls)):
        for i in range(3):
            lam[k, i] = answer[at + i] if i < status[k] else 0.0
        if status[k] == 1 and mu[k] > 0.0:
            s1, s2 = slip(x, seen, k, pose, n)
            lam[k, 1], lam[k, 2] = -mu[k] * s1 * answer[at], -mu[k] * s2 * answer[at]
        at += status[k]
    return 0


@jit
def _push(K: Floats, answer: Floats, order: Floats, repeating: int, n: int, status: Floats) -> None:
    """Share out the multipliers of repeating rows, whose null vectors `solve` leaves in K."""
    size = len(answer)
    null = np.zeros((size, repeating))
    for c in range(repeating):
        length = 0.0
        for i in range(size):
            length += K[i, size - repeating + c] ** 2
        for i in range(size):
            null[order[i], c] = K[i, size - repeating + c] / np.sqrt(length)
    normals, at = np.zeros(len(status), dtype=np.int64), n
    for k in range(len(status)):
        normals[k] = at
        at += status[k]
    share(answer, null, normals)


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


@jit
def slip(x: Floats, seen: Floats, k: int, pose: int, n: int) -> tuple[float, float]:
    """Return the direction in which contact k slips, (along, across); zero where it does not."""
    s1, s2 = -seen[k, 3 * n + 18], -seen[k, 3 * n + 19]
    for j in range(n):
        s1 += seen[k, n + j] * x[1 + pose + j]
        s2 += seen[k, 2 * n + j] * x[1 + pose + j]
    size = np.sqrt(s1 * s1 + s2 * s2)
    return (s1 / size, s2 / size) if size > 0.0 else (0.0, 0.0)


@jit
def settle(
    x: Floats,
    seen: Floats,
    sizes: Floats,
    motion: int,
    table: Floats,
    out_size: int,
    calls: Floats,
    tables: Floats,
    starts: Floats,
    features: Floats,
    status: Floats,
    base: int,
) -> None:
    """Bring the state in x to closed gaps and the ground's velocities by one least step each, eq.
    [projection]; the quaternion to unit length.
    """
    pose, n = sizes[0], sizes[1]
    if base == 1:
        size = np.sqrt(x[1] * x[1] + x[2] * x[2] + x[3] * x[3] + x[4] * x[4])
        for k in range(4):
            x[1 + k] /= size
    closed, m = 0, 0
    for k in range(len(calls)):
        closed += 1 if status[k] > 0 else 0
        m += status[k]
    if closed == 0:
        return
    meet(x, calls, tables, starts, features, seen)
    J, g = np.zeros((closed, n)), np.zeros(closed)
    step, v, out = np.zeros(n), np.zeros(n), np.empty(out_size)
    at = 0
    for k in range(len(calls)):
        if status[k] > 0:
            for j in range(n):
                J[at, j] = seen[k, j]
            g[at] = seen[k, 3 * n + 3] / seen[k, 3 * n + 4]
            at += 1
    least(J, g, step)
    for j in range(n):
        v[j] = x[1 + pose + j]
        x[1 + pose + j] = -step[j]
    call(motion, x.ctypes.data, table.ctypes.data, out.ctypes.data, 1)
    for k in range(pose):
        x[1 + k] += out[k]
    for j in range(n):
        x[1 + pose + j] = v[j]
    meet(x, calls, tables, starts, features, seen)
    C, speeds = np.zeros((m, n)), np.zeros(m)
    at = 0
    for k in range(len(calls)):
        for i in range(status[k]):
            speeds[at] = -seen[k, 3 * n + 17 + i]
            for j in range(n):
                C[at, j] = seen[k, i * n + j]
                speeds[at] += C[at, j] * v[j]
            at += 1
    least(C, speeds, step)
    for j in range(n):
        x[1 + pose + j] = v[j] - step[j]


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
def leap(
    t: float,
    h: float,
    last: float,
    y: Floats,
    new: Floats,
    K: Floats,
    x: Floats,
    lam: Floats,
    seen: Floats,
    sizes: Floats,
    motion: int,
    table: Floats,
    out_size: int,
    driven: Floats,
    calls: Floats,
    tables: Floats,
    starts: Floats,
    features: Floats,
    status: Floats,
    mu: Floats,
    A: Floats,
    C: Floats,
) -> int:
    """Write the state after one step of length h, whatever its error; K[0] holds the rate at its
    start.
    """
    n = len(y)
    for s in range(1, 13):
        for k in range(n):
            step = 0.0
            for j in range(s):
                step += A[s, j] * K[j, k]
            new[k] = y[k] + h * step
            x[1 + k] = new[k]
        x[0] = min(t + C[s] * h, last)
        wrong = rate(
            x, K[s], lam, seen, sizes, motion, table, out_size, driven, calls, tables, starts,
            features, status, mu,
        )  # fmt: skip
        if wrong:
            return wrong
    return 0


@jit
def advance(
    t: float,
    h: float,
    end: float,
    longest: float,
    y: Floats,
    new: Floats,
    K: Floats,
    F: Floats,
    x: Floats,
    lam: Floats,
    seen: Floats,
    rtol: float,
    atol: float,
    sizes: Floats,
    motion: int,
    table: Floats,
    out_size: int,
    driven: Floats,
    calls: Floats,
    tables: Floats,
    starts: Floats,
    features: Floats,
    status: Floats,
    mu: Floats,
    A: Floats,
    C: Floats,
    E3: Floats,
    E5: Floats,
    D: Floats,
    A_extra: Floats,
    C_extra: Floats,
) -> tuple[int, float, float]:
    """Take one step that keeps the tolerances, no further than `end`; return what is wrong, the
    step's length and a proposal for the next.

    It leaves the new state in `new` and the polynomial of the dense output in F.
    """
    n = len(y)
    last = np.nextafter(end, t)
    x[0] = t
    for k in range(n):
        x[1 + k] = y[k]
    wrong = rate(
        x, K[0], lam, seen, sizes, motion, table, out_size, driven, calls, tables, starts,
        features, status, mu,
    )  # fmt: skip
    if wrong:
        return wrong, 0.0, h
    h = min(h, longest)
    while True:
        if h < 1e-14 * max(abs(t), 1.0):
            return 3, 0.0, h
        if t + 1.01 * h >= end:
            h = end - t
        wrong = leap(
            t, h, last, y, new, K, x, lam, seen, sizes, motion, table, out_size, driven, calls,
            tables, starts, features, status, mu, A, C,
        )  # fmt: skip
        error5, error3 = 0.0, 0.0
        for k in range(n):
            scale = atol + rtol * max(abs(y[k]), abs(new[k]))
            e5, e3 = 0.0, 0.0
            for j in range(13):
                e5 += E5[j] * K[j, k]
                e3 += E3[j] * K[j, k]
            error5 += (e5 / scale) ** 2
            error3 += (e3 / scale) ** 2
        both = error5 + 0.01 * error3
        error = 0.0 if both == 0.0 else h * error5 / np.sqrt(both * n)
        if wrong == 0 and error < 1.0:
            break
        if wrong or not np.isfinite(error):
            h *= 0.1
        else:
            h *= max(0.2, 0.9 * error ** (-1.0 / 8.0))
    for s in range(3):
        for k in range(n):
            step = 0.0
            for j in range(13 + s):
                step += A_extra[s, j] * K[j, k]
            x[1 + k] = y[k] + h * step
        x[0] = min(t + C_extra[s] * h, last)
        rate(
            x, K[13 + s], lam, seen, sizes, motion, table, out_size, driven, calls, tables,
            starts, features, status, mu,
        )  # fmt: skip
    for k in range(n):
        delta = new[k] - y[k]
        F[0, k] = delta
        F[1, k] = h * K[0, k] - delta
        F[2, k] = 2.0 * delta - h * (K[12, k] + K[0, k])
        for i in range(4):
            step = 0.0
            for j in range(16):
                step += D[i, j] * K[j, k]
            F[3 + i, k] = h * step
    factor = 10.0 if error == 0.0 else min(10.0, max(0.2, 0.9 * error ** (-1.0 / 8.0)))
    return 0, h, h * factor


@jit
def dense(F: Floats, y: Floats, z: float, into: Floats) -> None:
    """Write the state at the part z of a step that began with y."""
    for k in range(len(y)):
        value = 0.0
        for i in range(7):
            value += F[6 - i, k]
            value *= z if i % 2 == 0 else 1.0 - z
        into[k] = y[k] + value


@jit
def survey(
    t: float,
    h: float,
    last: float,
    y: Floats,
    F: Floats,
    parts: Floats,
    states: Floats,
    x: Floats,
    calls: Floats,
    tables: Floats,
    starts: Floats,
    features: Floats,
    seen: Floats,
) -> None:
    """Write the states at parts of a step, and what contacts look like there; `seen` has the axes
    part, contact, entry.
    """
    n = len(y)
    for i in range(len(parts)):
        x[0] = min(t + parts[i] * h, last)
        dense(F, y, parts[i], states[i])
        for k in range(n):
            x[1 + k] = states[i, k]
        meet(x, calls, tables, starts, features, seen[i])


@jit
def forces(
    t: float,
    h: float,
    last: float,
    y: Floats,
    F: Floats,
    parts: Floats,
    states: Floats,
    x: Floats,
    ydot: Floats,
    lams: Floats,
    seen: Floats,
    sizes: Floats,
    motion: int,
    table: Floats,
    out_size: int,
    driven: Floats,
    calls: Floats,
    tables: Floats,
    starts: Floats,
    features: Floats,
    status: Floats,
    mu: Floats,
) -> None:
    """Write the states, the contact forces and what the contacts look like at parts of a step."""
    n = len(y)
    for i in range(len(parts)):
        x[0] = min(t + parts[i] * h, last)
        dense(F, y, parts[i], states[i])
        for k in range(n):
            x[1 + k] = states[i, k]
        rate(
            x, ydot, lams[i], seen[i], sizes, motion, table, out_size, driven, calls, tables,
            starts, features, status, mu,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Bundle:
    """Contacts (wheel, feature numbers) as compiled code takes them: addresses, tables, features."""

    calls: Floats
    tables: Floats
    starts: Floats
    features: Floats

    @property
    def arguments(self) -> Any:
        """The fields in order."""
        return (self.calls, self.tables, self.starts, self.features)

    def only(self, k: int) -> "Bundle":
        """Return contact k alone."""
        one = slice(k, k + 1)
        return Bundle(self.calls[one], self.tables, self.starts[one], self.features[one])


def bundle(free: Free, contacts: list[tuple[int, str, Motion | None, Floats, int]]) -> Bundle:
    """Return contacts, given as (wheel, kind, motion, numbers, side), for compiled code."""
    made = [free.meetings[wheel, kind, motion] for wheel, kind, motion, *_ in contacts]
    sizes = [len(m.table) for m in made]
    starts = np.cumsum([0, *sizes])[: len(made)].astype(np.int64)
    return Bundle(
        np.array([m.native.call for m in made], dtype=np.int64),
        np.concatenate([*(m.table for m in made), np.zeros(1)]),
        starts,
        np.array([[*f, side] for *_, f, side in contacts], dtype=float).reshape(-1, FEATURE),
    )
