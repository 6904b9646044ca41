"""Mathematica (the Wolfram language): assignments and lists; underscores go from names."""

from draisine.codegen.formula import Page, Symbol
from draisine.codegen.paper._infix import Infix

SUFFIX = ".wl"

_TAKEN = set("CDEIKNO")
"""Letters that mean something to the language."""


def symbol(s: Symbol) -> str:
    """Return a symbol as a word without underscores, which stand for patterns.

    >>> symbol(Symbol("phi", ("b",), dots=1))
    'phi$b$dot'
    """
    return s.plain.replace("_", "$") + ("$" if s.plain in _TAKEN else "")


_WOLFRAM = Infix(
    symbol=symbol,
    call="{0}[{1}]",
    pi="Pi",
    functions={
        "sin": "Sin",
        "cos": "Cos",
        "tan": "Tan",
        "exp": "Exp",
        "sqrt": "Sqrt",
        "atan2": "ArcTan[{1}, {0}]",
        "lt": "Boole[{0} < {1}]",
        "where": "If[{0} != 0, {1}, {2}]",
    },
    comment="(* {0} *)",
    remark="(* {0} *)",
    definition="{0} = {1};",
    row="{{{0}}}",
    matrix="{{{0}}}",
)


def write(page: Page) -> str:
    """Return the page as a package's text."""
    return "\n".join([f"(* {page.title} *)", *_WOLFRAM.script(page), ""])
