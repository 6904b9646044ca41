"""Checks of the initial state of a run on a terrain: wheels inside the ground are refused, rounding errors
are removed.

Problem: gaps measure the distance from the surface of a feature on its outer side. A wheel deep inside a wall
has no such distance, and none of its gaps is negative. Method:

1. `lift_start`: a wheel that penetrates a feature from above is refused; the message states the depth.
2. `refuse_buried_wheels`: any other wheel is refused if its centre or a point of its rim is inside the
   ground. The test counts windings: an upward ray from a point inside leaves the ground through one more face
   than it enters.
3. `lift_start`: penetrations up to `Tolerances.gap_start` are rounding errors; the machine is projected onto
   the ground.
"""

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers
from draisine.errors import ConfigurationError
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.status import Status
from draisine.terrain.feature import Features
from draisine.terrain.pieces import cross

RIM_POINTS = 48
"""Number of points of a wheel's rim that are tested. The arc between two of them has a height of 0.2 % of the
radius; a shallower penetration has a negative gap.
"""

RIM_DIRECTIONS = np.exp(2j * np.pi * np.arange(RIM_POINTS) / RIM_POINTS).view(float).reshape(-1, 2)
"""Cosine and sine of the angle of each rim point, shape (RIM_POINTS, 2)."""

RIM_RADIUS_RATIO = 0.999
"""Ratio of the radius of the tested points to that of the rim; it is below 1 because the rim of a disc
touches the ground.
"""

RAY_OFFSET = np.array([0.618e-8, 0.382e-8])
"""Horizontal offset of the upward rays, relative to the length of the machine. A ray along a wall, or through
the edge between two faces, would count no face or both.
"""

COLUMN_HEIGHT = 1e6  # machine lengths; faces up to this height above a wheel are counted

START_REMEDY = (
    "lift it, or let it stand on a face: draisine.place(..., on=NAME), in a scenario "
    "initial.place.on = NAME."
)


def lift_start(query: ContactQuery, t: float, y: Floats, margin: float) -> None:
    """Lift a machine that starts below the ground by rounding errors; `y` is changed in place.

    Parameters
    ----------
    query
        The machine on its terrain.
    t
        Time of the start, s.
    y
        State (q, p, r, v, z).
    margin
        Distance around the wheels within which features are searched, m.

    Raises
    ------
    ConfigurationError
        If a wheel starts inside the ground; the message names the wheel.
    """
    boxes, begin = query.predict_boxes(t, y)
    near = query.find_surroundings(t, boxes, margin, begin)
    shallow: list[Closed] = []
    for contact, row in query.find_penetrating(t, y, near):
        gap = query.gap(row)
        if not 0.0 > gap > -query.table.pairs.reach(contact.wheel):
            continue
        if gap < -query.tol.gap_start:
            name, feature = query.key(contact)
            raise ConfigurationError(
                f"{name!r} starts {-gap:.3g} m below {feature!r}; {START_REMEDY}"
            )
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
    low = points.min(axis=0)
    high = points.max(axis=0)
    column = 0.5 * (high - low) + [0.0, 0.0, COLUMN_HEIGHT * length]
    near = query.table.pick(query.terrain.near(0.5 * (low + high), 0.0, t, column))
    counts = count_windings(near, points, t)
    buried = (counts.reshape(len(armed), -1) > 0).any(axis=1)
    if buried.any():
        name = query.machine.wheels[int(armed[buried.argmax()])].name
        raise ConfigurationError(f"{name!r} starts inside the ground; {START_REMEDY}")


def _points_inside(query: ContactQuery, wheels: Integers, rows: Floats) -> Floats:
    """Return points of wheels (wheels, n, 3) in m that lie outside the ground if the wheels do: centres and
    rim points.
    """
    surfaces = [query.machine.wheels[w].surface for w in wheels.tolist()]
    ring = np.array([float(getattr(surface, "ring", 0.0)) for surface in surfaces])
    # The centre of a wheel is far from the ground. That of a blade is its contact point.
    depth = query.tol.gap_start * np.where(np.array(query.longest)[wheels] > 0.0, -1.0, 1.0)
    centres = rows[:, query.row.centre]
    points = centres + depth[:, None] * [0.0, 0.0, 1.0]
    axles = rows[:, query.row.axle]
    across = cross(axles, np.eye(3)[np.abs(axles).argmin(axis=1)])
    across /= np.sqrt((across * across).sum(axis=1))[:, None]
    # A wheel without a ring, a ball or a blade, has its point alone.
    origins = np.where(ring[:, None] > 0.0, centres, points)
    radii = (RIM_RADIUS_RATIO * ring)[:, None, None]
    rims = origins[:, None] + radii * (
        RIM_DIRECTIONS @ np.stack([across, cross(axles, across)], axis=1)
    )
    return np.concatenate([points[:, None], rims], axis=1)


def count_windings(near: Features, points: Floats, t: float) -> NDArray[np.int64]:
    """Return how many times the ground encloses each point (n, 3) at time t: 1 inside, 0 outside.

    `near` contains all faces above the points. A face counts +1 if an upward ray leaves the ground through
    it, and -1 if the ray enters.
    """
    counts = np.zeros(len(points), np.int64)
    for index, (kind, motion) in enumerate(near.kinds):
        numbers = np.flatnonzero(near.kind == index)
        if kind != "face" or not len(numbers):
            continue
        faces = near.take(numbers)
        origins = points
        up = np.array([0.0, 0.0, 1.0])
        if motion is not None:
            R, p = (np.asarray(array, float) for array in motion(t))
            origins = (points - p) @ R
            up = up @ R
        N = faces.numbers[:, :3]
        slope = N @ up
        # A face along the ray is neither entered nor left.
        heights = (faces.numbers[:, 3] - origins @ N.T) / np.where(slope == 0.0, np.inf, slope)
        hit = heights > 0.0
        if hit.any():
            owner = np.repeat(np.arange(len(faces)), np.diff(faces.first))
            A = faces.borders[:, :3]
            B = faces.borders[:, 3:6]
            o = faces.borders[:, 6]
            ends = origins @ A.T + heights[:, owner] * (A @ up) + (B * N[owner]).sum(axis=1)
            hit &= ~((ends > o) @ (owner[:, None] == np.arange(len(faces))))
            counts += hit @ np.sign(slope).astype(np.int64)
    return counts
