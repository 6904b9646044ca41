"""Expression trees of formulas, and pages of formulas, which the printers of `codegen/paper` write as text.

A `Symbol` is a letter with dots, marks and subscripts, independent of any language. An expression consists of
sums, products, powers, quotients, roots, functions and matrices of names and numbers. A `Page` is a list of
blocks in the order of reading: each symbol is defined once, before it is used.
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
"""Names of the Greek letters that can be letters of a `Symbol`; all other letters are Latin."""


@dataclass(frozen=True, slots=True)
class Symbol:
    r"""A letter (or the name of a Greek letter) with subscripts, dots for time derivatives, a bar and
    primes.

    >>> Symbol.parse(r"\dot{\phi}_b")
    Symbol(letter='phi', below=('b',), dots=1, bar=False, primes=0)
    >>> Symbol.parse("J_{1xx}").plain
    'J_1xx'
    """

    letter: str  # a letter, or the name of a Greek letter
    below: tuple["str | Symbol", ...] = ()  # subscripts
    dots: int = 0  # number of dots, for time derivatives
    bar: bool = False  # whether a bar is drawn above
    primes: int = 0  # number of primes

    @classmethod
    def parse(cls, text: str) -> "Symbol":
        """Return the symbol that a LaTeX text denotes."""
        match = re.fullmatch(
            r"(?P<over>\\(?:dot|ddot|bar)\{)?\\?(?P<letter>[A-Za-z]+)\}?(?:_\{?(?P<below>.*?)\}*)?",
            text,
        )
        if match is None:
            raise ValueError(
                f"Symbol {text!r} is not valid. Write a letter or a Greek name, optionally with _{{...}}."
            )
        over = match["over"] or ""
        below = match["below"]
        under: tuple[str | Symbol, ...] = ()
        if below:
            under = (cls.parse(below) if below[0] == "\\" else below,)
        return cls(match["letter"], under, over.count("dot") + over.count("dd"), "bar" in over)

    @property
    def plain(self) -> str:
        """The symbol as an identifier: letters, digits and underscores."""
        below = "".join(b.plain if isinstance(b, Symbol) else b for b in self.below)
        word = self.letter + ("bar" if self.bar else "") + (f"_{below}" if below else "")
        return re.sub(r"\W", "_", word) + "_dot" * self.dots + "p" * self.primes

    def with_dots(self, dots: int = 1) -> "Symbol":
        """Return the symbol of the time derivative."""
        return Symbol(self.letter, self.below, self.dots + dots, self.bar, self.primes)


PI = Symbol("pi")
"""Symbol of the number pi; unlike other symbols it needs no definition on a page."""


@dataclass(frozen=True, slots=True)
class Number:
    """An exact rational number in an expression."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol as an operand of an expression."""

    symbol: Symbol


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of terms in an expression; a term with a leading negative number is subtracted."""

    terms: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Product:
    """A product of factors in an expression; only the first factor can be a number."""

    factors: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Power:
    """A power with an integer exponent of at least 2."""

    base: "Expression"
    exponent: int


@dataclass(frozen=True, slots=True)
class Quotient:
    """A quotient of two expressions."""

    above: "Expression"
    below: "Expression"


@dataclass(frozen=True, slots=True)
class Root:
    """A square root."""

    inside: "Expression"


@dataclass(frozen=True, slots=True)
class Function:
    """One of the functions `sin`, `cos`, `exp`, `atan2`, `lt` and `where`, applied to expressions.

    `lt` is 1 if the first argument is less than the second, otherwise 0. `where` is the second argument if
    the first is not zero, otherwise the third.
    """

    name: str
    arguments: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class MatrixFormula:
    """A matrix of expressions."""

    # Entries by row. In a symmetric matrix, an entry (i, j) below the diagonal is None; it equals
    # the entry (j, i).
    rows: tuple[tuple["Expression | None", ...], ...]
    bar: int | None = None  # index of the column before which a vertical line is drawn, or None


@dataclass(frozen=True, slots=True)
class Transpose:
    """The transpose of a matrix."""

    of: "Expression"


Expression = (
    Number | Name | Sum | Product | Power | Quotient | Root | Function | MatrixFormula | Transpose
)

Line = tuple[Symbol, Expression]
"""Type of a definition `symbol = expression`: the pair (symbol, expression)."""

ZERO = Number(Fraction(0))
ONE = Number(Fraction(1))


def parse_name(text: str) -> Name:
    """Return the symbol that a LaTeX text denotes, as an operand of an expression."""
    return Name(Symbol.parse(text))


def negate(x: Expression) -> Expression:
    """Return the expression -x, with the sign in front of products and quotients."""
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
            return Quotient(negate(above), below)
        case Sum(terms):
            return Sum(tuple(negate(t) for t in terms))
    return Product((Number(Fraction(-1)), x))


def begins_with_minus(x: Expression) -> bool:
    """Return whether an expression begins with a minus sign."""
    match x:
        case Number(value) | Product((Number(value), *_)):
            return value < 0
        case Quotient(above, _):
            return begins_with_minus(above)
    return False


def multiply_factors(factors: Sequence[Expression]) -> Expression:
    """Return the product of factors, without factors of one."""
    kept_factors = [f for f in factors if f != ONE]
    if not kept_factors:
        return ONE
    return kept_factors[0] if len(kept_factors) == 1 else Product(tuple(kept_factors))


def symbols_in(x: Expression | None) -> Iterator[Symbol]:
    """Yield every symbol of an expression."""
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
    """Heading of a section of a page."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Paragraph of a page, made of words and expressions."""

    parts: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """An equation that states a relation between symbols and defines no symbol."""

    left: Expression  # left-hand side
    right: Expression  # right-hand side
    number: int  # printed number of the equation


@dataclass(frozen=True, slots=True)
class Definitions:
    """Definitions `symbol = expression` of a page, in the order of evaluation."""

    lines: tuple[Line, ...]  # pairs (symbol, expression)
    number: int  # printed number of the group


@dataclass(frozen=True, slots=True)
class Assignment:
    """An equation on a page that states all entries of a matrix or vector."""

    symbol: Expression  # left-hand side
    matrix: MatrixFormula  # entries
    number: int  # printed number of the equation


Block = Heading | Paragraph | Relation | Definitions | Assignment


@dataclass(frozen=True)
class Page:
    """A page of equations with their symbols and meanings."""

    title: str
    blocks: tuple[Block, ...] = field(repr=False)  # in the order of reading
    # Abbreviations of cosines, sines and tangents, such as c_a = cos(a), each as (symbol, function,
    # angle)
    turns: tuple[tuple[Symbol, str, Symbol], ...] = field(default=(), repr=False)
    given: tuple[tuple[str, Symbol], ...] = field(default=(), repr=False)  # inputs: (name, symbol)
    # Sentence that explains a symbol, by symbol
    meanings: Mapping[Symbol, str] = field(default_factory=dict, repr=False)

    def definitions(self) -> Iterator[Line]:
        """Yield each defined symbol with its expression, in order."""
        for block in self.blocks:
            if isinstance(block, Definitions):
                yield from block.lines

    def matrices(self) -> dict[str, MatrixFormula]:
        """Return the matrices by the plain names of their symbols."""
        return {
            block.symbol.symbol.plain: block.matrix
            for block in self.blocks
            if isinstance(block, Assignment) and isinstance(block.symbol, Name)
        }
