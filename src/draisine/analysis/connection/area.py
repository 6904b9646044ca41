"""Approximate displacement by a small gait: the integral of the connection's curvature over the area that the
gait encloses in shape space (Stokes' theorem).
"""

from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.frame import QuietFrame, frame_curvature
from draisine.analysis.connection.gait import ShapePath
from draisine.analysis.connection.local import LocalConnection

GAUSS_NODES = 24
"""Number of Gauss quadrature nodes between two corners of the path, and along each radius of the area."""


def area_displacement(
    connection: LocalConnection, path: ShapePath, theta: Any, frame: QuietFrame | None = None
) -> Floats:
    """Integrate the curvature over the area enclosed by a path of two joints, eq. [area-rule].

    The result (twist,) approximates the displacement of the base in one cycle, as a twist in the initial
    frame. Its error is of third order in the size of the path, and much smaller in a `quiet_frame`. The
    area must be star-shaped about its centre. `theta` are the parameters of the path.
    """
    theta = np.asarray(theta, float)
    x, w = np.polynomial.legendre.leggauss(GAUSS_NODES)
    corners = [0.0, *path.corners, 1.0]
    spans = [(a + b) / 2 + (b - a) / 2 * x for a, b in pairwise(corners)]
    weights = [(b - a) / 2 * w for a, b in pairwise(corners)]
    s = np.concatenate(spans)
    ws = np.concatenate(weights)
    rim = path.shapes(s) @ theta
    speed = path.rates(s) @ theta
    middle = np.average(rim, axis=0, weights=ws)
    arm = rim - middle
    swept = arm[:, 0] * speed[:, 1] - arm[:, 1] * speed[:, 0]
    rho = (x + 1.0) / 2.0
    wr = w / 2.0
    r = middle + rho[:, None, None] * arm
    F = frame_curvature(connection, r, frame)
    return np.einsum("r,s,rsi->i", wr * rho, ws * swept, F)
