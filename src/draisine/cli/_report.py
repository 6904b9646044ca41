"""Printing of the result of a scenario as tables on the screen."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from draisine.cli._screen import escape_markup, make_numeric_columns, open_console, print_json

if TYPE_CHECKING:
    from draisine.experiment.run import Result


MAX_LISTED_RUNS = 200
"""Largest number of runs of a sweep that are listed; longer tables would scroll past the remarks."""


def print_result(result: "Result", json: bool, full: bool = False) -> None:
    """Print the result of a scenario; `full` adds all outputs and rates to the table."""
    from draisine.experiment.report import (
        describe_result,
        summarise_result,
        tabulate_result,
        tabulate_state,
    )

    if json:
        print_json(summarise_result(result))
        return
    from rich.table import Table

    console = open_console()
    name = result.loaded.name
    title = result.loaded.scenario.title.removeprefix(f"{name.rpartition('/')[2]} ")
    console.print(f"[bold]{name}[/bold]: {escape_markup(title)}")
    is_single_state = result.loaded.scenario.kind == "state"
    rows = tabulate_state(result) if is_single_state else tabulate_result(result, full)
    if rows:
        if is_single_state:
            headings = ["value", "rate", "acceleration"]
        else:
            headings = ["start", "end", "minimum", "maximum"]
        quantities = Table("quantity", "unit", *make_numeric_columns(*headings))
        for name, unit, numbers in rows:
            texts = [f"{x:.6g}" for x in numbers] if is_single_state else _align_decimals(numbers)
            quantities.add_row(name, unit, *texts)
        console.print(quantities)
    if "eigenvalue_real" in result.data:
        console.print(_make_eigenvalue_table(result.data))
    if result.loaded.scenario.kind == "sweep" and result.data["outcome"].size <= MAX_LISTED_RUNS:
        console.print(_make_sweep_table(result))
    for line in describe_result(result):
        console.print(line)


ROW_DIGITS = 5
"""Number of significant digits of the largest number in a table row; six columns then fit on a screen."""


def _align_decimals(numbers: Sequence[float]) -> list[str]:
    """Format numbers of one quantity as text with the same number of decimals.

    >>> _comparable([0.0, 0.000405984, -0.000400698, 0.0738527])
    ['0', '0.000406', '-0.000401', '0.073853']
    >>> _comparable([4.6, 4.62244, 4.6, 12345.6])
    ['5', '5', '5', '12346']
    """
    from math import floor, isfinite, log10

    # Outside of this range, all decimals would be zero, or the number would be wider than its
    # column.
    largest = max((abs(x) for x in numbers if isfinite(x)), default=0.0)
    if largest < 1e-12 or largest >= 1e9:
        return [f"{x:.6g}" for x in numbers]
    places = max(0, ROW_DIGITS - 1 - floor(log10(largest)))
    texts = [f"{x:.{places}f}" for x in numbers]
    trimmed = [x.rstrip("0").rstrip(".") if "." in x else x for x in texts]
    return ["0" if x == "-0" else x for x in trimmed]


def print_motions(
    vehicle: str,
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    lines: Iterable[str],
) -> None:
    """Print a table of motions of a vehicle, one per row (the last column is text), and remarks."""
    from rich.table import Table

    motions = Table(*make_numeric_columns(*headings[:-1]), headings[-1])
    for row in rows:
        motions.add_row(*row)
    console = open_console()
    console.print(f"[bold]{escape_markup(vehicle)}[/bold]: {title}")
    console.print(motions)
    for line in lines:
        console.print(line)


def _make_eigenvalue_table(data: Any) -> Any:
    """Return a table of the eigenvalues at about ten of the speeds."""
    from rich.table import Table

    labels = [str(name) for name in data["eigenmode"].values]
    names = [
        name for name in labels if _mode_number(name) % 2 or _neighbour_mode(name, -1) not in labels
    ]
    table = Table(
        *make_numeric_columns("speed (m/s)", *(f"{_make_heading(name)} (1/s)" for name in names))
    )
    count = data.sizes["speed"]
    step = max(1, (count - 1) // 10)
    table.caption = (
        None if step == 1 else f"every {_format_ordinal(step)} of {count} speeds; --out writes all"
    )
    for k in range(0, count, step):
        row = _remove_round_off(data.isel(speed=k))
        cells = [
            _format_eigenvalues(row, [n for n in (name, _neighbour_mode(name, 1)) if n in labels])
            for name in names
        ]
        table.add_row(f"{float(row['speed']):g}", *cells)
    return table


def _format_ordinal(number: int) -> str:
    """Format an ordinal number as text.

    >>> [_ordinal(k) for k in (2, 3, 10, 11, 21, 112)]
    ['2nd', '3rd', '10th', '11th', '21st', '112th']
    """
    ending = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"


EIGENVALUE_ROUNDING = 1e-12
"""Smallest printed real or imaginary part, as a fraction of the largest eigenvalue; the rest is round-off."""


def _remove_round_off(eigenvalues: Any) -> Any:
    """Return the eigenvalues of one motion with round-off errors set to zero."""
    from numpy import hypot

    components = [f"eigenvalue_{component}" for component in ("real", "imaginary")]
    largest = float(hypot(*(eigenvalues[name].values for name in components)).max(initial=0.0))
    least = EIGENVALUE_ROUNDING * largest
    return eigenvalues.assign(
        {name: eigenvalues[name].where(abs(eigenvalues[name]) > least, 0.0) for name in components}
    )


def _make_heading(name: str) -> str:
    """Return the column heading of an eigenmode and its conjugate; pairs of the same name are numbered.

    >>> _heading("fork_bend"), _heading("steer_3")
    ('fork bend', 'steer 2')
    """
    number = _mode_number(name)
    stem = name if number == 1 else name.rpartition("_")[0]
    return " ".join(stem.split("_") + [f"{number // 2 + 1}"] * (number > 1))


def _mode_number(mode_name: str) -> int:
    """Return the number at the end of the name of an eigenmode; 1 if there is none.

    >>> _number("tyre"), _number("tyre_3"), _number("fork_bend_2")
    (1, 3, 2)
    """
    last = mode_name.rpartition("_")[2]
    return int(last) if last.isdigit() else 1


def _neighbour_mode(mode_name: str, step: int) -> str:
    """Return the name of the next or previous eigenmode with the same stem.

    >>> _neighbour("tyre", 1), _neighbour("tyre_3", 1), _neighbour("tyre_2", -1)
    ('tyre_2', 'tyre_4', 'tyre')
    """
    number = _mode_number(mode_name)
    stem = mode_name if number == 1 else mode_name.rpartition("_")[0]
    return stem if number + step == 1 else f"{stem}_{number + step}"


def _format_eigenvalues(eigenvalues: Any, mode_names: list[str]) -> str:
    """Format the eigenvalues of one eigenmode: a conjugate pair as one value, others separated by commas."""
    real, imaginary = (
        eigenvalues[f"eigenvalue_{part}"].sel(eigenmode=mode_names).values
        for part in ("real", "imaginary")
    )
    if len(mode_names) == 2 and imaginary[0] and imaginary[0] == -imaginary[1]:
        return f"{real[0]:.6g} ±{abs(imaginary[0]):.6g}i"
    return ", ".join(
        f"{x:.6g} {y:+.6g}i" if y else f"{x:.6g}" for x, y in zip(real, imaginary, strict=True)
    )


def _make_sweep_table(result: "Result") -> Any:
    """Return a table of varied values, outputs and outcomes of all runs of a sweep."""
    from rich.table import Table

    from draisine.experiment.report import list_runs

    data = result.data
    varied = [str(n) for n in data["outcome"].coords]
    if not (data["outcome"] == "completed").all():
        varied.append("outcome")
    outputs = [str(n) for n in data.data_vars if n != "outcome"]
    units = {n: str(data[n].attrs.get("units", "")) for n in outputs}
    headings = [escape_markup(f"{n} ({units[n]})" if units[n] else n) for n in outputs]
    table = Table(*varied, *make_numeric_columns(*headings))
    for run in list_runs(result):
        cells = [run[n] for n in (*varied, *outputs)]
        table.add_row(
            *("-" if x is None else x if isinstance(x, str) else f"{x:.6g}" for x in cells)
        )
    return table
