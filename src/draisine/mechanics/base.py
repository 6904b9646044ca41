"""The base and its group: how it may move and turn, and what its twist does to its pose.

A group is told by the components of the base's twist that it leaves free (`Model.twist`); nobody else
asks for its name.
"""

import numpy as np

from draisine.algebra.lie import cross, quaternion_rate, rotation
from draisine.algebra.scalar import Array, Scalar, array
from draisine.model import Model

ABOUT_VERTICAL = (5,)
ANYWHERE = (3, 4, 5)
"""The turns that a group may leave free: none, those about the vertical, or all."""


def _turns(model: Model) -> tuple[int, ...]:
    """Return the angular components of the twist that are free."""
    return tuple(k for k in model.twist if k >= 3)


def is_free(model: Model) -> bool:
    """Return whether the base may be anywhere in space."""
    return len(model.twist) == 6


def has_frame(model: Model) -> bool:
    """Return whether the base is a frame that can turn over, not a wheel that rolls."""
    return is_free(model) and model.bodies[0].name not in {c.body for c in model.contacts}


def is_planar(model: Model) -> bool:
    """Return whether the machine moves in the plane."""
    return model.twist == (0, 1, *ABOUT_VERTICAL)


def turns_freely(model: Model) -> bool:
    """Return whether the base may turn about every axis."""
    return _turns(model) == ANYWHERE


def base_angles(model: Model) -> tuple[str, ...]:
    """Return the angles of the base that can change, the most telling first."""
    return {ANYWHERE: ("lean", "yaw", "pitch"), ABOUT_VERTICAL: ("yaw",)}.get(_turns(model), ())


def free_columns(model: Model) -> list[int]:
    """Return the components of (V, W, rdot) that the base's group leaves free."""
    return [*model.twist, *range(6, 6 + len(model.joints))]


def spread(model: Model, free: Array) -> Array:
    """Return speeds over the free columns as the whole (V, W, rdot)."""
    out = np.zeros(6 + len(model.joints), dtype=object)
    out[free_columns(model)] = free
    return array(out)


def base_rotation(model: Model, q: Array) -> Array:
    """Return the base's rotation, with the zeros that its group implies."""
    if turns_freely(model):
        return rotation(q)
    if not _turns(model):
        return np.eye(3)
    c = 1.0 - 2 * q[3] * q[3]
    s = 2 * q[0] * q[3]
    return array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def base_rates(
    model: Model, R: Array, q: Array, speeds: Array, ref: Array
) -> tuple[Array, Array, Array]:
    """Return the rates of q, p and r for speeds (V at the point ref of the base, W, rdot), eq.
    [reconstruction].
    """
    V = speeds[:3]
    W = speeds[3:6]
    if turns_freely(model):
        qdot = quaternion_rate(q, W)
    elif _turns(model):
        half = W[2] / 2
        qdot = array([-(q[3] * half), 0.0, 0.0, q[0] * half])
    else:
        qdot = array([0.0] * 4)
    return qdot, R @ (V - cross(W, ref)), speeds[6:]


def square_length(model: Model, q: Array) -> Scalar:
    """Return the square of q's length, as far as the base can turn at all."""
    if turns_freely(model):
        return q @ q
    return q[0] * q[0] + q[3] * q[3] if _turns(model) else 1.0


def unit(model: Model, q: Array) -> Array:
    """Return q by one Newton step nearer to unit length: near it, the error is squared."""
    return q * (1.5 - 0.5 * square_length(model, q))
