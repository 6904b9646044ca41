"""`draisine sweep`: runs large sweeps and writes them to a Zarr store, which can be resumed."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from draisine.cli._files import check_figure, unused_path, write_result
from draisine.cli._options import Json, Trust
from draisine.cli._report import print_result


def sweep(
    scenario: str,
    /,
    *,
    out: Path | None = None,
    resume: bool = False,
    engine: Literal["processes", "dask"] = "processes",
    workers: Annotated[
        int | None, Parameter(help="Number of processes. Default: number of CPU cores.")
    ] = None,
    scheduler: Annotated[
        str | None, Parameter(help="Address of the scheduler of a Dask cluster.")
    ] = None,
    plot: Annotated[Path | None, Parameter(help="Write a figure (.png, .jpg, .svg, .pdf).")] = None,
    json: Json = False,
    trust: Trust = False,
) -> None:
    """Run a scenario of the kind sweep and write the runs to a store, chunk by chunk.

    An interrupted sweep can be resumed: only missing runs are computed.

    Parameters
    ----------
    scenario
        Name of a scenario, or a file (.toml).
    out
        Path of the Zarr store. Default: SCENARIO.zarr.
    resume
        Continue an existing store; start a new one if it does not exist.
    engine
        Engine that computes the runs: processes on this computer, or a Dask cluster (local, or --scheduler).
    """
    from draisine.experiment.run import sweep as run_sweep
    from draisine.results.store import check_target
    from draisine.scenario.library import load

    if plot is not None:
        check_figure(plot)
    loaded = load(scenario, trust=trust)
    default = Path(f"{loaded.name.rpartition('/')[2]}.zarr")
    store = out or unused_path(default, force=resume)
    check_target(store, (".zarr",))
    result = run_sweep(
        loaded,
        store,
        resume=resume,
        engine=engine,
        workers=workers,
        scheduler=scheduler,
        progress=True,
    )
    print_result(result, json)
    if not json:
        print(f"data: {store}")
    write_result(result.data, None, plot, quiet=json)
