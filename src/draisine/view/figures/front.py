"""A machine seen from its front: one state, or several times of a run side by side."""

from typing import TYPE_CHECKING

from draisine.view.figures import _snapshots as snapshots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

FRONT_VIEW = snapshots.Sight(
    (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), "y, to its left", "x, behind", "front"
)


def draw(
    data: "Dataset",
    axes: "Axes | None" = None,
    every: float | None = None,
    raised: float | None = None,
) -> "Axes":
    """Draw a machine from its front: it moves towards the viewer, and its left is on the right.

    A state is seen from above its front, with heading and line of contacts on the ground. A run
    shows the machine at several times, each along its own heading.

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
