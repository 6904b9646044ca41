"""Snapshots of a vehicle from the front, the side or behind: one state, or several times side by side."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.results.bodies import Bodies
from draisine.scenario.terrain import restore_terrain
from draisine.view.scene.shapes import (
    lies_flat,
    machine_outlines,
    mass_centre_balls,
    rolling_solids,
)
from draisine.view.style import (
    COLOURS,
    GREY,
    SOLID_OPACITY,
    add_legend,
    displayed_series,
    font_size,
    given_or_new,
    main_angles,
    relative_width,
    simplify_axes,
    to_words,
)
from draisine.view.style import restore_bodies as bodies_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MAX_ROW_MACHINES = 12
"""Largest number of snapshots that are drawn side by side in one figure."""

MIN_ROW_MACHINES = 4
"""Smallest number of snapshots that are drawn side by side, even if the vehicle is long."""

MAX_ROW_ASPECT = 20.0
"""Largest ratio of width to height of a picture with snapshots side by side."""

DEFAULT_ELEVATION = math.radians(20.0)
"""Elevation (rad) of the viewpoint in the drawing of one state, so that lines on the ground are visible."""

VERTICAL_VIEW = math.pi / 2.0
"""Elevation (rad) of the viewpoint in the drawing of a planar vehicle, which is seen from above."""

GRID_SPACING = 0.25
"""Spacing (m) of the grid lines on the ground in the drawing of one state."""


@dataclass(frozen=True)
class Sight:
    """A viewing direction in the axes of the vehicle (x forward, y left, z up).

    Attributes
    ----------
    right
        Unit vector to the right in the picture.
    towards
        Unit vector towards the viewer.
    name
        Label of the horizontal axis.
    above
        Label of the vertical axis for a view from above.
    side
        Name of the side of the vehicle that is visible.
    """

    right: tuple[float, float, float]
    towards: tuple[float, float, float]
    name: str
    above: str
    side: str

    def picture(self, points: Floats, raised: float) -> Floats:
        """Project points (..., 3) in the axes of the vehicle onto the picture plane; return (..., 2), in m.

        The projection is parallel, from a viewpoint at the elevation `raised` (rad).
        """
        up = np.array([0.0, 0.0, math.cos(raised)]) - math.sin(raised) * np.array(self.towards)
        return np.asarray(points, float) @ np.array([self.right, up]).T


@dataclass(frozen=True, eq=False)
class MachineAt:
    """A vehicle at sample k of a run, with the axes of the vehicle for drawing.

    Their origin is on the ground below the first contact; x points along the heading, z upwards.
    """

    bodies: Bodies
    k: int

    @property
    def turn(self) -> Floats:
        """Rotation matrix (3, 3) from world axes to the axes of the vehicle."""
        yaw = float(self.bodies.data["yaw"].values[self.k]) if "yaw" in self.bodies.data else 0.0
        c = math.cos(yaw)
        s = math.sin(yaw)
        return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])

    @property
    def foot(self) -> Floats:
        """Point (3,) on the ground below the first contact, or below the base, m."""
        data = self.bodies.data
        track = data["position"].values
        if "contact_point" in data:
            track = data["contact_point"].values[:, 0]
        return np.array([*track[self.k, :2], 0.0])

    def to_machine(self, points: Floats) -> Floats:
        """Transform points (..., 3) in m from world axes to the axes of the vehicle."""
        return (points - self.foot) @ self.turn.T

    def to_world(self, points: Floats) -> Floats:
        """Transform points (..., 3) in m from the axes of the vehicle to world axes."""
        return self.foot + points @ self.turn

    def lines(self) -> Iterator[tuple[str, str, Floats]]:
        """Yield the outlines as (kind, body, points (n, 3) in m), in the axes of the vehicle."""
        marks = [
            ("ball", ball.body, ball.centre[None, :])
            for ball in mass_centre_balls(self.bodies.model)
        ]
        drawn = [
            (shape.kind, shape.body, shape.points) for shape in machine_outlines(self.bodies.model)
        ]
        for kind, body, points in [*(x for x in drawn if x[0] != "valve"), *marks]:
            motion = self.bodies.motions[body]
            yield kind, body, self.to_machine(motion.p[self.k] + points @ motion.R[self.k].T)

    def silhouettes(self, towards: Floats) -> Iterator[tuple[str, Floats]]:
        """Yield the silhouettes of balls and ellipsoids as (body, points (n, 3) in m).

        The viewpoint is distant, in the direction `towards` (3,); both are in the axes of the vehicle.
        """
        for stone in rolling_solids(self.bodies.model):
            motion = self.bodies.motions[stone.body]
            line = stone.silhouette(motion.R[self.k].T @ self.turn.T @ towards)
            yield stone.body, self.to_machine(motion.p[self.k] + line @ motion.R[self.k].T)

    def contacts(self) -> Floats:
        """Return the contact points (contacts, 3) in the axes of the vehicle, m."""
        data = self.bodies.data
        if "contact_point" not in data:
            return np.zeros((0, 3))
        return self.to_machine(data["contact_point"].values[self.k])


def draw_view(
    data: "Dataset", sight: Sight, axes: "Axes | None", every: float | None, raised: float | None
) -> "Axes":
    """Draw a vehicle in the viewing direction `sight`; return the axes.

    A single state is drawn from an elevated viewpoint, with the heading and the line through the contact
    points on the ground. A run is drawn from ground level, at several times side by side. `every` is the time
    (s) between snapshots, and `raised` the elevation of the viewpoint (rad), by default 90 deg for a planar
    vehicle.
    """
    if "orientation" not in data:
        raise ParameterError("This result has no poses of a machine. Draw a run or a state.")
    bodies = bodies_in(data)
    single = data.sizes["time"] == 1
    if raised is None:
        raised = VERTICAL_VIEW if lies_flat(bodies.model) else DEFAULT_ELEVATION if single else 0.0
    if single:
        return _draw_single(bodies, sight, axes, raised)
    return _row(bodies, sight, axes, every, raised)


def _draw_single(bodies: Bodies, sight: Sight, axes: "Axes | None", raised: float) -> "Axes":
    """Draw the vehicle in one state from the elevation `raised` (rad); return the axes."""
    machine = MachineAt(bodies, 0)
    lines = list(_grid(machine))
    projected = [sight.picture(x, raised) for x in (*lines, *(x for *_, x in machine.lines()))]
    wide, high = np.ptp(np.vstack(projected), axis=0)
    axes = simplify_axes(
        given_or_new(axes, (7.0, 1.6 + 6.2 * float(np.clip(high / wide, 0.2, 1.2))))
    )
    for line in lines if raised else ():
        axes.plot(*sight.picture(line, raised).T, color="#dddddd", lw=0.7, zorder=0)
    draw_outline(axes, machine, lambda points: sight.picture(points, raised))
    draw_heading(axes, machine, lambda points: sight.picture(points, raised))
    axes.set(xlabel=f"{sight.name} (m)", ylabel="z, up (m)")
    if raised:
        axes.grid(visible=False)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_ylabel("")
        where = (
            "onto its plane"
            if raised == VERTICAL_VIEW
            else f"from {math.degrees(raised):.0f} deg above"
        )
        axes.set_xlabel(
            f"{sight.name} (m); seen {where},\nlines on the ground {GRID_SPACING:g} m apart"
        )
    else:
        axes.axhline(0.0, color="black", lw=0.8)
    write_angles(axes, bodies)
    axes.set_aspect("equal", adjustable="box")
    add_legend(axes, 3)
    return axes


def _row(
    bodies: Bodies, sight: Sight, axes: "Axes | None", every: float | None, raised: float
) -> "Axes":
    """Draw snapshots of the vehicle side by side, one per `every` seconds of the run; return the axes."""
    t = bodies.data["time"].values
    every = every or snapshot_interval(t, _max_machines(bodies, sight, raised))
    times_wanted = np.arange(t[0], t[-1] + 1e-9 * every, every)
    # A short run may have fewer samples than snapshots, so duplicate samples are removed.
    samples = list(dict.fromkeys(int(np.argmin(np.abs(t - s))) for s in times_wanted))
    machines = [MachineAt(bodies, k) for k in samples]
    times = t[samples]
    projected = [np.vstack([sight.picture(x, raised) for *_, x in m.lines()]) for m in machines]
    left_edge = min(x[:, 0].min() for x in projected)
    right_edge = max(x[:, 0].max() for x in projected)
    height = max(float(x[:, 1].max()) for x in projected) - min(
        0.0, *(float(x[:, 1].min()) for x in projected)
    )
    spacing = max(1.15 * (right_edge - left_edge), 0.5 * height)
    share = float(np.clip(height / (spacing * len(machines)), 0.05, 0.6))
    axes = simplify_axes(given_or_new(axes, (9.0, 1.6 + 9.0 * share)))
    for k, machine in enumerate(machines):
        picture = partial(_beside, sight, raised, k * spacing)
        draw_outline(axes, machine, picture, labels=k == 0)
    flat = raised == VERTICAL_VIEW
    if restore_terrain(bodies.data) is None and not flat:
        axes.axhline(0.0, color="black", lw=0.8, zorder=0)
    ticks = (left_edge + right_edge) / 2.0 + spacing * np.arange(len(machines))
    axes.set_xticks(ticks, [f"{s:.4g}" for s in times])
    where = "onto its plane" if flat else f"from its {sight.side}"
    axes.set_xlabel(f"time (s); each machine seen {where}")
    axes.set_ylabel(f"{sight.above if flat else 'z, up'} (m)")
    axes.set_aspect("equal", adjustable="box")
    low, top = axes.get_ylim()  # automatic axis limits ignore the size of mass-centre markers
    axes.set_ylim(low - 0.12 * height, top + 0.12 * height)
    add_legend(axes, 5)
    return axes


def _beside(sight: Sight, raised: float, shift: float, points: Floats) -> Floats:
    """Project points (..., 3) in m; shift the picture coordinates (..., 2) to the right by `shift` (m)."""
    return sight.picture(points, raised) + np.array([shift, 0.0])


def _max_machines(bodies: Bodies, sight: Sight, raised: float) -> float:
    """Return the number of snapshots that fit into one row, so that each is large enough to read."""
    samples = np.linspace(0, bodies.data.sizes["time"] - 1, MAX_ROW_MACHINES).astype(int)
    machines = [MachineAt(bodies, k) for k in samples.tolist()]
    projected = [sight.picture(x, raised) for machine in machines for *_, x in machine.lines()]
    wide, high = np.ptp(np.vstack(projected), axis=0)
    return float(np.clip(MAX_ROW_ASPECT * high / wide, MIN_ROW_MACHINES, MAX_ROW_MACHINES))


def snapshot_interval(t: Floats, most: float = MAX_ROW_MACHINES) -> float:
    """Return a round time interval (s) for at most `most` snapshots of a run with the sample times t (s).

    A narrow figure gets proportionally fewer snapshots.
    """
    return round_step(float(t[-1] - t[0]) / (most * relative_width()) * (1.0 + 1e-12))


def round_step(least: float) -> float:
    """Return the smallest round number, 1, 2 or 5 times a power of ten, that is not less than `least`.

    >>> round_step(0.3), round_step(2.0), round_step(70.0)
    (0.5, 2.0, 100.0)
    """
    place = 10.0 ** math.floor(math.log10(least))
    return float(next(m * place for m in (1.0, 2.0, 5.0, 10.0) if m * place >= least * (1 - 1e-9)))


def draw_outline(
    axes: "Axes", machine: MachineAt, picture: Callable[[Floats], Floats], labels: bool = True
) -> None:
    """Draw the outlines, solids and mass centres of a vehicle.

    The function `picture` maps points (..., 3) in the axes of the vehicle to picture coordinates (..., 2).
    `labels` states whether the bodies are named in the legend.
    """
    names = [body.name for body in machine.bodies.model.bodies]
    styles = {"rim": ("black", 1.8), "section": ("black", 0.5), "spokes": ("#c4c4c4", 0.5)}
    labelled: set[str] = set()
    towards = np.cross(*(picture(np.eye(3)) - picture(np.zeros((3, 3)))).T)
    for body, points in machine.silhouettes(towards):
        colour = COLOURS[names.index(body) % 6]
        axes.fill(*picture(points).T, color=colour, alpha=SOLID_OPACITY, lw=0)
    for kind, body, points in machine.lines():
        x, y = picture(points).T
        if kind == "ball":
            axes.plot(x, y, "D", color=COLOURS[names.index(body) % 6], ms=4.5, zorder=4)
            continue
        colour, width = styles.get(kind, (COLOURS[names.index(body) % 6], 2.2))
        label = (
            to_words(body) if labels and kind in ("link", "box") and body not in labelled else "_"
        )
        labelled |= {body} if label != "_" else set()
        axes.plot(x, y, color=colour, lw=width, label=label, solid_capstyle="round")
    if labels and mass_centre_balls(machine.bodies.model):
        axes.plot([], [], "D", color=GREY, ls="", ms=4.5, label="mass centres")


def draw_heading(axes: "Axes", machine: MachineAt, picture: Callable[[Floats], Floats]) -> None:
    """Draw the heading of a vehicle, and the line through its first two contact points, on the ground.

    The function `picture` maps points (..., 3) in the axes of the vehicle to picture coordinates (..., 2).
    """
    points = machine.contacts()
    if not len(points):
        return
    reach = 1.3 * max(float(np.ptp(points[:, 0])), 0.5)
    heading = np.array([[-0.3 * reach, 0.0, 0.0], [reach, 0.0, 0.0]])
    axes.plot(*picture(heading).T, color=COLOURS[3], lw=1.4, label="heading")
    if len(points) > 1 and np.linalg.norm(points[1] - points[0]) > 1e-9:
        direction = points[1] - points[0]
        ends = np.array([points[0] - 0.3 * direction, points[0] + 1.3 * direction])
        axes.plot(*picture(ends).T, color="black", lw=1.2, ls="--", label="line of contacts")
        axes.plot(*picture(points[:2]).T, "o", color="black", ms=4, zorder=5)


def _grid(machine: MachineAt) -> Iterator[Floats]:
    """Yield grid lines (2, 3) in m on the ground below a vehicle, in the axes of the vehicle."""
    flat = np.vstack([x for *_, x in machine.lines()])[:, :2]
    low = np.floor(flat.min(axis=0) / GRID_SPACING - 1)
    high = np.ceil(flat.max(axis=0) / GRID_SPACING + 1)
    for k in np.arange(low[0], high[0] + 1):
        yield GRID_SPACING * np.array([[k, low[1], 0.0], [k, high[1], 0.0]])
    for k in np.arange(low[1], high[1] + 1):
        yield GRID_SPACING * np.array([[low[0], k, 0.0], [high[0], k, 0.0]])


def write_angles(axes: "Axes", bodies: Bodies) -> None:
    """Write the initial values of a vehicle's main angles (deg) into the upper left corner of the axes."""
    extra = [o.name for o in bodies.model.outputs if o.name == "beta"]
    lines = []
    for name in (*main_angles(bodies.model), *extra):
        values, unit = displayed_series(name, bodies)
        value = f"{round(float(values[0]), 9) + 0.0:.4g}".replace("-", "\N{MINUS SIGN}")
        lines.append(f"{to_words(name)} {value} {unit}")
    text = "\n".join(lines)
    axes.text(
        0.01, 0.99, text, ha="left", va="top", transform=axes.transAxes, fontsize=font_size(9)
    )
