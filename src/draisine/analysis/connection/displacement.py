"""Where a gait leads: the base's pose along a closed path of the shape, with exact derivatives.

The connection is known at all points of the path at once; the pose follows by the sixth-order
expansion of Magnus, step by step on the group, its derivatives by a quadrature along the way.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.lie import yaw_lean_pitch
from draisine.algebra.scalar import Floats
from draisine.analysis.connection.gait import ShapePath
from draisine.analysis.connection.local import LocalConnection
from draisine.errors import ParameterError
from draisine.model import TWIST

STEPS = 512
"""Steps in one cycle, shared by its smooth pieces: errors are below 1e-12 for gaits of some radians."""

BOOLE = np.array([28.0, 64.0, 24.0, 64.0]) / 45.0
"""Weights of a quadrature of sixth order, the first being shared with the last of the step before."""


@dataclass(frozen=True, eq=False)
class Displacement:
    """Rotation and place after one cycle, in the frame at its start, and `change` (6, parameters): the
    twists, in the frame at the end, by which they change with the path's parameters.
    """

    R: Floats
    p: Floats
    change: Floats

    @property
    def yaw(self) -> float:
        """The angle about the vertical by which the base has turned."""
        return float(yaw_lean_pitch(self.R)[0])

    @property
    def distance(self) -> float:
        """How far the base has gone."""
        return float(np.linalg.norm(self.p))

    @property
    def place_change(self) -> Floats:
        """The derivatives of the place by the parameters, (3, parameters)."""
        return self.R @ self.change[:3]


def displacement(
    connection: LocalConnection, path: ShapePath, theta: Any, until: float = 1.0
) -> Displacement:
    """Return what the path r(s) = Phi(s) theta does to the base, from s = 0 until s.

    With xi = -A rdot the pose obeys gdot = g xi, and g^-1 (dg/dtheta) at the end is the integral of
    Ad(g_end^-1 g) dxi/dtheta, eq. [gait-derivative].
    """
    theta = np.asarray(theta, float)
    count = len(path.parameters)
    if theta.shape != (count,):
        raise ParameterError(
            f"the path has the parameters {', '.join(path.parameters)}; {theta} given."
        )
    stops = [0.0, *(c for c in path.corners if c < until), until]
    steps = 4 * -(-STEPS // (4 * (len(stops) - 1)))
    g, change = np.eye(4), np.zeros((6, count))
    for a, b in pairwise(stops):
        g, change = _follow(connection, path, theta, np.linspace(a, b, steps + 1), g, change)
    U, _, V = np.linalg.svd(g[:3, :3])
    R, p = U @ V, g[:3, 3]
    return Displacement(R, p, _adjoints(np.linalg.inv(g)) @ change)


def _follow(
    connection: LocalConnection,
    path: ShapePath,
    theta: Floats,
    s: Floats,
    g: Floats,
    change: Floats,
) -> tuple[Floats, Floats]:
    """Return the pose after a smooth piece, and its derivatives as twists in the frame at the start."""
    h, near = s[1] - s[0], 1e-12 * (s[-1] - s[0])
    inside = np.clip(s, s[0] + near, s[-1] - near)  # corners belong to both sides
    poses = [g]
    for step in _exponentials(_magnus(connection, path, theta, s[:-1], h)):
        poses.append(poses[-1] @ step)
    Phi, dPhi = path.shapes(inside), path.rates(inside)
    rdot = dPhi @ theta
    A, dA = connection.derivatives(Phi @ theta)
    dxi = np.zeros((len(s), 6, len(theta)))
    own = -np.einsum("skij,sj,skp->sip", dA, rdot, Phi) - A @ dPhi
    dxi[:, [TWIST.index(name) for name in connection.twist]] = own
    weights = h * np.resize(BOOLE, len(s))
    weights[[0, -1]] /= 2.0
    integral = np.einsum("s,sij,sjp->ip", weights, _adjoints(np.array(poses)), dxi)
    return poses[-1], change + integral


def _adjoints(g: Floats) -> Floats:
    """Return Ad of poses (..., 4, 4), as (..., 6, 6)."""
    R, p = g[..., :3, :3], g[..., :3, 3]
    out = np.zeros((*g.shape[:-2], 6, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = R
    out[..., :3, 3:] = np.cross(p[..., None, :], np.swapaxes(R, -1, -2)).swapaxes(-1, -2)
    return out


def _exponentials(X: Floats) -> Floats:
    """Return the poses (s, 4, 4) that twists as matrices lead to, by Rodrigues' formula."""
    K, v = X[:, :3, :3], X[:, :3, 3]
    angle = np.sqrt(np.sum(K * K, axis=(1, 2)) / 2.0)[:, None, None]
    half = np.sinc(angle / (2.0 * np.pi)) ** 2 / 2.0
    third = np.where(angle < 1e-2, 1 / 6 - angle**2 / 120 + angle**4 / 5040, 0.0)
    safe = np.where(angle < 1e-2, 1.0, angle)
    third = np.where(angle < 1e-2, third, (safe - np.sin(safe)) / safe**3)
    out = np.zeros_like(X)
    out[:, :3, :3] = np.eye(3) + np.sinc(angle / np.pi) * K + half * (K @ K)
    out[:, :3, 3] = ((np.eye(3) + half * K + third * (K @ K)) @ v[..., None])[..., 0]
    out[:, 3, 3] = 1.0
    return out


def _magnus(
    connection: LocalConnection, path: ShapePath, theta: Floats, s: Floats, h: float
) -> Floats:
    """Return the logarithms (steps, 4, 4) of what steps of size h from s do to the pose."""
    root = np.sqrt(15.0)
    nodes = [s + h * c for c in (0.5 - root / 10, 0.5, 0.5 + root / 10)]
    X = [_twists(connection, path, theta, at) for at in nodes]
    one = h * X[1]
    two = root / 3 * h * (X[2] - X[0])
    three = 10 / 3 * h * (X[2] - 2 * X[1] + X[0])
    first = _commute(one, two)
    second = _commute(one, 2 * three + first) / -60
    return one + three / 12 + _commute(-20 * one - three + first, two + second) / 240


def _commute(a: Floats, b: Floats) -> Floats:
    """Return b a - a b: the pose is multiplied from the right."""
    return b @ a - a @ b


def _twists(connection: LocalConnection, path: ShapePath, theta: Floats, s: Floats) -> Floats:
    """Return xi = -A rdot at many points of a path as matrices (s, 4, 4)."""
    xi = np.zeros((len(s), 6))
    free = [TWIST.index(name) for name in connection.twist]
    A = connection(path.shapes(s) @ theta)
    xi[:, free] = -np.einsum("sij,sj->si", A, path.rates(s) @ theta)
    out = np.zeros((len(s), 4, 4))
    out[:, :3, 3] = xi[:, :3]
    for (i, j), k in {(2, 1): 3, (0, 2): 4, (1, 0): 5}.items():
        out[:, i, j], out[:, j, i] = xi[:, k], -xi[:, k]
    return out
