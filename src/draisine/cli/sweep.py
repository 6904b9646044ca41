"""`draisine sweep`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from draisine.cli._keep import check_figure, keep
from draisine.cli._options import Json, Trust
from draisine.cli._report import report
from draisine.cli._screen import progress_bar


def sweep(
    scenario: str,
    /,
    *,
    out: Annotated[Path, Parameter(help="The store (.zarr) that keeps what is computed.")],
    resume: bool = False,
    plot: Annotated[Path | None, Parameter(help="Write a figure (.png, .svg, .pdf).")] = None,
    json: Json = False,
    trust: Trust = False,
) -> None:
    """Run a scenario of the kind sweep into a store, chunk by chunk.

    What is interrupted can be resumed: only what is missing is computed.

    :param scenario: A scenario's name, or a file of your own (.toml).
    :param resume: Go on with a store that is there; begin one if it is not.
    """
    from draisine.experiment.run import sweep as carry_out
    from draisine.scenario.library import load

    if plot is not None:
        check_figure(plot)
    loaded = load(scenario, trust=trust)
    with progress_bar(f"running {loaded.name}") as progress:
        result = carry_out(loaded, out, resume=resume, progress=progress)
    report(result, json)
    if not json:
        print(f"data: {out}")
    keep(result.data, None, plot, quiet=json)
