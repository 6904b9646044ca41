"""The body frame that a gait shakes least: minimal-perturbation coordinates.

The base's origin is an arbitrary choice, and a bad one turns to and fro without getting anywhere. A
frame h(r) that moves over the body with its shape has the connection `A' = Ad(h^-1) A - h^-1 dh`,
eq. [moved-frame]; the quiet one makes A' small over a region, so that curvature tells what a gait
does. After Hatton and Choset 2011, doi:10.1177/0278364910394392, by least squares over polynomials.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.local import LocalConnection
from draisine.errors import ModelError, ParameterError

PLANE = ("Vx", "Vy", "Wz")


@dataclass(frozen=True, eq=False)
class QuietFrame:
    """The frame h = (x, y, angle) on the base as polynomials of two joints between `low` and `high`,
    and the mean size of the connection there, as drawn and in this frame.
    """

    low: Floats
    high: Floats
    coefficients: Floats
    before: float
    after: float

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
        r = np.asarray(r, float)
        return (2.0 * r - self.low - self.high) / (self.high - self.low)


def frame_curvature(connection: LocalConnection, r: Floats, frame: QuietFrame | None) -> Floats:
    """Return the curvature in the plane of two joints for shapes (..., 2), as the base has it or, if
    one is given, a frame on it.
    """
    F = connection.curvature(r, *connection.joints)
    return F if frame is None else frame.twist(frame(r), F[..., None])[..., 0]


def quiet_frame(
    connection: LocalConnection, low: Any, high: Any, degree: int = 6, points: int = 17
) -> QuietFrame:
    """Return the frame that makes the connection smallest between two corners of shape space."""
    if connection.twist != PLANE or len(connection.joints) != 2:
        raise ModelError("quiet frames are for machines in the plane with two joints.")
    low, high = np.asarray(low, float), np.asarray(high, float)
    if not (low < high).all():
        raise ParameterError(f"the region from {low} to {high} is empty.")
    nodes = np.cos(np.pi * (np.arange(points) + 0.5) / points)
    x = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1)
    A = connection(low + (x + 1.0) * (high - low) / 2.0)
    size = degree + 1
    used = np.add.outer(np.arange(size), np.arange(size))
    used = (used > 0) & (used <= degree)

    def spread(flat: Floats) -> Floats:
        out = np.zeros((3, size, size))
        out[:, used] = flat.reshape(3, -1)
        return out

    def left(flat: Floats) -> Floats:
        frame = QuietFrame(low, high, spread(flat), 0.0, 0.0)
        r = low + (x + 1.0) * (high - low) / 2.0
        return _moved(frame, r, A).ravel()

    start = np.zeros(3 * int(used.sum()))
    from scipy.optimize import least_squares

    found = least_squares(left, start, method="trf", xtol=1e-12, ftol=1e-12, gtol=1e-12)
    before, after = (float(np.sqrt(np.mean(left(flat) ** 2))) for flat in (start, found.x))
    return QuietFrame(low, high, spread(found.x), before, after)


def _moved(frame: QuietFrame, r: Floats, A: Floats) -> Floats:
    """Return A' = Ad(h^-1) A - h^-1 dh."""
    h, slopes = frame(r), frame.derivatives(r)
    own = np.swapaxes(slopes, -1, -2)  # (..., 3, joints), in the base's axes
    c, s = np.cos(h[..., 2]), np.sin(h[..., 2])
    turned = np.stack(
        [
            c[..., None] * own[..., 0, :] + s[..., None] * own[..., 1, :],
            -s[..., None] * own[..., 0, :] + c[..., None] * own[..., 1, :],
            own[..., 2, :],
        ],
        axis=-2,
    )
    return _carry(h, A) - turned


def _carry(h: Floats, A: Floats) -> Floats:
    """Return Ad(h^-1) A in the plane: the velocity at h, in its axes."""
    x, y, c, s = h[..., 0], h[..., 1], np.cos(h[..., 2]), np.sin(h[..., 2])
    vx = A[..., 0, :] - y[..., None] * A[..., 2, :]
    vy = A[..., 1, :] + x[..., None] * A[..., 2, :]
    along = c[..., None] * vx + s[..., None] * vy
    across = -s[..., None] * vx + c[..., None] * vy
    return np.stack([along, across, A[..., 2, :]], axis=-2)


def _series(coefficients: Floats, x: Floats) -> Floats:
    values = [chebyshev.chebval2d(x[..., 0], x[..., 1], one) for one in coefficients]
    return np.stack(values, axis=-1)


def _slopes(coefficients: Floats, x: Floats) -> Floats:
    out = []
    for axis in (0, 1):
        changed = [chebyshev.chebder(one, axis=axis) for one in coefficients]
        out.append([chebyshev.chebval2d(x[..., 0], x[..., 1], one) for one in changed])
    return np.moveaxis(np.asarray(out), (0, 1), (-2, -1))
