"""Printer of a page of equations as Markdown with LaTeX between dollars, for notebooks, MyST and code
hosts.
"""

from draisine.codegen.formula import (
    Assignment,
    Block,
    Definitions,
    Heading,
    Page,
    Paragraph,
    Relation,
)
from draisine.codegen.paper import latex

SUFFIX = ".md"


def write(page: Page) -> str:
    """Return the page as Markdown."""
    parts = [f"# {page.title}"]
    for block in page.blocks:
        parts.append(_write_block(block))
    return "\n\n".join(parts) + "\n"


def _write_block(block: Block) -> str:
    """Return a block of the page (heading, paragraph, equation or matrix) as Markdown."""
    match block:
        case Heading(text):
            return f"## {text}"
        case Paragraph(parts):
            return "".join(p if isinstance(p, str) else f"${latex.formula(p)}$" for p in parts)
        case Relation(left, right, number):
            return _write_display([f"{latex.formula(left)} &= {latex.formula(right)}"], number)
        case Assignment(symbol, matrix, number):
            return _write_display([f"{latex.formula(symbol)} &= {latex.formula(matrix)}"], number)
        case Definitions(lines, number):
            rows = [row for _, group in latex.layout_rows(lines) for row in group]
            return _write_display(rows, number)


def _write_display(rows: list[str], number: int) -> str:
    """Return rows of equations as a numbered display."""
    body = " \\\\\n".join(rows)
    return f"$$\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n\\tag{{{number}}}\n$$"
