"""Printer of a page of equations as HTML with MathML: one file that loads nothing from the network."""

from collections.abc import Sequence
from fractions import Fraction
from html import escape

from draisine.codegen.formula import (
    GREEK,
    Assignment,
    Block,
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
from draisine.codegen.paper._layout import break_line, group_lines

SUFFIX = ".html"

_HTML_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<title>{title}</title>
<style>
.equations {{ font-family: serif; max-width: 62em; margin: 2em auto; padding: 0 1em; }}
.equations .equation {{ display: flex; justify-content: space-between;
    overflow: auto hidden; margin: .6em 0; }}
.equations .equation span {{ padding-left: 2em; align-self: center; }}
.equations mtd {{ padding: .15em .35em; }}
.equations .lines td {{ padding-right: 2.5em; vertical-align: middle; text-align: left; }}
.equations .lines tr {{ background: none !important; }}
</style>
</head>
<body>
<div class="equations">
<h1>{title}</h1>
"""
"""Head of a complete page. All styles are below `.equations`, so that they do not affect a notebook."""

_LETTERS = dict(zip(GREEK, "αβγδεζηθκλμνξπρστϕφχψωΓΔΘΛΞΠΣΦΨΩ", strict=True))
_DOTS = {1: "˙", 2: "¨"}  # accents of first and second time derivatives
_TIMES = "<mo>&#x2062;</mo>"  # invisible times sign between factors


def write(page: Page) -> str:
    """Return the page as an HTML document."""
    parts = [_HTML_HEAD.format(title=escape(page.title))]
    parts += [_write_block(block) for block in page.blocks]
    return "\n".join([*parts, "</div>", "</body>", "</html>", ""])


def _write_block(block: Block) -> str:
    """Return a block of the page (heading, paragraph, equation or matrix) as HTML."""
    match block:
        case Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case Paragraph(parts):
            words = [escape(p) if isinstance(p, str) else _wrap_math(formula(p)) for p in parts]
            return f"<p>{''.join(words)}</p>"
        case Relation(left, right, number):
            return _write_display(
                _wrap_math(_write_equation(formula(left), formula(right))), number
            )
        case Assignment(symbol, matrix, number):
            return _write_display(
                _wrap_math(_write_equation(formula(symbol), formula(matrix))), number
            )
        case Definitions(lines, number):
            return _write_display(_write_table(lines), number)


def _wrap_math(mathml: str) -> str:
    """Return MathML within a line of text."""
    return f"<math>{mathml}</math>"


def _write_equation(left: str, right: str) -> str:
    """Return the MathML of an equation."""
    return f"{left}<mo>=</mo>{right}"


def _write_display(mathml: str, number: int) -> str:
    """Return MathML as a numbered display."""
    return f'<div class="equation"><div>{mathml}</div><span>({number})</span></div>'


def _write_table(definitions: Sequence[Line]) -> str:
    """Return definitions as an HTML table, short ones in columns."""
    rows = []
    for columns, group in group_lines(definitions):
        for first in range(0, len(group), columns):
            cells = [
                _wrap_math(_write_broken_line(line)) for line in group[first : first + columns]
            ]
            span = f' colspan="{12 // columns}"'
            rows.append("<tr>" + "".join(f"<td{span}>{cell}</td>" for cell in cells) + "</tr>")
    return f'<table class="lines">{"".join(rows)}</table>'


def _write_broken_line(definition: Line) -> str:
    """Return a definition as MathML, broken into several lines if it is wider than a page."""
    parts = break_line(definition)
    first = _write_equation(symbol(definition[0]), _write_terms(parts[0]))
    if len(parts) == 1:
        return first
    continued = [
        f"<mspace width='2em'/>{_write_terms(terms, is_continued=True)}" for terms in parts[1:]
    ]
    cells = "".join(f"<mtr><mtd><mrow>{row}</mrow></mtd></mtr>" for row in (first, *continued))
    return f'<mtable columnalign="left">{cells}</mtable>'


def symbol(s: Symbol) -> str:
    """Return the MathML text of a symbol."""
    letter = f"<mi>{escape(_LETTERS.get(s.letter, s.letter))}</mi>"
    if s.bar:
        letter = f"<mover>{letter}<mo>¯</mo></mover>"
    if s.dots:
        letter = f"<mover>{letter}<mo>{_DOTS[s.dots]}</mo></mover>"
    if s.below:
        below = "".join(
            symbol(b) if isinstance(b, Symbol) else f"<mtext>{escape(b)}</mtext>" for b in s.below
        )
        letter = f"<msub>{letter}<mrow>{below}</mrow></msub>"
    if s.primes:
        letter = f"<msup>{letter}<mo>{'&#x2032;' * s.primes}</mo></msup>"
    return letter


def _write_terms(terms: Sequence[Expression], is_continued: bool = False) -> str:
    """Return the MathML of the terms of a sum with their signs; the first term of a line has a sign
    if it continues a sum.
    """
    text = ""
    for t in terms:
        minus = begins_with_minus(t)
        if minus or text or is_continued:
            text += "<mo>&#x2212;</mo>" if minus else "<mo>+</mo>"
        text += _write_factor(negate(t)) if minus else formula(t)
    return text


def formula(x: Expression) -> str:
    """Return the MathML text of an expression."""
    match x:
        case Number(value):
            return _write_number(value)
        case Name(s):
            return symbol(s)
        case Sum(terms):
            return _wrap_row(_write_terms(terms))
        case Product((Number(value), *_)) if value == -1:
            return _wrap_row("<mo>&#x2212;</mo>" + _write_factor(negate(x)))
        case Product(factors):
            return _wrap_row(_TIMES.join(_write_factor(f) for f in factors))
        case Power(base, exponent):
            inside = formula(base) if isinstance(base, Name) else _wrap_brackets(formula(base))
            return f"<msup>{inside}<mn>{exponent}</mn></msup>"
        case Quotient(above, below):
            if begins_with_minus(above):
                return _wrap_row("<mo>&#x2212;</mo>" + formula(Quotient(negate(above), below)))
            return f"<mfrac>{_wrap_row(formula(above))}{_wrap_row(formula(below))}</mfrac>"
        case Root(inside):
            return f"<msqrt>{formula(inside)}</msqrt>"
        case Function(name, arguments):
            listed = "<mo>,</mo>".join(formula(a) for a in arguments)
            return _wrap_row(f"<mi>{name}</mi><mo>&#x2061;</mo>{_wrap_brackets(listed)}")
        case MatrixFormula():
            return _write_matrix(x)
        case Transpose(of):
            return f"<msup>{formula(of)}<mi>&#x22a4;</mi></msup>"


def _wrap_row(mathml: str) -> str:
    """Return MathML as one group on a line."""
    return f"<mrow>{mathml}</mrow>"


def _wrap_brackets(mathml: str) -> str:
    """Return MathML in parentheses."""
    return _wrap_row(f"<mo>(</mo>{mathml}<mo>)</mo>")


def _write_factor(x: Expression) -> str:
    """Return the MathML of a factor of a product, with parentheses around a sum."""
    return _wrap_brackets(formula(x)) if isinstance(x, Sum) else formula(x)


def _write_number(value: Fraction) -> str:
    """Return the MathML of a rational number."""
    minus = "<mo>&#x2212;</mo>" if value < 0 else ""
    value = abs(value)
    if value.denominator == 1:
        inside = f"<mn>{value.numerator}</mn>"
    elif value.denominator <= 99:
        inside = f"<mfrac><mn>{value.numerator}</mn><mn>{value.denominator}</mn></mfrac>"
    else:
        inside = f"<mn>{float(value)!r}</mn>"
    return _wrap_row(minus + inside) if minus else inside


def _write_matrix(matrix: MatrixFormula) -> str:
    """Return the MathML of a matrix."""
    lines = ""
    if matrix.bar is not None:
        kinds = ["solid" if k == matrix.bar - 1 else "none" for k in range(len(matrix.rows[0]) - 1)]
        lines = f' columnlines="{" ".join(kinds)}"'
    rows = []
    for row in matrix.rows:
        cells = ["<mo>·</mo>" if x is None else formula(x) for x in row]
        rows.append("<mtr>" + "".join(f"<mtd>{cell}</mtd>" for cell in cells) + "</mtr>")
    return _wrap_brackets(f"<mtable{lines}>{''.join(rows)}</mtable>")
