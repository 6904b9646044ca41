"""A camera that looks at a machine: perspective, and the lines on the ground that it sees."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.view.scene.ground import Patch, clip_patch
from draisine.view.scene.scene import AROUND, Scene

AZIMUTH = -72.0
"""From where the camera looks, in degrees from the first heading: from the right, a little ahead, so that
the lip of a ramp hides nothing."""

ZOOM = 3.2
"""Half the picture's height, at the distance one, is one over this."""

AWAY = 4.2
"""The camera's distance in sizes of the machine."""


@dataclass(frozen=True, eq=False)
class Camera:
    """Where the camera looks at, its axes (right, up, ahead; rows), its distance from there."""

    focus: Floats
    axes: Floats
    distance: float
    zoom: float = ZOOM

    @classmethod
    def following(cls, motion: Scene, k: int) -> "Camera":
        """Return the camera for the k-th time of a motion."""
        u = motion.up
        e = np.array([1.0, 0.0, 0.0]) - u[0] * u
        e = e / np.linalg.norm(e)
        left = np.cross(u, e)
        turn, rise = motion.heading + math.radians(AZIMUTH), motion.elevation
        back = math.cos(rise) * (math.cos(turn) * e + math.sin(turn) * left) + math.sin(rise) * u
        right = np.cross(u, back)
        right = right / np.linalg.norm(right)
        axes = np.array([right, np.cross(back, right), -back])
        return cls(motion.focus[k], axes, AWAY * motion.size)

    @property
    def eye(self) -> Floats:
        """Where the camera stands."""
        return self.focus - self.distance * self.axes[2]

    @property
    def near(self) -> float:
        """How far before the camera things must be to be seen."""
        return 0.05 * self.distance

    def project(self, points: Any) -> tuple[Floats, Floats]:
        """Return where points (any shape, 3) are in the picture, and their depth."""
        there = (np.asarray(points, float) - self.focus) @ self.axes.T
        depth = there[..., 2] + self.distance
        safe = np.where(depth > self.near, depth, self.near)
        return self.zoom * there[..., :2] / safe[..., None], depth

    def face(self, patch: Patch) -> tuple[Floats, float]:
        """Return where the corners of a patch are in the picture, cut off where they are behind the
        camera, and the patch's depth; none of a patch that looks away.
        """
        ahead = self.axes[2]
        if patch.normal @ (self.eye - patch.outline[0]) <= 0.0:
            return np.zeros((0, 2)), 0.0
        behind = self.distance - self.near - float(ahead @ self.focus)
        flat, depth = self.project(clip_patch(patch.outline, -ahead, behind))
        return flat, float(depth.mean()) if len(depth) else 0.0

    def clear(self, pieces: Floats, cell: float) -> Floats:
        """Return how clear lines on the ground are, piece by piece: less far away."""
        away = np.linalg.norm(pieces.mean(axis=1)[:, :2] - self.focus[:2], axis=1)
        return np.clip(1.0 - away / (AROUND * cell), 0.0, 1.0)

    def grid(self, height: float, cell: float) -> Floats:
        """Return the lines on level ground around the focus, piece by piece."""
        middle = np.round(self.focus[:2] / cell) * cell
        steps = cell * np.arange(-AROUND, AROUND + 1)
        across, along = np.meshgrid(steps, steps[:-1], indexing="ij")
        pieces = []
        for swap in (False, True):
            a, b = np.ravel(across), np.ravel(along)
            ends = [(a, b), (a, b + cell)]
            xy = np.array([(y, x) if swap else (x, y) for x, y in ends])
            pieces.append(np.moveaxis(xy, 2, 0))
        flat = np.concatenate(pieces) + middle
        return np.concatenate([flat, np.full((*flat.shape[:2], 1), height)], axis=2)
