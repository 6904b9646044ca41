"""Which options combine with which outputs: the rows and columns of the page `docs/combinations.md`.

A cell is a law of `invariants` for a machine with one option: the option works with that output if the
law holds. `python tests/combine/table.py` writes the page; `test_table` compares the page with the laws.
"""

import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "combinations.md"
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))

from combine.invariants import Verdict, judge  # noqa: E402
from combine.machines import Combination, read_combination  # noqa: E402

COLUMNS = {
    "run": "sample_spacing",
    "stepper": "slices",
    "many runs": "lanes",
    "terrain": "on_terrain",
    "smooth ground": "on_smooth_ground",
    "stepper on terrain": "slices_on_terrain",
    "many runs on terrain": "drop_many",
    "time stepping": "time_stepping",
    "compliant ground": "compliant_ground",
    "other formulations": "formulations",
    "linear system": "linear",
    "gradient": "gradient",
    "equations": "equations",
    "linear equations": "linear_equations",
    "C": "c_code",
    "JavaScript": "javascript",
    "CasADi": "casadi",
    "stored": "storage",
}
"""The outputs, and the laws that must hold for them."""

MEANINGS = {
    "run": "`simulate`; the spacing of samples changes nothing",
    "stepper": "`Stepper`; any slicing of time gives the same state",
    "many runs": "`simulate_many`; each machine ends as it does alone",
    "terrain": "`simulate(terrain=...)`; wheels that stay on the ground roll as they do without terrain",
    "smooth ground": "`height_field(..., smooth=True)`; smooth ground that is level is a level plane",
    "stepper on terrain": "`Stepper(terrain=...)`; any slicing of time gives the same state",
    "many runs on terrain": "`simulate_many(terrain=...)`; each fall equals that of `simulate` bit by bit",
    "time stepping": '`ContactOptions(solver="time_stepping")`; it comes near the event-driven run',
    "compliant ground": "`ContactOptions(solver=Compliant(...))`; stiff ground is like rigid ground",
    "other formulations": "`System.accelerate(formulation=...)`; all formulations agree",
    "linear system": "`linearise`; equal to differences of nonlinear runs",
    "gradient": "`gradient`; equal to differences of nonlinear runs",
    "equations": "`System.equations()` are written",
    "linear equations": "`System.equations(linear=True)` are written",
    "C": "the simulator in C ends in the same state",
    "JavaScript": "the simulator in JavaScript ends in the same state",
    "CasADi": "the right-hand side in CasADi has the same values",
    "stored": "`save` and `load` keep every number and attribute",
}

ROWS = {
    "Whipple bicycle": "whipple",
    "slope": "whipple slope=uphill",
    "torus wheels (`crown`)": "whipple crown=torus",
    "linear tyres": "whipple tyres=linear",
    "tyres in proportion to their load": "whipple tyres=load",
    "passive tyres": "whipple tyres=passive",
    "brush tyres": "whipple tyres=brush",
    "Magic Formula": "whipple tyres=magic",
    "Magic Formula on a vertical spring": "whipple tyres=sprung",
    "steering spring and damper": "whipple flexible=steering",
    "dry friction of the steering": "whipple flexible=friction",
    "flexible fork": "whipple flexible=fork",
    "flexible frame": "whipple flexible=frame",
    "suspension": "whipple flexible=suspension",
    "leaning rider": "whipple rider=torso",
    "rider on a sprung saddle": "whipple rider=seat",
    "arms on the bar (closed loops)": "whipple rider=arms",
    "pedalling legs (prescribed cranks)": "whipple rider=legs",
    "prescribed steering": "whipple steering=prescribed",
    "motorcycle": "motorcycle",
    "car (couplings, redundant wheels)": "car",
    "skateboard": "skateboard",
    "limits of motors": "trolley motors=limited, driven",
    "stops of joints": "trolley stops=near",
    "roller racer (planar, blades)": "roller_racer",
    "trailing wheel (moving ground)": "trailing_wheel",
    "fish (added mass)": "fish",
    "chain (no contacts)": "chain base=hung",
    "control law": "whipple, law=feedback",
    "control law with states": "whipple, law=memory",
    "control law that guides a joint": "whipple, law=guided",
    "control law in Python": "whipple, law=python",
    "constant inputs": "whipple, driven",
    "Adams-Bashforth method": "whipple, integrator=ab4",
    "no projection": "whipple, drift=none",
    "correction of drift (2.41)": "whipple, drift=0.5",
}
"""The options by name, each as a combination."""

SEED = 7
"""Of all starts."""


@dataclass(frozen=True)
class Cell:
    """The result of an option and an output: "works", "refused" or "none", with the reason."""

    kind: str
    message: str = ""


def option(row: str) -> Combination:
    """Return the combination of a row."""
    return read_combination(f"{ROWS[row]}, seed={SEED}")


def find_cell(row: str, column: str) -> Cell:
    """Return the cell of an option and an output; raise if the law of the output is violated."""
    found: Verdict = judge(COLUMNS[column], option(row))
    if found.kind == "holds":
        return Cell("works")
    if found.kind == "refused":
        return Cell("refused", plain_message(found.text))
    if found.kind == "not applicable":
        return Cell("none", found.text)
    raise AssertionError(f"{COLUMNS[column]}: {option(row)}: {found.kind}, {found.text}")


def plain_message(text: str) -> str:
    """Return the message of an error without its type, and without numbers, whose last digits differ
    from one machine to another.
    """
    _, _, message = text.partition(": ")
    message = re.sub(r"-?\d+\.\d+(e[-+]?\d+)?", "...", message)
    return " ".join(message.split())


MARKS = {"works": "✓", "none": "-"}
"""The signs of cells without a message; refused ones have the number of their message."""


def write_page(cells: Mapping[tuple[str, str], Cell]) -> str:
    """Return the page of all cells."""
    notes: dict[str, int] = {}
    lines = ["| option | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for row in ROWS:
        marks = [_mark(cells[row, column], notes) for column in COLUMNS]
        lines.append(f"| {row} | " + " | ".join(marks) + " |")
    return "\n".join(
        [
            "# Combining options",
            "",
            "Find out whether an option of a machine or run (row) works with an output (column).",
            "",
            "* ✓: it works, and a test checks the law of the output, listed below.",
            "* A number: it does not work; draisine raises an error with the message of that number.",
            "* A hyphen: the law cannot be tested, for the reason in brackets.",
            "",
            *lines,
            "",
            "## Outputs and their laws",
            "",
            *(f"* **{name}**: {text}." for name, text in MEANINGS.items()),
            "",
            "## Messages and reasons",
            "",
            *(f"{k}. {_escape(message)}" for message, k in notes.items()),
            "",
        ]
    )


def _mark(cell: Cell, notes: dict[str, int]) -> str:
    """Return the sign of a cell; messages are numbered in the order of the table."""
    if cell.kind == "works":
        return MARKS["works"]
    number = notes.setdefault(cell.message, len(notes) + 1)
    return str(number) if cell.kind == "refused" else f"{MARKS['none']} ({number})"


def _escape(message: str) -> str:
    """Return a message with the characters that Markdown would read as markup escaped."""
    return re.sub(r"([*_<>\[\]{}$|\\])", r"\\\1", message)


def read_page(text: str) -> dict[tuple[str, str], Cell]:
    """Return the cells of a page, by row and column."""
    listed = re.findall(r"^(\d+)\. (.*)$", text, re.M)
    notes = {number: re.sub(r"\\(.)", r"\1", message) for number, message in listed}
    head, _, *body = (line for line in text.splitlines() if line.startswith("|"))
    columns = _split(head)[1:]
    out = {}
    for line in body:
        row, *marks = _split(line)
        for column, mark in zip(columns, marks, strict=True):
            out[row, column] = _read_mark(mark, notes)
    return out


def _split(line: str) -> list[str]:
    """Return the entries of a line of a table."""
    return [entry.strip() for entry in line.strip("|").split("|")]


def _read_mark(mark: str, notes: Mapping[str, str]) -> Cell:
    """Return the cell of a sign."""
    if mark == MARKS["works"]:
        return Cell("works")
    if mark.startswith(MARKS["none"]):
        return Cell("none", notes[mark.strip("- ()")])
    return Cell("refused", notes[mark])


def main() -> None:
    """Write the page."""
    warnings.simplefilter("ignore")
    cells = {(row, column): find_cell(row, column) for row in ROWS for column in COLUMNS}
    PAGE.write_text(write_page(cells), encoding="utf-8")


if __name__ == "__main__":
    main()
