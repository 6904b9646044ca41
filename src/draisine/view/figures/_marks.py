"""Events as marks on axes over time."""

from typing import TYPE_CHECKING

from draisine.results.events import events_of
from draisine.view.style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

SIGNS = {
    "collision": ("v", "#000000"),
    "lift-off": ("^", "#000000"),
    "hand-over": (">", GREY),
    "stick": ("s", GREY),
    "slip": ("D", GREY),
    "input": ("o", GREY),
}
"""A sign and a colour per kind of event."""


def mark_events(data: "Dataset", axes: "Axes") -> None:
    """Mark the events of a dataset, if it has some, by a line and a sign at the top; the legend
    names the signs.
    """
    seen: set[str] = set()
    for event in events_of(data):
        kind = str(event["kind"])
        sign, colour = SIGNS.get(kind, ("x", GREY))
        axes.axvline(event["time"], color=colour, lw=0.7, alpha=0.5, zorder=1.5)
        axes.plot(
            [event["time"]],
            [0.97],
            transform=axes.get_xaxis_transform(),
            ls="none",
            marker=sign,
            ms=5,
            color=colour,
            label=None if kind in seen else kind,
        )
        seen.add(kind)
