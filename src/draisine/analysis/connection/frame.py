"""Minimum-perturbation coordinates: the body frame with the smallest connection.

The origin of the base is an arbitrary choice, and many choices oscillate without net displacement. A
frame h(r) that moves on the body with its shape has the connection `A' = Ad(h^-1) A - h^-1 dh`,
eq. [moved-frame]. The quiet frame minimises A' over a region, so that the curvature approximates
displacements. After Hatton and Choset 2011, doi:10.1177/0278364910394392, by least squares over polynomials.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.local import LocalConnection
from draisine.errors import ModelError, ParameterError

PLANAR_TWIST = ("Vx", "Vy", "Wz")  # velocities of a planar base


@dataclass(frozen=True, eq=False)
class QuietFrame:
    """A frame h = (x, y, angle) on the base, polynomials of two joints."""

    low: Floats  # (2,) lower corner of the region, rad
    high: Floats  # (2,) upper corner
    coefficients: Floats  # (3, n, n) of Chebyshev polynomials
    before: float  # root mean square of the connection in the region, as drawn
    after: float  # and in this frame

    def __call__(self, r: Any) -> Floats:
        """Return (x, y, angle) of the frame for shapes (..., 2)."""
        return _series(self.coefficients, self._scaled(r))

    def derivatives(self, r: Any) -> Floats:
        """Return the derivatives of (x, y, angle) by the joints, (..., 2, 3)."""
        return _slopes(self.coefficients, self._scaled(r)) * (2.0 / (self.high - self.low))[:, None]

    def twist(self, h: Floats, A: Floats) -> Floats:
        """Return columns of twists (..., 3, k) of the base as those of the frame, Ad(h^-1) A."""
        return _carry(h, A)

    def _scaled(self, r: Any) -> Floats:
        """Return shapes mapped to [-1, 1]."""
        r = np.asarray(r, float)
        return (2.0 * r - self.low - self.high) / (self.high - self.low)


def frame_curvature(connection: LocalConnection, r: Floats, frame: QuietFrame | None) -> Floats:
    """Return the curvature (..., 3) at shapes (..., 2) of two joints, in a frame or else in the base."""
    F = connection.curvature(r, *connection.joints)
    return F if frame is None else frame.twist(frame(r), F[..., None])[..., 0]


def quiet_frame(
    connection: LocalConnection, low: Any, high: Any, degree: int = 6, points: int = 17
) -> QuietFrame:
    """Compute the frame with the smallest connection in a region of shape space.

    Parameters
    ----------
    connection
        Local connection of a planar machine with two joints, or of a planar slice.
    low, high
        Corners of the region (rad).
    degree
        Degree of the polynomials.
    points
        Chebyshev nodes per side of the region.

    Raises
    ------
    ModelError
        If the machine is not planar or has not two joints.
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
    used = (used > 0) & (used <= degree)  # a constant frame does not change the connection's size

    def expand(flat: Floats) -> Floats:
        out = np.zeros((3, size, size))
        out[:, used] = flat.reshape(3, -1)
        return out

    def residuals(flat: Floats) -> Floats:
        frame = QuietFrame(low, high, expand(flat), 0.0, 0.0)
        r = low + (x + 1.0) * (high - low) / 2.0
        return _moved(frame, r, A).ravel()

    start = np.zeros(3 * int(used.sum()))
    from scipy.optimize import least_squares

    fit = least_squares(residuals, start, method="trf", xtol=1e-12, ftol=1e-12, gtol=1e-12)
    before, after = (float(np.sqrt(np.mean(residuals(flat) ** 2))) for flat in (start, fit.x))
    return QuietFrame(low, high, expand(fit.x), before, after)


def _moved(frame: QuietFrame, r: Floats, A: Floats) -> Floats:
    """Return A' = Ad(h^-1) A - h^-1 dh, (..., 3, joints)."""
    h = frame(r)
    slopes = frame.derivatives(r)
    slopes_h = np.swapaxes(slopes, -1, -2)  # (..., 3, joints), in the base's axes
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
    """Return Ad(h^-1) A in the plane: the velocity at h, in its axes."""
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
    """Return the values (..., 3) of polynomials at x (..., 2)."""
    values = [chebyshev.chebval2d(x[..., 0], x[..., 1], matrix) for matrix in coefficients]
    return np.stack(values, axis=-1)


def _slopes(coefficients: Floats, x: Floats) -> Floats:
    """Return the derivatives (..., 2, 3) of polynomials at x (..., 2)."""
    out = []
    for axis in (0, 1):
        changed = [chebyshev.chebder(matrix, axis=axis) for matrix in coefficients]
        out.append([chebyshev.chebval2d(x[..., 0], x[..., 1], matrix) for matrix in changed])
    return np.moveaxis(np.asarray(out), (0, 1), (-2, -1))
