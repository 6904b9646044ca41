"""Implicit steps for stiff friction, as routines: Radau IIA with seven stages, eqs. [turning-friction] and
[turning-newton].

At small slip the direction of Coulomb friction relaxes at a rate of about 1 / |slip|, which would limit
explicit steps although nothing changes any more. The simplified Newton iteration has the angle of the slip
of each contact and stage as its only unknowns.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.codegen.targets.native import make_record
from draisine.simulation.contact.complementarity.linear import dot, least, norm, solve
from draisine.simulation.contact.kernels import (
    CLOSED,
    ContactMode,
    evaluate_row,
    flow,
    put_state,
    relative_velocity,
)
from draisine.simulation.contact.status import Status
from draisine.simulation.integrators.dop853 import Stages

SEVEN = 7
"""How many stages there are: the polynomial through them is one that the dense output can hold."""

DENSE, NODES = SEVEN * SEVEN, 2 * SEVEN * SEVEN
"""Where the rows from stages to the dense output and the nodes stand behind the weights."""

ANGLE = 1e-3
"""By how many radians a slip is turned to see what that does."""

ROUNDS, EXACT = 12, 1e-2
"""How often stages are mended at most, and until what they change by in parts of the tolerances."""

HIGHEST = 2.0**-13
"""How much of z^7 on [0, 1] lower powers cannot do."""


def _coefficients() -> Floats:
    """Return the weights of the collocation at Radau's nodes, what leads from states at the nodes to the
    coefficients of the dense output, and the nodes.
    """
    last = np.polynomial.legendre.Legendre.basis(SEVEN) - np.polynomial.legendre.Legendre.basis(
        SEVEN - 1
    )
    c = 0.5 * (1.0 + np.sort(last.roots().real))
    for _ in range(2):
        c = c - last(2.0 * c - 1.0) / (2.0 * last.deriv()(2.0 * c - 1.0))
    weights = np.empty((SEVEN, SEVEN))
    for j in range(SEVEN):
        others = np.delete(c, j)
        whole = (Polynomial.fromroots(others) / np.prod(c[j] - others)).integ()
        weights[:, j] = whole(c) - whole(0.0)
    powers = np.cumprod([c if m % 2 == 0 else 1.0 - c for m in range(SEVEN)], axis=0)
    return np.concatenate([weights.ravel(), np.linalg.inv(powers.T).ravel(), c])


RADAU = _coefficients()


class Turning(NamedTuple):
    """Slips that friction turns: the method, how many contacts slip, which of the closed ones they are;
    for each the two rows of its slip, how the accelerations change with the angle of its direction; for
    each stage and contact the row across the slip, and how fast it is; states of stages, their rates and
    changes, and room to work.
    """

    method: Floats
    sizes: Integers
    who: Integers
    rows: Floats
    turns: Floats
    across: Floats
    speeds: Floats
    states: Floats
    rates: Floats
    changes: Floats
    seen: Floats
    work: Floats
    order: Integers


def turning_room(n: int, speeds: int, row: int, most: int) -> Turning:
    """Return room for so many contacts that slip at once."""
    unknowns = SEVEN * most
    states = dict.fromkeys(("states", "rates", "changes"), SEVEN * n)
    slips = {"who": most, "rows": 2 * most * speeds, "turns": most * speeds, "seen": row}
    work = {"work": (unknowns + 2) * (unknowns + 2) + 2 * n, "order": unknowns + 1, "sizes": 1}
    sizes = states | slips | work | {"across": unknowns * speeds, "speeds": unknowns}
    found: Turning = make_record(Turning, method=RADAU, **sizes)
    return found


@routine
def turning_rate(s: ContactMode, g: Stages, w: Turning) -> float:
    """Return the largest rate (1/s) at which friction turns a slip of the state in x; 0 without slip."""
    m, n, count, fastest = s.motion, s.motion.speeds, 0, 0.0
    for i in range(s.plan[CLOSED]):
        if s.status[i] == Status.SLIDING and s.mu[i] > 0.0:
            evaluate_row(s.x, s.contacts, s.which[i], w.seen)
            w.who[count] = i
            w.rows[2 * n * count :][: 2 * n] = w.seen[m.C + n :][: 2 * n]
            w.speeds[2 * count] = relative_velocity(s.x, w.seen, m, 1)
            w.speeds[2 * count + 1] = relative_velocity(s.x, w.seen, m, 2)
            count += 1
    w.sizes[0] = count
    for k in range(count):
        s1, s2, rate = w.speeds[2 * k], w.speeds[2 * k + 1], 0.0
        if turn_slip(s, g, w, k) != 0:
            return 0.0
        for j in range(n):
            across = s1 * w.rows[2 * n * k + n + j] - s2 * w.rows[2 * n * k + j]
            rate += across * w.turns[n * k + j]
        fastest = max(fastest, abs(rate) / max(s1 * s1 + s2 * s2, 1e-300))
    return fastest


@routine
def turn_slip(s: ContactMode, g: Stages, w: Turning, k: int) -> int:
    """Write how the accelerations change with the angle of a slip's direction: by differences, the other
    slips left as they are. Return what is wrong.
    """
    m, n, count, x = s.motion, s.motion.speeds, w.sizes[0], s.x[s.motion.x_v :]
    wanted, change, rates = w.work[0:], w.work[2 * count :], w.changes
    wanted[: 2 * count] = 0.0
    wanted[2 * k], wanted[2 * k + 1] = -ANGLE * w.speeds[2 * k + 1], ANGLE * w.speeds[2 * k]
    least(w.rows, wanted, change, 2 * count, n, w.work[2 * count + n :], w.order)
    wrong = 0
    for side in range(2):
        x[:n] = g.y[m.y_v :][:n] + (1.0 - 2.0 * side) * change[:n]
        wrong = max(wrong, flow(s, rates[side * g.n :], s.lam))
    x[:n] = g.y[m.y_v :][:n]
    w.turns[n * k :][:n] = (rates[m.y_v :][:n] - rates[g.n + m.y_v :][:n]) / (2.0 * ANGLE)
    return wrong


@routine
def collocate(s: ContactMode, g: Stages, w: Turning, t: float, h: float, last: float) -> int:
    """Write the states of all stages of a step of length h; return 1 if the iteration does not converge. k
    contains the rate at the start.
    """
    for i in range(SEVEN):
        w.states[i * g.n :][: g.n] = g.y[: g.n] + w.method[NODES + i] * h * g.k[: g.n]
    before = 1e300
    for round in range(ROUNDS):
        for i in range(SEVEN):
            put_state(s.x, min(t + w.method[NODES + i] * h, last), w.states[i * g.n :], g.n)
            if flow(s, w.rates[i * g.n :], s.lam) != 0:
                return 1
            if round < 2:
                see_slips(s, w, i)
        change = mend(s, g, w, h)
        if change < EXACT or (change < 1.0 and change > 0.3 * before and round > 4):
            return 0
        if not change < 2.0 * before:
            return 1
        before = change
    return 1


@routine
def see_slips(s: ContactMode, w: Turning, i: int) -> None:
    """Write the rows across the slips of a stage, whose state is in x, and how fast these are."""
    m, n = s.motion, s.motion.speeds
    for k in range(w.sizes[0]):
        evaluate_row(s.x, s.contacts, s.which[w.who[k]], w.seen)
        s1, s2 = relative_velocity(s.x, w.seen, m, 1), relative_velocity(s.x, w.seen, m, 2)
        one, along, across = i * w.sizes[0] + k, w.seen[m.C + n :], w.seen[m.C + 2 * n :]
        w.speeds[one] = max(norm(s1, s2), 1e-300)
        w.across[one * n :][:n] = (s1 * across[:n] - s2 * along[:n]) / w.speeds[one]


@routine
def mend(s: ContactMode, g: Stages, w: Turning, h: float) -> float:
    """Change the states of all stages by a Newton step; return by how much, in parts of the tolerances."""
    n, y_v, count, size = s.motion.speeds, s.motion.y_v, w.sizes[0], SEVEN * w.sizes[0]
    K, b, angles, total = w.work[0:], w.work[size * size :], w.work[size * (size + 1) :], 0.0
    for i in range(SEVEN):
        rest = w.changes[i * g.n :]
        rest[: g.n] = g.y[: g.n] - w.states[i * g.n :][: g.n]
        for k in range(SEVEN):
            rest[: g.n] += h * w.method[i * SEVEN + k] * w.rates[k * g.n :][: g.n]
    for one in range(size):
        across, stage = w.across[one * n :], one // count
        b[one] = dot(across, w.changes[stage * g.n + y_v :], n)
        for k in range(count):
            turned = dot(across, w.turns[k * n :], n)
            for j in range(SEVEN):
                K[one * size + j * count + k] = -h * w.method[stage * SEVEN + j] * turned
        K[one * size + one] += w.speeds[one]
    solve(K, b, angles, w.order, size)
    for i in range(SEVEN):
        for one in range(size):
            turned = h * w.method[i * SEVEN + one // count] * angles[one]
            w.changes[i * g.n + y_v :][:n] += turned * w.turns[one % count * n :][:n]
        for j in range(i * g.n, (i + 1) * g.n):
            w.states[j] += w.changes[j]
            part = w.changes[j] / (g.atol[j - i * g.n] + g.rtol * abs(w.states[j]))
            total += part * part
    return sqrt(total / (SEVEN * g.n))


@routine
def stretch_dense(g: Stages, w: Turning) -> float:
    """Write the end of a step and the polynomial of its dense output from the states of its stages; return
    the magnitude of its highest term relative to the tolerances.
    """
    n, F, total = g.n, g.polynomial, 0.0
    for m in range(SEVEN):
        F[m * n :][:n] = 0.0
        for i in range(SEVEN):
            F[m * n :][:n] += w.method[DENSE + m * SEVEN + i] * (w.states[i * n :][:n] - g.y[:n])
    g.new[:n] = w.states[(SEVEN - 1) * n :][:n]
    for j in range(n):
        scale = g.atol[j] + g.rtol * max(abs(g.y[j]), abs(g.new[j]))
        part = HIGHEST * F[(SEVEN - 1) * n + j] / scale
        total += part * part
    return sqrt(total / n)
