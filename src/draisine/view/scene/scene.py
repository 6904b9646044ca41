"""Convert a stored run to a scene for films and pages.

A scene contains the poses of all bodies at selected times, their shapes, the tracks of the contact points,
the ground, and the focus of a camera that follows the vehicle.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError, ParameterError
from draisine.model import Model
from draisine.results.bodies import Bodies, restore_model
from draisine.results.events import format_wheels, read_drawn_events
from draisine.scenario.terrain import restore_terrain
from draisine.terrain import Terrain
from draisine.view.scene.ground import Patch, ground_patches, ground_pose
from draisine.view.scene.paths import ContactPath, fine_path
from draisine.view.scene.shapes import (
    Outline,
    SolidBall,
    Stone,
    machine_outlines,
    mass_centre_balls,
    rolling_solids,
)
from draisine.view.style import COLOURS, angles_to_draw, displayed_series, headline

if TYPE_CHECKING:
    from xarray import Dataset

MAX_TRACK_GAP = 2e-3
"""Largest gap (m) of a contact whose point belongs to the track on the ground. It is larger than the drift of
closed contacts and smaller than visible flights.
"""

SIDE_ELEVATION = 16.0
"""Elevation of the camera (deg) for most vehicles; a low camera shows jumps and lean."""

TOP_ELEVATION = 48.0
"""Elevation of the camera (deg) for planar vehicles; a high camera shows their horizontal motion."""

GROUND_LINES = 10
"""Number of grid lines that are drawn on the ground on each side of the vehicle."""

FOCUS_AVERAGING_TIME = 0.8
"""Time (s) over which the position of the vehicle is averaged for the focus of the camera, so that the
picture does not shake with the vehicle.
"""


@dataclass(frozen=True, eq=False)
class Reading:
    """A time series that is printed beside the vehicle: name, displayed unit and values (times,)."""

    name: str
    unit: str
    values: Floats


@dataclass(frozen=True, eq=False)
class Scene:
    """A vehicle in motion; the first axis of all time series is time.

    Attributes
    ----------
    title
        Title of the run, including its first validity fault.
    time
        Times of the samples, s.
    bodies
        Names of the bodies.
    R, p
        Rotations (times, bodies, 3, 3) and displacements (times, bodies, 3), m, of the bodies from the zero
        configuration to the world.
    parts, balls, stones
        Polylines, balls at mass centres, and solids (balls, ellipsoids) on the bodies.
    tracks
        Contact points (times, 3) by contact, NaN in flight.
    paths
        Contact paths with all samples of the run, refined where their direction changes fast.
    focus
        Points (times, 3) in the centre of the camera picture, m.
    size
        Radius of the vehicle about its centre, m.
    ground
        Height of the level ground, m.
    up
        Unit vector against gravity.
    heading, elevation
        Initial heading of the vehicle and elevation of the camera, rad.
    cell
        Spacing of grid lines on the ground, m.
    readings
        Quantities printed beside the vehicle.
    pushes
        Contact forces (times, 3) of the ground by contact, N.
    events
        Times (s) and descriptions of events.
    patches, carriers
        Faces of the terrain, and the poses (times, ...) of moving ground.
    posts
        Segments (posts, 2, 3) from level ground to elevated tracks, if the terrain is unknown.
    """

    title: str
    time: Floats
    bodies: tuple[str, ...]
    R: Floats
    p: Floats
    parts: list[Outline]
    balls: list[SolidBall]
    stones: list[Stone]
    tracks: dict[str, Floats]
    paths: dict[str, ContactPath]
    focus: Floats
    size: float
    ground: float
    up: Floats
    heading: float
    elevation: float
    cell: float
    readings: list[Reading]
    pushes: dict[str, Floats]
    events: list[tuple[float, str]]
    patches: list[Patch] = field(default_factory=list)
    carriers: list[tuple[Floats, Floats]] = field(default_factory=list)
    posts: Floats = field(default_factory=lambda: np.zeros((0, 2, 3)))

    def lines(self, k: int) -> list[Floats]:
        """Return the points (n, 3) of every polyline of the vehicle at sample k, in world axes, m."""
        return [self.place(outline.body, outline.points, k) for outline in self.parts]

    def place(self, body: str, points: Floats, k: int) -> Floats:
        """Transform points (..., 3) in m of a body from the zero configuration to world axes at sample k."""
        b = self.bodies.index(body)
        return self.p[k, b] + points @ self.R[k, b].T

    def silhouette(self, stone: Stone, eye: Floats, k: int) -> Floats:
        """Return the silhouette (n, 3) of a solid at sample k, seen from `eye` (3,), in world axes (m)."""
        b = self.bodies.index(stone.body)
        towards = self.R[k, b].T @ (eye - self.place(stone.body, stone.centre, k))
        return self.place(stone.body, stone.silhouette(towards), k)

    def ground_at(self, k: int) -> list[Patch]:
        """Return the ground patches at sample k in world axes."""
        return [
            patch
            if patch.carrier is None
            else patch.moved(*(x[k] for x in self.carriers[patch.carrier]))
            for patch in self.patches
        ]

    def colour(self, shape: Outline | SolidBall | Stone) -> str:
        """Return the colour of a shape of the vehicle."""
        return shape_colour(shape, self.bodies)


def shape_colour(shape: Outline | SolidBall | Stone, bodies: Sequence[str]) -> str:
    """Return the colour of a shape: wheels are dark, every other body has its own colour."""
    kind = shape.kind if isinstance(shape, Outline) else "ball"
    wheel_colours = {
        "rim": "#222222",
        "section": "#222222",
        "spokes": "#8a8a8a",
        "valve": COLOURS[1],
    }
    return wheel_colours.get(kind) or COLOURS[bodies.index(shape.body) % 6]


def _poses(bodies: Bodies, time: Floats) -> tuple[Floats, Floats]:
    """Return the rotations (times, bodies, 3, 3) and the displacements (times, bodies, 3) in m of all bodies.

    `time` are the sample times (s). `DataError` is raised if a stored pose is not finite.
    """
    motions = [bodies.motions[body.name] for body in bodies.model.bodies]
    R = np.stack([motion.R for motion in motions], axis=1)
    p = np.stack([motion.p for motion in motions], axis=1)
    damaged = ~np.isfinite(p + R.sum(axis=(2, 3))[..., None]).all(axis=(1, 2))
    if damaged.any():
        raise DataError(
            f"The pose at {time[np.argmax(damaged)]:g} s is not finite: the result is damaged."
        )
    return R, p


def build_scene(
    data: "Dataset", choose: Callable[[Floats], Floats], terrain: Terrain | None = None
) -> Scene:
    """Build the scene of a stored run.

    Parameters
    ----------
    data
        Dataset of a run.
    choose
        Function from the sample times of the run (s) to the requested times (s) of the scene. The scene
        contains the sample nearest to each requested time.
    terrain
        Ground if the dataset does not contain one.

    Returns
    -------
    Scene
        The scene at the selected samples.
    """
    selected = _pick(data, choose)
    model = restore_model(data)
    time = selected["time"].values
    bodies = Bodies(selected, model)
    names = tuple(body.name for body in model.bodies)
    R, p = _poses(bodies, time)
    outlines = machine_outlines(model)
    mass_centres = mass_centre_balls(model)
    cloud = _outline(names, R, p, outlines, mass_centres)
    low = cloud.min(axis=1)
    high = cloud.max(axis=1)
    step = float(time[-1] - time[0]) / max(len(time) - 1, 1)
    focus = _average_focus((low + high) / 2.0, step)
    size = float(np.median(np.linalg.norm(high - low, axis=1))) / 2.0 or 1.0
    tracks = _tracks(selected, model)
    ground = _lowest(tracks) if model.contacts else float(low[:, 2].min())
    terrain = terrain or restore_terrain(data)
    result = Scene(
        title=headline(data),
        time=time,
        bodies=names,
        R=R,
        p=p,
        parts=outlines,
        balls=mass_centres,
        stones=rolling_solids(model),
        tracks=tracks,
        paths=_paths(data, model, size),
        focus=focus,
        size=size,
        ground=ground,
        up=up_direction(model),
        heading=float(data["yaw"].values[0]) if "yaw" in data else 0.0,
        elevation=float(np.radians(TOP_ELEVATION if _flat(low, high) else SIDE_ELEVATION)),
        cell=grid_spacing(size),
        readings=_readings(data, bodies),
        pushes={name: _of_contact(selected, "contact_force_world", name) for name in tracks},
        events=_marks(data),
    )
    if terrain is None:
        return replace(result, posts=_posts(tracks, ground, size / 5.0))
    return _on_terrain(result, terrain, (low + high) / 2.0)


def _marks(data: "Dataset") -> list[tuple[float, str]]:
    """Return the times (s) and the descriptions of the events of a run, except input changes."""
    events = [e for e in read_drawn_events(data) if e["kind"] != "input"]
    return [(float(e["time"]), f"{e['kind']} {format_wheels(e)}".rstrip()) for e in events]


def _on_terrain(motion: Scene, terrain: Terrain, middle: Floats) -> Scene:
    """Return a copy of a scene with the terrain patches around the path, and with the poses of moving ground.

    `middle` (times, 3) are the positions of the vehicle's centre, m.
    """
    time = motion.time
    cell = motion.cell
    poses = [[ground_pose(carrier, float(t)) for t in time] for carrier in terrain.motions]
    return replace(
        motion,
        patches=ground_patches(terrain, time, middle, GROUND_LINES * cell, cell),
        carriers=[
            (np.array([R for R, _ in by_time]), np.array([p for _, p in by_time]))
            for by_time in poses
        ],
    )


def _pick(data: "Dataset", choose: Callable[[Floats], Floats]) -> "Dataset":
    """Return a run restricted to the samples nearest to the times that the function `choose` requests."""
    if "time" not in data.dims or "orientation" not in data:
        raise ParameterError("This result is not a run. Only runs can be animated.")
    sampled = data["time"].values
    if not np.isfinite(sampled).all():
        raise DataError("Sample times are not finite: the result is damaged.")
    if sampled[-1] <= sampled[0]:
        raise ParameterError(
            "This result is a single instant and cannot be animated. Draw it with `draisine plot`."
        )
    samples = _nearest(sampled, choose(sampled))
    return data if np.array_equal(samples, np.arange(len(sampled))) else data.isel(time=samples)


def grid_spacing(size: float) -> float:
    """Return the spacing (m) of grid lines on the ground: 1, 2 or 5 times a power of ten.

    It is the largest such number up to 1.2 times the `size` (m) of the vehicle.

    >>> [grid_spacing(size) for size in (0.03, 0.95, 4.0)]
    [0.02, 1.0, 2.0]
    """
    place = 10.0 ** math.floor(math.log10(1.2 * size))
    return float(max(m * place for m in (1, 2, 5) if m * place <= 1.2 * size * (1 + 1e-9)))


def _nearest(sampled: Floats, times: Floats) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    """Return the indices of the samples nearest to the requested times (s).

    If two samples have the same time, as at an event, the later one is returned.
    """
    right = np.clip(np.searchsorted(sampled, times, side="right"), 1, len(sampled) - 1)
    return np.where(times - sampled[right - 1] <= sampled[right] - times, right - 1, right)


def _outline(
    names: tuple[str, ...],
    R: Floats,
    p: Floats,
    outlines: list[Outline],
    mass_centres: list[SolidBall],
) -> Floats:
    """Return all points of the shapes of a vehicle over time, (times, points, 3), m."""
    clouds = [(outline.body, outline.points) for outline in outlines]
    clouds += [(ball.body, ball.centre[None, :]) for ball in mass_centres]
    if not clouds:
        clouds = [(name, np.zeros((1, 3))) for name in names]
    placed = []
    for body, points in clouds:
        b = names.index(body)
        placed.append(p[:, b, None, :] + np.einsum("tij,nj->tni", R[:, b], points))
    return np.concatenate(placed, axis=1)


def _flat(low: Floats, high: Floats) -> bool:
    """Return whether a vehicle is much wider than high; `low`, `high` (times, 3) are its bounding boxes."""
    extent = np.median(high - low, axis=0)
    return bool(extent[2] < 0.1 * np.linalg.norm(extent))


def _average_focus(path: Floats, step: float) -> Floats:
    """Return the moving average of a path (times, 3) that is sampled every `step` seconds.

    The averaging window shrinks at both ends.
    """
    half = min(int(FOCUS_AVERAGING_TIME / 2.0 / max(step, 1e-9)), (len(path) - 1) // 2)
    if half < 1:
        return path
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(path, axis=0)])
    k = np.arange(len(path))
    reach = np.minimum(half, np.minimum(k, len(path) - 1 - k))
    return (sums[k + reach + 1] - sums[k - reach]) / (2 * reach + 1)[:, None]


def _tracks(data: "Dataset", model: Model) -> dict[str, Floats]:
    """Return the contact points (times, 3) on the ground by contact; NaN in flight."""
    tracks = {}
    for contact in model.contacts:
        if contact.anchored:
            continue
        tracks[contact.name] = _of_contact(data, "contact_point", contact.name).copy()
        gap = _of_contact(data, "gap", contact.name)
        if contact.lifts:
            tracks[contact.name][np.abs(gap) > MAX_TRACK_GAP] = np.nan
    return tracks


def _paths(data: "Dataset", model: Model, size: float) -> dict[str, ContactPath]:
    """Return the path of each contact point through all samples of a run, refined by splines, by contact."""
    time = data["time"].values
    return {name: fine_path(time, track, size) for name, track in _tracks(data, model).items()}


def _of_contact(data: "Dataset", name: str, contact: str) -> Floats:
    """Return the values (times, ...) of the dataset variable `name` for the contact `contact`."""
    # Label selection by xarray imports Dask if it is installed, which takes longer than drawing.
    try:
        return np.asarray(data[name].values[:, data["contact"].values.tolist().index(contact)])
    except KeyError as error:
        text = str(error.args[0]).partition(".")[0]
        raise DataError(f"The result is incomplete: {text}.") from error
    except ValueError:
        raise DataError(f"The result is incomplete: it has no contact {contact!r}.") from None


def _lowest(tracks: dict[str, Floats]) -> float:
    """Return the height (m) of the lowest contact point on all tracks, for drawing level ground.

    Heights above `-MAX_TRACK_GAP` count as zero.
    """
    heights = np.concatenate([np.zeros(1), *(track[:, 2] for track in tracks.values())])
    lowest = float(np.nanmin(heights))
    return lowest if lowest < -MAX_TRACK_GAP else 0.0


def _posts(tracks: dict[str, Floats], ground: float, spacing: float) -> Floats:
    """Return vertical segments (posts, 2, 3) from the ground to elevated tracks, evenly spaced along them."""
    posts = [np.zeros((0, 2, 3))]
    for track in tracks.values():
        tops = track[np.isfinite(track).all(axis=1)]
        along = np.cumsum(np.linalg.norm(np.diff(tops, axis=0, prepend=tops[:1]), axis=1))
        tops = tops[np.unique(along // spacing, return_index=True)[1]]
        tops = tops[tops[:, 2] > ground + MAX_TRACK_GAP]
        posts.append(np.stack([tops, tops * [1.0, 1.0, 0.0] + [0.0, 0.0, ground]], axis=1))
    return np.concatenate(posts)


def up_direction(model: Model) -> Floats:
    """Return the unit vector opposite to gravity, so that a slope is drawn inclined."""
    gravity = np.asarray(model.gravity, float)
    strength = np.linalg.norm(gravity)
    # Without gravity, or if gravity is parallel to the ground plane (a wall), the z axis of the
    # world is up.
    if strength == 0.0 or abs(gravity[2]) < 0.3 * strength:
        return np.array([0.0, 0.0, 1.0])
    return -gravity / strength


def rotation_to_vertical(up: Floats) -> Floats:
    """Return the rotation (3, 3) by the smallest angle that maps the unit vector `up` to the z axis."""
    x, y, z = up
    generator = np.array([[0.0, 0.0, -x], [0.0, 0.0, -y], [x, y, 0.0]])
    return np.eye(3) + generator + generator @ generator / (1.0 + z)


def _readings(data: "Dataset", bodies: Bodies) -> list[Reading]:
    """Return the time series that are printed beside the vehicle: up to three angles and two speeds."""
    model = bodies.model
    units = ("m/s", "rad/s")
    speeds = [o.name for o in model.outputs if o.unit in units and o.name != "rear_wheel_speed"]
    readings = []
    for name in [*angles_to_draw(data, model)[:3], *speeds[:2]]:
        values, unit = displayed_series(name, bodies)
        readings.append(Reading(name, unit, values))
    return readings
