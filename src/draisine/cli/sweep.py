"""`draisine sweep`."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from draisine.cli._keep import check_figure, free_name, keep
from draisine.cli._options import Json, Trust
from draisine.cli._report import report


def sweep(
    scenario: str,
    /,
    *,
    out: Path | None = None,
    resume: bool = False,
    engine: Literal["processes", "dask"] = "processes",
    workers: Annotated[int | None, Parameter(help="How many; as many as cores by default.")] = None,
    scheduler: Annotated[str | None, Parameter(help="Where the Dask cluster is.")] = None,
    plot: Annotated[Path | None, Parameter(help="Write a figure (.png, .jpg, .svg, .pdf).")] = None,
    json: Json = False,
    trust: Trust = False,
) -> None:
    """Run a scenario of the kind sweep into a store, chunk by chunk.

    What is interrupted can be resumed: only what is missing is computed.

    :param scenario: A scenario's name, or a file of your own (.toml).
    :param out: The store (.zarr) that keeps what is computed; SCENARIO.zarr if not given.
    :param resume: Go on with a store that is there; begin one if it is not.
    :param engine: Processes on this computer, or a Dask cluster: that of a scheduler, or a local one.
    """
    from draisine.experiment.run import sweep as carry_out
    from draisine.results.store import check_target
    from draisine.scenario.library import load

    if plot is not None:
        check_figure(plot)
    loaded = load(scenario, trust=trust)
    usual = Path(f"{loaded.name.rpartition('/')[2]}.zarr")
    store = out or free_name(usual, force=resume)
    check_target(store, (".zarr",))
    result = carry_out(
        loaded,
        store,
        resume=resume,
        engine=engine,
        workers=workers,
        scheduler=scheduler,
        progress=True,
    )
    report(result, json)
    if not json:
        print(f"data: {store}")
    keep(result.data, None, plot, quiet=json)
