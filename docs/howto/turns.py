"""Heading against distance."""

from typing import Any

import numpy as np

from draisine.view.style import bodies_of, curve, given_or_new, plain


def draw(data: Any, axes: Any = None) -> Any:
    """Return axes with yaw, in degrees, against the distance covered by the base."""
    bodies_of(data)  # raises an error if the dataset is not a run
    axes = plain(given_or_new(axes))
    steps = np.linalg.norm(np.diff(data["position"].values, axis=0), axis=1)
    curve(axes, 0, np.concatenate([[0.0], np.cumsum(steps)]), np.degrees(data["yaw"].values), "yaw")
    axes.set_xlabel("distance (m)")
    axes.set_ylabel("heading, left positive (deg)")
    return axes
