"""What the commands write: data, figures and films, each checked before the work begins."""

from pathlib import Path
from typing import Any

from draisine.cli._screen import progress_bar


def check_figure(path: Path) -> None:
    """Refuse a figure that cannot be written."""
    from draisine.results.store import FIGURES, check_target

    check_target(path, FIGURES)


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


def keep(data: Any, out: Path | None, plot: Path | None, quiet: bool) -> None:
    """Write data and figure, and say where."""
    if out is not None:
        from draisine.results.store import save

        save(data, out)
        if not quiet:
            print(f"data: {out}")
    if plot is not None:
        from draisine.view.plot import plot as draw

        draw(data, path=plot)
        if not quiet:
            print(f"figure: {plot}")


def film(data: Any, path: Path, quiet: bool, fps: float = 20.0, speed: float | None = None) -> None:
    """Write a film or a replay, and say where."""
    from draisine.errors import SimulationError
    from draisine.view.film import animate

    try:
        with progress_bar(f"drawing {path}") as progress:
            animate(data, path, fps=fps, speed=speed, progress=progress)
    except KeyboardInterrupt:
        raise SimulationError(f"interrupted; {path} was not written.") from None
    if not quiet:
        print(f"{'replay' if path.suffix == '.html' else 'film'}: {path}")
