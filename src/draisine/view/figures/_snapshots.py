"""A machine as it stands, seen along one of its own axes: at one instant, or at several times side by
side.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.results.bodies import Bodies
from draisine.scenario.terrain import terrain_of
from draisine.view.scene.shapes import balls, lies_flat, parts, stones
from draisine.view.style import (
    COLOURS,
    GREY,
    SOLID_OPACITY,
    angles_of,
    displayed_series,
    given_or_new,
    legend,
    letters,
    narrowness,
    plain,
    words,
)
from draisine.view.style import bodies_of as bodies_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MOST = 12
"""No more machines than this stand side by side."""

LEAST = 4
"""So many stand side by side, however long they are for their height."""

SLIM = 20.0
"""A row of machines is no longer than so many times its height, where they are few enough."""

RAISED = math.radians(20.0)
"""How high the eye stands over one machine, so that lines on the ground are seen."""

ABOVE = math.pi / 2.0
"""How high the eye stands over a machine that lies flat."""

CELL = 0.25
"""How far lines on the ground below one machine are apart, in m."""


@dataclass(frozen=True)
class Sight:
    """From where a machine is seen, in its own axes (x ahead, y left, z up): what points to the
    right in the picture, what towards the eye; the name of the first, of what is up in the picture for
    an eye straight above, and of the side.
    """

    right: tuple[float, float, float]
    towards: tuple[float, float, float]
    name: str
    above: str
    side: str

    def picture(self, points: Floats, raised: float) -> Floats:
        """Return where points are in the picture of an eye far away, raised by an angle."""
        up = np.array([0.0, 0.0, math.cos(raised)]) - math.sin(raised) * np.array(self.towards)
        return np.asarray(points, float) @ np.array([self.right, up]).T


@dataclass(frozen=True, eq=False)
class MachineAt:
    """A machine at the k-th time of a dataset, in axes on the ground that head where it heads."""

    bodies: Bodies
    k: int

    @property
    def turn(self) -> Floats:
        """The rotation from the world's axes to the machine's own."""
        yaw = float(self.bodies.data["yaw"].values[self.k]) if "yaw" in self.bodies.data else 0.0
        c = math.cos(yaw)
        s = math.sin(yaw)
        return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])

    @property
    def foot(self) -> Floats:
        """The point of the ground below the first contact, or below the base."""
        data = self.bodies.data
        way = data["position"].values
        if "contact_point" in data:
            way = data["contact_point"].values[:, 0]
        return np.array([*way[self.k, :2], 0.0])

    def own(self, points: Floats) -> Floats:
        """Return points of the world in the machine's axes."""
        return (points - self.foot) @ self.turn.T

    def world(self, points: Floats) -> Floats:
        """Return points of the machine's axes in the world."""
        return self.foot + points @ self.turn

    def lines(self) -> Iterator[tuple[str, str, Floats]]:
        """Yield what is drawn: kind, body, points."""
        marks = [("ball", ball.body, ball.centre[None, :]) for ball in balls(self.bodies.model)]
        drawn = [(part.kind, part.body, part.points) for part in parts(self.bodies.model)]
        for kind, body, points in [*(x for x in drawn if x[0] != "valve"), *marks]:
            motion = self.bodies.motions[body]
            yield kind, body, self.own(motion.p[self.k] + points @ motion.R[self.k].T)

    def silhouettes(self, towards: Floats) -> Iterator[tuple[str, Floats]]:
        """Yield the lines around balls and ellipsoids for an eye far away: body, points."""
        for stone in stones(self.bodies.model):
            motion = self.bodies.motions[stone.body]
            line = stone.silhouette(motion.R[self.k].T @ self.turn.T @ towards)
            yield stone.body, self.own(motion.p[self.k] + line @ motion.R[self.k].T)

    def contacts(self) -> Floats:
        """Return the contact points."""
        data = self.bodies.data
        if "contact_point" not in data:
            return np.zeros((0, 3))
        return self.own(data["contact_point"].values[self.k])


def look_along(
    data: "Dataset", sight: Sight, axes: "Axes | None", every: float | None, raised: float | None
) -> "Axes":
    """Return axes with the machine at one instant, from a raised eye, with its heading and the line
    of its contacts on the ground; or at several times side by side, from the ground's level. A machine
    that lies flat is seen from straight above.
    """
    if "orientation" not in data:
        raise ParameterError("this result has no machine to look at: take a run or a state.")
    bodies = bodies_in(data)
    single = data.sizes["time"] == 1
    if raised is None:
        raised = ABOVE if lies_flat(bodies.model) else RAISED if single else 0.0
    if single:
        return _one(bodies, sight, axes, raised)
    return _row(bodies, sight, axes, every, raised)


def _one(bodies: Bodies, sight: Sight, axes: "Axes | None", raised: float) -> "Axes":
    machine = MachineAt(bodies, 0)
    lines = list(_grid(machine))
    seen = [sight.picture(x, raised) for x in (*lines, *(x for *_, x in machine.lines()))]
    wide, high = np.ptp(np.vstack(seen), axis=0)
    axes = plain(given_or_new(axes, (7.0, 1.6 + 6.2 * float(np.clip(high / wide, 0.2, 1.2)))))
    for line in lines if raised else ():
        axes.plot(*sight.picture(line, raised).T, color="#dddddd", lw=0.7, zorder=0)
    outline(axes, machine, lambda points: sight.picture(points, raised))
    on_ground(axes, machine, lambda points: sight.picture(points, raised))
    axes.set(xlabel=f"{sight.name} (m)", ylabel="z, up (m)")
    if raised:
        axes.grid(visible=False)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_ylabel("")
        where = (
            "onto its plane" if raised == ABOVE else f"from {math.degrees(raised):.0f} deg above"
        )
        axes.set_xlabel(f"{sight.name} (m); seen {where},\nlines on the ground {CELL:g} m apart")
    else:
        axes.axhline(0.0, color="black", lw=0.8)
    tell_angles(axes, bodies)
    axes.set_aspect("equal", adjustable="box")
    legend(axes, 3)
    return axes


def _row(
    bodies: Bodies, sight: Sight, axes: "Axes | None", every: float | None, raised: float
) -> "Axes":
    t = bodies.data["time"].values
    every = every or pause(t, _most(bodies, sight, raised))
    wanted = np.arange(t[0], t[-1] + 1e-9 * every, every)
    samples = list(dict.fromkeys(int(np.argmin(np.abs(t - s))) for s in wanted))
    machines = [MachineAt(bodies, k) for k in samples]
    times = t[samples]
    seen = [np.vstack([sight.picture(x, raised) for *_, x in m.lines()]) for m in machines]
    left = min(x[:, 0].min() for x in seen)
    right = max(x[:, 0].max() for x in seen)
    high = max(float(x[:, 1].max()) for x in seen) - min(0.0, *(float(x[:, 1].min()) for x in seen))
    apart = max(1.15 * (right - left), 0.5 * high)
    share = float(np.clip(high / (apart * len(machines)), 0.05, 0.6))
    axes = plain(given_or_new(axes, (9.0, 1.6 + 9.0 * share)))
    for k, machine in enumerate(machines):
        picture = partial(_beside, sight, raised, k * apart)
        outline(axes, machine, picture, labels=k == 0)
    flat = raised == ABOVE
    if terrain_of(bodies.data) is None and not flat:
        axes.axhline(0.0, color="black", lw=0.8, zorder=0)
    ticks = (left + right) / 2.0 + apart * np.arange(len(machines))
    axes.set_xticks(ticks, [f"{s:.4g}" for s in times])
    where = "onto its plane" if flat else f"from its {sight.side}"
    axes.set_xlabel(f"time (s); each machine seen {where}")
    axes.set_ylabel(f"{sight.above if flat else 'z, up'} (m)")
    axes.set_aspect("equal", adjustable="box")
    low, top = axes.get_ylim()  # marks of mass centres are larger than their points
    axes.set_ylim(low - 0.12 * high, top + 0.12 * high)
    legend(axes, 5)
    return axes


def _beside(sight: Sight, raised: float, shift: float, points: Floats) -> Floats:
    return sight.picture(points, raised) + np.array([shift, 0.0])


def _most(bodies: Bodies, sight: Sight, raised: float) -> float:
    """Return how many machines may stand side by side, so that each is seen."""
    some = np.linspace(0, bodies.data.sizes["time"] - 1, MOST).astype(int)
    machines = [MachineAt(bodies, k) for k in some.tolist()]
    seen = [sight.picture(x, raised) for machine in machines for *_, x in machine.lines()]
    wide, high = np.ptp(np.vstack(seen), axis=0)
    return float(np.clip(SLIM * high / wide, LEAST, MOST))


def pause(t: Floats, most: float = MOST) -> float:
    """Return a round time that leaves few enough snapshots for a figure's width."""
    return round_step(float(t[-1] - t[0]) / (most * narrowness()) * (1.0 + 1e-12))


def round_step(least: float) -> float:
    """Return the next 1, 2 or 5 of some decimal place from a number upwards.

    >>> round_step(0.3), round_step(2.0), round_step(70.0)
    (0.5, 2.0, 100.0)
    """
    place = 10.0 ** math.floor(math.log10(least))
    return float(next(m * place for m in (1.0, 2.0, 5.0, 10.0) if m * place >= least * (1 - 1e-9)))


def outline(
    axes: "Axes", machine: MachineAt, picture: Callable[[Floats], Floats], labels: bool = True
) -> None:
    """Draw a machine."""
    names = [body.name for body in machine.bodies.model.bodies]
    styles = {"rim": ("black", 1.8), "section": ("black", 0.5), "spokes": ("#c4c4c4", 0.5)}
    told: set[str] = set()
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
        label = words(body) if labels and kind in ("link", "box") and body not in told else "_"
        told |= {body} if label != "_" else set()
        axes.plot(x, y, color=colour, lw=width, label=label, solid_capstyle="round")
    if labels and balls(machine.bodies.model):
        axes.plot([], [], "D", color=GREY, ls="", ms=4.5, label="mass centres")


def on_ground(axes: "Axes", machine: MachineAt, picture: Callable[[Floats], Floats]) -> None:
    """Draw the heading, and the line of the first two contacts, as far as there are some."""
    points = machine.contacts()
    if not len(points):
        return
    reach = 1.3 * max(float(np.ptp(points[:, 0])), 0.5)
    ahead = np.array([[-0.3 * reach, 0.0, 0.0], [reach, 0.0, 0.0]])
    axes.plot(*picture(ahead).T, color=COLOURS[3], lw=1.4, label="heading")
    if len(points) > 1 and np.linalg.norm(points[1] - points[0]) > 1e-9:
        way = points[1] - points[0]
        ends = np.array([points[0] - 0.3 * way, points[0] + 1.3 * way])
        axes.plot(*picture(ends).T, color="black", lw=1.2, ls="--", label="line of contacts")
        axes.plot(*picture(points[:2]).T, "o", color="black", ms=4, zorder=5)


def _grid(machine: MachineAt) -> Iterator[Floats]:
    """Yield lines on the ground below a machine."""
    flat = np.vstack([x for *_, x in machine.lines()])[:, :2]
    low = np.floor(flat.min(axis=0) / CELL - 1)
    high = np.ceil(flat.max(axis=0) / CELL + 1)
    for k in np.arange(low[0], high[0] + 1):
        yield CELL * np.array([[k, low[1], 0.0], [k, high[1], 0.0]])
    for k in np.arange(low[1], high[1] + 1):
        yield CELL * np.array([[low[0], k, 0.0], [high[0], k, 0.0]])


def tell_angles(axes: "Axes", bodies: Bodies) -> None:
    """Write the first angles of a machine into a corner."""
    own = [o.name for o in bodies.model.outputs if o.name == "beta"]
    found = []
    for name in (*angles_of(bodies.model), *own):
        values, unit = displayed_series(name, bodies)
        value = f"{round(float(values[0]), 9) + 0.0:.4g}".replace("-", "\N{MINUS SIGN}")
        found.append(f"{words(name)} {value} {unit}")
    text = "\n".join(found)
    axes.text(0.01, 0.99, text, ha="left", va="top", transform=axes.transAxes, fontsize=letters(9))
