"""Builder of a page of equations: names, lines and numbered blocks in reading order."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from draisine.algebra.trace import Graph
from draisine.codegen.formula import (
    ZERO,
    Assignment,
    Block,
    Definitions,
    Expression,
    Heading,
    MatrixFormula,
    Name,
    Page,
    Paragraph,
    Product,
    Relation,
    Sum,
    Symbol,
    Transpose,
    negate,
    parse_name,
    symbols_in,
)
from draisine.codegen.width import LINE_WIDTH, formula_width, matrix_width, symbol_width
from draisine.reading.cut import MAX_INTERMEDIATE_TERMS, Cut, TooLong
from draisine.reading.form import Arranger
from draisine.reading.names import ENTRY, LEGEND, Names, describe_symbol
from draisine.reading.polynomial import Polynomial, variable

TurnSymbol = tuple[Symbol, str, Symbol]
"""Abbreviation of a trigonometric function: symbol, name of the function, angle."""

MAX_WRITTEN_TERMS = 128
"""Largest number of terms of an entry that is printed without abbreviations; about ten lines of a
page.
"""

MAX_ENTRY_WIDTH = 10.0
"""Largest width (em) of a matrix entry without a separate symbol; a 6 by 6 matrix of such entries fills a
page.
"""

MIN_SHORTENED_WIDTH = 3.0
"""Smallest width (em) of a matrix entry that is replaced by a symbol; for narrower entries a symbol
would not be shorter.
"""

MATRIX_MARGIN = 10.0
"""Space (em) for brackets, equals sign and equation number beside a matrix."""


def parse_sentence(text: str) -> list[str | Expression]:
    """Split a text into words and symbols; symbols are written between dollar signs."""
    pieces = enumerate(text.split("$"))
    return [parse_name(piece) if k % 2 else piece for k, piece in pieces if piece]


@dataclass
class _Grid:
    """Matrix under construction. Wide entries are replaced by symbols until the matrix fits on the page."""

    sheet: "Sheet"  # page of the matrix
    rows: list[list[Any]]  # traced values of the entries
    symbols: Sequence[Sequence[Symbol]]  # symbol that may replace each entry
    symmetric: bool  # whether only the upper triangle is written
    bar: int | None  # column before which a vertical line is drawn
    kind: str  # kind of the symbols
    written: dict[tuple[int, int], Expression] = field(
        default_factory=dict
    )  # (row, column) -> text
    short: dict[Any, Expression] = field(default_factory=dict)  # symbols in use, by value

    def __post_init__(self) -> None:
        first = [i if self.symmetric else 0 for i in range(len(self.rows))]
        self.places = [(i, j) for i, row in enumerate(self.rows) for j in range(first[i], len(row))]
        self.values = {(i, j): self.sheet.as_polynomial(self.rows[i][j]) for i, j in self.places}

    def write_entry(self, position: tuple[int, int]) -> None:
        """Write the entry at (row, column); use a symbol if its expression exceeds MAX_ENTRY_WIDTH."""
        row = self.rows[position[0]]
        self.written[position] = self.sheet.arrange(self.sheet.cut.convert_value(row[position[1]]))
        if formula_width(self.written[position]) > MAX_ENTRY_WIDTH and len(row) > 1:
            self.shorten_entry(position)

    def shorten_entry(self, position: tuple[int, int]) -> None:
        """Replace the entry at (row, column) by its symbol, or by that of an equal entry."""
        sheet = self.sheet
        i, j = position
        x = self.rows[i][j]
        value = self.values[position] if sheet.is_expanded else sheet.cut.convert_value(x)
        key = frozenset(value.items())
        if key not in self.short:
            # If a page is printed without abbreviations, later formulas do not refer to the names
            # of matrix entries.
            node = None if sheet.is_expanded else x
            number = sheet.cut.define_polynomial(value, self.symbols[i][j], self.kind, node)
            sheet.entries.append((x, number))
            self.short[key] = Name(sheet.names.symbols[number])
        self.written[position] = self.short[key]

    def make_matrix(self) -> MatrixFormula:
        """Return the matrix with the current expressions of its entries."""
        entries = [
            [self.written.get((i, j)) for j in range(len(row))] for i, row in enumerate(self.rows)
        ]
        return MatrixFormula(tuple(map(tuple, entries)), self.bar)


class Sheet:
    """Blocks of a page and the names that are defined on it.

    Parameters
    ----------
    graph
        The traced graph.
    expand
        Whether everything is written in the given symbols. Otherwise an intermediate quantity is
        written as its symbol after its definition.
    max_intermediate_terms
        Largest number of terms of an intermediate value without a separate symbol.
    max_entry_terms
        Largest number of terms of an entry that is written out; a longer one raises `TooLong`.
    draft
        Whether expressions are plain sums, without a search for the narrowest form.
    """

    def __init__(
        self,
        graph: Graph,
        expand: bool = False,
        *,
        max_intermediate_terms: int = MAX_INTERMEDIATE_TERMS,
        max_entry_terms: int = MAX_WRITTEN_TERMS,
        draft: bool = False,
    ) -> None:
        self.legend: Mapping[str, str] = LEGEND
        self.max_entry_terms = max_entry_terms
        self.names = Names()
        self.arrange = Arranger(self.names, draft)
        self.cut = Cut(graph, self.names, self.arrange, expand, max_intermediate_terms)
        self.blocks: list[Block] = []
        self.meanings: dict[str, str] = {}
        self.rates: dict[Symbol, Polynomial] = {}
        self._number = 0
        self._kept: set[Symbol] = set()
        self.entries: list[tuple[Any, int]] = []

    @property
    def is_expanded(self) -> bool:
        """Whether everything is written in the given symbols."""
        return self.cut.expand

    def stop_expanding(self) -> None:
        """From now on, write named quantities by their symbols."""
        self.cut.expand = False
        for x, number in self.entries:
            self.cut.label_node(x, variable(number))

    def _next_number(self) -> int:
        """Return the number of the next equation, and advance the counter."""
        self._number += 1
        return self._number

    def matrix_symbol(self, text: str) -> Name:
        """Return the symbol of a matrix or vector; a bar distinguishes it from a given symbol."""
        symbol = Symbol.parse(text)
        if symbol.plain in {s.plain for _, s in self.cut.given_symbols}:
            symbol = replace(symbol, bar=True)
        return Name(symbol)

    def begin_section(self, text: str) -> None:
        """Begin a section with a heading."""
        self.blocks.append(Heading(text))

    def add_paragraph(self, *parts: str | Expression) -> None:
        """Add a paragraph of words and expressions to the page."""
        self.blocks.append(Paragraph(tuple(parts)))

    def add_equation(self, left_side: str | Expression, right_side: str | Expression) -> None:
        """Add an equation between two sides, each an expression or the text for `parse_formula`."""
        sides = [
            self.parse_formula(side) if isinstance(side, str) else side
            for side in (left_side, right_side)
        ]
        self.blocks.append(Relation(sides[0], sides[1], self._next_number()))

    def parse_formula(self, text: str) -> Expression:
        r"""Return a formula of matrices and vectors, parsed from text like `H' (F + M \kappa)`.

        The grammar has sums, factors side by side, brackets, and a prime for the transpose.
        """
        return self._parse_sum(re.findall(r"[()+'-]|[^\s()+'-]+", text))

    def _parse_sum(self, tokens: list[str]) -> Expression:
        """Parse a sum from the remaining tokens of a formula."""
        terms: list[Expression] = []
        while tokens and tokens[0] != ")":
            sign = tokens.pop(0) if tokens[0] in "+-" else "+"
            term = self._parse_product(tokens)
            terms.append(negate(term) if sign == "-" else term)
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

    def _parse_product(self, tokens: list[str]) -> Expression:
        """Parse a product from the remaining tokens of a formula."""
        factors: list[Expression] = []
        while tokens and tokens[0] not in ")+-":
            match tokens.pop(0):
                case "(":
                    factors.append(self._parse_sum(tokens))
                    tokens.pop(0)
                case "'":
                    factors[-1] = Transpose(factors[-1])
                case word:
                    factors.append(ZERO if word == "0" else self.matrix_symbol(word))
        return factors[0] if len(factors) == 1 else Product(tuple(factors))

    def keep_symbols(self, symbols: Iterable[Symbol]) -> None:
        """Mark symbols whose definitions stay on the page although no matrix contains them."""
        self._kept |= set(symbols)

    def flush_definitions(self) -> None:
        """Add the definitions since the previous block to the page, as a new block."""
        if self.cut.lines:
            self.blocks.append(Definitions(tuple(self.cut.lines), self._next_number()))
            self.cut.lines.clear()

    def end_section(self) -> None:
        """Add the lines of a section; remove its heading and paragraph if there are no lines."""
        if self.cut.lines:
            self.flush_definitions()
        else:
            del self.blocks[-2:]

    def as_polynomial(self, x: Any) -> Polynomial:
        """Return a traced value as a polynomial in names; raise `TooLong` if it has too many terms."""
        value = self.cut.convert_value(x)
        if self.is_expanded and len(value) > self.max_entry_terms:
            raise TooLong
        return value

    def given_angle_functions(self) -> set[int]:
        """Return the indices of the cosines and sines of given angles."""
        return set(self.cut.given)

    def is_known(self, value: Polynomial) -> bool:
        """Return whether a value is a single name or its negative."""
        return len(value) == 1 and all(len(m) == 1 and m[0][1] == 1 for m in value)

    def define_symbol(
        self, x: Any, symbol: Symbol, kind: str = ENTRY, min_factors: int = 4
    ) -> None:
        """Define a symbol for a value if it is a sum, or a product of at least `min_factors` factors."""
        value = self.as_polynomial(x)
        if len(value) > 1 or sum(abs(k) for m in value for _, k in m) >= min_factors:
            self.cut.define_value(x, symbol, kind)

    def define_vector(
        self,
        letter: str,
        entries: Iterable[Any],
        subscripts: Sequence[str],
        kind: str = ENTRY,
        min_factors: int = 4,
    ) -> None:
        """Define symbols with the given subscripts for those entries of a vector that are sums."""
        for x, tail in zip(entries, subscripts, strict=True):
            self.define_symbol(x, Symbol(letter, (tail,)), kind, min_factors)

    def add_matrix(
        self,
        symbol: str,
        entries: Any,
        symbols: Sequence[Sequence[Symbol]],
        symmetric: bool = False,
        bar: int | None = None,
        kind: str = ENTRY,
    ) -> None:
        """Add a matrix to the page.

        Wide entries get symbols, then the widest of the others until the matrix fits on the page.
        """
        grid = _Grid(self, [list(row) for row in entries], symbols, symmetric, bar, kind)
        for place in grid.places:
            grid.write_entry(place)
        available = LINE_WIDTH - symbol_width(Symbol.parse(symbol)) - MATRIX_MARGIN
        while matrix_width(grid.make_matrix()) > available:
            widest = max(grid.places, key=lambda place: formula_width(grid.written[place]))
            expression = grid.written[widest]
            if isinstance(expression, Name) or formula_width(expression) < MIN_SHORTENED_WIDTH:
                break
            grid.shorten_entry(widest)
        self.flush_definitions()
        self.blocks.append(
            Assignment(self.matrix_symbol(symbol), grid.make_matrix(), self._next_number())
        )

    def add_column(
        self,
        symbol: str,
        entries: Iterable[Any],
        letter: str,
        subscripts: Sequence[str] | None = None,
    ) -> None:
        """Add a column of values, written as the transpose of a row.

        `subscripts` are the subscripts of entries that get symbols; numbers from one by default.
        """
        row = list(entries)
        if subscripts is None:
            subscripts = [str(k + 1) for k in range(len(row))]
        symbols = [Symbol(letter, (tail,)) for tail in subscripts]
        self.add_matrix(symbol, [row], [symbols])
        self.transpose_last()

    def transpose_last(self) -> None:
        """Write the last matrix, which is a row, as the transpose of a column."""
        last = self.blocks.pop()
        assert isinstance(last, Assignment)
        self.blocks.append(Assignment(Transpose(last.symbol), last.matrix, last.number))

    def finish_page(self, title: str) -> Page:
        """Return the finished page without unused definitions."""
        self.flush_definitions()
        turns = self.cut.list_angle_functions()
        blocks, used = _remove_unused(self.blocks, self._kept, {s: x for s, _, x in turns})
        turns = tuple(turn for turn in turns if turn[0] in used)
        used_symbols = [(name, symbol) for name, symbol in self.cut.given_symbols if symbol in used]
        return Page(
            title,
            tuple(blocks),
            tuple(turns),
            tuple(used_symbols),
            self._collect_meanings(blocks, turns),
        )

    def _collect_meanings(
        self, blocks: Sequence[Block], turns: Iterable[TurnSymbol]
    ) -> dict[Symbol, str]:
        """Return the meanings of all symbols: given symbols, their rates, and symbols derived by
        rule.
        """
        out = {s: self.meanings.get(name, name) for name, s in self.cut.given_symbols}
        defined = [turn[0] for turn in turns]
        for block in blocks:
            if isinstance(block, Definitions):
                defined += [symbol for symbol, _ in block.lines]
        for symbol in defined:
            base = replace(symbol, dots=max(symbol.dots - 1, 0))
            is_rate = symbol.dots > 0 and base in out
            out[symbol] = (
                f"rate of {out[base]}" if is_rate else describe_symbol(symbol, self.legend)
            )
        return out


def _remove_unused(
    blocks: Sequence[Block], kept_symbols: set[Symbol], angles: Mapping[Symbol, Symbol]
) -> tuple[list[Block], set[Symbol]]:
    """Return the blocks without unused definitions, and all symbols in use.

    Blocks are visited backwards, because a definition may need earlier ones. A cosine uses its angle.
    """
    used = set(kept_symbols)
    out: list[Block] = []

    def mark_used(expression: Expression) -> None:
        """Add the symbols of an expression to the set of used symbols."""
        symbols = set(symbols_in(expression))
        used.update(symbols, {angles[s] for s in symbols & angles.keys()})

    for block in reversed(blocks):
        if isinstance(block, Assignment):
            mark_used(block.matrix)
        elif isinstance(block, Definitions):
            needed = []
            for line in reversed(block.lines):
                if line[0] in used:
                    mark_used(line[1])
                    needed.append(line)
            if not needed:
                continue
            block = Definitions(tuple(reversed(needed)), block.number)
        out.append(block)
    return _remove_empty_sections(out[::-1]), used


def _remove_empty_sections(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks without sections that have only a heading and text."""
    out: list[Block] = []
    section: list[Block] = []
    for block in (*blocks, Heading("")):
        if isinstance(block, Heading):
            titled = bool(section) and isinstance(section[0], Heading)
            if not titled or any(not isinstance(b, (Heading, Paragraph)) for b in section):
                out += section
            section = []
        section.append(block)
    return out
