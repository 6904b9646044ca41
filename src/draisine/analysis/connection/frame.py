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
        return _evaluate_chebyshev(self.coefficients, self._scale_to_unit_interval(r))

    def derivatives(self, r: Any) -> Floats:
        """Return the derivatives of (x, y, angle) by the two joints at shapes r, (..., 2, 3)."""
        return (
            _differentiate_chebyshev(self.coefficients, self._scale_to_unit_interval(r))
            * (2.0 / (self.high - self.low))[:, None]
        )

    def twist(self, h: Floats, A: Floats) -> Floats:
        """Return twists (..., 3, k) of the base expressed in the frame h, Ad(h^-1) A."""
        return _transform_to_frame(h, A)

    def _scale_to_unit_interval(self, shapes: Any) -> Floats:
        """Return the shapes mapped from the region to [-1, 1]."""
        shapes = np.asarray(shapes, float)
        return (2.0 * shapes - self.low - self.high) / (self.high - self.low)


def frame_curvature(
    connection: LocalConnection, shapes: Floats, frame: QuietFrame | None
) -> Floats:
    """Return the curvature (..., 3) at shapes (..., 2), expressed in `frame`; None is the base's frame."""
    F = connection.curvature(shapes, *connection.joints)
    return F if frame is None else frame.twist(frame(shapes), F[..., None])[..., 0]


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
    # Leave out the constant term of the polynomials: it does not change the magnitude of the
    # connection.
    used = (used > 0) & (used <= degree)

    def expand_unknowns(unknowns: Floats) -> Floats:
        """Return the coefficients (3, n, n) from the vector of unknowns."""
        out = np.zeros((3, size, size))
        out[:, used] = unknowns.reshape(3, -1)
        return out

    def connection_residuals(unknowns: Floats) -> Floats:
        """Return the entries of the connection in the frame at all nodes, for least squares."""
        frame = QuietFrame(low, high, expand_unknowns(unknowns), 0.0, 0.0)
        r = low + (x + 1.0) * (high - low) / 2.0
        return _connection_in_frame(frame, r, A).ravel()

    start = np.zeros(3 * int(used.sum()))
    from scipy.optimize import least_squares

    fit = least_squares(
        connection_residuals, start, method="trf", xtol=1e-12, ftol=1e-12, gtol=1e-12
    )
    before, after = (
        float(np.sqrt(np.mean(connection_residuals(flat) ** 2))) for flat in (start, fit.x)
    )
    return QuietFrame(low, high, expand_unknowns(fit.x), before, after)


def _connection_in_frame(frame: QuietFrame, shapes: Floats, connection: Floats) -> Floats:
    """Return the connection Ad(h^-1) A - h^-1 dh in a frame h, from A of the base, (..., 3, joints)."""
    h = frame(shapes)
    slopes = frame.derivatives(shapes)
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
    return _transform_to_frame(h, connection) - turned


def _transform_to_frame(frames: Floats, connection: Floats) -> Floats:
    """Return Ad(h^-1) A for planar frames and a connection A: the velocity of the frame in its
    own axes.
    """
    x = frames[..., 0]
    y = frames[..., 1]
    c = np.cos(frames[..., 2])
    s = np.sin(frames[..., 2])
    vx = connection[..., 0, :] - y[..., None] * connection[..., 2, :]
    vy = connection[..., 1, :] + x[..., None] * connection[..., 2, :]
    along = c[..., None] * vx + s[..., None] * vy
    across = -s[..., None] * vx + c[..., None] * vy
    return np.stack([along, across, connection[..., 2, :]], axis=-2)


def _evaluate_chebyshev(coefficients: Floats, points: Floats) -> Floats:
    """Return the values (..., 3) of Chebyshev series at points (..., 2)."""
    values = [
        chebyshev.chebval2d(points[..., 0], points[..., 1], matrix) for matrix in coefficients
    ]
    return np.stack(values, axis=-1)


def _differentiate_chebyshev(coefficients: Floats, points: Floats) -> Floats:
    """Return the derivatives (..., 2, 3) of Chebyshev series at points (..., 2)."""
    out = []
    for axis in (0, 1):
        changed = [chebyshev.chebder(matrix, axis=axis) for matrix in coefficients]
        out.append(
            [chebyshev.chebval2d(points[..., 0], points[..., 1], matrix) for matrix in changed]
        )
    return np.moveaxis(np.asarray(out), (0, 1), (-2, -1))
