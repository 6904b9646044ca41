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
from draisine.codegen.paper._infix import Infix, entries, steps
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
    return "\n".join([*lines, *_PYTHON.script(page), ""])


def build(page: Page) -> SimpleNamespace:
    """Return the symbols and matrices of a page as SymPy objects, by their plain names.

    All definitions are expanded, so that the results depend only on the inputs of the page.
    """
    sympy = import_extra("sympy", "symbolic")
    values = {s: sympy.Symbol(s.plain, real=True) for _, s in page.given}
    objects = {_PYTHON.symbol(s): x for s, x in values.items()}
    for step in steps(page):
        if isinstance(step, Assignment):
            symbol, rows = entries(step)
            value = sympy.Matrix([[_object(x, values, sympy) for x in row] for row in rows])
        elif isinstance(step, str | Paragraph | Relation):
            continue
        else:
            symbol = step[0]
            value = _object(step[1], values, sympy)
            values[symbol] = value
        objects[_PYTHON.symbol(symbol)] = value
    return SimpleNamespace(**objects)


def _object(x: Expression, values: dict[Symbol, Any], sympy: Any) -> Any:
    """Return an expression as a SymPy object; `values` contains the objects of defined symbols."""

    def convert(y: Expression) -> Any:
        return _object(y, values, sympy)

    match x:
        case Number(value):
            return sympy.Rational(value.numerator, value.denominator)
        case Name(s):
            return sympy.pi if s == PI else values[s]
        case Sum(terms):
            return sympy.Add(*map(convert, terms))
        case Product(factors):
            return sympy.Mul(*map(convert, factors))
        case Power(base, exponent):
            return convert(base) ** exponent
        case Quotient(above, below):
            return convert(above) / convert(below)
        case Root(inside):
            return sympy.sqrt(convert(inside))
        case Function("lt", (a, b)):
            return sympy.Piecewise((1, convert(a) < convert(b)), (0, True))
        case Function("where", (test, yes, no)):
            return sympy.Piecewise((convert(yes), sympy.Ne(convert(test), 0)), (convert(no), True))
        case Function(name, arguments):
            return getattr(sympy, name)(*map(convert, arguments))
    raise TypeError(f"{type(x).__name__} has no place in a line")
