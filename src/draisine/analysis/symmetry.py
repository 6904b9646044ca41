"""Symmetries of a ground: translations and rotations that change neither the ground nor gravity.

Candidates are rigid-body velocities with translation t and rotation rate w about the vertical ez: a point p
has the velocity `t + w ez x p`. They leave the ground unchanged if no ground point moves along its normal n,

    n . (t + w ez x p) = 0    for all points p, normals n,        eq. [ground-symmetry],

which is linear in (t, w). Each sampled point contributes one row; the symmetries are the null space of these
rows. A level plane has three symmetries (two translations, rotations about any vertical axis), an inclined
plane two, a road of constant cross-section one, a bowl one (rotation about its axis), an irregular hill none.
"""

from dataclasses import dataclass, field

import numpy as np

from draisine.algebra.scalar import Floats

MAX_GROUND_ASYMMETRY = 1e-5
"""Largest change of the ground's normals along a symmetry, rad; a spline through samples of a smooth ground
stays below it if its cells are at most a tenth of the radius of curvature."""

UPWARDS = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Symmetries of a ground: translations and at most one rotation or screw about a vertical axis."""

    translations: Floats = field(default_factory=lambda: np.zeros((0, 3)))  # unit vectors (k, 3)
    turn: Floats | None = (
        None  # velocity of the world's origin per unit rotation rate, (3,), m; None: no rotation
    )
    error: float = 0.0  # largest violation of eq. [ground-symmetry] at a sampled point, rad

    @property
    def count(self) -> int:
        """Number of independent symmetries."""
        return len(self.translations) + (self.turn is not None)

    def velocities_at(self, point: Floats) -> list[tuple[Floats, float]]:
        """Return, for each symmetry, the velocity (3,) of a point (m) and the rotation rate (0 or 1).

        Translations have unit velocity, the rotation has unit rate.
        """
        motions = [(direction, 0.0) for direction in self.translations]
        if self.turn is not None:
            motions.append((self.turn + np.cross(UPWARDS, point), 1.0))
        return motions

    def rotation_axis(self) -> Floats | None:
        """Return x and y (m) of the vertical axis of rotation.

        The result is None if there is no rotation, or if translations make the axis arbitrary.
        """
        if self.turn is None or len(self.translations):
            return None
        return np.array([-self.turn[1], self.turn[0]])

    def velocity_across(self, position: Floats, velocity: Floats, yaw_rate: Floats) -> Floats:
        """Return the components of a velocity that do not follow a symmetry, eq. [symmetry].

        Parameters
        ----------
        position, velocity
            Position (m) and velocity (m/s) with derivatives, (1 + k, 3).
        yaw_rate
            Rate of yaw (rad/s) with derivatives, (1 + k,).

        Returns
        -------
        Velocity components (m/s) across all symmetries with derivatives, (1 + k, entries). If the ground
        has no rotational symmetry, the yaw rate (rad/s) is the last entry. All are zero in a steady motion.
        """
        _, _, basis = np.linalg.svd(np.vstack([self.translations, np.zeros((1, 3))]))
        across = basis[len(self.translations) :]
        if self.turn is None:
            return np.column_stack([velocity @ across.T, yaw_rate])
        carried = self.turn + np.cross(UPWARDS, position[0])
        turned = velocity - np.outer(yaw_rate, carried)
        turned[1:] -= yaw_rate[0] * np.cross(UPWARDS, position[1:])
        return turned @ across.T


def find_symmetry(points: Floats, normals: Floats, about: Floats, gravity: Floats) -> Symmetry:
    """Compute the symmetries of a ground from sampled points and normals.

    Parameters
    ----------
    points, normals
        Points (k, 3) in m and unit normals (k, 3) of the ground.
    about
        Position of the vehicle, (3,), m.
    gravity
        Gravitational acceleration, (3,), m/s2. If it is not vertical, rotations change it and are excluded.

    Examples
    --------
    >>> p = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> find_symmetry(p, np.tile([0.0, 0, 1], (3, 1)), np.zeros(3), np.array([0.0, 0, -9.81])).count
    3
    >>> slope = np.tile([-0.6, 0, 0.8], (3, 1))
    >>> find_symmetry(p, slope, np.zeros(3), np.array([0.0, 0, -9.81])).count
    2
    """
    # Rotate about the vehicle and measure lengths in units of the sampled region. Then the columns
    # of translations and rotations are all of order one.
    offsets = points - about
    size = float(np.abs(offsets[:, :2]).max(initial=0.0)) or 1.0
    turning = np.cross(offsets, normals)[:, 2] / size
    is_vertical = np.abs(gravity[:2]).max() <= 1e-12 * np.linalg.norm(gravity)
    columns = [normals, turning[:, None]] if is_vertical else [normals]
    rows = np.hstack(columns) / np.sqrt(len(points))
    _, values, basis = np.linalg.svd(rows)
    null = basis[np.append(values, np.zeros(len(basis) - len(values))) < MAX_GROUND_ASYMMETRY]
    error = float(np.abs(np.hstack(columns) @ null.T).max(initial=0.0))
    if not is_vertical or not len(null):
        return Symmetry(null[:, :3], None, error)
    # Change the basis of the null space, so that one symmetry contains all rotation and the others
    # are translations.
    weights = null[:, 3]
    if np.linalg.norm(weights) < MAX_GROUND_ASYMMETRY:
        return Symmetry(_orthonormal_basis(null[:, :3]), None, error)
    # Scale the rotational symmetry to unit rotation rate; its translation is in units of `size`.
    turning_one = weights @ null / (weights @ weights)
    complement = np.linalg.svd(weights[None])[2][1:] @ null
    velocity = turning_one[:3] * size
    return Symmetry(
        _orthonormal_basis(complement[:, :3]), velocity - np.cross(UPWARDS, about), error
    )


def _orthonormal_basis(rows: Floats) -> Floats:
    """Return an orthonormal basis (k, 3) of the space spanned by k independent rows (k, 3)."""
    if not len(rows):
        return np.zeros((0, 3))
    basis: Floats = np.linalg.svd(rows, full_matrices=False)[2]
    return basis
