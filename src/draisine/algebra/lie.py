"""Rotations, poses, twists and quaternions for any scalar type.

A pose `g = (R, p)` maps coordinates in the frame of a body to coordinates in its parent frame. A twist `eta
= (V, Omega)` has its linear part first and is expressed in the frame of the moving body. Quaternions have
unit length, scalar part first.
"""

from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array, atan2, cos, sin, sqrt


class Pose(NamedTuple):
    """A rigid displacement: rotation matrix R and translation p."""

    R: Array  # (3, 3) rotation matrix
    p: Array  # (3) translation, m


def hat(w: Array) -> Array:
    """Return the skew-symmetric matrix (3, 3) of the cross product, `hat(w) @ x = w x x`."""
    zero = 0.0
    return array([[zero, -w[2], w[1]], [w[2], zero, -w[0]], [-w[1], w[0], zero]])


def cross(a: Array, b: Array) -> Array:
    """Return the cross product a x b of two vectors (3)."""
    return array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def rot_x(angle: Scalar) -> Array:
    """Return the rotation matrix (3, 3) of a rotation about x by an angle (rad)."""
    c = cos(angle)
    s = sin(angle)
    return array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rot_y(angle: Scalar) -> Array:
    """Return the rotation matrix (3, 3) of a rotation about y by an angle (rad)."""
    c = cos(angle)
    s = sin(angle)
    return array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rot_z(angle: Scalar) -> Array:
    """Return the rotation matrix (3, 3) of a rotation about z by an angle (rad)."""
    c = cos(angle)
    s = sin(angle)
    return array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rot_about(axis: Array, angle: Scalar) -> Array:
    """Return the rotation matrix (3, 3) of a rotation about a unit axis by an angle (rad), by Rodrigues'
    formula.
    """
    X = hat(axis)
    return np.eye(3) + sin(angle) * X + (1.0 - cos(angle)) * (X @ X)


def yaw_lean_pitch(R: Array) -> tuple[Scalar, Scalar, Scalar]:
    """Return the angles of `R = Rz(yaw) Rx(lean) Ry(pitch)`: yaw left, lean right, pitch nose down.

    >>> R = rot_z(0.3) @ rot_x(0.2) @ rot_y(0.1)
    >>> print(*(round(angle, 12) for angle in yaw_lean_pitch(R)))
    0.3 0.2 0.1
    """
    yaw = atan2(-R[0, 1], R[1, 1])
    lean = atan2(R[2, 1], sqrt(R[2, 0] * R[2, 0] + R[2, 2] * R[2, 2]))
    pitch = atan2(-R[2, 0], R[2, 2])
    return yaw, lean, pitch


def inverse(g: Pose) -> Pose:
    """Return the inverse pose, which maps parent coordinates to body coordinates."""
    return Pose(g.R.T, -(g.R.T @ g.p))


def Ad(g: Pose) -> Array:
    """Return the adjoint matrix (6, 6) of a pose, which maps twists of the body frame to the parent frame.

    `Ad(inverse(g)) @ eta_parent` is the parent's twist at the child's origin, in the child's axes, eq. (3) of
    the IFAC paper.
    """
    zero = np.zeros((3, 3))
    return np.vstack([np.hstack([g.R, hat(g.p) @ g.R]), np.hstack([zero, g.R])])


def ad(eta: Array) -> Array:
    """Return the matrix (6, 6) of the Lie bracket of twists, `ad(eta1) @ eta2 = [eta1, eta2]`."""
    V = hat(eta[:3])
    W = hat(eta[3:])
    return np.vstack([np.hstack([W, V]), np.hstack([np.zeros((3, 3)), W])])


def rotation(q: Array) -> Array:
    """Return the rotation matrix (3, 3) of a unit quaternion (4).

    >>> print(rotation(np.array([1.0, 0.0, 0.0, 0.0])))
    [[1. 0. 0.]
     [0. 1. 0.]
     [0. 0. 1.]]
    """
    w, x, y, z = q
    x2 = 2 * x
    y2 = 2 * y
    z2 = 2 * z
    xx = x * x2
    yy = y * y2
    zz = z * z2
    xy = x * y2
    xz = x * z2
    yz = y * z2
    wx = w * x2
    wy = w * y2
    wz = w * z2
    return array(
        [
            [1.0 - (yy + zz), xy - wz, xz + wy],
            [xy + wz, 1.0 - (xx + zz), yz - wx],
            [xz - wy, yz + wx, 1.0 - (xx + yy)],
        ]
    )


def quaternion(R: Array) -> Array:
    """Return the unit quaternion (4) of a numerical rotation matrix, with a non-negative scalar part. R has
    the shape (3, 3), or (3, 3, ...) for many matrices.

    >>> print(quaternion(np.eye(3)))
    [1. 0. 0. 0.]
    """
    sizes = np.array(
        [
            1 + R[0, 0] + R[1, 1] + R[2, 2],
            1 + R[0, 0] - R[1, 1] - R[2, 2],
            1 - R[0, 0] + R[1, 1] - R[2, 2],
            1 - R[0, 0] - R[1, 1] + R[2, 2],
        ]
    )
    a = R[2, 1] - R[1, 2]
    b = R[0, 2] - R[2, 0]
    c = R[1, 0] - R[0, 1]
    d = R[0, 1] + R[1, 0]
    e = R[0, 2] + R[2, 0]
    f = R[1, 2] + R[2, 1]
    rows = np.array(
        [[sizes[0], a, b, c], [a, sizes[1], d, e], [b, d, sizes[2], f], [c, e, f, sizes[3]]]
    )
    best = np.argmax(sizes, axis=0)
    q = np.take_along_axis(rows, best[None, None], axis=0)[0]
    q = q / (2 * np.sqrt(np.take_along_axis(sizes, best[None], axis=0)[0]))
    return np.where(q[0] < 0, -q, q)


def quaternion_product(a: Array, b: Array) -> Array:
    """Return the Hamilton product a b of two quaternions (4)."""
    return array(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )


def quaternion_rate(q: Array, W: Array) -> Array:
    """Return the time derivative qdot (4) for the angular velocity W (rad/s) of the body in its own axes, eq.
    [reconstruction].
    """
    w, x, y, z = q
    h = W / 2
    return array(
        [
            -(x * h[0] + y * h[1] + z * h[2]),
            w * h[0] + y * h[2] - z * h[1],
            w * h[1] + z * h[0] - x * h[2],
            w * h[2] + x * h[1] - y * h[0],
        ]
    )
