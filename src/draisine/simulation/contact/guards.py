"""Where a guard turns negative on an interval, with a stated certainty, as routines.

A guard is known by its values at nine Chebyshev nodes. The polynomial through them is written in
Bernstein's form, whose coefficients bound it from below: no coefficient below zero, no crossing.
The last terms of its Chebyshev series estimate how far the guard is from it, eq. [guard-fit].
"""

import math

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import routine

NODES = 9
"""At how many places a guard is looked at."""

DEGREE = NODES - 1

FINEST = 1e-14
"""How well zeros of polynomials are located."""

NEVER = 2.0
"""Where a guard vanishes that does not."""

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
        total = 0.0
        for i in range(NODES):
            total += basis[j * NODES + i] * values[i]
        b[j] = total
    tail = 0.0
    for j in range(2):
        total = 0.0
        for i in range(NODES):
            total += basis[TAIL + j * NODES + i] * values[i]
        tail += abs(total)
    return tail


@routine
def restrict(b: Floats, low: float, high: float, part: Floats) -> None:
    """Write the coefficients over [low, high] of the polynomial with the coefficients b over [0, 1]."""
    for i in range(NODES):
        part[i] = b[i]
    for r in range(1, NODES):
        for i in range(NODES - r):
            part[i] += low * (part[i + 1] - part[i])
    share = (high - low) / (1.0 - low)
    for r in range(1, NODES):
        for i in range(DEGREE, r - 1, -1):
            part[i] = part[i - 1] + share * (part[i] - part[i - 1])


@routine
def next_zero(b: Floats, sign: float, at: float, part: Floats) -> float:
    """Return the first zero behind `at` of the polynomial with the coefficients b over [0, 1], which
    has the given sign there; NEVER if there is none.

    Intervals are passed from the left while no coefficient over them has the other sign, and halved
    where one has.
    """
    low, width = at, 1.0 - at
    while low < 1.0 - FINEST:
        restrict(b, low, low + width, part)
        j = 1
        while j < NODES:
            if sign * part[j] < 0.0:
                break
            j += 1
        if j == NODES:
            low += width
            width = min(2.0 * width, 1.0 - low)
        elif width < FINEST:
            return low
        else:
            width *= 0.5
    return NEVER


@routine
def read(b: Floats, at: float, part: Floats) -> float:
    """Return the value of the polynomial with the coefficients b over [0, 1]."""
    for i in range(NODES):
        part[i] = b[i]
    for r in range(1, NODES):
        for i in range(NODES - r):
            part[i] += at * (part[i + 1] - part[i])
    return part[0]


@routine
def lowest(b: Floats, low: float, high: float, part: Floats) -> float:
    """Return where the polynomial with the coefficients b is least between two places, on which it
    falls and rises again.
    """
    left, right = low, high
    for _ in range(60):
        third = (right - left) / 3.0
        if read(b, left + third, part) < read(b, right - third, part):
            right -= third
        else:
            left += third
    return 0.5 * (left + right)
