"""`draisine compare`."""

from dataclasses import replace
from pathlib import Path

from draisine.cli._keep import free_name
from draisine.cli._options import OUTPUT, OutputOptions, Trust
from draisine.cli._screen import escape, numeric_columns, open_console, print_json


def compare(
    first: Path, second: Path, /, *, output: OutputOptions = OUTPUT, trust: Trust = False
) -> None:
    """Compare two stored runs: how far each quantity differs, and both in one figure.

    :param first: A run that `draisine run --out` wrote (.nc, .zarr).
    :param second: Another one, of the same or of another machine.
    """
    from dataclasses import asdict

    from draisine.results.comparison import compare as hold_beside
    from draisine.results.comparison import differences
    from draisine.results.store import load

    figure = output.plot or free_name(first.with_name(f"{first.stem}-{second.stem}.png"))
    output = replace(output, plot=figure)
    output.check()
    both = hold_beside(load(first, trust), load(second, trust), (first.stem, second.stem))
    found = differences(both)
    if output.json:
        print_json([asdict(one) for one in found])
    else:
        from rich.table import Table

        numbers = numeric_columns("largest", "at (s)", "rms", "range")
        drawn = Table("difference of", "unit", *numbers)
        for one in found:
            cells = (f"{one.largest:.3g}", f"{one.time:.4g}", f"{one.rms:.3g}", f"{one.range:.3g}")
            drawn.add_row(escape(one.name), one.unit, *cells)
        console = open_console()
        console.print(f"[bold]{escape(str(second))}[/bold] against {escape(str(first))}")
        console.print(drawn)
        if both.attrs["interpolated"]:
            console.print("the runs share no times: the second is interpolated, which adds to this")
        elif all(one.largest == 0.0 for one in found):
            console.print("equal to the bit")
    output.keep(both)
