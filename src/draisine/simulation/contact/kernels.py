"""A mode on any features, as routines: what contacts look like, the saddle-point system, and a
projection that keeps closed contacts closed.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Address, Integers, call, routine
from draisine.mechanics.base import turns_freely
from draisine.mechanics.contact.features import FEATURE, LOAD, SIDE
from draisine.mechanics.loads import CLOSE, FACTOR, weight
from draisine.simulation.contact.linear import least, share, solve
from draisine.system.compiled import Compiled
from draisine.system.generic import Generic

FIRM = 0.1
"""How small a pivot of a closed form may be, against its size in the drawing; else the dense system
takes over: a tenth costs one digit.
"""

ROUNDS, SAME = 60, 1e-12
"""How often the loads of tyres whose forces do not grow evenly with them are followed, and by which part
they may still change then.
"""

LEAST = 1e-3
"""The least load about which a tyre is taken, N."""

ENDLESS = 1e300
"""How far inside its feature a contact is that has no borders."""


class Bundle(NamedTuple):
    """Contacts (wheel, feature numbers): addresses of their programs, tables one after the other and
    where each begins, features row by row, and where in x a feature's numbers begin; the borders of
    all features one after the other and where each feature's begin; which features are faces, how
    deep a wheel may be in them, how far from its centre it touches at most, and the radius that bends
    the gap to an edge or a vertex; the number of the wheel, and low and high corner of the box around
    each feature.
    """

    size: int
    calls: Integers
    tables: Floats
    starts: Integers
    features: Floats
    x_f: int
    borders: Floats
    first: Integers
    faces: Integers
    reach: Floats
    radius: Floats
    bend: Floats
    wheels: Integers
    low: Floats
    high: Floats


class Dynamics(NamedTuple):
    """A free machine: its program and how much that tells, its speeds and the law's states, whether
    its quaternion is kept to unit length, and where things begin: in x the pose and the speeds, in y
    the speeds and the law's states, in what the program tells (flow, M, F, zdot, held), in the row
    of a contact (C, c, gap, stretch, b, its point and normal in the world and on the feature, the
    wheel's centre, the fold, what elements there do), which is `row` long; whether elements act at
    contacts, how many states of theirs the rows tell the rates of, and a wheel's share of the weight.
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
    point: int
    normal: int
    centre: int
    local_point: int
    local_normal: int
    fold: int
    armed: int
    push: int
    lift: int
    forces: int
    lifted: int
    rates: int
    uneven: int
    row: int
    acted: int
    remembered: int
    share: float


_ROW = ("C", "c", "gap", "stretch", "b", "point", "normal", "centre") + (
    "local_point", "local_normal", "fold", "armed", "push", "lift", "forces", "lifted", "rates", "uneven",
)  # fmt: skip


class Saddle(NamedTuple):
    """A mode on features: the free machine, how many rows hold whatever touches, closed contacts with
    their rows and friction, the input x of all programs, and room to work; the mode's closed form,
    if it has one, what that tells, how many pivots it has, and the numbers of the features and of
    friction that it reads behind all else in x.
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
    mode: Address
    mode_table: Floats
    mode_out: Floats
    pivots: int
    given: Floats
    givens: int
    x_given: int


@routine
def meet(motion: Dynamics, x: Floats, contacts: Bundle, seen: Floats) -> None:
    """Write what the programs of contacts tell of the state in x, one row each."""
    for k in range(contacts.size):
        meet_one(x, contacts, k, seen[k * motion.row :])


@routine
def meet_some(
    motion: Dynamics, x: Floats, contacts: Bundle, which: Integers, count: int, seen: Floats
) -> None:
    """Write what the programs of some of the contacts tell of the state in x, one row each."""
    for i in range(count):
        meet_one(x, contacts, which[i], seen[i * motion.row :])


@routine
def meet_one(x: Floats, contacts: Bundle, k: int, row: Floats) -> None:
    """Write what the program of one of the contacts tells of the state in x."""
    for j in range(FEATURE):
        x[contacts.x_f + j] = contacts.features[k * FEATURE + j]
    table = contacts.tables[contacts.starts[k] :]
    call(Address(contacts.calls[k]), x, table, row, 1)


@routine
def excess(m: Dynamics, contacts: Bundle, k: int, row: Floats) -> float:
    """Return by how much a contact is beyond its borders (at most zero: it is valid), in what it
    looks like: those of the terrain, and where an edge begins or ceases to have two points next to a
    torus, eq. [edge-fold].
    """
    most = fold_excess(m, contacts, k, row)
    for i in range(contacts.first[k], contacts.first[k + 1]):
        most = max(most, border_excess(m, contacts, i, row))
    return most


@routine
def excess_each(m: Dynamics, contacts: Bundle, seen: Floats, count: int, out: Floats) -> None:
    """Write by how much contacts are beyond their borders at states; `seen` has the axes state,
    contact, entry.
    """
    for i in range(count * contacts.size):
        out[i] = excess(m, contacts, i % contacts.size, seen[i * m.row :])


@routine
def border_excess(m: Dynamics, contacts: Bundle, i: int, row: Floats) -> float:
    """Return by how much a contact is beyond one of the borders."""
    b, C, N = contacts.borders[7 * i :], row[m.local_point :], row[m.local_normal :]
    beyond = -b[6]
    for j in range(3):
        beyond += C[j] * b[j] + N[j] * b[3 + j]
    return beyond


@routine
def fold_excess(m: Dynamics, contacts: Bundle, k: int, row: Floats) -> float:
    """Return by how much a contact of a torus with an edge is beyond where there are two, or one."""
    f0, f1, f2 = row[m.fold], row[m.fold + 1], row[m.fold + 2]
    if f0 == 0.0 and f1 == 0.0 and f2 == 0.0:
        return -ENDLESS
    third = 1.0 / 3.0
    lone = ((f0 * f0) ** third + (f1 * f1) ** third) ** 1.5 - f2
    return lone if contacts.features[k * FEATURE + SIDE] != 0.0 else -lone


@routine
def is_above(m: Dynamics, contacts: Bundle, k: int, row: Floats) -> int:
    """Return 1 where a wheel's centre is on the outer side of a face; edges count always. What is not
    armed counts as below: it passes through.
    """
    if not row[m.armed] > 0.0:
        return 0
    height = row[m.gap]
    for j in range(3):
        height += row[m.normal + j] * (row[m.centre + j] - row[m.point + j])
    return 1 if contacts.faces[k] == 0 or height > 0.0 else 0


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
        if m.acted > 0:
            for j in range(n):
                b[j] += row[m.push + j]
                if s.status[k] > 0:
                    K[j * size + at] -= row[m.lift + j]
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
    solved by the least forces. Tyres whose forces do not grow evenly with their loads are taken about
    loads that follow what comes out, Newton's method.
    """
    m, n = s.motion, s.motion.speeds
    call(m.call, s.x, m.table, s.out, 1)
    size, rounds, change = n + s.holds, 0, 1.0
    for k in range(s.contacts.size):
        size += s.status[k]
        s.contacts.features[k * FEATURE + LOAD] = m.share
    K, b, answer = s.work[0:], s.work[size * size :], s.work[size * (size + 1) :]
    while change > SAME and rounds < ROUNDS:
        meet(m, s.x, s.contacts, seen)
        assemble(s, seen, K, b, size)
        repeating = solve(K, b, answer, s.order, size)
        if repeating < 0:
            return 1
        if repeating > 0:
            push_all(s, K, answer, size, repeating)
        change = follow_loads(s, seen, answer)
        rounds += 1
    if change > CLOSE:
        return 1
    for k in range(m.y_v):
        ydot[k] = s.out[m.flow + k]
    for k in range(n):
        ydot[m.y_v + k] = answer[k]
    for k in range(m.states):
        ydot[m.y_z + k] = s.out[m.zdot + k]
    for k in range(s.contacts.size):
        for i in range(m.remembered):
            ydot[m.y_z + i] += seen[k * m.row + m.rates + i]
    take_forces(s, seen, answer, lam)
    return 0


@routine
def follow_loads(s: Saddle, seen: Floats, answer: Floats) -> float:
    """Put the loads that came out in place of those about which uneven tyres were taken; return the
    largest part by which one changes.
    """
    m, at, most = s.motion, s.motion.speeds, 0.0
    for k in range(s.contacts.size):
        if m.acted > 0 and s.status[k] > 0 and seen[k * m.row + m.uneven] > 0.0:
            old = s.contacts.features[k * FEATURE + LOAD]
            new = next_load(old, answer[at])
            most = max(most, abs(new - old) / (1.0 + old))
            s.contacts.features[k * FEATURE + LOAD] = new
        at += s.status[k]
    return most


@routine
def next_load(old: float, found: float) -> float:
    """Return a load nearer to one that was found: never below the least one, and changed by
    a factor at most, or by one newton.
    """
    return max(min(found, FACTOR * old + 1.0), max(old / FACTOR - 1.0, LEAST))


@routine
def flow(s: Saddle, ydot: Floats, lam: Floats) -> int:
    """Write ydot and the contact forces as `rate` does, in closed form where the mode has one whose
    pivots are firm here; return 1 if the system is singular.
    """
    if s.mode == 0:
        return rate(s, ydot, lam, s.seen)
    n, forces = s.motion.y_z + s.motion.states, 3 * s.contacts.size
    for i in range(s.givens):
        s.x[s.x_given + i] = s.given[i]
    call(s.mode, s.x, s.mode_table, s.mode_out, 1)
    wrong = 0.0
    for i in range(n + forces):
        wrong += 0.0 * s.mode_out[i]
    for i in range(s.pivots):
        wrong += 0.0 if abs(s.mode_out[n + forces + i]) > FIRM else 1.0
    if wrong != 0.0:
        return rate(s, ydot, lam, s.seen)
    for i in range(n):
        ydot[i] = s.mode_out[i]
    for i in range(forces):
        lam[i] = s.mode_out[n + i]
    return 0


@routine
def take_forces(s: Saddle, seen: Floats, answer: Floats, lam: Floats) -> None:
    """Write the forces of all contacts, friction and what elements do included."""
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
        if m.acted > 0:
            load = answer[at] if s.status[k] > 0 else 0.0
            for i in range(3):
                here = k * m.row + i
                lam[3 * k + i] += seen[here + m.forces] + seen[here + m.lifted] * load
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
    share(answer, size, null, repeating, normals, s.status, s.mu, s.contacts.size)


@routine
def settle(s: Saddle) -> None:
    """Bring the state in x to closed gaps and the ground's velocities by one least step each, eq.
    [projection], with all that joints and couplings hold; the quaternion to unit length.
    """
    if s.motion.turns == 1:
        q = s.x[s.motion.x_q :]
        size = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        for k in range(4):
            q[k] /= size
    closed, rows = s.holds, s.holds
    for k in range(s.contacts.size):
        closed += 1 if s.status[k] > 0 else 0
        rows += s.status[k]
    if closed > 0:
        settle_gaps(s, closed, rows)
        settle_speeds(s, rows)


@routine
def settle_gaps(s: Saddle, closed: int, rows: int) -> None:
    """Take the least step in the configuration that closes the gaps of closed contacts, and what
    holds.
    """
    m, n, x = s.motion, s.motion.speeds, s.x
    step, v, J, g = s.work[0:], s.work[n:], s.work[2 * n :], s.work[(2 + rows) * n :]
    meet(m, x, s.contacts, s.seen)
    hold(s, J, g, m.held_gap)
    at = s.holds
    for k in range(s.contacts.size):
        if s.status[k] > 0:
            row = s.seen[k * m.row :]
            for j in range(n):
                J[at * n + j] = row[m.C + j]
            g[at] = row[m.gap] / row[m.stretch]
            at += 1
    least(J, g, step, closed, n, s.work[(2 + rows) * n + rows :], s.order)
    for j in range(n):
        v[j] = x[m.x_v + j]
        x[m.x_v + j] = -step[j]
    call(m.call, x, m.table, s.out, 1)
    for k in range(m.y_v):
        x[m.x_q + k] += s.out[m.flow + k]
    for j in range(n):
        x[m.x_v + j] = v[j]


@routine
def settle_speeds(s: Saddle, rows: int) -> None:
    """Take the least step in the speeds after which closed contacts move as the ground does, and what
    holds as it demands.
    """
    m, n, v, J = s.motion, s.motion.speeds, s.x[s.motion.x_v :], s.work[2 * s.motion.speeds :]
    g = s.work[(2 + rows) * n :]
    meet(m, s.x, s.contacts, s.seen)
    hold(s, J, g, m.held_b)
    for i in range(s.holds):
        g[i] = -g[i]
        for j in range(n):
            g[i] += J[i * n + j] * v[j]
    at = s.holds
    for k in range(s.contacts.size):
        row = s.seen[k * m.row :]
        for i in range(s.status[k]):
            g[at] = -row[m.b + i]
            for j in range(n):
                J[at * n + j] = row[m.C + i * n + j]
                g[at] += J[at * n + j] * v[j]
            at += 1
    least(J, g, s.work, rows, n, s.work[(2 + rows) * n + rows :], s.order)
    for j in range(n):
        v[j] -= s.work[j]


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
        **{name: getattr(row, name).start for name in _ROW},
        row=row.size,
        acted=int(row.count("push") > 0),
        remembered=row.count("rates"),
        share=float(weight(free.system.model)) / max(1, len(free.wheels)),
    )


def saddle(
    free: Generic,
    motion: Dynamics,
    contacts: Bundle,
    rows: Sequence[int],
    mu: Sequence[float],
    x: Floats,
    closed_form: Compiled | None,
) -> Saddle:
    """Return a mode for routines: contacts that hold so many rows each, with their friction; x is
    the input that its programs read, its closed form is one of them.
    """
    told, none = free.motion.outputs, np.zeros(1)
    holds = told.count("held_c")
    size = motion.speeds + sum(rows) + holds
    numbers = contacts.features[: FEATURE * len(rows)]
    rubs = np.array([m if np.isfinite(m) else 0.0 for m in mu], dtype=float)
    given = np.concatenate([numbers, rubs, none])
    return Saddle(
        motion,
        contacts,
        np.array(rows, dtype=np.int64),
        rubs,
        holds,
        x,
        np.zeros(told.size),
        np.zeros(3 * len(rows)),
        np.zeros(len(rows) * motion.row),
        np.zeros(2 * size * (size + 2)),
        np.zeros(size + len(rows), dtype=np.int64),
        Address(0 if closed_form is None else closed_form.address),
        none if closed_form is None else closed_form.table,
        none if closed_form is None else np.zeros(closed_form.outputs.size),
        0 if closed_form is None else closed_form.outputs.count("pivots"),
        given,
        len(given) - 1,
        free.inputs.size,
    )
