"""A scenario's result on the screen."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from draisine.cli._screen import escape, numeric_columns, open_console, print_json

if TYPE_CHECKING:
    from draisine.experiment.run import Result


LINES = 200
"""So many runs of a sweep are shown one by one."""


def report(result: "Result", json: bool, full: bool = False) -> None:
    """Print what a scenario left; in full also the outputs and rates that tell less."""
    from draisine.experiment.report import remarks, state_table, summary, table

    if json:
        print_json(summary(result))
        return
    from rich.table import Table

    console = open_console()
    name = result.loaded.name
    title = result.loaded.scenario.title.removeprefix(f"{name.rpartition('/')[2]} ")
    console.print(f"[bold]{name}[/bold]: {escape(title)}")
    still = result.loaded.scenario.kind == "state"
    rows = state_table(result) if still else table(result, full)
    if rows:
        told = (
            ("value", "rate", "acceleration") if still else ("start", "end", "minimum", "maximum")
        )
        drawn = Table("quantity", "unit", *numeric_columns(*told))
        for name, unit, numbers in rows:
            texts = [f"{x:.6g}" for x in numbers] if still else _comparable(numbers)
            drawn.add_row(name, unit, *texts)
        console.print(drawn)
    if "eigenvalue_real" in result.data:
        console.print(_eigenvalue_table(result.data))
    if result.loaded.scenario.kind == "sweep" and result.data["outcome"].size <= LINES:
        console.print(_sweep_table(result))
    for line in remarks(result):
        console.print(line)


DIGITS = 5
"""So many digits has the largest number of a row; the data have all."""


def _comparable(numbers: Sequence[float]) -> list[str]:
    """Return numbers of one quantity, all to the same place.

    >>> _comparable([0.0, 0.000405984, -0.000400698, 0.0738527])
    ['0', '0.000406', '-0.000401', '0.073853']
    >>> _comparable([4.6, 4.62244, 4.6, 12345.6])
    ['5', '5', '5', '12346']
    """
    from math import floor, isfinite, log10

    largest = max((abs(x) for x in numbers if isfinite(x)), default=0.0)
    if largest < 1e-12 or largest >= 1e9:
        return [f"{x:.6g}" for x in numbers]
    places = max(0, DIGITS - 1 - floor(log10(largest)))
    texts = [f"{x:.{places}f}" for x in numbers]
    trimmed = [x.rstrip("0").rstrip(".") if "." in x else x for x in texts]
    return ["0" if x == "-0" else x for x in trimmed]


def motions(
    vehicle: str,
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    lines: Iterable[str],
) -> None:
    """Print motions of a vehicle, one to a row whose last column is a word, and remarks."""
    from rich.table import Table

    drawn = Table(*numeric_columns(*headings[:-1]), headings[-1])
    for row in rows:
        drawn.add_row(*row)
    console = open_console()
    console.print(f"[bold]{escape(vehicle)}[/bold]: {title}")
    console.print(drawn)
    for line in lines:
        console.print(line)


def _eigenvalue_table(data: Any) -> Any:
    """Return the eigenvalues at some of the speeds."""
    from rich.table import Table

    labels = [str(name) for name in data["eigenmode"].values]
    names = [name for name in labels if _number(name) % 2 or _twin(name, -1) not in labels]
    table = Table(*numeric_columns("speed (m/s)", *(f"{_heading(name)} (1/s)" for name in names)))
    count = data.sizes["speed"]
    step = max(1, (count - 1) // 10)
    table.caption = None if step == 1 else f"one in {step} of {count} speeds; --out keeps all"
    for k in range(0, count, step):
        row = _settled(data.isel(speed=k))
        cells = [_roots(row, [n for n in (name, _twin(name, 1)) if n in labels]) for name in names]
        table.add_row(f"{float(row['speed']):g}", *cells)
    return table


def _settled(row: Any) -> Any:
    """Return the eigenvalues of one motion without round-off: what is less than a tiny share of the largest
    is zero.
    """
    from numpy import hypot

    parts = [f"eigenvalue_{part}" for part in ("real", "imaginary")]
    least = 1e-12 * float(hypot(*(row[part].values for part in parts)).max(initial=0.0))
    return row.assign({part: row[part].where(abs(row[part]) > least, 0.0) for part in parts})


def _heading(name: str) -> str:
    """Return what stands above the eigenvalues of a mode and its twin; such pairs are counted.

    >>> _heading("fork_bend"), _heading("steer_3")
    ('fork bend', 'steer 2')
    """
    number = _number(name)
    stem = name if number == 1 else name.rpartition("_")[0]
    return " ".join(stem.split("_") + [f"{number // 2 + 1}"] * (number > 1))


def _number(name: str) -> int:
    """Return which one of its name an eigenmode is.

    >>> _number("tyre"), _number("tyre_3"), _number("fork_bend_2")
    (1, 3, 2)
    """
    last = name.rpartition("_")[2]
    return int(last) if last.isdigit() else 1


def _twin(name: str, step: int) -> str:
    """Return the next eigenmode of a name, or the one before.

    >>> _twin("tyre", 1), _twin("tyre_3", 1), _twin("tyre_2", -1)
    ('tyre_2', 'tyre_4', 'tyre')
    """
    number = _number(name)
    stem = name if number == 1 else name.rpartition("_")[0]
    return stem if number + step == 1 else f"{stem}_{number + step}"


def _roots(row: Any, names: list[str]) -> str:
    """Return the eigenvalues of one mode: a conjugate pair as one, others side by side."""
    real, imaginary = (
        row[f"eigenvalue_{part}"].sel(eigenmode=names).values for part in ("real", "imaginary")
    )
    if len(names) == 2 and imaginary[0] and imaginary[0] == -imaginary[1]:
        return f"{real[0]:.6g} ±{abs(imaginary[0]):.6g}i"
    return ", ".join(
        f"{x:.6g} {y:+.6g}i" if y else f"{x:.6g}" for x, y in zip(real, imaginary, strict=True)
    )


def _sweep_table(result: "Result") -> Any:
    """Return the answers of all runs of a sweep."""
    from rich.table import Table

    from draisine.experiment.report import runs

    data = result.data
    sides = [str(n) for n in data["outcome"].coords]
    sides += [] if (data["outcome"] == "completed").all() else ["outcome"]
    asked = [str(n) for n in data.data_vars if n != "outcome"]
    units = {n: str(data[n].attrs.get("units", "")) for n in asked}
    table = Table(
        *sides, *numeric_columns(*(escape(f"{n} ({units[n]})" if units[n] else n) for n in asked))
    )
    for one in runs(result):
        cells = [one[n] for n in (*sides, *asked)]
        table.add_row(
            *("-" if x is None else x if isinstance(x, str) else f"{x:.6g}" for x in cells)
        )
    return table
