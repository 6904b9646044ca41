"""Checks of the initial state of a run on a terrain: states with wheels inside the ground raise an error,
penetrations by rounding are removed.

Problem: gaps measure the distance from the surface of a feature on its outer side. A wheel deep inside a wall
has no such distance, and none of its gaps is negative. Method:

1. `lift_start`: a wheel that penetrates a feature from above is refused; the message states the depth.
2. `refuse_buried_wheels`: any other wheel is refused if its centre or a point of its rim is inside the
   ground. The test counts windings: an upward ray from a point inside leaves the ground through one more face
   than it enters.
3. `lift_start`: penetrations up to `Tolerances.gap_start` are rounding errors; the system is projected onto
   the ground.
"""

from functools import cache
from math import sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np

from draisine.algebra.patch import PATCH_HIGH, PATCH_LOW, evaluate_patch
from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.codegen.targets.native import routine_code
from draisine.errors import ConfigurationError
from draisine.simulation.contact.nearby.ground import load_whole_ground
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.status import Status
from draisine.terrain.feature import Features

RIM_POINTS = 48
"""Number of rim points per wheel that are tested for being inside the ground. The circular arc between two
points has a height of 0.2 % of the radius; a shallower penetration is detected by its negative gap.
"""

RIM_DIRECTIONS = np.exp(2j * np.pi * np.arange(RIM_POINTS) / RIM_POINTS).view(float).reshape(-1, 2)
"""Cosine and sine of the angle of each rim point, shape (RIM_POINTS, 2)."""

RIM_RADIUS_RATIO = 0.999
"""Radius of the circle of tested points, as a fraction of the rim radius; below 1, because the rim of a disc
on the ground would count as inside.
"""

RAY_OFFSET = np.array([0.618e-8, 0.382e-8])
"""Horizontal offset of the upward rays, as a fraction of the length of the system. Without it, a ray along a
wall, or through the edge between two faces, would count no face or both.
"""

# height above a wheel up to which faces are counted, in characteristic lengths of the system
COLUMN_HEIGHT = 1e6

SMOOTH_START_REMEDY = (
    'lift it, or put it on the ground: draisine.place(..., centre=(x, y), on="ground"), in a scenario '
    "initial.place = { centre = [x, y], on = 'ground' }."
)

START_REMEDY = (
    "lift it, or let it stand on a face: draisine.place(..., on=NAME), in a scenario "
    "initial.place.on = NAME."
)


def lift_start(query: ContactQuery, t: float, y: Floats) -> None:
    """Lift a system that starts below the ground by rounding errors; `y` is changed in place.

    Parameters
    ----------
    query
        The system on its terrain.
    t
        Time of the start, s.
    y
        State (q, p, r, v, z).

    Raises
    ------
    ConfigurationError
        If a wheel starts inside the ground; the message names the wheel.
    """
    near = query.find_surroundings(t, y, 0.0)
    shallow: list[Closed] = []
    for contact, row in query.find_penetrating(t, y, near):
        gap = query.gap(row)
        if not 0.0 > gap > -query.table.pairs.reach(contact.wheel):
            continue
        if gap < -query.tol.gap_start:
            name, feature = query.key(contact)
            is_smooth = query.feature(contact).kind == "patch"
            remedy = SMOOTH_START_REMEDY if is_smooth else START_REMEDY
            raise ConfigurationError(f"{name!r} starts {-gap:.3g} m below {feature!r}; {remedy}")
        shallow.append((contact, Status.SLIDING, 0.0))
    refuse_buried_wheels(query, t, y)
    if shallow:
        y[query.pose] = query.project(t, y, shallow)[query.pose]


def refuse_buried_wheels(query: ContactQuery, t: float, y: Floats) -> None:
    """Raise ConfigurationError if the centre of a wheel or a point of its rim is inside the ground. Feet that
    are not armed are exempt, because they pass through the ground.
    """
    rows = query.evaluate_gaps(np.array([t]), y[None], query.level)[0]
    armed = np.flatnonzero(rows[:, query.row.armed.start] > 0.0)
    if not len(armed):
        return
    length = query.motion.record.length
    points = _points_inside(query, armed, rows[armed]).reshape(-1, 3)
    points[:, :2] += RAY_OFFSET * length
    counts = count_windings(_features_above(query, t, points), points, t)
    if counts.max() > 0:
        buried = (counts.reshape(len(armed), -1) > 0).any(axis=1)
        name = query.machine.wheels[int(armed[buried.argmax()])].name
        remedy = SMOOTH_START_REMEDY if query.ground.kinds == {"patch"} else START_REMEDY
        raise ConfigurationError(f"{name!r} starts inside the ground; {remedy}")


def _features_above(query: ContactQuery, t: float, points: Floats) -> Features:
    """Return the features above and below points (n, 3) at a time; on a small ground all of them."""
    if query.watches_all:
        return load_whole_ground(query).features
    low = points.min(axis=0)
    high = points.max(axis=0)
    height = COLUMN_HEIGHT * query.motion.record.length
    column = 0.5 * (high - low) + [0.0, 0.0, height]
    return query.ground.pick(query.ground.near(0.5 * (low + high), 0.0, t, column))


def _points_inside(query: ContactQuery, wheels: Integers, rows: Floats) -> Floats:
    """Return points of wheels (wheels, n, 3) in m that lie outside the ground if the wheels do: centres and
    rim points.
    """
    rings = query.rings[wheels]
    # The centre of a wheel is far from the ground and is tested slightly below. The centre of a
    # blade is its contact point and is tested slightly above.
    depth = query.tol.gap_start * np.where(np.array(query.longest)[wheels] > 0.0, -1.0, 1.0)
    points = np.empty((len(wheels), 1 + RIM_POINTS, 3))
    offsets = (query.row.centre.start, query.row.axle.start)
    _code().put_points(
        rows, query.row.size, *offsets, rings, depth, RIM_DIRECTIONS, len(wheels), points
    )
    return points


@routine
def put_points(
    rows: Floats,
    row_size: int,
    at_centre: int,
    at_axle: int,
    rings: Floats,
    depths: Floats,
    rim: Floats,
    wheels: int,
    points: Floats,
) -> None:
    """Write the test points of wheels to `points` (wheels, 1 + RIM_POINTS, 3), in m.

    `rows` (wheels, row_size) contains centre and axle of each wheel at the offsets `at_centre` and `at_axle`.
    `rings` are the radii of the wheels' rings (m; 0 for a ball or a blade), `depths` the heights of the first
    points above the centres (m), and `rim` (RIM_POINTS, 2) the cosines and sines of the other ones.
    """
    for w in range(wheels):
        centre = rows[w * row_size + at_centre :]
        axle = rows[w * row_size + at_axle :]
        first = points[w * (1 + RIM_POINTS) * 3 :]
        first[0] = centre[0]
        first[1] = centre[1]
        first[2] = centre[2] + depths[w]
        # For a ball or a blade, which has no ring, all rim points coincide with the first point.
        height = centre[2] if rings[w] > 0.0 else first[2]
        # Two unit vectors in the plane of the wheel; the first is perpendicular to the axle and to
        # the world axis with the largest angle to it.
        x = abs(axle[0])
        y = abs(axle[1])
        z = abs(axle[2])
        ax = 0.0
        ay = axle[2]
        az = -axle[1]
        if y < x and y <= z:
            ax = -axle[2]
            ay = 0.0
            az = axle[0]
        elif z < x and z < y:
            ax = axle[1]
            ay = -axle[0]
            az = 0.0
        length = sqrt(ax * ax + ay * ay + az * az)
        ax /= length
        ay /= length
        az /= length
        bx = axle[1] * az - axle[2] * ay
        by = axle[2] * ax - axle[0] * az
        bz = axle[0] * ay - axle[1] * ax
        radius = RIM_RADIUS_RATIO * rings[w]
        for i in range(RIM_POINTS):
            point = first[3 * (1 + i) :]
            c = radius * rim[2 * i]
            s = radius * rim[2 * i + 1]
            point[0] = centre[0] + c * ax + s * bx
            point[1] = centre[1] + c * ay + s * by
            point[2] = height + c * az + s * bz


def count_windings(near: Features, points: Floats, t: float) -> Integers:
    """Return how many times the ground encloses each point (n, 3) at time t: 1 inside, 0 outside.

    `near` contains all faces above the points. A face counts +1 if an upward ray leaves the ground through
    it, and -1 if the ray enters.
    """
    counts = np.zeros(len(points), np.int64)
    for index, (kind, motion) in enumerate(near.kinds):
        which = np.flatnonzero(near.kind == index)
        if kind not in ("face", "patch") or not len(which):
            continue
        origins = points
        up = np.array([0.0, 0.0, 1.0])
        if motion is not None:
            R, p = (np.asarray(array, float) for array in motion(t))
            origins = np.ascontiguousarray((points - p) @ R)
            up = up @ R
        if kind == "patch":
            counts += _count_patches_above(near.cells[which], origins)
            continue
        faces = (near.numbers, near.borders, near.first, which, len(which))
        _code().count_faces(*faces, origins, len(points), up, counts)
    return counts


@routine
def count_faces(
    numbers: Floats,
    borders: Floats,
    first: Integers,
    which: Integers,
    faces: int,
    origins: Floats,
    points: int,
    up: Floats,
    counts: Integers,
) -> None:
    """Count the faces that rays from points cross: +1 if a ray leaves the ground, -1 if it enters.

    `which` are the indices of faces among features. `numbers` (features, 6) begins with normal and offset (m)
    of the plane of each, `borders` (borders, 7) contains (A, B, o) of each border: a point x with normal N is
    outside if A x + B N > o, and `first` (features + 1) is the first border of each feature. Rays begin at
    `origins` (points, 3) and have the direction `up`; `counts` has one entry per point.
    """
    for j in range(faces):
        k = which[j]
        N = numbers[6 * k :]
        slope = N[0] * up[0] + N[1] * up[1] + N[2] * up[2]
        # A ray parallel to a face neither enters nor leaves the ground through it.
        if slope == 0.0:
            continue
        for i in range(points):
            origin = origins[3 * i :]
            height = N[3] - (N[0] * origin[0] + N[1] * origin[1] + N[2] * origin[2])
            height /= slope
            is_hit = height > 0.0
            x = origin[0] + height * up[0]
            y = origin[1] + height * up[1]
            z = origin[2] + height * up[2]
            for b in range(first[k], first[k + 1] if is_hit else first[k]):
                A = borders[7 * b :]
                value = A[0] * x + A[1] * y + A[2] * z + A[3] * N[0] + A[4] * N[1] + A[5] * N[2]
                if value > A[6]:
                    is_hit = False
                    break
            if is_hit:
                counts[i] += 1 if slope > 0.0 else -1


@cache
def _code() -> Any:
    """Return the compiled routines of this file as attributes of one object."""
    put, count = routine_code(put_points, count_faces, passes="few")
    return SimpleNamespace(put_points=put, count_faces=count)


def _count_patches_above(cells: Floats, points: Floats) -> Integers:
    """Return the number of patches (cells, PATCH) above points (n, 3), in the frame of the ground."""
    x, y, z = points.T[:, :, None]
    low_x, low_y = cells[:, PATCH_LOW].T
    high_x, high_y = cells[:, PATCH_HIGH].T
    inside = (x >= low_x) & (x < high_x) & (y >= low_y) & (y < high_y)
    heights = evaluate_patch(cells.T, x, y).h
    above: Integers = (inside & (heights > z)).sum(axis=1)
    return above
