"""Figure of a run in space, in an oblique parallel projection: path, snapshots of the vehicle, tracks of the
contact points, ground with coordinates, and events.
"""

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.mechanics.base import base_angles
from draisine.results.attributes import read_validity
from draisine.scenario.terrain import restore_terrain
from draisine.terrain import Terrain
from draisine.view.figures import histories, side
from draisine.view.figures._marks import EVENT_MARKERS, time_of_fall
from draisine.view.figures._snapshots import round_step
from draisine.view.scene.ground import Patch, ground_heights, ground_patches
from draisine.view.scene.scene import Scene, build_scene
from draisine.view.style import (
    COLOURS,
    GREY,
    SOLID_OPACITY,
    add_legend,
    check_run,
    font_size,
    given_or_new,
    headline,
    main_angles,
    new_figure,
    restore_bodies,
    to_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MAX_PATH_SNAPSHOTS = 14
"""Largest number of snapshots in addition to those at events."""

PATH_LINE_WIDTHS = {
    "link": 2.2, "rim": 1.8, "spokes": 0.4, "valve": 0.0, "blade": 2.2, "box": 1.2, "section": 0.5,
}  # fmt: skip
"""Line widths (points) of the outlines of a vehicle, by kind of outline."""

MAX_LABEL_LIFTS = 6
"""Largest number of text lines by which the time label of an event is lifted to avoid other texts."""

LABEL_HEIGHT = 0.04
"""Height above the picture for the label of one event, as a fraction of the width of the picture."""

PICTURE_MARGIN = 4.0
"""Margin above and below the picture (pixels)."""

TEXT_MARGIN = (10.0, 4.0)
"""Horizontal and vertical margin around a text (pixels)."""

SNAPSHOT_GAP = 0.15
"""Smallest gap between two snapshots that are not at events, as a fraction of their size."""

MAX_EVENT_OVERLAP = 0.4
"""Largest overlap of two snapshots at events, as a fraction of their size. If a snapshot overlaps more, it is
drawn faintly.
"""

MAX_SEPARATE_EVENTS = 6
"""Largest number of events of a run in which every event has its own time label, even if events are close."""

MERGE_DISTANCE = 0.08
"""Distance below which neighbouring events share one time label, as a fraction of the vehicle's size. It
applies to runs with more than `MAX_SEPARATE_EVENTS` events.
"""

FAINT_OPACITY = 0.12
"""Opacity (0 to 1) of a snapshot at an event that would hide another snapshot."""

SIDEWAYS_LABELS_FROM = 0.8
"""Limit for the position of coordinate labels: the horizontal component of the outward unit vector of the
ground border, in the picture. Above it the labels are beside the border, otherwise below it.
"""

MAX_STEP_NORMAL = 0.1
"""Largest vertical component of the normal of a face that is drawn as a vertical step."""

MIN_ALIGNMENT = math.cos(math.radians(20.0))
"""Smallest cosine (of 20 deg) of the angle between a path and a world axis at which the projection is aligned
with this axis. Grid lines along the axis are then horizontal in the picture.
"""

MIN_TRAVEL = 0.5
"""Smallest extent of a path that is drawn in space, as a fraction of the vehicle's size. Below it, the
vehicle is drawn at several times side by side.
"""

EYE_DISTANCE = 1e6
"""Distance of the viewpoint for silhouettes, as a multiple of the vehicle's size: practically infinite."""

PALE_OPACITY = 0.45
"""Opacity (0 to 1) of snapshots between events, and of all snapshots after a validity fault."""


@dataclass(frozen=True, eq=False)
class Eye:
    """A parallel projection, which may be oblique.

    Attributes
    ----------
    right, up
        Vectors (3,) whose scalar products with a point are its picture coordinates. They are not
        perpendicular in an oblique projection.
    towards
        Unit vector (3,) towards the viewer.
    """

    right: Floats
    up: Floats
    towards: Floats

    @classmethod
    def beside(cls, path: Floats, up: Floats, aside: float, raised: float) -> "Eye":
        """Return the projection of a path (times, 3) from its right side.

        The viewpoint is turned by `aside` (rad) backwards and by `raised` (rad) upwards. Lengths along the
        path and upwards are true; lengths across the path are oblique and foreshortened.
        """
        ahead = path[-1] - path[0]
        ahead = ahead - up * (up @ ahead)
        if np.linalg.norm(ahead) < 0.3 * np.linalg.norm(np.ptp(path, axis=0)):
            ahead = np.array([1.0, 0.0, 0.0]) - up * up[0]
        ahead = ahead / np.linalg.norm(ahead)
        axes = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
        axes = axes - np.outer(axes @ up, up)
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        nearest_axis = axes[np.argmax(axes @ ahead)]
        ahead = nearest_axis if nearest_axis @ ahead > MIN_ALIGNMENT else ahead
        left = np.cross(up, ahead)
        right = -math.sin(aside)
        rise = math.sin(raised)
        towards = right * ahead + rise * up - left
        return cls(ahead + right * left, up + rise * left, towards / np.linalg.norm(towards))

    def picture(self, points: Any) -> Floats:
        """Project world points (..., 3) in m; return picture coordinates (..., 2) in m."""
        return np.asarray(points, float) @ np.array([self.right, self.up]).T


def draw(
    data: "Dataset",
    axes: "Axes | None" = None,
    every: float | None = None,
    aside: float = math.radians(-12.0),
    raised: float = math.radians(18.0),
) -> Any:
    """Draw snapshots of a vehicle along its path, seen from the right side.

    Snapshots are drawn at the start, at events (with their times), at the end, and in between if they do not
    overlap. World coordinates (m) are written along the border of the ground; a slope is drawn inclined. A
    vehicle that stays in place is drawn at several times side by side, above the history of its angles.

    Parameters
    ----------
    data
        Dataset of a run or of one state.
    axes
        Axes to draw into; by default new ones.
    every
        Time between snapshots in s.
    aside, raised
        Angles of the viewpoint behind (negative: ahead) and above the vehicle, rad.

    Returns
    -------
    Axes or array of Axes
        The axes.
    """
    check_run(data)
    if data.sizes["time"] == 1:
        return side.draw(data, axes)
    motion = build_scene(data, lambda sampled: sampled)
    path = _mean_path(motion)
    length = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    if (
        length < 2.0 * motion.size
        or np.linalg.norm(np.ptp(path, axis=0)) < MIN_TRAVEL * motion.size
    ):
        return _draw_in_place(data, axes)
    eye = Eye.beside(path, motion.up, aside, raised)
    ground = _ground(motion, path, restore_terrain(data))
    events = {sample_at(motion, t): name for t, name in motion.events}
    shots = _shots(motion, length, every)
    regular, full = _apart(motion, eye, shots, events)
    (marked, more) = _merged(motion, path, events, full)
    regular = shots if every else regular
    machines = [eye.picture(np.vstack(motion.lines(k))) for k in regular]
    extent = np.vstack([eye.picture(_rim(ground)), *machines])
    is_new = axes is None
    (above, aspect) = _picture_size(extent, len(marked))
    axes = given_or_new(axes, (10.0, 2.2 + 10.0 * aspect))
    _draw_ground(axes, eye, ground, motion)
    _draw_tracks(axes, eye, motion)
    # Draw the farthest snapshot first, so that nearer snapshots are in front of it.
    for k in sorted({*regular, *marked}, key=lambda k: float(path[k] @ eye.towards)):
        is_pale = motion.time[k] > _first_fault(data) or (marked and k not in marked)
        opacity = PALE_OPACITY if is_pale else 1.0 if k in full or k in regular else FAINT_OPACITY
        _draw_machine(axes, eye, motion, ground, k, opacity)
    times = _draw_marks(axes, eye, motion, regular, marked, more, time_of_fall(data))
    _finish(axes, extent, above)
    if is_new:
        axes.figure.suptitle(motion.title, fontsize=font_size(10))
    _untangle(axes, times, machines if marked else [])
    if is_new:
        _trim(axes, extent)
    return axes


def _merged(
    motion: Scene, path: Floats, marked: dict[int, str], full: list[int]
) -> tuple[dict[int, str], dict[int, int]]:
    """Merge each event that is close to the previous one with it, if a run has many events.

    `marked` are the descriptions of events by sample index, `full` the samples of events that keep their own
    label. The result is the remaining events by sample index, and the number of events merged into each.
    """
    merged: dict[int, int] = {}
    for k in sorted(marked):
        last = max(merged, default=k)
        distance = float(np.linalg.norm(path[k] - path[last]))
        if (
            len(marked) <= MAX_SEPARATE_EVENTS
            or k in full
            or not merged
            or distance > MERGE_DISTANCE * motion.size
        ):
            merged[k] = 0
        else:
            merged[last] += 1
    return {k: marked[k] for k in merged}, merged


def _picture_size(extent: Floats, events: int) -> tuple[float, float]:
    """Return the height (m) above a picture for the labels of `events` events, and the ratio height / width.

    `extent` (n, 2) are the picture coordinates (m) of everything drawn.
    """
    width, height = np.ptp(extent, axis=0)
    above = float(LABEL_HEIGHT * width * min(events, MAX_LABEL_LIFTS))
    return above, float(np.clip((height + above) / width, 0.1, 0.9))


def sample_at(motion: Scene, t: float) -> int:
    """Return the index of the last sample at or before the time t (s).

    At the instant of an event, which has two samples, it is the later one.
    """
    return int(np.searchsorted(motion.time, t + 1e-9, side="right")) - 1


def _first_fault(data: "Dataset") -> float:
    """Return the time (s) of the first validity fault of a run; infinity for a valid run."""
    validity = read_validity(data)
    return math.inf if validity is None else min(validity.faults.values(), default=math.inf)


def _mean_path(motion: Scene) -> Floats:
    """Return the path of the vehicle: the mean displacement (times, 3) of all bodies, m."""
    return np.asarray(motion.p.mean(axis=1), float)


def _draw_in_place(data: "Dataset", axes: "Axes | None") -> Any:
    """Draw a vehicle that stays in place: snapshots side by side and, in a new figure, its angles below."""
    if axes is not None:
        return side.draw(data, axes)
    model = restore_bodies(data).model
    panels = new_figure(2, 1, (9.0, 6.0))
    side.draw(data, panels[0]).set(yticks=[], ylabel="")
    height = float(np.clip(9.0 * _shape(panels[0]) + 0.9, 1.4, 3.0))
    panels[0].get_gridspec().set_height_ratios([height, 3.0])
    figure = panels[0].figure
    figure.set_figheight(figure.get_figheight() * (height + 3.0) / 6.0)
    angles = dict.fromkeys([*base_angles(model), *main_angles(model)])
    spans = {name: float(np.ptp(np.unwrap(data[name].values))) for name in angles if name in data}
    moving = [name for name, span in spans.items() if span > 0.1 * max(spans.values())]
    drawn = histories.draw(data, panels[1], moving or None)
    for line in drawn.lines[: len(moving)]:
        line.set_ydata(np.unwrap(np.asarray(line.get_ydata(), float), period=360.0))
    drawn.relim()
    drawn.autoscale_view()
    figure.suptitle(headline(data), fontsize=font_size(10))
    return panels


def _shape(axes: "Axes") -> float:
    """Return the ratio of height to width of the displayed range of axes."""
    (x0, x1) = axes.get_xlim()
    (y0, y1) = axes.get_ylim()
    return (y1 - y0) / (x1 - x0)


def _shots(motion: Scene, length: float, every: float | None) -> list[int]:
    """Return the sample indices of candidate snapshots at equal intervals of time, with the last sample.

    `length` (m) is the length of the path, `every` the interval (s). The default interval yields more
    candidates than fit into the figure, so that fast parts of the path have candidates, too.
    """
    t = motion.time
    if every is None:
        count = float(np.clip(length / (2.4 * motion.size), 2.0, MAX_PATH_SNAPSHOTS))
        every = round_step(0.3 * float(t[-1] - t[0]) / count)
    times = np.arange(t[0], t[-1] + 1e-9, every)
    samples = [sample_at(motion, s) for s in times]
    return samples if t[-1] - times[-1] < 0.3 * every else [*samples, len(t) - 1]


def _apart(
    motion: Scene, eye: Eye, shots: list[int], marked: dict[int, str]
) -> tuple[list[int], list[int]]:
    """Select the snapshots that do not overlap in the picture.

    `shots` are the sample indices of candidates, `marked` the events by sample index. The result is the
    sample indices of the selected snapshots between events, and of the event snapshots with full opacity.
    """
    placed: list[tuple[Floats, float]] = []

    def place(k: int, gap: float, always: bool = False) -> bool:
        """Select the snapshot at sample k if it keeps `gap` to all selected ones; return whether it does."""
        points = eye.picture(np.vstack(motion.lines(k)))
        low = points.min(axis=0)
        high = points.max(axis=0)
        shared = [
            (np.minimum(high, x[1]) - np.maximum(low, x[0]), min(gap, own_gap))
            for x, own_gap in placed
        ]
        is_free = always or all(
            np.any(overlap < -smaller_gap * (high - low)) for overlap, smaller_gap in shared
        )
        if is_free:
            placed.append((np.array([low, high]), gap))
        return is_free

    ends = [shots[0], shots[-1]]
    for k in ends:
        place(k, -MAX_EVENT_OVERLAP if k in marked else SNAPSHOT_GAP, always=True)
    full = [k for k in sorted(marked) if k in ends or place(k, -MAX_EVENT_OVERLAP)]
    between = [k for k in shots[1:-1] if k not in marked and place(k, SNAPSHOT_GAP)]
    return sorted({*ends, *between}), full


def _ground(motion: Scene, path: Floats, terrain: Terrain | None) -> list[Patch]:
    """Return the terrain patches around a path (times, 3) in m; without terrain, one level rectangle."""
    reach = 1.2 * motion.size
    if terrain is not None:
        return ground_patches(terrain, motion.time, path, reach, motion.cell, whole_faces=True)
    points = np.concatenate([*motion.tracks.values(), path])
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
    """Return the corners (n, 3) of all ground patches in world axes, m."""
    return np.vstack([patch.outline for patch in ground])


def _draw_ground(axes: "Axes", eye: Eye, ground: list[Patch], motion: Scene) -> None:
    """Draw the visible ground patches from far to near, with grid lines, steps and coordinate labels."""
    from matplotlib.collections import LineCollection, PolyCollection

    visible = [patch for patch in ground if patch.normal @ eye.towards > 0.0]
    visible.sort(key=lambda patch: float(patch.outline.mean(axis=0) @ eye.towards))
    shades = [f"{0.5 + 0.5 * patch.grey:.3f}" for patch in visible]
    outlines = [eye.picture(patch.outline) for patch in visible]
    axes.add_collection(PolyCollection(outlines, facecolor=shades, edgecolor="none", zorder=0))
    lines = [line for patch in visible for line in eye.picture(patch.lines)]
    axes.add_collection(LineCollection(lines, colors="#c8c8c8", linewidths=0.5, zorder=0.5))
    _draw_steps(axes, eye, ground, motion.up)
    if (slope := _slope(ground, motion.up)) > 1e-3:
        slope_label = f"ground, slope {math.degrees(slope):.3g} deg"
        axes.fill_between([], [], color="#d8d8d8", label=slope_label)
    _draw_numbers(axes, eye, ground, motion.cell)


def _draw_numbers(axes: "Axes", eye: Eye, ground: list[Patch], cell: float) -> None:
    """Write world coordinates (m) along the borders of the ground that are nearest to the viewer.

    One number per axis also has the name of the axis and the unit. It is written first, so that it is never
    hidden, and far from the named number of the other axis.
    """
    previous: Floats | None = None
    for axis in (0, 1):
        places = _ticks(eye, ground, axis, cell)
        if not len(places):
            continue
        flat = eye.picture(places)
        outward = eye.picture(np.eye(3)[1 - axis]) * np.sign(eye.towards[1 - axis])
        is_sideways = abs(outward[0]) > SIDEWAYS_LABELS_FROM * np.linalg.norm(outward)
        ha = "center" if not is_sideways else "left" if outward[0] > 0.0 else "right"
        distances = (
            np.arange(len(flat)) if previous is None else np.linalg.norm(flat - previous, axis=1)
        )
        labelled = int(np.argmax(distances))
        previous = flat[labelled]
        for k in sorted(range(len(flat)), key=lambda k: k != labelled):
            text = f"{places[k][axis]:.6g}".replace("-", "\N{MINUS SIGN}")
            axes.annotate(
                f"{'xy'[axis]} = {text} m" if k == labelled else text, flat[k],
                (math.copysign(4.0, outward[0]), 0.0) if is_sideways else (0.0, -3.0),
                va="center" if is_sideways else "top", textcoords="offset points", ha=ha, fontsize=8,
            )  # fmt: skip


def _draw_steps(axes: "Axes", eye: Eye, ground: list[Patch], up: Floats) -> None:
    """Draw the upper edges of vertical steps of the ground; write the height (cm) of a single step."""
    steps = [patch.outline for patch in ground if abs(patch.normal @ up) < MAX_STEP_NORMAL]
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
    """Return points (n, 3) in m at round coordinates of a world axis (0: x, 1: y) for coordinate labels.

    They lie on the border of the ground nearest to the viewer. The result is empty if the axis is almost
    parallel to the viewing direction.
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
    nearest = max(low[other], high[other], key=lambda v: v * eye.towards[other])
    places = np.empty((len(values), 3))
    places[:, axis] = values
    places[:, other] = nearest
    places[:, 2] = high[2] + 1.0
    inside = places.copy()
    inside[:, other] += 1e-6 * ((low + high) / 2.0 - places)[:, other]
    both_sides = [ground_heights(ground, inside + 1e-6 * sign * along) for sign in (-1.0, 1.0)]
    places[:, 2] = np.nan_to_num(np.fmin(*both_sides), nan=low[2])
    return places


def _slope(ground: list[Patch], up: Floats) -> float:
    """Return the slope angle (rad) of the ground if all its patches are parallel, otherwise 0."""
    cosines = [float(patch.normal @ up) for patch in ground]
    return math.acos(min(cosines[0], 1.0)) if np.ptp(cosines) < 1e-9 else 0.0


def _draw_tracks(axes: "Axes", eye: Eye, motion: Scene) -> None:
    """Draw the tracks of the contact points on the ground."""
    for k, (name, path) in enumerate(motion.paths.items()):
        flat = eye.picture(path.points)
        axes.plot(
            *flat.T, color=COLOURS[k % 7], lw=1.3, zorder=2, label=f"{to_words(name)} contact"
        )


def _draw_machine(
    axes: "Axes", eye: Eye, motion: Scene, ground: list[Patch], k: int, opacity: float
) -> None:
    """Draw the vehicle at sample k with the given opacity (0 to 1), and its shadow on the ground below it."""
    for outline, points in zip(motion.parts, motion.lines(k), strict=True):
        if outline.kind in ("rim", "link", "box", "section"):
            below = np.column_stack([points[:, :2], ground_heights(ground, points)])
            below[1:][np.abs(np.diff(below[:, 2])) > motion.size / 4.0] = np.nan
            shadow_opacity = 0.15 * min(1.0, opacity / PALE_OPACITY)
            axes.plot(*eye.picture(below).T, color="black", alpha=shadow_opacity, lw=2.0, zorder=1)
        axes.plot(
            *eye.picture(points).T, color=motion.colour(outline), lw=PATH_LINE_WIDTHS[outline.kind], zorder=3,
            alpha=opacity, solid_capstyle="round",
        )  # fmt: skip
    for stone in motion.stones:
        line = motion.silhouette(stone, EYE_DISTANCE * motion.size * eye.towards, k)
        axes.fill(
            *eye.picture(line).T,
            color=motion.colour(stone),
            alpha=SOLID_OPACITY * opacity,
            lw=0,
            zorder=2.5,
        )
    for ball in motion.balls:
        place = eye.picture(motion.place(ball.body, ball.centre, k))
        axes.plot(*place, "o", color=motion.colour(ball), ms=4, alpha=opacity, zorder=3)


def _draw_marks(
    axes: "Axes",
    eye: Eye,
    motion: Scene,
    regular: list[int],
    marked: dict[int, str],
    merged: dict[int, int],
    fall: float,
) -> list[Any]:
    """Write times above the snapshots, or above the events if there are any; return the texts.

    Events also have markers. The label of an event states its wheels, its time, the number of merged events,
    and whether the vehicle has fallen. `fall` is the time of the fall (s).
    """
    above = 0.06 * motion.size
    tops = {}
    for k in sorted(marked or regular):
        points = eye.picture(np.vstack(motion.lines(k)))
        tops[k] = (points[:, 0].min() + points[:, 0].max()) / 2.0, points[:, 1].max() + above
    is_close = np.diff([x for x, _ in tops.values()]) < 2.2 * motion.size
    labelled: set[str] = set()
    times = []
    for n, (k, (x, y)) in enumerate(tops.items()):
        text = f"{motion.time[k]:.3g} s"
        lift = 4.0
        side = "center"
        text += ", fallen" if motion.time[k] >= fall else ""
        if k in marked:
            kind, _, wheels = marked[k].partition(" ")
            sign, _ = EVENT_MARKERS.get(kind, ("x", GREY))
            label = "_" if kind in labelled else kind
            labelled.add(kind)
            axes.plot(x, y + above, sign, color=COLOURS[1], ms=6, ls="none", label=label, zorder=5)
            before = n > 0 and is_close[n - 1]
            after = n < len(is_close) and is_close[n]
            text = f"{to_words(wheels)} {motion.time[k]:.3f} s".strip()
            lift = 8.0
            text += f", {merged[k]} more" if merged[k] else ""
            side = "left" if before else "right" if after else "center"
        times.append(
            axes.annotate(
                text, (x, y), (0.0, lift), textcoords="offset points", ha=side, fontsize=8, zorder=6
            )
        )
    return times


def _untangle(axes: "Axes", times: list[Any], machines: list[Floats]) -> None:
    """Move texts so that they do not overlap, and hide texts for which no place is free.

    The label of an event may be shifted sideways and lifted; a leader line then connects it with its marker.
    It must not overlap other texts (first priority), the markers of earlier events (second) and the vehicles
    (third). The last event is placed first, so that the labels of earlier events are lifted above it.
    """
    from matplotlib.transforms import Bbox

    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    add_legend = axes.get_legend()
    placed: list[Any] = [] if add_legend is None else [add_legend.get_window_extent()]
    machine_boxes = [
        Bbox(axes.transData.transform([p.min(axis=0), p.max(axis=0)])) for p in machines
    ]
    columns = {text: _lead(axes, text, math.inf) for text in times if machines}
    texts: list[Any] = list(axes.texts)
    for text in sorted(texts, key=lambda text: -text.xy[0] if text in columns else -math.inf):
        can_lift = columns.pop(text, None) is not None
        marker_columns = list(columns.values())
        for others in (
            [*placed, *marker_columns, *machine_boxes],
            [*placed, *marker_columns],
            placed,
        ):
            if (boxes := _free_place(axes, text, can_lift, others)) is not None:
                placed += boxes
                break
        else:
            text.set_visible(False)
        for lead in boxes[1:] if boxes else ():
            ends = axes.transData.inverted().transform(lead.get_points())
            axes.plot(*ends.T, color=GREY, lw=0.6, zorder=4, scalex=False, scaley=False)


def _free_place(axes: "Axes", text: Any, can_lift: bool, others: list[Any]) -> list[Any] | None:
    """Move a text to a position at which it overlaps none of the boxes `others` (pixels).

    The result is the box of the text and, if the text is lifted, the box of its leader line. It is None if no
    position is free; the text then stays in place.
    """
    x, low = text.xyann
    original = text.get_ha()
    sides = dict.fromkeys((original, "center", "left", "right")) if can_lift else [original]
    for line, alignment in product(range(MAX_LABEL_LIFTS + 1 if can_lift else 1), sides):
        text.xyann = (x, low + 9.0 * line)
        text.set_ha(alignment)
        box = text.get_window_extent()
        lead = [_lead(axes, text, box.y0)] if line else []
        padded = [box.padded(*TEXT_MARGIN), *lead]
        if not any(
            own_box.overlaps(other)
            for other in others
            for own_box in (
                padded if other.width else [box, *lead]
            )  # boxes of leader lines have no width and need no margin
        ):
            return [box, *lead]
    text.xyann = (x, low)
    text.set_ha(original)
    return None


def _lead(axes: "Axes", text: Any, top: float) -> Any:
    """Return the leader line from an event marker up to the height `top` as a box without width, pixels."""
    from matplotlib.transforms import Bbox

    x, y = axes.transData.transform(text.xy)
    return Bbox([[x, y + text.figure.dpi / 9.0], [x, top]])


def _trim(axes: "Axes", extent: Floats) -> None:
    """Reduce the height of a figure by the empty space above and below the picture and its texts."""
    figure: Any = axes.figure
    figure.draw_without_rendering()
    box = axes.get_window_extent()
    assigned_height = axes.get_position(original=True).height
    text_boxes = [text.get_window_extent() for text in axes.texts if text.get_visible()]
    y = axes.transData.transform(extent)[:, 1]
    below = max(min([y.min(), *(x.y0 for x in text_boxes)]) - box.y0 - PICTURE_MARGIN, 0.0)
    above = max(box.y1 - max([y.max(), *(x.y1 for x in text_boxes)]) - PICTURE_MARGIN, 0.0)
    low, high = axes.get_ylim()
    scale = (high - low) / box.height
    axes.set_ylim(low + below * scale, high - above * scale)
    spare = assigned_height * figure.bbox.height - box.height
    figure.set_figheight(figure.get_figheight() - (below + above + spare) / figure.dpi)


def _finish(axes: "Axes", extent: Floats, above: float) -> None:
    """Remove the frame and set the limits of the axes, with the height `above` (m) for labels on top."""
    (x0, y0) = extent.min(axis=0)
    (x1, y1) = extent.max(axis=0)
    margin = 0.02 * (x1 - x0)
    axes.set(xlim=(x0 - margin, x1 + margin), ylim=(y0 - 3.0 * margin, y1 + 3.0 * margin + above))
    axes.set_aspect(
        "equal", adjustable="box", anchor="N"
    )  # unused height of the figure stays at the bottom
    axes.set_axis_off()
    add_legend(axes, 6)
