"""`draisine plot`: figures of stored results."""

import re
from pathlib import Path

from draisine.cli._files import (
    check_figure,
    open_file,
    report_written_file,
    sibling_path,
    unused_path,
)
from draisine.cli._options import Overwrite, Trust, Width


def plot(
    result: Path,
    /,
    out: Path | None = None,
    *,
    figure: str | None = None,
    series: str | None = None,
    every: float | None = None,
    width: Width = None,
    title: str | None = None,
    no_title: bool = False,
    show: bool = False,
    force: Overwrite = False,
    trust: Trust = False,
) -> int:
    """Draw figures from a stored result.

    Parameters
    ----------
    result
        A result written by `draisine run --out` (.nc, .zarr), or a recording: a .csv file with a column
        time.
    out
        Output file (.png, .jpg, .svg, .pdf). Default: RESULT.png, or RESULT-FIGURE.png.
    figure
        One or several figures: --figure top,forces; see `draisine list figures`. Default: the main figure
        of the result.
    series
        Quantities to draw over time, in a phase plane or in a comparison: --series lean,steer.
    every
        Time between snapshots in s: --figure profile --every 0.5.
    title
        Title of the figures.
    no_title
        Draw the figures without a title.
    show
        Open the figures.
    """
    from draisine.errors import ParameterError
    from draisine.results.store import load
    from draisine.view.plot import plot as draw

    names = figure.split(",") if figure else [None]
    quantities = (
        re.split(r",(?![^\[]*\])", series) if series else None
    )  # commas inside brackets belong to labels and do not separate series
    if out is not None and len(names) > 1:
        raise ParameterError(
            f"--out {out} is one file, but --figure selects {len(names)} figures. Leave out --out."
        )
    if no_title and title is not None:
        raise ParameterError("--title and --no-title cannot be combined. Leave out one of them.")
    heading = False if no_title else (title or True)
    targets = {
        name: out or unused_path(_choose_default_path(result, name), force) for name in names
    }
    for target in targets.values():
        check_figure(target)
    data = load(result, trust)
    for name in (
        names if len(names) > 1 else ()
    ):  # draw all figures once before writing: if one fails, none is written
        draw(data, name, series=quantities, every=every, width=width, title=heading)
    for name, target in targets.items():
        with report_written_file("figure", target):
            draw(data, name, target, series=quantities, every=every, width=width, title=heading)
    return max(map(open_file, targets.values())) if show else 0


def _choose_default_path(result: Path, figure: str | None) -> Path:
    """Return the default output path of a figure of a stored result."""
    label = f"-{Path(figure).stem}" if figure else ""
    return sibling_path(result, f"{label}.png")
