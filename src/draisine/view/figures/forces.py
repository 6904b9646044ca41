"""Contact forces against time, and the friction that they need."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.results.events import events_of
from draisine.view.figures._marks import mark_events
from draisine.view.style import COLOURS, DASHES, GREY, legend, new_figure, plain, rest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

DIRECTIONS = ("normal", "along", "across")

LOWEST = 0.01
"""The axis of friction reaches at least so far: what is below may be round-off."""

HIGHEST = 2.0
"""Friction beyond this is left off the figure: no tyre grips so well."""


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Return three axes: normal forces with the events, tangential forces, and tangential over
    normal force, which ends where the ground does not push. A run with impacts has a fourth: the
    normal impulses, and those of a set of contacts that was tried and rejected because one of them
    would have to pull.
    """
    if "contact_force" not in data:
        raise ParameterError("this run has no contact forces to draw.")
    impacts = [event for event in events_of(data) if event.get("impulse")]
    rows = 4 if impacts else 3
    panels = list(new_figure(rows, 1, (7.5, 2.4 * rows)) if axes is None else axes)
    normal, tangential, ratio = panels[:3]
    t = data["time"].values
    missing = list[str]()
    for k, contact in enumerate(str(c) for c in data["contact"].values):
        force = data["contact_force"].sel(contact=contact)
        push, along, across = (force.sel(direction=d).values for d in DIRECTIONS)
        needed = data["friction_needed"].sel(contact=contact).values
        colour = COLOURS[k % 7]
        dash = DASHES[k % 7]
        normal.plot(t, push, color=colour, ls=dash, lw=1.6, label=contact)
        tangential.plot(t, along, color=colour, ls="-", lw=1.6, label=f"{contact}, along")
        tangential.plot(t, across, color=colour, ls="--", lw=1.6, label=f"{contact}, across")
        ratio.plot(t, needed, color=colour, ls=dash, lw=1.6, label=contact)
        missing.append(_without(push, needed))
    mark_events(data, normal)
    for said in dict.fromkeys(filter(None, missing)):
        ratio.plot([], [], ls="", label=said)
    for panel, text in (
        (normal, "normal force (N)"),
        (tangential, "tangential force (N)"),
        (ratio, "friction needed\n(ratio)"),
    ):
        plain(panel).set_ylabel(text)
        legend(panel, 6)
    normal.set_ylim(_with_zero(*normal.get_ylim()))
    rest(normal, unit="N")
    rest(tangential, unit="N")
    ratio.set_ylim(0.0, float(np.clip(ratio.get_ylim()[1], LOWEST, HIGHEST)))
    if impacts and len(panels) > 3:
        _impulses(panels[3], impacts, [str(c) for c in data["contact"].values])
    for panel in panels[1:]:
        panel.set_xlim(normal.get_xlim())
    panels[-1].set_xlabel("time (s)")
    return np.array(panels)


def _with_zero(low: float, high: float) -> tuple[float, float]:
    """Return limits that have zero in them, with room above the highest force."""
    low = min(0.0, low)
    high = max(0.0, high)
    return low, high + 0.05 * (high - low)


def _impulses(axes: "Axes", impacts: list[dict[str, Any]], contacts: list[str]) -> None:
    """Draw normal impulses as stems, and as crosses those of a rejected trial."""
    axes.axhline(0.0, color=GREY, lw=0.8)
    told: set[str] = set()

    def mark(event: dict[str, Any], pushes: dict[str, list[float]], sign: str, said: str) -> None:
        for name, push in pushes.items():
            wheel = name.partition(":")[0]
            colour = COLOURS[contacts.index(wheel) % 7] if wheel in contacts else GREY
            text = said or wheel
            label = "_" if text in told else text
            told.add(text)
            axes.plot(event["time"], push[0], sign, color=colour, ms=5, mew=1.6, label=label)
            if sign == "o":
                axes.plot([event["time"]] * 2, [0.0, push[0]], color=colour, lw=1.6)

    for event in impacts:
        mark(event, event["impulse"], "o", "")
        tried = event.get("predicted") or {}
        if any(push[0] < 0.0 for push in tried.values()):
            mark(event, tried, "x", "tried with all closed, rejected")
    plain(axes).set_ylabel("normal impulse (N s)")
    legend(axes, 4)


def _without(push: Floats, needed: Floats) -> str:
    """Return why there is no friction ratio at some times."""
    if not np.isnan(needed).any():
        return ""
    return "none where the ground would pull" if (push < 0).any() else "none in the air"
