"""`draisine check`: comparison of results with published numbers."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from draisine.cli._options import Json
from draisine.cli._screen import (
    escape_markup,
    make_numeric_columns,
    open_console,
    print_error,
    print_json,
    progress_bar,
)

if TYPE_CHECKING:
    from rich.console import Console

    from draisine.experiment.check import Finding
    from draisine.experiment.printed import Judgement


def check(*scenarios: str, printed: bool = False, json: Json = False) -> int:
    """Compare computed results with published numbers; the exit code is 1 if they disagree.

    Parameters
    ----------
    scenarios
        Names, files, or a folder of scenarios (mauny2018). Default: all shipped scenarios. With --printed:
        documents (mauny2017, mauny2018, schwab2003, escalona2012). Default: all four.
    printed
        List every number that the four founding documents print, its computed value and the verdict.
    """
    if printed:
        return _check_printed(scenarios, json)
    from draisine.errors import SimulationError
    from draisine.experiment.check import check as compare_scenario
    from draisine.scenario.library import expand_folder, load
    from draisine.simulation.contact.many import was_interrupted

    chosen = [load(name) for given in scenarios or [""] for name in expand_folder(given)]
    findings: dict[str, list[Finding]] = {}
    failures: dict[str, str] = {}
    console = open_console()
    # Print all comparisons of scenarios that the user names. For folders of scenarios print
    # disagreements only.
    is_named = len(chosen) == len(scenarios)
    interrupted = False
    for loaded in chosen:
        try:
            with progress_bar(f"checking {loaded.name}") as progress:
                findings[loaded.name] = compare_scenario(loaded, progress)[1]
        except KeyboardInterrupt:
            interrupted = True
        except SimulationError as error:
            interrupted = was_interrupted(error)
            if not interrupted:
                failures[loaded.name] = str(error)
        if interrupted:
            break
        if not json:
            _print_scenario(console, loaded.name, findings, failures, is_named)
    wrong = sum(not f.agrees for fs in findings.values() for f in fs)
    if json:
        content = {name: [f.as_dict() for f in fs] for name, fs in findings.items()}
        print_json(content | {name: [_make_failure_entry(text)] for name, text in failures.items()})
    else:
        if not is_named:
            _print_disputed(console, findings)
        if len(findings) > 1:
            origins = Counter(f.origin for fs in findings.values() for f in fs)
            kinds = ", ".join(f"{count} {origin}" for origin, count in origins.most_common())
            total = origins.total()
            console.print(f"{total - wrong} of {total} quantities agree ({kinds}).")
    if interrupted:
        done = len(findings) + len(failures)
        return print_error(f"Interrupted after {done} of {len(chosen)} scenarios.", 1)
    return 1 if wrong or failures else 0


def _check_printed(documents: tuple[str, ...], json: bool) -> int:
    """Judge all printed numbers of the documents; return 1 if one has no verdict."""
    from draisine.errors import expect_known
    from draisine.experiment.printed import VERDICT_ERRORS, judge_numbers, printed_documents

    titles = printed_documents()
    for document in documents:
        expect_known("No document", document, list(titles))
    chosen = documents or tuple(titles)
    judgements: dict[str, list[Judgement]] = {}
    for document in chosen:
        with progress_bar(f"computing the numbers of {document}") as progress:
            judgements[document] = judge_numbers(progress, document)
    counts = Counter(j.verdict for js in judgements.values() for j in js)
    if json:
        content = {name: [j.as_dict() for j in js] for name, js in judgements.items()}
        print_json(content)
    else:
        console = open_console()
        for document, rows in judgements.items():
            _print_judgements(console, titles[document], rows)
        # Print the verdicts in the order of the docstring of `experiment.printed`.
        kinds = ", ".join(f"{counts[v]} {v}" for v in sorted(counts, key=_rank_verdict))
        console.print(f"{counts.total()} printed numbers: {kinds}.")
    return 1 if any(counts[verdict] for verdict in VERDICT_ERRORS) else 0


def _rank_verdict(verdict: str) -> int:
    """Return the rank of a verdict in the summary line."""
    from draisine.experiment import printed

    order = (printed.AGREES, printed.ROUNDING, printed.DISPUTED, *printed.VERDICT_ERRORS)
    return order.index(verdict)


def _print_judgements(console: "Console", title: str, judgements: "list[Judgement]") -> None:
    """Print the printed numbers of one document with computed values, verdicts and reasons."""
    from rich.table import Column, Table

    from draisine.experiment.printed import DISPUTED, VERDICT_ERRORS

    table = Table(
        Column("place", min_width=13),
        Column("quantity", min_width=24),
        *make_numeric_columns("printed", "computed"),
        Column("unit", no_wrap=True),
        Column("verdict", min_width=12),
        title=escape_markup(title),
        title_justify="left",
    )
    for j in judgements:
        computed = j.computed if isinstance(j.computed, str) else f"{j.computed:.6g}"
        colour = (
            "red" if j.verdict in VERDICT_ERRORS else "yellow" if j.verdict == DISPUTED else "green"
        )
        table.add_row(
            escape_markup(j.place),
            escape_markup(j.quantity),
            j.printed,
            computed,
            j.unit,
            f"[{colour}]{j.verdict}[/{colour}]",
        )
    console.print(table)
    for j in judgements:
        if j.reason:
            console.print(f"  {escape_markup(f'{j.place}, {j.quantity}: {j.reason}')}")


def _make_failure_entry(text: str) -> dict[str, Any]:
    """Return the JSON entry of a scenario whose run failed."""
    return {"agrees": False, "error": text}


def _print_scenario(
    console: "Console",
    name: str,
    findings: "dict[str, list[Finding]]",
    failures: dict[str, str],
    is_named: bool,
) -> None:
    """Print all comparisons of one scenario, or only the disagreements."""
    if name in failures:
        console.print(f"{name}: [red]FAILED[/red]: {escape_markup(failures[name])}")
        return
    disagreements = [f for f in findings[name] if not f.agrees]
    _print_verdict(console, name, findings[name], len(disagreements))
    if is_named or disagreements:
        _print_findings(console, findings[name] if is_named else disagreements)


def _print_verdict(
    console: "Console", name: str, findings: "list[Finding]", disagreements: int
) -> None:
    """Print one line with the number of comparisons and disagreements of a scenario."""
    if not findings:
        console.print(f"{name}: no expected values.")
        return
    numbers = sum(f.compared for f in findings)
    if not any(f.judged for f in findings):
        verdict = "compared; no bounds are stated"
    elif all(f.origin == "measured" for f in findings):
        verdict = "within its bounds"
    else:
        verdict = "agrees"
    text = f"[red]{disagreements} DISAGREE[/red]" if disagreements else f"[green]{verdict}[/green]"
    disputed = sum(f.origin == "disputed" for f in findings)
    remark = f"; {disputed} disputed" if disputed else ""
    console.print(f"{name}: {len(findings)} quantities, {numbers} numbers, {text}{remark}")


def _print_disputed(console: "Console", findings: "dict[str, list[Finding]]") -> None:
    """Print the disputed numbers of all scenarios with document, place, computed value and reason.

    The numbers of one block have the same place and reason, which are printed once.
    """
    from itertools import groupby

    disputed = [(name, f) for name, fs in findings.items() for f in fs if f.origin == "disputed"]
    if not disputed:
        return
    # Mention `--printed`, because it also lists numbers that no scenario expects.
    console.print(
        "Disputed numbers (SI units), where the computed value is right; all of them: "
        "draisine check --printed"
    )
    for (name, block), pairs in groupby(disputed, key=lambda pair: (pair[0], pair[1].block)):
        numbers = [finding for _, finding in pairs]
        console.print(f"  {escape_markup(f'{name}, {block}: {numbers[0].note}')}")
        for f in numbers:
            quantity = f"{f.quantity} at {f.where}" if f.where else f.quantity
            values = f"printed {f.expected:.9g}, computed {f.ours:.6g}"
            console.print(f"    {escape_markup(f'{quantity}: {values}')}")


def _print_findings(console: "Console", findings: "list[Finding]") -> None:
    """Print one table of comparisons per block of expected values."""
    from itertools import groupby

    from rich.table import Column, Table

    for title, block in groupby(findings, key=lambda f: f.block):
        rows = list(block)
        headings = make_numeric_columns("expected", "ours", "deviation", "allowed")
        table = Table(
            Column("quantity", no_wrap=True, min_width=34),
            *headings,
            "",
            Column("worst at", min_width=12),
            title=f"{escape_markup(title)} ({rows[0].origin})",
            title_justify="left",
        )
        for f in rows:
            marks = {"disputed": "disputed", "measured": "within" if f.judged else ""}
            mark = marks.get(f.origin, "[green]ok[/green]") if f.agrees else "[red]NO[/red]"
            numbers = (
                f"{f.expected:.9g}"
                + ("" if f.spread is None else f" \N{PLUS-MINUS SIGN} {f.spread:.2g}"),
                f"{f.ours:.9g}",
                f"{f.deviation:.1e}",
                f"{f.allowed:.1e}" if f.judged else "",
            )
            table.add_row(escape_markup(f.quantity), *numbers, mark, f.where)
            if f.rms_allowed is not None or (not f.judged and f.compared > 1):
                allowed = "" if f.rms_allowed is None else f"{f.rms_allowed:.1e}"
                table.add_row(f"  rms of {f.compared}", "", "", f"{f.rms:.1e}", allowed, mark, "")
        console.print(table)
        if rows[0].origin == "disputed":
            console.print(f"  The computed value is right: {escape_markup(rows[0].note)}")
