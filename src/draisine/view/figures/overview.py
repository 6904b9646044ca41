"""Overview figure of a run on one page: path, angles, rates, speeds, forces and energies."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.results.events import read_events
from draisine.view.figures import energies, histories, profile, top
from draisine.view.figures._marks import list_marks
from draisine.view.style import (
    add_legend,
    angles_to_draw,
    draw_curve,
    empty_figure,
    flatten_round_off,
    headline,
    is_slide,
    restore_bodies,
    simplify_axes,
)

if TYPE_CHECKING:
    from xarray import Dataset


def draw(data: "Dataset", axes: Any = None) -> Any:
    """Draw the overview of a run in six panels, in one column on paper and in two rows on a slide.

    Parameters
    ----------
    data
        A run.
    axes
        Mapping from the names top, angles, rates, speed, forces and energies to axes; by default new ones.

    Returns
    -------
    dict of Axes
        The axes by name. The first panel is the view from above, or from the side for a jump.
    """
    bodies = restore_bodies(data)
    is_wide = False
    if axes is None:
        figure: Any
        if is_wide := is_slide():
            figure = empty_figure((16.0, 9.0))
            axes = figure.subplot_mosaic(SLIDE_PANELS)
        else:
            figure = empty_figure((7.0, 15.0))
            axes = figure.subplot_mosaic(
                [[name] for name in OVERVIEW_PANELS], height_ratios=[1.7, 1, 1, 1, 1, 1]
            )
        figure.suptitle(headline(data))
    # A jump along a straight path is visible from the side only.
    if _is_elongated(data) and read_events(data):
        profile.draw(data, axes["top"])
    else:
        top.draw(data, axes["top"], every=_snapshot_spacing(data), columns=2)
    model = bodies.model
    angles = angles_to_draw(data, model)
    rates = [f"{name}_rate" for name in angles]
    speeds = [o.name for o in model.outputs if o.unit == "m/s"] or [
        name for name in model.speeds if name[0] == "V"
    ]
    for panel, names in (("angles", angles), ("rates", rates), ("speed", speeds)):
        if names:
            histories.draw(data, axes[panel], names)
        else:
            axes[panel].set_visible(False)
    _normal_forces(data, axes["forces"])
    energies.draw(data, axes["energies"])
    kinds = {kind for _, kind in list_marks(data)}
    lowest = SLIDE_PANELS[-1] if is_wide else OVERVIEW_PANELS[-1:]
    for name in OVERVIEW_PANELS[1:]:
        _share_time(axes[name], kinds if name != "angles" else (), last=name in lowest)
    return axes


def _share_time(axes: Any, kinds: Collection[str], last: bool) -> None:
    """Remove texts that several panels over time share: kinds of events, and labels of the time axis.

    `kinds` are the legend entries of events, which are removed. `last` states whether this panel is the
    lowest one, which keeps its time axis.
    """
    for line in axes.lines:
        if line.get_label() in kinds:
            line.set_label("_")
    if axes.get_legend() is not None:
        add_legend(axes)
    axes.set_ylabel(axes.get_ylabel().replace(" (", "\n("))
    if not last:
        axes.set_xlabel("")
        axes.tick_params(labelbottom=False)


OVERVIEW_PANELS = ("top", "angles", "rates", "speed", "forces", "energies")
"""Names of the panels of the overview on paper, from top to bottom in one column."""

SLIDE_PANELS = [["top", "angles", "rates"], ["speed", "forces", "energies"]]
"""Names of the panels of the overview on a slide, row by row."""


def _is_elongated(data: "Dataset") -> bool:
    """Return whether the path of a run extends more than twice as far along x as along y."""
    spans = np.ptp(data["position"].values[:, :2], axis=0)
    return bool(spans[1] < 0.5 * spans[0])


def _snapshot_spacing(data: "Dataset") -> float:
    """Return the time (s) between snapshots: 0.5 s, or more if a run would have more than 24 snapshots."""
    length = float(data["time"].values[-1] - data["time"].values[0])
    return next((s for s in (0.5, 1.0, 2.0, 5.0, 10.0) if length / s <= 24), length / 24 or 0.5)


def _normal_forces(data: "Dataset", axes: Any) -> None:
    """Draw the normal forces (N) of all contacts against time."""
    simplify_axes(axes).set_xlabel("time (s)")
    axes.set_ylabel("normal force (N)")
    if "contact_force" not in data:
        axes.text(0.5, 0.5, "no contacts", ha="center", va="center", transform=axes.transAxes)
        return
    for k, contact in enumerate(str(c) for c in data["contact"].values):
        force = data["contact_force"].sel(contact=contact, direction="normal").values
        draw_curve(axes, k, data["time"].values, force, contact)
    add_legend(axes)
    flatten_round_off(axes, unit="N")
