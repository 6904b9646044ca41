"""A machine seen from its front: as it stands, or at several times of a run side by side."""

from typing import TYPE_CHECKING

from draisine.view.figures import _snapshots as snapshots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

SIGHT = snapshots.Sight((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), "y, to its left", "x, behind", "front")


def draw(
    data: "Dataset",
    axes: "Axes | None" = None,
    every: float | None = None,
    raised: float | None = None,
) -> "Axes":
    """Return axes with a machine that comes towards the eye: its left is on the right.

    A state is seen from above its front, with its heading and the line of its contacts on the
    ground; a run every so many seconds, each machine along its own heading. `raised` is how high the
    eye stands, in rad.
    """
    return snapshots.look_along(data, SIGHT, axes, every, raised)
