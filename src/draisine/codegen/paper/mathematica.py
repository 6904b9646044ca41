"""Printer of a page of equations for Mathematica (Wolfram language): assignments and lists; names have $
instead of underscores.
"""

from draisine.codegen.formula import Page, Symbol
from draisine.codegen.paper._infix import Infix

SUFFIX = ".wl"

_WOLFRAM_RESERVED = set("CDEIKNO")
"""Letters with a predefined meaning in the Wolfram language."""


def symbol(s: Symbol) -> str:
    """Return a symbol as a name without underscores, which denote patterns.

    >>> symbol(Symbol("phi", ("b",), dots=1))
    'phi$b$dot'
    """
    return s.plain.replace("_", "$") + ("$" if s.plain in _WOLFRAM_RESERVED else "")


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
    """Return the page as the text of a package."""
    return "\n".join([f"(* {page.title} *)", *_WOLFRAM.write_lines(page), ""])
