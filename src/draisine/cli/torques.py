"""`draisine torques`."""

from pathlib import Path
from typing import TYPE_CHECKING

from draisine.cli._options import Trust
from draisine.cli._screen import numeric_columns, open_console, print_json
from draisine.errors import DataError, ParameterError

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.analysis.connection.inverse import RequiredTorques


def torques(result: Path, /, *, at: float = 0.0, json: bool = False, trust: Trust = False) -> None:
    """Tell which torques the joints of a stored run need, and what no motion shows of them.

    All joints count as driven. Where contacts repeat each other, torques and forces can be changed in
    some ways without a change of the motion: each way is one more column.

    :param result: A run that `draisine run --out` wrote (.nc, .zarr).
    :param at: The time in the run, s; the nearest sample is taken.
    :param json: Print JSON.
    """
    from draisine.analysis.connection.inverse import required_torques
    from draisine.results.attributes import table
    from draisine.results.bodies import restore_system
    from draisine.results.store import load
    from draisine.system.state import State
    from draisine.view.style import check_run

    data = load(result, trust)
    check_run(data)
    one = _sample(data, at)
    parts = ("orientation", "position", "shape", "speeds", "accelerations")
    if missing := [name for name in parts if name not in one]:
        raise DataError(f"the result is not whole: No variable named {missing[0]!r}.")
    q, p, r, v, vdot = (one[name].values for name in parts)
    mode = table(data, "mode")
    found = required_torques(restore_system(data), State(q, p, r, v), vdot, mode=mode)
    if json:
        print_json(_plain(found, float(one["time"])))
        return
    _print(found, float(one["time"]))


def _sample(data: "Dataset", at: float) -> "Dataset":
    """Return the sample of a run that is nearest to a time in it, if one mode holds throughout."""
    import numpy as np

    t = data["time"].values
    if str(data.attrs.get("mode")).startswith("[") or np.any(np.diff(t) <= 0.0):
        raise ParameterError(
            "torques are told of runs in which contacts stay as they are; in this one they may change, "
            "on a terrain or by grips. Run the part that you ask about by itself, with a mode."
        )
    if not t[0] <= at <= t[-1]:
        raise ParameterError(f"--at {at:g}: the run is from {t[0]:g} s to {t[-1]:g} s.")
    return data.isel(time=int(np.argmin(np.abs(t - at))))


def _plain(found: "RequiredTorques", time: float) -> dict[str, object]:
    return {
        "time": time,
        "torques": found.torques,
        "forces": found.forces,
        "static_torques": {name: x.tolist() for name, x in found.static_torques.items()},
        "static_forces": {name: x.tolist() for name, x in found.static_forces.items()},
        "dimensions": found.dimensions,
    }


def _print(found: "RequiredTorques", time: float) -> None:
    from rich.table import Table

    console, parts = open_console(), []
    parts.append(("joint", "torque (N m)", found.torques, found.static_torques))
    parts.append(("contact row", "force (N)", found.forces, found.static_forces))
    for kind, what, values, static in parts:
        ways = len(next(iter(static.values()), ()))
        columns = numeric_columns(what, *(f"way {k + 1}" for k in range(ways)))
        table = Table(kind, *columns, title=f"at {time:g} s", title_justify="left")
        for name, value in values.items():
            table.add_row(name, f"{value:.6g}", *(f"{x:.4g}" for x in static[name] + 0.0))
        if values:
            console.print(table)
    console.print(
        f"torques can be changed in {found.dimensions} ways that no motion shows"
        if found.dimensions
        else "the motion decides all torques"
    )
