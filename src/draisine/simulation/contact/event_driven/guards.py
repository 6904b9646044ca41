"""Event location: find the first zero of a guard function within an integration step.

A guard is a scalar function of the state that is positive within a contact mode; its zero is an event. Each
guard is evaluated at nine Chebyshev nodes of a step and interpolated by a polynomial. The Bernstein
coefficients of the polynomial bound it from below: if no coefficient is negative, the guard has no zero. The
last terms of the Chebyshev series estimate the interpolation error, eq. [guard-fit]. Sign changes of the
Bernstein coefficients isolate the zeros (Descartes' rule), and a secant method refines them.

`set_guards` lists the guards of a contact mode: falls, gaps of open contacts, and for closed contacts the
normal force, the friction margin, the slip and the borders of the ground feature.
"""

import math

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.complementarity.linear import dot, max_difference, max_norm
from draisine.simulation.contact.kernels import CLOSED, ContactColumns, ContactMode
from draisine.simulation.contact.status import Status, count_rows
from draisine.simulation.contact.tolerances import Tolerances
from draisine.simulation.trajectory import GuardKind


def guard_tolerances(tol: Tolerances) -> Floats:
    """Return the tolerance of each `GuardKind`, in the unit of the guard.

    A guard below zero by less than its tolerance causes no event: rounding errors and grazing have this size.
    """
    tolerances = np.empty(len(GuardKind))
    tolerances[[GuardKind.LEAN, GuardKind.OVERTURN]] = tol.fall_guard
    tolerances[[GuardKind.GAP, GuardKind.DEFLECTION]] = tol.gap_guard
    tolerances[[GuardKind.NORMAL_FORCE, GuardKind.FRICTION_CONE]] = tol.force_guard
    tolerances[GuardKind.SLIP] = tol.slip_guard
    tolerances[[GuardKind.BORDER, GuardKind.FOLD]] = tol.border_guard
    return tolerances


GUARD_NODES = 9
"""Number of Chebyshev nodes of a step at which each guard is evaluated.

Nine nodes suffice, because the dense output has degree 7 and guards are nearly polynomials of time.
"""

GUARD_DEGREE = GUARD_NODES - 1
"""Degree of the polynomial that interpolates a guard on a step."""

ZERO_RESOLUTION = 1e-14
"""Accuracy of the zeros of guards, as a fraction of the step; it is limited by rounding errors."""

NO_CROSSING = 2.0
"""Return value of the search of a zero if there is none.

Zeros are fractions (0 to 1) of the step. A value above 1 is later than all of them.
"""

TAIL_OFFSET = GUARD_NODES * GUARD_NODES
NODE_POSITIONS = GUARD_NODES * (GUARD_NODES + 2)
"""Offsets in `INTERPOLATION_BASIS`: rows for the last two Chebyshev coefficients, and the nodes."""


def _interpolation_basis() -> Floats:
    """Return the matrices of the interpolation at the nodes of a step as one flat array.

    It contains the matrix from node values to Bernstein coefficients, two rows from node values to the last
    two Chebyshev coefficients, and the node positions (0 to 1).
    """
    angles = math.pi * np.arange(GUARD_NODES) / GUARD_DEGREE
    x = 0.5 * (1.0 - np.cos(angles))
    j = np.arange(GUARD_NODES)
    binomials = np.array([math.comb(GUARD_DEGREE, k) for k in j])
    powers = binomials * x[:, None] ** j * (1.0 - x[:, None]) ** (GUARD_DEGREE - j)
    ends = np.where((j == 0) | (j == GUARD_DEGREE), 0.5, 1.0)
    tail = [
        2.0 / GUARD_DEGREE * ends * np.cos(k * angles) for k in (GUARD_DEGREE - 1, GUARD_DEGREE)
    ]
    tail[1] = 0.5 * tail[1]
    return np.concatenate([np.linalg.inv(powers).ravel(), *tail, x])


INTERPOLATION_BASIS = _interpolation_basis()
"""Matrices of the interpolation of a guard at the nodes of a step, see `_interpolation_basis`."""


@routine
def fit_bernstein(basis: Floats, values: Floats, b: Floats) -> float:
    """Compute the Bernstein coefficients b of the polynomial through `values` at the GUARD_NODES nodes.

    Return the estimated interpolation error: the magnitude of the last two terms of the Chebyshev series.
    """
    for j in range(GUARD_NODES):
        b[j] = dot(basis[j * GUARD_NODES :], values, GUARD_NODES)
    last = abs(dot(basis[TAIL_OFFSET:], values, GUARD_NODES))
    return last + abs(dot(basis[TAIL_OFFSET + GUARD_NODES :], values, GUARD_NODES))


@routine
def restrict_to_interval(b: Floats, low: float, high: float, part: Floats) -> None:
    """Compute the Bernstein coefficients `part` of a polynomial over the interval [low, high].

    b are the coefficients of the same polynomial over [0, 1]. The method is two passes of de Casteljau's
    algorithm.
    """
    part[:GUARD_NODES] = b[:GUARD_NODES]
    for r in range(1, GUARD_NODES if low > 0.0 else 1):
        part[: GUARD_NODES - r] += low * (part[1 : 1 + GUARD_NODES - r] - part[: GUARD_NODES - r])
    share = (high - low) / (1.0 - low)
    for r in range(1, GUARD_NODES):
        for i in range(GUARD_DEGREE, r - 1, -1):
            part[i] = part[i - 1] + share * (part[i] - part[i - 1])


@routine
def find_next_zero(b: Floats, sign: float, at: float, end: float, part: Floats) -> float:
    """Return the first zero after `at` of a polynomial; NO_CROSSING if there is none before `end`.

    b are the Bernstein coefficients over [0, 1], `sign` is the sign of the polynomial at `at`, and `part` is
    scratch. A zero beyond `end` is returned if the search has isolated it: `end` only saves effort.
    """
    low = at
    width = 1.0 - at
    while low < min(end, 1.0 - ZERO_RESOLUTION):
        restrict_to_interval(b, low, low + width, part)
        # The number of sign changes bounds the number of zeros in the interval.
        changes = 0
        latest_sign = sign
        for j in range(1, GUARD_NODES):
            if latest_sign * part[j] < 0.0:
                changes += 1
                latest_sign = -latest_sign
        if changes == 0:
            low += width
            width = min(2.0 * width, 1.0 - low)
        elif changes == 1 and sign * part[0] > 0.0:
            return low + width * find_only_zero(part, part[GUARD_NODES:])
        elif width < ZERO_RESOLUTION:
            return low
        else:
            width *= 0.5
    return NO_CROSSING


@routine
def find_only_zero(b: Floats, part: Floats) -> float:
    """Return the only zero in [0, 1] of a polynomial, by the Illinois variant of the regula falsi.

    The first and the last of the Bernstein coefficients b have different signs; `part` is scratch.
    """
    low = 0.0
    high = 1.0
    low_value = b[0]
    high_value = b[GUARD_DEGREE]
    last_side = 0
    position = 0.0
    for _ in range(100):
        position = low + (high - low) * low_value / (low_value - high_value)
        value = evaluate_polynomial(b, position, part)
        # If the same end of the interval moves twice, halve the function value at the other end, so that
        # this end moves as well (Illinois rule).
        if low_value * value > 0.0:
            low = position
            low_value = value
            high_value = 0.5 * high_value if last_side == -1 else high_value
            last_side = -1
        else:
            high = position
            high_value = value
            low_value = 0.5 * low_value if last_side == 1 else low_value
            last_side = 1
        if high - low < ZERO_RESOLUTION or value == 0.0:
            break
    return position


@routine
def evaluate_polynomial(b: Floats, at: float, part: Floats) -> float:
    """Return the value at `at` of a polynomial with Bernstein coefficients b over [0, 1] (de Casteljau)."""
    part[:GUARD_NODES] = b[:GUARD_NODES]
    for r in range(1, GUARD_NODES):
        part[: GUARD_NODES - r] += at * (part[1 : 1 + GUARD_NODES - r] - part[: GUARD_NODES - r])
    return part[0]


@routine
def find_minimum(b: Floats, low: float, high: float, part: Floats) -> float:
    """Return the position of the minimum of a polynomial between `low` and `high`, by ternary search.

    b are the Bernstein coefficients over [0, 1]. The polynomial first decreases and then increases in the
    interval.
    """
    # Each round of the ternary search keeps two thirds of the interval: 60 rounds reach 1e-11 of it.
    begin = low
    end = high
    for _ in range(60):
        third = (end - begin) / 3.0
        first_value = evaluate_polynomial(b, begin + third, part)
        second_value = evaluate_polynomial(b, end - third, part)
        if first_value < second_value:
            end -= third
        else:
            begin += third
    return 0.5 * (begin + end)


@routine
def set_guards(
    s: ContactMode, falls: Integers, kinds: Integers, contacts: Integers, borders: Integers
) -> int:
    """List all guards of a contact mode: falls, gaps of open contacts, and guards of closed contacts.

    The kind, contact and border of each guard are written to `kinds`, `contacts` and `borders`. `falls` (2)
    is 1 for each active fall guard. Return the number of guards.
    """
    b = s.contacts
    count = 0
    for kind in range(2):
        if falls[kind] == 1:
            kinds[count] = kind
            contacts[count] = 0
            count += 1
    for k in range(b.size):
        if is_watched(s, k):
            kinds[count] = GuardKind.GAP
            contacts[count] = k
            count += 1
    for i in range(s.plan[CLOSED]):
        contact = s.which[i]
        first = count
        holds = count_rows(s.status[i]) > 0
        kinds[count] = GuardKind.NORMAL_FORCE if holds else GuardKind.DEFLECTION
        count += 1
        if s.mu[i] > 0.0:
            sticks = s.status[i] == Status.ROLLING
            kinds[count] = GuardKind.FRICTION_CONE if sticks else GuardKind.SLIP
            count += 1
        for border in range(b.first[contact], b.first[contact + 1]):
            kinds[count] = GuardKind.BORDER
            borders[count] = border
            count += 1
        if b.folds[contact] == 1:
            kinds[count] = GuardKind.FOLD
            count += 1
        contacts[first:count] = i
    return count


@routine
def is_watched(s: ContactMode, k: int) -> bool:
    """Return whether the gap of contact k is a guard.

    The contact must be open, and its ground feature must neither lie in nor contain a feature that the wheel
    already touches: the wheel reaches such a feature only at a border, by a hand-over.
    """
    b = s.contacts
    for i in range(s.plan[CLOSED]):
        closed = s.which[i]
        if k == closed:
            return False
        has_same_wheel = b.wheels[k] == b.wheels[closed]
        has_same_ground = b.moved[k] == b.moved[closed]
        if has_same_wheel and has_same_ground and is_part_of_feature(s.motion.tol, b, closed, k):
            return False
    return True


@routine
def is_part_of_feature(tol: Tolerances, b: ContactColumns, closed: int, other: int) -> bool:
    """Return whether one of the ground features of two contacts lies in the other.

    This holds for coplanar faces, edges and vertices in the plane of a face, and vertices on the line of an
    edge.
    """
    # Flats of other bodies and stops of joints have no position in the world.
    if b.carried[closed] == 1 or b.carried[other] == 1:
        return False
    # On ground that is more curved than the wheel, a second contact may close on any other patch.
    if b.patches[closed] == 1 or b.patches[other] == 1:
        return False
    if b.planes[closed] == 0 and b.planes[other] == 1:
        return lies_in_plane(tol, b, other, closed)
    if b.planes[closed] == 1 and b.planes[other] == 0:
        return lies_in_plane(tol, b, closed, other)
    first = b.features[closed * FEATURE :]
    second = b.features[other * FEATURE :]
    if b.planes[closed] == 1:
        tilt = max_difference(first, second, 3)
        return tilt < tol.parallel and abs(first[3] - second[3]) < tol.same_feature
    if (max_norm(first[3:], 3) > 0.0) == (max_norm(second[3:], 3) > 0.0):
        return False  # both features are edges, or both are vertices
    # Distance of the vertex from the line of the edge: the cross product of their difference with the
    # direction of the edge. Which of both features is the edge does not matter: the direction that is
    # stored for a vertex is zero, so that the sum of both directions is that of the edge.
    distance = 0.0
    for j in range(3):
        u = (j + 1) % 3
        v = (j + 2) % 3
        product = (second[u] - first[u]) * (second[3 + v] + first[3 + v])
        product -= (second[v] - first[v]) * (second[3 + u] + first[3 + u])
        distance = max(distance, abs(product))
    return distance < tol.same_feature


@routine
def lies_in_plane(tol: Tolerances, b: ContactColumns, plane: int, other: int) -> bool:
    """Return whether the edge or vertex of contact `other` lies in the face plane of contact `plane`."""
    N = b.features[plane * FEATURE :]
    Q = b.features[other * FEATURE :]
    is_near = abs(dot(N, Q, 3) - N[3]) < tol.same_feature
    return is_near and abs(dot(N, Q[3:], 3)) < tol.parallel
