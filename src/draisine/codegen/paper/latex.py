"""Printer of a page of equations as a complete LaTeX document that needs amsmath and geometry only."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby

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
from draisine.codegen.width import LINE_WIDTH, formula_width

SUFFIX = ".tex"

_LATEX_PREAMBLE = r"""\documentclass[a4paper,10pt,fleqn]{article}
\usepackage{amsmath}
\usepackage[margin=13mm,bottom=16mm,footskip=7mm]{geometry}
\setlength{\mathindent}{4pt}
\setlength{\parindent}{0pt}
\setlength{\parskip}{2pt}
\setlength{\jot}{1.5pt}
\setlength{\arraycolsep}{3.5pt}
\allowdisplaybreaks
\newcommand{\tight}{\abovedisplayskip=1pt plus 2pt \abovedisplayshortskip=1pt plus 2pt
  \belowdisplayskip=1pt plus 2pt \belowdisplayshortskip=1pt plus 2pt}
\newcommand{\stage}[1]{\par\addvspace{3pt plus 4pt}\noindent\textbf{\large #1}\quad}
\begin{document}
\tight"""

CONTINUATION = r"&\quad"
"""LaTeX text at the start of a line that continues the equation of the previous line; no page break is
allowed between the two lines.
"""

_LATEX_FUNCTIONS = {"sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "exp": r"\exp"}


def write(page: Page) -> str:
    """Return the page as a LaTeX document."""
    parts = [_LATEX_PREAMBLE, rf"{{\Large\bfseries {escape(page.title)}}}\par\smallskip"]
    last: Block | None = None
    for together, blocks in groupby(page.blocks, key=_is_row_vector):
        if together:
            parts += _write_beside([block for block in blocks if isinstance(block, Assignment)])
            continue
        for block in blocks:
            if isinstance(last, Paragraph) and isinstance(block, Paragraph):
                parts.append("")
            parts += _write_block(block)
            last = block
    return "\n".join([*parts, r"\end{document}", ""])


def _is_row_vector(block: Block) -> bool:
    """Return whether a block assigns a matrix with one row; consecutive ones may share a line."""
    return isinstance(block, Assignment) and len(block.matrix.rows) == 1


def _write_beside(vectors: list[Assignment]) -> list[str]:
    """Return consecutive vectors as LaTeX text, in one display if they fit on one line."""
    total_width = sum(
        formula_width(row.symbol) + formula_width(row.matrix) + 9.0 for row in vectors
    )
    if total_width > LINE_WIDTH:
        return [line for row in vectors for line in _write_block(row)]
    written = [f"{formula(row.symbol)} &= {formula(row.matrix)}" for row in vectors]
    return _write_display([" & ".join(written)], ", ".join(str(row.number) for row in vectors))


def escape(text: str) -> str:
    """Return a text with the special characters of LaTeX escaped."""
    for mark in "&%$#_{}":
        text = text.replace(mark, rf"\{mark}")
    for sign in "<>":
        text = text.replace(sign, f"${sign}$")
    return text.replace("^", r"\textasciicircum{}")


def _write_block(block: Block) -> list[str]:
    """Return a block of the page (heading, paragraph, equation or matrix) as LaTeX."""
    match block:
        case Heading(text):
            return [rf"\stage{{{escape(text)}}}"]
        case Paragraph(parts):
            words = [escape(p) if isinstance(p, str) else f"${formula(p)}$" for p in parts]
            return ["".join(words)]
        case Relation(left, right, number):
            return [rf"${formula(left)} = {formula(right)}$~({number})\quad"]
        case Definitions(lines, number):
            return write_definitions(lines, number)
        case Assignment(symbol, matrix, number):
            return _write_display([rf"{formula(symbol)} &= {formula(matrix)}"], number)


def _write_display(rows: list[str], number: int | str | None) -> list[str]:
    """Return rows of equations as a LaTeX display, with a number if one is given."""
    tag = "" if number is None else rf" \tag{{{number}}}"
    body = " \\\\\n".join(rows).replace(f" \\\\\n{CONTINUATION}", f" \\\\*\n{CONTINUATION}")
    return [r"\begin{align*}", body + tag, r"\end{align*}"]


def write_definitions(lines: Sequence[Line], number: int) -> list[str]:
    """Return definitions as LaTeX displays, short ones in columns."""
    groups = [group for _, group in layout_rows(lines)]
    displays: list[str] = []
    for k, group in enumerate(groups):
        displays += _write_display(group, number if k == len(groups) - 1 else None)
    return displays


def layout_rows(lines: Sequence[Line]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of columns and the LaTeX rows of each group of definitions."""
    for columns, group in group_lines(lines):
        group_rows = []
        for start in range(0, len(group), columns):
            row = group[start : start + columns]
            if columns > 1:
                group_rows.append(" & ".join(f"{symbol(s)} &= {formula(x)}" for s, x in row))
                continue
            first, *continued = break_line(row[0])
            group_rows.append(f"{symbol(row[0][0])} &= {join_terms(first)}")
            group_rows += [
                f"{CONTINUATION} {join_terms(terms, is_continued=True)}" for terms in continued
            ]
        yield columns, group_rows


def symbol(s: Symbol) -> str:
    r"""Return the LaTeX text of a symbol.

    >>> symbol(Symbol("phi", ("b",), dots=1)), symbol(Symbol("c", (Symbol("mu"),)))
    ('\\dot{\\phi}_{b}', 'c_{\\mu}')
    """
    letter = rf"\{s.letter}" if s.letter in GREEK else s.letter
    if len(s.letter) > 1 and s.letter not in GREEK:
        letter = r"\mathit{" + escape(s.letter).replace(" ", r"\,") + "}"
    if s.bar:
        letter = rf"\bar{{{letter}}}"
    if s.dots:
        letter = rf"\{'d' * s.dots}ot{{{letter}}}"
    below = "".join(symbol(b) if isinstance(b, Symbol) else b.replace(" ", r"\,") for b in s.below)
    return letter + (f"_{{{below}}}" if below else "") + "'" * s.primes


def join_terms(terms: Sequence[Expression], is_continued: bool = False) -> str:
    """Return the LaTeX text of the terms of a sum with their signs; if the sum is `is_continued` from the
    previous line, the first term has a sign, too.
    """
    text = ""
    for t in terms:
        if begins_with_minus(t):
            text += (" - " if text or is_continued else "-") + _write_factor(negate(t))
        else:
            text += (" + " if text or is_continued else "") + formula(t)
    return text.strip()


def formula(x: Expression) -> str:
    """Return the LaTeX text of an expression."""
    match x:
        case Number(value):
            return _write_number(value)
        case Name(s):
            return symbol(s)
        case Sum(terms):
            return join_terms(terms)
        case Product((Number(value), *_)) if value == -1:
            return "-" + _write_factor(negate(x))
        case Product(factors):
            return r"\,".join(_write_factor(f) for f in factors)
        case Power(base, exponent):
            inside = (
                _write_factor(base)
                if not _needs_parentheses(base)
                else rf"\left({formula(base)}\right)"
            )
            return f"{inside}^{{{exponent}}}"
        case Quotient(above, below):
            if begins_with_minus(above):
                return "-" + formula(Quotient(negate(above), below))
            return rf"\frac{{{formula(above)}}}{{{formula(below)}}}"
        case Root(inside):
            return rf"\sqrt{{{formula(inside)}}}"
        case Function(name, arguments):
            return _write_function(name, [formula(a) for a in arguments])
        case MatrixFormula():
            return _write_matrix(x)
        case Transpose(of):
            return rf"{formula(of)}^{{\top}}"


def _needs_parentheses(x: Expression) -> bool:
    """Return whether an expression needs parentheses as the base of a power."""
    return isinstance(x, (Quotient, Function, Power, Product)) or (
        isinstance(x, Name) and x.symbol.primes > 0
    )


def _write_factor(x: Expression) -> str:
    """Return the LaTeX text of an expression, with parentheses around a sum."""
    if not isinstance(x, Sum):
        return formula(x)
    text = formula(x)
    tall = r"\frac" in text or r"\left" in text
    return rf"\left({text}\right)" if tall else f"({text})"


def _write_number(value: Fraction) -> str:
    """Return a rational number as LaTeX text."""
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    if value.denominator <= 99:
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    digits, _, power = repr(float(value)).partition("e")
    return rf"{digits} \cdot 10^{{{int(power)}}}" if power else digits


def _write_function(name: str, arguments: list[str]) -> str:
    """Return a function of arguments as LaTeX text."""
    match name:
        case "lt":
            return f"[{arguments[0]} < {arguments[1]}]"
        case "where":
            test, yes, no = arguments
            return (
                rf"\begin{{cases}} {yes} & \text{{if }} {test} \\ {no} & \text{{otherwise}}"
                r" \end{cases}"
            )
        case "atan2":
            return rf"\operatorname{{atan2}}\left({', '.join(arguments)}\right)"
    return rf"{_LATEX_FUNCTIONS[name]}\left({arguments[0]}\right)"


def _write_matrix(matrix: MatrixFormula) -> str:
    """Return a matrix as LaTeX text."""
    count = len(matrix.rows[0])
    columns = (
        "c" * count if matrix.bar is None else "c" * matrix.bar + "|" + "c" * (count - matrix.bar)
    )
    rows = [" & ".join(r"\cdot" if x is None else formula(x) for x in row) for row in matrix.rows]
    body = " \\\\\n".join(rows)
    return rf"\left(\begin{{array}}{{{columns}}}" + f"\n{body}\n" + r"\end{array}\right)"
