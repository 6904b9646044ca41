"""Layout of a page of equations: short definitions in columns, long lines broken at plus and minus
signs.
"""

from collections.abc import Sequence

from draisine.codegen.formula import Expression, Line, Sum, Symbol, symbols_in
from draisine.codegen.width import LINE_WIDTH, formula_width, symbol_width

COLUMN_COUNTS = (4, 3, 2, 1)
"""Possible numbers of columns for definitions; if several fill their rows equally well, the first one is
chosen.
"""


def line_width(line: Line) -> float:
    """Return the printed width of `symbol = expression`, in units of 5 pt."""
    return symbol_width(line[0]) + 3.0 + formula_width(line[1])


def group_lines(lines: Sequence[Line]) -> list[tuple[int, list[Line]]]:
    """Arrange definitions in groups (number of columns, definitions), each symbol defined before its uses.

    Greedy algorithm: among the definitions whose symbols are all defined, the next group consists of those
    that fit into n columns; n is the number of columns with the most definitions per row.
    """
    remaining = list(lines)
    fitting = {line[0]: _largest_column_count(line) for line in lines}
    waiting = {symbol for symbol, _ in lines}
    needs = {line[0]: _symbols_used(line) & waiting for line in lines}
    grouped: list[tuple[int, list[Line]]] = []
    # Only definitions whose symbols are all defined are candidates for the next row. There is
    # always at least one, so the loop ends.
    while remaining:
        ready = [x for x in remaining if not needs[x[0]] & waiting]
        column_counts = [fitting[x[0]] for x in ready]
        count = max(COLUMN_COUNTS, key=lambda n: _rate_columns(n, column_counts))
        chosen = [x for x in ready if fitting[x[0]] >= count]
        if grouped and grouped[-1][0] == count:
            grouped[-1][1].extend(chosen)
        else:
            grouped.append((count, chosen))
        waiting -= {symbol for symbol, _ in chosen}
        remaining = [x for x in remaining if x[0] in waiting]
    return grouped


def _symbols_used(line: Line) -> set[Symbol]:
    """Return the symbols that a definition uses, including the angles of abbreviated cosines and sines."""
    symbols = set(symbols_in(line[1]))
    return symbols | {x for s in symbols for x in s.below if isinstance(x, Symbol)}


def _rate_columns(column_count: int, column_counts: Sequence[int]) -> tuple[float, int]:
    """Return a measure of how well definitions fill rows of `column_count` columns: (mean number of
    definitions per row, number of definitions that are narrow enough). `column_counts` contains, for
    each definition, the largest number of columns into which it fits.
    """
    fitting = sum(n >= column_count for n in column_counts)
    return (fitting / -(-fitting // column_count) if fitting else 0.0, fitting)


def _largest_column_count(line: Line) -> int:
    """Return the largest number of columns into which a definition fits."""
    return next((n for n in COLUMN_COUNTS if (line_width(line) + 4.0) * n <= LINE_WIDTH + 4.0), 1)


def break_line(line: Line) -> list[list[Expression]]:
    """Return the terms of the right-hand side of a definition, grouped in lines of at most LINE_WIDTH."""
    right = line[1]
    if line_width(line) <= LINE_WIDTH or not isinstance(right, Sum):
        return [[right]]
    available = LINE_WIDTH - symbol_width(line[0]) - 5.0
    broken: list[list[Expression]] = [[]]
    used = 0.0
    for term in right.terms:
        term_width = formula_width(term) + 2.4
        if broken[-1] and used + term_width > available:
            broken.append([])
            used = 0.0
        broken[-1].append(term)
        used += term_width
    return broken
