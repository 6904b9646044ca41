"""The Lie group of the base: free components of its twist, and the time derivative of its pose.

The group is identified by the free components of the base's twist (`Model.twist`). No other module
depends on the name of the group.
"""

import numpy as np

from draisine.algebra.lie import cross, quaternion_rate, rotation
from draisine.algebra.scalar import Array, Scalar, array
from draisine.model import Model

VERTICAL_ROTATION = (5,)
"""Index of the free angular component of the twist in the plane: Wz."""

ALL_ROTATIONS = (3, 4, 5)
"""Indices of the free angular components of the twist in space: Wx, Wy, Wz."""


def _find_free_rotations(model: Model) -> tuple[int, ...]:
    """Return the indices of the free angular components of the base's twist."""
    return tuple(k for k in model.twist if k >= 3)


def is_free(model: Model) -> bool:
    """Return whether the base moves freely in space, as an element of SE(3)."""
    return len(model.twist) == 6


def has_frame(model: Model) -> bool:
    """Return whether the base is a free body without contacts, such as a bicycle frame that can
    fall over.
    """
    return is_free(model) and model.bodies[0].name not in {c.body for c in model.contacts}


def is_planar(model: Model) -> bool:
    """Return whether the base is restricted to a plane: two translations and the rotation Wz."""
    return model.twist == (0, 1, *VERTICAL_ROTATION)


def turns_freely(model: Model) -> bool:
    """Return whether the base can rotate about every axis."""
    return _find_free_rotations(model) == ALL_ROTATIONS


def base_angles(model: Model) -> tuple[str, ...]:
    """Return the names of the base angles that can change, lean first."""
    return {ALL_ROTATIONS: ("lean", "yaw", "pitch"), VERTICAL_ROTATION: ("yaw",)}.get(
        _find_free_rotations(model), ()
    )


def free_columns(model: Model) -> list[int]:
    """Return the indices of those components of v = (V, W, rdot) that are not fixed to zero by the
    motion group of the base.
    """
    return [*model.twist, *range(6, 6 + len(model.joints))]


def expand_speeds(model: Model, free_speeds: Array) -> Array:
    """Return v = (V, W, rdot) of length 6 + n from its free components; the others are zero."""
    speeds = np.zeros(6 + len(model.joints), dtype=object)
    speeds[free_columns(model)] = free_speeds
    return array(speeds)


def base_rotation(model: Model, q: Array) -> Array:
    """Return the rotation matrix (3, 3) of the base, with entries that are exactly 0 or 1 if the
    motion group of the base restricts rotations.
    """
    if turns_freely(model):
        return rotation(q)
    if not _find_free_rotations(model):
        return np.eye(3)
    c = 1.0 - 2 * q[3] * q[3]
    s = 2 * q[0] * q[3]
    return array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def base_rates(
    model: Model, R: Array, q: Array, speeds: Array, ref: Array
) -> tuple[Array, Array, Array]:
    """Return the time derivatives of quaternion q, position p and joint coordinates r, eq.
    [reconstruction].

    `speeds` is (V, W, rdot), with V the velocity of the point `ref` of the base.
    """
    V = speeds[:3]
    W = speeds[3:6]
    if turns_freely(model):
        qdot = quaternion_rate(q, W)
    elif _find_free_rotations(model):
        half = W[2] / 2
        qdot = array([-(q[3] * half), 0.0, 0.0, q[0] * half])
    else:
        qdot = array([0.0] * 4)
    return qdot, R @ (V - cross(W, ref)), speeds[6:]


def squared_quaternion_norm(model: Model, q: Array) -> Scalar:
    """Return the squared norm of the quaternion q (4,); components that the motion group fixes to
    zero are left out.
    """
    if turns_freely(model):
        return q @ q
    return q[0] * q[0] + q[3] * q[3] if _find_free_rotations(model) else 1.0


def normalise_quaternion(model: Model, q: Array) -> Array:
    """Return the quaternion q after one Newton step towards unit norm, which squares the error."""
    return q * (1.5 - 0.5 * squared_quaternion_norm(model, q))
