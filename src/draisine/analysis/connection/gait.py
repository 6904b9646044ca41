"""Closed paths of a shape, linear in their parameters: `r(s) = Phi(s) theta`, s from 0 to 1."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError


@dataclass(frozen=True, eq=False)
class ShapePath:
    """A family of closed paths: `shapes(s)` and `rates(s)` are Phi and its derivative by s at many s
    at once, (s, joints, parameters); between the `corners` they are smooth.
    """

    shapes: Callable[[Floats], Floats]
    rates: Callable[[Floats], Floats]
    corners: tuple[float, ...]
    parameters: tuple[str, ...]


def polygon(vertices: Sequence[Sequence[float]]) -> ShapePath:
    """Return the polygon through given shapes, closed, of one parameter: its size.

    >>> square = polygon([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    >>> (square.shapes(np.array([0.125])) @ [0.5]).tolist()
    [[0.0, 0.5]]
    """
    points = np.asarray([*vertices, vertices[0]], float)
    if points.ndim != 2 or len(points) < 3:
        raise ParameterError(
            "a polygon needs two shapes or more, each a list of joint coordinates."
        )
    count, sides = len(points) - 1, np.diff(points, axis=0)

    def side(s: Floats) -> Any:
        return np.minimum((s * count).astype(int), count - 1)

    def shapes(s: Floats) -> Floats:
        k = side(s)
        return (points[k] + (s * count - k)[:, None] * sides[k])[..., None]

    def rates(s: Floats) -> Floats:
        return count * sides[side(s)][..., None]

    corners = tuple(k / count for k in range(1, count))
    return ShapePath(shapes, rates, corners, ("size",))


def fourier(joints: int, order: int = 1) -> ShapePath:
    """Return sums of harmonics for every joint: a mean, then a cosine and a sine of each order."""
    if joints < 1 or order < 1:
        raise ParameterError(f"fourier: {joints} joints, order {order}; both are at least one.")
    waves = 2.0 * np.pi * np.arange(1, order + 1)
    eye = np.eye(joints)

    def shapes(s: Floats) -> Floats:
        turns = np.outer(s, waves)
        row = np.hstack([np.ones((len(s), 1)), np.cos(turns), np.sin(turns)])
        return _for_each_joint(eye, row)

    def rates(s: Floats) -> Floats:
        turns = np.outer(s, waves)
        row = np.hstack([np.zeros((len(s), 1)), -waves * np.sin(turns), waves * np.cos(turns)])
        return _for_each_joint(eye, row)

    one = (
        "mean",
        *(f"cos{k}" for k in range(1, order + 1)),
        *(f"sin{k}" for k in range(1, order + 1)),
    )
    names = tuple(f"{name}[{k}]" for k in range(joints) for name in one)
    return ShapePath(shapes, rates, (), names)


def _for_each_joint(eye: Floats, row: Floats) -> Floats:
    """Return (s, joints, parameters) in which every joint has the same functions of its own."""
    return np.einsum("jk,sp->sjkp", eye, row).reshape(len(row), len(eye), -1)


def ellipse(joints: int = 2) -> ShapePath:
    """Return closed curves of one harmonic, see `fourier`."""
    return fourier(joints, 1)
