"""`draisine plot`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from draisine.cli._keep import check_figure, check_single, figure_for


def plot(
    result: Path,
    /,
    *,
    figure: str | None = None,
    series: Annotated[list[str] | None, Parameter(name="--series")] = None,
    out: Path | None = None,
) -> None:
    """Draw a figure from a stored result.

    :param result: A result that `draisine run --out` wrote (.nc, .zarr).
    :param figure: overview, histories, top, front, side, profile, forces, gaps, energies, event_graph,
        migration, phase, maps, sweep, eigenvalues, steady or cycle.
    :param series: For histories and phase: what to draw, --series lean --series steer.
    :param out: Where to write it (.png, .svg, .pdf); beside the result if not given.
    """
    from draisine.errors import ParameterError
    from draisine.registry import find
    from draisine.results.store import read

    target = out or result.with_suffix(".png")
    check_figure(target)
    data = read(result)
    figure = figure or figure_for(data)
    check_single(data, figure)
    if series and figure not in ("histories", "phase"):
        raise ParameterError(f"--series goes with histories and phase, not with {figure}.")
    draw = find("figure", figure)
    from draisine.view.save import save

    save(draw(data, names=series) if series else draw(data), target)
    print(f"figure: {target}")
