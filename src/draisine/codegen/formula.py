"""Formulas as a tree, and the page that they stand on: what every printer of `codegen/paper` prints.

A `Symbol` is a letter with its dots, marks and subscripts, never a string of one language; an
expression is made of sums, products, powers, quotients, roots, functions and matrices of names and
numbers. A `Page` is a list of blocks in the order of reading: each symbol is defined once, before
it is used.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda"),
    *("mu", "nu", "xi", "pi", "rho", "sigma", "tau", "phi", "varphi", "chi", "psi", "omega"),
    *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"),
)


@dataclass(frozen=True, slots=True)
class Symbol:
    r"""A letter (or the name of a Greek one) with subscripts, dots for rates, a bar, primes.

    >>> Symbol.parse(r"\dot{\phi}_b")
    Symbol(letter='phi', below=('b',), dots=1, bar=False, primes=0)
    >>> Symbol.parse("J_{1xx}").plain
    'J_1xx'
    """

    letter: str
    below: tuple["str | Symbol", ...] = ()
    dots: int = 0
    bar: bool = False
    primes: int = 0

    @classmethod
    def parse(cls, text: str) -> "Symbol":
        """Return the symbol that a piece of LaTeX writes."""
        match = re.fullmatch(
            r"(?P<over>\\(?:dot|ddot|bar)\{)?\\?(?P<letter>[A-Za-z]+)\}?(?:_\{?(?P<below>.*?)\}*)?",
            text,
        )
        if match is None:
            raise ValueError(
                f"symbol {text!r}: write a letter, a Greek name, or one with _{{...}}."
            )
        over = match["over"] or ""
        below = match["below"]
        under: tuple[str | Symbol, ...] = ()
        if below:
            under = (cls.parse(below) if below[0] == "\\" else below,)
        return cls(match["letter"], under, over.count("dot") + over.count("dd"), "bar" in over)

    @property
    def plain(self) -> str:
        """The symbol as a word: letters, digits and underscores."""
        below = "".join(b.plain if isinstance(b, Symbol) else b for b in self.below)
        word = self.letter + ("bar" if self.bar else "") + (f"_{below}" if below else "")
        return re.sub(r"\W", "_", word) + "_dot" * self.dots + "p" * self.primes

    def with_dots(self, dots: int = 1) -> "Symbol":
        """Return the symbol of the rate."""
        return Symbol(self.letter, self.below, self.dots + dots, self.bar, self.primes)


PI = Symbol("pi")
"""The ratio of circumference to diameter; nothing defines it."""


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol that stands for its value."""

    symbol: Symbol


@dataclass(frozen=True, slots=True)
class Sum:
    """Terms added; a term with a negative number in front is subtracted."""

    terms: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Product:
    """Factors multiplied; a number can only be the first."""

    factors: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Power:
    """A whole power, at least the second."""

    base: "Expression"
    exponent: int


@dataclass(frozen=True, slots=True)
class Quotient:
    """One expression over another."""

    above: "Expression"
    below: "Expression"


@dataclass(frozen=True, slots=True)
class Root:
    """A square root."""

    inside: "Expression"


@dataclass(frozen=True, slots=True)
class Function:
    """`sin`, `cos`, `exp`, `atan2` of expressions; `lt` is one where the first is less than the
    second, else zero; `where` chooses the second where the first is not zero, else the third.
    """

    name: str
    arguments: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class MatrixFormula:
    """Rows of entries, None where symmetry tells the entry; `bar` draws a line before a column."""

    rows: tuple[tuple["Expression | None", ...], ...]
    bar: int | None = None


@dataclass(frozen=True, slots=True)
class Transpose:
    """The transpose of a matrix."""

    of: "Expression"


Expression = (
    Number | Name | Sum | Product | Power | Quotient | Root | Function | MatrixFormula | Transpose
)

Line = tuple[Symbol, Expression]
"""A definition: `symbol = expression`."""

ZERO = Number(Fraction(0))
ONE = Number(Fraction(1))


def name_of(text: str) -> Name:
    """Return the name that a piece of LaTeX writes."""
    return Name(Symbol.parse(text))


def negative(x: Expression) -> Expression:
    """Return -x, the sign in front of everything."""
    match x:
        case Number(value):
            return Number(-value)
        case Product((Number(value), *rest)):
            if value == -1:
                return rest[0] if len(rest) == 1 else Product(tuple(rest))
            return Product((Number(-value), *rest))
        case Product(factors):
            return Product((Number(Fraction(-1)), *factors))
        case Quotient(above, below) if not isinstance(above, Sum):
            return Quotient(negative(above), below)
        case Sum(terms):
            return Sum(tuple(negative(t) for t in terms))
    return Product((Number(Fraction(-1)), x))


def is_negative(x: Expression) -> bool:
    """Return whether a minus sign stands in front."""
    match x:
        case Number(value) | Product((Number(value), *_)):
            return value < 0
        case Quotient(above, _):
            return is_negative(above)
    return False


def product(factors: Sequence[Expression]) -> Expression:
    """Return a product without needless parts."""
    kept = [f for f in factors if f != ONE]
    if not kept:
        return ONE
    return kept[0] if len(kept) == 1 else Product(tuple(kept))


def symbols_in(x: Expression | None) -> Iterator[Symbol]:
    """Give every symbol of an expression."""
    match x:
        case Name(symbol):
            yield symbol
        case Sum(children) | Product(children) | Function(_, children):
            for child in children:
                yield from symbols_in(child)
        case Power(inside, _) | Root(inside) | Transpose(inside):
            yield from symbols_in(inside)
        case Quotient(above, below):
            yield from symbols_in(above)
            yield from symbols_in(below)
        case MatrixFormula(rows):
            for row in rows:
                for entry in row:
                    yield from symbols_in(entry)
        case Number() | None:
            return


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words and expressions."""

    parts: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """An equation that says what the symbols have to do with each other; nothing is defined."""

    left: Expression
    right: Expression
    number: int


@dataclass(frozen=True, slots=True)
class Definitions:
    """Lines `symbol = expression`, in the order of evaluation."""

    lines: tuple[Line, ...]
    number: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """A matrix or vector, entry by entry."""

    symbol: Expression
    matrix: MatrixFormula
    number: int


Block = Heading | Paragraph | Relation | Definitions | Assignment


@dataclass(frozen=True)
class Page:
    """Blocks in the order of reading, under a title; `turns` are the short names of cosines, sines
    and tangents: (symbol, function, angle); `given` are the symbols that nothing defines, by the
    names that their owner knows them by; `meanings` says what symbols are, in words.
    """

    title: str
    blocks: tuple[Block, ...] = field(repr=False)
    turns: tuple[tuple[Symbol, str, Symbol], ...] = field(default=(), repr=False)
    given: tuple[tuple[str, Symbol], ...] = field(default=(), repr=False)
    meanings: Mapping[Symbol, str] = field(default_factory=dict, repr=False)

    def definitions(self) -> Iterator[Line]:
        """Give each defined symbol with its expression, in order."""
        for block in self.blocks:
            if isinstance(block, Definitions):
                yield from block.lines

    def matrices(self) -> dict[str, MatrixFormula]:
        """Return the matrices by their symbols' plain names."""
        return {
            block.symbol.symbol.plain: block.matrix
            for block in self.blocks
            if isinstance(block, Assignment) and isinstance(block.symbol, Name)
        }
