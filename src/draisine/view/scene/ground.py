"""Drawn ground of a run: convex polygons of the terrain around the path of the vehicle, with grid lines.

Polygons of moving ground are stored in the moving frame, together with the index of its motion.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.terrain import Feature, Mesh, Terrain
from draisine.terrain.feature import BORDER_NORMAL, BORDER_OFFSET, BORDER_POINT, ObstacleMotion
from draisine.terrain.smooth import facets

MAX_PATCHES = 4000
"""Largest number of drawn patches, a limit of drawing time. On a finer terrain, a narrower strip around the
path is drawn.
"""

LIGHT_DIRECTION = np.array([-0.5, -0.3, 0.81])
"""Unit vector from the ground to the light source; patches whose normals point along it are bright."""


@dataclass(frozen=True, eq=False)
class Patch:
    """A convex polygon of the ground.

    Attributes
    ----------
    outline
        Corners of the polygon, (corners, 3), m.
    lines
        Segments of grid lines on the polygon, (segments, 2, 3), m.
    normal
        Unit normal (3,) out of the ground.
    carrier
        Index of the motion of the ground; None for fixed ground.
    """

    outline: Floats
    lines: Floats
    normal: Floats
    carrier: int | None = None

    @property
    def grey(self) -> float:
        """Brightness of the patch from 0 (dark) to 1 (bright)."""
        return float(np.clip(0.25 + 0.8 * self.normal @ LIGHT_DIRECTION, 0.62, 0.95))

    def moved(self, R: Floats, p: Floats) -> "Patch":
        """Return the patch in world axes, given the rotation R (3, 3) and position p (3) of its ground."""
        return Patch(p + self.outline @ R.T, p + self.lines @ R.T, R @ self.normal)


def ground_patches(
    terrain: Terrain,
    t: Floats,
    path: Floats,
    reach: float,
    cell: float,
    *,
    whole_faces: bool = False,
    with_lines: bool = True,
) -> list[Patch]:
    """Return the patches of a terrain around a path, with grid lines.

    Parameters
    ----------
    terrain
        Terrain.
    t
        Times (times,) of the path, s.
    path
        Positions (times, 3) of the vehicle, m.
    reach
        Largest distance between the path and a patch, m; it is reduced if there are too many patches.
    cell
        Spacing of the grid lines, m.
    whole_faces
        Whether grid lines cover complete patches, or only their parts near the path.
    with_lines
        Whether patches have grid lines.

    Returns
    -------
    list of Patch
        Patches in the frame of their ground.
    """
    samples = np.unique(np.linspace(0, len(path) - 1, 200).astype(int))
    while True:
        indices = dict.fromkeys(
            k for i in samples for k in terrain.near(path[i], reach, float(t[i]))
        )
        features = [terrain[k] for k in indices]
        faces = [feature for feature in features if feature.kind == "face"]
        faces += _facets([feature for feature in features if feature.kind == "patch"], path, reach)
        # Halve the width of the drawn strip until the number of faces is small enough.
        if len(faces) <= MAX_PATCHES or reach < cell:
            break
        reach = reach / 2.0
    motions = terrain.motions
    drawn = []
    for feature in faces[:MAX_PATCHES]:
        carrier = None if feature.motion is None else motions.index(feature.motion)
        local_path = path[samples]
        if feature.motion is not None:
            poses = [ground_pose(feature.motion, float(t[k])) for k in samples]
            local_path = np.array(
                [R.T @ (x - p) for (R, p), x in zip(poses, local_path, strict=True)]
            )
        drawn.append(_patch(feature, local_path, reach, cell, carrier, whole_faces, with_lines))
    return [patch for patch in drawn if len(patch.outline) > 2]


def _facets(smooth: list[Feature], path: Floats, reach: float) -> list[Feature]:
    """Return planar faces that approximate smooth patches within `reach` (m) of a path (times, 3) in m."""
    low = path[:, :2].min(axis=0) - reach
    high = path[:, :2].max(axis=0) + reach
    faces: list[Feature] = []
    for motion in dict.fromkeys(feature.motion for feature in smooth):
        cells = np.array([feature.cell for feature in smooth if feature.motion == motion])
        points, triangles = facets(cells, low, high)
        if len(triangles):
            mesh = Mesh(points, triangles)
            pieces = mesh.pick(range(mesh.faces))
            faces += [
                replace(pieces.one(k, mesh.name(k)), motion=motion) for k in range(mesh.faces)
            ]
    return faces


def ground_pose(motion: ObstacleMotion, t: float) -> tuple[Floats, Floats]:
    """Return the rotation (3, 3) and the position (3,) in m of moving ground at time t (s) as floats."""
    R, p = motion(t)
    return np.asarray(R, float), np.asarray(p, float)


def clip_patch(corners: Floats, A: Floats, o: float) -> Floats:
    """Return the part of a convex polygon (corners, 3) in the half-space A . x <= o.

    >>> square = np.array([[0.0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]])
    >>> clip_patch(square, np.array([1.0, 0, 0]), 1.0)[:, 0].tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    excess = corners @ A - o
    kept = []
    for k in range(len(corners)):
        a = excess[k]
        b = excess[(k + 1) % len(corners)]
        if a <= 0.0:
            kept.append(corners[k])
        if (a < 0.0 < b) or (b < 0.0 < a):
            kept.append(corners[k] + a / (a - b) * (corners[(k + 1) % len(corners)] - corners[k]))
    return np.array(kept).reshape(-1, 3)


def ground_heights(ground: list[Patch], points: Floats) -> Floats:
    """Return the heights (n,) of the ground below points (n, 3), m; NaN if there is no ground below."""
    best = np.full(len(points), -np.inf)
    low = points[:, :2].min(axis=0)
    high = points[:, :2].max(axis=0)
    for patch in ground:
        N = patch.normal
        corners = patch.outline
        is_outside = (corners[:, :2].max(axis=0) < low) | (corners[:, :2].min(axis=0) > high)
        if N[2] < 1e-6 or is_outside.any():
            continue
        z = (N @ corners[0] - points[:, :2] @ N[:2]) / N[2]
        along = np.roll(corners, -1, axis=0)[:, :2] - corners[:, :2]
        off = points[:, None, :2] - corners[None, :, :2]
        cross = along[:, 0] * off[..., 1] - along[:, 1] * off[..., 0]
        inside = (cross >= -1e-9).all(axis=1) | (cross <= 1e-9).all(axis=1)
        is_below = inside & (z <= points[:, 2] + 0.02) & (z > best)
        best[is_below] = z[is_below]
    return np.where(np.isfinite(best), best, np.nan)


def hidden_points(ground: list[Patch], eye: Floats, points: Floats) -> NDArray[np.bool_]:
    """Return for each point (n, 3) whether a ground patch hides it from the viewpoint `eye` (3,)."""
    rays = points - eye
    hidden = np.zeros(len(points), dtype=bool)
    for patch in ground:
        N = patch.normal
        corners = patch.outline
        height = float(N @ (eye - corners[0]))
        rate = -(rays @ N)
        if height <= 0.0:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            s = height / rate
        crossing = (s > 0.0) & (s < 1.0 - 1e-3)
        if crossing.any():
            crossings = eye + np.where(crossing, s, 0.0)[:, None] * rays
            along = np.roll(corners, -1, axis=0) - corners
            off = crossings[:, None, :] - corners[None, :, :]
            hidden |= crossing & ((np.cross(along, off) @ N) >= 0.0).all(axis=1)
    return hidden


def _patch(
    feature: Feature,
    path: Floats,
    reach: float,
    cell: float,
    carrier: int | None,
    whole_faces: bool,
    with_lines: bool,
) -> Patch:
    """Return the part of a planar face within `reach` (m) of a path, as a patch with grid lines.

    The path (times, 3) in m is given in the frame of the face. `carrier` is the index of its motion.
    """
    N = feature.numbers[:3]
    d = float(feature.numbers[3])
    low = path.min(axis=0) - reach
    high = path.max(axis=0) + reach
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
    if len(outline) < 3 or not with_lines:
        return Patch(outline, np.zeros((0, 2, 3)), N, carrier)
    lines = _lines(outline, N, cell)
    return Patch(outline, lines if whole_faces else _near(lines, path, reach), N, carrier)


def _lines(outline: Floats, N: Floats, cell: float) -> Floats:
    """Return the grid lines on a polygon and its edges as segments (segments, 2, 3) no longer than `cell`
    (m).

    `outline` (corners, 3) are the corners in m, N is the unit normal.
    """
    ends = []
    for axis in np.argsort(np.abs(N))[:2]:
        values = outline[:, axis]
        first = math.ceil(values.min() / cell)
        last = math.floor(values.max() / cell)
        for value in cell * np.arange(first, last + 1):
            crossings = _crossings(outline, values - value)
            if len(crossings) == 2:
                ends.append(crossings)
    if float(np.ptp(outline, axis=0).max()) > cell:
        ends += list(np.stack([outline, np.roll(outline, -1, axis=0)], axis=1))
    pieces = [np.zeros((0, 2, 3))]
    for a, b in ends:
        count = max(1, math.ceil(float(np.linalg.norm(b - a)) / cell - 1e-9))
        points = a + np.linspace(0.0, 1.0, count + 1)[:, None] * (b - a)
        pieces.append(np.stack([points[:-1], points[1:]], axis=1))
    return np.concatenate(pieces)


def _crossings(outline: Floats, above: Floats) -> Floats:
    """Return the points on the edges of a polygon at which a quantity is zero.

    The quantity is linear between its values `above` at the corners. If it is zero along an edge, the
    first corner is returned.
    """
    above = np.where(np.abs(above) < 1e-9, 0.0, above)
    points = []
    for k, (a, b) in enumerate(zip(above, np.roll(above, -1), strict=True)):
        if a == 0.0:
            points.append(outline[k])
        elif a * b < 0.0:
            points.append(outline[k] + a / (a - b) * (outline[(k + 1) % len(outline)] - outline[k]))
    return np.array(points).reshape(-1, 3)


def _near(pieces: Floats, path: Floats, reach: float) -> Floats:
    """Return the segments (segments, 2, 3) whose midpoints are within `reach` (m) of a path (times, 3)."""
    if not len(pieces):
        return pieces
    from scipy.spatial import cKDTree

    distances, _ = cKDTree(path).query(pieces.mean(axis=1))
    return pieces[distances <= reach]
