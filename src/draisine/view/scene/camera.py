"""Camera that follows a vehicle: perspective projection, clipping, and grid lines on the ground."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.view.scene.ground import Patch, clip_patch
from draisine.view.scene.scene import GROUND_LINES, Scene

CAMERA_AZIMUTH = -72.0
"""Azimuth (deg) of the camera position relative to the initial heading, positive to the left: on the right of
the vehicle and slightly ahead of it. From there the lip of a ramp does not hide the vehicle.
"""

CAMERA_ZOOM = 3.2
"""Focal length of the camera, as a multiple of half the height of the picture. At unit distance, half the
height of the picture shows the length 1 / zoom.
"""

CAMERA_DISTANCE = 4.2
"""Distance between the camera and its focus, as a multiple of the size of the vehicle."""


@dataclass(frozen=True, eq=False)
class Camera:
    """A camera with perspective projection, which looks at the point `focus`.

    Attributes
    ----------
    focus
        World point (3,) in the centre of the picture, m.
    axes
        Matrix (3, 3) with rows right, up and viewing direction, unit vectors in world axes.
    distance
        Distance of the camera from the focus, m.
    zoom
        Focal length relative to half the height of the picture.
    """

    focus: Floats
    axes: Floats
    distance: float
    zoom: float = CAMERA_ZOOM

    @classmethod
    def following(cls, motion: Scene, k: int) -> "Camera":
        """Return the camera for sample k of a motion: it looks at the vehicle from a constant direction."""
        u = motion.up
        e = np.array([1.0, 0.0, 0.0]) - u[0] * u
        e = e / np.linalg.norm(e)
        left = np.cross(u, e)
        azimuth = motion.heading + math.radians(CAMERA_AZIMUTH)
        elevation = motion.elevation
        back = (
            math.cos(elevation) * (math.cos(azimuth) * e + math.sin(azimuth) * left)
            + math.sin(elevation) * u
        )
        right = np.cross(u, back)
        right = right / np.linalg.norm(right)
        axes = np.array([right, np.cross(back, right), -back])
        return cls(motion.focus[k], axes, CAMERA_DISTANCE * motion.size)

    @property
    def eye(self) -> Floats:
        """Position (3,) of the camera in world axes, m."""
        return self.focus - self.distance * self.axes[2]

    @property
    def near(self) -> float:
        """Distance of the near clipping plane from the camera, m."""
        return 0.05 * self.distance

    def project(self, points: Any) -> tuple[Floats, Floats]:
        """Project world points (..., 3) in m; return picture coordinates (..., 2) and depths (...) in m.

        The picture coordinates are 1 at half the height of the picture. The depth is the distance from the
        camera along the viewing direction.
        """
        relative = (np.asarray(points, float) - self.focus) @ self.axes.T
        depth = relative[..., 2] + self.distance
        safe = np.where(depth > self.near, depth, self.near)
        return self.zoom * relative[..., :2] / safe[..., None], depth

    def face(self, patch: Patch) -> tuple[Floats, float]:
        """Project a ground patch; return its corners (n, 2) in picture coordinates and its mean depth in m.

        The patch is clipped at the near clipping plane. The array is empty if the patch faces away from the
        camera.
        """
        forward = self.axes[2]
        if patch.normal @ (self.eye - patch.outline[0]) <= 0.0:
            return np.zeros((0, 2)), 0.0
        behind = self.distance - self.near - float(forward @ self.focus)
        flat, depth = self.project(clip_patch(patch.outline, -forward, behind))
        return flat, float(depth.mean()) if len(depth) else 0.0

    def clear(self, pieces: Floats, cell: float) -> Floats:
        """Return the opacity (lines,) of ground lines (lines, 2, 3) in m.

        The opacity decreases linearly from 1 at the focus to 0 at `GROUND_LINES` grid spacings of `cell` (m).
        """
        distances = np.linalg.norm(pieces.mean(axis=1)[:, :2] - self.focus[:2], axis=1)
        return np.clip(1.0 - distances / (GROUND_LINES * cell), 0.0, 1.0)

    def grid(self, height: float, cell: float) -> Floats:
        """Return a grid on level ground around the focus as segments (segments, 2, 3), m.

        `height` (m) is the height of the ground, `cell` (m) the grid spacing.
        """
        middle = np.round(self.focus[:2] / cell) * cell
        steps = cell * np.arange(-GROUND_LINES, GROUND_LINES + 1)
        across, along = np.meshgrid(steps, steps[:-1], indexing="ij")
        pieces = []
        for swap in (False, True):
            a = np.ravel(across)
            b = np.ravel(along)
            ends = [(a, b), (a, b + cell)]
            xy = np.array([(y, x) if swap else (x, y) for x, y in ends])
            pieces.append(np.moveaxis(xy, 2, 0))
        flat = np.concatenate(pieces) + middle
        return np.concatenate([flat, np.full((*flat.shape[:2], 1), height)], axis=2)
