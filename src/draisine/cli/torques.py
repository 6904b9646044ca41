"""`draisine torques`: inverse dynamics of stored runs."""

from pathlib import Path
from typing import TYPE_CHECKING

from draisine.cli._options import Trust
from draisine.cli._screen import make_numeric_columns, open_console, print_json
from draisine.errors import DataError, ParameterError

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.analysis.connection.inverse import RequiredTorques


def torques(result: Path, /, *, at: float = 0.0, json: bool = False, trust: Trust = False) -> None:
    """Compute the joint torques that a stored run requires (inverse dynamics).

    All joints are assumed to be actuated. If contacts are redundant, some combinations of torques and forces
    do not affect the motion; each of these static combinations is printed in an additional column.

    Parameters
    ----------
    result
        A run written by `draisine run --out` (.nc, .zarr).
    at
        Time in the run, in s; the nearest sample is used.
    json
        Print a JSON object instead of tables.
    """
    from draisine.analysis.connection.inverse import solve_inverse_dynamics
    from draisine.results.attributes import read_table_attribute
    from draisine.results.bodies import restore_system
    from draisine.results.store import load
    from draisine.system.state import State
    from draisine.view.style import check_run

    data = load(result, trust)
    check_run(data)
    sample = _find_sample(data, at)
    variables = ("orientation", "position", "shape", "speeds", "accelerations")
    if missing := [name for name in variables if name not in sample]:
        raise DataError(
            f"The result is incomplete: it has no variable {missing[0]!r}. Repeat the run."
        )
    q, p, r, v, vdot = (sample[name].values for name in variables)
    mode = read_table_attribute(data, "mode")
    needed = solve_inverse_dynamics(restore_system(data), State(q, p, r, v), vdot, mode=mode)
    if json:
        print_json(_as_plain(needed, float(sample["time"])))
        return
    _print_tables(needed, float(sample["time"]))


def _find_sample(data: "Dataset", time: float) -> "Dataset":
    """Return the sample nearest to the time `time` (s); raise an error if the run changes its contact
    mode.
    """
    import numpy as np

    t = data["time"].values
    if str(data.attrs.get("mode")).startswith("[") or np.any(np.diff(t) <= 0.0):
        raise ParameterError(
            "Torques need a run with one contact mode; in this one contacts change, on a terrain or by a "
            "grip schedule. In Python, `analysis.connection.hybrid.solve_hybrid_torques` computes the "
            "torques of runs with events; or run the interval alone, without terrain, with --mode."
        )
    if not t[0] <= time <= t[-1]:
        raise ParameterError(
            f"--at {time:g} is outside of the run, which lasts from {t[0]:g} s to {t[-1]:g} s."
        )
    return data.isel(time=int(np.argmin(np.abs(t - time))))


def _as_plain(required: "RequiredTorques", time: float) -> dict[str, object]:
    """Return required torques and contact forces as plain data for JSON."""
    return {
        "time": time,
        "torques": required.torques,
        "forces": required.forces,
        "static_torques": {name: x.tolist() for name, x in required.static_torques.items()},
        "static_forces": {name: x.tolist() for name, x in required.static_forces.items()},
        "dimensions": required.dimensions,
    }


def _print_tables(required: "RequiredTorques", time: float) -> None:
    """Print tables of required torques and contact forces with their static combinations."""
    from rich.table import Table

    console = open_console()
    sections = (
        ("joint", "torque (N m)", required.torques, required.static_torques),
        ("contact row", "force (N)", required.forces, required.static_forces),
    )
    for kind, what, values, static in sections:
        count = len(next(iter(static.values()), ()))
        columns = make_numeric_columns(what, *(f"static {k + 1}" for k in range(count)))
        table = Table(kind, *columns, title=f"at {time:g} s", title_justify="left")
        for name, value in values.items():
            table.add_row(name, f"{value:.6g}", *(f"{x:.4g}" for x in static[name] + 0.0))
        if values:
            console.print(table)
    console.print(
        f"{required.dimensions} static combinations do not affect the motion"
        if required.dimensions
        else "the motion determines all torques"
    )
