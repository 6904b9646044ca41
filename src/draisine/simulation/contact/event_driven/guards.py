"""Where a guard turns negative on an interval, with a stated certainty, as routines.

A guard is known by its values at nine Chebyshev nodes. The polynomial through them is written in
Bernstein's form, whose coefficients bound it from below: no coefficient below zero, no crossing.
The last terms of its Chebyshev series estimate how far the guard is from it, eq. [guard-fit].
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
    """Return how far below zero a guard of each kind may be: less is rounding, or grazes."""
    found = np.empty(len(GuardKind))
    found[[GuardKind.LEAN, GuardKind.OVERTURN]] = tol.fall_guard
    found[[GuardKind.GAP, GuardKind.DEFLECTION]] = tol.gap_guard
    found[[GuardKind.NORMAL_FORCE, GuardKind.FRICTION_CONE]] = tol.force_guard
    found[GuardKind.SLIP] = tol.slip_guard
    found[[GuardKind.BORDER, GuardKind.FOLD]] = tol.border_guard
    return found


NODES = 9
"""At how many places a guard is looked at."""

DEGREE = NODES - 1

FINEST = 1e-14
"""How well zeros of polynomials are located."""

NEVER = 2.0
"""Position in the step that is returned if a guard has no zero; beyond its end, 1."""

TAIL, PLACES = NODES * NODES, NODES * (NODES + 2)
"""Where the rows of the last two Chebyshev coefficients and the nodes stand in `BASIS`."""


def _basis() -> Floats:
    """Return the rows that lead from values at the nodes to Bernstein coefficients and to the last
    two Chebyshev coefficients, and the nodes.
    """
    angles = math.pi * np.arange(NODES) / DEGREE
    x = 0.5 * (1.0 - np.cos(angles))
    j = np.arange(NODES)
    binomials = np.array([math.comb(DEGREE, k) for k in j])
    powers = binomials * x[:, None] ** j * (1.0 - x[:, None]) ** (DEGREE - j)
    ends = np.where((j == 0) | (j == DEGREE), 0.5, 1.0)
    tail = [2.0 / DEGREE * ends * np.cos(k * angles) for k in (DEGREE - 1, DEGREE)]
    tail[1] = 0.5 * tail[1]
    return np.concatenate([np.linalg.inv(powers).ravel(), *tail, x])


BASIS = _basis()


@routine
def fit(basis: Floats, values: Floats, b: Floats) -> float:
    """Write the Bernstein coefficients of the polynomial through values at the nodes; return the
    size of the last two terms of its Chebyshev series, an estimate of its error.
    """
    for j in range(NODES):
        b[j] = dot(basis[j * NODES :], values, NODES)
    last = abs(dot(basis[TAIL:], values, NODES))
    return last + abs(dot(basis[TAIL + NODES :], values, NODES))


@routine
def restrict(b: Floats, low: float, high: float, part: Floats) -> None:
    """Write the coefficients over [low, high] of the polynomial with the coefficients b over [0, 1]."""
    part[:NODES] = b[:NODES]
    for r in range(1, NODES if low > 0.0 else 1):
        part[: NODES - r] += low * (part[1 : 1 + NODES - r] - part[: NODES - r])
    share = (high - low) / (1.0 - low)
    for r in range(1, NODES):
        for i in range(DEGREE, r - 1, -1):
            part[i] = part[i - 1] + share * (part[i] - part[i - 1])


@routine
def next_zero(b: Floats, sign: float, at: float, end: float, part: Floats) -> float:
    """Return the first zero of a polynomial with Bernstein coefficients b on [0, 1] after a place and
    before an end; NEVER if there is none. The polynomial has the given sign at the place.
    """
    low, width = at, 1.0 - at
    while low < min(end, 1.0 - FINEST):
        restrict(b, low, low + width, part)
        changes, now = 0, sign
        for j in range(1, NODES):
            if now * part[j] < 0.0:
                changes, now = changes + 1, -now
        if changes == 0:
            low += width
            width = min(2.0 * width, 1.0 - low)
        elif changes == 1 and sign * part[0] > 0.0:
            return low + width * only_zero(part, part[NODES:])
        elif width < FINEST:
            return low
        else:
            width *= 0.5
    return NEVER


@routine
def only_zero(b: Floats, part: Floats) -> float:
    """Return the one zero in [0, 1] of a polynomial with the coefficients b, the first and the last of
    which have different signs: by secants, halved where one end stays (Illinois' rule).
    """
    low, high, below, above, last, at = 0.0, 1.0, b[0], b[DEGREE], 0, 0.0
    for _ in range(100):
        at = low + (high - low) * below / (below - above)
        value = read(b, at, part)
        if below * value > 0.0:
            low, below = at, value
            above = 0.5 * above if last == -1 else above
            last = -1
        else:
            high, above = at, value
            below = 0.5 * below if last == 1 else below
            last = 1
        if high - low < FINEST or value == 0.0:
            break
    return at


@routine
def read(b: Floats, at: float, part: Floats) -> float:
    """Return the value of the polynomial with the coefficients b over [0, 1]."""
    part[:NODES] = b[:NODES]
    for r in range(1, NODES):
        part[: NODES - r] += at * (part[1 : 1 + NODES - r] - part[: NODES - r])
    return part[0]


@routine
def lowest(b: Floats, low: float, high: float, part: Floats) -> float:
    """Return the place of the minimum of the polynomial with the coefficients b between two places, on
    which it falls and rises again.
    """
    left, right = low, high
    for _ in range(60):
        third = (right - left) / 3.0
        if read(b, left + third, part) < read(b, right - third, part):
            right -= third
        else:
            left += third
    return 0.5 * (left + right)


@routine
def set_guards(
    s: ContactMode, falls: Integers, kinds: Integers, contacts: Integers, borders: Integers
) -> int:
    """Write the kinds of all guards of a mode, their contacts and borders (falls, gaps, guards of closed
    contacts); return their number.
    """
    count, b = 0, s.contacts
    for kind in range(2):
        if falls[kind] == 1:
            kinds[count], contacts[count] = kind, 0
            count += 1
    for k in range(b.size):
        if is_watched(s, k):
            kinds[count], contacts[count] = GuardKind.GAP, k
            count += 1
    for i in range(s.plan[CLOSED]):
        own, first = s.which[i], count
        holds = count_rows(s.status[i]) > 0
        kinds[count] = GuardKind.NORMAL_FORCE if holds else GuardKind.DEFLECTION
        count += 1
        if s.mu[i] > 0.0:
            sticks = s.status[i] == Status.ROLLING
            kinds[count] = GuardKind.FRICTION_CONE if sticks else GuardKind.SLIP
            count += 1
        for border in range(b.first[own], b.first[own + 1]):
            kinds[count], borders[count] = GuardKind.BORDER, border
            count += 1
        if b.folds[own] == 1:
            kinds[count] = GuardKind.FOLD
            count += 1
        contacts[first:count] = i
    return count


@routine
def is_watched(s: ContactMode, k: int) -> bool:
    """Return whether the gap of a contact is a guard: it is open, and its feature neither lies in nor
    contains the one under its wheel. Such a feature is met at the border only, where the hand-over decides.
    """
    b = s.contacts
    for i in range(s.plan[CLOSED]):
        own = s.which[i]
        if k == own:
            return False
        alike = b.wheels[k] == b.wheels[own] and b.moved[k] == b.moved[own]
        if alike and adjoins(s.motion.tol, b, own, k):
            return False
    return True


@routine
def adjoins(tol: Tolerances, b: ContactColumns, own: int, other: int) -> bool:
    """Return whether a feature of the ground lies in another one or contains it: coplanar faces, edges and
    vertices in a face's plane, vertices on an edge's line.
    """
    # The values of a flat or of a joint's stop are no place in the world.
    if b.carried[own] == 1 or b.carried[other] == 1:
        return False
    if b.planes[own] == 0 and b.planes[other] == 1:
        return lies_in_plane(tol, b, other, own)
    if b.planes[own] == 1 and b.planes[other] == 0:
        return lies_in_plane(tol, b, own, other)
    one = b.features[own * FEATURE :]
    two = b.features[other * FEATURE :]
    if b.planes[own] == 1:
        turned = max_difference(one, two, 3)
        return turned < tol.parallel and abs(one[3] - two[3]) < tol.same_feature
    if (max_norm(one[3:], 3) > 0.0) == (max_norm(two[3:], 3) > 0.0):
        return False  # two edges, or two vertices
    # The distance of the vertex from the edge's line, by a cross product; the direction of a vertex is 0.
    off = 0.0
    for j in range(3):
        u = (j + 1) % 3
        v = (j + 2) % 3
        across = (two[u] - one[u]) * (two[3 + v] + one[3 + v])
        off = max(off, abs(across - (two[v] - one[v]) * (two[3 + u] + one[3 + u])))
    return off < tol.same_feature


@routine
def lies_in_plane(tol: Tolerances, b: ContactColumns, plane: int, other: int) -> bool:
    """Return whether an edge or a vertex lies in a plane."""
    N = b.features[plane * FEATURE :]
    Q = b.features[other * FEATURE :]
    near = abs(dot(N, Q, 3) - N[3]) < tol.same_feature
    return near and abs(dot(N, Q[3:], 3)) < tol.parallel
