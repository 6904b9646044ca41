"""Camera that follows a vehicle: perspective projection, clipping, and grid lines on the ground."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.view.scene.ground import Patch, clip_patch
from draisine.view.scene.scene import GROUND_LINES, Scene

CAMERA_AZIMUTH = -72.0
"""Azimuth of the camera from the initial heading (deg): from the right and slightly ahead.

From this side the lip of a ramp does not hide the vehicle.

"""

CAMERA_ZOOM = 3.2
"""Focal length relative to half the height of the picture: at unit distance, the half height shows
the length 1 / zoom.
"""

CAMERA_DISTANCE = 4.2
"""Distance of the camera from its focus, in sizes of the vehicle."""


@dataclass(frozen=True, eq=False)
class Camera:
    """A perspective camera.

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
        """Return the camera that follows the vehicle at sample k of a motion."""
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
        """Project points (..., 3); return picture coordinates (..., 2) and depths (...) in m."""
        relative = (np.asarray(points, float) - self.focus) @ self.axes.T
        depth = relative[..., 2] + self.distance
        safe = np.where(depth > self.near, depth, self.near)
        return self.zoom * relative[..., :2] / safe[..., None], depth

    def face(self, patch: Patch) -> tuple[Floats, float]:
        """Return the clipped corners (n, 2) of a ground patch in the picture, and its mean depth in m.

        The array is empty if the patch faces away from the camera.
        """
        forward = self.axes[2]
        if patch.normal @ (self.eye - patch.outline[0]) <= 0.0:
            return np.zeros((0, 2)), 0.0
        behind = self.distance - self.near - float(forward @ self.focus)
        flat, depth = self.project(clip_patch(patch.outline, -forward, behind))
        return flat, float(depth.mean()) if len(depth) else 0.0

    def clear(self, pieces: Floats, cell: float) -> Floats:
        """Return the opacity (lines,) of ground lines (lines, 2, 3), which decreases with their
        distance from the focus.
        """
        distances = np.linalg.norm(pieces.mean(axis=1)[:, :2] - self.focus[:2], axis=1)
        return np.clip(1.0 - distances / (GROUND_LINES * cell), 0.0, 1.0)

    def grid(self, height: float, cell: float) -> Floats:
        """Return the segments (segments, 2, 3) of a grid on level ground around the focus, m."""
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
