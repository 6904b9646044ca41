"""`draisine plot`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from draisine.cli._keep import check_figure
from draisine.cli._options import Trust


def plot(
    result: Path,
    /,
    *,
    figure: str | None = None,
    series: Annotated[list[str] | None, Parameter(name="--series")] = None,
    out: Path | None = None,
    trust: Trust = False,
) -> None:
    """Draw a figure from a stored result.

    :param result: A result that `draisine run --out` wrote (.nc, .zarr).
    :param figure: overview, histories, top, front, side, profile, forces, gaps, energies, event_graph,
        migration, phase, maps, sweep, eigenvalues, steady or cycle.
    :param series: For histories and phase: what to draw, --series lean --series steer.
    :param out: Where to write it (.png, .svg, .pdf); beside the result if not given.
    """
    from draisine.results.store import load
    from draisine.view.plot import plot as draw

    target = out or result.with_suffix(".png")
    check_figure(target)
    draw(load(result, trust), figure, target, series=series)
    print(f"figure: {target}")
