"""How the lines of a page are set: what goes beside each other, and where long lines break."""

from collections.abc import Sequence

from draisine.codegen.formula import Expression, Line, Sum, Symbol, symbols_in
from draisine.codegen.width import LINE, symbol_width, width

COLUMNS = (4, 3, 2, 1)
"""How many lines stand beside each other, at most."""


def line_width(line: Line) -> float:
    """Return the width of `symbol = expression`."""
    return symbol_width(line[0]) + 3.0 + width(line[1])


def groups(lines: Sequence[Line]) -> list[tuple[int, list[Line]]]:
    """Return the lines in groups of one to four columns, each symbol still before its uses: what is
    short comes together.
    """
    remaining = list(lines)
    fitting = {line[0]: _columns(line) for line in lines}
    waiting = {symbol for symbol, _ in lines}
    needs = {line[0]: _needs(line) & waiting for line in lines}
    grouped: list[tuple[int, list[Line]]] = []
    while remaining:
        ready = [x for x in remaining if not needs[x[0]] & waiting]
        column_counts = [fitting[x[0]] for x in ready]
        count = max(COLUMNS, key=lambda n: _fill(n, column_counts))
        chosen = [x for x in ready if fitting[x[0]] >= count]
        if grouped and grouped[-1][0] == count:
            grouped[-1][1].extend(chosen)
        else:
            grouped.append((count, chosen))
        waiting -= {symbol for symbol, _ in chosen}
        remaining = [x for x in remaining if x[0] in waiting]
    return grouped


def _needs(line: Line) -> set[Symbol]:
    """Return the symbols of a line, and the angles of cosines and sines."""
    symbols = set(symbols_in(line[1]))
    return symbols | {x for s in symbols for x in s.below if isinstance(x, Symbol)}


def _fill(columns: int, room: Sequence[int]) -> tuple[float, int]:
    """Return how full the rows get with the lines that fit, and how many those are."""
    fitting = sum(n >= columns for n in room)
    return (fitting / -(-fitting // columns) if fitting else 0.0, fitting)


def _columns(line: Line) -> int:
    """Return how many such lines fit beside each other."""
    return next((n for n in COLUMNS if (line_width(line) + 4.0) * n <= LINE + 4.0), 1)


def break_line(line: Line) -> list[list[Expression]]:
    """Return the terms of a line's right side, cut where the line is full."""
    right = line[1]
    if line_width(line) <= LINE or not isinstance(right, Sum):
        return [[right]]
    room = LINE - symbol_width(line[0]) - 5.0
    broken: list[list[Expression]] = [[]]
    used = 0.0
    for term in right.terms:
        size = width(term) + 2.4
        if broken[-1] and used + size > room:
            broken.append([])
            used = 0.0
        broken[-1].append(term)
        used += size
    return broken
