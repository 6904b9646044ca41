"""Estimated width of typeset formulas, in units of 5 pt: half an em of a 10 pt font."""

from fractions import Fraction
from functools import cache

from draisine.codegen.formula import (
    GREEK,
    Expression,
    Function,
    MatrixFormula,
    Name,
    Number,
    Power,
    Product,
    Quotient,
    Root,
    Sum,
    Symbol,
    Transpose,
    begins_with_minus,
)

LINE_WIDTH = 88.0
"""Width of a printed line in units of 5 pt: 440 pt, which leaves space for the number of an equation on
A4.
"""

# Estimated widths of italic letters of Computer Modern, in units of 5 pt; letters that are not
# listed have 1.1.
_LETTER_WIDTHS = dict.fromkeys("mwMW", 1.75) | dict.fromkeys("ABCDEGHKNOQRUVXYZ", 1.5)
_LETTER_WIDTHS |= dict.fromkeys("iljtfrIJ", 0.8)
_SIGN = 2.4  # a plus or minus sign with the spaces around it
_BRACKET = 0.8  # one parenthesis
_SPACE = 0.35  # the space between two factors
_SMALL = 0.72  # size of subscripts, exponents and fractions, relative to normal


def formula_width(x: Expression) -> float:
    """Return the width of an expression on one line, in units of 5 pt."""
    match x:
        case Number(value):
            return _number_width(value)
        case Name(symbol):
            return symbol_width(symbol)
        case Sum(terms):
            return sum(map(formula_width, terms)) + _SIGN * (len(terms) - 1)
        case Product(factors):
            inside = sum(formula_width(f) + 2 * _BRACKET * isinstance(f, Sum) for f in factors)
            signed = factors[0] == Number(Fraction(-1))
            return inside + _SPACE * (len(factors) - 1) - signed * (1.0 + _SPACE)
        case Power(base, exponent):
            return (
                formula_width(base)
                + len(str(exponent)) * _SMALL
                + 2 * _BRACKET * isinstance(base, Sum)
            )
        case Quotient(above, below):
            signed = begins_with_minus(above)
            return (
                max(formula_width(above) - 1.5 * signed, formula_width(below)) + 0.5 + 1.5 * signed
            )
        case Root(inside):
            return formula_width(inside) + 1.7
        case Function(name, arguments):
            return (
                len(name) + 2 * _BRACKET + sum(map(formula_width, arguments)) + len(arguments) - 1
            )
        case MatrixFormula():
            return matrix_width(x)
        case Transpose(of):
            return formula_width(of) + 1.2


def _number_width(value: Fraction) -> float:
    """Return the width of a number, which is printed as an integer, a fraction or a decimal."""
    signed = 1.5 if value < 0 else 0.0
    if value.denominator == 1:
        return len(str(abs(value.numerator))) + signed
    if value.denominator > 99:
        return len(repr(float(abs(value)))) + signed
    digits = max(len(str(abs(value.numerator))), len(str(value.denominator)))
    return _SMALL * digits + 0.5 + signed


@cache
def symbol_width(symbol: Symbol) -> float:
    """Return the width of a symbol with its subscripts and primes, in units of 5 pt."""
    letter = symbol.letter
    size = _LETTER_WIDTHS.get(letter, 1.1) if len(letter) == 1 else 1.15
    if len(letter) > 1 and letter not in GREEK:
        size = 1.05 * len(letter)
    below = 0.0
    for piece in symbol.below:
        below += symbol_width(piece) if isinstance(piece, Symbol) else 0.95 * len(piece)
    return size + _SMALL * below + 0.5 * symbol.primes


def matrix_width(matrix: MatrixFormula) -> float:
    """Return the width of a matrix with its brackets, in units of 5 pt."""
    columns = zip(*matrix.rows, strict=True)
    widest = [
        max((formula_width(x) for x in column if x is not None), default=1.0) for column in columns
    ]
    return sum(max(w, 1.0) for w in widest) + 2.0 * len(widest) + 2.0


def widest_piece(x: Expression) -> float:
    """Return the width of the widest unbreakable part of an expression, in units of 5 pt; lines break at the
    signs of the outermost sum.
    """
    return max(map(formula_width, x.terms)) if isinstance(x, Sum) else formula_width(x)
