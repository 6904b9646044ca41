"""Figure of a vehicle from the front: one state, or several times of a run side by side."""

from typing import TYPE_CHECKING

from draisine.view.figures import _snapshots as snapshots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

FRONT_VIEW = snapshots.Sight(
    (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), "y, to its left", "x, behind", "front"
)
"""View from the front: the vehicle's left is on the right side of the picture."""


def draw(
    data: "Dataset",
    axes: "Axes | None" = None,
    every: float | None = None,
    raised: float | None = None,
) -> "Axes":
    """Draw a vehicle from the front: it moves towards the viewer, and its left side is on the right.

    One state is drawn from an elevated viewpoint, with heading and line of contacts on the ground. A run is
    drawn at several times side by side, each along the heading at that time.

    Parameters
    ----------
    data
        A run or a state.
    axes
        Axes to draw into; by default new ones.
    every
        Time between snapshots in s.
    raised
        Elevation of the viewpoint in rad.

    Returns
    -------
    Axes
        The axes.
    """
    return snapshots.draw_view(data, FRONT_VIEW, axes, every, raised)
