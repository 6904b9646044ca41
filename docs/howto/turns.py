"""Heading against distance."""

from typing import Any

import numpy as np

from draisine.view.style import draw_curve, given_or_new, restore_bodies, simplify_axes


def draw(data: Any, axes: Any = None) -> Any:
    """Return axes with yaw, in degrees, against the distance covered by the base."""
    restore_bodies(data)  # raises an error if the dataset is not a run
    axes = simplify_axes(given_or_new(axes))
    steps = np.linalg.norm(np.diff(data["position"].values, axis=0), axis=1)
    draw_curve(
        axes, 0, np.concatenate([[0.0], np.cumsum(steps)]), np.degrees(data["yaw"].values), "yaw"
    )
    axes.set_xlabel("distance (m)")
    axes.set_ylabel("heading, left positive (deg)")
    return axes
