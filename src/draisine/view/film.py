"""Animations of a stored run: film (.gif, .mp4), interactive replay page (.html) or glTF scene (.glb)."""

import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.files import atomic_write, write_text
from draisine.errors import DataError, ParameterError
from draisine.results.store import check_target, to_dataset
from draisine.simulation.options import Progress, report_progress
from draisine.terrain import Terrain
from draisine.view.scene.camera import Camera
from draisine.view.scene.ground import Patch, ground_heights, hidden_points
from draisine.view.scene.scene import Scene, build_scene
from draisine.view.style import COLOURS, LINE_WIDTHS, SOLID_OPACITY, to_words

if TYPE_CHECKING:
    from PIL.Image import Image
    from xarray import Dataset

    from draisine.view.notebook import InlinePage

ANIMATION_FORMATS = (".gif", ".mp4", ".html", ".glb")
"""File suffixes of animations."""

DEFAULT_FPS = {".mp4": 30.0, ".gif": 20.0}
"""Default frame rates of films (frames/s) by suffix. GIF files store the time between frames as a multiple of
0.01 s, which 20 frames/s meets exactly.
"""

MAX_FILM_TIME = 30.0
"""Longest duration (s) of a film with the default playback speed; longer runs are played faster."""

MAX_FRAMES = 2000
"""Largest number of frames of a film; drawing more frames takes minutes."""

FILM_INCHES = (6.4, 3.6)
"""Width and height of the pictures of a film (inches). Font sizes in points refer to this size."""

FILM_DPI = {".mp4": 200, ".gif": 100}
"""Resolution of films (dots/inch) by suffix: 1280 x 720 pixels (.mp4) and 640 x 360 pixels (.gif). GIF has
the lower resolution, because it does not compress differences between frames.
"""

SHADOW_COLOUR = "#00000026"
"""Colour of shadows with opacity, as #RRGGBBAA."""
MAX_OCCLUDING_PATCHES = 40
"""Largest number of ground patches that are tested whether they hide a shadow. The test takes time in every
frame.
"""

PLAYBACK_SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Candidates for the default playback speed (1: real time), ascending. A film uses the first one with which
it is not longer than `MAX_FILM_TIME`.
"""


def check_film(path: Path) -> None:
    """Raise `DataError` if an animation cannot be written to a path, before any computation starts."""
    check_target(path, ANIMATION_FORMATS)
    if path.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise DataError(
            f"{path} needs the program ffmpeg, which is not installed. Install it, or choose a path that "
            "ends with .gif or .html."
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
    """Write an animation of a run, or return a replay page for a notebook.

    Parameters
    ----------
    what
        Trajectory, result, dataset, or path of a stored result.
    path
        Path of the output file: a film (.gif, .mp4), an interactive replay page (.html) or a glTF scene
        (.glb). No partial file remains if writing fails.
    fps
        Frames per second of a film, by default 30 (.mp4) or 20 (.gif). Not for pages and scenes.
    speed
        Playback speed: 1 is real time, 0.2 slow motion. By default 1, and more for runs longer than
        30 s. A page can change it while it plays.
    terrain
        Ground to draw if the dataset does not contain one.
    progress
        Function that is called with the completed fraction (0 to 1); True shows a progress bar.

    Returns
    -------
    InlinePage or None
        The replay page if `path` is None; a notebook shows it.

    Raises
    ------
    ParameterError
        If the result is not a motion, or if an option does not apply to the format.
    DataError
        If the result is damaged, or if the file cannot be written.

    Examples
    --------
    >>> import draisine, tempfile
    >>> disc = draisine.compile("rolling_disc")
    >>> run = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draisine.animate(run, f"{folder}/disc.html")
    """
    data = to_dataset(what)
    path = None if path is None else Path(path)
    if path is not None:
        check_film(path)
    for name, value in (("fps", fps), ("speed", speed)):
        is_number = isinstance(value, int | float | np.number)
        if value is not None and not (is_number and 0 < value < np.inf):
            raise ParameterError(f"{name} must be a positive number, not {value}.")
    is_film = path is not None and path.suffix not in (".html", ".glb")
    if fps is not None and not is_film:
        raise ParameterError(
            f"fps applies to films (.gif, .mp4) only. Remove fps = {fps:g}, or choose another path."
        )
    if path is not None and path.suffix == ".glb":
        from draisine.view.gltf import write_gltf

        with atomic_write(path) as new:
            new.write_bytes(write_gltf(data, speed or 1.0, terrain))
        return None
    if path is not None and path.suffix != ".html":
        with report_progress(progress, f"drawing {path}") as report:
            _film(data, path, fps or DEFAULT_FPS[path.suffix], speed, terrain, report)
        return None
    from draisine.view.notebook import InlinePage
    from draisine.view.replay import replay_page

    text = replay_page(data, speed or 1.0, terrain)
    if path is None:
        return InlinePage(text)
    write_text(text, path)
    return None


def frame_times(sampled: Floats, fps: float, speed: float | None) -> tuple[Floats, float]:
    """Return the simulated times (s) of the frames of a film, and its playback speed.

    `sampled` are the sample times (s) of the run, `fps` is the frame rate (frames/s) of the film. If `speed`
    is None, the default playback speed is chosen.

    >>> times, speed = frame_times(np.array([0.0, 90.0]), 20.0, None)
    >>> len(times), speed
    (361, 5.0)
    """
    length = float(sampled[-1] - sampled[0])
    if speed is None:
        speed = next(
            (s for s in PLAYBACK_SPEEDS if length / s <= MAX_FILM_TIME), length / MAX_FILM_TIME
        )
    count = int(length / speed * fps + 1e-9) + 1
    if count > MAX_FRAMES:
        raise ParameterError(
            f"{length:g} s at {fps:g} frames per second and {speed:g} times the speed are {count} "
            f"frames, more than {MAX_FRAMES}. Choose a higher speed or a lower fps."
        )
    return sampled[0] + speed / fps * np.arange(count), speed


def _film(
    data: "Dataset",
    path: Path,
    fps: float,
    speed: float | None,
    terrain: Terrain | None,
    progress: Callable[[float], None] | None,
) -> None:
    """Draw a run frame by frame and write the frames as a film (.gif or .mp4)."""
    film_speed = 1.0

    def choose(sampled: Floats) -> Floats:
        """Return the frame times (s) for the sample times of the run (s); store the playback speed."""
        nonlocal film_speed
        times, film_speed = frame_times(sampled, fps, speed)
        return times

    scene = build_scene(data, choose, terrain)
    stage = FilmStage(scene, film_speed, progress, FILM_DPI[path.suffix])
    try:
        with atomic_write(path) as new:
            (_gif if path.suffix == ".gif" else _mp4)(stage, new, fps)
    except CalledProcessError as error:
        raise DataError(f"{path}: ffmpeg could not write the film ({error}).") from error


def _gif(stage: "FilmStage", path: Path, fps: float) -> None:
    """Write a film as a GIF file with `fps` frames per second.

    All frames share one palette of 128 colours, so that the file is small and colours do not flicker.
    """
    from PIL.Image import Dither, Quantize

    count = len(stage.motion.time)
    # The palette of the middle frame, which shows tracks and vehicle, is used for all frames.
    colours = stage.picture(count // 2).quantize(128, method=Quantize.MAXCOVERAGE)
    frames = [stage.picture(k).quantize(palette=colours, dither=Dither.NONE) for k in range(count)]
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=round(1000.0 / fps), loop=0
    )


def _mp4(stage: "FilmStage", path: Path, fps: float) -> None:
    """Write a film as an MP4 file with `fps` frames per second, by the program ffmpeg."""
    from matplotlib.animation import FFMpegWriter

    rate: Any = fps  # typed as int by the stubs; ffmpeg accepts any number
    # Browsers and presentation programs play only the pixel format yuv420p.
    film = FFMpegWriter(fps=rate, bitrate=4800, extra_args=["-pix_fmt", "yuv420p"])
    with film.saving(stage.figure, str(path), dpi=stage.figure.dpi):
        for k in range(len(stage.motion.time)):
            stage.show(k)
            film.grab_frame(facecolor="white")
            stage.report(k)


class FilmStage:
    """A matplotlib figure in which the frames of a motion are drawn one after the other."""

    def __init__(
        self,
        motion: Scene,
        speed: float = 1.0,
        progress: Callable[[float], None] | None = None,
        dpi: int = FILM_DPI[".gif"],
    ) -> None:
        """Create the figure for a motion.

        `speed` is the displayed playback speed, `progress` is called with the completed fraction after each
        frame, and `dpi` is the resolution (dots/inch).
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.figure import Figure

        self.motion = motion
        self.progress = progress
        self.figure: Any = Figure(figsize=FILM_INCHES, dpi=dpi)
        FigureCanvasAgg(self.figure)
        axes: Any = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        aspect = FILM_INCHES[0] / FILM_INCHES[1]
        axes.set(xlim=(-aspect, aspect), ylim=(-1.0, 1.0))
        axes.set_axis_off()
        self.faces: Any = axes.add_collection(PolyCollection([], zorder=-1.0))
        self.layers = {
            name: axes.add_collection(LineCollection([], capstyle="round", zorder=z))
            for z, name in enumerate(("ground", "shadow", "tracks", "machine"))
        }
        self.stones: Any = axes.add_collection(PolyCollection([], zorder=2.5, alpha=SOLID_OPACITY))
        self.marks: Any = axes.scatter([], [], zorder=5, edgecolors="white", linewidths=0.8)
        text_style: dict[str, Any] = {"fontsize": 9, "va": "top", "linespacing": 1.5}
        axes.text(-0.96 * aspect, 0.94, motion.title, fontsize=10, va="top", weight="bold")
        self.text = axes.text(-0.96 * aspect, 0.81, "", **text_style)
        pace = "" if speed == 1.0 else f"{speed:g} times as fast"
        axes.text(0.96 * aspect, 0.94, pace, ha="right", color="#666666", **text_style)
        # A bar along the lower border grows with the time of the run.
        self._bar = axes.plot([-aspect, -aspect], [-0.99, -0.99], color=COLOURS[0], lw=2.5)[0]
        self._legend(axes, aspect)

    def _legend(self, axes: Any, aspect: float) -> None:
        """Write the names of the contact tracks and the side length of the ground squares into the figure."""
        for k, name in enumerate(self.motion.tracks):
            y = -0.93 + 0.1 * (len(self.motion.tracks) - 1 - k)
            axes.plot([-0.96 * aspect, -0.89 * aspect], [y, y], color=COLOURS[k % 7], lw=2)
            axes.text(-0.87 * aspect, y, f"{to_words(name)} contact", fontsize=8, va="center")
        squares = f"squares of {self.motion.cell:g} m"
        axes.text(
            0.96 * aspect, -0.93, squares, fontsize=8, va="center", ha="right", color="#666666"
        )

    def show(self, k: int) -> None:
        """Draw frame k into the figure: ground, contact tracks, vehicle, time and readings."""
        motion = self.motion
        camera = Camera.following(motion, k)
        ground = motion.ground_at(k)
        self._ground(camera, ground)
        self._tracks(camera, k)
        self._machine(camera, k, ground)
        lines = [f"{motion.time[k]:.2f} s"]
        for reading in motion.readings:
            value = f"{_clean(float(reading.values[k])):.1f}".replace("-", "\N{MINUS SIGN}")
            lines.append(f"{to_words(reading.name)} {value} {reading.unit}")
        self.text.set_text("\n".join(lines))
        aspect = FILM_INCHES[0] / FILM_INCHES[1]
        share = (k + 1) / len(motion.time)
        self._bar.set_xdata([-aspect, (2.0 * share - 1.0) * aspect])

    def report(self, k: int) -> None:
        """Call the progress function with the completed fraction after frame k."""
        if self.progress is not None:
            self.progress((k + 1) / len(self.motion.time))

    def picture(self, k: int) -> "Image":
        """Draw frame k and return it as an image."""
        from PIL.Image import fromarray

        self.show(k)
        self.figure.canvas.draw()
        self.report(k)
        return fromarray(np.asarray(self.figure.canvas.buffer_rgba())[..., :3].copy())

    def _ground(self, camera: Camera, ground: list[Patch]) -> None:
        """Draw the patches of the terrain; without patches, draw a grid on level ground.

        Posts connect elevated tracks with the level ground, because the terrain below them is unknown.
        """
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
        """Project ground lines (lines, 2, 3) in m; return the visible ones (lines, 2, 2) and their colours.

        The colours (lines, 4) contain the opacity, which decreases with the distance from the focus.
        """
        fade = camera.clear(lines, self.motion.cell)
        flat, depth = camera.project(lines)
        ahead = np.all(depth > camera.near, axis=1) & (fade > 0.02)
        grey = np.full((int(ahead.sum()), 3), 0.45)
        return flat[ahead], np.column_stack([grey, 0.55 * fade[ahead]])

    def _faces(self, camera: Camera, ground: list[Patch]) -> None:
        """Draw the terrain patches with grid lines, from far to near, so that near patches hide far ones."""
        projected = [(patch, *camera.face(patch)) for patch in ground]
        pieces: list[Floats] = []
        inside: list[Any] = []
        edges: list[Any] = []
        for patch, flat, _ in sorted(projected, key=lambda face: -face[2]):
            if len(flat) < 3:
                continue
            lines, colours = self._lines(camera, patch.lines) if len(patch.lines) else ((), ())
            pieces += [flat, *lines]
            inside += [(patch.grey,) * 3, *([(0.0, 0.0, 0.0, 0.0)] * len(lines))]
            edges += [(patch.grey,) * 3, *colours]
        self.faces.set_verts(pieces, closed=False)
        self.faces.set(facecolor=inside, edgecolor=edges, linewidth=0.7)

    def _tracks(self, camera: Camera, k: int) -> None:
        """Draw the paths of the contact points from the start of the run to frame k."""
        lines = []
        colours = []
        for n, path in enumerate(self.motion.paths.values()):
            flat, depth = camera.project(path.points[path.time <= self.motion.time[k]])
            flat[~(depth > camera.near)] = np.nan
            pairs = np.stack([flat[:-1], flat[1:]], axis=1)
            pairs = pairs[np.isfinite(pairs).all(axis=(1, 2))]
            lines += list(pairs)
            colours += [COLOURS[n % 7]] * len(pairs)
        self.layers["tracks"].set(segments=lines, colors=colours, linewidths=1.8)

    def _machine(self, camera: Camera, k: int, ground: list[Patch]) -> None:
        """Draw the vehicle at frame k, its lines sorted from far to near, and its shadow on the ground."""
        motion = self.motion
        pieces = []
        colours = []
        widths = []
        shadows = []
        for outline, points in zip(motion.parts, motion.lines(k), strict=True):
            pairs = np.stack([points[:-1], points[1:]], axis=1)
            pieces.append(pairs)
            colours += [motion.colour(outline)] * len(pairs)
            widths += [LINE_WIDTHS[outline.kind]] * len(pairs)
            if outline.kind != "spokes":
                shadows += _shadow(camera, motion, points, ground)
        if pieces:
            flat, depth = camera.project(np.concatenate(pieces))
            distances = depth.mean(axis=1)
            order = np.argsort(-distances)
            self.layers["machine"].set(
                segments=flat[order],
                colors=[colours[i] for i in order],
                linewidths=(np.array(widths) * camera.distance / distances)[order],
            )
        self.layers["shadow"].set(segments=shadows, colors=SHADOW_COLOUR, linewidths=3.0)
        around = [motion.silhouette(stone, camera.eye, k) for stone in motion.stones]
        self.stones.set_verts([camera.project(line)[0] for line in around])
        self.stones.set_facecolor([motion.colour(stone) for stone in motion.stones])
        if motion.balls:
            centres = [motion.place(ball.body, ball.centre, k) for ball in motion.balls]
            flat, depth = camera.project(np.array(centres))
            points = np.array([ball.radius for ball in motion.balls]) * camera.zoom / depth
            self.marks.set_offsets(flat)
            self.marks.set_sizes((points * FILM_INCHES[1] * 72.0) ** 2)
            self.marks.set_facecolor([motion.colour(ball) for ball in motion.balls])


def _shadow(camera: Camera, motion: Scene, points: Floats, ground: list[Patch]) -> list[Floats]:
    """Return the visible pieces of the shadow of a polyline `points` (n, 3) in m, in picture coordinates.

    The shadow is vertically below the polyline. It is split at steps of the ground, and at points that ground
    patches hide from the camera.
    """
    below = ground_heights(ground, points) if ground else np.full(len(points), motion.ground)
    projected = np.column_stack([points[:, :2], below])
    projected[hidden_points(ground[:MAX_OCCLUDING_PATCHES], camera.eye, projected)] = np.nan
    steps = np.flatnonzero(~(np.abs(np.diff(projected[:, 2])) < motion.size / 4.0)) + 1
    flat = camera.project(projected)[0]
    return [piece for piece in np.split(flat, steps) if np.isfinite(piece).all()]


def _clean(x: float) -> float:
    """Return zero for numbers that round to zero at one decimal, so that no "-0.0" is printed."""
    return 0.0 if abs(x) < 0.05 else x
