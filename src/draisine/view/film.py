"""Motions to look at: a film of a stored run (.gif, .mp4), a page that replays it (.html), or a scene
for other programs (.glb).
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.files import atomic_write, write_text
from draisine.errors import DataError, ParameterError
from draisine.results.store import check_target, dataset_of
from draisine.simulation.options import Progress, report_progress
from draisine.terrain import Terrain
from draisine.view.scene.camera import Camera
from draisine.view.scene.ground import Patch, heights, hidden_points
from draisine.view.scene.scene import Scene, scene
from draisine.view.style import COLOURS, FILLED, WIDTHS, words

if TYPE_CHECKING:
    from PIL.Image import Image
    from xarray import Dataset

    from draisine.view.notebook import InlinePage

FILMS = (".gif", ".mp4", ".html", ".glb")
"""What a motion can be written as."""

FPS = 20.0
"""Frames in a second of a film, if not told otherwise."""

LONGEST = 30.0
"""A film lasts no longer than this, s, unless a speed is asked for: longer runs go faster."""

MOST = 2000
"""A film has no more frames than this."""

PIXELS = (640, 360)

SHADOW = "#00000026"
FEW = 40
"""So many patches of the ground may hide a shadow."""

_DPI = 100
_SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def check_film(path: Path) -> None:
    """Raise where no film could be written, before any work is done."""
    check_target(path, FILMS)
    if path.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise DataError(
            f"{path}: needs the program ffmpeg, which is not installed here. Install it, or write "
            "to a file that ends with .gif or .html."
        )


def animate(
    what: Any,
    path: str | Path | None = None,
    *,
    fps: float | None = None,
    speed: float | None = None,
    terrain: Terrain | None = None,
    progress: Progress = None,
) -> "InlinePage | None":
    """Write a run, a result, a dataset or the file of one as a film (.gif, .mp4), as a page that
    replays it (.html) or as a glTF scene (.glb). Without a path, return the page: a notebook shows it.

    A film has `fps` frames in a second, 20 by default; pages and scenes have none of their own.
    `speed` is how many seconds of the run pass in one: 1 shows it as it is, 0.2 in slow motion. By
    default it is 1, and more for runs longer than half a minute. A page can be slowed and sped up
    while it plays. `terrain` is the ground to be drawn; runs of scenarios know theirs. `progress` is
    told which fraction of the frames is drawn; True shows a bar. Nothing half-written remains if that fails.

    >>> import draisine, tempfile
    >>> disc = draisine.compile("rolling_disc")
    >>> run = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draisine.animate(run, f"{folder}/disc.html")
    """
    data, path = dataset_of(what), None if path is None else Path(path)
    if path is not None:
        check_film(path)
    for name, value in (("fps", fps), ("speed", speed)):
        number = isinstance(value, int | float | np.number)
        if value is not None and not (number and 0 < value < np.inf):
            raise ParameterError(f"{name} = {value} must be positive.")
    films = path is not None and path.suffix not in (".html", ".glb")
    if fps is not None and not films:
        raise ParameterError(f"fps = {fps:g}: a film has frames, .gif or .mp4; leave it out.")
    if path is not None and path.suffix == ".glb":
        from draisine.view.gltf import write_gltf

        with atomic_write(path) as new:
            new.write_bytes(write_gltf(data, speed or 1.0, terrain))
        return None
    if path is not None and path.suffix != ".html":
        with report_progress(progress, f"drawing {path}") as tell:
            _film(data, path, FPS if fps is None else fps, speed, terrain, tell)
        return None
    from draisine.view.notebook import InlinePage
    from draisine.view.replay import page

    text = page(data, speed or 1.0, terrain)
    if path is None:
        return InlinePage(text)
    write_text(text, path)
    return None


def frame_times(known: Floats, fps: float, speed: float | None) -> tuple[Floats, float]:
    """Return the times of a film's frames, and how fast it shows the run.

    >>> times, speed = frame_times(np.array([0.0, 90.0]), 20.0, None)
    >>> len(times), speed
    (361, 5.0)
    """
    length = float(known[-1] - known[0])
    if speed is None:
        speed = next((s for s in _SPEEDS if length / s <= LONGEST), length / LONGEST)
    count = int(length / speed * fps + 1e-9) + 1
    if count > MOST:
        raise ParameterError(
            f"{length:g} s at {fps:g} frames a second and {speed:g} times the speed are {count} "
            f"frames, more than {MOST}; ask for a higher speed or fewer frames."
        )
    return known[0] + speed / fps * np.arange(count), speed


def _film(
    data: "Dataset",
    path: Path,
    fps: float,
    speed: float | None,
    terrain: Terrain | None,
    progress: Callable[[float], None] | None,
) -> None:
    shown = 1.0

    def choose(known: Floats) -> Floats:
        nonlocal shown
        times, shown = frame_times(known, fps, speed)
        return times

    stage = FilmStage(scene(data, choose, terrain), shown, progress)
    try:
        with atomic_write(path) as new:
            (_gif if path.suffix == ".gif" else _mp4)(stage, new, fps)
    except CalledProcessError as error:
        raise DataError(f"{path}: ffmpeg could not write it ({error}).") from error


def _gif(stage: "FilmStage", path: Path, fps: float) -> None:
    """Write a film of few colours, the same for all frames, so that it is small and does not
    flicker.
    """
    from PIL.Image import Dither, Quantize

    count = len(stage.motion.time)
    colours = stage.picture(count // 2).quantize(128, method=Quantize.MAXCOVERAGE)
    frames = [stage.picture(k).quantize(palette=colours, dither=Dither.NONE) for k in range(count)]
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=round(1000.0 / fps), loop=0
    )


def _mp4(stage: "FilmStage", path: Path, fps: float) -> None:
    from matplotlib.animation import FFMpegWriter

    rate: Any = fps  # the stubs want a whole number, ffmpeg does not
    film = FFMpegWriter(fps=rate, bitrate=2400)
    with film.saving(stage.figure, str(path), dpi=_DPI):
        for k in range(len(stage.motion.time)):
            stage.show(k)
            film.grab_frame(facecolor="white")
            stage.tell(k)


class FilmStage:
    """A figure on which one frame after the other is shown."""

    def __init__(
        self, motion: Scene, speed: float = 1.0, progress: Callable[[float], None] | None = None
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.figure import Figure

        self.motion, self.progress = motion, progress
        self.figure: Any = Figure(figsize=(PIXELS[0] / _DPI, PIXELS[1] / _DPI), dpi=_DPI)
        FigureCanvasAgg(self.figure)
        axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        wide = PIXELS[0] / PIXELS[1]
        axes.set(xlim=(-wide, wide), ylim=(-1.0, 1.0))
        axes.set_axis_off()
        self.faces: Any = axes.add_collection(PolyCollection([], zorder=-1.0))
        self.layers = {
            name: axes.add_collection(LineCollection([], capstyle="round", zorder=z))
            for z, name in enumerate(("ground", "shadow", "tracks", "machine"))
        }
        self.stones: Any = axes.add_collection(PolyCollection([], zorder=2.5, alpha=FILLED))
        self.marks: Any = axes.scatter([], [], zorder=5, edgecolors="white", linewidths=0.8)
        small: dict[str, Any] = {"fontsize": 9, "va": "top", "linespacing": 1.5}
        axes.text(-0.96 * wide, 0.94, motion.title, fontsize=10, va="top", weight="bold")
        self.text = axes.text(-0.96 * wide, 0.81, "", **small)
        pace = "" if speed == 1.0 else f"{speed:g} times as fast"
        axes.text(0.96 * wide, 0.94, pace, ha="right", color="#666666", **small)
        self._legend(axes, wide)

    def _legend(self, axes: Any, wide: float) -> None:
        for k, name in enumerate(self.motion.tracks):
            low = -0.93 + 0.1 * (len(self.motion.tracks) - 1 - k)
            axes.plot([-0.96 * wide, -0.89 * wide], [low, low], color=COLOURS[k % 7], lw=2)
            axes.text(-0.87 * wide, low, f"{words(name)} contact", fontsize=8, va="center")
        squares = f"squares of {self.motion.cell:g} m"
        axes.text(0.96 * wide, -0.93, squares, fontsize=8, va="center", ha="right", color="#666666")

    def show(self, k: int) -> None:
        """Draw the k-th frame."""
        motion = self.motion
        camera, ground = Camera.following(motion, k), motion.ground_at(k)
        self._ground(camera, ground)
        self._tracks(camera, k)
        self._machine(camera, k, ground)
        told = [f"{motion.time[k]:.2f} s"]
        for reading in motion.readings:
            value = f"{_settled(float(reading.values[k])):.1f}".replace("-", "\N{MINUS SIGN}")
            told.append(f"{words(reading.name)} {value} {reading.unit}")
        self.text.set_text("\n".join(told))

    def tell(self, k: int) -> None:
        """Tell that the k-th frame is drawn."""
        if self.progress is not None:
            self.progress((k + 1) / len(self.motion.time))

    def picture(self, k: int) -> "Image":
        """Return the k-th frame as a picture."""
        from PIL.Image import fromarray

        self.show(k)
        self.figure.canvas.draw()
        self.tell(k)
        return fromarray(np.asarray(self.figure.canvas.buffer_rgba())[..., :3].copy())

    def _ground(self, camera: Camera, ground: list[Patch]) -> None:
        if ground:
            self._faces(camera, ground)
            return
        posts = self.motion.posts
        flat, colours = self._lines(camera, camera.grid(self.motion.ground, self.motion.cell))
        below, depth = camera.project(posts)
        below = below[np.all(depth > camera.near, axis=1)]
        self.layers["ground"].set(
            segments=[*flat, *below],
            colors=[*colours, *([(0.45, 0.45, 0.45, 0.33)] * len(below))],
            linewidths=0.7,
        )

    def _lines(self, camera: Camera, lines: Floats) -> tuple[Floats, Floats]:
        """Return what is seen of lines on the ground, and the colour of each."""
        fade = camera.clear(lines, self.motion.cell)
        flat, depth = camera.project(lines)
        ahead = np.all(depth > camera.near, axis=1) & (fade > 0.02)
        grey = np.full((int(ahead.sum()), 3), 0.45)
        return flat[ahead], np.column_stack([grey, 0.55 * fade[ahead]])

    def _faces(self, camera: Camera, ground: list[Patch]) -> None:
        """Draw faces with their lines, the far ones first, so that near ones hide them."""
        seen = [(patch, *camera.face(patch)) for patch in ground]
        pieces: list[Floats] = []
        inside: list[Any] = []
        edges: list[Any] = []
        for patch, flat, _ in sorted(seen, key=lambda face: -face[2]):
            if len(flat) < 3:
                continue
            lines, colours = self._lines(camera, patch.lines) if len(patch.lines) else ((), ())
            pieces += [flat, *lines]
            inside += [(patch.grey,) * 3, *([(0.0, 0.0, 0.0, 0.0)] * len(lines))]
            edges += [(patch.grey,) * 3, *colours]
        self.faces.set_verts(pieces, closed=False)
        self.faces.set(facecolor=inside, edgecolor=edges, linewidth=0.7)

    def _tracks(self, camera: Camera, k: int) -> None:
        lines, colours = [], []
        for n, path in enumerate(self.motion.paths.values()):
            flat, depth = camera.project(path.points[path.time <= self.motion.time[k]])
            flat[~(depth > camera.near)] = np.nan
            pairs = np.stack([flat[:-1], flat[1:]], axis=1)
            pairs = pairs[np.isfinite(pairs).all(axis=(1, 2))]
            lines += list(pairs)
            colours += [COLOURS[n % 7]] * len(pairs)
        self.layers["tracks"].set(segments=lines, colors=colours, linewidths=1.8)

    def _machine(self, camera: Camera, k: int, ground: list[Patch]) -> None:
        motion = self.motion
        pieces, colours, widths, shadows = [], [], [], []
        for part, points in zip(motion.parts, motion.lines(k), strict=True):
            pairs = np.stack([points[:-1], points[1:]], axis=1)
            pieces.append(pairs)
            colours += [motion.colour(part)] * len(pairs)
            widths += [WIDTHS[part.kind]] * len(pairs)
            if part.kind != "spokes":
                shadows += _shadow(camera, motion, points, ground)
        if pieces:
            flat, depth = camera.project(np.concatenate(pieces))
            far = depth.mean(axis=1)
            order = np.argsort(-far)
            self.layers["machine"].set(
                segments=flat[order],
                colors=[colours[i] for i in order],
                linewidths=(np.array(widths) * camera.distance / far)[order],
            )
        self.layers["shadow"].set(segments=shadows, colors=SHADOW, linewidths=3.0)
        around = [motion.silhouette(stone, camera.eye, k) for stone in motion.stones]
        self.stones.set_verts([camera.project(line)[0] for line in around])
        self.stones.set_facecolor([motion.colour(stone) for stone in motion.stones])
        if motion.balls:
            centres = [motion.place(ball.body, ball.centre, k) for ball in motion.balls]
            flat, depth = camera.project(np.array(centres))
            points = np.array([ball.radius for ball in motion.balls]) * camera.zoom / depth
            self.marks.set_offsets(flat)
            self.marks.set_sizes((points * PIXELS[1] / _DPI * 72.0) ** 2)
            self.marks.set_facecolor([motion.colour(ball) for ball in motion.balls])


def _shadow(camera: Camera, motion: Scene, points: Floats, ground: list[Patch]) -> list[Floats]:
    """Return what is seen of the shadow of a line on the ground, in pieces where the ground has a
    step.
    """
    below = heights(ground, points) if ground else np.full(len(points), motion.ground)
    fallen = np.column_stack([points[:, :2], below])
    fallen[hidden_points(ground[:FEW], camera.eye, fallen)] = np.nan
    steps = np.flatnonzero(~(np.abs(np.diff(fallen[:, 2])) < motion.size / 4.0)) + 1
    flat = camera.project(fallen)[0]
    return [piece for piece in np.split(flat, steps) if np.isfinite(piece).all()]


def _settled(x: float) -> float:
    """Return a number to be read with one decimal, without a sign of nothing."""
    return 0.0 if abs(x) < 0.05 else x
