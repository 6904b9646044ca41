"""Output files of commands (data, figures, animations); their paths are checked before the computation."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any

from draisine.cli._screen import print_error, progress_bar
from draisine.errors import DataError


def check_figure(path: Path) -> None:
    """Raise `DataError` if a figure cannot be written to a path."""
    from draisine.results.store import FIGURE_SUFFIXES, check_target

    check_target(path, FIGURE_SUFFIXES)


def check_output_paths(out: Path | None, plot: Path | None) -> None:
    """Raise `DataError` if the data file or the figure cannot be written to its path."""
    from draisine.results.store import check_target

    if out is not None:
        check_target(out)
    if plot is not None:
        check_figure(plot)


def check_animation_target(path: Path) -> None:
    """Raise `DataError` if an animation or a replay cannot be written to a path."""
    from draisine.view.film import check_film

    check_film(path)


def sibling_path(path: Path, ending: str) -> Path:
    """Return the path of a file in the same folder with the same stem and another ending."""
    if not path.name:
        raise DataError(f"{path} is a folder. State the name of a file.")
    return path.with_name(f"{path.stem}{ending}")


def unused_path(path: Path, force: bool = False) -> Path:
    """Return a default output path; append a counter (-2, -3 ...) if the file exists, unless `force`."""
    if force:
        return path
    numbered = (path.with_stem(f"{path.stem}-{k}") for k in count(2))
    return next(each for each in chain([path], numbered) if not os.path.exists(each))


def write_result(
    data: Any,
    out: Path | None,
    plot: Path | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Write the data file and the figure whose paths are given, and print the paths.

    `options` are keyword arguments of `draisine.plot`.
    """
    if out is not None:
        from draisine.results.store import save

        with report_written_file("data", out, quiet):
            save(data, out)
    if plot is not None:
        from draisine.view.plot import plot as draw

        with report_written_file("figure", plot, quiet):
            draw(data, path=plot, **options)


@contextmanager
def report_written_file(content: str, path: Path, quiet: bool = False) -> Iterator[None]:
    """Context manager that prints the path of a written file, and whether it replaced another file."""
    replaced = " (replaced)" if os.path.exists(path) else ""
    yield
    if not quiet:
        print(f"{content}: {path}{replaced}")


def open_file(path: Path) -> int:
    """Open a page or picture with the default program of the operating system; return the exit code."""
    import webbrowser

    if webbrowser.open(path.resolve().as_uri()):
        return 0
    return print_error(f"No program can open {path.resolve().as_uri()}. Open the file yourself.", 1)


def write_animation(
    data: Any, path: Path, quiet: bool, fps: float | None = None, speed: float | None = None
) -> None:
    """Write an animation, a replay page or a 3D scene of a run, and print its path."""
    from draisine.errors import SimulationError
    from draisine.view.film import animate

    what = {".html": "replay", ".glb": "scene"}.get(path.suffix, "film")
    try:
        with report_written_file(what, path, quiet), progress_bar(f"drawing {path}") as progress:
            animate(data, path, fps=fps, speed=speed, progress=progress)
    except KeyboardInterrupt:
        raise SimulationError(f"The animation was interrupted; {path} was not written.") from None
