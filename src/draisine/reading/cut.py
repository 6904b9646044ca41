"""Conversion of a traced graph of operations to polynomials in the symbols of a printed page. The
conversion stops at nodes of the graph that already have a symbol.

The graph shares equal values: a quantity computed twice from the same symbols is the same node.
Therefore a name of a node applies wherever the node occurs, up to its sign.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from draisine.algebra.trace import Expr, Graph, reachable
from draisine.codegen.formula import PI, Expression, Function, Line, Root, Symbol
from draisine.reading import polynomial as po
from draisine.reading.names import ENTRY, LENGTH, Names
from draisine.reading.polynomial import Polynomial

MAX_INTERMEDIATE_TERMS = 30
"""Largest number of terms of an intermediate expression that is printed without a symbol of its
own; longer ones do not fit on a line.
"""

MAX_EXPANDED_TERMS = 300
"""Largest number of terms of an intermediate expression on a page without abbreviations; longer
ones are not legible.
"""

MAX_ARGUMENT_TERMS = 2
"""Largest number of terms of an unnamed argument of a function with several arguments."""


class TooLong(Exception):
    """Error for a value that has too many terms to be legible without abbreviations."""


class Cut:
    """Converter of traced values to polynomials in the symbols of a page. It stops at nodes that have a
    symbol; `lines` collects the definitions of symbols in the order of evaluation.

    Parameters
    ----------
    graph
        The traced graph.
    names
        The symbols of the page.
    arrange
        Function from a polynomial to the expression that is printed.
    expand
        Whether values are written in the given symbols only; a value that is too long raises
        `TooLong`.
    max_intermediate_terms
        Largest number of terms of an intermediate value without a separate symbol.
    """

    def __init__(
        self,
        graph: Graph,
        names: Names,
        arrange: Callable[[Polynomial], Expression],
        expand: bool = False,
        max_intermediate_terms: int = MAX_INTERMEDIATE_TERMS,
    ) -> None:
        self.max_intermediate_terms = max_intermediate_terms
        self.graph = graph
        self.names = names
        self.arrange = arrange
        self.expand = expand
        self.known: dict[int, Polynomial] = {}
        self.lines: list[Line] = []
        self.given: list[int] = []
        self.given_symbols: list[tuple[str, Symbol]] = []
        self.letters = {"denominator": "D", "root": "sigma", "abbreviation": "k", "angle": "beta"}
        self._atoms: dict[Any, int] = {}
        self._memo: dict[int, Polynomial] = {}
        self._counts: dict[str, int] = {}

    def label_node(self, node: Any, polynomial: Polynomial) -> None:
        """Print one node of the graph as a given polynomial from now on, and -x as its negative.

        If x is y times a parameter, y is printed as the quotient: the graph multiplies parameters
        with each other first, so that y alone may occur elsewhere.
        """
        if not isinstance(node, Expr):
            return
        op, *args = self.graph.ops[node.index]
        self.known[node.index] = polynomial
        self._memo.clear()
        if op == "neg":
            self.label_node(Expr(self.graph, args[0]), po.scale(polynomial, -1))
        elif op == "mul" and self.graph.fixed[args[1]] and args[0] not in self.known:
            rest, factor = (Expr(self.graph, i) for i in args)
            below = self.convert_value(factor)
            if len(below) == 1 and len(self.convert_value(rest)) > 1:
                ((m, number),) = below.items()
                self.label_node(rest, po.divide(polynomial, number, m))

    def name_symbol(self, x: Expr, symbol: Symbol, kind: str = ENTRY) -> int:
        """Assign a page symbol to a symbol of the graph without a defining line, and return its
        index.
        """
        number = self.names.add_name(symbol, kind)
        self.label_node(x, po.variable(number))
        name = self.graph.ops[x.index][1]
        self.given_symbols.append((name, self.names.symbols[number]))
        return number

    def define_value(self, x: Any, symbol: Symbol, kind: str = ENTRY) -> int:
        """Define a new symbol for the value x by a line of the page, and return its index."""
        return self.define_polynomial(self.convert_value(x), symbol, kind, x)

    def define_polynomial(
        self, value: Polynomial, symbol: Symbol, kind: str = ENTRY, x: Any = None
    ) -> int:
        """Define a new symbol for a polynomial by a line of the page, and return its index.

        If x is given, that node of the graph is printed as the new symbol from now on.
        """
        right = self.arrange(value)
        number = self.names.add_name(symbol, kind)
        self.lines.append((self.names.symbols[number], right))
        if x is not None:
            self.label_node(x, po.variable(number))
        return number

    def define_angle(self, cosine: Any, sine: Any, angle: Symbol) -> None:
        """Define symbols for the cosine and the sine of an angle that has no other definition.

        Each symbol is defined by a line of the page.
        """
        values = [self.convert_value(x) for x in (cosine, sine)]
        written = [self.arrange(value) for value in values]
        numbers = self.names.add_angle(angle, is_given=False)
        for x, number, right in zip((cosine, sine), numbers, written, strict=True):
            self.lines.append((self.names.symbols[number], right))
            self.label_node(x, po.variable(number))

    def label_angle(self, cosine: Any, sine: Any, angle: Symbol) -> None:
        """Print two values as the cosine and the sine of a known angle from now on."""
        numbers = self.names.add_angle(angle)
        self.given += numbers
        for x, number in zip((cosine, sine), numbers, strict=True):
            self.label_node(x, po.variable(number))

    def convert_value(self, x: Any) -> Polynomial:
        """Return a traced value (or a number) as a polynomial in the symbols of the page."""
        if not isinstance(x, Expr):
            return po.constant(as_fraction(float(x)))
        memo = self._memo
        converted = self.known
        for i in reachable(self.graph, [x.index], converted):
            if i in converted:
                memo[i] = converted[i]
            elif i not in memo:
                memo[i] = self._abbreviate(self._convert_node(i), i == x.index)
        return memo[x.index]

    def _abbreviate(self, value: Polynomial, is_final: bool) -> Polynomial:
        """Return a polynomial unchanged, or a new symbol for it if it is long and an intermediate
        value (not `is_final`).
        """
        if is_final or len(value) <= (
            MAX_EXPANDED_TERMS if self.expand else self.max_intermediate_terms
        ):
            return value
        if self.expand:
            raise TooLong
        return po.variable(self._name_part("abbreviation", value, self.arrange))

    def _convert_node(self, node: int) -> Polynomial:
        """Return one node as a polynomial, from the polynomials of its arguments."""
        op, *args = self.graph.ops[node]
        memo = self._memo
        match op:
            case "const":
                return self._convert_number(args[0])
            case "symbol":
                raise KeyError(f"The symbol {args[0]!r} has no name on the page.")
            case "add":
                return po.add(memo[args[0]], memo[args[1]])
            case "sub":
                return po.add(memo[args[0]], memo[args[1]], -1)
            case "neg":
                return po.scale(memo[args[0]], -1)
            case "mul":
                return self._multiply(memo[args[0]], memo[args[1]])
            case "inv":
                return self._invert_node(args[0])
            case "sqrt":
                return self._take_root(memo[args[0]])
        return self._convert_function(op, [memo[k] for k in args])

    def _multiply(self, first: Polynomial, second: Polynomial) -> Polynomial:
        """Return the product of two polynomials; if both are long, the longer one gets a symbol."""
        first, second = sorted((first, second), key=len)
        if self.expand and len(first) * len(second) > 4 * MAX_EXPANDED_TERMS:
            raise TooLong
        if (
            len(first) > 1
            and len(first) * len(second) > 4 * self.max_intermediate_terms
            and not self.expand
        ):
            second = po.variable(self._name_part("abbreviation", second, self.arrange))
        return po.multiply_polynomials(first, second, self.names.pairs)

    def _convert_number(self, number: float) -> Polynomial:
        """Return a number as a polynomial; a simple fraction of pi is written with pi."""
        # Denominators up to 24 give multiples of 7.5 degrees. A decimal number is never printed as
        # a fraction of pi.
        turns = Fraction(number / math.pi).limit_denominator(24)
        if (
            not turns
            or number == round(number, 9)
            or abs(float(turns) * math.pi - number) > 1e-14 * abs(number)
        ):
            return po.constant(as_fraction(number))
        if "pi" not in self._atoms:
            self._atoms["pi"] = self.names.add_name(PI, LENGTH)
        return po.scale(po.variable(self._atoms["pi"]), turns)

    def _invert_node(self, node: int) -> Polynomial:
        """Return the inverse of one node as a polynomial; the inverse of a product is taken factor by
        factor.
        """
        op, *args = self.graph.ops[node]
        if op == "mul" and node not in self.known and all(k in self._memo for k in args):
            a, b = (self._invert_node(k) for k in args)
            return po.multiply_polynomials(a, b, self.names.pairs)
        return self._invert(self._memo[node])

    def _invert(self, denominator: Polynomial) -> Polynomial:
        """Return 1 / a; if a is a sum, it is named as a denominator without its common factors."""
        number, common = po.split_content(denominator)
        rest = po.divide(denominator, number, common)
        out = {po.multiply_monomials((), common, -1): 1 / number}
        if len(rest) == 1:
            factor = next(iter(rest.values()))
            return po.scale(out, 1 / factor)
        if po.leading_monomial(rest) and rest[po.leading_monomial(rest)] < 0:
            # Denominators that differ in sign only share one symbol.
            rest = po.scale(rest, -1)
            out = po.scale(out, -1)
        name = self._name_part("denominator", rest, self.arrange)
        return po.multiply_polynomials(out, po.variable(name, -1), self.names.pairs)

    def _take_root(self, radicand: Polynomial) -> Polynomial:
        """Return a symbol for the square root of the polynomial."""
        return po.variable(self._name_part("root", radicand, lambda x: Root(self.arrange(x))))

    def _name_part(
        self, role: str, value: Polynomial, write: Callable[[Polynomial], Expression]
    ) -> int:
        """Return the name of a denominator, root, angle or abbreviation, which is defined at its
        first use.
        """
        key = (role, frozenset(value.items()))
        if key not in self._atoms:
            right = write(value)
            self._atoms[key] = self._number_name(role)
            self.lines.append((self.names.symbols[self._atoms[key]], right))
        return self._atoms[key]

    def _as_short_name(self, value: Polynomial) -> Polynomial:
        """Return a short polynomial unchanged, and a longer one as its symbol or negated symbol."""
        if len(value) <= MAX_ARGUMENT_TERMS:
            return value
        sign = 1 if value[po.leading_monomial(value)] > 0 else -1
        name = self._name_part("abbreviation", po.scale(value, sign), self.arrange)
        return po.scale(po.variable(name), sign)

    def _number_name(self, role: str) -> int:
        """Return the next numbered name for a role, such as the next denominator."""
        self._counts[role] = self._counts.get(role, 0) + 1
        return self.names.add_name(Symbol(self.letters[role], (str(self._counts[role]),)), ENTRY)

    def _convert_function(self, function_name: str, args: list[Polynomial]) -> Polynomial:
        """Return a function value: cosines, sines and `where` by names, other functions written in
        full.
        """
        if function_name in ("sin", "cos"):
            return self._convert_angle_function(function_name, args[0])
        if len(args) > 1:
            args = [self._as_short_name(a) for a in args]
        key = (function_name, *(frozenset(a.items()) for a in args))
        if key in self._atoms:
            return po.variable(self._atoms[key])
        written = Function(function_name, tuple(self.arrange(a) for a in args))
        if function_name == "where":
            self._atoms[key] = self._number_name("abbreviation")
            self.lines.append((self.names.symbols[self._atoms[key]], written))
        else:
            self._atoms[key] = self.names.add_function(written)
        return po.variable(self._atoms[key])

    def _convert_angle_function(self, function_name: str, angle: Polynomial) -> Polynomial:
        """Return the cosine or the sine of an angle; an angle that is a sum gets a symbol."""
        sign = 1 if angle[po.leading_monomial(angle)] > 0 else -1
        angle = po.scale(angle, sign)
        argument = frozenset(angle.items())
        if (function_name, argument) not in self._atoms:
            symbol = self._single_symbol(angle)
            if symbol is None:
                symbol = self.names.symbols[self._name_part("angle", angle, self.arrange)]
            cosine, sine = self.names.add_angle(symbol)
            self._atoms["cos", argument] = cosine
            self._atoms["sin", argument] = sine
            self.given += [cosine, sine]
        return po.scale(
            po.variable(self._atoms[function_name, argument]), sign if function_name == "sin" else 1
        )

    def list_angle_functions(self) -> tuple[tuple[Symbol, str, Symbol], ...]:
        """Return (symbol, function, angle) of the cosines, sines and tangents of named angles."""
        names = self.names
        out = []
        for sine, angle in names.angles.items():
            cosine = names.pairs[sine]
            out += [(names.symbols[cosine], "cos", angle), (names.symbols[sine], "sin", angle)]
            tangent = Symbol("t", (angle,))
            if tangent in names.symbols:
                out.append((tangent, "tan", angle))
        return tuple(out)

    def _single_symbol(self, value: Polynomial) -> Symbol | None:
        """Return the symbol of a polynomial that consists of a single symbol, else None."""
        if len(value) == 1:
            ((m, x),) = value.items()
            if x == 1 and len(m) == 1 and m[0][1] == 1 and m[0][0] not in self.names.inline:
                return self.names.symbols[m[0][0]]
        return None


def as_fraction(number: float) -> Fraction:
    """Return a float as the simple fraction or decimal that it approximates; rounding errors become
    zero.

    >>> as_fraction(0.1), as_fraction(1 / 0.9), as_fraction(0.3 - 0.1 - 0.2)
    (Fraction(1, 10), Fraction(10, 9), Fraction(0, 1))
    """
    # Tolerance 4e-15: a few rounding errors of double precision.
    simple = Fraction(number).limit_denominator(po.MAX_DENOMINATOR)
    if abs(float(simple) - number) <= 1e-15 + 4e-15 * abs(number):
        return simple
    return Fraction(f"{number:.15g}")
