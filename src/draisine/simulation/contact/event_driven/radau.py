"""Implicit integration steps for stiff friction at small slip, eqs. [turning-friction] and [turning-newton].

At small slip the slip direction relaxes at a rate proportional to 1 / |slip|. This rate limits the length of
stable explicit steps even after the relaxation. The implicit method is Radau IIA with seven stages. The only
unknowns of its simplified Newton iteration are the slip angles of the slipping contacts at all stages.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.codegen.targets.native import make_record
from draisine.simulation.contact.complementarity.linear import (
    dot,
    plane_norm,
    solve_by_complete_pivoting,
    solve_least_norm,
)
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

RADAU_STAGES = 7
"""Number of stages of the Radau IIA method.

The dense output has then degree seven, like that of the explicit method, and fits into the same arrays.
"""

DENSE_WEIGHTS = RADAU_STAGES * RADAU_STAGES
RADAU_NODES = 2 * RADAU_STAGES * RADAU_STAGES
"""Offsets in `RADAU_COEFFICIENTS`: matrix from stage states to dense-output coefficients, and nodes.

The weights of the stages begin at offset 0.
"""

SLIP_ANGLE_STEP = 1e-3
"""Step (rad) of the central difference of the accelerations with respect to a slip angle.

The relative error of about 1e-6 is small enough for a Newton iteration.
"""

MAX_ITERATIONS = 12
"""Largest number of Newton iterations of an implicit step; without convergence the step is shortened."""

ITERATION_TOLERANCE = 1e-2
"""Change of the stages, relative to the integration tolerances, at which the Newton iteration ends."""

HIGHEST_TERM_DEVIATION = 2.0**-13
"""Largest deviation of z^7 on [0, 1] from its best approximation by polynomials of lower degree.

It converts the highest coefficient of the dense output to an error estimate.
"""


def _radau_coefficients() -> Floats:
    """Return the coefficients of the Radau IIA method as one flat array.

    It contains the collocation weights (stages, stages), the matrix (stages, stages) from stage states to
    dense-output coefficients, and the nodes (0 to 1).
    """
    last = np.polynomial.legendre.Legendre.basis(
        RADAU_STAGES
    ) - np.polynomial.legendre.Legendre.basis(RADAU_STAGES - 1)
    c = 0.5 * (1.0 + np.sort(last.roots().real))
    for _ in range(2):  # Newton steps to full precision
        c = c - last(2.0 * c - 1.0) / (2.0 * last.deriv()(2.0 * c - 1.0))
    weights = np.empty((RADAU_STAGES, RADAU_STAGES))
    for j in range(RADAU_STAGES):
        others = np.delete(c, j)
        integral = (Polynomial.fromroots(others) / np.prod(c[j] - others)).integ()
        weights[:, j] = integral(c) - integral(0.0)
    powers = np.cumprod([c if m % 2 == 0 else 1.0 - c for m in range(RADAU_STAGES)], axis=0)
    return np.concatenate([weights.ravel(), np.linalg.inv(powers.T).ravel(), c])


RADAU_COEFFICIENTS = _radau_coefficients()
"""Coefficients of the Radau IIA method, see `_radau_coefficients`."""


class ImplicitSlipStep(NamedTuple):
    """Arrays of an implicit step, whose unknowns are the slip angles of the slipping contacts."""

    method: Floats  # coefficients of the Radau IIA method
    sizes: Integers  # (1) number of slipping contacts
    who: Integers  # (contacts) index of each slipping contact in the list of closed contacts
    rows: Floats  # (contacts, 2, n) tangential constraint rows of the slipping contacts
    turns: Floats  # (contacts, n) derivatives of the accelerations with respect to the slip angle
    across: Floats  # (stages, contacts, n) constraint rows perpendicular to the slips
    speeds: Floats  # (stages, contacts) m/s, magnitudes of the slips
    states: Floats  # (stages, n) states of the stages
    rates: Floats  # (stages, n) time derivatives of the stage states
    changes: Floats  # (stages, n) residuals, later Newton corrections of the stage states
    seen: Floats  # constraint row of one contact
    work: Floats  # scratch
    order: Integers  # scratch: order of pivots


def make_implicit_slip_step(n: int, speeds: int, row: int, most: int) -> ImplicitSlipStep:
    """Return the arrays of an implicit step for up to `most` slipping contacts.

    States have n entries, `speeds` of which are speeds; contact rows have `row` entries.
    """
    unknowns = RADAU_STAGES * most
    states = dict.fromkeys(("states", "rates", "changes"), RADAU_STAGES * n)
    slips = {"who": most, "rows": 2 * most * speeds, "turns": most * speeds, "seen": row}
    work = {"work": (unknowns + 2) * (unknowns + 2) + 2 * n, "order": unknowns + 1, "sizes": 1}
    sizes = states | slips | work | {"across": unknowns * speeds, "speeds": unknowns}
    turning: ImplicitSlipStep = make_record(ImplicitSlipStep, method=RADAU_COEFFICIENTS, **sizes)
    return turning


@routine
def slip_turning_rate(s: ContactMode, g: Stages, w: ImplicitSlipStep) -> float:
    """Return the largest rate (1/s) at which friction turns a slip direction in x; 0 without slip."""
    m = s.motion
    n = m.speeds
    count = 0
    fastest = 0.0
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
        s1 = w.speeds[2 * k]
        s2 = w.speeds[2 * k + 1]
        rate = 0.0
        if differentiate_slip(s, g, w, k) != 0:
            return 0.0
        for j in range(n):
            across = s1 * w.rows[2 * n * k + n + j] - s2 * w.rows[2 * n * k + j]
            rate += across * w.turns[n * k + j]
        fastest = max(fastest, abs(rate) / max(s1 * s1 + s2 * s2, 1e-300))
    return fastest


@routine
def differentiate_slip(s: ContactMode, g: Stages, w: ImplicitSlipStep, k: int) -> int:
    """Compute the derivatives `turns` of the accelerations with respect to the angle of slip k.

    The other slips are fixed. The method is a central difference. Return the status of `flow`, 0 without an
    error.
    """
    m = s.motion
    n = m.speeds
    count = w.sizes[0]
    x = s.x[m.x_v :]
    slips = w.work[0:]
    change = w.work[2 * count :]
    rates = w.changes
    # Compute the smallest change of the speeds that turns this slip and keeps the other slips.
    slips[: 2 * count] = 0.0
    slips[2 * k] = -SLIP_ANGLE_STEP * w.speeds[2 * k + 1]
    slips[2 * k + 1] = SLIP_ANGLE_STEP * w.speeds[2 * k]
    solve_least_norm(w.rows, slips, change, 2 * count, n, w.work[2 * count + n :], w.order)
    status = 0
    for side in range(2):
        x[:n] = g.y[m.y_v :][:n] + (1.0 - 2.0 * side) * change[:n]
        status = max(status, flow(s, rates[side * g.n :], s.lam))
    x[:n] = g.y[m.y_v :][:n]
    difference = 2.0 * SLIP_ANGLE_STEP
    w.turns[n * k :][:n] = (rates[m.y_v :][:n] - rates[g.n + m.y_v :][:n]) / difference
    return status


@routine
def solve_collocation(
    s: ContactMode, g: Stages, w: ImplicitSlipStep, t: float, h: float, last: float
) -> int:
    """Solve the collocation equations for the states at all stages of a step of length h (s) from time t (s).

    Stages after the time `last` (s) are evaluated at `last`, because inputs may jump. Return 0, or 1 if the
    Newton iteration does not converge.

    On entry the first stage k contains the time derivative of the state at the start of the step.
    """
    for i in range(RADAU_STAGES):
        w.states[i * g.n :][: g.n] = g.y[: g.n] + w.method[RADAU_NODES + i] * h * g.k[: g.n]
    change_before = 1e300
    for iteration in range(MAX_ITERATIONS):
        for i in range(RADAU_STAGES):
            time = min(t + w.method[RADAU_NODES + i] * h, last)
            put_state(s.x, time, w.states[i * g.n :], g.n)
            if flow(s, w.rates[i * g.n :], s.lam) != 0:
                return 1
            # Simplified Newton iteration: the matrix is kept after the second evaluation.
            if iteration < 2:
                evaluate_slips(s, w, i)
        change = correct_stages(s, g, w, h)
        is_rounding = change < 1.0 and change > 0.3 * change_before and iteration > 4
        if change < ITERATION_TOLERANCE or is_rounding:
            return 0
        if not change < 2.0 * change_before:
            return 1
        change_before = change
    return 1


@routine
def evaluate_slips(s: ContactMode, w: ImplicitSlipStep, i: int) -> None:
    """Compute slip speeds (m/s) and constraint rows perpendicular to the slips at stage i, from x."""
    m = s.motion
    n = m.speeds
    for k in range(w.sizes[0]):
        evaluate_row(s.x, s.contacts, s.which[w.who[k]], w.seen)
        s1 = relative_velocity(s.x, w.seen, m, 1)
        s2 = relative_velocity(s.x, w.seen, m, 2)
        slip = i * w.sizes[0] + k
        along = w.seen[m.C + n :]
        across = w.seen[m.C + 2 * n :]
        w.speeds[slip] = max(plane_norm(s1, s2), 1e-300)
        w.across[slip * n :][:n] = (s1 * across[:n] - s2 * along[:n]) / w.speeds[slip]


@routine
def correct_stages(s: ContactMode, g: Stages, w: ImplicitSlipStep, h: float) -> float:
    """Correct the states of all stages by one Newton step, eq. [turning-newton]; h is the step length (s).

    Return the root mean square of the corrections, relative to the integration tolerances.
    """
    n = s.motion.speeds
    y_v = s.motion.y_v
    count = w.sizes[0]
    size = RADAU_STAGES * count
    K = w.work[0:]
    b = w.work[size * size :]
    angles = w.work[size * (size + 1) :]
    # Residuals of the collocation equations.
    for i in range(RADAU_STAGES):
        residual = w.changes[i * g.n :]
        residual[: g.n] = g.y[: g.n] - w.states[i * g.n :][: g.n]
        for k in range(RADAU_STAGES):
            residual[: g.n] += h * w.method[i * RADAU_STAGES + k] * w.rates[k * g.n :][: g.n]
    # Linear equations for the changes of all slip angles in all stages.
    for slip in range(size):
        across = w.across[slip * n :]
        stage = slip // count
        b[slip] = dot(across, w.changes[stage * g.n + y_v :], n)
        for k in range(count):
            turned = dot(across, w.turns[k * n :], n)
            for j in range(RADAU_STAGES):
                K[slip * size + j * count + k] = -h * w.method[stage * RADAU_STAGES + j] * turned
        K[slip * size + slip] += w.speeds[slip]
    solve_by_complete_pivoting(K, b, angles, w.order, size)
    total = 0.0
    for i in range(RADAU_STAGES):
        for slip in range(size):
            turned = h * w.method[i * RADAU_STAGES + slip // count] * angles[slip]
            w.changes[i * g.n + y_v :][:n] += turned * w.turns[slip % count * n :][:n]
        for j in range(i * g.n, (i + 1) * g.n):
            w.states[j] += w.changes[j]
            scaled = w.changes[j] / (g.atol[j - i * g.n] + g.rtol * abs(w.states[j]))
            total += scaled * scaled
    return sqrt(total / (RADAU_STAGES * g.n))


@routine
def write_dense_output(g: Stages, w: ImplicitSlipStep) -> float:
    """Compute end state and dense output of an implicit step from the states of the stages.

    Return the estimated error: the root mean square of the highest term of the dense output, relative to the
    integration tolerances.
    """
    n = g.n
    F = g.polynomial
    total = 0.0
    for m in range(RADAU_STAGES):
        F[m * n :][:n] = 0.0
        for i in range(RADAU_STAGES):
            weight = w.method[DENSE_WEIGHTS + m * RADAU_STAGES + i]
            F[m * n :][:n] += weight * (w.states[i * n :][:n] - g.y[:n])
    g.new[:n] = w.states[(RADAU_STAGES - 1) * n :][:n]
    for j in range(n):
        scale = g.atol[j] + g.rtol * max(abs(g.y[j]), abs(g.new[j]))
        scaled = HIGHEST_TERM_DEVIATION * F[(RADAU_STAGES - 1) * n + j] / scale
        total += scaled * scaled
    return sqrt(total / n)
