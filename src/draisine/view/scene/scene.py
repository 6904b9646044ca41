"""What moves, ready to be looked at: the poses of all bodies at the times wanted, the parts of the
machine, its tracks, and where a camera that follows looks.
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
from draisine.results.events import events_of, wheels_of
from draisine.scenario.terrain import terrain_of
from draisine.terrain import Terrain
from draisine.view.scene.ground import Patch, patches, pose
from draisine.view.scene.paths import ContactPath, fine_path
from draisine.view.scene.shapes import Outline, SolidBall, Stone, balls, parts, stones
from draisine.view.style import COLOURS, angles_to_draw, displayed_series, headline

if TYPE_CHECKING:
    from xarray import Dataset

LIFTED = 2e-3
"""A contact farther than this from the ground, m, leaves no track."""

FROM_ASIDE, FROM_ABOVE = 16.0, 48.0
"""How high the camera stands, in degrees; the second for machines that live in the plane."""

AROUND = 10
"""How many lines of the ground are seen on each side of the machine."""

_CALM = 0.8
"""The camera follows the mean of so many seconds."""


@dataclass(frozen=True, eq=False)
class Reading:
    """A quantity to be read beside the machine."""

    name: str
    unit: str
    values: Floats


@dataclass(frozen=True, eq=False)
class Scene:
    """A machine in motion, time first: R and p take the drawing to the world, one per body.

    `tracks` are the ways of the contacts on the ground, not a number where they fly, and `paths` the same
    with all samples of the run, and more where they turn fast; `focus` is
    where the camera looks, `size` the radius of the machine about it; `ground` is the height of the
    plane that is drawn, `up` points against gravity, `heading` is where the machine headed first and
    `elevation` from how high it is best seen, in rad. `patches` are the ground where it is known,
    with lines `cell` apart, and `carriers` the poses (times, ...) of those that move; where it is
    not and the tracks climb, `posts` (posts, 2, 3) stand below them. `pushes` are the forces of the
    ground on the contacts that have a track, N; `events` what happened, and when.
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
        """Return the points of every part at the k-th time, in the world."""
        return [self.place(part.body, part.points, k) for part in self.parts]

    def place(self, body: str, points: Floats, k: int) -> Floats:
        """Return points of a body (as they stand in the drawing) at the k-th time."""
        b = self.bodies.index(body)
        return self.p[k, b] + points @ self.R[k, b].T

    def silhouette(self, stone: Stone, eye: Floats, k: int) -> Floats:
        """Return the line around a stone at the k-th time, as it is seen from a place."""
        b = self.bodies.index(stone.body)
        towards = self.R[k, b].T @ (eye - self.place(stone.body, stone.centre, k))
        return self.place(stone.body, stone.silhouette(towards), k)

    def ground_at(self, k: int) -> list[Patch]:
        """Return the patches of the ground where they are at the k-th time."""
        return [
            patch
            if patch.carrier is None
            else patch.moved(*(x[k] for x in self.carriers[patch.carrier]))
            for patch in self.patches
        ]

    def colour(self, part: Outline | SolidBall | Stone) -> str:
        """Return the colour of a part."""
        return colour_of(part, self.bodies)


def colour_of(part: Outline | SolidBall | Stone, bodies: Sequence[str]) -> str:
    """Return the colour of a part: wheels are dark, every other body has its own."""
    kind = part.kind if isinstance(part, Outline) else "ball"
    fixed = {"rim": "#222222", "section": "#222222", "spokes": "#8a8a8a", "valve": COLOURS[1]}
    return fixed.get(kind) or COLOURS[bodies.index(part.body) % 6]


def _poses(bodies: Bodies, time: Floats) -> tuple[Floats, Floats]:
    """Return rotations and positions of all bodies, (times, bodies, ...); raise where those of a stored run
    are not numbers.
    """
    motions = [bodies.motions[body.name] for body in bodies.model.bodies]
    R, p = np.stack([at.R for at in motions], axis=1), np.stack([at.p for at in motions], axis=1)
    bad = ~np.isfinite(p + R.sum(axis=(2, 3))[..., None]).all(axis=(1, 2))
    if bad.any():
        raise DataError(
            f"the poses at {time[np.argmax(bad)]:g} s are not finite: the result is damaged."
        )
    return R, p


def scene(
    data: "Dataset", choose: Callable[[Floats], Floats], terrain: Terrain | None = None
) -> Scene:
    """Return the motion of a stored run; `choose` takes its times to those that are wanted, each of
    which is answered by the nearest sample. `terrain` is the ground, if the dataset does not tell.
    """
    taken, model = _pick(data, choose), restore_model(data)
    time, bodies = taken["time"].values, Bodies(taken, model)
    names = tuple(body.name for body in model.bodies)
    R, p = _poses(bodies, time)
    drawn, marks = parts(model), balls(model)
    outline = _outline(names, R, p, drawn, marks)
    low, high = outline.min(axis=1), outline.max(axis=1)
    focus = _calm((low + high) / 2.0, float(time[-1] - time[0]) / max(len(time) - 1, 1))
    size = float(np.median(np.linalg.norm(high - low, axis=1))) / 2.0 or 1.0
    tracks = _tracks(taken, model)
    ground = _lowest(tracks) if model.contacts else float(low[:, 2].min())
    terrain = terrain or terrain_of(data)
    seen = Scene(
        title=headline(data),
        time=time,
        bodies=names,
        R=R,
        p=p,
        parts=drawn,
        balls=marks,
        stones=stones(model),
        tracks=tracks,
        paths=_paths(data, model, size),
        focus=focus,
        size=size,
        ground=ground,
        up=up_of(model),
        heading=float(data["yaw"].values[0]) if "yaw" in data else 0.0,
        elevation=float(np.radians(FROM_ABOVE if _flat(low, high) else FROM_ASIDE)),
        cell=cell_of(size),
        readings=_readings(data, bodies),
        pushes={name: _of_contact(taken, "contact_force_world", name) for name in tracks},
        events=_marks(data),
    )
    if terrain is None:
        return replace(seen, posts=_posts(tracks, ground, size / 5.0))
    return _on_terrain(seen, terrain, (low + high) / 2.0)


def _marks(data: "Dataset") -> list[tuple[float, str]]:
    """Return when events are, and what they are."""
    told = [e for e in events_of(data) if e["kind"] != "input"]
    return [(float(e["time"]), f"{e['kind']} {wheels_of(e)}".rstrip()) for e in told]


def _on_terrain(seen: Scene, terrain: Terrain, middle: Floats) -> Scene:
    """Return a scene with the faces of a ground around the machine, and how the ground moves."""
    time, cell = seen.time, seen.cell
    poses = [[pose(motion, float(t)) for t in time] for motion in terrain.motions]
    return replace(
        seen,
        patches=patches(terrain, time, middle, AROUND * cell, cell),
        carriers=[(np.array([R for R, _ in at]), np.array([p for _, p in at])) for at in poses],
    )


def _pick(data: "Dataset", choose: Callable[[Floats], Floats]) -> "Dataset":
    """Return the samples of a run that are nearest to the chosen times."""
    if "time" not in data.dims or "orientation" not in data:
        raise ParameterError("this result is no run; only motions can be animated.")
    known = data["time"].values
    if not np.isfinite(known).all():
        raise DataError("times of the result are not finite: it is damaged.")
    if known[-1] <= known[0]:
        raise ParameterError("this result is one instant; there is no motion to animate.")
    samples = _nearest(known, choose(known))
    return data if np.array_equal(samples, np.arange(len(known))) else data.isel(time=samples)


def cell_of(size: float) -> float:
    """Return the spacing of lines on the ground for a machine of a size: 1, 2 or 5 of some decimal
    place.

    >>> [cell_of(size) for size in (0.03, 0.95, 4.0)]
    [0.02, 1.0, 2.0]
    """
    place = 10.0 ** math.floor(math.log10(1.2 * size))
    return float(max(m * place for m in (1, 2, 5) if m * place <= 1.2 * size * (1 + 1e-9)))


def _nearest(known: Floats, wanted: Floats) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    """Return the samples nearest to times; where two stand at one time, the later."""
    right = np.clip(np.searchsorted(known, wanted, side="right"), 1, len(known) - 1)
    return np.where(wanted - known[right - 1] <= known[right] - wanted, right - 1, right)


def _outline(
    names: tuple[str, ...], R: Floats, p: Floats, drawn: list[Outline], marks: list[SolidBall]
) -> Floats:
    """Return all that is drawn of a machine as points, (times, points, 3)."""
    clouds = [(part.body, part.points) for part in drawn]
    clouds += [(ball.body, ball.centre[None, :]) for ball in marks]
    if not clouds:
        clouds = [(name, np.zeros((1, 3))) for name in names]
    placed = []
    for body, points in clouds:
        b = names.index(body)
        placed.append(p[:, b, None, :] + np.einsum("tij,nj->tni", R[:, b], points))
    return np.concatenate(placed, axis=1)


def _flat(low: Floats, high: Floats) -> bool:
    """Return whether a machine is much wider than high."""
    extent = np.median(high - low, axis=0)
    return bool(extent[2] < 0.1 * np.linalg.norm(extent))


def _calm(way: Floats, step: float) -> Floats:
    """Return a way without its haste: the mean over a while around each time."""
    half = min(int(_CALM / 2.0 / max(step, 1e-9)), (len(way) - 1) // 2)
    if half < 1:
        return way
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(way, axis=0)])
    k = np.arange(len(way))
    reach = np.minimum(half, np.minimum(k, len(way) - 1 - k))
    return (sums[k + reach + 1] - sums[k - reach]) / (2 * reach + 1)[:, None]


def _tracks(data: "Dataset", model: Model) -> dict[str, Floats]:
    """Return the ways of the contacts on the ground, with gaps where they fly."""
    found = {}
    for contact in model.contacts:
        if contact.anchored:
            continue
        found[contact.name] = _of_contact(data, "contact_point", contact.name).copy()
        gap = _of_contact(data, "gap", contact.name)
        if contact.lifts:
            found[contact.name][np.abs(gap) > LIFTED] = np.nan
    return found


def _paths(data: "Dataset", model: Model, size: float) -> dict[str, ContactPath]:
    """Return the same ways with all samples of a run, smooth where they turn fast."""
    time = data["time"].values
    return {name: fine_path(time, way, size) for name, way in _tracks(data, model).items()}


def _of_contact(data: "Dataset", name: str, contact: str) -> Floats:
    """Return what a variable tells of a contact. (To select by xarray would import Dask where that is
    installed, which takes longer than to draw.)
    """
    try:
        return np.asarray(data[name].values[:, data["contact"].values.tolist().index(contact)])
    except KeyError as error:
        text = str(error.args[0]).partition(".")[0]
        raise DataError(f"the result is not whole: {text}.") from error
    except ValueError:
        raise DataError(f"the result is not whole: it has no contact {contact!r}.") from None


def _lowest(tracks: dict[str, Floats]) -> float:
    """Return the height of the lowest ground that was touched; zero where the ground is level."""
    heights = np.concatenate([np.zeros(1), *(way[:, 2] for way in tracks.values())])
    lowest = float(np.nanmin(heights))
    return lowest if lowest < -LIFTED else 0.0


def _posts(tracks: dict[str, Floats], ground: float, spacing: float) -> Floats:
    """Return lines from the ground up to tracks that run above it, evenly spaced along them."""
    found = [np.zeros((0, 2, 3))]
    for way in tracks.values():
        tops = way[np.isfinite(way).all(axis=1)]
        along = np.cumsum(np.linalg.norm(np.diff(tops, axis=0, prepend=tops[:1]), axis=1))
        tops = tops[np.unique(along // spacing, return_index=True)[1]]
        tops = tops[tops[:, 2] > ground + LIFTED]
        found.append(np.stack([tops, tops * [1.0, 1.0, 0.0] + [0.0, 0.0, ground]], axis=1))
    return np.concatenate(found)


def up_of(model: Model) -> Floats:
    """Return the direction against gravity: on a slope the ground is tilted, not the machine."""
    pull = np.asarray(model.gravity, float)
    strength = np.linalg.norm(pull)
    if strength == 0.0 or abs(pull[2]) < 0.3 * strength:
        return np.array([0.0, 0.0, 1.0])
    return -pull / strength


def level(up: Floats) -> Floats:
    """Return the rotation that takes a direction to the world's vertical, by the shortest way."""
    x, y, z = up
    across = np.array([[0.0, 0.0, -x], [0.0, 0.0, -y], [x, y, 0.0]])
    return np.eye(3) + across + across @ across / (1.0 + z)


def _readings(data: "Dataset", bodies: Bodies) -> list[Reading]:
    """Return what is worth reading: angles, and speeds along the way or of a spin."""
    model, units = bodies.model, ("m/s", "rad/s")
    fast = [o.name for o in model.outputs if o.unit in units and o.name != "rear_wheel_speed"]
    found = []
    for name in [*angles_to_draw(data, model)[:3], *fast[:2]]:
        values, unit = displayed_series(name, bodies)
        found.append(Reading(name, unit, values))
    return found
