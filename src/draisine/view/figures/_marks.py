"""Markers of events on the time axis of figures."""

import math
from typing import TYPE_CHECKING

from draisine.results.attributes import read_validity
from draisine.results.events import read_drawn_events
from draisine.view.style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

EVENT_MARKERS = {
    "collision": ("v", "#000000"),
    "lift-off": ("^", "#000000"),
    "hand-over": (">", GREY),
    "stick": ("s", GREY),
    "slip": ("D", GREY),
    "input": ("o", GREY),
    "time-stepping": ("1", GREY),
    "event-location": ("2", GREY),
    "fall": ("X", "#D55E00"),
}
"""Marker symbol of Matplotlib and colour, by kind of event."""


def time_of_fall(data: "Dataset") -> float:
    """Return the time (s) at which the vehicle of a run fell; infinity if it did not fall."""
    validity = read_validity(data)
    return math.inf if validity is None or validity.fall_from is None else validity.fall_from


def list_marks(data: "Dataset") -> list[tuple[float, str]]:
    """Return the times (s) and the kinds of all events of a run, including its fall."""
    marks = [(float(event["time"]), str(event["kind"])) for event in read_drawn_events(data)]
    fall = time_of_fall(data)
    return [*marks, (fall, "fall")] if math.isfinite(fall) else marks


def mark_events(data: "Dataset", axes: "Axes") -> None:
    """Mark the events and the fall of a run on the time axis of `axes`.

    Each event is a vertical line with a marker at the top; the legend names the kinds of events.
    """
    labelled: set[str] = set()
    for t, kind in list_marks(data):
        sign, colour = EVENT_MARKERS.get(kind, ("x", GREY))
        axes.axvline(t, color=colour, lw=0.7, alpha=0.5, zorder=1.5)
        axes.plot(
            [t],
            [0.97],
            transform=axes.get_xaxis_transform(),
            ls="none",
            marker=sign,
            ms=5,
            color=colour,
            label=None if kind in labelled else kind,
        )
        labelled.add(kind)
