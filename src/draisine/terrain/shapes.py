"""Grounds by name: of a few infinite strips, all straight across y, and a rough one."""

import math

import numpy as np

from draisine.errors import ParameterError
from draisine.terrain.feature import Feature, edge, face
from draisine.terrain.mesh import Mesh, height_field
from draisine.terrain.terrain import Terrain

UP, AHEAD, BACK = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)

MOST_STEPS = 200
"""No stairs have more steps than this."""

MOST_CELLS = 100_000
"""No rough ground has more squares than this."""


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
    return Terrain(
        [
            face("before", UP, 0.0, [(AHEAD, at)]),
            face("after", UP, rise, [(BACK, -at)]),
            *_riser(("edge", "wall"), at, 0.0, rise),
        ]
    )


def stairs(at: float, rise: float, run: float, count: int) -> Terrain:
    """Return level ground with `count` steps from x = `at` on, each up by `rise` (down where it is
    negative) and as deep as `run`; behind them it is level.

    >>> [feature.name for feature in stairs(1.0, 0.1, 0.3, 2).features if feature.kind == "face"]
    ['before', 'tread1', 'tread2', 'wall1', 'wall2']
    """
    _positive("run", run)
    if rise == 0 or not math.isfinite(rise):
        raise ParameterError(f"stairs: rise = {rise} m is not a step.")
    if not 1 <= count <= MOST_STEPS:
        raise ParameterError(f"stairs: count = {count}; take from 1 to {MOST_STEPS} steps.")
    places = [at + k * run for k in range(count)]
    treads = [
        face(
            f"tread{k + 1}",
            UP,
            (k + 1) * rise,
            [(BACK, -x), (AHEAD, x + run)] if k + 1 < count else [(BACK, -x)],
        )
        for k, x in enumerate(places)
    ]
    risers = [
        _riser((f"edge{k + 1}", f"wall{k + 1}"), x, k * rise, (k + 1) * rise)
        for k, x in enumerate(places)
    ]
    edges, walls = zip(*risers, strict=True)
    return Terrain([face("before", UP, 0.0, [(AHEAD, at)]), *treads, *walls, *edges])


def _riser(names: tuple[str, str], at: float, before: float, after: float) -> list[Feature]:
    """Return the edge and the wall between level grounds of two heights."""
    out = BACK if after > before else AHEAD
    top, bottom = max(before, after), min(before, after)
    return [
        edge(names[0], (at, 0.0, top), (0.0, 1.0, 0.0), UP, out),
        face(names[1], out, out[0] * at, [(UP, top), ((0.0, 0.0, -1.0), -bottom)]),
    ]


def rough(
    height: float,
    cell: float = 0.2,
    at: float = 1.0,
    length: float = 5.0,
    width: float = 3.0,
    seed: int = 0,
) -> Mesh:
    """Return level ground that is rough from x = `at` on: heights at random between 0 and `height` over
    squares of the side `cell`, `length` long and `width` wide, straight in between. As long and
    level it is before and behind. The `seed` decides the heights.

    >>> bool(rough(0.05, seed=1).points[:, 2].max() <= 0.05)
    True
    """
    for name, size in {"height": height, "cell": cell, "length": length, "width": width}.items():
        _positive(name, size)
    rows, columns = round(length / cell), round(width / cell)
    if not min(rows, columns) >= 2 or rows * columns > MOST_CELLS:
        raise ParameterError(
            f"rough: {rows} times {columns} squares; take from 2 each to {MOST_CELLS} together."
        )
    x = at + cell * np.arange(rows + 1)
    y = cell * (np.arange(columns + 1) - columns / 2.0)
    z = np.zeros((rows + 3, columns + 1))
    z[2:-2, 1:-1] = np.random.default_rng(seed).uniform(0.0, height, (rows - 1, columns - 1))
    return height_field([x[0] - length, *x, x[-1] + length], y, z)


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
