"""The heading against the way that was covered."""

from typing import Any

import numpy as np

from draisine.view.style import bodies_of, curve, given_or_new, plain


def draw(data: Any, axes: Any = None) -> Any:
    """Return axes with yaw, in degrees, against the length of the way of the base."""
    bodies_of(data)  # says what to do where this is no run
    axes = plain(given_or_new(axes))
    steps = np.linalg.norm(np.diff(data["position"].values, axis=0), axis=1)
    curve(axes, 0, np.concatenate([[0.0], np.cumsum(steps)]), np.degrees(data["yaw"].values), "yaw")
    axes.set_xlabel("way (m)")
    axes.set_ylabel("heading, left positive (deg)")
    return axes
