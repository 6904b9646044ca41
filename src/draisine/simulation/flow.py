"""Continuous motion in one mode on any features: the saddle-point system in compiled code, one
adaptive step at a time with dense output (Dormand and Prince, order 8), and a projection that keeps
closed contacts closed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.simulation.free import Free
from draisine.simulation.integrators.dop853 import A_EXTRA, C_EXTRA, E3, E5, A, C, D
from draisine.simulation.integrators.native import Floats, call, jit

OPEN, SLIDING, ROLLING = 0, 1, 3
"""How many rows a contact of each status holds."""

METHOD = (A, C, E3, E5, D, A_EXTRA, C_EXTRA)


@jit
def solve(K: Floats, b: Floats) -> int:
    """Solve K x = b in place by elimination with row pivoting; return 1 if K is singular."""
    n = len(b)
    largest = np.abs(K).max()
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(K[i, k]) > abs(K[best, k]):
                best = i
        if not abs(K[best, k]) > 1e-13 * largest:
            return 1
        if best != k:
            for j in range(k, n):
                K[k, j], K[best, j] = K[best, j], K[k, j]
            b[k], b[best] = b[best], b[k]
        for i in range(k + 1, n):
            f = K[i, k] / K[k, k]
            if f != 0.0:
                for j in range(k + 1, n):
                    K[i, j] -= f * K[k, j]
                b[i] -= f * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= K[k, j] * b[j]
        b[k] /= K[k, k]
    return 0


@jit
def meet(
    x: Floats, calls: Floats, tables: Floats, starts: Floats, features: Floats, seen: Floats
) -> None:
    """Write what the programs of the given contacts tell of the state in x; `seen` has one row
    each.
    """
    for k in range(len(calls)):
        x[len(x) - features.shape[1] :] = features[k]
        table = tables[starts[k] :]
        call(calls[k], x.ctypes.data, table.ctypes.data, seen[k].ctypes.data)


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
    call(motion, x.ctypes.data, table.ctypes.data, out.ctypes.data)
    meet(x, calls, tables, starts, features, seen)
    m = len(driven)
    for k in range(len(calls)):
        m += status[k]
    K, b = np.zeros((n + m, n + m)), np.empty(n + m)
    M = out[pose : pose + n * n].reshape(n, n)
    K[:n, :n] = M
    b[:n] = -out[pose + n * n : pose + n * n + n]
    v = x[1 + pose : 1 + pose + n]
    at = n
    for k in range(len(calls)):
        for i in range(status[k]):
            for j in range(n):
                row = seen[k, i * n + j]
                K[at + i, j] = row
                K[j, at + i] = -row
            b[at + i] = seen[k, 3 * n + i]
        if status[k] == 1 and mu[k] > 0.0:
            s1, s2 = 0.0, 0.0
            for j in range(n):
                s1 += seen[k, n + j] * v[j]
                s2 += seen[k, 2 * n + j] * v[j]
            size = np.sqrt(s1 * s1 + s2 * s2)
            if size > 0.0:
                for j in range(n):
                    drag = (s1 * seen[k, n + j] + s2 * seen[k, 2 * n + j]) / size
                    K[j, at] += mu[k] * drag
        at += status[k]
    for i in range(len(driven)):
        K[at + i, driven[i]] = 1.0
        K[driven[i], at + i] = -1.0
        b[at + i] = out[pose + n * n + n + nz + i]
    kept, right = K.copy(), b.copy()
    if solve(K, b) != 0:
        b = np.linalg.lstsq(kept, right, 1e-11)[0]
        if np.abs(kept @ b - right).max() > 1e-6 * (1.0 + np.abs(right).max()):
            return 1
    ydot[:pose] = out[:pose]
    ydot[pose : pose + n] = b[:n]
    ydot[pose + n :] = out[pose + n * n + n : pose + n * n + n + nz]
    at = n
    for k in range(len(calls)):
        lam[k, :] = 0.0
        for i in range(status[k]):
            lam[k, i] = b[at + i]
        if status[k] == 1 and mu[k] > 0.0:
            s1, s2 = 0.0, 0.0
            for j in range(n):
                s1 += seen[k, n + j] * v[j]
                s2 += seen[k, 2 * n + j] * v[j]
            size = np.sqrt(s1 * s1 + s2 * s2)
            if size > 0.0:
                lam[k, 1] = -mu[k] * b[at] * s1 / size
                lam[k, 2] = -mu[k] * b[at] * s2 / size
        at += status[k]
    return 0


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
    """Bring the state in x to closed gaps and zero contact velocities by one least step each, eq.
    [projection]; the quaternion to unit length.
    """
    pose, n = sizes[0], sizes[1]
    if base == 1:
        size = 0.0
        for k in range(4):
            size += x[1 + k] * x[1 + k]
        x[1:5] /= np.sqrt(size)
    closed, m = 0, 0
    for k in range(len(calls)):
        if status[k] > 0:
            closed += 1
            m += status[k]
    if closed == 0:
        return
    meet(x, calls, tables, starts, features, seen)
    v = x[1 + pose : 1 + pose + n].copy()
    J, g = np.zeros((closed, n)), np.zeros(closed)
    at = 0
    for k in range(len(calls)):
        if status[k] > 0:
            J[at] = seen[k, :n]
            g[at] = seen[k, 3 * n + 3] / seen[k, 3 * n + 4]
            at += 1
    x[1 + pose : 1 + pose + n] = -_least(J, g)
    out = np.empty(out_size)
    call(motion, x.ctypes.data, table.ctypes.data, out.ctypes.data)
    for k in range(pose):
        x[1 + k] += out[k]
    x[1 + pose : 1 + pose + n] = v
    meet(x, calls, tables, starts, features, seen)
    Cv, rows = np.zeros(m), np.zeros((m, n))
    at = 0
    for k in range(len(calls)):
        for i in range(status[k]):
            rows[at] = seen[k, i * n : (i + 1) * n]
            Cv[at] = np.dot(rows[at], v)
            at += 1
    x[1 + pose : 1 + pose + n] = v - _least(rows, Cv)


@jit
def _least(J: Floats, g: Floats) -> Floats:
    """Return the least x with J x = g."""
    G = J @ J.T
    for k in range(len(g)):
        G[k, k] *= 1.0 + 1e-14
    kept, right = G.copy(), g.copy()
    if solve(G, right) != 0:
        right = np.linalg.lstsq(kept, g, 1e-11)[0]
    return J.T @ right


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
        x[0] = min(t + C[s] * h, last)
        x[1 : 1 + n] = new
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
    x[1 : 1 + n] = y
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
    x: Floats,
    calls: Floats,
    tables: Floats,
    starts: Floats,
    features: Floats,
    seen: Floats,
) -> None:
    """Write what contacts look like at parts of a step; `seen` has the axes part, contact, entry."""
    n = len(y)
    for i in range(len(parts)):
        x[0] = min(t + parts[i] * h, last)
        dense(F, y, parts[i], x[1 : 1 + n])
        meet(x, calls, tables, starts, features, seen[i])


@jit
def forces(
    t: float,
    h: float,
    last: float,
    y: Floats,
    F: Floats,
    parts: Floats,
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
    """Write the contact forces and what the contacts look like at parts of a step."""
    n = len(y)
    for i in range(len(parts)):
        x[0] = min(t + parts[i] * h, last)
        dense(F, y, parts[i], x[1 : 1 + n])
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
    def arguments(self) -> tuple[Any, ...]:
        """The fields in order."""
        return (self.calls, self.tables, self.starts, self.features)


def bundle(free: Free, contacts: list[tuple[int, str, Floats]]) -> Bundle:
    """Return contacts, given as (wheel, kind, numbers), for compiled code."""
    made = [free.meetings[wheel, kind] for wheel, kind, _ in contacts]
    sizes = [len(m.table) for m in made]
    starts = np.cumsum([0, *sizes])[: len(made)].astype(np.int64)
    return Bundle(
        np.array([m.native.call for m in made], dtype=np.int64),
        np.concatenate([*(m.table for m in made), np.zeros(1)]),
        starts,
        np.array([f for *_, f in contacts], dtype=float).reshape(len(contacts), 6),
    )
