"""Smooth patches of the ground: polynomials z = h(x, y) over a rectangle, their layout and evaluation.

A patch is stored as `PATCH` numbers: origin (x, y), inverse lengths su and sv (1/m), which make u and v
dimensionless, the rectangle in which a search for its contact point begins, and the coefficients c_ij of

    h(x, y) = sum c_ij u^i v^j,    u = (x - x0) su,    v = (y - y0) sv.
"""

from typing import NamedTuple

from draisine.algebra.scalar import Array, Scalar

PATCH_DEGREE = 3
"""Degree of the polynomial in x and in y. Cubic splines have continuous curvature, so that contact forces
are continuous from patch to patch. Each patch is a separate ground feature, and an integration interval
ends at its border: the integrator never steps over a jump of the third derivative.
"""

PATCH_ORIGIN = slice(0, 2)
PATCH_SCALE = slice(2, 4)
PATCH_LOW = slice(4, 6)
PATCH_HIGH = slice(6, 8)
PATCH_COEFFICIENTS = slice(8, 8 + (PATCH_DEGREE + 1) ** 2)
"""Slices of the array (PATCH,) that stores a patch: origin (m), inverse lengths (1/m), lower and upper
corner of the rectangle (m), and coefficients (m), those of u^0 first.
"""

PATCH = PATCH_COEFFICIENTS.stop
"""Number of values that store one patch."""


class Heights(NamedTuple):
    """Height of a patch at a point, and its derivatives with respect to x and y."""

    h: Scalar  # height, m
    x: Scalar  # slope along x
    y: Scalar  # slope along y
    xx: Scalar  # second derivative, 1/m
    xy: Scalar  # mixed second derivative, 1/m
    yy: Scalar  # second derivative, 1/m


def evaluate_patch(cell: Array, x: Scalar, y: Scalar) -> Heights:
    """Return height and derivatives of a patch at (x, y) by Horner's rule, for any scalar type.

    Parameters
    ----------
    cell
        Array that stores the patch, (PATCH,) or (PATCH, ...) for many patches.
    x, y
        Coordinates (m).

    Examples
    --------
    >>> import numpy as np
    >>> cell = np.zeros(PATCH)
    >>> cell[PATCH_SCALE] = 2.0
    >>> cell[8 + 4] = 0.3  # h = 0.3 u = 0.6 x
    >>> evaluate_patch(cell, 0.5, 7.0)[:3]
    (np.float64(0.3), np.float64(0.6), np.float64(0.0))
    """
    x0, y0 = cell[PATCH_ORIGIN]
    su, sv = cell[PATCH_SCALE]
    u = (x - x0) * su
    v = (y - y0) * sv
    order = PATCH_DEGREE + 1
    first = PATCH_COEFFICIENTS.start
    rows = [
        _evaluate_horner([cell[first + order * i + j] for j in range(order)], v)
        for i in range(order)
    ]
    h, hu, huu = _evaluate_horner([row[0] for row in rows], u)
    hv, huv, _ = _evaluate_horner([row[1] for row in rows], u)
    hvv, _, _ = _evaluate_horner([row[2] for row in rows], u)
    return Heights(h, su * hu, sv * hv, su * su * huu, su * sv * huv, sv * sv * hvv)


def _evaluate_horner(coefficients: list[Scalar], x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return the value at x of a polynomial with ascending coefficients, and its first two derivatives."""
    value = coefficients[-1]
    slope: Scalar = 0.0
    half_bend: Scalar = 0.0
    for coefficient in coefficients[-2::-1]:
        half_bend = half_bend * x + slope
        slope = slope * x + value
        value = value * x + coefficient
    return value, slope, 2.0 * half_bend
