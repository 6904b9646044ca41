"""`draisine animate`: animations and replays of stored runs."""

from pathlib import Path

from draisine.cli._files import check_animation_target, sibling_path, unused_path, write_animation
from draisine.cli._options import Overwrite, Trust


def animate(
    result: Path,
    /,
    out: Path | None = None,
    *,
    fps: float | None = None,
    speed: float | None = None,
    force: Overwrite = False,
    trust: Trust = False,
) -> None:
    """Write an animation of a stored run, an interactive 3D replay, or a scene for other programs.

    Parameters
    ----------
    result
        A run written by `draisine run --out` (.nc, .zarr).
    out
        Output file (.gif, .mp4, .html, .glb). Default: RESULT.html.
    fps
        Frames per second of a film. Default: 30 (.mp4), 20 (.gif).
    speed
        Playback speed: 1 is real time, 0.2 is slow motion.
    """
    from draisine.results.store import load
    from draisine.view.plot import check_single

    target = out or unused_path(sibling_path(result, ".html"), force)
    check_animation_target(target)
    data = load(result, trust)
    check_single(data)
    write_animation(data, target, quiet=False, fps=fps, speed=speed)
