"""Continuous motion in one mode on any features: the saddle-point system in compiled code, one
adaptive step at a time with dense output (Dormand and Prince, order 8), and a projection that keeps
closed contacts closed.
"""

from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.contact._numba import Tableau, call, dense, error_norm, jit, polynomial
from draisine.simulation.contact.linear import least, share, solve
from draisine.system.contact_programs import FEATURE, ObstacleMotion
from draisine.system.generic import Generic


class Bundle(NamedTuple):
    """Contacts (wheel, feature numbers) as compiled code takes them: addresses, tables, features, and
    where in x a feature's numbers begin.
    """

    calls: Floats
    tables: Floats
    starts: Floats
    features: Floats
    x_f: int

    def only(self, k: int) -> "Bundle":
        """Return contact k alone."""
        one = slice(k, k + 1)
        return self._replace(
            calls=self.calls[one], starts=self.starts[one], features=self.features[one]
        )


class Dynamics(NamedTuple):
    """A free machine as compiled code takes it: its program, its speeds and the law's states, and
    where things begin: in x the pose and the speeds, in y the speeds and the law's states, in what
    the program tells (flow, M, F, zdot, driven), in the row of a contact (C, c, gap, stretch, b).
    """

    call: int
    table: Floats
    out_size: int
    speeds: int
    states: int
    x_q: int
    x_v: int
    y_v: int
    y_z: int
    flow: int
    M: int
    F: int
    zdot: int
    driven: int
    C: int
    c: int
    gap: int
    stretch: int
    b: int


class Closing(NamedTuple):
    """What is held: driven joints, and closed contacts with their rows and friction."""

    driven: Floats
    contacts: Bundle
    status: Floats
    mu: Floats


@jit
def meet(x: Floats, contacts: Bundle, seen: Floats) -> None:
    """Write what the programs of the given contacts tell of the state in x; `seen` has one row
    each.
    """
    first, step = contacts.x_f, seen.shape[1]
    for k in range(len(contacts.calls)):
        for j in range(contacts.features.shape[1]):
            x[first + j] = contacts.features[k, j]
        table = contacts.tables.ctypes.data + 8 * contacts.starts[k]
        call(contacts.calls[k], x.ctypes.data, table, seen.ctypes.data + 8 * step * k, 1)


@jit
def rate(
    x: Floats,
    ydot: Floats,
    lam: Floats,
    seen: Floats,
    motion: Dynamics,
    closing: Closing,
) -> int:
    """Write ydot and the contact forces lam (normal, along, across) for the state in x, eq.
    [saddle-point]; return 1 if the system is singular.

    A sliding contact pushes with mu times its normal force against its slip. Redundant rows are
    solved by the least forces.
    """
    pose, n, nz = motion.y_v, motion.speeds, motion.states
    driven, status, mu = closing.driven, closing.status, closing.mu
    out = np.empty(motion.out_size)
    call(motion.call, x.ctypes.data, motion.table.ctypes.data, out.ctypes.data, 1)
    meet(x, closing.contacts, seen)
    m = len(driven)
    for k in range(len(status)):
        m += status[k]
    K, b, answer = np.zeros((n + m, n + m)), np.zeros(n + m), np.zeros(n + m)
    order = np.zeros(n + m, dtype=np.int64)
    for i in range(n):
        for j in range(n):
            K[i, j] = out[motion.M + i * n + j]
        b[i] = -out[motion.F + i]
    at = n
    for k in range(len(status)):
        for i in range(status[k]):
            for j in range(n):
                K[at + i, j] = seen[k, motion.C + i * n + j]
                K[j, at + i] = -seen[k, motion.C + i * n + j]
            b[at + i] = seen[k, motion.c + i]
        if status[k] == 1 and mu[k] > 0.0:
            s1, s2 = slip(x, seen, k, motion)
            along, across = motion.C + n, motion.C + 2 * n
            for j in range(n):
                K[j, at] += mu[k] * (s1 * seen[k, along + j] + s2 * seen[k, across + j])
        at += status[k]
    for i in range(len(driven)):
        K[at + i, driven[i]] = 1.0
        K[driven[i], at + i] = -1.0
        b[at + i] = out[motion.driven + i]
    repeating = solve(K, b, answer, order)
    if repeating < 0:
        return 1
    if repeating > 0:
        _push(K, answer, order, repeating, n, status)
    for k in range(pose):
        ydot[k] = out[motion.flow + k]
    for k in range(n):
        ydot[pose + k] = answer[k]
    for k in range(nz):
        ydot[motion.y_z + k] = out[motion.zdot + k]
    at = n
    for k in range(len(status)):
        for i in range(3):
            lam[k, i] = answer[at + i] if i < status[k] else 0.0
        if status[k] == 1 and mu[k] > 0.0:
            s1, s2 = slip(x, seen, k, motion)
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
def slip(x: Floats, seen: Floats, k: int, motion: Dynamics) -> tuple[float, float]:
    """Return the direction in which contact k slips, (along, across); zero where it does not."""
    n = motion.speeds
    along, across = motion.C + n, motion.C + 2 * n
    s1, s2 = -seen[k, motion.b + 1], -seen[k, motion.b + 2]
    for j in range(n):
        s1 += seen[k, along + j] * x[motion.x_v + j]
        s2 += seen[k, across + j] * x[motion.x_v + j]
    size = np.sqrt(s1 * s1 + s2 * s2)
    return (s1 / size, s2 / size) if size > 0.0 else (0.0, 0.0)


@jit
def settle(
    x: Floats,
    seen: Floats,
    motion: Dynamics,
    closing: Closing,
    base: int,
) -> None:
    """Bring the state in x to closed gaps and the ground's velocities by one least step each, eq.
    [projection]; the quaternion to unit length.
    """
    pose, n, status = motion.y_v, motion.speeds, closing.status
    q, speed = motion.x_q, motion.x_v
    if base == 1:
        size = np.sqrt(
            x[q] * x[q] + x[q + 1] * x[q + 1] + x[q + 2] * x[q + 2] + x[q + 3] * x[q + 3]
        )
        for k in range(4):
            x[q + k] /= size
    closed, m = 0, 0
    for k in range(len(status)):
        closed += 1 if status[k] > 0 else 0
        m += status[k]
    if closed == 0:
        return
    meet(x, closing.contacts, seen)
    J, g = np.zeros((closed, n)), np.zeros(closed)
    step, v, out = np.zeros(n), np.zeros(n), np.empty(motion.out_size)
    at = 0
    for k in range(len(status)):
        if status[k] > 0:
            for j in range(n):
                J[at, j] = seen[k, motion.C + j]
            g[at] = seen[k, motion.gap] / seen[k, motion.stretch]
            at += 1
    least(J, g, step)
    for j in range(n):
        v[j] = x[speed + j]
        x[speed + j] = -step[j]
    call(motion.call, x.ctypes.data, motion.table.ctypes.data, out.ctypes.data, 1)
    for k in range(pose):
        x[q + k] += out[motion.flow + k]
    for j in range(n):
        x[speed + j] = v[j]
    meet(x, closing.contacts, seen)
    C, speeds = np.zeros((m, n)), np.zeros(m)
    at = 0
    for k in range(len(status)):
        for i in range(status[k]):
            speeds[at] = -seen[k, motion.b + i]
            for j in range(n):
                C[at, j] = seen[k, motion.C + i * n + j]
                speeds[at] += C[at, j] * v[j]
            at += 1
    least(C, speeds, step)
    for j in range(n):
        x[speed + j] = v[j] - step[j]


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
    motion: Dynamics,
    closing: Closing,
    method: Tableau,
) -> int:
    """Write the state after one step of length h, whatever its error; K[0] holds the rate at its
    start.
    """
    n = len(y)
    for s in range(1, 13):
        for k in range(n):
            step = 0.0
            for j in range(s):
                step += method.A[s, j] * K[j, k]
            new[k] = y[k] + h * step
            x[1 + k] = new[k]
        x[0] = min(t + method.C[s] * h, last)
        wrong = rate(x, K[s], lam, seen, motion, closing)
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
    motion: Dynamics,
    closing: Closing,
    method: Tableau,
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
    wrong = rate(x, K[0], lam, seen, motion, closing)
    if wrong:
        return wrong, 0.0, h
    h = min(h, longest)
    while True:
        if h < 1e-14 * max(abs(t), 1.0):
            return 3, 0.0, h
        if t + 1.01 * h >= end:
            h = end - t
        wrong = leap(t, h, last, y, new, K, x, lam, seen, motion, closing, method)
        error = error_norm(y, new, K, h, rtol, atol, method)
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
                step += method.A_extra[s, j] * K[j, k]
            x[1 + k] = y[k] + h * step
        x[0] = min(t + method.C_extra[s] * h, last)
        rate(x, K[13 + s], lam, seen, motion, closing)
    polynomial(y, new, K, h, method, F)
    factor = 10.0 if error == 0.0 else min(10.0, max(0.2, 0.9 * error ** (-1.0 / 8.0)))
    return 0, h, h * factor


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
    contacts: Bundle,
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
        meet(x, contacts, seen[i])


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
    motion: Dynamics,
    closing: Closing,
) -> None:
    """Write the states, the contact forces and what the contacts look like at parts of a step."""
    n = len(y)
    for i in range(len(parts)):
        x[0] = min(t + parts[i] * h, last)
        dense(F, y, parts[i], states[i])
        for k in range(n):
            x[1 + k] = states[i, k]
        rate(x, ydot, lams[i], seen[i], motion, closing)


def dynamics(free: Generic) -> Dynamics:
    """Return a free machine for compiled code."""
    x, y, out, row = free.inputs, free.layout, free.motion.outputs, free.row
    return Dynamics(
        call=free.motion.address,
        table=free.motion.table,
        out_size=out.size,
        speeds=free.speeds,
        states=free.states,
        x_q=x.q.start,
        x_v=x.v.start,
        y_v=y.v.start,
        y_z=y.z.start,
        **{name: getattr(out, name).start for name in ("flow", "M", "F", "zdot", "driven")},
        **{name: getattr(row, name).start for name in ("C", "c", "gap", "stretch", "b")},
    )


def bundle(
    free: Generic, contacts: list[tuple[int, str, ObstacleMotion | None, Floats, int]]
) -> Bundle:
    """Return contacts, given as (wheel, kind, motion, numbers, side), for compiled code."""
    made = [free.meetings[wheel, kind, motion] for wheel, kind, motion, *_ in contacts]
    sizes = [len(m.table) for m in made]
    starts = np.cumsum([0, *sizes])[: len(made)].astype(np.int64)
    return Bundle(
        np.array([m.address for m in made], dtype=np.int64),
        np.concatenate([*(m.table for m in made), np.zeros(1)]),
        starts,
        np.array([[*f, side] for *_, f, side in contacts], dtype=float).reshape(-1, FEATURE),
        free.inputs.f.start,
    )
