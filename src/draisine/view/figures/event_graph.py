"""The events of a run as a graph: which contacts are closed, and what leads from one set of them to
the next (as figure 4.5 of Mauny's thesis, with the ways that it leaves out).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.results.events import events_of, wheels_of
from draisine.view.style import COLOURS, GREY, given_or_new, headline, letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MANY = 6
"""So many events of one way are told one by one."""

HALF = (0.78, 0.24)
"""Half of a state's width and height."""

LEFT = 2.1
TOP = 1.25
"""How far out the states are."""

ARROW = {"arrowstyle": "-|>", "color": COLOURS[1], "lw": 1.5}

NodePlace = tuple[float, float]


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Return axes with the sets of closed contacts as boxes and the events as arrows between them,
    each with number and time; where a run never was is grey.
    """
    events = events_of(data)
    if not events:
        raise ParameterError("this run has no events to draw; it was made without a terrain.")
    axes = given_or_new(axes, (10.0, 8.0))
    wheels = [str(c) for c in data["contact"].values]
    visited = [state_of(events[0]["before"], wheels)]
    visited += [state_of(event["after"], wheels) for event in events]
    places = _places(wheels, visited)
    boxes = {
        state: _box(axes, _told(state, wheels), place, state in visited, _ends(state, visited))
        for state, place in places.items()
    }
    ways: dict[tuple[str, str], list[str]] = {}
    for k, event in enumerate(events, 1):
        way = (state_of(event["before"], wheels), state_of(event["after"], wheels))
        what = f"{event['kind']} {wheels_of(event)}".rstrip()
        ways.setdefault(way, []).append(f"{k}: {what}, {event['time']:.4g} s")
    for (start, end), labels in ways.items():
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
    axes.set(xlim=(-LEFT - 1.7, LEFT + 1.7), ylim=(-TOP - 0.45, TOP + 0.45))
    axes.set_axis_off()
    axes.set_title(headline(data), fontsize=letters(10))
    return axes


def state_of(mode: Mapping[str, str], wheels: Sequence[str]) -> str:
    """Return the name of a set of closed contacts: the wheels that touch, sliding ones say so, and
    the joints at their stops.

    >>> state_of({"rear:ground": "rolling"}, ["rear", "front"])
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


def _told(state: str, wheels: Sequence[str]) -> str:
    """Return a set of contacts in few words.

    >>> _told("a + b + c", ["a", "b", "c"]), _told("a + b + c", ["a", "b", "c", "d"])
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
    """Return where each state is drawn: those of a bicycle on a diamond, others on an ellipse."""
    states = list(dict.fromkeys(visited))
    if len(wheels) == 2:
        pairs = [" + ".join(wheels), wheels[0], wheels[1], "flight"]
        if set(states) <= set(pairs):
            return dict(
                zip(pairs, ((0.0, TOP), (-LEFT, 0.0), (LEFT, 0.0), (0.0, -TOP)), strict=True)
            )
    if len(wheels) < 2:
        sets = [" + ".join(c) or "flight" for n in (1, 0) for c in combinations(wheels, n)]
        states = list(dict.fromkeys([*sets, *states]))
    angles = np.pi / 2 + 2.0 * np.pi * np.arange(len(states)) / len(states)
    return {
        state: (LEFT * float(np.cos(a)), TOP * float(np.sin(a)))
        for state, a in zip(states, angles, strict=True)
    }


def _ends(state: str, visited: Sequence[str]) -> str:
    """Return what a state is to a run, beside a state: its start, its end."""
    words = [w for w, k in (("start", 0), ("end", -1)) if visited[k] == state]
    return ", ".join(words)


def _box(axes: Any, state: str, place: NodePlace, seen: bool, remark: str) -> Any:
    """Draw a state and return its box."""
    from matplotlib.patches import FancyBboxPatch

    (x, y) = place
    (width, height) = HALF
    box = FancyBboxPatch(
        (x - width, y - height),
        2 * width,
        2 * height,
        boxstyle="round,pad=0,rounding_size=0.08",
        facecolor="white",
        edgecolor=COLOURS[0] if seen else "#bbbbbb",
        linewidth=2.0 if seen else 1.0,
    )
    axes.add_patch(box)
    text = f"{state}\n({remark})" if remark else state
    colour = "black" if seen else GREY
    axes.text(x, y, text, ha="center", va="center", fontsize=8, color=colour, zorder=3)
    return box


def _short(labels: Sequence[str]) -> list[str]:
    if len(labels) <= MANY:
        return list(labels)
    return [*labels[: MANY - 1], f"... {len(labels) - MANY + 1} more"]


def _arrow(axes: Any, start: Any, end: Any, label: str) -> None:
    """Draw a bent arrow from box to box with its label on the outer side of the bend."""
    a, b = (np.array([x.get_x() + HALF[0], x.get_y() + HALF[1]]) for x in (start, end))
    bent = {"connectionstyle": "arc3,rad=0.25", "patchA": start, "patchB": end}
    ends = {"shrinkA": 2, "shrinkB": 2}
    axes.annotate("", xy=b, xytext=a, arrowprops=ARROW | bent | ends)
    along = b - a
    across = np.array([along[1], -along[0]])
    _label(axes, (a + b) / 2 + 0.125 * across, label, across)


def _loop(axes: Any, place: NodePlace, label: str) -> None:
    """Draw a loop on the side of a state that looks outward."""
    side = -1.0 if place[0] < 0 else 1.0
    x = place[0] + side * HALF[0]
    y = place[1]
    bent = {"connectionstyle": f"arc3,rad={-1.4 * side}", "shrinkA": 0, "shrinkB": 1}
    axes.annotate("", xy=(x, y - HALF[1] / 2), xytext=(x, y + HALF[1] / 2), arrowprops=ARROW | bent)
    _label(axes, np.array([x + 0.24 * side, y]), label, np.array([side, 0.0]))


def _label(axes: Any, at: Any, label: str, outward: Any) -> None:
    away = outward / np.linalg.norm(outward)
    flat = abs(away[0]) < 0.3
    axes.text(
        at[0] + 0.06 * away[0],
        at[1] + 0.06 * away[1],
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
