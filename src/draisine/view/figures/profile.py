"""Figure of a run from the right side: section of the ground, path of the mass centre, and snapshots.

The snapshots show the vehicle at all events and at regular times in between.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.patch import evaluate_patch
from draisine.algebra.scalar import Floats
from draisine.results.bodies import Bodies
from draisine.results.events import read_drawn_events
from draisine.scenario.terrain import restore_terrain
from draisine.terrain import Feature, Terrain
from draisine.view.figures._marks import EVENT_MARKERS
from draisine.view.scene.scene import rotation_to_vertical, up_direction
from draisine.view.scene.shapes import world_outlines
from draisine.view.scene.skeleton import mass_centre
from draisine.view.style import COLOURS, add_legend, given_or_new, restore_bodies, simplify_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MAX_PROFILE_SNAPSHOTS = 24
"""Largest number of snapshots at regular times, in addition to the snapshots at events."""

GROUND_MARGIN = 1.5
"""Distance (m) from the path within which the ground is drawn."""


def draw(data: "Dataset", axes: "Axes | None" = None, every: float | None = None) -> "Axes":
    """Draw the ground below the path along x, the path of the heaviest body's mass centre, and snapshots.

    Snapshots are black at events and grey in between. The vertical axis is opposite to gravity, so that a
    slope is drawn inclined.

    Parameters
    ----------
    data
        Dataset of a run.
    axes
        Axes to draw into; by default new ones.
    every
        Time between grey snapshots in s.

    Returns
    -------
    Axes
        The axes.
    """
    bodies = restore_bodies(data)
    t = data["time"].values
    events = read_drawn_events(data)
    heaviest = max(bodies.model.bodies, key=lambda b: float(b.mass)).name
    path = np.array([mass_centre(bodies, heaviest, k) for k in range(len(t))])
    rotation = rotation_to_vertical(up_direction(bodies.model))
    wide, _, high = np.ptp(path @ rotation.T, axis=0) + GROUND_MARGIN
    axes = simplify_axes(
        given_or_new(axes, (9.0, 3.0 + 6.5 * float(np.clip(high / wide, 0.1, 0.8))))
    )
    label = "ground"
    for x, z in _ground(restore_terrain(data), path):
        section = np.column_stack([x, _lateral_position(path, x), z]) @ rotation.T
        axes.plot(section[:, 0], section[:, 2], color="black", lw=1.2, label=label)
        label = "_"
    every = every or _snapshot_interval(bodies, t, path)
    for s in np.arange(t[0], t[-1] + 1e-9, every):
        _machine(axes, bodies, int(np.argmin(np.abs(t - s))), rotation, "#b5b5b5")
    labelled: set[str] = set()
    for event in events[:MAX_PROFILE_SNAPSHOTS]:
        k = int(np.argmin(np.abs(t - event["time"])))
        _machine(axes, bodies, k, rotation, "black")
        sign, _ = EVENT_MARKERS.get(event["kind"], ("x", ""))
        name = "_" if event["kind"] in labelled else event["kind"]
        labelled.add(event["kind"])
        axes.plot(
            *(rotation @ path[k])[::2],
            sign,
            color=COLOURS[1],
            ms=7,
            label=name,
            ls="none",
            zorder=4,
        )
    x, _, z = (path @ rotation.T).T
    axes.plot(x, z, color=COLOURS[0], lw=1.4, label=f"mass centre of the {heaviest}")
    axes.plot([], [], color="#b5b5b5", lw=1.0, label=f"machine every {every:.3g} s")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x, forward (m)" if rotation[2, 2] == 1.0 else "horizontal (m)")
    axes.set_ylabel("z, up (m)" if rotation[2, 2] == 1.0 else "vertical (m)")
    add_legend(axes, 5, by_rows=True)
    return axes


def _snapshot_interval(bodies: Bodies, t: Floats, path: Floats) -> float:
    """Return the time (s) between snapshots at which neighbouring snapshots hardly overlap.

    t (s) are the sample times, `path` (times, 3) the positions of the vehicle in m.
    """
    points = np.vstack([x for _, x in world_outlines(bodies, 0)] or [path[:1]])
    size = max(float(np.ptp(points[:, 0])), 0.1)
    length = float(np.linalg.norm(np.diff(path[:, ::2], axis=0), axis=1).sum())
    interval = float(t[-1] - t[0]) / float(np.clip(1.2 * length / size, 3, MAX_PROFILE_SNAPSHOTS))
    return float(f"{interval:.1g}") or 0.1


def _machine(axes: "Axes", bodies: Bodies, k: int, rotation: Floats, colour: str) -> None:
    """Draw the vehicle at sample k; `rotation` (3, 3) turns world points so that gravity points downwards."""
    for _, points in world_outlines(bodies, k):
        x, _, z = (points @ rotation.T).T
        axes.plot(x, z, color=colour, lw=1.2, solid_capstyle="round")


def _lateral_position(path: Floats, x: Floats) -> Floats:
    """Return the coordinates y (n,) in m of a path (times, 3) at the coordinates x (n,) in m.

    If the path turns back, y is not unique, and the result is the median of y.
    """
    # Permit tiny steps back: the two samples at the instant of an event may differ by round-off.
    if (np.diff(path[:, 0]) > -1e-9).all():
        return np.asarray(np.interp(x, np.maximum.accumulate(path[:, 0]), path[:, 1]))
    return np.full_like(x, np.median(path[:, 1]))


def _ground(terrain: Terrain | None, path: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield the section of the ground below a path (times, 3) as arrays x (n,), z (n,) in m, one pair per
    feature.

    If the terrain is unknown, the section is level ground at z = 0.
    """
    low = path.min(axis=0) - GROUND_MARGIN
    high = path.max(axis=0) + GROUND_MARGIN
    if terrain is None:
        yield np.array([low[0], high[0]]), np.zeros(2)
        return
    indices: dict[int, None] = {}
    for place in path[:: max(1, len(path) // 100)]:
        indices |= dict.fromkeys(terrain.near(place, 2.0 * GROUND_MARGIN))
    for feature in (terrain[k] for k in indices):
        if feature.kind == "face" and feature.motion is None:
            x, z = _section(feature, path, low, high)
            if np.isfinite(z).any():
                yield x, z
        if feature.kind == "patch" and feature.motion is None:
            x = np.linspace(max(low[0], feature.low[0]), min(high[0], feature.high[0]), 33)
            y = _lateral_position(path, x)
            is_inside = (feature.low[1] <= y) & (y <= feature.high[1])
            if x[0] < x[-1] and is_inside.any():
                z = np.asarray(evaluate_patch(feature.cell, x, y).h, float)
                yield x, np.where(is_inside, z, np.nan)


def _section(feature: Feature, path: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the section of a face below a path (times, 3) as arrays x (n,), z (n,) in m.

    z is NaN beyond the borders of the face. `low`, `high` (3,) are the corners of the drawn region, m.
    """
    N = feature.numbers[:3]
    d = feature.numbers[3]
    if abs(N[2]) > 1e-6:
        x = np.linspace(low[0], high[0], 2001)
        y = _lateral_position(path, x)
        z = (d - N[0] * x - N[1] * y) / N[2]
    elif abs(N[0]) > 1e-6:
        z = np.linspace(low[2] - 2.0, high[2], 501)
        y = np.full_like(z, np.median(path[:, 1]))
        x = (d - N[1] * y) / N[0]
    else:
        return np.zeros(1), np.full(1, np.nan)
    is_inside = [feature.excess(point, N) <= 1e-3 for point in np.column_stack([x, y, z])]
    return x, np.where(is_inside, z, np.nan)
