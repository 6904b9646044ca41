"""Coulomb's law at several contacts at once, as routines: between velocities and impulses, or between
accelerations and forces.

A contact's u = W lam + b and lam (normal, along, across) obey 0 <= lam_n, u_n >= 0, lam_n u_n = 0
and |lam_t| <= mu lam_n, with lam_t against u_t where it is at the limit, eq. [coulomb].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, isfinite, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.codegen.targets.native import make_record, room, shared_code
from draisine.simulation.contact.complementarity.linear import (
    add_dot,
    add_product,
    complement,
    dot,
    max_norm,
    norm,
    null_vectors,
    share,
    solve,
    span,
)

FINEST, PLACES = 10.0, 60
"""Sliding is looked for at so many places, as parts of the largest ratio of slip to friction there
can be, down to this negative power of ten.
"""

SWEEPS = 128
"""How often all contacts are solved one after the other at most."""

TRIALS, WAYS = 200_000, 32
"""In how much of what they can do contacts are tried at most, and in how many ways each slides first."""

STILL = 1e-9
"""Slips of this part of what drives contacts are none if forces are there that hold."""

COS, SIN = cos(2.0 * pi / WAYS), sin(2.0 * pi / WAYS)

STEPS, FIRM, LOOSE = 16, 1e6, 1e-4
"""How often ways of sliding are mended, and the ratios of slip to friction, in parts of W, that are as good
as infinite, and as none: where others hold a contact across its way, it leaves that to them.
"""

OPEN, SLIDE, HOLD = 0, 1, 3
"""What a contact does, by how many rows it holds; one that slides with its drag in W has one alone."""


@dataclass(frozen=True, eq=False)
class FrictionContact:
    """A contact in the law: where its rows begin and how many they are (3, or 1 where it slides
    already and its drag is in W), and its friction.
    """

    at: int
    rows: int
    mu: float


class FrictionProblem(NamedTuple):
    """Contacts in the law: how many they are and their rows altogether, where their rows begin and
    how many each has, friction; W and b, lam, and room to work.
    """

    sizes: Integers
    at: Integers
    rows: Integers
    mu: Floats
    W: Floats
    b: Floats
    lam: Floats
    new: Floats
    u: Floats
    slope: Floats
    null: Floats
    spare: Floats
    room: Floats
    value: Floats
    way: Floats
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
    return norm(lam[1], lam[2]) - mu * lam[0]


@routine
def slide(f: Floats, mu: float, lam: Floats) -> None:
    """Write the lam on the rim of the cone with the largest ratio of slip to friction, if there is
    one.
    """
    largest = 2.0 * norm(f[2], f[3]) * (f[6] + mu * norm(f[4], f[5])) / (mu * -f[7])
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
def press(W: Floats, n: int, b: Floats, mu: float, lam: Floats, f: Floats) -> int:
    """Write the lam of one contact, whose part of W is n apart from row to row: none, holding, or
    sliding; return 1 where there is no such lam, which needs friction without limit.

    Slip is -ratio lam_t with a ratio of 0 to infinity for which `(W + ratio P) lam = -b`, eq.
    [slip-ratio]. That is solvable throughout, outside the cone for 0 and inside for infinity: there
    is a root between.
    """
    lam[:3] = 0.0
    if b[0] >= 0.0:
        return 0
    if mu == 0.0:
        lam[0] = -b[0] / W[0]
        return 0
    stiff, a1, a2 = W[0], W[n], W[2 * n]
    p, q = W[n + 1] - a1 * a1 / stiff, W[2 * n + 1] - a1 * a2 / stiff
    r, turn = W[2 * n + 2] - a2 * a2 / stiff, 0.0
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
    elif outside > 0.0:
        slide(f, mu, lam)
    lam[1], lam[2] = c * lam[1] + s * lam[2], c * lam[2] - s * lam[1]
    return 0


@routine
def alone(g: FrictionProblem, k: int, new: Floats) -> int:
    """Write the lam of a contact while the others stay as they are and its own motion answers as if it
    were as many as there are; return 1 where there is none.
    """
    n, at, rows, many = g.sizes[1], g.at[k], g.rows[k], float(g.sizes[0])
    own, rest = g.local[8:], g.local[17:]
    for i in range(rows):
        rest[i] = add_dot(g.b[at + i], g.W[(at + i) * n :], g.lam, n)
        for j in range(rows):
            own[i * rows + j] = many * g.W[(at + i) * n + at + j]
            rest[i] -= own[i * rows + j] * g.lam[at + j]
    if rows == 3:
        return press(own, 3, rest, g.mu[k], new, g.local)
    new[0] = 0.0
    if rest[0] < 0.0:
        if not own[0] > 0.0:
            return 1
        new[0] = -rest[0] / own[0]
    return 0


@routine
def sweep(g: FrictionProblem) -> float:
    """Solve all contacts at once, so that what is symmetric stays so; return by how much u changes, or
    -1 if some have no lam.
    """
    n, change, stuck = g.sizes[1], 0.0, 0
    for k in range(g.sizes[0]):
        new = g.new[g.at[k] :]
        if alone(g, k, new) == 1:  # unless the others come to its aid
            stuck = 1
            new[: g.rows[k]] = 0.0
    g.value[:n] = g.new[:n] - g.lam[:n]
    for i in range(n):
        change = max(change, abs(dot(g.W[i * n :], g.value, n)))
    level_loads(g)
    g.lam[:n] = g.new[:n]
    return -1.0 if stuck == 1 else change


@routine
def find_spare_loads(g: FrictionProblem) -> None:
    """Write the loads alone that move nothing, as orthonormal columns, and how many they are."""
    n, count = g.sizes[1], g.sizes[0]
    loads, U, left = g.room[0:], g.room[count * n :], g.room[count * (n + count) :]
    for k in range(count):
        loads[k * n :][:n] = g.W[g.at[k] :: n][:n]
    rank = span(loads, count, n, U, left)
    g.sizes[2] = count - rank
    complement(U, rank, count, g.spare, left)


@routine
def level_loads(g: FrictionProblem) -> None:
    """Take from loads what moves nothing, where all contacts still push then: what no motion tells is
    shared by the least norm.
    """
    count, spare, off, least = g.sizes[0], g.sizes[2], g.room[0:], 1.0
    off[:count] = 0.0
    for c in range(spare):
        part = 0.0
        for k in range(count):
            part += g.spare[k * spare + c] * g.new[g.at[k]]
        off[:count] += part * g.spare[c::spare][:count]
    for k in range(count):
        least = min(least, g.new[g.at[k]] - off[k])
    if least >= 0.0:
        for k in range(count):
            g.new[g.at[k]] -= off[k]


@routine
def settle_friction(g: FrictionProblem, tolerance: float) -> int:
    """Write the lam of all contacts to `new`, and what each does to `kinds`; return 1 where there is none.
    Where all contacts are pressed and forces are there with which they hold, they do. Else they are
    solved together again and again, and exactly as soon as it is known which of them are open, hold or
    slide; where that goes round in circles, all that they can do is tried.
    """
    scale = max(max_norm(g.b, g.sizes[1]), 1e-300)
    g.lam[: g.sizes[1]] = 0.0
    find_spare_loads(g)
    if g.sizes[0] > 1 and hold_all(g, scale) == 1:
        return 0
    for count in range(SWEEPS):
        change = sweep(g)
        if g.sizes[0] == 1:
            g.kinds[0] = SLIDE if is_at_limit(g, 0) == 1 else HOLD
            return 1 if change < 0.0 else 0
        settled = 1 if change >= 0.0 and change <= tolerance * scale else 0
        if settled == 0 and count % 8 != 7:
            continue
        still = max(10.0 * change, STILL * scale)
        if guess(g, still, scale) == 1 or settled == 1:
            return 0
    return try_all(g, scale)


@routine
def hold_all(g: FrictionProblem, scale: float) -> int:
    """Return 1 if all contacts are pressed and there are forces with which none begins to slip, then
    written to `new`.
    """
    for k in range(g.sizes[0]):
        g.kinds[k] = HOLD if g.rows[k] == 3 and g.mu[k] > 0.0 else SLIDE
        if g.b[g.at[k]] > 0.0:
            return 0
    return polish(g, scale, 1)


@routine
def guess(g: FrictionProblem, still: float, scale: float) -> int:
    """Take it that contacts that push hold where they slip no faster than `still`, and slide else. Return 1
    if there is such a solution, then written to `new`; else that is as it was.
    """
    measure_slip(g)
    for k in range(g.sizes[0]):
        push, slip, way = g.new[g.at[k] :], g.u[g.at[k] :], g.way[g.at[k] :]
        g.kinds[k] = SLIDE if push[0] > 0.0 else OPEN
        if g.kinds[k] == SLIDE and g.rows[k] == 3 and g.mu[k] > 0.0:
            force = norm(push[1], push[2])
            if max(abs(slip[1]), abs(slip[2])) <= still or force == 0.0:
                g.kinds[k] = HOLD
            else:
                way[1], way[2] = -push[1] / force, -push[2] / force
    if polish(g, scale, 1) == 0:
        g.new[: g.sizes[1]] = g.lam[: g.sizes[1]]
        return 0
    g.lam[: g.sizes[1]] = g.new[: g.sizes[1]]
    if hold_still(g, STILL * scale) == 1 and polish(g, scale, 1) == 0:
        g.new[: g.sizes[1]] = g.lam[: g.sizes[1]]
    return 1


@routine
def hold_still(g: FrictionProblem, still: float) -> int:
    """Let contacts hold that slide no faster than so; return 1 if there are such."""
    some = 0
    for k in range(g.sizes[0]):
        slip, firm = g.u[g.at[k] :], 1 if g.rows[k] == 3 and g.mu[k] > 0.0 else 0
        if g.kinds[k] == SLIDE and firm == 1 and max(abs(slip[1]), abs(slip[2])) <= still:
            g.kinds[k], some = HOLD, 1
    return some


@routine
def try_all(g: FrictionProblem, scale: float) -> int:
    """Write the lam of contacts of which each is open, holds or slides, found by trying all of that: first
    without sliding and as many as can hold, then with sliding from one way on, then from ever more;
    return 1 where there is none.
    """
    ways = 0
    while ways <= WAYS and count_trials(g, ways) <= TRIALS:
        total = count_trials(g, ways)
        for number in range(total):
            rest = number if ways > 0 else total - 1 - number
            for k in range(g.sizes[0]):
                choices = count_choices(g, k, ways)
                choose(g, k, rest % choices, ways)
                rest = rest // choices
            if polish(g, scale, 0) == 1:
                return 0
        ways = max(1, 2 * ways)
    return 1


@routine
def choose(g: FrictionProblem, k: int, choice: int, ways: int) -> None:
    """Write that a contact is open, holds, or slides in one of so many ways."""
    way, c, s = g.way[g.at[k] :], 1.0, 0.0
    g.kinds[k] = OPEN if choice == 0 else SLIDE
    if choice == 1 and g.rows[k] == 3 and g.mu[k] > 0.0:
        g.kinds[k] = HOLD
    if choice > 1:
        for _ in range((choice - 2) * (WAYS // ways)):
            c, s = c * COS - s * SIN, s * COS + c * SIN
        way[1], way[2] = c, s


@routine
def count_choices(g: FrictionProblem, k: int, ways: int) -> int:
    """Return between how much a contact may choose: it is open, holds, or slides in so many ways."""
    return 2 + ways if g.rows[k] == 3 and g.mu[k] > 0.0 and isfinite(g.mu[k]) else 2


@routine
def count_trials(g: FrictionProblem, ways: int) -> int:
    """Return between how much all contacts may choose; more than enough where it is too much."""
    total = 1
    for k in range(g.sizes[0]):
        total = min(total * count_choices(g, k, ways), TRIALS + 1)
    return total


@routine
def polish(g: FrictionProblem, scale: float, evenly: int) -> int:
    """Bring contacts that stay open, hold or slide as their kinds say, first in the ways given, to the
    next solution by Newton steps, in which loads that no motion tells are shared evenly or as friction
    needs them; return 1 if there is one.
    """
    n, size, turned, spare = g.sizes[1], scale, 1.0, 0
    stiff = max_norm(g.W, n * n)
    for k in range(g.sizes[0]):
        g.way[g.at[k]] = FIRM * stiff  # as if friction had its way
    for step in range(STEPS):
        demand(g, stiff)
        spare = solve(g.slope, g.value, g.new, g.order, n)
        if spare < 0:
            return 0
        measure_slip(g)
        turned, largest = 0.0, max(max_norm(g.new, n), 1e-300)
        for k in range(g.sizes[0]):
            if g.kinds[k] == SLIDE and g.rows[k] == 3:
                part = min(1.0, g.mu[k] * abs(g.new[g.at[k]]) / largest)
                turned = max(turned, part * abs(swerve(g, k, FIRM * stiff)))
        if turned <= 1e-13 and step > 0:
            break
    if not turned <= 1e-12:
        return 0
    for i in range(n):
        terms = abs(g.b[i])
        for j in range(n):
            terms += abs(g.W[i * n + j] * g.new[j])
        size = max(size, terms)
    if spare > 0 and all_lawful(g, 1e-12 * size) == 0:
        spread(g, spare, evenly)
    return all_lawful(g, 1e-12 * size)


@routine
def all_lawful(g: FrictionProblem, small: float) -> int:
    """Return 1 where u and lam obey the law at all contacts."""
    for k in range(g.sizes[0]):
        if lawful(g, k, small) == 0:
            return 0
    return 1


@routine
def spread(g: FrictionProblem, spare: int, evenly: int) -> None:
    """Change forces that are not unique, along the null vectors that their solution has left, so that
    all contacts push, and those that hold are within their cones, if there are such.
    """
    n = g.sizes[1]
    null_vectors(g.slope, g.order, n, spare, g.null)
    share(g.new, n, g.null, spare, g.at, g.kinds, g.mu, g.sizes[0], evenly, g.room)
    for k in range(g.sizes[0]):
        if g.kinds[k] == OPEN:
            g.new[g.at[k] :][: g.rows[k]] = 0.0
    measure_slip(g)


@routine
def demand(g: FrictionProblem, stiff: float) -> None:
    """Write the linear equations of lam: nothing at open contacts, no slip at those that hold; where
    one slides, friction is at its limit along the way, and across it slip is -ratio lam_t, eq.
    [slip-ratio].
    """
    n, W = g.sizes[1], g.W
    for k in range(g.sizes[0]):
        at, mu = g.at[k], g.mu[k]
        x, y = at + 1, at + 2
        for i in range(at, at + g.rows[k]):
            still = 0.0 if g.kinds[k] == OPEN or (g.kinds[k] == SLIDE and i > at) else 1.0
            g.value[i] = -still * g.b[i]
            g.slope[i * n :][:n] = still * W[i * n :][:n]
            if still == 0.0:
                g.slope[i * n + i] = stiff
        if g.kinds[k] == SLIDE and g.rows[k] == 3 and mu > 0.0:
            ratio, c, s = g.way[at], g.way[x], g.way[y]
            along, across, part = g.slope[x * n :], g.slope[y * n :], stiff / (stiff + ratio)
            along[at], along[x], along[y] = stiff * mu, stiff * c, stiff * s
            across[:n] = part * (c * W[y * n :][:n] - s * W[x * n :][:n])
            across[x] -= part * ratio * s
            across[y] += part * ratio * c
            g.value[y] = part * (s * g.b[x] - c * g.b[y])


@routine
def swerve(g: FrictionProblem, k: int, firm: float) -> float:
    """Turn the way of a sliding contact to where its friction points; return by how much. The next
    ratio is that of its slip to its friction.
    """
    push, slip, way, mu = g.new[g.at[k] :], g.u[g.at[k] :], g.way[g.at[k] :], g.mu[k]
    limit = mu * push[0]
    if limit == 0.0:
        return 0.0
    turn = (way[2] * push[1] - way[1] * push[2]) / limit
    turn = max(-1.0, min(1.0, turn))
    size = sqrt(1.0 + turn * turn)
    way[1], way[2] = (way[1] - turn * way[2]) / size, (way[2] + turn * way[1]) / size
    way[0] = max(min(norm(slip[1], slip[2]) / abs(limit), firm), LOOSE / FIRM * firm)
    push[1], push[2] = -limit * way[1], -limit * way[2]
    return turn


@routine
def is_at_limit(g: FrictionProblem, k: int) -> int:
    """Return 1 where the friction of a contact is at its limit."""
    push = g.new[g.at[k] :]
    return 1 if not norm(push[1], push[2]) < g.mu[k] * push[0] * (1.0 - 1e-9) else 0


@routine
def measure_slip(g: FrictionProblem) -> None:
    """Write u = W lam + b."""
    n = g.sizes[1]
    g.u[:n] = g.b[:n]
    add_product(g.W, g.new, g.u, n, n)


@routine
def lawful(g: FrictionProblem, k: int, small: float) -> int:
    """Return 1 where u and lam obey the law at a contact."""
    push, slip, mu = g.new[g.at[k] :], g.u[g.at[k] :], g.mu[k]
    if g.kinds[k] == OPEN:
        return 1 if slip[0] >= -small else 0
    if not push[0] >= 0.0 or not abs(slip[0]) <= small:
        return 0
    if g.kinds[k] == HOLD and not max(abs(slip[1]), abs(slip[2])) <= small:
        return 0
    if g.rows[k] == 3 and isfinite(mu):
        limit, size = mu * push[0], norm(push[1], push[2])
        if not size <= limit + 1e-11 * max_norm(g.new, g.sizes[1]):
            return 0
        if g.kinds[k] == SLIDE and slip[1] * push[1] + slip[2] * push[2] > small * size:
            return 0
    return 1


def solve_single_friction(W: Floats, b: Floats, mu: float) -> Floats | None:
    """Return the lam of one contact: none, holding, or sliding; None where there is no such lam, which
    needs friction without limit.
    """
    lam, drive = np.empty(3), np.array(b, dtype=float)
    stiff = np.array(W, dtype=float, order="C")
    lost = shared_code(press)(stiff, 3, drive, float(mu), lam, np.empty(8))
    return None if lost else lam


def friction_law(most: int) -> FrictionProblem:
    """Return room for the law of so many contacts at most."""
    n = 3 * most
    contacts = dict.fromkeys(("at", "rows", "mu", "kinds"), most)
    entries = dict.fromkeys(("b", "lam", "new", "u", "value", "way", "order"), n)
    squares = dict.fromkeys(("W", "slope", "null"), n * n) | {"room": 3 * n * (n + 1)}
    sizes = contacts | entries | squares | {"sizes": 3, "spare": most * most, "local": 20}
    found: FrictionProblem = make_record(FrictionProblem, **sizes)
    return found


def solve_friction(
    W: Floats, b: Floats, touches: Sequence[FrictionContact], tolerance: float
) -> Floats | None:
    """Return the lam of all contacts, or None where there is none."""
    n, k, packed = len(b), len(touches), room(friction_law, len(touches))
    law: FrictionProblem = packed.record
    law.sizes[:2] = k, n
    law.W[: n * n], law.b[:n] = W.ravel(), b
    law.mu[:] = [one.mu for one in touches]
    for i, one in enumerate(touches):
        law.at[i], law.rows[i] = one.at, one.rows
    return None if shared_code(settle_friction)(packed, tolerance) else law.new[:n].copy()
