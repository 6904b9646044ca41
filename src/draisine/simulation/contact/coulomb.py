"""Coulomb's law at several contacts at once, as routines: between velocities and impulses, or between
accelerations and forces.

A contact's u = W lam + b and lam (normal, along, across) obey 0 <= lam_n, u_n >= 0, lam_n u_n = 0
and |lam_t| <= mu lam_n, with lam_t against u_t where it is at the limit, eq. [coulomb].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.codegen.targets.native import NativeRoutine, Packed, routine_code
from draisine.simulation.contact.linear import solve

FINEST, PLACES = 10.0, 60
"""Sliding is looked for at so many places, as parts of the largest ratio of slip to friction there
can be, down to this negative power of ten.
"""

SWEEPS = 480
"""How often all contacts are solved one after the other at most."""

MOST = 6
"""How many contacts are tried in all that they can do."""

OPEN, HOLD, SLIDE = range(3)
"""What a contact does; one that slides with its drag in W holds its only row."""


@dataclass(frozen=True, eq=False)
class FrictionContact:
    """A contact in the law: where its rows begin and how many they are (3, or 1 where it slides
    already and its drag is in W), its friction, and whether its hold has just been broken.
    """

    at: int
    rows: int
    mu: float
    broken: bool = False

    @property
    def own(self) -> slice:
        """Where its rows stand."""
        return slice(self.at, self.at + self.rows)


class Law(NamedTuple):
    """Contacts in the law, by where their rows begin and how many they are, friction, and whether
    holds have just been broken; W and b of so many rows, lam, and room to work.
    """

    contacts: int
    at: Integers
    rows: Integers
    mu: Floats
    broken: Integers
    size: int
    W: Floats
    b: Floats
    lam: Floats
    new: Floats
    u: Floats
    slope: Floats
    value: Floats
    step: Floats
    order: Integers
    kinds: Integers
    local: Floats


@routine
def rub(f: Floats, ratio: float, mu: float, lam: Floats) -> float:
    """Write the lam whose slip is -ratio lam_t, tangential parts along the principal axes, eq.
    [slip-ratio]; return by how much it is outside the cone. f holds both tangential stiffnesses,
    what drives slip and what couples it to the normal motion, normal stiffness and velocity.
    """
    lam[1], lam[2] = -f[2] / (f[0] + ratio), -f[3] / (f[1] + ratio)
    lam[0] = -(f[7] + f[4] * lam[1] + f[5] * lam[2]) / f[6]
    return sqrt(lam[1] * lam[1] + lam[2] * lam[2]) - mu * lam[0]


@routine
def slide(f: Floats, mu: float, lam: Floats) -> None:
    """Write the lam on the rim of the cone with the largest ratio of slip to friction, if there is
    one.
    """
    driven = sqrt(f[2] * f[2] + f[3] * f[3])
    coupled = sqrt(f[4] * f[4] + f[5] * f[5])
    largest = 2.0 * driven * (f[6] + mu * coupled) / (mu * -f[7])
    low, high, step = 0.0, 0.0, 0
    while step <= PLACES:
        high = low
        low = largest * 10.0 ** (-FINEST * step / PLACES)
        if rub(f, low, mu, lam) > 0.0:
            break
        step += 1
    if step > PLACES:
        high, low = low, 0.0
        if not rub(f, low, mu, lam) > 0.0:
            return
    for _ in range(1100):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if rub(f, middle, mu, lam) > 0.0:
            low = middle
        else:
            high = middle
    rub(f, high, mu, lam)


@routine
def press(W: Floats, n: int, b: Floats, mu: float, broken: int, lam: Floats, f: Floats) -> int:
    """Write the lam of one contact, whose part of W is n apart from row to row: none, holding, or
    sliding; return 1 where there is no such lam, which needs friction without limit.

    Slip is -ratio lam_t with a ratio of 0 to infinity for which `(W + ratio P) lam = -b`, eq.
    [slip-ratio]. That is solvable throughout, outside the cone for 0 and inside for infinity: there
    is a root between.
    """
    for i in range(3):
        lam[i] = 0.0
    if b[0] >= 0.0:
        return 0
    if mu == 0.0:
        lam[0] = -b[0] / W[0]
        return 0
    stiff, a1, a2 = W[0], W[n], W[2 * n]
    p, q, r = (
        W[n + 1] - a1 * a1 / stiff,
        W[2 * n + 1] - a1 * a2 / stiff,
        W[2 * n + 2] - a2 * a2 / stiff,
    )
    turn = 0.0
    if q != 0.0:
        t = 0.5 * (r - p) / q
        turn = 1.0 / (abs(t) + sqrt(1.0 + t * t))
        turn = -turn if t < 0.0 else turn
    c = 1.0 / sqrt(1.0 + turn * turn)
    s, d1, d2 = turn * c, b[1] - a1 * b[0] / stiff, b[2] - a2 * b[0] / stiff
    f[0], f[1] = max(p - turn * q, 1e-14 * stiff), max(r + turn * q, 1e-14 * stiff)
    f[2], f[3] = c * d1 - s * d2, s * d1 + c * d2
    f[4], f[5] = c * a1 - s * a2, s * a1 + c * a2
    f[6], f[7] = stiff, b[0]
    outside = rub(f, 0.0, mu if isfinite(mu) else 0.0, lam)
    if not isfinite(mu):
        if lam[0] < 0.0:
            return 1
    elif broken == 1 or outside > 0.0:
        slide(f, mu, lam)
    lam[1], lam[2] = c * lam[1] + s * lam[2], c * lam[2] - s * lam[1]
    return 0


@routine
def alone(g: Law, k: int, new: Floats) -> int:
    """Write the lam of a contact while the others stay as they are; return 1 where there is none."""
    n, at, rows, rest = g.size, g.at[k], g.rows[k], g.local[8:]
    for i in range(rows):
        rest[i] = g.b[at + i]
        for j in range(n):
            if j < at or j >= at + rows:
                rest[i] += g.W[(at + i) * n + j] * g.lam[j]
    own = g.W[at * n + at :]
    if rows == 3:
        return press(own, n, rest, g.mu[k], g.broken[k], new, g.local)
    new[0] = 0.0
    if rest[0] < 0.0:
        if not own[0] > 0.0:
            return 1
        new[0] = -rest[0] / own[0]
    return 0


@routine
def sweep(g: Law, stride: float) -> float:
    """Solve all contacts one after the other; return by how much u changes, -1 if some have no lam."""
    n, change, stuck = g.size, 0.0, 0
    for k in range(g.contacts):
        at, rows, new = g.at[k], g.rows[k], g.new[g.at[k] :]
        if alone(g, k, new) == 1:  # unless the others come to its aid
            stuck = 1
            for i in range(rows):
                new[i] = 0.0
        for i in range(rows):
            moved = 0.0
            for j in range(rows):
                moved += g.W[(at + i) * n + at + j] * (new[j] - g.lam[at + j])
            change = max(change, abs(moved))
        for i in range(rows):
            g.lam[at + i] += stride * (new[i] - g.lam[at + i])
    return -1.0 - change if stuck == 1 else change


@routine
def settle_friction(g: Law, tolerance: float) -> int:
    """Write the lam of all contacts to `new`; return 1 where none is found: solved one after the
    other, in ever smaller strides where that goes round in circles, and exactly as soon as it is
    known which of them are open, hold or slide; where it never is, all that they can do is tried.
    """
    scale, stride = 1e-300, 1.0
    for i in range(g.size):
        scale = max(scale, abs(g.b[i]))
        g.lam[i] = 0.0
    for count in range(SWEEPS):
        if count > 0 and count % 60 == 0:
            stride *= 0.5
        change = sweep(g, stride)
        stuck = 1 if change < 0.0 else 0
        change = -1.0 - change if stuck == 1 else change
        if change <= tolerance * scale or g.contacts == 1:
            return stuck
        if count % 8 == 7:
            for k in range(g.contacts):
                g.kinds[k] = kind(g, k)
            if polish(g, scale) == 1:
                return 0
    return try_all(g, scale)


@routine
def try_all(g: Law, scale: float) -> int:
    """Write the lam of contacts of which each is open, holds or slides, found by trying; return 1
    where there is none.
    """
    total = 1
    for _ in range(g.contacts):
        total *= 3
    for number in range(total if g.contacts <= MOST else 0):
        rest, possible = number, 1
        for k in range(g.contacts):
            g.kinds[k] = rest % 3
            rest = rest // 3
            if guess(g, k, scale) == 0:
                possible = 0
        if possible == 1 and polish(g, scale) == 1:
            return 0
    return 1


@routine
def guess(g: Law, k: int, scale: float) -> int:
    """Write a first lam of a contact that is open, holds or slides as without any force; return 0
    where it cannot do so.
    """
    at, rows, mu, does, new = g.at[k], g.rows[k], g.mu[k], g.kinds[k], g.new[g.at[k] :]
    for i in range(rows):
        new[i] = 0.0
    if does == HOLD and rows == 3 and (mu == 0.0 or g.broken[k] == 1):
        return 0
    if does == SLIDE:
        if rows == 1 or not isfinite(mu):
            return 0
        x, y = g.b[at + 1], g.b[at + 2]
        new[0] = scale / g.W[at * g.size + at]
        speed = sqrt(x * x + y * y)
        if speed > 0.0:
            new[1], new[2] = -mu * new[0] * x / speed, -mu * new[0] * y / speed
    return 1


@routine
def polish(g: Law, scale: float) -> int:
    """Bring a near lam in `new` to the next solution, by Newton steps with contacts that stay open,
    hold or slide as their kinds say; return 1 if there is one.
    """
    n, off, size = g.size, scale, scale
    for _ in range(12):
        residual(g)
        if solve(g.slope, g.value, g.step, g.order, n) < 0:
            return 0
        for k in range(g.contacts):
            for i in range(g.at[k], g.at[k] + g.rows[k]):
                g.new[i] = 0.0 if g.kinds[k] == OPEN else g.new[i] + g.step[i]
        off, size = 0.0, scale
        for i in range(n):
            moved, terms = 0.0, 0.0
            for j in range(n):
                moved += g.W[i * n + j] * g.step[j]
                terms += abs(g.W[i * n + j] * g.new[j])
            off, size = max(off, abs(moved)), max(size, terms)
        if off <= 1e-15 * size:
            break
    if not off <= 1e-15 * size:
        return 0
    measure_slip(g)
    for k in range(g.contacts):
        if lawful(g, k, 1e-13 * size) == 0:
            return 0
    return 1


@routine
def kind(g: Law, k: int) -> int:
    """Return what a contact does."""
    push, mu = g.new[g.at[k] :], g.mu[k]
    if push[0] <= 0.0:
        return OPEN
    if g.rows[k] == 1:
        return HOLD
    force = sqrt(push[1] * push[1] + push[2] * push[2])
    return HOLD if mu > 0.0 and force < mu * push[0] * (1.0 - 1e-9) else SLIDE


@routine
def measure_slip(g: Law) -> None:
    """Write u = W lam + b."""
    for i in range(g.size):
        g.u[i] = g.b[i]
        for j in range(g.size):
            g.u[i] += g.W[i * g.size + j] * g.new[j]


@routine
def residual(g: Law) -> None:
    """Write minus what must vanish, and its derivatives by lam."""
    n, u, lam, W = g.size, g.u, g.new, g.W
    measure_slip(g)
    for k in range(g.contacts):
        at = g.at[k]
        for i in range(at, at + g.rows[k]):
            row = g.slope[i * n :]
            g.value[i] = -lam[i] if g.kinds[k] == OPEN else -u[i]
            for j in range(n):
                row[j] = W[i * n + j]
                if g.kinds[k] == OPEN:
                    row[j] = 1.0 if i == j else 0.0
        if g.kinds[k] == SLIDE:
            x, y, rim = at + 1, at + 2, g.slope[(at + 2) * n :]
            g.value[x] = u[y] * lam[x] - u[x] * lam[y]
            g.value[y] = (g.mu[k] * lam[at]) ** 2.0 - lam[x] * lam[x] - lam[y] * lam[y]
            for j in range(n):
                g.slope[x * n + j] = W[x * n + j] * lam[y] - W[y * n + j] * lam[x]
                rim[j] = 0.0
            g.slope[x * n + x] -= u[y]
            g.slope[x * n + y] += u[x]
            rim[at] = -2.0 * g.mu[k] * g.mu[k] * lam[at]
            rim[x], rim[y] = 2.0 * lam[x], 2.0 * lam[y]


@routine
def lawful(g: Law, k: int, small: float) -> int:
    """Return 1 where u and lam obey the law at a contact."""
    push, slip, rows = g.new[g.at[k] :], g.u[g.at[k] :], g.rows[k]
    if push[0] == 0.0:
        lost = 0.0
        for i in range(rows):
            lost = max(lost, abs(push[i]))
        return 0 if slip[0] < -small or lost > 0.0 else 1
    if push[0] < 0.0 or abs(slip[0]) > small:
        return 0
    if rows == 3:
        limit = g.mu[k] * push[0] if g.mu[k] > 0.0 else 0.0
        size = sqrt(push[1] * push[1] + push[2] * push[2])
        if size > limit * (1.0 + 1e-12):
            return 0
        if sqrt(slip[1] * slip[1] + slip[2] * slip[2]) > small:
            power = slip[1] * push[1] + slip[2] * push[2]
            if size < limit * (1.0 - 1e-9) or power > 0.0:
                return 0
    return 1


@cache
def _code() -> list[NativeRoutine]:
    return routine_code(press, settle_friction)


def solve_single_friction(W: Floats, b: Floats, mu: float, broken: bool = False) -> Floats | None:
    """Return the lam of one contact: none, holding, or sliding; None where there is no such lam, which
    needs friction without limit.
    """
    lam, drive = np.empty(3), np.array(b, dtype=float)
    stiff = np.array(W, dtype=float, order="C")
    lost = _code()[0](stiff, 3, drive, float(mu), int(broken), lam, np.empty(8))
    return None if lost else lam


def solve_friction(
    W: Floats, b: Floats, touches: Sequence[FrictionContact], tolerance: float
) -> Floats | None:
    """Return the lam of all contacts, or None where none is found."""
    n, rows = len(b), [(one.at, one.rows, one.broken) for one in touches]
    at, counts, broken = np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()
    room, lam = np.empty((6, n)), np.empty(n)
    law = Law(
        len(touches),
        at,
        counts,
        np.array([float(one.mu) for one in touches]),
        broken,
        n,
        np.ascontiguousarray(W),
        np.ascontiguousarray(b),
        room[0],
        lam,
        room[1],
        np.empty(n * n),
        room[2],
        room[3],
        np.empty(n, dtype=np.int64),
        np.empty(len(touches), dtype=np.int64),
        np.empty(11),
    )
    return None if _code()[1](Packed(law), tolerance) else lam
