"""The ridden path in space with the machine on it: snapshots, tracks, ground, axes and events."""

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.mechanics.base import base_angles
from draisine.results.attributes import validity_of
from draisine.scenario.terrain import terrain_of
from draisine.terrain import Terrain
from draisine.view.figures import histories, side
from draisine.view.figures._marks import SIGNS, time_of_fall
from draisine.view.figures._snapshots import round_step
from draisine.view.scene.ground import Patch, heights, patches
from draisine.view.scene.scene import Scene, scene
from draisine.view.style import (
    COLOURS,
    GREY,
    SOLID_OPACITY,
    angles_of,
    bodies_of,
    check_run,
    given_or_new,
    headline,
    legend,
    letters,
    new_figure,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MOST = 14
"""No more snapshots than this, beside those at events."""

LINES = {
    "link": 2.2, "rim": 1.8, "spokes": 0.4, "valve": 0.0, "blade": 2.2, "box": 1.2, "section": 0.5,
}  # fmt: skip
"""How thick parts are drawn, in points."""

LIFTS = 6
"""So many lines above its place a time of an event may stand, where others are in its way."""

ROOM = 0.04
"""The room above a picture for the time of an event, in its width."""

MARGIN = 4.0
"""The margin above and below a picture, in pixels."""

APART = (10.0, 4.0)
"""How much room a text has beside it and above it, in pixels."""

GAP = 0.15
"""How far machines stand apart that are not at events, in their own size."""

HIDDEN = 0.4
"""How much of a machine one at an event may hide; where it would hide more, it is a shade."""

FEW = 6
"""Up to so many events each has its time, however near they are."""

NEAR = 0.08
"""Of more events, machines nearer than so many times their size to the one before are left out."""

SHADE = 0.12
"""How much is seen of a machine that is a shade."""

ASIDE = 0.8
"""Numbers stand beside a border, and no longer below it, where the way out of the ground goes so much
across the picture.
"""

UPRIGHT = 0.1
"""A face of the ground is a step where its normal rises by less than this."""

ALIGNED = math.cos(math.radians(20.0))
"""A way that goes along an axis of the world but for so much is seen as along that axis, so that the lines
on the ground are level.
"""

SPOT = 0.5
"""Who moves less than so many times its size stays in its place."""

FAR = 1e6
"""How far away the eye is, in sizes of the machine."""

PALE = 0.45
"""How much of a machine is seen between events, where there are some, and where a run is not to be
believed.
"""


@dataclass(frozen=True, eq=False)
class Eye:
    """An eye far away: what points to the right and up in its picture, and towards it; right and up need
    not be across each other, in an oblique picture they are not.
    """

    right: Floats
    up: Floats
    towards: Floats

    @classmethod
    def beside(cls, way: Floats, up: Floats, aside: float, raised: float) -> "Eye":
        """Return the eye on the right of a way, `aside` radians behind and `raised` above it. Its picture
        is oblique: along the way and up lengths are true and level ground is level; what lies across the
        way is drawn aslant, as short as such an eye sees it.
        """
        ahead = way[-1] - way[0]
        ahead = ahead - up * (up @ ahead)
        if np.linalg.norm(ahead) < 0.3 * np.linalg.norm(np.ptp(way, axis=0)):
            ahead = np.array([1.0, 0.0, 0.0]) - up * up[0]
        ahead = ahead / np.linalg.norm(ahead)
        axes = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
        axes = axes - np.outer(axes @ up, up)
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        near = axes[np.argmax(axes @ ahead)]
        ahead = near if near @ ahead > ALIGNED else ahead
        left = np.cross(up, ahead)
        right = -math.sin(aside)
        high = math.sin(raised)
        towards = right * ahead + high * up - left
        return cls(ahead + right * left, up + high * left, towards / np.linalg.norm(towards))

    def picture(self, points: Any) -> Floats:
        """Return where points (any shape, 3) are in the picture."""
        return np.asarray(points, float) @ np.array([self.right, self.up]).T


def draw(
    data: "Dataset",
    axes: "Axes | None" = None,
    every: float | None = None,
    aside: float = math.radians(-12.0),
    raised: float = math.radians(18.0),
) -> Any:
    """Return axes with the machine on its way, as it is seen from the right, where it has room (or every
    so many seconds), and at the end; where events happen it is drawn in full and marked. The ground has
    the axes of the world on its rim, in m, and a slope is seen as one and told. `aside` and `raised` are
    how far behind (negative: ahead) and above the eye stands, in rad.

    A machine that hardly leaves its place is drawn at several times side by side instead, over the
    history of its angles.
    """
    check_run(data)
    if data.sizes["time"] == 1:
        return side.draw(data, axes)
    motion = scene(data, lambda known: known)
    way = _way(motion)
    length = float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())
    if length < 2.0 * motion.size or np.linalg.norm(np.ptp(way, axis=0)) < SPOT * motion.size:
        return _draw_in_place(data, axes)
    eye = Eye.beside(way, motion.up, aside, raised)
    ground = _ground(motion, way, terrain_of(data))
    events = {motion_index(motion, t): name for t, name in motion.events}
    shots = _shots(motion, length, every)
    regular, full = _apart(motion, eye, shots, events)
    (marked, more) = _merged(motion, way, events, full)
    regular = shots if every else regular
    machines = [eye.picture(np.vstack(motion.lines(k))) for k in regular]
    seen = np.vstack([eye.picture(_rim(ground)), *machines])
    own = axes is None
    (above, tall) = _room(seen, len(marked))
    axes = given_or_new(axes, (10.0, 2.2 + 10.0 * tall))
    _draw_ground(axes, eye, ground, motion)
    _draw_tracks(axes, eye, motion)
    for k in sorted({*regular, *marked}, key=lambda k: float(way[k] @ eye.towards)):
        pale = motion.time[k] > _end_of_belief(data) or (marked and k not in marked)
        strength = PALE if pale else 1.0 if k in full or k in regular else SHADE
        _draw_machine(axes, eye, motion, ground, k, strength)
    times = _draw_marks(axes, eye, motion, regular, marked, more, time_of_fall(data))
    _finish(axes, seen, above)
    if own:
        axes.figure.suptitle(motion.title, fontsize=letters(10))
    _untangle(axes, times, machines if marked else [])
    if own:
        _trim(axes, seen)
    return axes


def _merged(
    motion: Scene, way: Floats, marked: dict[int, str], full: list[int]
) -> tuple[dict[int, str], dict[int, int]]:
    """Return the events, of many only those whose machines stand apart, and how many after each hardly do."""
    more: dict[int, int] = {}
    for k in sorted(marked):
        last = max(more, default=k)
        apart = float(np.linalg.norm(way[k] - way[last]))
        if len(marked) <= FEW or k in full or not more or apart > NEAR * motion.size:
            more[k] = 0
        else:
            more[last] += 1
    return {k: marked[k] for k in more}, more


def _room(seen: Floats, events: int) -> tuple[float, float]:
    """Return the room above a picture for the times of its events, and its height in its width."""
    wide, high = np.ptp(seen, axis=0)
    above = float(ROOM * wide * min(events, LIFTS))
    return above, float(np.clip((high + above) / wide, 0.1, 0.9))


def motion_index(motion: Scene, t: float) -> int:
    """Return the sample at a time; of two, the later."""
    return int(np.searchsorted(motion.time, t + 1e-9, side="right")) - 1


def _end_of_belief(data: "Dataset") -> float:
    """Return from when on a run is not to be believed."""
    validity = validity_of(data)
    return math.inf if validity is None else min(validity.faults.values(), default=math.inf)


def _way(motion: Scene) -> Floats:
    """Return the way of the machine's middle, which the camera of a film would follow."""
    return np.asarray(motion.p.mean(axis=1), float)


def _draw_in_place(data: "Dataset", axes: "Axes | None") -> Any:
    """Return axes with a machine at several times side by side; on a new figure also its angles."""
    if axes is not None:
        return side.draw(data, axes)
    model = bodies_of(data).model
    panels = new_figure(2, 1, (9.0, 6.0))
    side.draw(data, panels[0]).set(yticks=[], ylabel="")
    tall = float(np.clip(9.0 * _shape(panels[0]) + 0.9, 1.4, 3.0))
    panels[0].get_gridspec().set_height_ratios([tall, 3.0])
    figure = panels[0].figure
    figure.set_figheight(figure.get_figheight() * (tall + 3.0) / 6.0)
    angles = dict.fromkeys([*base_angles(model), *angles_of(model)])
    spans = {name: float(np.ptp(np.unwrap(data[name].values))) for name in angles if name in data}
    moved = [name for name, span in spans.items() if span > 0.1 * max(spans.values())]
    drawn = histories.draw(data, panels[1], moved or None)
    for line in drawn.lines[: len(moved)]:
        line.set_ydata(np.unwrap(np.asarray(line.get_ydata(), float), period=360.0))
    drawn.relim()
    drawn.autoscale_view()
    figure.suptitle(headline(data), fontsize=letters(10))
    return panels


def _shape(axes: "Axes") -> float:
    """Return how high axes are for their width."""
    (x0, x1) = axes.get_xlim()
    (y0, y1) = axes.get_ylim()
    return (y1 - y0) / (x1 - x0)


def _shots(motion: Scene, length: float, every: float | None) -> list[int]:
    """Return samples to be drawn, and the last: by default more than have room beside each other, so that
    there are some where it is fast.
    """
    t = motion.time
    if every is None:
        count = float(np.clip(length / (2.4 * motion.size), 2.0, MOST))
        every = round_step(0.3 * float(t[-1] - t[0]) / count)
    times = np.arange(t[0], t[-1] + 1e-9, every)
    found = [motion_index(motion, s) for s in times]
    return found if t[-1] - times[-1] < 0.3 * every else [*found, len(t) - 1]


def _apart(
    motion: Scene, eye: Eye, shots: list[int], marked: dict[int, str]
) -> tuple[list[int], list[int]]:
    """Return the first sample, the last, and those between where the machine lies over no other; and the
    marked ones that hide little of each other.
    """
    placed: list[tuple[Floats, float]] = []

    def place(k: int, gap: float, always: bool = False) -> bool:
        points = eye.picture(np.vstack(motion.lines(k)))
        low = points.min(axis=0)
        high = points.max(axis=0)
        shared = [
            (np.minimum(high, x[1]) - np.maximum(low, x[0]), min(gap, own)) for x, own in placed
        ]
        free = always or all(np.any(both < -least * (high - low)) for both, least in shared)
        if free:
            placed.append((np.array([low, high]), gap))
        return free

    ends = [shots[0], shots[-1]]
    for k in ends:
        place(k, -HIDDEN if k in marked else GAP, always=True)
    full = [k for k in sorted(marked) if k in ends or place(k, -HIDDEN)]
    between = [k for k in shots[1:-1] if k not in marked and place(k, GAP)]
    return sorted({*ends, *between}), full


def _ground(motion: Scene, way: Floats, terrain: Terrain | None) -> list[Patch]:
    """Return the ground below a way, as wide as it needs."""
    reach = 1.2 * motion.size
    if terrain is not None:
        return patches(terrain, motion.time, way, reach, motion.cell, whole_faces=True)
    points = np.concatenate([*motion.tracks.values(), way])
    points = points[np.isfinite(points).all(axis=1)]
    (x0, y0, _) = points.min(axis=0) - reach
    (x1, y1, _) = points.max(axis=0) + reach
    z = motion.ground
    corners = np.array([(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)])
    cell = motion.cell
    lines = [((x, y0, z), (x, y1, z)) for x in cell * np.arange(math.ceil(x0 / cell), x1 / cell)]
    lines += [((x0, y, z), (x1, y, z)) for y in cell * np.arange(math.ceil(y0 / cell), y1 / cell)]
    return [Patch(corners, np.array(lines).reshape(-1, 2, 3), np.array([0.0, 0.0, 1.0]))]


def _rim(ground: list[Patch]) -> Floats:
    return np.vstack([patch.outline for patch in ground])


def _draw_ground(axes: "Axes", eye: Eye, ground: list[Patch], motion: Scene) -> None:
    """Draw faces, the far ones first, with their lines, steps, and numbers along the near rim."""
    from matplotlib.collections import LineCollection, PolyCollection

    seen = [patch for patch in ground if patch.normal @ eye.towards > 0.0]
    seen.sort(key=lambda patch: float(patch.outline.mean(axis=0) @ eye.towards))
    shades = [f"{0.5 + 0.5 * patch.grey:.3f}" for patch in seen]
    outlines = [eye.picture(patch.outline) for patch in seen]
    axes.add_collection(PolyCollection(outlines, facecolor=shades, edgecolor="none", zorder=0))
    lines = [line for patch in seen for line in eye.picture(patch.lines)]
    axes.add_collection(LineCollection(lines, colors="#c8c8c8", linewidths=0.5, zorder=0.5))
    _draw_steps(axes, eye, ground, motion.up)
    if (slope := _slope(ground, motion.up)) > 1e-3:
        told = f"ground, sloped by {math.degrees(slope):.3g} deg"
        axes.fill_between([], [], color="#d8d8d8", label=told)
    _draw_numbers(axes, eye, ground, motion.cell)


def _draw_numbers(axes: "Axes", eye: Eye, ground: list[Patch], cell: float) -> None:
    """Write numbers along the near rim; of each axis the one with the unit is written first, so that it
    has room, and as far from the other's as it can be.
    """
    told: Floats | None = None
    for axis in (0, 1):
        places = _ticks(eye, ground, axis, cell)
        if not len(places):
            continue
        flat = eye.picture(places)
        out = eye.picture(np.eye(3)[1 - axis]) * np.sign(eye.towards[1 - axis])
        aside = abs(out[0]) > ASIDE * np.linalg.norm(out)
        ha = "center" if not aside else "left" if out[0] > 0.0 else "right"
        away = np.arange(len(flat)) if told is None else np.linalg.norm(flat - told, axis=1)
        full = int(np.argmax(away))
        told = flat[full]
        for k in sorted(range(len(flat)), key=lambda k: k != full):
            text = f"{places[k][axis]:.6g}".replace("-", "\N{MINUS SIGN}")
            axes.annotate(
                f"{'xy'[axis]} = {text} m" if k == full else text, flat[k],
                (math.copysign(4.0, out[0]), 0.0) if aside else (0.0, -3.0), va="center" if aside else "top",
                textcoords="offset points", ha=ha, fontsize=8,
            )  # fmt: skip


def _draw_steps(axes: "Axes", eye: Eye, ground: list[Patch], up: Floats) -> None:
    """Draw the upper edges of steps, and where there is one step tell how high it is."""
    steps = [patch.outline for patch in ground if abs(patch.normal @ up) < UPRIGHT]
    for outline in steps:
        high = outline @ up
        rise = float(np.ptp(high))
        sides = zip(outline, np.roll(outline, -1, axis=0), strict=True)
        tops = [np.array(ends) for ends in sides if max(x @ up for x in ends) > high.max() - 1e-9]
        for ends in tops:
            axes.plot(*eye.picture(ends).T, color="#333333", lw=1.2, zorder=0.8)
        if len(steps) == 1:
            feet = outline[high < high.min() + 0.5 * rise]
            x, y = eye.picture(feet[np.argmax(feet @ eye.towards)])
            axes.annotate(
                f"step, {100.0 * rise:.3g} cm", (x, y), (0, -15), va="top", ha="center",
                textcoords="offset points", fontsize=8, color="#333333",
            )  # fmt: skip


def _ticks(eye: Eye, ground: list[Patch], axis: int, cell: float) -> Floats:
    """Return round places along an axis of the world, on the border of the ground that is nearest to
    the eye; none where the axis is seen too much from its end.
    """
    rim = _rim(ground)
    low = rim.min(axis=0)
    high = rim.max(axis=0)
    along = np.eye(3)[axis] * (high - low)
    other = 1 - axis
    if np.linalg.norm(eye.picture(along)) < 0.12 * np.linalg.norm(eye.picture(high - low)):
        return np.zeros((0, 3))
    spacing = max(cell, round_step(0.6 * (high[axis] - low[axis]) / 7.0))
    values = spacing * np.arange(math.ceil(low[axis] / spacing), high[axis] / spacing + 1e-9)
    near = max(low[other], high[other], key=lambda v: v * eye.towards[other])
    places = np.empty((len(values), 3))
    places[:, axis] = values
    places[:, other] = near
    places[:, 2] = high[2] + 1.0
    inside = places.copy()
    inside[:, other] += 1e-6 * ((low + high) / 2.0 - places)[:, other]
    beside = [heights(ground, inside + 1e-6 * sign * along) for sign in (-1.0, 1.0)]
    places[:, 2] = np.nan_to_num(np.fmin(*beside), nan=low[2])
    return places


def _slope(ground: list[Patch], up: Floats) -> float:
    """Return how steep the ground is, in rad, where all of it is alike; else 0."""
    cosines = [float(patch.normal @ up) for patch in ground]
    return math.acos(min(cosines[0], 1.0)) if np.ptp(cosines) < 1e-9 else 0.0


def _draw_tracks(axes: "Axes", eye: Eye, motion: Scene) -> None:
    for k, (name, path) in enumerate(motion.paths.items()):
        flat = eye.picture(path.points)
        axes.plot(*flat.T, color=COLOURS[k % 7], lw=1.3, zorder=2, label=f"{words(name)} contact")


def _draw_machine(
    axes: "Axes", eye: Eye, motion: Scene, ground: list[Patch], k: int, strength: float
) -> None:
    """Draw the machine at the k-th time, and its shadow straight below it."""
    for part, points in zip(motion.parts, motion.lines(k), strict=True):
        if part.kind in ("rim", "link", "box", "section"):
            below = np.column_stack([points[:, :2], heights(ground, points)])
            below[1:][np.abs(np.diff(below[:, 2])) > motion.size / 4.0] = np.nan
            faint = 0.15 * min(1.0, strength / PALE)
            axes.plot(*eye.picture(below).T, color="black", alpha=faint, lw=2.0, zorder=1)
        axes.plot(
            *eye.picture(points).T, color=motion.colour(part), lw=LINES[part.kind], zorder=3,
            alpha=strength, solid_capstyle="round",
        )  # fmt: skip
    for stone in motion.stones:
        line = motion.silhouette(stone, FAR * motion.size * eye.towards, k)
        axes.fill(
            *eye.picture(line).T,
            color=motion.colour(stone),
            alpha=SOLID_OPACITY * strength,
            lw=0,
            zorder=2.5,
        )
    for ball in motion.balls:
        place = eye.picture(motion.place(ball.body, ball.centre, k))
        axes.plot(*place, "o", color=motion.colour(ball), ms=4, alpha=strength, zorder=3)


def _draw_marks(
    axes: "Axes",
    eye: Eye,
    motion: Scene,
    regular: list[int],
    marked: dict[int, str],
    more: dict[int, int],
    fall: float,
) -> list[Any]:
    """Write the time over every machine, or over those at events, with how many more are there, and mark
    these, tell where it has fallen; return the times.
    """
    above = 0.06 * motion.size
    tops = {}
    for k in sorted(marked or regular):
        points = eye.picture(np.vstack(motion.lines(k)))
        tops[k] = (points[:, 0].min() + points[:, 0].max()) / 2.0, points[:, 1].max() + above
    close = np.diff([x for x, _ in tops.values()]) < 2.2 * motion.size
    told: set[str] = set()
    times = []
    for n, (k, (x, y)) in enumerate(tops.items()):
        text = f"{motion.time[k]:.3g} s"
        lift = 4.0
        side = "center"
        text += ", fallen" if motion.time[k] >= fall else ""
        if k in marked:
            kind, _, wheels = marked[k].partition(" ")
            sign, _ = SIGNS.get(kind, ("x", GREY))
            label = "_" if kind in told else kind
            told.add(kind)
            axes.plot(x, y + above, sign, color=COLOURS[1], ms=6, ls="none", label=label, zorder=5)
            before = n > 0 and close[n - 1]
            after = n < len(close) and close[n]
            text = f"{words(wheels)} {motion.time[k]:.3f} s".strip()
            lift = 8.0
            text += f", {more[k]} more" if more[k] else ""
            side = "left" if before else "right" if after else "center"
        times.append(
            axes.annotate(
                text, (x, y), (0.0, lift), textcoords="offset points", ha=side, fontsize=8, zorder=6
            )
        )
    return times


def _untangle(axes: "Axes", times: list[Any], machines: list[Floats]) -> None:
    """Leave texts away that would overlap others; but times of events may stand aside and be lifted, where
    they can away from `machines` and from the places of events before, and a line then leads down from
    them: the last comes first, so that those before it step up over it.
    """
    from matplotlib.transforms import Bbox

    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    legend = axes.get_legend()
    placed: list[Any] = [] if legend is None else [legend.get_window_extent()]
    seen = [Bbox(axes.transData.transform([p.min(axis=0), p.max(axis=0)])) for p in machines]
    columns = {text: _lead(axes, text, math.inf) for text in times if machines}
    texts: list[Any] = list(axes.texts)
    for text in sorted(texts, key=lambda text: -text.xy[0] if text in columns else -math.inf):
        lifts = columns.pop(text, None) is not None
        beside = list(columns.values())
        for others in ([*placed, *beside, *seen], [*placed, *beside], placed):
            if (found := _free_place(axes, text, lifts, others)) is not None:
                placed += found
                break
        else:
            text.set_visible(False)
        for lead in found[1:] if found else ():
            ends = axes.transData.inverted().transform(lead.get_points())
            axes.plot(*ends.T, color=GREY, lw=0.6, zorder=4, scalex=False, scaley=False)


def _free_place(axes: "Axes", text: Any, lifts: bool, others: list[Any]) -> list[Any] | None:
    """Move a text to where its box overlaps no other, by lines up and to its sides if it may be; return
    its box and that of the line that leads down from it where it is lifted, or nothing.
    """
    x, low = text.xyann
    first = text.get_ha()
    sides = dict.fromkeys((first, "center", "left", "right")) if lifts else [first]
    for line, aside in product(range(LIFTS + 1 if lifts else 1), sides):
        text.xyann = (x, low + 9.0 * line)
        text.set_ha(aside)
        box = text.get_window_extent()
        lead = [_lead(axes, text, box.y0)] if line else []
        wide = [box.padded(*APART), *lead]
        if not any(
            one.overlaps(other)
            for other in others
            for one in (
                wide if other.width else [box, *lead]
            )  # texts keep apart, lines may be close
        ):
            return [box, *lead]
    text.xyann = (x, low)
    text.set_ha(first)
    return None


def _lead(axes: "Axes", text: Any, top: float) -> Any:
    """Return the line from the sign of an event up to some height, in pixels, as a box."""
    from matplotlib.transforms import Bbox

    x, y = axes.transData.transform(text.xy)
    return Bbox([[x, y + text.figure.dpi / 9.0], [x, top]])


def _trim(axes: "Axes", seen: Floats) -> None:
    """Make a figure lower by what is empty above and below its picture and texts."""
    figure: Any = axes.figure
    figure.draw_without_rendering()
    box = axes.get_window_extent()
    given = axes.get_position(original=True).height
    drawn = [text.get_window_extent() for text in axes.texts if text.get_visible()]
    y = axes.transData.transform(seen)[:, 1]
    below = max(min([y.min(), *(x.y0 for x in drawn)]) - box.y0 - MARGIN, 0.0)
    above = max(box.y1 - max([y.max(), *(x.y1 for x in drawn)]) - MARGIN, 0.0)
    low, high = axes.get_ylim()
    scale = (high - low) / box.height
    axes.set_ylim(low + below * scale, high - above * scale)
    spare = given * figure.bbox.height - box.height
    figure.set_figheight(figure.get_figheight() - (below + above + spare) / figure.dpi)


def _finish(axes: "Axes", seen: Floats, above: float) -> None:
    """Leave the frame away and fit the picture, with room above it."""
    (x0, y0) = seen.min(axis=0)
    (x1, y1) = seen.max(axis=0)
    room = 0.02 * (x1 - x0)
    axes.set(xlim=(x0 - room, x1 + room), ylim=(y0 - 3.0 * room, y1 + 3.0 * room + above))
    axes.set_aspect("equal", adjustable="box", anchor="N")  # what is spare, is below it
    axes.set_axis_off()
    legend(axes, 6)
