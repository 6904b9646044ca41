"""Displacement of the base by a gait (a closed path in shape space), with exact derivatives.

The connection is evaluated at all points of the path at once. The pose follows from a sixth-order
Magnus expansion, step by step on the Lie group SE(3); its derivatives follow from a quadrature of sixth
order along the path.
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
from draisine.model import BASE_TWIST

MAGNUS_STEPS = 512
"""Number of Magnus steps per cycle, distributed over the smooth pieces of the path; errors of the pose are
below 1e-12 for gaits with joint angles of a few radians."""

BOOLE_WEIGHTS = np.array([28.0, 64.0, 24.0, 64.0]) / 45.0
"""Weights of Boole's quadrature rule (sixth order) for its first four nodes; the fifth node is the first node
of the next step, so that the first weight counts twice."""

SERIES_ANGLE = 1e-2
"""Largest angle at which (x - sin x) / x^3 is evaluated by a power series, rad; the closed form suffers from
cancellation at small angles."""


@dataclass(frozen=True, eq=False)
class Displacement:
    """Pose of the base after one cycle, relative to its initial frame."""

    R: Floats  # rotation matrix, (3, 3)
    p: Floats  # position, m, (3,)
    change: (
        # Derivatives of the displacement by the parameters of the path, as twists in the final
        # frame, (6, parameters)
        Floats
    )

    @property
    def yaw(self) -> float:
        """Rotation angle about the vertical (rad)."""
        return float(yaw_lean_pitch(self.R)[0])

    @property
    def distance(self) -> float:
        """Distance between initial and final position (m)."""
        return float(np.linalg.norm(self.p))

    @property
    def place_change(self) -> Floats:
        """Derivatives of the position by the parameters, (3, parameters)."""
        return self.R @ self.change[:3]


def displacement(
    connection: LocalConnection, path: ShapePath, theta: Any, until: float = 1.0
) -> Displacement:
    """Compute the displacement of the base while the joints follow the path r(s) = Phi(s) theta.

    With the twist xi = -A rdot the pose g obeys gdot = g xi. Its derivative g^-1 (dg/dtheta) at the end is
    the integral of Ad(g_end^-1 g) dxi/dtheta, eq. [gait-derivative].

    Parameters
    ----------
    connection
        Local connection of the system.
    path
        Closed path in shape space.
    theta
        Parameters of the path.
    until
        Value of s at which the motion ends, from 0 to 1 (a complete cycle).

    Returns
    -------
    Displacement
        Pose and its derivatives by theta.

    Raises
    ------
    ParameterError
        If `theta` does not have one number per parameter.
    """
    theta = np.asarray(theta, float)
    count = len(path.parameters)
    if theta.shape != (count,):
        raise ParameterError(
            f"displacement: theta = {theta} must have one number for each parameter of the path: "
            f"{', '.join(path.parameters)}."
        )
    stops = [0.0, *(c for c in path.corners if c < until), until]
    # Distribute the steps equally over the smooth parts of the path. Boole's rule requires
    # multiples of four.
    steps = 4 * -(-MAGNUS_STEPS // (4 * (len(stops) - 1)))
    g = np.eye(4)
    change = np.zeros((6, count))
    for a, b in pairwise(stops):
        g, change = _integrate_piece(
            connection, path, theta, np.linspace(a, b, steps + 1), g, change
        )
    # Rounding errors accumulate in the product of 512 rotation matrices: project onto the nearest
    # rotation matrix.
    U, _, V = np.linalg.svd(g[:3, :3])
    R = U @ V
    p = g[:3, 3]
    return Displacement(R, p, _adjoint_matrices(np.linalg.inv(g)) @ change)


def _integrate_piece(
    connection: LocalConnection,
    path: ShapePath,
    theta: Floats,
    s: Floats,
    pose: Floats,
    change: Floats,
) -> tuple[Floats, Floats]:
    """Return the pose after a smooth piece of the path, and its derivatives as twists in the initial frame.

    s are the nodes of the piece; g and `change` are pose and derivatives at its beginning.
    """
    h = s[1] - s[0]
    near = 1e-12 * (s[-1] - s[0])
    # The rates of the path are discontinuous at its corners. Evaluate them slightly inside the
    # smooth part.
    inside = np.clip(s, s[0] + near, s[-1] - near)
    poses = [pose]
    for step in _twist_exponentials(_magnus_logarithms(connection, path, theta, s[:-1], h)):
        poses.append(poses[-1] @ step)
    Phi = path.shapes(inside)
    dPhi = path.rates(inside)
    rdot = dPhi @ theta
    A, dA = connection.derivatives(Phi @ theta)
    dxi = np.zeros((len(s), 6, len(theta)))
    derivatives = -np.einsum("skij,sj,skp->sip", dA, rdot, Phi) - A @ dPhi
    dxi[:, [BASE_TWIST.index(name) for name in connection.twist]] = derivatives
    weights = h * np.resize(BOOLE_WEIGHTS, len(s))
    weights[[0, -1]] /= 2.0
    integral = np.einsum("s,sij,sjp->ip", weights, _adjoint_matrices(np.array(poses)), dxi)
    return poses[-1], change + integral


def _adjoint_matrices(poses: Floats) -> Floats:
    """Return the adjoint matrices (..., 6, 6) of poses (..., 4, 4)."""
    R = poses[..., :3, :3]
    p = poses[..., :3, 3]
    out = np.zeros((*poses.shape[:-2], 6, 6))
    out[..., :3, :3] = out[..., 3:, 3:] = R
    out[..., :3, 3:] = np.cross(p[..., None, :], np.swapaxes(R, -1, -2)).swapaxes(-1, -2)
    return out


def _twist_exponentials(twist_matrices: Floats) -> Floats:
    """Return the exponentials (s, 4, 4) of twist matrices (s, 4, 4), by Rodrigues' formula."""
    K = twist_matrices[:, :3, :3]
    v = twist_matrices[:, :3, 3]
    angle = np.sqrt(np.sum(K * K, axis=(1, 2)) / 2.0)[:, None, None]
    half = np.sinc(angle / (2.0 * np.pi)) ** 2 / 2.0
    third = np.where(angle < SERIES_ANGLE, 1 / 6 - angle**2 / 120 + angle**4 / 5040, 0.0)
    safe = np.where(angle < SERIES_ANGLE, 1.0, angle)
    third = np.where(angle < SERIES_ANGLE, third, (safe - np.sin(safe)) / safe**3)
    out = np.zeros_like(twist_matrices)
    out[:, :3, :3] = np.eye(3) + np.sinc(angle / np.pi) * K + half * (K @ K)
    out[:, :3, 3] = ((np.eye(3) + half * K + third * (K @ K)) @ v[..., None])[..., 0]
    out[:, 3, 3] = 1.0
    return out


def _magnus_logarithms(
    connection: LocalConnection,
    path: ShapePath,
    theta: Floats,
    path_points: Floats,
    step_size: float,
) -> Floats:
    """Return the logarithms (steps, 4, 4) of the relative poses over steps from `path_points`.

    Magnus expansion of sixth order at Gauss nodes (Blanes et al. 2009, doi:10.1016/j.physrep.2008.11.001).
    """
    root = np.sqrt(15.0)
    nodes = [path_points + step_size * c for c in (0.5 - root / 10, 0.5, 0.5 + root / 10)]
    X = [_base_twists(connection, path, theta, node) for node in nodes]
    first_moment = step_size * X[1]
    second_moment = root / 3 * step_size * (X[2] - X[0])
    third_moment = 10 / 3 * step_size * (X[2] - 2 * X[1] + X[0])
    first = _reversed_commutator(first_moment, second_moment)
    second = _reversed_commutator(first_moment, 2 * third_moment + first) / -60
    return (
        first_moment
        + third_moment / 12
        + _reversed_commutator(-20 * first_moment - third_moment + first, second_moment + second)
        / 240
    )


def _reversed_commutator(a: Floats, b: Floats) -> Floats:
    """Return the commutator b a - a b; its sign is reversed because the pose is multiplied from the right."""
    return b @ a - a @ b


def _base_twists(
    connection: LocalConnection, path: ShapePath, theta: Floats, path_points: Floats
) -> Floats:
    """Return the twist xi = -A rdot at many points of a path as matrices (points, 4, 4)."""
    xi = np.zeros((len(path_points), 6))
    free = [BASE_TWIST.index(name) for name in connection.twist]
    A = connection(path.shapes(path_points) @ theta)
    xi[:, free] = -np.einsum("sij,sj->si", A, path.rates(path_points) @ theta)
    out = np.zeros((len(path_points), 4, 4))
    out[:, :3, 3] = xi[:, :3]
    for (i, j), k in {(2, 1): 3, (0, 2): 4, (1, 0): 5}.items():
        out[:, i, j] = xi[:, k]
        out[:, j, i] = -xi[:, k]
    return out
