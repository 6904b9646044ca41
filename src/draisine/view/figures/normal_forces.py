"""Figure of the normal contact forces against time, with the normal impulses of events."""

from typing import TYPE_CHECKING, Any

from draisine.view.figures._reactions import draw_reactions

if TYPE_CHECKING:
    from xarray import Dataset


def draw(data: "Dataset", axes: Any = None) -> Any:
    """Draw the normal force of every contact, and below it the normal impulses of the events.

    Crosses are impulses of contact sets that the impact solver rejected. Peaks that would flatten the
    curves are cut off; the legend states their values.

    Parameters
    ----------
    data
        Dataset of a run with contacts.
    axes
        One axes, or two for a run with impacts; by default new ones.

    Returns
    -------
    array of Axes
        The axes from top to bottom.
    """
    return draw_reactions(data, ("normal",), "normal", axes)
