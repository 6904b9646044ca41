"""Formulas on one line, in the notation of programming languages and computer algebra systems."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from textwrap import wrap

from draisine.codegen.formula import (
    PI,
    Assignment,
    Definitions,
    Expression,
    Function,
    Heading,
    Line,
    MatrixFormula,
    Name,
    Number,
    Page,
    Paragraph,
    Power,
    Product,
    Quotient,
    Relation,
    Root,
    Sum,
    Symbol,
    Transpose,
    begins_with_minus,
    negate,
)

_ATOM = 2
_PRODUCT = 1
_SUM = 0
"""Precedence levels: an operand with a lower level than its operation needs gets parentheses."""


def _write_fraction(value: Fraction) -> str:
    """Return a rational number as a quotient of integers."""
    return str(value) if value.denominator > 1 else str(value.numerator)


@dataclass(frozen=True, slots=True)
class Infix:
    """Notation of formulas on one line in a language; templates are filled by `str.format`."""

    symbol: Callable[[Symbol], str] = lambda s: s.plain  # function from a symbol to its text
    number: Callable[[Fraction], str] = _write_fraction  # function from a number to its text
    power: str = "{0}^{1}"  # template of a power
    call: str = "{0}({1})"  # template of a function call
    pi: str = "pi"  # text of the number pi
    # Name of each function in the language, or template of its call, by the function's name in a
    # formula
    functions: dict[str, str] = field(default_factory=dict)
    comment: str = "# {0}"  # template of a heading
    remark: str = "# {0}"  # template of a sentence, or of an equation without definition
    definition: str = "{0} = {1}"  # template of a definition
    row: str = "[{0}]"  # template of a matrix row
    between_rows: str = ",\n  "  # separator of matrix rows
    matrix: str = "Matrix([{0}])"  # template of a matrix

    def write_lines(self, page: Page) -> Iterator[str]:
        """Yield the lines of a page: headings and sentences as comments, definitions and matrices."""
        for step in order_steps(page):
            if isinstance(step, str):
                yield "\n" + self.comment.format(step)
                continue
            if isinstance(step, Paragraph | Relation):
                yield from map(self.remark.format, self.write_sentence(step))
                continue
            if isinstance(step, Assignment):
                symbol, matrix = matrix_entries(step)
                rows = [self.row.format(", ".join(map(self.formula, row))) for row in matrix]
                right = self.matrix.format(self.between_rows.join(rows))
            else:
                symbol = step[0]
                right = self.formula(step[1])
            yield self.definition.format(self.symbol(symbol), right)

    def write_sentence(self, block: Paragraph | Relation) -> list[str]:
        """Return a paragraph, or an equation that defines no symbol, in lines of at most 100 characters."""
        if isinstance(block, Relation):
            return [f"{self.formula(block.left)} = {self.formula(block.right)}"]
        parts = (x if isinstance(x, str) else self.formula(x) for x in block.parts)
        return wrap("".join(parts), 100, break_long_words=False, break_on_hyphens=False)

    def formula(self, x: Expression, level: int = _SUM) -> str:
        """Return the text of an expression, in parentheses if its precedence is below `level`."""
        text, precedence = self._write_unbracketed(x)
        return f"({text})" if precedence < level else text

    def _write_unbracketed(self, x: Expression) -> tuple[str, int]:
        """Return the text of an expression, with its precedence level."""
        match x:
            case Number(value):
                plain = value.denominator == 1 and value >= 0
                return self.number(value), _ATOM if plain else _SUM
            case Name(s):
                return self.pi if s == PI else self.symbol(s), _ATOM
            case Sum(terms):
                text = self.formula(terms[0], _SUM)
                for t in terms[1:]:
                    sign, size = ("-", negate(t)) if begins_with_minus(t) else ("+", t)
                    text += f" {sign} {self.formula(size, _PRODUCT)}"
                return text, _SUM
            case Product((Number(value), *_)) if value < 0:
                return f"-{self.formula(negate(x), _PRODUCT)}", _SUM
            case Product(factors):
                return "*".join(self.formula(f, _ATOM) for f in factors), _PRODUCT
            case Power(base, exponent):
                return self.power.format(self.formula(base, _ATOM), exponent), _ATOM
            case Quotient(above, below):
                if begins_with_minus(above):
                    return f"-{self.formula(Quotient(negate(above), below), _PRODUCT)}", _SUM
                return f"{self.formula(above, _ATOM)}/{self.formula(below, _ATOM)}", _PRODUCT
            case Root(inside):
                return self._write_call("sqrt", [inside]), _ATOM
            case Function(name, arguments):
                return self._write_call(name, list(arguments)), _ATOM
            case Transpose(of):
                return self._write_call("transpose", [of]), _ATOM
            case MatrixFormula(rows):
                lines = (", ".join(self.formula(x) for x in row if x is not None) for row in rows)
                return f"[{'; '.join(lines)}]", _ATOM
        raise TypeError(f"{type(x).__name__} cannot be written on one line")

    def _write_call(self, name: str, arguments: list[Expression]) -> str:
        """Return the text of a function call."""
        written = [self.formula(a) for a in arguments]
        template = self.functions.get(name, name)
        if "{" in template:
            return template.format(*written)
        return self.call.format(template, ", ".join(written))


def matrix_entries(block: Assignment) -> tuple[Symbol, list[list[Expression]]]:
    """Return the symbol and the entries of a matrix.

    Entries that are omitted because the matrix is symmetric are filled in. A column vector that is printed
    as a transposed row is returned as a column.
    """
    rows = [list(row) for row in block.matrix.rows]
    matrix = [
        [x if x is not None else rows[j][i] for j, x in enumerate(row)]
        for i, row in enumerate(rows)
    ]
    filled = [[x for x in row if x is not None] for row in matrix]
    if isinstance(block.symbol, Transpose) and isinstance(block.symbol.of, Name):
        return block.symbol.of.symbol, [[x] for x in filled[0]]
    assert isinstance(block.symbol, Name)
    return block.symbol.symbol, filled


def order_steps(page: Page) -> Iterator[str | Paragraph | Relation | Line | Assignment]:
    """Yield the headings (as text), sentences, definitions and matrices of a page in order of evaluation.

    Abbreviations of cosines and sines come immediately after the definition of their angle, or first if the
    angle is an input.
    """
    defined = {symbol for symbol, _ in page.definitions()}
    turns = [
        (angle, (symbol, Function(name, (Name(angle),)))) for symbol, name, angle in page.turns
    ]
    yield "Cosines, sines, tangents"
    yield from (line for angle, line in turns if angle not in defined)
    for block in page.blocks:
        match block:
            case Heading(text):
                yield text
            case Definitions(lines):
                for line in lines:
                    yield line
                    yield from (turn for angle, turn in turns if angle == line[0])
            case Assignment() | Paragraph() | Relation():
                yield block
