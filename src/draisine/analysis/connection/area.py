"""What a gait does, by the curvature that it encloses: Stokes' theorem, exact for small loops."""

from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.frame import QuietFrame, frame_curvature
from draisine.analysis.connection.gait import ShapePath
from draisine.analysis.connection.local import LocalConnection

NODES = 24
"""How many points of Gauss between two corners, and from the middle outwards."""


def area_displacement(
    connection: LocalConnection, path: ShapePath, theta: Any, frame: QuietFrame | None = None
) -> Floats:
    """Return the integral (twist) of the curvature over the inside of a path of two joints, eq.
    [area-rule]: about what one cycle does, in the frame at its start.

    The path must be seen whole from its middle. What is left out grows with the third power of its
    size, much slower in a `quiet_frame`.
    """
    theta = np.asarray(theta, float)
    x, w = np.polynomial.legendre.leggauss(NODES)
    corners = [0.0, *path.corners, 1.0]
    spans = [(a + b) / 2 + (b - a) / 2 * x for a, b in pairwise(corners)]
    weights = [(b - a) / 2 * w for a, b in pairwise(corners)]
    s, ws = np.concatenate(spans), np.concatenate(weights)
    rim, speed = path.shapes(s) @ theta, path.rates(s) @ theta
    middle = np.average(rim, axis=0, weights=ws)
    arm = rim - middle
    swept = arm[:, 0] * speed[:, 1] - arm[:, 1] * speed[:, 0]
    rho, wr = (x + 1.0) / 2.0, w / 2.0
    r = middle + rho[:, None, None] * arm
    F = frame_curvature(connection, r, frame)
    return np.einsum("r,s,rsi->i", wr * rho, ws * swept, F)
