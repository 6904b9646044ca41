"""`draisine animate`."""

from pathlib import Path

from draisine.cli._keep import beside, check_film, film, free_name
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
    """Write a film of a stored run, a page that replays it, or a scene for other programs.

    :param result: A run that `draisine run --out` wrote (.nc, .zarr).
    :param out: Where to write it (.gif, .mp4, .html, .glb); a page beside the result if not given.
    :param fps: Frames in a second of a film (.gif, .mp4), 20 if not given.
    :param speed: Seconds of the run that pass in one: 1 as it was, 0.2 in slow motion.
    """
    from draisine.results.store import load
    from draisine.view.plot import check_single

    target = out or free_name(beside(result, ".html"), force)
    check_film(target)
    data = load(result, trust)
    check_single(data)
    film(data, target, quiet=False, fps=fps, speed=speed)
