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
            return self._plain(a)
        best = self._arrange(a, outer=True)
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
                replaced = self._with_tangents(replaced, *pair, squares)
            a, best = self._better(replaced, a, best)
        for sine, cosine in self.names.pairs.items():
            if cosine in po.names_of(a):
                a, best = self._better(po.replace_square(a, cosine, sine), a, best)
        return best

    def _better(
        self, other: Polynomial, a: Polynomial, best: Expression
    ) -> tuple[Polynomial, Expression]:
        """Return the narrower of two forms of a polynomial, `other` and the best one so far, each
        with its expression.
        """
        if other == a:
            return a, best
        written = self._arrange(other, outer=True)
        return (other, written) if _cost(written) < _cost(best) else (a, best)

    def _with_tangents(self, a: Polynomial, sine: int, cosine: int, squares: bool) -> Polynomial:
        """Return a polynomial with s / c replaced by a tangent t and, with `squares`, 1 / c^2 by 1
        + t^2.
        """
        tangent = self.names.tangent(sine)
        out: Polynomial = {}
        for m, x in a.items():
            powers = dict(m)
            below = -powers.get(cosine, 0)
            above = powers.get(sine, 0)
            term: Polynomial = {m: x}
            if below > 0:
                moved = min(below, above)
                shift = ((cosine, moved), (sine, -moved), (tangent, moved))
                halves = (below - moved) // 2 if squares else 0
                term = {po.times(po.times(m, shift), ((cosine, 2 * halves),)): x}
                for _ in range(halves):
                    square = {UNIT: Fraction(1), ((tangent, 2),): Fraction(1)}
                    term = po.multiply_polynomials(term, square, {})
            out = po.add(out, term)
        return out

    def _arrange(self, a: Polynomial, outer: bool = False) -> Expression:
        """Return the cached narrowest expression; `outer` if the expression may be broken into
        lines.
        """
        key = outer, frozenset(a.items())
        if key not in self._memo:
            self._memo[key] = self._narrowest(a, outer)
        return self._memo[key]

    def _narrowest(self, a: Polynomial, outer: bool) -> Expression:
        """Return the narrowest of four expressions of a polynomial.

        They are the plain sum, the sum with common factors extracted, the factored form and the
        collected forms.
        """
        if not a:
            return ZERO
        if len(a) == 1:
            ((m, x),) = a.items()
            return self._term(m, x)
        candidates = [self._plain(a)]
        number, common = po.content(a)
        if sum(x > 0 for x in a.values()) == 0:
            number = -number
        if common or number != 1:
            rest = po.divide(a, number, common)
            candidates.append(self._multiplied(number, common, self._arrange(rest)))
        if len(a) <= MAX_FACTORED_TERMS and all(k > 0 for m in a for _, k in m):
            candidates += self._factored(a)
        candidates += self._collected(a, outer)
        return min(candidates, key=_cost)

    def _plain(self, a: Polynomial) -> Expression:
        """Return the polynomial as the plain sum of its terms."""
        return _sum(self._term(m, a[m]) for m in sorted(a, key=self._rank))

    def _rank(self, m: Monomial) -> tuple[object, ...]:
        """Return the sort key of a monomial: speeds first, then masses, in the order of naming."""
        weights = [(-FACTOR_ORDER[self.names.kinds[n]], n, -k) for n, k in m]
        return (not m, sorted(weights))

    def _factored(self, a: Polynomial) -> list[Expression]:
        """Return the polynomial as a square or as a product of two sums; None if it is neither."""
        root = po.square_root(a)
        if root is not None:
            return [Power(self._arrange(root), 2)]
        for name in sorted(po.names_of(a)):
            powers = [dict(m).get(name, 0) for m in a]
            if max(powers) > 1:
                continue
            x = ((name, 1),)
            slope = {po.times(m, x, -1): c for m, c in a.items() if name in dict(m)}
            offset = {m: c for m, c in a.items() if name not in dict(m)}
            if 1 < len(slope) <= len(offset):
                other = po.quotient(offset, slope)
                if other is not None:
                    rest = po.add(other, {x: Fraction(1)})
                    return [_flat([self._arrange(slope), self._arrange(rest)])]
        return []

    def _collected(self, a: Polynomial, outer: bool) -> list[Expression]:
        """Return the expressions of the polynomial, collected by each choice of `_choices`."""
        candidates = []
        for chosen in self._choices(a):
            groups: dict[Monomial, Polynomial] = {}
            for m, x in a.items():
                key, rest = po.split_factors(m, chosen)
                groups.setdefault(key, {})[rest] = x
            if len(groups) < len(a):
                candidates.append(self._joined(groups, outer))
        return candidates

    def _choices(self, a: Polynomial) -> list[set[int]]:
        """Return the sets of symbols by which a sum is collected: speeds, masses, denominators,
        single symbols.

        A polynomial with many terms is collected by the first set only.
        """
        kinds = self.names.kinds
        used = po.names_of(a)
        choices = [{name for name in used if kinds[name] == kind} for kind in (SPEED, INERTIA)]
        if len(a) > MAX_FACTORED_TERMS:
            choices.insert(1, {name for m in a for name, power in m if power < 0})
        choices = [chosen for chosen in choices if chosen]
        if len(a) > MAX_SEARCHED_TERMS:
            return choices[:1]
        if len(a) <= MAX_FACTORED_TERMS:
            counts = Counter(name for m in a for name, _ in m)
            choices += [{name} for name, count in counts.most_common(3) if count > 1]
        return choices

    def _joined(self, groups: dict[Monomial, Polynomial], outer: bool) -> Expression:
        """Return the sum of groups of terms; groups with proportional coefficients are joined."""
        together: dict[frozenset[tuple[Monomial, Fraction]], Polynomial] = {}
        for key, coefficient in groups.items():
            number, common = po.content(coefficient)
            if coefficient[po.leading_monomial(coefficient)] < 0:
                number = -number
            primitive = frozenset(po.divide(coefficient, number, common).items())
            gathered = together.setdefault(primitive, {})
            together[primitive] = po.add(gathered, {po.times(key, common): number})
        terms = []
        for primitive, factor in together.items():
            inside = dict(primitive)
            if inside == {UNIT: Fraction(1)}:
                terms += [self._term(m, factor[m]) for m in sorted(factor, key=self._rank)]
                continue
            number, common = po.content(factor)
            if all(x < 0 for x in factor.values()):
                number = -number
            rest: Expression = ONE
            if len(factor) == 1:
                ((common, number),) = factor.items()
            else:
                rest = self._arrange(po.divide(factor, number, common))
            terms += self._pieces(number, common, rest, inside, outer)
        return _sum(terms)

    def _pieces(
        self,
        number: Fraction,
        common: Monomial,
        rest: Expression,
        inside: Polynomial,
        outer: bool,
    ) -> list[Expression]:
        """Return a bracketed sum times its factors; in several pieces if it is wider than a line."""
        product_of_sum = self._multiplied(number, common, self._arrange(inside), rest)
        if not outer or formula_width(product_of_sum) <= MAX_PIECE_WIDTH or len(inside) == 1:
            return [product_of_sum]
        order = sorted(inside, key=self._rank)
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        return [
            piece
            for half in halves
            for piece in self._pieces(number, common, rest, {m: inside[m] for m in half}, outer)
        ]

    def _term(self, m: Monomial, x: Fraction) -> Expression:
        """Return the term with monomial m and coefficient x as an expression."""
        return self._multiplied(x, m, ONE)

    def _multiplied(self, x: Fraction, m: Monomial, *bodies: Expression) -> Expression:
        """Return the product of x, the monomial m and further factors as an expression.

        Speeds come last, and negative powers are in the denominator.
        """
        kinds = self.names.kinds
        inline = self.names.inline
        order = sorted(m, key=lambda f: (FACTOR_ORDER[kinds[f[0]]], f[0]))

        def power(name: int, k: int) -> Expression:
            """Return a name to the power k as an expression."""
            base = inline.get(name) or Name(self.names.symbols[name])
            return base if k == 1 else Power(base, k)

        light = [
            power(n, k)
            for n, k in order
            if k > 0 and FACTOR_ORDER[kinds[n]] < FACTOR_ORDER[INERTIA]
        ]
        heavy = [power(n, k) for n, k in order if k > 0 and kinds[n] == INERTIA]
        speeds = [power(n, k) for n, k in order if k > 0 and kinds[n] == SPEED]
        below = [power(n, -k) for n, k in order if k < 0]
        inner = [b for b in bodies if b != ONE]
        factors = [*light, *inner, *heavy]
        if (
            any(begins_with_minus(b) for b in inner)
            and len(inner) == 1
            and not isinstance(inner[0], Sum)
        ):
            x = -x
            factors = [*light, *(negate(b) for b in inner), *heavy]
        if not below:
            first = [] if x == 1 else [Number(x)]
            return _flat([*first, *factors, *speeds])
        sign = Fraction(-1) if x < 0 else Fraction(1)
        magnitude = abs(x)
        # Decimal coefficients stay in the numerator; only simple fractions are split.
        simple = magnitude.denominator <= po.MAX_DENOMINATOR
        divisor = magnitude.denominator if simple else 1
        top = [] if magnitude * divisor == 1 else [Number(magnitude * divisor)]
        bottom = [] if divisor == 1 else [Number(Fraction(divisor))]
        over = Quotient(_flat([*top, *factors]), _flat([*bottom, *below]))
        return _flat([*([Number(sign)] if sign < 0 else []), over, *speeds])


def _flat(factors: Iterable[Expression]) -> Expression:
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


def _sum(terms: Iterable[Expression]) -> Expression:
    """Return a sum whose first term is positive, if any term is positive."""
    out: list[Expression] = []
    for t in terms:
        out += t.terms if isinstance(t, Sum) else [t]
    if begins_with_minus(out[0]):
        first = next((k for k, t in enumerate(out) if not begins_with_minus(t)), 0)
        out.insert(0, out.pop(first))
    return out[0] if len(out) == 1 else Sum(tuple(out))


def _cost(x: Expression) -> float:
    """Return the printed width of an expression, with a penalty for pieces that do not fit on a
    line.
    """
    return formula_width(x) + 100.0 * max(0.0, widest_piece(x) - LINE_WIDTH)
