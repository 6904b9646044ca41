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
        from draisine.results.store import write

        write(data, out)
        if not quiet:
            print(f"data: {out}")
    if plot is not None:
        from draisine.registry import find
        from draisine.view.save import save

        save(find("figure", figure_for(data))(data), plot)
        if not quiet:
            print(f"figure: {plot}")


def figure_for(data: Any) -> str:
    """Return the figure that tells most of a result."""
    if "multiplier" in data.dims:
        return "cycle"
    if "time" in data.dims:
        return "overview" if data.sizes["time"] > 1 else "front"
    if "motion" in data.dims:
        return "steady"
    if "outcome" in data:
        return "sweep"
    return "eigenvalues" if "eigenvalue_real" in data else "maps"


def check_single(data: Any, figure: str = "") -> None:
    """Refuse to draw several cycles as if they were one motion."""
    from draisine.errors import ParameterError

    if "cycle" in data.dims and figure != "cycle":
        raise ParameterError(
            f"this result holds {data.sizes['cycle']} cycles; `draisine plot` draws them with "
            "--figure cycle. A scenario of the kind 'cycle' leaves one that moves."
        )


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
