"""Complete page of equations: coordinates, speeds and parameters with meanings, then the equations."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draisine.algebra.scalar import is_zero
from draisine.algebra.trace import Expr, reachable
from draisine.codegen.files import write_text
from draisine.codegen.formula import Expression, Name, Page, Symbol, parse_name
from draisine.errors import UnknownNameError, expect_known
from draisine.mechanics.base import turns_freely
from draisine.model import BASE_TWIST
from draisine.reading.contacts import write_frames, write_ground
from draisine.reading.cut import TooLong
from draisine.reading.names import INERTIA, LENGTH, SPEED, derive_symbol
from draisine.reading.sheet import Sheet, parse_sentence
from draisine.reading.solution import (
    keep_base_rates,
    write_accelerations,
    write_kernel,
    write_kernel_rate,
    write_multipliers,
    write_reconstruction,
)
from draisine.reading.stages import (
    write_constraints,
    write_free_dynamics,
    write_reduced_dynamics,
)
from draisine.reading.subject import Subject
from draisine.registry import find, names

STAGE_GROUPS = (
    (keep_base_rates, write_frames, write_ground, write_constraints, write_free_dynamics),
    (write_kernel, write_kernel_rate, write_reduced_dynamics),
    (write_reconstruction, write_multipliers),
)
"""Functions that write the sections of a page, in groups and in order.

Each group is written either in the given symbols or with abbreviations.
"""

ANGLE_SYMBOLS = {"yaw": r"\psi", "lean": r"\varphi", "pitch": r"\theta"}
"""LaTeX symbols of the angles of the base, unless the vehicle defines its own."""


@dataclass(frozen=True, eq=False)
class Equations:
    """Printed equations: `print` writes LaTeX, a notebook shows HTML, `save` chooses by the file
    suffix.

    Attributes
    ----------
    page
        Blocks of text and formulas.
    subject
        The traced model; None for equations in numbers.
    """

    page: Page
    subject: Subject | None = None

    def write(self, language: str = "latex") -> str:
        """Return the equations as text.

        Parameters
        ----------
        language
            Name of a printer: latex, html, markdown, ... (`draisine list printers`).
        """
        return str(find("printer", language).write(self.page))

    def save(self, path: str | Path) -> None:
        """Write the equations to a file.

        Parameters
        ----------
        path
            File whose suffix selects the printer: .tex, .html, .md, ...

        Raises
        ------
        UnknownNameError
            If no printer has this suffix.
        """
        path = Path(path)
        write_text(self.write(find_printer(path.suffix)), path)

    def __str__(self) -> str:
        return self.write()

    def __repr__(self) -> str:
        return f"Equations of {self.page.title}: `print` them as LaTeX, or `.save('page.html')`"

    def _repr_html_(self) -> str:
        """Return the equations as HTML for notebooks."""
        return self.write("html")


def find_printer(suffix: str) -> str:
    """Return the name of the printer for a file suffix.

    >>> find_printer(".tex")
    'latex'
    """
    languages = {find("printer", name).SUFFIX: name for name in names("printer")}
    expect_known(
        "no printer of equations for files that end with", suffix, languages, UnknownNameError
    )
    return languages[suffix]


def write_nonlinear(subject: Subject, title: str, full: bool = False) -> Equations:
    """Return the printed equations of one contact mode of a model.

    Equations of planar models are written in the given symbols, group by group, until an entry is
    too long to be legible; all others use named intermediate quantities. With `full`, all steps to
    the accelerations are written line by line, with named intermediate quantities.
    """
    written_out = 0
    if not turns_freely(subject.model) and not full:
        written_out = _count_legible_groups(subject)
    return Equations(_make_page(subject, full, written_out).finish_page(title), subject)


def _count_legible_groups(subject: Subject) -> int:
    """Return how many of the first groups of sections have entries that are short enough to be
    printed without abbreviations.
    """
    sheet = Sheet(subject.graph, expand=True, draft=True)
    name_given_symbols(sheet, subject)
    for k, group in enumerate(STAGE_GROUPS):
        try:
            for stage in group:
                stage(sheet, subject)
        except TooLong:
            return k
    return len(STAGE_GROUPS)


def _make_page(subject: Subject, full: bool, written_out: int) -> Sheet:
    """Return the page whose first `written_out` groups of sections are printed without
    abbreviations.
    """
    sheet = Sheet(subject.graph, written_out > 0)
    name_given_symbols(sheet, subject)
    for k, group in enumerate(STAGE_GROUPS):
        if k == written_out > 0:
            sheet.stop_expanding()
        for stage in group:
            if full and stage is write_reconstruction:
                write_accelerations(sheet, subject)
            stage(sheet, subject)
    return sheet


def name_given_symbols(sheet: Sheet, subject: Subject, is_linear: bool = False) -> None:
    """Define and list the symbols of coordinates, speeds, inputs and parameters; a `is_linear` page
    lists its own
    speeds.
    """
    used = _used_nodes(subject)
    sheet.meanings = _symbol_meanings(subject)
    listed = list_parameters(sheet, subject, used)
    coordinates = _name_coordinates(sheet, subject, used)
    named = _name_speeds(sheet, subject)
    speeds = [] if is_linear else named
    form = subject.form
    model = subject.model
    if model.twist:
        place = form.place or f"{subject.origin_description}, axes x forward, y left, z up"
        base = model.bodies[0].name.replace("_", " ")
        sheet.add_paragraph(f"Base: {base}; its frame is at {place}. ", *speeds)
    else:
        sheet.add_paragraph(*speeds)
    listing = ["Coordinates: ", *coordinates, ". "] if coordinates else []
    turns = parse_sentence("Notation: $c_x$ = cos $x$, $s_x$ = sin $x$, $t_x$ = tan $x$. ")
    sheet.add_paragraph(*listing, *turns, *_describe_validity(subject, is_linear))
    sheet.add_paragraph("Parameters: ", *listed, ".")


def _symbol_meanings(subject: Subject) -> dict[str, str]:
    """Return the meanings of the symbols of the graph in words."""
    model = subject.model
    out = {name: subject.form.meanings.get(name, ("", name))[1] for name in subject.parameters}
    for letter, words in (
        ("r", [joint.name for joint in model.joints]),
        ("v", model.speeds),
        ("w", model.inputs),
    ):
        out |= {f"{letter}[{k}]": word.replace("_", " ") for k, word in enumerate(words)}
    out |= {f"p[{k}]": "position of the frame's origin" for k in range(3)}
    return out | {f"turn {name}": name for name in subject.angles} | {"t[0]": "time"}


def list_parameters(sheet: Sheet, subject: Subject, used: set[int]) -> list[str | Expression]:
    """Define symbols for the parameters that the equations use, and return their list with
    meanings.
    """
    form = subject.form
    out: list[str | Expression] = []
    for name, x in subject.parameters.items():
        if x.index in used:
            unit, meaning = form.meanings.get(name, ("", name.replace("_", " ")))
            kind = INERTIA if unit.startswith("kg") else LENGTH
            sheet.cut.name_symbol(x, derive_symbol(name, form.symbols), kind)
            out += _describe_last_symbol(sheet, meaning, "; ")
    return out[:-1]


def _describe_last_symbol(sheet: Sheet, meaning: str, separator: str) -> list[str | Expression]:
    """Return the most recently defined symbol with its meaning, as words of a list."""
    return [Name(sheet.names.symbols[-1]), f" {meaning}" if meaning else "", separator]


def _name_coordinates(sheet: Sheet, subject: Subject, used: set[int]) -> list[str | Expression]:
    """Define symbols for coordinates, element states, loads and time, and return their list with
    meanings.
    """
    symbols = subject.form.symbols
    cut = sheet.cut
    out: list[str | Expression] = []
    for name in subject.angles:
        x = subject.turns[name]
        cut.name_symbol(x, Symbol.parse(symbols.get(name, ANGLE_SYMBOLS.get(name, name))))
        out += _describe_last_symbol(sheet, subject.form.meanings.get(name, ("", name))[1], ", ")
    for x, symbol, joint in zip(
        subject.r, _joint_symbols(subject), subject.model.joints, strict=True
    ):
        cut.name_symbol(x, symbol)
        out += _describe_last_symbol(sheet, joint.name.replace("_", " "), ", ")
    place = [k for k in subject.model.twist if k < 3]
    for k in place:
        cut.name_symbol(subject.p[k], Symbol("XYZ"[k]))
        out += _describe_last_symbol(sheet, "of the frame's origin" if k == place[-1] else "", ", ")
    for k, x in enumerate(subject.z):
        cut.name_symbol(x, Symbol("z", (str(k + 1),)))
        out += _describe_last_symbol(
            sheet, "of force elements" if k == len(subject.z) - 1 else "", ", "
        )
    for name, x in subject.loads.items():
        if x.index in used:
            cut.name_symbol(x, Symbol("N", (name.replace("_", " "),)))
            out += _describe_last_symbol(
                sheet, f"load of the contact {name.replace('_', ' ')}", ", "
            )
    if subject.t.index in used:
        cut.name_symbol(subject.t, Symbol("t"))
        out += _describe_last_symbol(sheet, "time", ", ")
    return out[:-1]


def _joint_symbols(subject: Subject) -> list[Symbol]:
    """Return the symbols of the joints: those of the vehicle, or else r with a number."""
    symbols = subject.form.symbols
    return [
        Symbol.parse(symbols[j.name]) if j.name in symbols else Symbol("r", (str(k + 1),))
        for k, j in enumerate(subject.model.joints)
    ]


def _name_speeds(sheet: Sheet, subject: Subject) -> list[str | Expression]:
    """Define symbols for the speeds and the inputs, and return the sentence that lists v and u."""
    joints = _joint_symbols(subject)
    model = subject.model
    free = subject.free_speeds
    for k, x in zip(subject.columns, free, strict=True):
        symbol = joints[k - 6].with_dots() if k > 5 else _twist_symbol(subject, k)
        sheet.cut.name_symbol(x, symbol, SPEED)
    v = [Name(s) for s in sheet.names.symbols[-len(free) :]]
    name_inputs(sheet, subject, subject.w)
    twist = len(model.twist)
    words: list[str | Expression] = ["Speeds ", parse_name("v"), " = (", *_join_symbols(v), ")"]
    if twist and len(v) > twist:
        words.append(": its twist, then the rates of the joints")
    if len(subject.C) and subject.independent:
        words += ["; independent ", parse_name("u"), " = ("]
        words += [*_join_symbols([v[k] for k in subject.independent]), ")"]
    return [*words, "."]


def name_inputs(
    sheet: Sheet,
    subject: Subject,
    inputs: Iterable[Expr],
    used: Collection[int] | None = None,
) -> list[str | Expression]:
    """Define symbols for the inputs, of those in use if `used` is given, and return their list with
    meanings.
    """
    joints = _joint_symbols(subject)
    out: list[str | Expression] = []
    for k, (x, name) in enumerate(zip(inputs, subject.model.inputs, strict=True)):
        if used is not None and x.index not in used:
            continue
        if k < len(joints):
            symbol = Symbol("tau", joints[k].below or (joints[k],))
        else:
            symbol = Symbol("P", (name.replace("_", " ").replace(".", " "),))
        sheet.cut.name_symbol(x, symbol)
        sheet.meanings[subject.graph.ops[x.index][1]] = name.replace("_", " ")
        out += _describe_last_symbol(sheet, name.replace("_", " "), ", ")
    return out[:-1]


def _twist_symbol(subject: Subject, component: int) -> Symbol:
    """Return the symbol of one component of the base's twist."""
    text = subject.form.symbols.get(BASE_TWIST[component])
    if text:
        return Symbol.parse(text)
    return Symbol("V" if component < 3 else "Omega", (subject.form.axes[component % 3],))


def _join_symbols(symbols: list[Name]) -> list[str | Expression]:
    """Return symbols as the words of a sentence, separated by commas."""
    out: list[str | Expression] = []
    for x in symbols:
        out += [x, ", "]
    return out[:-1]


def _describe_validity(subject: Subject, linear: bool) -> list[str | Expression]:
    """Return the sentences on the range of validity of the page."""
    out: list[str | Expression] = []
    if linear:
        out = ["Valid for small deviations from straight running. "]
    elif "lean" in subject.angles:
        out = ["Valid for lean angles below 90 degrees. "]
    if subject.turns and not all(is_zero(x) for x in subject.model.gravity[:2]):
        out.append("On a slope the yaw appears: gravity has a component along the ground. ")
    statuses = ", ".join(f"{name} {status}" for name, status in subject.mode)
    if statuses:
        out.append(f"Contacts: {statuses}.")
    return out


def _used_nodes(subject: Subject) -> set[int]:
    """Return the indices of those nodes of the traced graph on which the equations depend."""
    arrays: list[Any] = [subject.C, subject.M, subject.F, subject.Q, subject.c, subject.b]
    arrays.append(subject.acting.rates)
    roots = [x.index for array in arrays for x in _flatten(array) if hasattr(x, "index")]
    return set(reachable(subject.graph, roots))


def _flatten(array: Any) -> list[Any]:
    """Return the entries of an array (any shape) or of a list as a flat list."""
    return list(array.ravel()) if hasattr(array, "ravel") else list(array)
