"""Minimum-perturbation coordinates: the body frame in which the connection is smallest.

The reference point of the base is arbitrary, and many choices oscillate during a gait without net
displacement. A body frame with the shape-dependent pose h(r) relative to the base has the connection
`A' = Ad(h^-1) A - h^-1 dh`, eq. [moved-frame]. The quiet frame minimises A' over a region of shape space, so
that the integral of the curvature approximates displacements well. Method: Hatton and Choset 2011,
doi:10.1177/0278364910394392, here by least squares over polynomials.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.local import LocalConnection
from draisine.errors import ModelError, ParameterError

PLANAR_TWIST = ("Vx", "Vy", "Wz")  # names of the velocities of a planar base


@dataclass(frozen=True, eq=False)
class QuietFrame:
    """Body frame h = (x, y, angle) relative to the base, polynomials in two joint coordinates."""

    low: Floats  # lower corner of the region in shape space, rad, (2,)
    high: Floats  # upper corner of the region, rad, (2,)
    coefficients: Floats  # coefficients of Chebyshev polynomials, (3, n, n)
    before: float  # RMS of the connection over the region in the frame of the base
    after: float  # RMS of the connection over the region in this frame

    def __call__(self, r: Any) -> Floats:
        """Return (x, y, angle) of the frame (m, m, rad) at shapes r (..., 2)."""
        return _series(self.coefficients, self._scaled(r))

    def derivatives(self, r: Any) -> Floats:
        """Return the derivatives of (x, y, angle) by the two joints at shapes r, (..., 2, 3)."""
        return _slopes(self.coefficients, self._scaled(r)) * (2.0 / (self.high - self.low))[:, None]

    def twist(self, h: Floats, A: Floats) -> Floats:
        """Return twists (..., 3, k) of the base expressed in the frame h, Ad(h^-1) A."""
        return _carry(h, A)

    def _scaled(self, r: Any) -> Floats:
        """Return the shapes r mapped from the region to [-1, 1]."""
        r = np.asarray(r, float)
        return (2.0 * r - self.low - self.high) / (self.high - self.low)


def frame_curvature(connection: LocalConnection, r: Floats, frame: QuietFrame | None) -> Floats:
    """Return the curvature (..., 3) at shapes r (..., 2), expressed in `frame`; None is the base's frame."""
    F = connection.curvature(r, *connection.joints)
    return F if frame is None else frame.twist(frame(r), F[..., None])[..., 0]


def quiet_frame(
    connection: LocalConnection, low: Any, high: Any, degree: int = 6, points: int = 17
) -> QuietFrame:
    """Compute the body frame with the smallest connection over a region of shape space.

    Parameters
    ----------
    connection
        Local connection of a planar system with two joints, or of a planar slice.
    low, high
        Lower and upper corner of the region in shape space (rad), (2,) each.
    degree
        Degree of the polynomials.
    points
        Number of Chebyshev nodes per side of the region.

    Raises
    ------
    ModelError
        If the system is not planar or does not have two joints.
    ParameterError
        If the region is empty.
    """
    if connection.twist != PLANAR_TWIST or len(connection.joints) != 2:
        raise ModelError(
            "quiet_frame needs a planar machine with two joints. Use a `slice` for more joints."
        )
    low = np.asarray(low, float)
    high = np.asarray(high, float)
    if not (low < high).all():
        raise ParameterError(f"quiet_frame: the region from {low} to {high} is empty.")
    nodes = np.cos(np.pi * (np.arange(points) + 0.5) / points)
    x = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1)
    A = connection(low + (x + 1.0) * (high - low) / 2.0)
    size = degree + 1
    used = np.add.outer(np.arange(size), np.arange(size))
    # Omit the constant term of the polynomials: it does not change the magnitude of the connection.
    used = (used > 0) & (used <= degree)

    def expand(flat: Floats) -> Floats:
        """Return the coefficients (3, n, n) from the vector of unknowns."""
        out = np.zeros((3, size, size))
        out[:, used] = flat.reshape(3, -1)
        return out

    def residuals(flat: Floats) -> Floats:
        """Return the entries of the connection in the frame at all nodes, for least squares."""
        frame = QuietFrame(low, high, expand(flat), 0.0, 0.0)
        r = low + (x + 1.0) * (high - low) / 2.0
        return _moved(frame, r, A).ravel()

    start = np.zeros(3 * int(used.sum()))
    from scipy.optimize import least_squares

    fit = least_squares(residuals, start, method="trf", xtol=1e-12, ftol=1e-12, gtol=1e-12)
    before, after = (float(np.sqrt(np.mean(residuals(flat) ** 2))) for flat in (start, fit.x))
    return QuietFrame(low, high, expand(fit.x), before, after)


def _moved(frame: QuietFrame, r: Floats, A: Floats) -> Floats:
    """Return the connection A' = Ad(h^-1) A - h^-1 dh in a frame, (..., 3, joints)."""
    h = frame(r)
    slopes = frame.derivatives(r)
    slopes_h = np.swapaxes(slopes, -1, -2)  # derivatives in the axes of the base, (..., 3, joints)
    c = np.cos(h[..., 2])
    s = np.sin(h[..., 2])
    turned = np.stack(
        [
            c[..., None] * slopes_h[..., 0, :] + s[..., None] * slopes_h[..., 1, :],
            -s[..., None] * slopes_h[..., 0, :] + c[..., None] * slopes_h[..., 1, :],
            slopes_h[..., 2, :],
        ],
        axis=-2,
    )
    return _carry(h, A) - turned


def _carry(h: Floats, A: Floats) -> Floats:
    """Return Ad(h^-1) A for planar frames h: the velocity at h in the axes of h."""
    x = h[..., 0]
    y = h[..., 1]
    c = np.cos(h[..., 2])
    s = np.sin(h[..., 2])
    vx = A[..., 0, :] - y[..., None] * A[..., 2, :]
    vy = A[..., 1, :] + x[..., None] * A[..., 2, :]
    along = c[..., None] * vx + s[..., None] * vy
    across = -s[..., None] * vx + c[..., None] * vy
    return np.stack([along, across, A[..., 2, :]], axis=-2)


def _series(coefficients: Floats, x: Floats) -> Floats:
    """Return the values (..., 3) of Chebyshev series at x (..., 2)."""
    values = [chebyshev.chebval2d(x[..., 0], x[..., 1], matrix) for matrix in coefficients]
    return np.stack(values, axis=-1)


def _slopes(coefficients: Floats, x: Floats) -> Floats:
    """Return the derivatives (..., 2, 3) of Chebyshev series at x (..., 2)."""
    out = []
    for axis in (0, 1):
        changed = [chebyshev.chebder(matrix, axis=axis) for matrix in coefficients]
        out.append([chebyshev.chebval2d(x[..., 0], x[..., 1], matrix) for matrix in changed])
    return np.moveaxis(np.asarray(out), (0, 1), (-2, -1))
