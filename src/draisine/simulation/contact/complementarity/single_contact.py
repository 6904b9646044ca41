"""Coulomb's law at one contact, exactly.

Problem. Find lam (normal, along, across) with u = W lam + b and

    0 <= lam_n _|_ u_n >= 0,   |lam_t| <= mu lam_n,   u_t = 0 or lam_t = -mu lam_n u_t / |u_t|

Method. Write the slip as u_t = -ratio lam_t, with a ratio from zero (the contact sticks) to infinity. Then
(W + ratio P) lam = -b with P the projection on the tangent plane, eq. [slip-ratio]. This system has a
solution for every ratio, in closed form along the principal axes of the tangential block. If the solution for
ratio zero is inside the friction cone, the contact sticks. Otherwise the solution for an infinite ratio is
inside, and at a ratio in between the solution is on the cone.
"""

from math import isfinite, sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import routine
from draisine.simulation.contact.complementarity.linear import plane_norm

SMALLEST_RATIO_POWER = 10.0
"""Number of decades of the search range of the ratio of slip to friction: from the largest ratio down to
1e-10 of it.
"""

RATIO_STEPS = 60
"""Number of steps of the search for the ratio of slip to friction; neighbouring ratios differ by the factor
1.47.
"""

MAX_BISECTIONS = 1100
"""Largest number of bisections of the ratio; there are fewer floating-point numbers between two ratios."""

SMALLEST_STIFFNESS = 1e-14
"""Tangential entry of W, as a fraction of the normal entry, below which it counts as a rounding error."""


@routine
def slide_at_ratio(f: Floats, ratio: float, mu: float, lam: Floats) -> float:
    """Compute the force lam whose slip is -ratio lam_t, with tangential components along the principal axes,
    eq. [slip-ratio]. Return its distance outside the friction cone.

    f contains two tangential stiffnesses, the free slip (2), its coupling to the normal motion (2), the
    normal stiffness and the normal velocity.
    """
    lam[1] = -f[2] / (f[0] + ratio)
    lam[2] = -f[3] / (f[1] + ratio)
    lam[0] = -(f[7] + f[4] * lam[1] + f[5] * lam[2]) / f[6]
    return plane_norm(lam[1], lam[2]) - mu * lam[0]


@routine
def find_sliding(f: Floats, mu: float, lam: Floats) -> None:
    """Compute the force lam on the friction cone with the largest ratio of slip to friction, if one
    exists.
    """
    largest = 2.0 * plane_norm(f[2], f[3]) * (f[6] + mu * plane_norm(f[4], f[5])) / (mu * -f[7])
    low = 0.0
    high = 0.0
    step = 0
    while step <= RATIO_STEPS:
        high = low
        low = largest * 10.0 ** (-SMALLEST_RATIO_POWER * step / RATIO_STEPS)
        if slide_at_ratio(f, low, mu, lam) > 0.0:
            break
        step += 1
    if step > RATIO_STEPS:
        high = low
        low = 0.0
        if not slide_at_ratio(f, low, mu, lam) > 0.0:
            return
    for _ in range(MAX_BISECTIONS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if slide_at_ratio(f, middle, mu, lam) > 0.0:
            low = middle
        else:
            high = middle
    slide_at_ratio(f, high, mu, lam)


@routine
def solve_single_contact(W: Floats, n: int, b: Floats, mu: float, lam: Floats, f: Floats) -> int:
    """Solve Coulomb's law for the force lam (3) of one contact, which is open, sticks or slides. Return 1 if
    no solution exists, which happens with infinite friction only.

    Rows of W are n entries apart; f is scratch of 8 entries.
    """
    lam[:3] = 0.0
    if b[0] >= 0.0:
        return 0
    if mu == 0.0:
        lam[0] = -b[0] / W[0]
        return 0
    # Eliminate the normal row, then turn to the principal axes of the tangential block (Jacobi).
    stiff = W[0]
    a1 = W[n]
    a2 = W[2 * n]
    p = W[n + 1] - a1 * a1 / stiff
    q = W[2 * n + 1] - a1 * a2 / stiff
    r = W[2 * n + 2] - a2 * a2 / stiff
    turn = 0.0
    if q != 0.0:
        t = 0.5 * (r - p) / q
        turn = 1.0 / (abs(t) + sqrt(1.0 + t * t))
        turn = -turn if t < 0.0 else turn
    c = 1.0 / sqrt(1.0 + turn * turn)
    s = turn * c
    d1 = b[1] - a1 * b[0] / stiff
    d2 = b[2] - a2 * b[0] / stiff
    f[0] = max(p - turn * q, SMALLEST_STIFFNESS * stiff)
    f[1] = max(r + turn * q, SMALLEST_STIFFNESS * stiff)
    f[2] = c * d1 - s * d2
    f[3] = s * d1 + c * d2
    f[4] = c * a1 - s * a2
    f[5] = s * a1 + c * a2
    f[6] = stiff
    f[7] = b[0]
    outside = slide_at_ratio(f, 0.0, mu if isfinite(mu) else 0.0, lam)
    if not isfinite(mu):
        if lam[0] < 0.0:
            return 1
    elif outside > 0.0:
        find_sliding(f, mu, lam)
    lam[1], lam[2] = c * lam[1] + s * lam[2], c * lam[2] - s * lam[1]
    return 0
