"""`draisine check`."""

from typing import TYPE_CHECKING

from draisine.cli.options import Json
from draisine.cli.screen import escaped, open_console, print_json, right, working

if TYPE_CHECKING:
    from rich.console import Console

    from draisine.experiment.check import Finding


def check(*scenarios: str, json: Json = False) -> int:
    """Hold published numbers against ours; exit with 1 where they disagree.

    :param scenarios: Names or files; without any, all scenarios that ship with the package.
    """
    from draisine.experiment.check import check as hold
    from draisine.experiment.library import load
    from draisine.experiment.library import scenarios as shipped

    chosen = [load(name) for name in scenarios or shipped()]
    found: dict[str, list[Finding]] = {}
    console = open_console()
    for loaded in chosen:
        with working(f"checking {loaded.name}"):
            found[loaded.name] = hold(loaded)[1]
        if not json:
            bad = [f for f in found[loaded.name] if not f.agrees]
            _verdict(console, loaded.name, found[loaded.name], bad)
            if scenarios or bad:
                _findings(console, found[loaded.name] if scenarios else bad)
    wrong = sum(not f.agrees for fs in found.values() for f in fs)
    if json:
        print_json({name: [f.as_dict() for f in fs] for name, fs in found.items()})
    elif len(found) > 1:
        total = sum(len(fs) for fs in found.values())
        console.print(f"{total - wrong} of {total} quantities agree.")
    return 1 if wrong else 0


def _verdict(console: "Console", name: str, found: "list[Finding]", bad: "list[Finding]") -> None:
    if not found:
        console.print(f"{name}: expects no numbers.")
        return
    numbers = sum(f.compared for f in found)
    word = f"[red]{len(bad)} DISAGREE[/red]" if bad else "[green]agrees[/green]"
    console.print(f"{name}: {len(found)} quantities, {numbers} numbers, {word}")


def _findings(console: "Console", found: "list[Finding]") -> None:
    """Print one table per block of expected numbers."""
    from itertools import groupby

    from rich.table import Column, Table

    for title, block in groupby(found, key=lambda f: f.block):
        rows = list(block)
        headings = right("expected", "ours", "deviation", "allowed")
        table = Table(
            Column("quantity", no_wrap=True, min_width=34),
            *headings,
            "",
            Column("worst at", min_width=12),
            title=f"{escaped(title)} ({rows[0].origin})",
            title_justify="left",
        )
        for f in rows:
            mark = "[green]ok[/green]" if f.agrees else "[red]NO[/red]"
            numbers = (
                f"{f.expected:.9g}",
                f"{f.ours:.9g}",
                f"{f.deviation:.1e}",
                f"{f.allowed:.1e}",
            )
            table.add_row(escaped(f.quantity), *numbers, mark, f.where)
        console.print(table)
