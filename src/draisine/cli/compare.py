"""`draisine compare`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from draisine.cli._keep import beside, free_name
from draisine.cli._options import OUTPUT, OutputOptions, Trust
from draisine.cli._screen import escape, numeric_columns, open_console, print_json

if TYPE_CHECKING:
    from rich.table import Table
    from xarray import Dataset

    from draisine.results.comparison import Difference


def compare(
    first: Path,
    second: Path,
    /,
    *,
    series: str | None = None,
    output: OutputOptions = OUTPUT,
    trust: Trust = False,
) -> None:
    """Compare two stored runs, or a run and a recording: how far each quantity differs, and both in one
    figure.

    :param first: A run that `draisine run --out` wrote (.nc, .zarr).
    :param second: Another one, of the same or of another machine, or a recording: a .csv with a column time.
    :param series: What to draw, --series lean,steer; without it what tells most.
    """
    from dataclasses import asdict

    from draisine.results.comparison import compare as hold_beside
    from draisine.results.comparison import differences
    from draisine.results.store import load

    figure = output.plot or free_name(beside(first, f"-{second.stem}.png"))
    output = replace(output, plot=figure)
    output.check()
    runs = load(first, trust), load(second, trust)
    both = hold_beside(*runs, (first.stem, second.stem))
    found = differences(both)
    if output.json:
        print_json([asdict(one) for one in found])
    else:
        console = open_console()
        console.print(f"[bold]{escape(str(second))}[/bold] against {escape(str(first))}")
        console.print(_table(found))
        for line in _remarks(*runs, both, found):
            console.print(line)
    output.keep(both, series.split(",") if series else None)


def _table(found: "list[Difference]") -> "Table":
    """Return how far quantities differ, a row for each that does."""
    import numpy as np
    from rich.table import Table

    from draisine.model.quantity import readable

    numbers = numeric_columns("largest", "at (s)", "rms", "range in the first")
    drawn = Table("difference of", "unit", *numbers)
    for one in found:
        sizes, unit = readable(np.array([one.largest, one.rms, one.range]), one.unit)
        largest, rms, extent = (f"{x:.3g}" for x in sizes)
        if one.largest:
            drawn.add_row(escape(one.name), unit, largest, f"{one.time:.4g}", rms, extent)
    return drawn


def _remarks(
    one: "Dataset", other: "Dataset", both: "Dataset", found: "list[Difference]"
) -> list[str]:
    """Return lines about events at other times, what is equal, and what the table does not cover."""
    from draisine.results.events import events_of

    lines = [
        f"{a['kind']} {', '.join(a['contact'])}: {a['time']:.6f} s and {b['time']:.6f} s"
        for a, b in zip(events_of(one), events_of(other), strict=False)
        if (a["kind"], a["contact"]) == (b["kind"], b["contact"]) and a["time"] != b["time"]
    ]
    lines += [
        f"{escape(each.name)}: only one has a number, at {each.alone} times"
        for each in found
        if each.alone
    ]
    equal = sum(not each.largest and not each.alone for each in found)
    if equal == len(found):
        lines.append("equal to the bit")
    elif equal:
        lines.append(f"{equal} more quantities are equal to the bit")
    ends = [float(data["time"].values[-1]) for data in (one, other)]
    if max(ends) - float(both["time"].values[-1]) > 1e-9:
        lines.append(
            f"compared until {float(both['time'].values[-1]):g} s; one goes on to {max(ends):g} s"
        )
    if both.attrs["interpolated"]:
        lines.append("the runs share few times: the second is interpolated, which adds to this")
    return lines
