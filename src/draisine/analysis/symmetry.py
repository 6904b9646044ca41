"""Symmetries of a ground: motions of the world that change neither the ground nor gravity.

Candidates are translations t and rotations about the vertical by an angle w: a point p moves with the
velocity `t + w ez x p`. They leave the ground unchanged if no point of it moves along its normal n,

    n . (t + w ez x p) = 0    for all points p, normals n,        eq. [ground-symmetry],

which is linear in (t, w): the symmetries are the null space of sampled rows. A level plane has three (two
translations, rotations about any vertical axis), an inclined plane two, a road with the same profile
everywhere one, a bowl the rotations about its axis, a hill none.
"""

from dataclasses import dataclass, field

import numpy as np

from draisine.algebra.scalar import Floats

MAX_GROUND_ASYMMETRY = 1e-5
"""rad; change of the normals below which a ground counts as symmetric. Splines through samples of a smooth
ground deviate by less, cells of a tenth of its radius of curvature assumed."""

UPWARDS = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Symmetry:
    """The symmetries of a ground: translations, and at most one rotation (or screw) about the vertical."""

    translations: Floats = field(default_factory=lambda: np.zeros((0, 3)))  # orthonormal rows
    turn: Floats | None = (
        None  # (3,) velocity of the world's origin per unit of the turning rate, m
    )
    error: float = 0.0  # rad, largest violation of eq. [ground-symmetry] at a sampled point

    @property
    def count(self) -> int:
        """Number of independent symmetries."""
        return len(self.translations) + (self.turn is not None)

    def at(self, p: Floats) -> list[tuple[Floats, float]]:
        """Return velocity (3) at a point p and turning rate of each symmetry."""
        motions = [(direction, 0.0) for direction in self.translations]
        if self.turn is not None:
            motions.append((self.turn + np.cross(UPWARDS, p), 1.0))
        return motions

    def axis(self) -> Floats | None:
        """Return x and y (m) of the axis of rotation, or None if there is none or any will do."""
        if self.turn is None or len(self.translations):
            return None
        return np.array([-self.turn[1], self.turn[0]])

    def drift(self, position: Floats, velocity: Floats, yaw_rate: Floats) -> Floats:
        """Return the part of a velocity that is no symmetry, eq. [symmetry].

        Parameters
        ----------
        position, velocity
            Position (m) and velocity (m/s) with derivatives, (1 + k, 3).
        yaw_rate
            Turning rate (rad/s) with derivatives, (1 + k,).

        Returns
        -------
        Velocity components across all symmetries and, without a rotation, the turning rate: zero in a
        steady motion, (1 + k, entries).
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
    """Return the symmetries of a ground.

    Parameters
    ----------
    points, normals
        Points (k, 3) in m and unit normals (k, 3) of the ground.
    about
        Position (3) of the machine, m.
    gravity
        Gravity (3). If it is not vertical, rotations change it.

    Examples
    --------
    >>> p = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> find_symmetry(p, np.tile([0.0, 0, 1], (3, 1)), np.zeros(3), np.array([0.0, 0, -9.81])).count
    3
    >>> slope = np.tile([-0.6, 0, 0.8], (3, 1))
    >>> find_symmetry(p, slope, np.zeros(3), np.array([0.0, 0, -9.81])).count
    2
    """
    # Rotations about the machine, in units of the sampled region: then all columns are of order one.
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
    # One of the symmetries turns, the others are made translations.
    weights = null[:, 3]
    if np.linalg.norm(weights) < MAX_GROUND_ASYMMETRY:
        return Symmetry(_orthonormal(null[:, :3]), None, error)
    # In (t, w / size) the turning symmetry has the rate w = 1.
    turning_one = weights @ null / (weights @ weights)
    complement = np.linalg.svd(weights[None])[2][1:] @ null
    velocity = turning_one[:3] * size
    return Symmetry(_orthonormal(complement[:, :3]), velocity - np.cross(UPWARDS, about), error)


def _orthonormal(rows: Floats) -> Floats:
    """Return an orthonormal basis of independent rows (k, 3)."""
    if not len(rows):
        return np.zeros((0, 3))
    basis: Floats = np.linalg.svd(rows, full_matrices=False)[2]
    return basis
