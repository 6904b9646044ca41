"""Refine the paths of contact points: a cubic spline adds points if the direction changes fast."""

import math
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats

MAX_SEGMENT_ANGLE = math.radians(8.0)
"""Largest angle (rad) between neighbouring segments of a refined path; larger ones are visible corners."""

MAX_RESOLVED_ANGLE = math.radians(100.0)
"""Largest angle (rad) between neighbouring segments of a sampled path that is interpolated. Beyond it, the
samples are too far apart to determine the path between them.
"""


class ContactPath(NamedTuple):
    """Path of a contact point: times (n,) in s and points (n, 3) in m."""

    time: Floats
    points: Floats


def fine_path(t: Floats, path: Floats, size: float) -> ContactPath:
    """Refine a path (times, 3) in m with the times t (s), if its direction changes fast.

    The path is interrupted by NaN between two samples with an unresolved change of direction whose distance
    exceeds half the `size` (m) of the vehicle.

    >>> t = np.arange(0.0, 10.0, 0.7)
    >>> circle = np.stack([np.cos(t), np.sin(t), 0.0 * t], axis=1)
    >>> fine = fine_path(t, circle, 1.0).points
    >>> len(fine) > 60, bool(np.abs(np.linalg.norm(fine[10:-10], axis=1) - 1.0).max() < 1e-2)
    (True, True)
    """
    is_finite = np.isfinite(path).all(axis=1)
    ends = np.flatnonzero(np.diff(t) <= 0.0) + 1
    ends = np.unique([*ends, *(np.flatnonzero(np.diff(is_finite)) + 1)]).astype(int)
    times = []
    points = []
    for when, piece in zip(np.split(t, ends), np.split(path, ends), strict=True):
        fine = (
            _refine(when, piece, size)
            if len(piece) > 3 and np.isfinite(piece).all()
            else (when, piece)
        )
        times.append(fine[0])
        points.append(fine[1])
    return ContactPath(np.concatenate(times), np.concatenate(points))


def _refine(t: Floats, path: Floats, size: float) -> tuple[Floats, Floats]:
    """Refine a path (times, 3) in m without gaps by a cubic spline; return its times (s) and points (m)."""
    chords = np.diff(path, axis=0)
    lengths = np.linalg.norm(chords, axis=1)
    # If the contact is at rest, segments are shorter than this, and round-off determines their direction.
    shortest = 1e-6 * size
    directions = chords / np.maximum(lengths, shortest)[:, None]
    angles = np.arccos(np.clip(np.sum(directions[1:] * directions[:-1], axis=1), -1.0, 1.0))
    corners = np.where(np.minimum(lengths[1:], lengths[:-1]) > shortest, angles, 0.0)
    angle_at_sample = np.maximum(np.append(corners, 0.0), np.append(0.0, corners))
    unresolved = angle_at_sample > MAX_RESOLVED_ANGLE
    counts = (
        np.where(unresolved, 1, np.ceil(angle_at_sample / MAX_SEGMENT_ANGLE)).astype(int).clip(1)
    )
    if counts.max() == 1 and not unresolved.any():
        return t, path
    # Importing SciPy takes longer than everything else here, and most paths do not need the spline.
    from scipy.interpolate import CubicSpline

    fine = np.concatenate([
        *(np.linspace(a, b, n, endpoint=False) for a, b, n in zip(t[:-1], t[1:], counts, strict=True)),
        t[-1:],
    ])  # fmt: skip
    points = CubicSpline(t, path)(fine)
    first = np.append(0, np.cumsum(counts))
    points[first] = path
    points[first[:-1][unresolved & (lengths > size / 2.0)]] = np.nan
    return fine, points
