"""A camera that looks at a machine: perspective, and the lines on the ground that it sees."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.experiment.bodies import Floats
from draisine.view.scene import Scene

AZIMUTH = -118.0
"""From where the camera looks, in degrees from the first heading: from the right, a little behind."""

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
    def near(self) -> float:
        """How far before the camera things must be to be seen."""
        return 0.05 * self.distance

    def seen(self, points: Any) -> tuple[Floats, Floats]:
        """Return where points (any shape, 3) are in the picture, and their depth."""
        there = (np.asarray(points, float) - self.focus) @ self.axes.T
        depth = there[..., 2] + self.distance
        safe = np.where(depth > self.near, depth, self.near)
        return self.zoom * there[..., :2] / safe[..., None], depth

    def grid(self, height: float, size: float) -> tuple[Floats, Floats]:
        """Return the lines on the ground around the focus, piece by piece, and how clear each is."""
        cell, count = cell_of(size), 10
        middle = np.round(self.focus[:2] / cell) * cell
        steps = cell * np.arange(-count, count + 1)
        across, along = np.meshgrid(steps, steps[:-1], indexing="ij")
        pieces = []
        for swap in (False, True):
            a, b = np.ravel(across), np.ravel(along)
            ends = [(a, b), (a, b + cell)]
            xy = np.array([(y, x) if swap else (x, y) for x, y in ends])
            pieces.append(np.moveaxis(xy, 2, 0))
        flat = np.concatenate(pieces) + middle
        away = np.linalg.norm(flat.mean(axis=1) - self.focus[:2], axis=1)
        clear = np.clip(1.0 - away / (cell * count), 0.0, 1.0)
        some = clear > 0.02
        lines = np.concatenate([flat, np.full((*flat.shape[:2], 1), height)], axis=2)
        return lines[some], clear[some]


def cell_of(size: float) -> float:
    """Return the spacing of lines on the ground for a machine of a size: 1, 2 or 5 of some decimal
    place.

    >>> [cell_of(size) for size in (0.03, 0.95, 4.0)]
    [0.02, 1.0, 2.0]
    """
    place = 10.0 ** math.floor(math.log10(1.2 * size))
    return float(max(m * place for m in (1, 2, 5) if m * place <= 1.2 * size * (1 + 1e-9)))
