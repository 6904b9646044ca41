"""A run seen from its right side, with the ground and snapshots of the machine, most of all where
something happens.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.results.bodies import Bodies
from draisine.results.events import events_of
from draisine.scenario.terrain import terrain_of
from draisine.terrain import Feature, Terrain
from draisine.view.figures._marks import SIGNS
from draisine.view.scene.scene import level, up_of
from draisine.view.scene.shapes import lines
from draisine.view.scene.skeleton import mass_centre
from draisine.view.style import COLOURS, bodies_of, given_or_new, legend, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MOST = 24
"""No more snapshots than this."""

REACH = 1.5
"""How far around the machine the ground is drawn, in m."""


def draw(data: "Dataset", axes: "Axes | None" = None, every: float | None = None) -> "Axes":
    """Return axes with the ground below the way (a section along x), the way of a mass centre, and
    the machine: at events in black, otherwise every so many seconds in grey. A slope is drawn as one:
    up is where gravity does not pull.
    """
    bodies = bodies_of(data)
    t = data["time"].values
    events = events_of(data)
    heaviest = max(bodies.model.bodies, key=lambda b: float(b.mass)).name
    way = np.array([mass_centre(bodies, heaviest, k) for k in range(len(t))])
    turn = level(up_of(bodies.model))
    wide, _, high = np.ptp(way @ turn.T, axis=0) + REACH
    axes = plain(given_or_new(axes, (9.0, 3.0 + 6.5 * float(np.clip(high / wide, 0.1, 0.8)))))
    label = "ground"
    for x, z in _ground(terrain_of(data), way):
        section = np.column_stack([x, np.full_like(x, np.median(way[:, 1])), z]) @ turn.T
        axes.plot(section[:, 0], section[:, 2], color="black", lw=1.2, label=label)
        label = "_"
    every = every or _pause(bodies, t, way)
    for s in np.arange(t[0], t[-1] + 1e-9, every):
        _machine(axes, bodies, int(np.argmin(np.abs(t - s))), turn, "#b5b5b5")
    seen: set[str] = set()
    for event in events[:MOST]:
        k = int(np.argmin(np.abs(t - event["time"])))
        _machine(axes, bodies, k, turn, "black")
        sign, _ = SIGNS.get(event["kind"], ("x", ""))
        name = "_" if event["kind"] in seen else event["kind"]
        seen.add(event["kind"])
        axes.plot(
            *(turn @ way[k])[::2], sign, color=COLOURS[1], ms=7, label=name, ls="none", zorder=4
        )
    x, _, z = (way @ turn.T).T
    axes.plot(x, z, color=COLOURS[0], lw=1.4, label=f"mass centre of the {heaviest}")
    axes.plot([], [], color="#b5b5b5", lw=1.0, label=f"machine every {every:.3g} s")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x, forward (m)" if turn[2, 2] == 1.0 else "horizontal (m)")
    axes.set_ylabel("z, up (m)" if turn[2, 2] == 1.0 else "vertical (m)")
    legend(axes, 5, by_rows=True)
    return axes


def _pause(bodies: Bodies, t: Floats, way: Floats) -> float:
    """Return the time between snapshots that leaves them room."""
    points = np.vstack([x for _, x in lines(bodies, 0)] or [way[:1]])
    size = max(float(np.ptp(points[:, 0])), 0.1)
    length = float(np.linalg.norm(np.diff(way[:, ::2], axis=0), axis=1).sum())
    pause = float(t[-1] - t[0]) / float(np.clip(1.2 * length / size, 3, MOST))
    return float(f"{pause:.1g}") or 0.1


def _machine(axes: "Axes", bodies: Bodies, k: int, turn: Floats, colour: str) -> None:
    for _, points in lines(bodies, k):
        x, _, z = (points @ turn.T).T
        axes.plot(x, z, color=colour, lw=1.2, solid_capstyle="round")


def _ground(terrain: Terrain | None, way: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield the section of the ground along x, one line per face; level where it is not known."""
    low = way.min(axis=0) - REACH
    high = way.max(axis=0) + REACH
    if terrain is None:
        yield np.array([low[0], high[0]]), np.zeros(2)
        return
    found: dict[int, None] = {}
    for place in way[:: max(1, len(way) // 100)]:
        found |= dict.fromkeys(terrain.near(place, 2.0 * REACH))
    for feature in (terrain[k] for k in found):
        if feature.kind == "face" and feature.motion is None:
            x, z = _section(feature, way, low, high)
            if np.isfinite(z).any():
                yield x, z


def _section(feature: Feature, way: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return a face's points below the way; not a number beyond its borders."""
    N = feature.numbers[:3]
    d = feature.numbers[3]
    y = float(np.median(way[:, 1]))
    if abs(N[2]) > 1e-6:
        x = np.linspace(low[0], high[0], 2001)
        z = (d - N[0] * x - N[1] * y) / N[2]
    elif abs(N[0]) > 1e-6:
        z = np.linspace(low[2] - 2.0, high[2], 501)
        x = np.full_like(z, (d - N[1] * y) / N[0])
    else:
        return np.zeros(1), np.full(1, np.nan)
    there = [feature.excess(np.array([a, y, b]), N) <= 1e-3 for a, b in zip(x, z, strict=True)]
    return x, np.where(there, z, np.nan)
