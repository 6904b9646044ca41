"""A page of equations

The reduced dynamics of the snakeboard, as `draisine equations snakeboard --as paper` writes them,
drawn here with Matplotlib. The package stores formulas as a tree, so that any printer can write
them.
"""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import draisine
from draisine.codegen.formula import Assignment, Definitions, Heading, Relation
from draisine.codegen.paper import latex


def lines(page):
    """Give (text, is a title) of each line of a page; matrices row by row."""
    for block in page.blocks:
        match block:
            case Heading(text):
                yield text, True
            case Relation(left, right):
                yield f"${latex.formula(left)} = {latex.formula(right)}$", False
            case Definitions(entries):
                for symbol, right in entries:
                    yield f"${latex.symbol(symbol)} = {latex.formula(right)}$", False
            case Assignment(symbol, matrix) if len(matrix.rows) == 1:
                row = r",\; ".join(map(latex.formula, matrix.rows[0]))
                yield rf"${latex.formula(symbol)} = ({row})$", False


def figure() -> Figure:
    """Return the picture."""
    found = list(lines(draisine.compile("snakeboard").equations().page))
    picture = Figure(figsize=(7.5, 0.4 * len(found) + 0.4), layout="constrained")
    axes = picture.add_subplot()
    axes.set(xlim=(0, 1), ylim=(len(found) + 0.3, -0.7))
    axes.axis("off")
    axes.add_patch(Rectangle((0, -0.7), 1, len(found) + 1.0, fill=False, lw=0.8))
    for k, (text, title) in enumerate(found):
        x, weight = (0.03, "bold") if title else (0.06, "normal")
        shown = text.replace(r"\frac", r"\dfrac")
        axes.text(x, k, shown, weight=weight, size=10, va="center", math_fontfamily="cm")
    return picture
