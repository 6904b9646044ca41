"""Narrowest printed expression of a polynomial, by a search over equivalent forms.

Candidates are the plain sum, factored and collected forms, squares of the cosine or of the sine of an angle,
and tangents. The cost of an expression is its printed width.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from draisine.codegen.formula import (
    ONE,
    ZERO,
    Expression,
    Name,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    begins_with_minus,
    multiply_factors,
    negate,
)
from draisine.codegen.width import LINE_WIDTH, formula_width, widest_piece
from draisine.reading import polynomial as po
from draisine.reading.names import FACTOR_ORDER, INERTIA, SPEED, Names
from draisine.reading.polynomial import UNIT, Monomial, Polynomial

_NEGATIVE_POWERS = (-1, -2, -3, -4)
"""Exponents of a cosine c in terms that may be written with the tangent t = s / c, such as s c^-1 or c^-2."""

MAX_PIECE_WIDTH = LINE_WIDTH - 10.0
"""Largest width of one piece of an equation, in ems.

The left side, a sign and the equation number need the rest of the line.
"""

MAX_SEARCHED_TERMS = 18
"""Largest number of terms of a polynomial for which all forms are tried; the effort grows quickly.
"""

MAX_FACTORED_TERMS = 14
"""Largest number of terms of a polynomial that is searched for factors."""


class Arranger:
    """Function from polynomials to expressions in the names of a page; in a draft, to plain sums."""

    def __init__(self, names: Names, draft: bool = False) -> None:
        self.names = names
        self.draft = draft
        self._memo: dict[tuple[bool, frozenset[tuple[Monomial, Fraction]]], Expression] = {}

    def __call__(self, a: Polynomial) -> Expression:
        """Return the narrowest expression of a polynomial that can be broken into lines.

        A polynomial with many terms is only collected, not factored.
        """
        if self.draft and a:
            return self._write_sum(a)
        best = self._arrange_cached(a, can_break=True)
        if len(a) == 1 or len(a) > MAX_SEARCHED_TERMS:
            return best
        pairs = self.names.pairs
        below = [
            (sine, pairs[sine])
            for sine in self.names.angles
            if any((pairs[sine], power) in m for m in a for power in _NEGATIVE_POWERS)
        ]
        for squares in (True, False):
            replaced = a
            for pair in below:
                replaced = self._replace_by_tangent(replaced, *pair, squares)
            a, best = self._choose_narrower(replaced, a, best)
        for sine, cosine in self.names.pairs.items():
            if cosine in po.names_of(a):
                a, best = self._choose_narrower(po.replace_square(a, cosine, sine), a, best)
        return best

    def _choose_narrower(
        self, other: Polynomial, polynomial: Polynomial, best_expression: Expression
    ) -> tuple[Polynomial, Expression]:
        """Return the narrower of two forms of a polynomial, `other` and the best one so far, each
        with its expression.
        """
        if other == polynomial:
            return polynomial, best_expression
        written = self._arrange_cached(other, can_break=True)
        return (
            (other, written)
            if _printed_cost(written) < _printed_cost(best_expression)
            else (polynomial, best_expression)
        )

    def _replace_by_tangent(
        self, polynomial: Polynomial, sine: int, cosine: int, replaces_squares: bool
    ) -> Polynomial:
        """Return a polynomial with s / c replaced by a tangent t and, with `replaces_squares`, 1 / c^2 by 1
        + t^2.
        """
        tangent = self.names.add_tangent(sine)
        out: Polynomial = {}
        for m, x in polynomial.items():
            powers = dict(m)
            below = -powers.get(cosine, 0)
            above = powers.get(sine, 0)
            term: Polynomial = {m: x}
            if below > 0:
                moved = min(below, above)
                shift = ((cosine, moved), (sine, -moved), (tangent, moved))
                halves = (below - moved) // 2 if replaces_squares else 0
                term = {
                    po.multiply_monomials(
                        po.multiply_monomials(m, shift), ((cosine, 2 * halves),)
                    ): x
                }
                for _ in range(halves):
                    square = {UNIT: Fraction(1), ((tangent, 2),): Fraction(1)}
                    term = po.multiply_polynomials(term, square, {})
            out = po.add(out, term)
        return out

    def _arrange_cached(self, polynomial: Polynomial, can_break: bool = False) -> Expression:
        """Return the narrowest expression of a polynomial, from the cache if possible; `can_break`
        if it may be broken into lines.
        """
        key = can_break, frozenset(polynomial.items())
        if key not in self._memo:
            self._memo[key] = self._search_narrowest(polynomial, can_break)
        return self._memo[key]

    def _search_narrowest(self, polynomial: Polynomial, can_break: bool) -> Expression:
        """Return the narrowest of four expressions of a polynomial.

        They are the plain sum, the sum with common factors extracted, the factored form and the
        collected forms.
        """
        if not polynomial:
            return ZERO
        if len(polynomial) == 1:
            ((m, x),) = polynomial.items()
            return self._make_term(m, x)
        candidates = [self._write_sum(polynomial)]
        number, common = po.split_content(polynomial)
        if sum(x > 0 for x in polynomial.values()) == 0:
            number = -number
        if common or number != 1:
            rest = po.divide(polynomial, number, common)
            candidates.append(
                self._multiply_expressions(number, common, self._arrange_cached(rest))
            )
        if len(polynomial) <= MAX_FACTORED_TERMS and all(k > 0 for m in polynomial for _, k in m):
            candidates += self._factor(polynomial)
        candidates += self._collect_terms(polynomial, can_break)
        return min(candidates, key=_printed_cost)

    def _write_sum(self, polynomial: Polynomial) -> Expression:
        """Return the polynomial as the plain sum of its terms."""
        return _make_sum(
            self._make_term(m, polynomial[m]) for m in sorted(polynomial, key=self._monomial_rank)
        )

    def _monomial_rank(self, monomial: Monomial) -> tuple[object, ...]:
        """Return the sort key of a monomial: speeds first, then masses, in the order of naming."""
        weights = [(-FACTOR_ORDER[self.names.kinds[n]], n, -k) for n, k in monomial]
        return (not monomial, sorted(weights))

    def _factor(self, polynomial: Polynomial) -> list[Expression]:
        """Return the polynomial as a square or as a product of two sums; None if it is neither."""
        root = po.square_root(polynomial)
        if root is not None:
            return [Power(self._arrange_cached(root), 2)]
        for name in sorted(po.names_of(polynomial)):
            powers = [dict(m).get(name, 0) for m in polynomial]
            if max(powers) > 1:
                continue
            x = ((name, 1),)
            slope = {
                po.multiply_monomials(m, x, -1): c for m, c in polynomial.items() if name in dict(m)
            }
            offset = {m: c for m, c in polynomial.items() if name not in dict(m)}
            if 1 < len(slope) <= len(offset):
                other = po.quotient(offset, slope)
                if other is not None:
                    rest = po.add(other, {x: Fraction(1)})
                    return [
                        _make_product([self._arrange_cached(slope), self._arrange_cached(rest)])
                    ]
        return []

    def _collect_terms(self, polynomial: Polynomial, can_break: bool) -> list[Expression]:
        """Return the expressions of a polynomial whose terms are collected by each set of symbols
        in `_collecting_symbols`.
        """
        candidates = []
        for chosen in self._collecting_symbols(polynomial):
            groups: dict[Monomial, Polynomial] = {}
            for m, x in polynomial.items():
                key, rest = po.split_factors(m, chosen)
                groups.setdefault(key, {})[rest] = x
            if len(groups) < len(polynomial):
                candidates.append(self._join_groups(groups, can_break))
        return candidates

    def _collecting_symbols(self, polynomial: Polynomial) -> list[set[int]]:
        """Return the sets of symbols by which a sum is collected: speeds, masses, denominators,
        single symbols.

        A polynomial with many terms is collected by the first set only.
        """
        kinds = self.names.kinds
        used = po.names_of(polynomial)
        choices = [{name for name in used if kinds[name] == kind} for kind in (SPEED, INERTIA)]
        if len(polynomial) > MAX_FACTORED_TERMS:
            choices.insert(1, {name for m in polynomial for name, power in m if power < 0})
        choices = [chosen for chosen in choices if chosen]
        if len(polynomial) > MAX_SEARCHED_TERMS:
            return choices[:1]
        if len(polynomial) <= MAX_FACTORED_TERMS:
            counts = Counter(name for m in polynomial for name, _ in m)
            choices += [{name} for name, count in counts.most_common(3) if count > 1]
        return choices

    def _join_groups(self, groups: dict[Monomial, Polynomial], can_break: bool) -> Expression:
        """Return the sum of groups of terms; groups with proportional coefficients are joined."""
        together: dict[frozenset[tuple[Monomial, Fraction]], Polynomial] = {}
        for key, coefficient in groups.items():
            number, common = po.split_content(coefficient)
            if coefficient[po.leading_monomial(coefficient)] < 0:
                number = -number
            primitive = frozenset(po.divide(coefficient, number, common).items())
            gathered = together.setdefault(primitive, {})
            together[primitive] = po.add(gathered, {po.multiply_monomials(key, common): number})
        terms = []
        for primitive, factor in together.items():
            inside = dict(primitive)
            if inside == {UNIT: Fraction(1)}:
                terms += [
                    self._make_term(m, factor[m]) for m in sorted(factor, key=self._monomial_rank)
                ]
                continue
            number, common = po.split_content(factor)
            if all(x < 0 for x in factor.values()):
                number = -number
            rest: Expression = ONE
            if len(factor) == 1:
                ((common, number),) = factor.items()
            else:
                rest = self._arrange_cached(po.divide(factor, number, common))
            terms += self._distribute_factors(number, common, rest, inside, can_break)
        return _make_sum(terms)

    def _distribute_factors(
        self,
        number: Fraction,
        common: Monomial,
        rest: Expression,
        inside: Polynomial,
        can_break: bool,
    ) -> list[Expression]:
        """Return a bracketed sum times its factors; in several pieces if it is wider than a line."""
        product_of_sum = self._multiply_expressions(
            number, common, self._arrange_cached(inside), rest
        )
        if not can_break or formula_width(product_of_sum) <= MAX_PIECE_WIDTH or len(inside) == 1:
            return [product_of_sum]
        order = sorted(inside, key=self._monomial_rank)
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        return [
            piece
            for half in halves
            for piece in self._distribute_factors(
                number, common, rest, {m: inside[m] for m in half}, can_break
            )
        ]

    def _make_term(self, monomial: Monomial, coefficient: Fraction) -> Expression:
        """Return the term with monomial and coefficient as an expression."""
        return self._multiply_expressions(coefficient, monomial, ONE)

    def _multiply_expressions(
        self, coefficient: Fraction, monomial: Monomial, *bodies: Expression
    ) -> Expression:
        """Return the product of a coefficient, a monomial and further factors as an expression.

        Speeds come last, and negative powers are in the denominator.
        """
        kinds = self.names.kinds
        inline = self.names.inline
        order = sorted(monomial, key=lambda f: (FACTOR_ORDER[kinds[f[0]]], f[0]))

        def make_power(name: int, exponent: int) -> Expression:
            """Return a power of a name as an expression."""
            base = inline.get(name) or Name(self.names.symbols[name])
            return base if exponent == 1 else Power(base, exponent)

        light = [
            make_power(n, k)
            for n, k in order
            if k > 0 and FACTOR_ORDER[kinds[n]] < FACTOR_ORDER[INERTIA]
        ]
        heavy = [make_power(n, k) for n, k in order if k > 0 and kinds[n] == INERTIA]
        speeds = [make_power(n, k) for n, k in order if k > 0 and kinds[n] == SPEED]
        below = [make_power(n, -k) for n, k in order if k < 0]
        inner = [b for b in bodies if b != ONE]
        factors = [*light, *inner, *heavy]
        if (
            any(begins_with_minus(b) for b in inner)
            and len(inner) == 1
            and not isinstance(inner[0], Sum)
        ):
            coefficient = -coefficient
            factors = [*light, *(negate(b) for b in inner), *heavy]
        if not below:
            first = [] if coefficient == 1 else [Number(coefficient)]
            return _make_product([*first, *factors, *speeds])
        sign = Fraction(-1) if coefficient < 0 else Fraction(1)
        magnitude = abs(coefficient)
        # A decimal coefficient stays in the numerator. Only simple fractions have a denominator of
        # their own.
        simple = magnitude.denominator <= po.MAX_DENOMINATOR
        divisor = magnitude.denominator if simple else 1
        top = [] if magnitude * divisor == 1 else [Number(magnitude * divisor)]
        bottom = [] if divisor == 1 else [Number(Fraction(divisor))]
        over = Quotient(_make_product([*top, *factors]), _make_product([*bottom, *below]))
        return _make_product([*([Number(sign)] if sign < 0 else []), over, *speeds])


def _make_product(factors: Iterable[Expression]) -> Expression:
    """Return a product of factors with nested products flattened and numbers first."""
    number = Fraction(1)
    out: list[Expression] = []
    for f in factors:
        for g in f.factors if isinstance(f, Product) else (f,):
            if isinstance(g, Number):
                number *= g.value
            else:
                out.append(g)
    if number == -1 and len(out) == 1:
        return negate(out[0])
    if number != 1 or not out:
        out.insert(0, Number(number))
    return multiply_factors(out)


def _make_sum(terms: Iterable[Expression]) -> Expression:
    """Return a sum whose first term is positive, if any term is positive."""
    out: list[Expression] = []
    for t in terms:
        out += t.terms if isinstance(t, Sum) else [t]
    if begins_with_minus(out[0]):
        first = next((k for k, t in enumerate(out) if not begins_with_minus(t)), 0)
        out.insert(0, out.pop(first))
    return out[0] if len(out) == 1 else Sum(tuple(out))


def _printed_cost(expression: Expression) -> float:
    """Return the printed width of an expression, with a penalty for pieces that do not fit on a
    line.
    """
    return formula_width(expression) + 100.0 * max(0.0, widest_piece(expression) - LINE_WIDTH)
