"""Standard terrains: planes, ramps, kerbs, stairs and corners, all unlimited along y, and rough ground."""

import math

import numpy as np

from draisine.errors import ParameterError
from draisine.terrain.feature import Feature, edge, face
from draisine.terrain.mesh import Mesh, height_field
from draisine.terrain.smooth import SmoothGround
from draisine.terrain.terrain import Terrain

PLUS_Z = (0.0, 0.0, 1.0)
PLUS_X = (1.0, 0.0, 0.0)
MINUS_X = (-1.0, 0.0, 0.0)

MAX_STAIRS = 200
"""Largest number of steps of a staircase. The contact search compares all three features of every step."""

MAX_ROUGH_CELLS = 100_000
"""Largest number of grid squares of rough ground; it limits memory and computing time."""


def plane(slope: float = 0.0, height: float = 0.0, camber: float = 0.0) -> Terrain:
    """Return a plane through (0, 0, height).

    Parameters
    ----------
    slope
        Angle by which the plane rises forward (rad).
    height
        Height at the origin (m).
    camber
        Cross slope: angle by which the plane is rotated about its direction of rise (rad), positive if it
        rises to the left.

    Returns
    -------
    Terrain
        The plane, with one face `ground`.

    Examples
    --------
    >>> plane(height=2.0)[0].numbers[2:4].tolist()
    [1.0, 2.0]
    >>> plane(camber=0.1)[0].numbers[:3].round(4).tolist()
    [0.0, -0.0998, 0.995]
    """
    up = math.cos(camber)
    # Use 0.0 - x instead of -x, so that the normal of a level plane contains no negative zeros.
    N = np.array([0.0 - math.sin(slope) * up, 0.0 - math.sin(camber), math.cos(slope) * up])
    return Terrain([face("ground", N, height * N[2])])


def ramp(slope: float, drop: float) -> Terrain:
    """Return a ramp that rises to a lip at the origin, with level ground below the lip behind it.

    Parameters
    ----------
    slope
        Angle of the ramp (rad).
    drop
        Height of the lip above the level ground (m).

    Returns
    -------
    Terrain
        Terrain with the features `ramp`, `lip` (edge), `wall` (vertical face below the lip) and `low`.

    Raises
    ------
    ParameterError
        If `drop` is not positive.
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
    """Return level ground with one step up or down; the ground before the step has the height zero.

    Parameters
    ----------
    at
        Position x of the step (m).
    rise
        Height of the ground behind the step (m); negative for a step down.

    Returns
    -------
    Terrain
        Terrain with the faces `before`, `after` and `wall`, and the edge `edge` of the step.

    Raises
    ------
    ParameterError
        If `rise` is zero or not finite.
    """
    if rise == 0 or not math.isfinite(rise):
        raise ParameterError(f"kerb: rise = {rise} m must be a finite number other than zero.")
    return Terrain(
        [
            face("before", PLUS_Z, 0.0, [(PLUS_X, at)]),
            face("after", PLUS_Z, rise, [(MINUS_X, -at)]),
            *_riser(("edge", "wall"), at, 0.0, rise),
        ]
    )


def stairs(at: float, rise: float, run: float, count: int) -> Terrain:
    """Return stairs along x, with level ground before the first step and behind the last one.

    Parameters
    ----------
    at
        Position x of the first step (m).
    rise, run
        Height (m; negative for stairs down) and depth (m) of each step.
    count
        Number of steps.

    Returns
    -------
    Terrain
        The faces and edges of the stairs: `before`, then `tread`, `wall` and `edge` with a step number.

    Raises
    ------
    ParameterError
        If `rise`, `run` or `count` is invalid.

    Examples
    --------
    >>> [feature.name for feature in stairs(1.0, 0.1, 0.3, 2).features if feature.kind == "face"]
    ['before', 'tread1', 'tread2', 'wall1', 'wall2']
    """
    _positive("run", run)
    if rise == 0 or not math.isfinite(rise):
        raise ParameterError(f"stairs: rise = {rise} m must be a finite number other than zero.")
    if not 1 <= count <= MAX_STAIRS:
        raise ParameterError(f"stairs: count = {count} must be between 1 and {MAX_STAIRS}.")
    places = [at + k * run for k in range(count)]
    treads = [
        face(
            f"tread{k + 1}",
            PLUS_Z,
            (k + 1) * rise,
            [(MINUS_X, -x), (PLUS_X, x + run)] if k + 1 < count else [(MINUS_X, -x)],
        )
        for k, x in enumerate(places)
    ]
    risers = [
        _riser((f"edge{k + 1}", f"wall{k + 1}"), x, k * rise, (k + 1) * rise)
        for k, x in enumerate(places)
    ]
    edges, walls = zip(*risers, strict=True)
    return Terrain([face("before", PLUS_Z, 0.0, [(PLUS_X, at)]), *treads, *walls, *edges])


def _riser(names: tuple[str, str], at: float, before: float, after: float) -> list[Feature]:
    """Return the edge and the wall of a step at x = `at` (m), named by the two `names`.

    The ground has the height `before` (m) before the step and `after` (m) behind it.
    """
    out = MINUS_X if after > before else PLUS_X
    top = max(before, after)
    bottom = min(before, after)
    return [
        edge(names[0], (at, 0.0, top), (0.0, 1.0, 0.0), PLUS_Z, out),
        face(names[1], out, out[0] * at, [(PLUS_Z, top), ((0.0, 0.0, -1.0), -bottom)]),
    ]


def rough(
    height: float,
    cell: float = 0.2,
    at: float = 1.0,
    length: float = 5.0,
    width: float = 3.0,
    seed: int = 0,
    *,
    smooth: bool = False,
) -> Mesh | SmoothGround:
    """Return rough ground with random heights, and level ground before and behind it.

    The heights at the corners of a square grid are uniformly distributed between 0 and `height`. Between the
    corners the height is linear; the level parts are as long as the rough part. If `smooth` is true, cubic
    splines interpolate the heights, and the ground continues without limit, level on all sides.

    Parameters
    ----------
    height
        Largest height (m).
    cell
        Side length of a grid square (m).
    at
        Position x at which the rough part begins (m).
    length, width
        Dimensions of the rough part along x and y (m).
    seed
        Seed of the random heights.
    smooth
        Whether cubic splines interpolate the heights; between the corners they may exceed `height`.

    Returns
    -------
    Mesh or SmoothGround
        The rough ground.

    Raises
    ------
    ParameterError
        If a length is not positive, or the number of squares is outside its limits.

    Examples
    --------
    >>> bool(rough(0.05, seed=1).points[:, 2].max() <= 0.05)
    True
    >>> float(rough(0.05, seed=1, smooth=True).height(0.9, 0.3))
    0.0
    """
    for name, size in {"height": height, "cell": cell, "length": length, "width": width}.items():
        _positive(name, size)
    rows = round(length / cell)
    columns = round(width / cell)
    if not min(rows, columns) >= 2 or rows * columns > MAX_ROUGH_CELLS:
        raise ParameterError(
            f"rough: {rows} x {columns} squares; at least 2 per side and at most {MAX_ROUGH_CELLS} in total "
            "are possible. Change cell, length or width."
        )
    x = at + cell * np.arange(rows + 1)
    y = cell * (np.arange(columns + 1) - columns / 2.0)
    z = np.zeros((rows + 3, columns + 1))
    z[2:-2, 1:-1] = np.random.default_rng(seed).uniform(0.0, height, (rows - 1, columns - 1))
    if smooth:
        return SmoothGround(x, y, z[1:-1], end_slope=0.0, quiet=True)
    return height_field([x[0] - length, *x, x[-1] + length], y, z)


def corner(angle: float, at: float = 0.0) -> Terrain:
    """Return level ground followed by a rising slope, which form a concave corner along y.

    Parameters
    ----------
    angle
        Angle of the slope against the level ground (rad), between 0 and pi.
    at
        Position x at which the slope begins (m).

    Returns
    -------
    Terrain
        The two faces of the corner, `level` and `rise`.

    Raises
    ------
    ParameterError
        If the angle is not between 0 and pi.
    """
    if not 0 < angle < math.pi:
        raise ParameterError(f"corner: angle = {angle} rad must be between 0 and pi.")
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
    """Raise `ParameterError` with the name of an argument if its value x is not a positive length (m)."""
    if not (math.isfinite(x) and x > 0):
        raise ParameterError(f"{name} = {x} m must be a positive length.")
