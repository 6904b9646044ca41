"""Figure of the path from above, with snapshots of the vehicle."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.results.bodies import Bodies
from draisine.view.figures import _snapshots as snapshots
from draisine.view.scene.shapes import world_outlines
from draisine.view.scene.skeleton import mass_centre
from draisine.view.style import (
    COLOURS,
    GREY,
    add_legend,
    given_or_new,
    restore_bodies,
    simplify_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MAX_OVERLAP = 0.3
"""Largest overlap of two drawn snapshots along x and along y, as a fraction of their size."""

COVERED_OPACITY = 0.35
"""Opacity (0 to 1) of the first snapshot of a run if the last snapshot covers it."""


def draw(
    data: "Dataset",
    axes: "Axes | None" = None,
    every: float = 0.5,
    scale: float | None = None,
    columns: int = 4,
) -> "Axes":
    """Draw the tracks of the contacts (or of the base) and snapshots of the vehicle from above.

    Snapshots that would cover others are left out; the first and the last are always drawn, with their
    times. A diamond marks the mass centre of the heaviest body. For one state, the figure shows the vehicle,
    its heading and the line of its contacts.

    Parameters
    ----------
    data
        A run or a state.
    axes
        Axes to draw into; by default new ones.
    every
        Time between snapshots in s.
    scale
        Magnification of the snapshots about their first contact; by default the largest without overlap.
        The legend states the magnification.
    columns
        Largest number of columns of the legend.

    Returns
    -------
    Axes
        The axes.
    """
    bodies = restore_bodies(data)
    if data.sizes["time"] == 1:
        return _state(bodies, axes)
    spans = np.ptp(data["position"].values[:, :2], axis=0)
    height = (
        1.6
        + 0.3 * len(bodies.model.contacts)
        + 7.0 * float(np.clip(spans[1] / max(spans[0], 1e-9), 0.15, 0.9))
    )
    axes = simplify_axes(given_or_new(axes, (8.0, height)))
    t = data["time"].values
    anchor = _tracks(data, axes)
    heaviest = max(bodies.model.bodies, key=lambda b: float(b.mass)).name
    shots = [int(np.argmin(np.abs(t - s))) for s in np.arange(t[0], t[-1] + 1e-9, every)]
    drawn = [list(world_outlines(bodies, k)) for k in shots]
    if scale is None:
        scale = _magnification(anchor[shots, :2], drawn)
    separate = _separate_snapshots(drawn) if scale == 1.0 else list(range(len(shots)))
    is_thinned = len(separate) < len(shots)
    for n in separate:
        k, parts = shots[n], drawn[n]
        # If the vehicle returns to its start, draw only the last snapshot in full.
        is_pale = is_thinned and n == 0 and _overlap(parts, drawn[separate[-1]])
        origin = anchor[k, :2]
        for name, points in parts:
            magnified = origin + scale * (points[:, :2] - origin)
            width, colour = (1.8, "black") if name == "rim" else (1.2, GREY)
            axes.plot(
                magnified[:, 0], magnified[:, 1], color=colour, lw=width, solid_capstyle="round",
                alpha=COVERED_OPACITY if is_pale else 1.0, zorder=3 if is_thinned else 2,
            )  # fmt: skip
        centre = origin + scale * (mass_centre(bodies, heaviest, k)[:2] - origin)
        axes.plot(*centre, "D", color=COLOURS[2], markersize=4)
        if is_thinned:
            corner = np.vstack([points[:, :2] for _, points in parts])
            place = (corner[:, 0].mean(), corner[:, 1].min() if n == 0 else corner[:, 1].max())
            axes.annotate(
                f"{t[k]:.3g} s", place, (0, -10 if n == 0 else 3), textcoords="offset points",
                ha="center", fontsize=8, zorder=6,
            )  # fmt: skip
    enlarged = f", magnified {scale:g} times" if scale != 1.0 else ""
    machines = "machine at these times" if is_thinned else f"machine every {every:g} s{enlarged}"
    axes.plot([], [], color="black", lw=1.8, label=machines)
    axes.plot([], [], "D", color=COLOURS[2], ls="", ms=4, label=f"mass centre of the {heaviest}")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="x (m)", ylabel="y, left (m)")
    add_legend(axes, columns)
    return axes


def _state(bodies: Bodies, axes: "Axes | None") -> "Axes":
    """Draw the vehicle in one state from above, with its heading and the line through its contact points."""
    axes = simplify_axes(given_or_new(axes, (7.5, 4.5)))
    machine = snapshots.MachineAt(bodies, 0)
    snapshots.draw_outline(axes, machine, lambda points: machine.to_world(points)[:, :2])
    snapshots.draw_heading(axes, machine, lambda points: machine.to_world(points)[:, :2])
    snapshots.write_angles(axes, bodies)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="x (m)", ylabel="y, left (m)")
    add_legend(axes, 3)
    return axes


def _tracks(data: "Dataset", axes: "Axes") -> Floats:
    """Draw the tracks of the contact points, or of the base of a vehicle without contacts.

    The result is the track (times, 3) in m of the first contact, about which snapshots are magnified.
    """
    if "contact_point" not in data:
        track = data["position"].values
        axes.plot(track[:, 0], track[:, 1], color=COLOURS[0], lw=1.0, label="base")
        return track
    for k, contact in enumerate(str(c) for c in data["contact"].values):
        track = data["contact_point"].values[:, k]
        axes.plot(
            track[:, 0], track[:, 1], color=COLOURS[k % 7], lw=1.0, label=f"{contact} contact"
        )
    first = data["contact_point"].values[:, 0]
    return np.where(np.isfinite(first), first, data["position"].values)


def _magnification(places: Floats, drawn: list[list[tuple[str, Floats]]]) -> float:
    """Return the largest magnification (1, 1.5 or 2) at which neighbouring snapshots do not touch.

    `places` (snapshots, 2) are their positions in m, `drawn` their lines (kind, points (n, 3)) in m.
    """
    if len(places) < 2 or not drawn[0]:
        return 1.0
    size = max(
        float(np.ptp(np.vstack([x for _, x in parts])[:, :2], axis=0).max()) for parts in drawn
    )
    gap = float(np.median(np.linalg.norm(np.diff(places, axis=0), axis=1)))
    return float(np.clip(np.floor(2.0 * gap / max(size, 1e-9)) / 2.0, 1.0, 2.0))


def _box(parts: list[tuple[str, Floats]]) -> tuple[Floats, Floats]:
    """Return the bounding box of a snapshot from above: lower left and upper right corner (2,), m."""
    points = np.vstack([points[:, :2] for _, points in parts])
    return points.min(axis=0), points.max(axis=0)


def _overlap(first: list[tuple[str, Floats]], second: list[tuple[str, Floats]]) -> bool:
    """Return whether the bounding boxes of two snapshots overlap by more than `MAX_OVERLAP` of their size."""
    (low, high), (other_low, other_high) = _box(first), _box(second)
    shared = np.minimum(high, other_high) - np.maximum(low, other_low)
    return bool((shared > MAX_OVERLAP * np.minimum(high - low, other_high - other_low)).all())


def _separate_snapshots(drawn: list[list[tuple[str, Floats]]]) -> list[int]:
    """Return the indices of snapshots that do not overlap, always including the first and the last one."""
    if len(drawn) < 2 or not drawn[0]:
        return list(range(len(drawn)))
    kept = [0, len(drawn) - 1]
    for n in range(1, len(drawn) - 1):
        if not any(_overlap(drawn[n], drawn[other]) for other in kept):
            kept.append(n)
    return sorted(kept)
