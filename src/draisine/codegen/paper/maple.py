"""Printer of a page of equations as input of Maple: assignments and matrices."""

from draisine.codegen.formula import Page, Symbol
from draisine.codegen.paper._infix import Infix

SUFFIX = ".mpl"

_MAPLE_RESERVED = {"D", "I", "O", "gamma", "Pi"}
"""Names with a predefined meaning in Maple."""


def symbol(s: Symbol) -> str:
    """Return a symbol as a name without predefined meaning.

    >>> symbol(Symbol("I")), symbol(Symbol("I", ("1",)))
    ('I_', 'I_1')
    """
    return s.plain + ("_" if s.plain in _MAPLE_RESERVED else "")


_MAPLE = Infix(
    symbol=symbol,
    pi="Pi",
    functions={
        "atan2": "arctan({0}, {1})",
        "lt": "piecewise({0} < {1}, 1, 0)",
        "where": "piecewise({0} <> 0, {1}, {2})",
    },
    definition="{0} := {1}:",
)


def write(page: Page) -> str:
    """Return the page as input of a Maple worksheet."""
    return "\n".join([f"# {page.title}", *_MAPLE.write_lines(page), ""])
