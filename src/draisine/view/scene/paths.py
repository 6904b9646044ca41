"""Ways of contacts as smooth lines: where they turn fast from sample to sample, points between them."""

import math
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats

SMOOTH = math.radians(8.0)
"""A line that turns by less from piece to piece looks smooth."""

WILD = math.radians(100.0)
"""What lies between samples that turn by more is not known."""


class ContactPath(NamedTuple):
    """Where a contact was, and when."""

    time: Floats
    points: Floats


def fine_path(t: Floats, way: Floats, size: float) -> ContactPath:
    """Return a way (times, 3) with points between its samples where it turns fast, on a cubic spline; not
    a number where they are too few to know, for a machine of a size.

    >>> t = np.arange(0.0, 10.0, 0.7)
    >>> circle = np.stack([np.cos(t), np.sin(t), 0.0 * t], axis=1)
    >>> fine = fine_path(t, circle, 1.0).points
    >>> len(fine) > 60, bool(np.abs(np.linalg.norm(fine[10:-10], axis=1) - 1.0).max() < 1e-2)
    (True, True)
    """
    known = np.isfinite(way).all(axis=1)
    ends = np.flatnonzero(np.diff(t) <= 0.0) + 1
    ends = np.unique([*ends, *(np.flatnonzero(np.diff(known)) + 1)]).astype(int)
    times, points = [], []
    for when, piece in zip(np.split(t, ends), np.split(way, ends), strict=True):
        fine = (
            _refine(when, piece, size)
            if len(piece) > 3 and np.isfinite(piece).all()
            else (when, piece)
        )
        times.append(fine[0])
        points.append(fine[1])
    return ContactPath(np.concatenate(times), np.concatenate(points))


def _refine(t: Floats, way: Floats, size: float) -> tuple[Floats, Floats]:
    """Return a piece of a way without gaps, refined."""
    chords = np.diff(way, axis=0)
    far = np.linalg.norm(chords, axis=1)
    least = 1e-6 * size  # what moves by less rests
    ways = chords / np.maximum(far, least)[:, None]
    angles = np.arccos(np.clip(np.sum(ways[1:] * ways[:-1], axis=1), -1.0, 1.0))
    corners = np.where(np.minimum(far[1:], far[:-1]) > least, angles, 0.0)
    turns = np.maximum(np.append(corners, 0.0), np.append(0.0, corners))
    wild = turns > WILD
    counts = np.where(wild, 1, np.ceil(turns / SMOOTH)).astype(int).clip(1)
    if counts.max() == 1 and not wild.any():
        return t, way
    from scipy.interpolate import CubicSpline

    fine = np.concatenate([
        *(np.linspace(a, b, n, endpoint=False) for a, b, n in zip(t[:-1], t[1:], counts, strict=True)),
        t[-1:],
    ])  # fmt: skip
    points = CubicSpline(t, way)(fine)
    first = np.append(0, np.cumsum(counts))
    points[first] = way
    points[first[:-1][wild & (far > size / 2.0)]] = np.nan
    return fine, points
