"""Closed paths in shape space, linear in their parameters: `r(s) = Phi(s) theta`, s from 0 to 1."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError


@dataclass(frozen=True, eq=False)
class ShapePath:
    """Family of closed paths r(s) = Phi(s) theta in shape space."""

    shapes: Callable[[Floats], Floats]  # function from s (n,) to Phi (n, joints, parameters)
    rates: Callable[[Floats], Floats]  # function from s (n,) to dPhi/ds (n, joints, parameters)
    corners: tuple[float, ...]  # values of s at which the rates are discontinuous
    parameters: tuple[str, ...]  # names of the parameters theta


def polygon(vertices: Sequence[Sequence[float]]) -> ShapePath:
    """Return the closed polygon through given shapes; its only parameter is its size.

    Parameters
    ----------
    vertices
        Joint coordinates of the corners at size 1.

    Examples
    --------
    >>> square = polygon([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    >>> (square.shapes(np.array([0.125])) @ [0.5]).tolist()
    [[0.0, 0.5]]
    """
    points = np.asarray([*vertices, vertices[0]], float)
    if points.ndim != 2 or len(points) < 3:
        raise ParameterError(
            "polygon: at least two vertices are needed, each a list of joint coordinates."
        )
    count = len(points) - 1
    sides = np.diff(points, axis=0)

    def side_index(path_points: Floats) -> Any:
        """Return the index of the side of the polygon at each path parameter."""
        return np.minimum((path_points * count).astype(int), count - 1)

    def shapes(s: Floats) -> Floats:
        """Return Phi (n, joints, 1) at s (n,)."""
        k = side_index(s)
        return (points[k] + (s * count - k)[:, None] * sides[k])[..., None]

    def rates(s: Floats) -> Floats:
        """Return dPhi/ds (n, joints, 1) at s (n,)."""
        return count * sides[side_index(s)][..., None]

    corners = tuple(k / count for k in range(1, count))
    return ShapePath(shapes, rates, corners, ("size",))


def fourier(joints: int, order: int = 1) -> ShapePath:
    """Return closed paths whose joint coordinates are Fourier series in s.

    The parameters of each joint are its mean, then the cosine and then the sine coefficients of all orders.
    """
    if joints < 1 or order < 1:
        raise ParameterError(
            f"fourier: the number of joints ({joints}) and the order ({order}) must be at least one."
        )
    waves = 2.0 * np.pi * np.arange(1, order + 1)
    eye = np.eye(joints)

    def shapes(s: Floats) -> Floats:
        """Return Phi (n, joints, parameters) at s (n,)."""
        turns = np.outer(s, waves)
        row = np.hstack([np.ones((len(s), 1)), np.cos(turns), np.sin(turns)])
        return _repeat_for_joints(eye, row)

    def rates(s: Floats) -> Floats:
        """Return dPhi/ds (n, joints, parameters) at s (n,)."""
        turns = np.outer(s, waves)
        row = np.hstack([np.zeros((len(s), 1)), -waves * np.sin(turns), waves * np.cos(turns)])
        return _repeat_for_joints(eye, row)

    functions = (
        "mean",
        *(f"cos{k}" for k in range(1, order + 1)),
        *(f"sin{k}" for k in range(1, order + 1)),
    )
    names = tuple(f"{name}[{k}]" for k in range(joints) for name in functions)
    return ShapePath(shapes, rates, (), names)


def _repeat_for_joints(identity: Floats, basis_functions: Floats) -> Floats:
    """Return Phi (s, joints, parameters) with the same basis functions (s, functions) for every
    joint.
    """
    return np.einsum("jk,sp->sjkp", identity, basis_functions).reshape(
        len(basis_functions), len(identity), -1
    )


def ellipse(joints: int = 2) -> ShapePath:
    """Return closed paths with a single harmonic per joint, see `fourier`."""
    return fourier(joints, 1)
