"""Coulomb's law at one contact, exactly.

Problem. Find lam (normal, along, across) with u = W lam + b and

    0 <= lam_n _|_ u_n >= 0,   |lam_t| <= mu lam_n,   u_t = 0 or lam_t = -mu lam_n u_t / |u_t|

Method. Write the slip as u_t = -ratio lam_t, with a ratio from zero (the contact sticks) to infinity. Then
(W + ratio P) lam = -b with P the projection on the tangent plane, eq. [slip-ratio]. This system has a
solution for every ratio, in closed form along the principal axes of the tangential block. If the solution for
ratio zero is inside the friction cone, the contact sticks. Otherwise the contact slides: the solution for an
infinite ratio is inside the cone, and bisection finds a ratio in between for which the solution is on the
cone.
"""

from math import isfinite, sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import routine
from draisine.simulation.contact.complementarity.linear import plane_norm

SMALLEST_RATIO_POWER = 10.0
"""Number of decades of the ratio of slip to friction force that are searched, down from the largest ratio."""

RATIO_STEPS = 60
"""Number of steps of the search for the ratio of slip to friction force, a factor of 1.47 each."""

MAX_BISECTIONS = 1100
"""Largest number of bisections of the ratio; rounding ends the bisection earlier."""

SMALLEST_STIFFNESS = 1e-14
"""Smallest tangential stiffness, over the normal entry of W; a smaller one is a rounding error."""


@routine
def slide_at_ratio(f: Floats, ratio: float, mu: float, lam: Floats) -> float:
    """Compute the force lam (3) whose slip is -ratio lam_t, eq. [slip-ratio].

    The tangential components are those along the principal axes. f (8) contains two tangential entries of W,
    the free slip (2), the coupling of tangential and normal motion (2), the normal entry of W, and the free
    normal motion. Return
    |lam_t| - mu lam_n, which is positive outside the friction cone.
    """
    lam[1] = -f[2] / (f[0] + ratio)
    lam[2] = -f[3] / (f[1] + ratio)
    lam[0] = -(f[7] + f[4] * lam[1] + f[5] * lam[2]) / f[6]
    return plane_norm(lam[1], lam[2]) - mu * lam[0]


@routine
def find_sliding(f: Floats, mu: float, lam: Floats) -> None:
    """Compute the force lam (3) on the friction cone with the largest ratio of slip to friction force.

    f is that of `slide_at_ratio`. If there is no such ratio, lam is the sticking force.
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
    """Solve Coulomb's law for the force or impulse lam (3) of one contact, which is open, sticks or slides.

    W is the Delassus matrix (3, 3) with rows n entries apart, b (3) the motion without contact forces, and f
    scratch of 8 entries. Return 0, or 1 if there is no solution, which happens with infinite friction only.
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
