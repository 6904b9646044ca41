"""Draw components of the contact forces over time, and of the impulses at the events of a run."""

from typing import TYPE_CHECKING, Any

import numpy as np

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
    from xarray import Dataset

LEGIBLE_QUANTILE = 0.98
"""Quantile of the forces that determines the limits of the force axis. Higher peaks, for example during
torque pulses, would flatten the rest of the curve. They are cut off, and the legend states their values.
"""

ZERO_FORCE = 1e-6
"""Largest lateral force (N), or lateral impulse (N s), that is not drawn because it counts as zero. It is
above the round-off of a run in a vertical plane.
"""

MIN_CUT_RATIO = 3.0
"""Smallest ratio of the full range of a force to its range within `LEGIBLE_QUANTILE` at which peaks are cut
off.
"""


def draw_reactions(data: "Dataset", directions: tuple[str, ...], name: str, axes: Any) -> Any:
    """Draw components of the contact forces against time, and below them the impulses of the events, if any.

    Parameters
    ----------
    data
        Dataset of a run with contacts.
    directions
        Components, a selection of `CONTACT_DIRECTIONS`.
    name
        Name of the components: "normal" or "tangential".
    axes
        One or two axes, or None for new ones.

    Returns
    -------
    array of Axes
        The axes from top to bottom.
    """
    if "contact_force" not in data:
        raise ParameterError("This result has no contact forces. Choose another figure.")
    impacts = [event for event in read_events(data) if event.get("impulse")]
    contacts = [str(c) for c in data["contact"].values]
    rows = 2 if impacts else 1
    if axes is None:
        axes = new_figure(rows, 1, (7.0, 1.2 + 2.6 * rows))
    panels = np.atleast_1d(axes).ravel()
    curves = []
    for k, contact in enumerate(contacts):
        for direction in directions:
            values = data["contact_force"].sel(contact=contact, direction=direction).values
            if direction == "across" and not np.abs(values).max() > ZERO_FORCE:
                continue
            curves.append(values)
            dash = DASHES[k % 7] if direction != "across" else "--"
            label = contact if len(directions) == 1 else f"{contact}, {direction}"
            panels[0].plot(
                data["time"].values, values, color=COLOURS[k % 7], ls=dash, lw=1.6, label=label
            )
    _limit_forces(panels[0], np.concatenate(curves))
    mark_events(data, panels[0])
    simplify_axes(panels[0]).set_ylabel(f"{name} force (N)")
    add_legend(panels[0], 4)
    flatten_round_off(panels[0], unit="N")
    if len(panels) > 1:
        _draw_impulses(panels[1], impacts, contacts, directions, name)
        panels[1].set_xlim(panels[0].get_xlim())
    panels[-1].set_xlabel("time (s)")
    return panels


def _limit_forces(axes: Any, values: Any) -> None:
    """Limit the vertical axis to a legible range of forces `values` (N); state higher peaks in the legend."""
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [1.0 - LEGIBLE_QUANTILE, LEGIBLE_QUANTILE])
    low, high = min(0.0, float(low)), max(0.0, float(high))
    span = high - low
    if span == 0.0 or np.ptp(np.append(finite, 0.0)) < MIN_CUT_RATIO * span:
        return
    limits = (low - 0.15 * span, high + 0.25 * span)
    axes.set_ylim(limits)
    peaks = [
        f"{value:.0f} N"
        for value in (finite.min(), finite.max())
        if not limits[0] <= value <= limits[1]
    ]
    if peaks:
        axes.plot([], [], ls="", label=f"peak beyond the axis: {', '.join(peaks)}")


def _draw_impulses(
    axes: Any,
    impacts: list[dict[str, Any]],
    contacts: list[str],
    directions: tuple[str, ...],
    name: str,
) -> None:
    """Draw components of the impulses (N s) of impacts as stems.

    Crosses are the impulses of contact sets that the impact solver tried and rejected. `impacts` are the
    events with impulses, `contacts` the names of the contacts, which determine the colours.
    """
    axes.axhline(0.0, color=GREY, lw=0.8)
    labelled: set[str] = set()
    for event in impacts:
        rejected = event.get("predicted") or {}
        if rejected == event["impulse"]:
            rejected = {}
        for pushes, sign, remark in (
            (event["impulse"], "o", ""),
            (rejected, "x", ", rejected trial"),
        ):
            for contact, push in pushes.items():
                wheel = contact.partition(":")[0]
                k = contacts.index(wheel) if wheel in contacts else 0
                for direction in directions:
                    value = push[CONTACT_DIRECTIONS.index(direction)]
                    if direction == "across" and abs(value) <= ZERO_FORCE:
                        continue
                    text = wheel + (f", {direction}" if len(directions) > 1 else "") + remark
                    label = "_" if text in labelled else text
                    labelled.add(text)
                    t = event["time"]
                    axes.plot(t, value, sign, color=COLOURS[k % 7], ms=6, mew=1.6, label=label)
                    if not remark:
                        axes.plot([t, t], [0.0, value], color=COLOURS[k % 7], lw=1.6)
    axes.margins(y=0.12)
    simplify_axes(axes).set_ylabel(f"{name} impulse (N s)")
    add_legend(axes, 3)
