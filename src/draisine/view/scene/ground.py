"""The ground of a run as it is looked at: convex patches of its faces around the way, with lines on
them; what moves is carried along.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.terrain import Feature, Terrain
from draisine.terrain.feature import BORDER_NORMAL, BORDER_OFFSET, BORDER_POINT, ObstacleMotion

MOST = 4000
"""A ground is drawn with no more patches than this; of finer ones less is shown."""

LIGHT = np.array([-0.5, -0.3, 0.81])
"""Where light comes from: faces that look there are pale."""


@dataclass(frozen=True, eq=False)
class Patch:
    """A convex piece of ground: its outline (corners, 3), pieces of lines on it (pieces, 2, 3), the
    normal out of the ground, and the number of the motion that carries it, if one does.
    """

    outline: Floats
    lines: Floats
    normal: Floats
    carrier: int | None = None

    @property
    def grey(self) -> float:
        """How pale it is, 0 to 1."""
        return float(np.clip(0.25 + 0.8 * self.normal @ LIGHT, 0.62, 0.95))

    def moved(self, R: Floats, p: Floats) -> "Patch":
        """Return it where its carrier is."""
        return Patch(p + self.outline @ R.T, p + self.lines @ R.T, R @ self.normal)


def patches(
    terrain: Terrain, t: Floats, way: Floats, reach: float, cell: float, whole: bool = False
) -> list[Patch]:
    """Return the faces of a ground within `reach` of a way that was taken at times `t`, with lines
    `cell` apart: near the way, or on the whole of a face.
    """
    some = np.unique(np.linspace(0, len(way) - 1, 200).astype(int))
    while True:
        found = dict.fromkeys(k for i in some for k in terrain.near(way[i], reach, float(t[i])))
        faces = [terrain[k] for k in found if terrain[k].kind == "face"]
        if len(faces) <= MOST or reach < cell:
            break
        reach = reach / 2.0
    motions = terrain.motions
    drawn = []
    for feature in faces[:MOST]:
        carrier = None if feature.motion is None else motions.index(feature.motion)
        seen = way[some]
        if feature.motion is not None:
            poses = [pose(feature.motion, float(t[k])) for k in some]
            seen = np.array([R.T @ (x - p) for (R, p), x in zip(poses, seen, strict=True)])
        drawn.append(_patch(feature, seen, reach, cell, carrier, whole))
    return [patch for patch in drawn if len(patch.outline) > 2]


def pose(motion: ObstacleMotion, t: float) -> tuple[Floats, Floats]:
    """Return rotation and position of a motion at a time, as numbers."""
    R, p = motion(t)
    return np.asarray(R, float), np.asarray(p, float)


def clip_patch(corners: Floats, A: Floats, o: float) -> Floats:
    """Return the part of a convex polygon where A.x <= o.

    >>> square = np.array([[0.0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]])
    >>> clip_patch(square, np.array([1.0, 0, 0]), 1.0)[:, 0].tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    beyond = corners @ A - o
    kept = []
    for k in range(len(corners)):
        a, b = beyond[k], beyond[(k + 1) % len(corners)]
        if a <= 0.0:
            kept.append(corners[k])
        if (a < 0.0 < b) or (b < 0.0 < a):
            kept.append(corners[k] + a / (a - b) * (corners[(k + 1) % len(corners)] - corners[k]))
    return np.array(kept).reshape(-1, 3)


def heights(ground: list[Patch], points: Floats) -> Floats:
    """Return how high the ground is below points (n, 3); not a number where there is none."""
    best = np.full(len(points), -np.inf)
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    for patch in ground:
        N, corners = patch.normal, patch.outline
        away = (corners[:, :2].max(axis=0) < low) | (corners[:, :2].min(axis=0) > high)
        if N[2] < 1e-6 or away.any():
            continue
        z = (N @ corners[0] - points[:, :2] @ N[:2]) / N[2]
        along = np.roll(corners, -1, axis=0)[:, :2] - corners[:, :2]
        off = points[:, None, :2] - corners[None, :, :2]
        turned = along[:, 0] * off[..., 1] - along[:, 1] * off[..., 0]
        inside = (turned >= -1e-9).all(axis=1) | (turned <= 1e-9).all(axis=1)
        here = inside & (z <= points[:, 2] + 0.02) & (z > best)
        best[here] = z[here]
    return np.where(np.isfinite(best), best, np.nan)


def hidden_points(ground: list[Patch], eye: Floats, points: Floats) -> NDArray[np.bool_]:
    """Return which points (n, 3) are behind a patch that looks towards the eye."""
    away = points - eye
    found = np.zeros(len(points), dtype=bool)
    for patch in ground:
        N, corners = patch.normal, patch.outline
        height, rate = float(N @ (eye - corners[0])), -(away @ N)
        if height <= 0.0:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            s = height / rate
        crossing = (s > 0.0) & (s < 1.0 - 1e-3)
        if crossing.any():
            at = eye + np.where(crossing, s, 0.0)[:, None] * away
            along = np.roll(corners, -1, axis=0) - corners
            off = at[:, None, :] - corners[None, :, :]
            found |= crossing & ((np.cross(along, off) @ N) >= 0.0).all(axis=1)
    return found


def _patch(
    feature: Feature, way: Floats, reach: float, cell: float, carrier: int | None, whole: bool
) -> Patch:
    """Return a face as far as it is near the way, both in the face's own frame."""
    N, d = feature.numbers[:3], float(feature.numbers[3])
    low, high = way.min(axis=0) - reach, way.max(axis=0) + reach
    middle = (low + high) / 2.0
    foot = middle - N * (N @ middle - d)
    across = np.eye(3)[int(np.argmin(np.abs(N)))]
    first = np.cross(N, across)
    first = first / np.linalg.norm(first)
    second = np.cross(N, first)
    size = float(np.linalg.norm(high - low))
    outline = foot + size * np.array(
        [first + second, second - first, -first - second, first - second]
    )
    for axis in np.eye(3):
        outline = clip_patch(
            clip_patch(outline, axis, float(axis @ high)), -axis, float(-axis @ low)
        )
    for row in feature.borders:
        outline = clip_patch(
            outline, row[BORDER_POINT], float(row[BORDER_OFFSET] - row[BORDER_NORMAL] @ N)
        )
    if len(outline) < 3:
        return Patch(outline, np.zeros((0, 2, 3)), N)
    lines = _lines(outline, N, cell)
    return Patch(outline, lines if whole else _near(lines, way, reach), N, carrier)


def _lines(outline: Floats, N: Floats, cell: float) -> Floats:
    """Return lines on a polygon where one of two coordinates is a multiple of `cell`, and its rim,
    all cut into pieces no longer than that.
    """
    ends = []
    for axis in np.argsort(np.abs(N))[:2]:
        values = outline[:, axis]
        first, last = math.ceil(values.min() / cell), math.floor(values.max() / cell)
        for value in cell * np.arange(first, last + 1):
            found = _crossings(outline, values - value)
            if len(found) == 2:
                ends.append(found)
    if float(np.ptp(outline, axis=0).max()) > cell:
        ends += list(np.stack([outline, np.roll(outline, -1, axis=0)], axis=1))
    pieces = [np.zeros((0, 2, 3))]
    for a, b in ends:
        count = max(1, math.ceil(float(np.linalg.norm(b - a)) / cell - 1e-9))
        points = a + np.linspace(0.0, 1.0, count + 1)[:, None] * (b - a)
        pieces.append(np.stack([points[:-1], points[1:]], axis=1))
    return np.concatenate(pieces)


def _crossings(outline: Floats, above: Floats) -> Floats:
    """Return where the rim of a polygon passes zero of a quantity known at its corners; a side on
    which it is zero has its own corners.
    """
    above = np.where(np.abs(above) < 1e-9, 0.0, above)
    found = []
    for k, (a, b) in enumerate(zip(above, np.roll(above, -1), strict=True)):
        if a == 0.0:
            found.append(outline[k])
        elif a * b < 0.0:
            found.append(outline[k] + a / (a - b) * (outline[(k + 1) % len(outline)] - outline[k]))
    return np.array(found).reshape(-1, 3)


def _near(pieces: Floats, way: Floats, reach: float) -> Floats:
    """Return the pieces within `reach` of a way."""
    if not len(pieces):
        return pieces
    from scipy.spatial import cKDTree

    away, _ = cKDTree(way).query(pieces.mean(axis=1))
    return pieces[away <= reach]
