"""Printer of a page of equations for SymPy: a Python script that builds symbols and matrices, and the objects
themselves.
"""

from types import SimpleNamespace
from typing import Any

from draisine.codegen.formula import (
    PI,
    Assignment,
    Expression,
    Function,
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
)
from draisine.codegen.paper._infix import Infix, matrix_entries, order_steps
from draisine.errors import import_extra

SUFFIX = ".py"

_PYTHON = Infix(
    symbol=lambda s: s.plain + ("_" if s.plain in ("lambda", "is", "in", "as", "or") else ""),
    number=lambda x: (
        str(x.numerator) if x.denominator == 1 else f"Rational({x.numerator}, {x.denominator})"
    ),
    power="{0}**{1}",
    functions={
        "lt": "Piecewise((1, {0} < {1}), (0, True))",
        "where": "Piecewise(({1}, Ne({0}, 0)), ({2}, True))",
    },
    between_rows=",\n    ",
    matrix="Matrix([\n    {0},\n])",
)


def write(page: Page) -> str:
    """Return the page as a Python script that uses SymPy."""
    lines = [f'"""{page.title}."""', "", "from sympy import *", ""]
    lines += [f'{_PYTHON.symbol(s)} = Symbol("{s.plain}", real=True)' for _, s in page.given]
    return "\n".join([*lines, *_PYTHON.write_lines(page), ""])


def build_objects(page: Page) -> SimpleNamespace:
    """Return the symbols and matrices of a page as SymPy objects, by their plain names.

    All definitions are expanded, so that the results depend only on the inputs of the page.
    """
    sympy = import_extra("sympy", "symbolic")
    values = {s: sympy.Symbol(s.plain, real=True) for _, s in page.given}
    objects = {_PYTHON.symbol(s): x for s, x in values.items()}
    for step in order_steps(page):
        if isinstance(step, Assignment):
            symbol, rows = matrix_entries(step)
            value = sympy.Matrix([[_make_object(x, values, sympy) for x in row] for row in rows])
        elif isinstance(step, str | Paragraph | Relation):
            continue
        else:
            symbol = step[0]
            value = _make_object(step[1], values, sympy)
            values[symbol] = value
        objects[_PYTHON.symbol(symbol)] = value
    return SimpleNamespace(**objects)


def _make_object(expression: Expression, values: dict[Symbol, Any], sympy: Any) -> Any:
    """Return an expression as a SymPy object; `values` contains the objects of defined symbols."""

    def convert_expression(y: Expression) -> Any:
        """Return an operand of the expression as a SymPy object."""
        return _make_object(y, values, sympy)

    match expression:
        case Number(value):
            return sympy.Rational(value.numerator, value.denominator)
        case Name(s):
            return sympy.pi if s == PI else values[s]
        case Sum(terms):
            return sympy.Add(*map(convert_expression, terms))
        case Product(factors):
            return sympy.Mul(*map(convert_expression, factors))
        case Power(base, exponent):
            return convert_expression(base) ** exponent
        case Quotient(above, below):
            return convert_expression(above) / convert_expression(below)
        case Root(inside):
            return sympy.sqrt(convert_expression(inside))
        case Function("lt", (a, b)):
            return sympy.Piecewise((1, convert_expression(a) < convert_expression(b)), (0, True))
        case Function("where", (test, yes, no)):
            return sympy.Piecewise(
                (convert_expression(yes), sympy.Ne(convert_expression(test), 0)),
                (convert_expression(no), True),
            )
        case Function(name, arguments):
            return getattr(sympy, name)(*map(convert_expression, arguments))
    raise TypeError(f"{type(expression).__name__} cannot be written on one line")
