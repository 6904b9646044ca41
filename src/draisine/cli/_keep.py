"""What the commands write: data, figures and films, each checked before the work begins."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any

from draisine.cli._screen import fail, progress_bar
from draisine.errors import DataError


def check_figure(path: Path) -> None:
    """Refuse a figure that cannot be written."""
    from draisine.results.store import FIGURE_SUFFIXES, check_target

    check_target(path, FIGURE_SUFFIXES)


def check_targets(out: Path | None, plot: Path | None) -> None:
    """Refuse a data file or a figure that cannot be written."""
    from draisine.results.store import check_target

    if out is not None:
        check_target(out)
    if plot is not None:
        check_figure(plot)


def check_film(path: Path) -> None:
    """Refuse a film or a replay that cannot be written."""
    from draisine.view.film import check_film

    check_film(path)


def beside(path: Path, ending: str) -> Path:
    """Return the name of a file beside another, called like it up to its ending."""
    if not path.name:
        raise DataError(f"{path}: is a folder; name a file.")
    return path.with_name(f"{path.stem}{ending}")


def free_name(path: Path, force: bool = False) -> Path:
    """Return a name that was not asked for: with a counter where something has it already, unless
    that may be replaced.
    """
    if force:
        return path
    names = (path.with_stem(f"{path.stem}-{k}") for k in count(2))
    return next(each for each in chain([path], names) if not os.path.exists(each))


def keep(
    data: Any,
    out: Path | None,
    plot: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Write data and figure, with options of `plot`, if they are told, and say where."""
    if out is not None:
        from draisine.results.store import save

        with tell_file("data", out, quiet):
            save(data, out)
    if plot is not None:
        from draisine.view.plot import plot as draw

        with tell_file("figure", plot, quiet):
            draw(data, path=plot, **options)


@contextmanager
def tell_file(what: str, path: Path, quiet: bool = False) -> Iterator[None]:
    """Say where something was written, and whether it took the place of something else."""
    replaced = " (replaced)" if os.path.exists(path) else ""
    yield
    if not quiet:
        print(f"{what}: {path}{replaced}")


def show(path: Path) -> int:
    """Open a file where this computer opens pages and pictures; return the exit code."""
    import webbrowser

    if webbrowser.open(path.resolve().as_uri()):
        return 0
    return fail(f"no program was found that opens {path.resolve().as_uri()}; open it yourself.", 1)


def film(
    data: Any, path: Path, quiet: bool, fps: float | None = None, speed: float | None = None
) -> None:
    """Write a film, a replay or a scene, and say where."""
    from draisine.errors import SimulationError
    from draisine.view.film import animate

    what = {".html": "replay", ".glb": "scene"}.get(path.suffix, "film")
    try:
        with tell_file(what, path, quiet), progress_bar(f"drawing {path}") as progress:
            animate(data, path, fps=fps, speed=speed, progress=progress)
    except KeyboardInterrupt:
        raise SimulationError(f"interrupted; {path} was not written.") from None
