"""`draisine compare`: differences between two runs, or a run and a recording."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from draisine.cli._files import sibling_path, unused_path
from draisine.cli._options import NO_OUTPUT_OPTIONS, OutputOptions, Trust
from draisine.cli._screen import escape_markup, make_numeric_columns, open_console, print_json

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
    output: OutputOptions = NO_OUTPUT_OPTIONS,
    trust: Trust = False,
) -> None:
    """Compare two stored runs, or a run and a recording: differences of all time series, and a figure.

    Parameters
    ----------
    first
        A run written by `draisine run --out` (.nc, .zarr).
    second
        Another run, of any vehicle, or a recording: a .csv file with a column time.
    series
        Quantities to draw: --series lean,steer. Default: those that differ most.
    """
    from dataclasses import asdict

    from draisine.results.comparison import compare as merge_runs
    from draisine.results.comparison import differences
    from draisine.results.store import load

    figure = output.plot or unused_path(sibling_path(first, f"-{second.stem}.png"))
    output = replace(output, plot=figure)
    output.check_outputs()
    runs = load(first, trust), load(second, trust)
    both = merge_runs(*runs, (first.stem, second.stem))
    found_differences = differences(both)
    if output.json:
        print_json([asdict(difference) for difference in found_differences])
    else:
        console = open_console()
        console.print(
            f"[bold]{escape_markup(str(second))}[/bold] against {escape_markup(str(first))}"
        )
        console.print(_make_difference_table(found_differences))
        for line in _describe_differences(*runs, both, found_differences):
            console.print(line)
    output.write_outputs(both, series.split(",") if series else None)


def _make_difference_table(differences: "list[Difference]") -> "Table":
    """Return a table of the time series that differ between two runs."""
    import numpy as np
    from rich.table import Table

    from draisine.model.quantity import readable

    numbers = make_numeric_columns("largest", "at (s)", "rms", "range in the first")
    table = Table("difference of", "unit", *numbers)
    for difference in differences:
        sizes, unit = readable(
            np.array([difference.largest, difference.rms, difference.range]), difference.unit
        )
        largest, rms, extent = (f"{x:.3g}" for x in sizes)
        if difference.largest:
            table.add_row(
                escape_markup(difference.name), unit, largest, f"{difference.time:.4g}", rms, extent
            )
    return table


def _describe_differences(
    first: "Dataset", second: "Dataset", both: "Dataset", differences: "list[Difference]"
) -> list[str]:
    """Return text lines about shifted events, equal time series, and the compared time interval."""
    from draisine.results.events import read_events

    lines = [
        f"{a['kind']} {', '.join(a['contact'])}: {a['time']:.6f} s and {b['time']:.6f} s"
        for a, b in zip(read_events(first), read_events(second), strict=False)
        if (a["kind"], a["contact"]) == (b["kind"], b["contact"]) and a["time"] != b["time"]
    ]
    lines += [
        f"{escape_markup(each.name)}: only one run has a value, at {each.unmatched} times"
        for each in differences
        if each.unmatched
    ]
    equal = sum(not each.largest and not each.unmatched for each in differences)
    if equal == len(differences):
        lines.append("all quantities are bitwise equal")
    elif equal:
        lines.append(f"{equal} more quantities are bitwise equal")
    ends = [float(data["time"].values[-1]) for data in (first, second)]
    if max(ends) - float(both["time"].values[-1]) > 1e-9:
        lines.append(
            f"compared until {float(both['time'].values[-1]):g} s; the longer one ends at {max(ends):g} s"
        )
    if both.attrs["interpolated"]:
        lines.append(
            "the runs have few common times: the second is interpolated, which adds to the differences"
        )
    return lines
