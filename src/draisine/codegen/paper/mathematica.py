"""Mathematica (the Wolfram language): assignments and lists; underscores go from names."""

from draisine.codegen.formula import Assignment, Page, Symbol
from draisine.codegen.paper._infix import Infix, entries, steps

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
)


def write(page: Page) -> str:
    """Return the page as a package's text."""
    lines = [f"(* {page.title} *)"]
    for step in steps(page):
        if isinstance(step, str):
            lines.append(f"\n(* {step} *)")
        elif isinstance(step, Assignment):
            name, rows = entries(step)
            inside = ",\n  ".join(f"{{{', '.join(map(_WOLFRAM.formula, row))}}}" for row in rows)
            lines.append(f"{symbol(name)} = {{{inside}}};")
        else:
            lines.append(f"{symbol(step[0])} = {_WOLFRAM.formula(step[1])};")
    return "\n".join(lines) + "\n"
