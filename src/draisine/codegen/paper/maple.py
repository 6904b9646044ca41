"""Maple: assignments and matrices."""

from draisine.codegen.formula import Assignment, Page, Symbol
from draisine.codegen.paper._infix import Infix, entries, steps

SUFFIX = ".mpl"

_TAKEN = {"D", "I", "O", "gamma", "Pi"}
"""Names that mean something to the language."""


def symbol(s: Symbol) -> str:
    """Return a symbol as a word that is free.

    >>> symbol(Symbol("I")), symbol(Symbol("I", ("1",)))
    ('I_', 'I_1')
    """
    return s.plain + ("_" if s.plain in _TAKEN else "")


_MAPLE = Infix(
    symbol=symbol,
    pi="Pi",
    functions={
        "atan2": "arctan({0}, {1})",
        "lt": "piecewise({0} < {1}, 1, 0)",
        "where": "piecewise({0} <> 0, {1}, {2})",
    },
)


def write(page: Page) -> str:
    """Return the page as a Maple worksheet's input."""
    lines = [f"# {page.title}"]
    for step in steps(page):
        if isinstance(step, str):
            lines.append(f"\n# {step}")
        elif isinstance(step, Assignment):
            name, rows = entries(step)
            inside = ",\n  ".join(f"[{', '.join(map(_MAPLE.formula, row))}]" for row in rows)
            lines.append(f"{symbol(name)} := Matrix([{inside}]):")
        else:
            lines.append(f"{symbol(step[0])} := {_MAPLE.formula(step[1])}:")
    return "\n".join(lines) + "\n"
