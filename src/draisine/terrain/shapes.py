"""Grounds made of a few infinite strips, all straight across y."""

import math

import numpy as np

from draisine.errors import ParameterError
from draisine.terrain.feature import edge, face
from draisine.terrain.terrain import Terrain


def plane(slope: float = 0.0, height: float = 0.0) -> Terrain:
    """Return a plane through (0, 0, height) that rises forward by the angle `slope`.

    >>> plane(height=2.0)[0].numbers[2:4].tolist()
    [1.0, 2.0]
    """
    N = np.array([-math.sin(slope), 0.0, math.cos(slope)])
    return Terrain([face("ground", N, height * N[2])])


def ramp(slope: float, drop: float) -> Terrain:
    """Return a ramp that rises to its lip at the origin by the angle `slope`, and behind it level
    ground lower by `drop`.
    """
    _positive("drop", drop)
    up = np.array([-math.sin(slope), 0.0, math.cos(slope)])
    return Terrain(
        [
            face("ramp", up, 0.0, [((1.0, 0.0, 0.0), 0.0)]),
            face("low", (0.0, 0.0, 1.0), -drop, [((-1.0, 0.0, 0.0), 0.0)]),
            edge("lip", (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), up, (1.0, 0.0, 0.0)),
            face(
                "wall",
                (1.0, 0.0, 0.0),
                0.0,
                [((0.0, 0.0, 1.0), 0.0), ((0.0, 0.0, -1.0), drop)],
            ),
        ]
    )


def kerb(at: float, rise: float) -> Terrain:
    """Return level ground with a step at x = `at`: up by `rise` for a machine that comes from
    behind, down where it is negative. The side from which it comes has the height zero.
    """
    if rise == 0 or not math.isfinite(rise):
        raise ParameterError(f"kerb: rise = {rise} m is not a step.")
    out = (1.0, 0.0, 0.0) if rise < 0 else (-1.0, 0.0, 0.0)
    up = (0.0, 0.0, 1.0)
    top, bottom = max(rise, 0.0), min(rise, 0.0)
    return Terrain(
        [
            face("before", up, 0.0, [((1.0, 0.0, 0.0), at)]),
            face("after", up, rise, [((-1.0, 0.0, 0.0), -at)]),
            edge("edge", (at, 0.0, top), (0.0, 1.0, 0.0), up, out),
            face(
                "wall",
                out,
                out[0] * at,
                [((0.0, 0.0, 1.0), top), ((0.0, 0.0, -1.0), -bottom)],
            ),
        ]
    )


def corner(angle: float, at: float = 0.0) -> Terrain:
    """Return level ground that rises by `angle` from x = `at` on: a re-entrant corner."""
    if not 0 < angle < math.pi:
        raise ParameterError(f"corner: angle = {angle} rad; take one between 0 and pi.")
    N = np.array([-math.sin(angle), 0.0, math.cos(angle)])
    rise = np.array([math.cos(angle), 0.0, math.sin(angle)])
    foot = np.array([at, 0.0, 0.0])
    return Terrain(
        [
            face("level", (0.0, 0.0, 1.0), 0.0, [((1.0, 0.0, 0.0), at)]),
            face("rise", N, float(N @ foot), [(-rise, float(-rise @ foot))]),
        ]
    )


def _positive(name: str, x: float) -> None:
    if not (math.isfinite(x) and x > 0):
        raise ParameterError(f"{name} = {x} m is not a positive length.")
