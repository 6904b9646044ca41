"""Continuous motion in one mode on any features, as routines: the saddle-point system, one adaptive
step at a time with dense output (Dormand and Prince, order 8), and a projection that keeps closed
contacts closed.
"""

from collections.abc import Sequence
from functools import cache
from math import sqrt
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Address, Integers, call, routine
from draisine.codegen.targets.native import routine_code
from draisine.mechanics.base import turns_freely
from draisine.simulation.contact.linear import least, share, solve
from draisine.simulation.integrators.dop853 import (
    DENSE,
    NODES,
    STAGES,
    WIDTH,
    Stages,
    dense,
    error_norm,
    grow,
    interpolate,
    shrink,
    weigh,
)
from draisine.system.contact_programs import FEATURE
from draisine.system.generic import Generic


class Bundle(NamedTuple):
    """Contacts (wheel, feature numbers): addresses of their programs, tables one after the other and
    where each begins, features row by row, and where in x a feature's numbers begin.
    """

    size: int
    calls: Integers
    tables: Floats
    starts: Integers
    features: Floats
    x_f: int


class Dynamics(NamedTuple):
    """A free machine: its program and how much that tells, its speeds and the law's states, whether
    its quaternion is kept to unit length, and where things begin: in x the pose and the speeds, in y
    the speeds and the law's states, in what the program tells (flow, M, F, zdot, held), in the row
    of a contact (C, c, gap, stretch, b), which is `row` long.
    """

    call: Address
    table: Floats
    told: int
    speeds: int
    states: int
    turns: int
    x_q: int
    x_v: int
    y_v: int
    y_z: int
    flow: int
    M: int
    F: int
    zdot: int
    held: int
    held_c: int
    held_b: int
    held_gap: int
    C: int
    c: int
    gap: int
    stretch: int
    b: int
    row: int


class Saddle(NamedTuple):
    """A mode on features: the free machine, how many rows hold whatever touches, closed contacts with
    their rows and friction, the input x of all programs, and room to work.
    """

    motion: Dynamics
    contacts: Bundle
    status: Integers
    mu: Floats
    holds: int
    x: Floats
    out: Floats
    lam: Floats
    seen: Floats
    work: Floats
    order: Integers


@routine
def meet(motion: Dynamics, x: Floats, contacts: Bundle, seen: Floats) -> None:
    """Write what the programs of contacts tell of the state in x, one row each."""
    for k in range(contacts.size):
        for j in range(FEATURE):
            x[contacts.x_f + j] = contacts.features[k * FEATURE + j]
        table = contacts.tables[contacts.starts[k] :]
        call(Address(contacts.calls[k]), x, table, seen[k * motion.row :], 1)


@routine
def slip(x: Floats, row: Floats, motion: Dynamics, axis: int) -> float:
    """Return how fast a contact slips along its axis 1 (along) or 2 (across)."""
    n = motion.speeds
    speed = -row[motion.b + axis]
    for j in range(n):
        speed += row[motion.C + axis * n + j] * x[motion.x_v + j]
    return speed


@routine
def assemble(s: Saddle, seen: Floats, K: Floats, b: Floats, size: int) -> None:
    """Write the saddle-point system K (vdot, lam) = b, eq. [saddle-point]."""
    m, n, out = s.motion, s.motion.speeds, s.out
    for i in range(size * size):
        K[i] = 0.0
    for i in range(n):
        for j in range(n):
            K[i * size + j] = out[m.M + i * n + j]
        b[i] = -out[m.F + i]
    at = n
    for k in range(s.contacts.size):
        row = seen[k * m.row :]
        for i in range(s.status[k]):
            for j in range(n):
                K[(at + i) * size + j] = row[m.C + i * n + j]
                K[j * size + at + i] = -row[m.C + i * n + j]
            b[at + i] = row[m.c + i]
        if s.status[k] == 1 and s.mu[k] > 0.0:
            s1, s2 = slip(s.x, row, m, 1), slip(s.x, row, m, 2)
            speed = sqrt(s1 * s1 + s2 * s2)
            s1 = s1 / speed if speed > 0.0 else 0.0
            s2 = s2 / speed if speed > 0.0 else 0.0
            for j in range(n):
                push = s1 * row[m.C + n + j] + s2 * row[m.C + 2 * n + j]
                K[j * size + at] += s.mu[k] * push
        at += s.status[k]
    for i in range(s.holds):
        for j in range(n):
            K[(at + i) * size + j] = out[m.held + i * n + j]
            K[j * size + at + i] = -out[m.held + i * n + j]
        b[at + i] = out[m.held_c + i]


@routine
def rate(s: Saddle, ydot: Floats, lam: Floats, seen: Floats) -> int:
    """Write ydot and the contact forces lam (normal, along, across) for the state in x, eq.
    [saddle-point]; return 1 if the system is singular.

    A sliding contact pushes with mu times its normal force against its slip. Redundant rows are
    solved by the least forces.
    """
    m, n = s.motion, s.motion.speeds
    call(m.call, s.x, m.table, s.out, 1)
    meet(m, s.x, s.contacts, seen)
    size = n + s.holds
    for k in range(s.contacts.size):
        size += s.status[k]
    K, b, answer = s.work[0:], s.work[size * size :], s.work[size * (size + 1) :]
    assemble(s, seen, K, b, size)
    repeating = solve(K, b, answer, s.order, size)
    if repeating < 0:
        return 1
    if repeating > 0:
        push_all(s, K, answer, size, repeating)
    for k in range(m.y_v):
        ydot[k] = s.out[m.flow + k]
    for k in range(n):
        ydot[m.y_v + k] = answer[k]
    for k in range(m.states):
        ydot[m.y_z + k] = s.out[m.zdot + k]
    take_forces(s, seen, answer, lam)
    return 0


@routine
def take_forces(s: Saddle, seen: Floats, answer: Floats, lam: Floats) -> None:
    """Write the forces of all contacts, friction included."""
    m, at = s.motion, s.motion.speeds
    for k in range(s.contacts.size):
        for i in range(3):
            lam[3 * k + i] = answer[at + i] if i < s.status[k] else 0.0
        if s.status[k] == 1 and s.mu[k] > 0.0:
            row = seen[k * m.row :]
            s1, s2 = slip(s.x, row, m, 1), slip(s.x, row, m, 2)
            speed = sqrt(s1 * s1 + s2 * s2)
            s1 = s1 / speed if speed > 0.0 else 0.0
            s2 = s2 / speed if speed > 0.0 else 0.0
            lam[3 * k + 1] = -s.mu[k] * s1 * answer[at]
            lam[3 * k + 2] = -s.mu[k] * s2 * answer[at]
        at += s.status[k]


@routine
def push_all(s: Saddle, K: Floats, answer: Floats, size: int, repeating: int) -> None:
    """Share out the multipliers of repeating rows, whose null vectors `solve` leaves in K."""
    null, normals = s.work[size * (size + 2) :], s.order[size:]
    for c in range(repeating):
        length = 0.0
        for i in range(size):
            entry = K[i * size + size - repeating + c]
            length += entry * entry
        for i in range(size):
            entry = K[i * size + size - repeating + c]
            null[s.order[i] * repeating + c] = entry / sqrt(length)
    at = s.motion.speeds
    for k in range(s.contacts.size):
        normals[k] = at
        at += s.status[k]
    share(answer, size, null, repeating, normals, s.contacts.size)


@routine
def settle(s: Saddle) -> None:
    """Bring the state in x to closed gaps and the ground's velocities by one least step each, eq.
    [projection], with all that joints and couplings hold; the quaternion to unit length.
    """
    m, n, x, seen = s.motion, s.motion.speeds, s.x, s.seen
    if m.turns == 1:
        q = x[m.x_q :]
        size = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        for k in range(4):
            q[k] /= size
    closed, rows = s.holds, s.holds
    for k in range(s.contacts.size):
        closed += 1 if s.status[k] > 0 else 0
        rows += s.status[k]
    if closed == 0:
        return
    step, v, J, g = s.work[0:], s.work[n:], s.work[2 * n :], s.work[(2 + rows) * n :]
    room = s.work[(2 + rows) * n + rows :]
    meet(m, x, s.contacts, seen)
    hold(s, J, g, m.held_gap)
    at = s.holds
    for k in range(s.contacts.size):
        if s.status[k] > 0:
            row = seen[k * m.row :]
            for j in range(n):
                J[at * n + j] = row[m.C + j]
            g[at] = row[m.gap] / row[m.stretch]
            at += 1
    least(J, g, step, closed, n, room, s.order)
    for j in range(n):
        v[j] = x[m.x_v + j]
        x[m.x_v + j] = -step[j]
    call(m.call, x, m.table, s.out, 1)
    for k in range(m.y_v):
        x[m.x_q + k] += s.out[m.flow + k]
    for j in range(n):
        x[m.x_v + j] = v[j]
    meet(m, x, s.contacts, seen)
    hold(s, J, g, m.held_b)
    for i in range(s.holds):
        g[i] = -g[i]
        for j in range(n):
            g[i] += J[i * n + j] * v[j]
    at = s.holds
    for k in range(s.contacts.size):
        row = seen[k * m.row :]
        for i in range(s.status[k]):
            g[at] = -row[m.b + i]
            for j in range(n):
                J[at * n + j] = row[m.C + i * n + j]
                g[at] += J[at * n + j] * v[j]
            at += 1
    least(J, g, step, rows, n, room, s.order)
    for j in range(n):
        x[m.x_v + j] = v[j] - step[j]


@routine
def hold(s: Saddle, J: Floats, g: Floats, told: int) -> None:
    """Write the rows that hold whatever touches, and what the program tells of them from an entry on."""
    m, n = s.motion, s.motion.speeds
    if s.holds > 0:
        call(m.call, s.x, m.table, s.out, 1)
    for i in range(s.holds):
        g[i] = s.out[told + i]
        for j in range(n):
            J[i * n + j] = s.out[m.held + i * n + j]


@routine
def leap(s: Saddle, g: Stages, t: float, h: float, last: float, into: Floats) -> int:
    """Write the state after one step of length h, whatever its error; k holds the rate at its start.
    Return what is wrong.
    """
    for stage in range(1, DENSE):
        weigh(g, stage, h, s.x[1:])
        for k in range(g.n):
            into[k] = s.x[1 + k]
        s.x[0] = min(t + g.method[NODES + stage] * h, last)
        wrong = rate(s, g.k[stage * g.n :], s.lam, s.seen)
        if wrong != 0:
            return wrong
    return 0


@routine
def advance(s: Saddle, g: Stages, clock: Floats, end: float, longest: float) -> int:
    """Take one step that keeps the tolerances, no further than `end`; return what is wrong.

    `clock` holds the time, the length of the step (a proposal first), the last time before the end,
    and gets a proposal for the next. The new state and the polynomial of the dense output are left.
    """
    t, last = clock[0], clock[2]
    s.x[0] = t
    for k in range(g.n):
        s.x[1 + k] = g.y[k]
    if rate(s, g.k, s.lam, s.seen) != 0:
        return 1
    h = min(clock[1], longest)
    error = 2.0
    while not error < 1.0:
        if h < 1e-14 * max(abs(t), 1.0):
            return 3
        if t + 1.01 * h >= end:
            h = end - t
        wrong = leap(s, g, t, h, last, g.new)
        error = error_norm(g, h) if wrong == 0 else 1.0
        if wrong != 0:
            h *= 0.1
        elif not error < 1.0:
            h *= shrink(error)
    for stage in range(DENSE, STAGES):
        weigh(g, stage, h, s.x[1:])
        s.x[0] = min(t + g.method[NODES + stage] * h, last)
        rate(s, g.k[stage * g.n :], s.lam, s.seen)
    interpolate(g, h)
    clock[1], clock[3] = h, h * grow(error)
    return 0


@routine
def survey(
    s: Saddle,
    g: Stages,
    clock: Floats,
    contacts: Bundle,
    parts: Floats,
    count: int,
    states: Floats,
    seen: Floats,
) -> None:
    """Write the states at parts of a step, and what contacts look like there; `seen` has the axes
    part, contact, entry.
    """
    for i in range(count):
        place(s, g, clock, parts[i], states[i * g.n :])
        meet(s.motion, s.x, contacts, seen[i * contacts.size * s.motion.row :])


@routine
def forces(
    s: Saddle,
    g: Stages,
    clock: Floats,
    parts: Floats,
    count: int,
    states: Floats,
    lams: Floats,
    seen: Floats,
) -> None:
    """Write the states, the contact forces and what the contacts look like at parts of a step."""
    size = s.contacts.size
    for i in range(count):
        place(s, g, clock, parts[i], states[i * g.n :])
        rate(s, g.errors, lams[i * 3 * size :], seen[i * size * s.motion.row :])


@routine
def meet_each(
    motion: Dynamics,
    x: Floats,
    times: Floats,
    states: Floats,
    count: int,
    contacts: Bundle,
    seen: Floats,
) -> None:
    """Write what contacts look like at states; `seen` has the axes state, contact, entry."""
    n = motion.y_z + motion.states
    for i in range(count):
        x[0] = times[i]
        for k in range(n):
            x[1 + k] = states[i * n + k]
        meet(motion, x, contacts, seen[i * contacts.size * motion.row :])


@routine
def rate_each(
    s: Saddle,
    times: Floats,
    states: Floats,
    count: int,
    ydots: Floats,
    lams: Floats,
    seen: Floats,
    outs: Floats,
) -> int:
    """Write rates, contact forces, what contacts look like and what the free machine's program tells
    at states; return the first state whose contacts contradict each other, or -1.
    """
    m, n, size = s.motion, s.motion.y_z + s.motion.states, s.contacts.size
    for i in range(count):
        s.x[0] = times[i]
        for k in range(n):
            s.x[1 + k] = states[i * n + k]
        if rate(s, ydots[i * n :], lams[i * 3 * size :], seen[i * size * m.row :]) != 0:
            return i
        for k in range(m.told):
            outs[i * m.told + k] = s.out[k]
    return -1


@routine
def place(s: Saddle, g: Stages, clock: Floats, part: float, state: Floats) -> None:
    """Write the state at a part of a step, also into x."""
    s.x[0] = min(clock[0] + part * clock[1], clock[2])
    dense(g, part, state)
    for k in range(g.n):
        s.x[1 + k] = state[k]


@cache
def kernel_code() -> Any:
    """Return the routines that Python calls, as machine code."""
    entries = (meet, meet_each, rate, rate_each, settle, leap, advance, survey, forces, dense)
    made = routine_code(*entries, width=WIDTH)
    return SimpleNamespace(
        **{entry.__name__: code for entry, code in zip(entries, made, strict=True)}
    )


def dynamics(free: Generic) -> Dynamics:
    """Return a free machine for routines."""
    x, y, out, row = free.inputs, free.layout, free.motion.outputs, free.row
    return Dynamics(
        call=Address(free.motion.address),
        table=free.motion.table,
        told=out.size,
        speeds=free.speeds,
        states=free.memory,
        turns=int(turns_freely(free.system.model)),
        x_q=x.q.start,
        x_v=x.v.start,
        y_v=y.v.start,
        y_z=y.z.start,
        **{name: getattr(out, name).start for name in ("flow", "M", "F", "zdot")},
        **{name: getattr(out, name).start for name in ("held", "held_c", "held_b", "held_gap")},
        **{name: getattr(row, name).start for name in ("C", "c", "gap", "stretch", "b")},
        row=row.size,
    )


def saddle(
    free: Generic,
    motion: Dynamics,
    contacts: Bundle,
    rows: Sequence[int],
    mu: Sequence[float],
    x: Floats,
) -> Saddle:
    """Return a mode for routines: contacts that hold so many rows each, with their friction; x is
    the input that its programs read.
    """
    told = free.motion.outputs
    holds = told.count("held_c")
    size = motion.speeds + sum(rows) + holds
    return Saddle(
        motion,
        contacts,
        np.array(rows, dtype=np.int64),
        np.array([m if np.isfinite(m) else 0.0 for m in mu], dtype=float),
        holds,
        x,
        np.zeros(told.size),
        np.zeros(3 * len(rows)),
        np.zeros(len(rows) * motion.row),
        np.zeros(2 * size * (size + 2)),
        np.zeros(size + len(rows), dtype=np.int64),
    )
