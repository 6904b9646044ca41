"""Figure of contact forces against time, and of the required friction coefficient."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.results.events import CONTACT_DIRECTIONS, read_events
from draisine.view.figures._marks import mark_events
from draisine.view.style import (
    COLOURS,
    DASHES,
    GREY,
    add_legend,
    flatten_round_off,
    new_figure,
    simplify_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


MIN_FRICTION_LIMIT = 0.01
"""Smallest upper limit of the axis of the required friction coefficient. Smaller coefficients may be
round-off, which the figure must not magnify.
"""

MAX_FRICTION_LIMIT = 2.0
"""Largest upper limit of the axis of the required friction coefficient; no tyre reaches more."""


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Draw normal forces with events, tangential forces, and the required friction coefficient.

    The required friction coefficient is the ratio of tangential to normal force; it is undefined without a
    normal force. A run with impacts has a fourth panel with normal impulses, including those of contact
    sets that were rejected because a normal impulse was negative.

    Parameters
    ----------
    data
        Dataset of a run with contacts.
    axes
        Three or four axes; by default new ones.

    Returns
    -------
    array of Axes
        The axes from top to bottom.
    """
    if "contact_force" not in data:
        raise ParameterError("This result has no contact forces. Choose another figure.")
    impacts = [event for event in read_events(data) if event.get("impulse")]
    rows = 4 if impacts else 3
    panels = list(new_figure(rows, 1, (7.5, 2.4 * rows)) if axes is None else axes)
    normal, tangential, ratio = panels[:3]
    t = data["time"].values
    remarks = list[str]()
    for k, contact in enumerate(str(c) for c in data["contact"].values):
        force = data["contact_force"].sel(contact=contact)
        normal_force, along, across = (force.sel(direction=d).values for d in CONTACT_DIRECTIONS)
        friction = data["friction_needed"].sel(contact=contact).values
        colour = COLOURS[k % 7]
        dash = DASHES[k % 7]
        normal.plot(t, normal_force, color=colour, ls=dash, lw=1.6, label=contact)
        tangential.plot(t, along, color=colour, ls="-", lw=1.6, label=f"{contact}, along")
        tangential.plot(t, across, color=colour, ls="--", lw=1.6, label=f"{contact}, across")
        ratio.plot(t, friction, color=colour, ls=dash, lw=1.6, label=contact)
        remarks.append(_undefined_remark(normal_force, friction))
    mark_events(data, normal)
    for remark in dict.fromkeys(filter(None, remarks)):
        ratio.plot([], [], ls="", label=remark)
    for panel, text in (
        (normal, "normal force (N)"),
        (tangential, "tangential force (N)"),
        (ratio, "friction needed\n(ratio)"),
    ):
        simplify_axes(panel).set_ylabel(text)
        add_legend(panel, 6)
    normal.set_ylim(_with_zero(*normal.get_ylim()))
    flatten_round_off(normal, unit="N")
    flatten_round_off(tangential, unit="N")
    ratio.set_ylim(0.0, float(np.clip(ratio.get_ylim()[1], MIN_FRICTION_LIMIT, MAX_FRICTION_LIMIT)))
    if impacts and len(panels) > 3:
        _impulses(panels[3], impacts, [str(c) for c in data["contact"].values])
    for panel in panels[1:]:
        panel.set_xlim(normal.get_xlim())
    panels[-1].set_xlabel("time (s)")
    return np.array(panels)


def _with_zero(low: float, high: float) -> tuple[float, float]:
    """Return axis limits (N) for forces from `low` to `high` (N) that include zero and a margin."""
    low = min(0.0, low)
    high = max(0.0, high)
    return low, high + 0.05 * (high - low)


def _impulses(axes: "Axes", impacts: list[dict[str, Any]], contacts: list[str]) -> None:
    """Draw normal impulses (N s) of impacts as stems, and impulses of rejected contact sets as crosses."""
    axes.axhline(0.0, color=GREY, lw=0.8)
    labelled: set[str] = set()

    def mark(event: dict[str, Any], pushes: dict[str, list[float]], sign: str, remark: str) -> None:
        """Draw the normal impulses (N s) of one event as stems or crosses."""
        for name, push in pushes.items():
            wheel = name.partition(":")[0]
            colour = COLOURS[contacts.index(wheel) % 7] if wheel in contacts else GREY
            text = remark or wheel
            label = "_" if text in labelled else text
            labelled.add(text)
            axes.plot(event["time"], push[0], sign, color=colour, ms=5, mew=1.6, label=label)
            if sign == "o":
                axes.plot([event["time"]] * 2, [0.0, push[0]], color=colour, lw=1.6)

    for event in impacts:
        mark(event, event["impulse"], "o", "")
        rejected = event.get("predicted") or {}
        if any(push[0] < 0.0 for push in rejected.values()):
            mark(event, rejected, "x", "all contacts closed: rejected")
    simplify_axes(axes).set_ylabel("normal impulse (N s)")
    add_legend(axes, 4)


def _undefined_remark(normal_force: Floats, friction: Floats) -> str:
    """Return the reason why the required friction coefficient is undefined at some samples.

    The result is an empty string if the coefficient is defined at all samples. Forces are in N.
    """
    if not np.isnan(friction).any():
        return ""
    return "undefined: negative load" if (normal_force < 0).any() else "undefined in the air"
