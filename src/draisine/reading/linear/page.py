"""Page of linear equations about straight running, and page of a linear system in numbers.

A bicycle that rolls without slipping has the canonical form of Meijaard et al. (2007),

    M qdd + (C0 + v C1) qd + (Ks + g K0 + v^2 K2) q = f        q = (lean, steer, ...),

with one matrix per power of v and g. Tyres add speeds that are not rates of coordinates, and states.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar, array, is_zero
from draisine.algebra.trace import Expr
from draisine.codegen.formula import (
    Assignment,
    Block,
    Expression,
    Heading,
    MatrixFormula,
    Name,
    Number,
    Page,
    Paragraph,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Symbol,
    multiply_factors,
    parse_name,
)
from draisine.reading.cut import MAX_EXPANDED_TERMS, TooLong
from draisine.reading.document import Equations, name_given_symbols
from draisine.reading.linear.deviations import CoupledDeviations, StraightRunning
from draisine.reading.linear.powers import Powers
from draisine.reading.names import INERTIA, LEGEND, SPEED, derive_symbol
from draisine.reading.sheet import Sheet
from draisine.reading.subject import Subject

COORDINATE_SIGNS = "Lean is positive to the right, steer to the left."
"""Sentence on the signs of lean and steer."""

BENCHMARK_SIGNS_NOTE = (
    " In the benchmark of Meijaard et al. (2007) both are positive to the right: there the entries 12 and 21 "
    "of all matrices have the opposite sign."
)
"""Sentence on the signs of the published equations of the benchmark bicycle."""

CONSTANT_TERMS = "the terms of springs and dampers, which depend on neither speed nor gravity."
"""Description of the matrices that are multiplied by neither v nor g."""

LINEAR_LEGEND = {
    "M": "mass matrix, entry",
    "C": "damping matrix, entry",
    "K": "stiffness matrix, entry",
    "E": "force by a state of a force element, entry",
    "G": "rate of a coordinate by a speed, entry",
    "H": "rate of a coordinate by a coordinate, entry",
    "R": "rate of a state by a speed, entry",
    "S": "rate of a state by a coordinate, entry",
    "T": "rate of a state by a state, entry",
    "a": "characteristic polynomial, coefficient",
    "b": "numerator of the first transfer function, coefficient",
    "d": "numerator of the second transfer function, coefficient",
}
"""Meaning of letters on linear pages, if it differs from pages of nonlinear equations."""

MAX_UNNAMED_TERMS = 2
"""Largest number of terms of a value without a separate symbol, on pages with abbreviations."""


def write_linear(subject: Subject, title: str) -> Equations:
    """Return the printed linear equations of straight running.

    With two coordinates, the characteristic polynomial and the transfer functions are included.
    Entries are written in the parameters, or with abbreviations if they are too long.
    """
    straight = StraightRunning(subject)
    sheet = Sheet(
        subject.graph,
        max_intermediate_terms=MAX_EXPANDED_TERMS if _is_legible(straight) else MAX_UNNAMED_TERMS,
    )
    sheet.legend = LEGEND | LINEAR_LEGEND
    _name_given(sheet, straight)
    section = _Section(sheet, straight.lateral, derive_symbol("g", subject.form.symbols))
    sheet.begin_section("Straight running")
    section.write_equations()
    sheet.add_paragraph(
        "Here ", *section.describe_vectors(), ", and ", parse_name("v"), " is the forward speed."
    )
    if straight.motion.drive is not None:
        wheel = straight.motion.drive.replace("_", " ")
        sheet.add_paragraph(f"A constant torque at the joint {wheel} keeps the speed constant.")
    canonical = section.motion.second_order and section.motion.coordinates == ("lean", "steer")
    if "steer" in section.motion.coordinates:
        sheet.add_paragraph(COORDINATE_SIGNS + BENCHMARK_SIGNS_NOTE * canonical)
    section.list_matrices()
    if section.motion.second_order and len(section.motion.coordinates) == 2:
        _write_characteristic_polynomial(section)
    if straight.in_plane is not None:
        _write_in_plane(_Section(sheet, straight.in_plane, section.g, "p"))
    return Equations(sheet.finish_page(title), subject)


def _name_given(sheet: Sheet, straight: StraightRunning) -> None:
    """Define symbols for parameters, coordinates and the forward speed v."""
    name_given_symbols(sheet, straight.subject, is_linear=True)
    sheet.cut.name_symbol(straight.motion.v, Symbol("v"), SPEED)


def _is_legible(straight: StraightRunning) -> bool:
    """Return whether all entries of the matrices are short enough to be written as functions of the
    parameters.
    """
    sheet = Sheet(straight.subject.graph, expand=True, draft=True)
    _name_given(sheet, straight)
    try:
        for motion in filter(None, (straight.lateral, straight.in_plane)):
            for x in motion.list_entries():
                sheet.as_polynomial(x)
    except TooLong:
        return False
    return True


def _write_in_plane(section: "_Section") -> None:
    """Add the page section on the motion that is decoupled from lean."""
    section.sheet.begin_section("Motion without lean")
    section.write_equations()
    section.sheet.add_paragraph(
        "To first order, this motion is decoupled from lean. Here ",
        *section.describe_vectors(),
        ".",
    )
    section.list_matrices()


@dataclass(frozen=True, eq=False)
class _Section:
    """Page section with the equations of one set of coupled deviations."""

    sheet: Sheet
    """Page to which the section is added."""
    motion: CoupledDeviations
    """Linear equations (matrices) of the coupled deviations in this section."""
    g: Symbol
    """Symbol of gravity."""
    index: str = ""
    """Subscript that distinguishes the symbols from those of another section; may be empty."""

    def write_equations(self) -> None:
        """Write the matrix equations of the section."""
        motion = self.motion
        sheet = self.sheet
        q = self._vector_symbol("q")
        z = self._vector_symbol("z")
        if motion.second_order:
            u = self._vector_symbol(r"\dot{q}")
            acceleration = self._vector_symbol(r"\ddot{q}")
        else:
            u = self._vector_symbol("u")
            acceleration = self._vector_symbol(r"\dot{u}")
        mass = Product((sheet.matrix_symbol(self._add_section_index("M")), acceleration))
        terms = [
            mass,
            *self._list_terms("C", u),
            *self._list_terms("K", q),
            *self._list_terms("E", z),
        ]
        sheet.add_equation(Sum(tuple(terms)), self._vector_symbol("f"))
        if not motion.is_direct:
            self._write_rate_equation(
                r"\dot{q}", (*self._list_terms("G", u), *self._list_terms("H", q))
            )
        if motion.states:
            rates = (
                *self._list_terms("R", u),
                *self._list_terms("S", q),
                *self._list_terms("T", z),
            )
            self._write_rate_equation(r"\dot{z}", rates)

    def _write_rate_equation(self, vector: str, terms: Sequence[Expression]) -> None:
        """Write the equation of a vector of rates as a sum of terms."""
        right = terms[0] if len(terms) == 1 else Sum(tuple(terms))
        self.sheet.add_equation(self._vector_symbol(vector), right)

    def _add_section_index(self, text: str) -> str:
        """Return a symbol with the index of the section in front of its subscript."""
        letter, _, below = text.partition("_")
        below = self.index + below.strip("{}")
        return f"{letter}_{{{below}}}" if below else letter

    def _vector_symbol(self, text: str) -> Name:
        """Return the symbol of a vector, with the index of the section."""
        return self.sheet.matrix_symbol(self._add_section_index(text))

    def _list_terms(self, letter: str, vector: Name) -> list[Expression]:
        """Return the sum of the powers of a matrix times a vector; an empty list if the matrix is
        zero.
        """
        matrix = self.motion.matrices[letter]
        terms = [
            multiply_factors(
                [
                    *self._write_factors(powers),
                    self.sheet.matrix_symbol(self._add_section_index(matrix.matrix_symbol(powers))),
                ]
            )
            for powers in matrix.terms
        ]
        if not terms:
            return []
        if len(terms) > 1:
            return [Product((Sum(tuple(terms)), vector))]
        return [
            multiply_factors(
                [*(terms[0].factors if isinstance(terms[0], Product) else terms), vector]
            )
        ]

    def _write_factors(self, powers: Powers | None) -> list[Expression]:
        """Return the factors g^b v^a of a matrix as an expression."""
        a, b = powers or (0, None)
        v = parse_name("v")
        by_speed: list[Expression] = [] if a == 0 else [v] if a == 1 else [Power(v, a)]
        return [*([Name(self.g)] if b else []), *by_speed]

    def describe_vectors(self) -> list[str | Expression]:
        """Return the descriptions of the components of q, u and z."""
        motion = self.motion
        out: list[str | Expression] = []
        for vector, names in (
            ("q", motion.coordinates),
            ("u", () if motion.second_order else motion.speeds),
            ("z", motion.states),
        ):
            if names:
                listed = ", ".join(name.replace("_", " ") for name in names)
                out += [*([", "] if out else []), self._vector_symbol(vector), f" = ({listed})"]
        if motion.states:
            out.append(", the states of the force elements with these names")
        return out

    def _constant_matrices(self) -> list[Name]:
        """Return the names of the damping and stiffness matrices that are multiplied by neither v
        nor g.
        """
        matrices = [self.motion.matrices[letter] for letter in "CK"]
        names = [matrix.matrix_symbol((0, 0)) for matrix in matrices if (0, 0) in matrix.terms]
        return [self.sheet.matrix_symbol(self._add_section_index(name)) for name in names]

    def list_matrices(self) -> None:
        """Write all matrices of the section, entry by entry."""
        match self._constant_matrices():
            case [matrix_name]:
                self.sheet.add_paragraph(matrix_name, " has ", CONSTANT_TERMS)
            case [damping, stiffness]:
                self.sheet.add_paragraph(damping, " and ", stiffness, " have ", CONSTANT_TERMS)
        self._write_matrix("M", self.motion.mass)
        for matrix in self.motion.matrices.values():
            if matrix.letter in "GH" and self.motion.is_direct:
                continue
            for powers, entries in matrix.terms.items():
                self._write_matrix(matrix.matrix_symbol(powers), entries)

    def name_entries(self, name: str, entries: Array) -> Array:
        """Return entries (rows, columns) as new symbols that print the names of the entries."""
        cut = self.sheet.cut
        out: list[Scalar] = []
        for k, x in enumerate(entries.ravel()):
            if isinstance(x, Expr):
                written = cut.convert_value(x)
                x = cut.graph.symbol(f"entry {k} of {name}")
                cut.label_node(x, written)
            out.append(x)
        return array(out).reshape(entries.shape)

    def sum_powers(self, letter: str) -> Array:
        """Return the sum of the powers of a matrix, in the names of their entries."""
        matrix = self.motion.matrices[letter]
        out: Any = np.zeros(matrix.entries.shape)
        for powers, entries in matrix.terms.items():
            a, b = powers or (0, None)
            factors = [*([matrix.g] if b else []), *[matrix.v] * a]
            out = out + math.prod(
                factors, start=self.name_entries(matrix.matrix_symbol(powers), entries)
            )
        return array(out)

    def _write_matrix(self, name: str, entries: Array) -> None:
        """Print a matrix (rows, columns); the subscripts of its entries start with the subscript of
        the matrix.
        """
        text = self._add_section_index(name)
        letter, _, below = text.partition("_")
        prefix = f"{below.strip('{}')}," if below else ""
        rows, columns = entries.shape
        comma = "," if max(rows, columns) > 9 else ""
        symbols = [
            [Symbol(letter, (f"{prefix}{i + 1}{comma}{j + 1}",)) for j in range(columns)]
            for i in range(rows)
        ]
        self.sheet.add_matrix(text, entries, symbols, kind=INERTIA)


def _write_characteristic_polynomial(section: _Section) -> None:
    """Add the characteristic polynomial det(M s^2 + C s + K) to the page, and the transfer functions from the
    input of the second coordinate (the steer torque).
    """
    sheet = section.sheet
    matrices = [
        section.name_entries("M", section.motion.mass),
        section.sum_powers("C"),
        section.sum_powers("K"),
    ]
    (a, b), (c, d) = ([[X[i, j] for X in matrices] for j in range(2)] for i in range(2))
    determinant = [
        x - y
        for x, y in zip(_multiply_coefficients(a, d), _multiply_coefficients(b, c), strict=True)
    ]
    sheet.begin_section("Characteristic polynomial and transfer functions")
    sheet.add_equation(sheet.matrix_symbol(r"\Delta"), _write_polynomial("a", determinant))
    for k, letter, above in ((1, "b", [-x for x in b]), (2, "d", a)):
        sheet.add_equation(
            Name(Symbol("G", (str(k),))),
            Quotient(_write_polynomial(letter, above), sheet.matrix_symbol(r"\Delta")),
        )
    sheet.add_paragraph(
        "These are the transfer functions from the second torque to the first and second coordinate."
    )
    for letter, above in (("a", determinant), ("b", [-x for x in b]), ("d", a)):
        row = [Symbol(letter, (str(len(above) - 1 - k),)) for k in range(len(above))]
        for x, symbol in zip(above, row, strict=True):
            if not is_zero(x):
                sheet.cut.define_value(x, symbol)
        sheet.keep_symbols(row)
    sheet.flush_definitions()


def _write_polynomial(letter: str, coefficients: Sequence[Scalar]) -> Expression:
    """Return a polynomial in s with named coefficients, highest power first, as an expression."""
    s = parse_name("s")
    terms: list[Expression] = []
    for k, x in zip(reversed(range(len(coefficients))), coefficients, strict=True):
        name = Name(Symbol(letter, (str(k),)))
        power: list[Expression] = [] if k == 0 else [s] if k == 1 else [Power(s, k)]
        if not is_zero(x):
            terms.append(Product((name, *power)) if power else name)
    return Sum(tuple(terms))


def _multiply_coefficients(first: Sequence[Scalar], second: Sequence[Scalar]) -> list[Scalar]:
    """Return the coefficients of the product of two polynomials in s."""
    out: list[Scalar] = [0.0] * (len(first) + len(second) - 1)
    for i, x in enumerate(first):
        for j, y in enumerate(second):
            if not (is_zero(x) or is_zero(y)):
                out[i + j] = out[i + j] + x * y
    return out


def write_numbers(
    matrices: Mapping[str, Floats],
    states: Sequence[str],
    inputs: Sequence[str],
    title: str,
    digits: int = 6,
) -> Equations:
    """Return a linear system in numbers, `xdot = A x + B w`, with `digits` significant digits."""
    x = parse_name("x")
    w = parse_name("w")
    blocks: list[Block] = [
        Heading("Linear system"),
        Relation(
            parse_name(r"\dot{x}"),
            Sum((Product((parse_name("A"), x)), Product((parse_name("B"), w)))),
            1,
        ),
        Paragraph(
            (f"States: {', '.join(states)}. Inputs: {', '.join(inputs)}.".replace("_", " "),)
        ),
    ]
    for k, (name, matrix) in enumerate(matrices.items(), start=2):
        rows = [tuple(Number(Fraction(f"{y:.{digits}g}")) for y in row) for row in matrix]
        blocks.append(Assignment(parse_name(name), MatrixFormula(tuple(rows)), k))
    return Equations(Page(title, tuple(blocks)))
