"""`draisine plot`."""

import re
from pathlib import Path

from draisine.cli._keep import beside, check_figure, free_name, tell_file
from draisine.cli._keep import show as show_file
from draisine.cli._options import Overwrite, Trust, Width


def plot(
    result: Path,
    /,
    out: Path | None = None,
    *,
    figure: str | None = None,
    series: str | None = None,
    width: Width = None,
    title: str | None = None,
    no_title: bool = False,
    show: bool = False,
    force: Overwrite = False,
    trust: Trust = False,
) -> int:
    """Draw figures from a stored result.

    :param result: A result that `draisine run --out` wrote (.nc, .zarr), or a recording: a .csv with a column
        time.
    :param out: Where to write it (.png, .jpg, .svg, .pdf); RESULT.png, or RESULT-FIGURE.png, if not given.
    :param figure: One or several with commas between them, --figure top,forces; `draisine list figures` tells
        all. Without one, that which tells most.
    :param series: For histories, phase and comparison: what to draw, --series lean,steer.
    :param title: Another headline of the figures.
    :param no_title: Leave the headline out.
    :param show: Open the figures.
    """
    from draisine.errors import ParameterError
    from draisine.results.store import load
    from draisine.view.plot import plot as draw

    names = figure.split(",") if figure else [None]
    quantities = re.split(r",(?![^\[]*\])", series) if series else None  # labels have commas, too
    if out is not None and len(names) > 1:
        raise ParameterError(f"--out {out} is one file, but {len(names)} figures are asked for.")
    if no_title and title is not None:
        raise ParameterError("--title and --no-title exclude each other.")
    headline = False if no_title else (title or True)
    targets = {name: out or free_name(_name(result, name), force) for name in names}
    for target in targets.values():
        check_figure(target)
    data = load(result, trust)
    for name in names if len(names) > 1 else ():  # where one is refused, none is written
        draw(data, name, series=quantities, width=width, title=headline)
    for name, target in targets.items():
        with tell_file("figure", target):
            draw(data, name, target, series=quantities, width=width, title=headline)
    return max(map(show_file, targets.values())) if show else 0


def _name(result: Path, figure: str | None) -> Path:
    """Return the name of a figure of a result; a figure may be a file of one's own."""
    mark = f"-{Path(figure).stem}" if figure else ""
    return beside(result, f"{mark}.png")
