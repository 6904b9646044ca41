"""Figure of the events of a run as a graph: nodes are sets of closed contacts, edges are events.

It corresponds to figure 4.5 of Mauny's thesis (2018), with further transitions.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.results.events import format_wheels, read_events
from draisine.view.style import COLOURS, GREY, font_size, given_or_new, headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MAX_EVENTS_PER_EDGE = 6
"""Largest number of events that are listed beside one edge of the graph; the others are counted."""

HALF_BOX_SIZE = (0.78, 0.24)
"""Half the width and half the height of the box of a contact set, in axes units."""

HALF_WIDTH = 2.1
"""Horizontal semi-axis of the ellipse on which the boxes are placed, in axes units."""

HALF_HEIGHT = 1.25
"""Vertical semi-axis of the ellipse on which the boxes are placed, in axes units."""

ARROW_STYLE = {"arrowstyle": "-|>", "color": COLOURS[1], "lw": 1.5}
"""Style of the arrows between contact sets."""

NodePlace = tuple[float, float]
"""Type of the position (x, y) of a box in axes units."""


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Draw the sets of closed contacts as boxes, and events as arrows with number and time.

    Contact sets that the run never visits are grey.

    Parameters
    ----------
    data
        Dataset of a run on a terrain.
    axes
        Axes to draw into; by default new ones.

    Returns
    -------
    Axes
        The axes.
    """
    events = read_events(data)
    if not events:
        raise ParameterError(
            "This run has no events. Only runs on a terrain have events; choose another figure."
        )
    axes = given_or_new(axes, (10.0, 8.0))
    wheels = [str(c) for c in data["contact"].values]
    visited = [contact_set_name(events[0]["before"], wheels)]
    visited += [contact_set_name(event["after"], wheels) for event in events]
    places = _places(wheels, visited)
    boxes = {
        state: _box(
            axes, _short_state(state, wheels), place, state in visited, _ends(state, visited)
        )
        for state, place in places.items()
    }
    edges: dict[tuple[str, str], list[str]] = {}
    for k, event in enumerate(events, 1):
        edge = (contact_set_name(event["before"], wheels), contact_set_name(event["after"], wheels))
        description = f"{event['kind']} {format_wheels(event)}".rstrip()
        edges.setdefault(edge, []).append(f"{k}: {description}, {event['time']:.4g} s")
    for (start, end), labels in edges.items():
        text = "\n".join(_short(labels))
        if start == end:
            _loop(axes, places[start], text)
        else:
            _arrow(
                axes,
                boxes[start],
                boxes[end],
                text.replace(", ", "\n") if len(labels) == 1 else text,
            )
    axes.set(
        xlim=(-HALF_WIDTH - 1.7, HALF_WIDTH + 1.7), ylim=(-HALF_HEIGHT - 0.45, HALF_HEIGHT + 0.45)
    )
    axes.set_axis_off()
    axes.set_title(headline(data), fontsize=font_size(10))
    return axes


def contact_set_name(mode: Mapping[str, str], wheels: Sequence[str]) -> str:
    """Return the name of a contact mode: its touching wheels, and the joints at their stops.

    `mode` maps contacts to their states, for example "rear:ground" to "rolling". Sliding wheels are marked.

    >>> contact_set_name({"rear:ground": "rolling"}, ["rear", "front"])
    'rear'
    """
    touching = {key.split(":")[0]: status for key, status in mode.items()}
    words = [
        name + (" sliding" if touching[name] == "sliding" else "")
        for name in wheels
        if name in touching
    ]
    stopped = [key.replace(":", " at ") for key in mode if key.split(":")[0] not in wheels]
    return ", ".join([" + ".join(words) or "flight", *stopped])


def _short_state(state: str, wheels: Sequence[str]) -> str:
    """Return a short name of the set of closed contacts `state`, for the box of a graph.

    >>> _short_state("a + b + c", ["a", "b", "c"]), _short_state("a + b + c", ["a", "b", "c", "d"])
    ('all touch', 'all but d')
    """
    closed = state.split(" + ")
    if len(closed) < 3 or not set(closed) <= set(wheels):
        return state
    missing = [name for name in wheels if name not in closed]
    if not missing:
        return "all touch"
    return f"all but {missing[0]}" if len(missing) == 1 else " +\n".join(closed)


def _places(wheels: Sequence[str], visited: Iterable[str]) -> dict[str, NodePlace]:
    """Return the position of the box of each contact set in axes units.

    The boxes of a vehicle with two wheels form a diamond, other boxes an ellipse. `visited` are the names of
    the contact sets in the order of the run.
    """
    states = list(dict.fromkeys(visited))
    if len(wheels) == 2:
        pairs = [" + ".join(wheels), wheels[0], wheels[1], "flight"]
        if set(states) <= set(pairs):
            return dict(
                zip(
                    pairs,
                    (
                        (0.0, HALF_HEIGHT),
                        (-HALF_WIDTH, 0.0),
                        (HALF_WIDTH, 0.0),
                        (0.0, -HALF_HEIGHT),
                    ),
                    strict=True,
                )
            )
    if len(wheels) < 2:
        sets = [" + ".join(c) or "flight" for n in (1, 0) for c in combinations(wheels, n)]
        states = list(dict.fromkeys([*sets, *states]))
    angles = np.pi / 2 + 2.0 * np.pi * np.arange(len(states)) / len(states)
    return {
        state: (HALF_WIDTH * float(np.cos(a)), HALF_HEIGHT * float(np.sin(a)))
        for state, a in zip(states, angles, strict=True)
    }


def _ends(state: str, visited: Sequence[str]) -> str:
    """Return the remark for the box of a contact set: "start", "end", "start, end" or an empty string.

    `visited` are the contact sets of a run in their order.
    """
    words = [w for w, k in (("start", 0), ("end", -1)) if visited[k] == state]
    return ", ".join(words)


def _box(axes: Any, state: str, place: NodePlace, visited: bool, remark: str) -> Any:
    """Draw the box of a contact set with its name and a remark; return the box."""
    from matplotlib.patches import FancyBboxPatch

    (x, y) = place
    (width, height) = HALF_BOX_SIZE
    box = FancyBboxPatch(
        (x - width, y - height),
        2 * width,
        2 * height,
        boxstyle="round,pad=0,rounding_size=0.08",
        facecolor="white",
        edgecolor=COLOURS[0] if visited else "#bbbbbb",
        linewidth=2.0 if visited else 1.0,
    )
    axes.add_patch(box)
    text = f"{state}\n({remark})" if remark else state
    colour = "black" if visited else GREY
    axes.text(x, y, text, ha="center", va="center", fontsize=8, color=colour, zorder=3)
    return box


def _short(labels: Sequence[str]) -> list[str]:
    """Shorten the list of event labels at an edge: keep the first ones, and count the others."""
    if len(labels) <= MAX_EVENTS_PER_EDGE:
        return list(labels)
    return [*labels[: MAX_EVENTS_PER_EDGE - 1], f"... {len(labels) - MAX_EVENTS_PER_EDGE + 1} more"]


def _arrow(axes: Any, start: Any, end: Any, label: str) -> None:
    """Draw a curved arrow between two boxes with its label on the outer side."""
    a, b = (
        np.array([x.get_x() + HALF_BOX_SIZE[0], x.get_y() + HALF_BOX_SIZE[1]]) for x in (start, end)
    )
    bent = {"connectionstyle": "arc3,rad=0.25", "patchA": start, "patchB": end}
    ends = {"shrinkA": 2, "shrinkB": 2}
    axes.annotate("", xy=b, xytext=a, arrowprops=ARROW_STYLE | bent | ends)
    along = b - a
    across = np.array([along[1], -along[0]])
    # Place the label nearer to the start than to the middle: the labels of two opposite arrows then do not
    # overlap.
    _label(axes, a + 0.4 * along + 0.12 * across, label, across)


def _loop(axes: Any, place: NodePlace, label: str) -> None:
    """Draw a loop arrow on the outer side of a box."""
    side = -1.0 if place[0] < 0 else 1.0
    x = place[0] + side * HALF_BOX_SIZE[0]
    y = place[1]
    bent = {"connectionstyle": f"arc3,rad={-1.4 * side}", "shrinkA": 0, "shrinkB": 1}
    axes.annotate(
        "",
        xy=(x, y - HALF_BOX_SIZE[1] / 2),
        xytext=(x, y + HALF_BOX_SIZE[1] / 2),
        arrowprops=ARROW_STYLE | bent,
    )
    _label(axes, np.array([x + 0.24 * side, y]), label, np.array([side, 0.0]))


def _label(axes: Any, point: Any, label: str, outward: Any) -> None:
    """Write a label beside a point, in the outward direction."""
    away = outward / np.linalg.norm(outward)
    flat = abs(away[0]) < 0.3
    axes.text(
        point[0] + 0.06 * away[0],
        point[1] + 0.06 * away[1],
        label,
        fontsize=8,
        ha="center" if flat else ("left" if away[0] > 0 else "right"),
        va="center" if not flat else ("bottom" if away[1] > 0 else "top"),
        zorder=4,
        bbox={
            "boxstyle": "square,pad=0.1",
            "facecolor": "white",
            "edgecolor": "none",
            "alpha": 0.85,
        },
    )
