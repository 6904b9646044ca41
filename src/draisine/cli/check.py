"""`draisine check`."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from draisine.cli._options import Json
from draisine.cli._screen import (
    escape,
    fail,
    numeric_columns,
    open_console,
    print_json,
    progress_bar,
)

if TYPE_CHECKING:
    from rich.console import Console

    from draisine.experiment.check import Finding


def check(*scenarios: str, json: Json = False) -> int:
    """Hold published numbers against ours; exit with 1 where they disagree.

    :param scenarios: Names, files, or the folder of a source (mauny2018); without any, all scenarios
        that ship with the package.
    """
    from draisine.errors import SimulationError
    from draisine.experiment.check import check as hold
    from draisine.experiment.kinds.run import was_interrupted
    from draisine.scenario.library import load, named_together

    chosen = [load(name) for given in scenarios or [""] for name in named_together(given)]
    found: dict[str, list[Finding]] = {}
    failed: dict[str, str] = {}
    console = open_console()
    stopped = False
    for loaded in chosen:
        try:
            with progress_bar(f"checking {loaded.name}") as progress:
                found[loaded.name] = hold(loaded, progress)[1]
        except KeyboardInterrupt:
            stopped = True
        except SimulationError as error:
            stopped = was_interrupted(error)
            if not stopped:
                failed[loaded.name] = str(error)
        if stopped:
            break
        if not json:
            _tell(console, loaded.name, found, failed, whole=len(chosen) == len(scenarios))
    wrong = sum(not f.agrees for fs in found.values() for f in fs)
    if json:
        told = {name: [f.as_dict() for f in fs] for name, fs in found.items()}
        print_json(told | {name: [_failure(text)] for name, text in failed.items()})
    elif len(found) > 1:
        origins = Counter(f.origin for fs in found.values() for f in fs)
        kinds = ", ".join(f"{count} {origin}" for origin, count in origins.most_common())
        total = origins.total()
        console.print(f"{total - wrong} of {total} quantities are as expected ({kinds}).")
    if stopped:
        done = len(found) + len(failed)
        return fail(f"interrupted after {done} of {len(chosen)} scenarios.", 1)
    return 1 if wrong or failed else 0


def _failure(text: str) -> dict[str, Any]:
    """Return what stands in place of findings where a run had to stop."""
    return {"agrees": False, "error": text}


def _tell(
    console: "Console",
    name: str,
    found: "dict[str, list[Finding]]",
    failed: dict[str, str],
    whole: bool,
) -> None:
    """Print what came out of one scenario: all of it, or what disagrees."""
    if name in failed:
        console.print(f"{name}: [red]FAILED[/red]: {escape(failed[name])}")
        return
    bad = [f for f in found[name] if not f.agrees]
    _verdict(console, name, found[name], bad)
    if whole or bad:
        _findings(console, found[name] if whole else bad)


def _verdict(console: "Console", name: str, found: "list[Finding]", bad: "list[Finding]") -> None:
    if not found:
        console.print(f"{name}: expects no numbers.")
        return
    numbers = sum(f.compared for f in found)
    kept = "within its bounds" if all(f.origin == "measured" for f in found) else "agrees"
    kept = kept if any(f.judged for f in found) else "compared; no bounds are stated"
    word = f"[red]{len(bad)} DISAGREE[/red]" if bad else f"[green]{kept}[/green]"
    disputed = sum(f.origin == "disputed" for f in found)
    beside = f"; {disputed} disputed" if disputed else ""
    console.print(f"{name}: {len(found)} quantities, {numbers} numbers, {word}{beside}")


def _findings(console: "Console", found: "list[Finding]") -> None:
    """Print one table per block of expected numbers."""
    from itertools import groupby

    from rich.table import Column, Table

    for title, block in groupby(found, key=lambda f: f.block):
        rows = list(block)
        headings = numeric_columns("expected", "ours", "deviation", "allowed")
        table = Table(
            Column("quantity", no_wrap=True, min_width=34),
            *headings,
            "",
            Column("worst at", min_width=12),
            title=f"{escape(title)} ({rows[0].origin})",
            title_justify="left",
        )
        for f in rows:
            right = {"disputed": "disputed", "measured": "within" if f.judged else ""}
            mark = right.get(f.origin, "[green]ok[/green]") if f.agrees else "[red]NO[/red]"
            numbers = (
                f"{f.expected:.9g}"
                + ("" if f.spread is None else f" \N{PLUS-MINUS SIGN} {f.spread:.2g}"),
                f"{f.ours:.9g}",
                f"{f.deviation:.1e}",
                f"{f.allowed:.1e}" if f.judged else "",
            )
            table.add_row(escape(f.quantity), *numbers, mark, f.where)
            if f.rms_allowed is not None or (not f.judged and f.compared > 1):
                allowed = "" if f.rms_allowed is None else f"{f.rms_allowed:.1e}"
                table.add_row(f"  rms of {f.compared}", "", "", f"{f.rms:.1e}", allowed, mark, "")
        console.print(table)
        if rows[0].origin == "disputed":
            console.print(f"  Ours is right: {escape(rows[0].note)}")
