"""Sparse Laurent polynomials in named quantities, with rational coefficients.

The representation is `{((name, power), ...): coefficient}`, with names as indices. The square of a
sine is replaced by one minus the square of its cosine, so that equal polynomials in sines and
cosines have equal terms.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import gcd, isqrt

Monomial = tuple[tuple[int, int], ...]
"""Type of a product of powers: pairs (index of a name, power), sorted by index."""

Polynomial = dict[Monomial, Fraction]
"""Type of a polynomial: the coefficient of each monomial."""

Pairs = Mapping[int, int]
"""Type of the pairs of sines and cosines: index of the cosine by index of the sine of the same angle."""

UNIT: Monomial = ()
"""Monomial 1, without factors."""

MAX_DENOMINATOR = 99
"""Largest denominator of a number that is written as a fraction; other numbers are written as
decimals.
"""


def constant(value: Fraction) -> Polynomial:
    """Return a number as a constant polynomial."""
    return {UNIT: value} if value else {}


def variable(name: int, power: int = 1) -> Polynomial:
    """Return a power of one name as a polynomial."""
    return {((name, power),): Fraction(1)}


def add(a: Polynomial, b: Polynomial, factor: Fraction | int = 1) -> Polynomial:
    """Return the polynomial a + factor b, for polynomials a and b and a number `factor`."""
    out = dict(a)
    for m, x in b.items():
        _add_term(out, m, x if factor == 1 else x * factor)
    return out


def _add_term(polynomial: Polynomial, monomial: Monomial, coefficient: Fraction) -> None:
    """Add the product of a coefficient and a monomial to a polynomial in place."""
    total = polynomial[monomial] + coefficient if monomial in polynomial else coefficient
    if total:
        polynomial[monomial] = total
    else:
        del polynomial[monomial]


def scale(a: Polynomial, factor: Fraction | int) -> Polynomial:
    """Return the polynomial a times a factor."""
    return {m: x * factor for m, x in a.items()} if factor else {}


def multiply_monomials(a: Monomial, b: Monomial, power: int = 1) -> Monomial:
    """Return the monomial a b^power.

    >>> multiply_monomials(((1, 2), (3, 1)), ((1, -2), (2, 1)))
    ((2, 1), (3, 1))
    """
    exponents = dict(a)
    for name, k in b:
        exponents[name] = exponents.get(name, 0) + power * k
    return tuple(sorted((name, k) for name, k in exponents.items() if k))


def multiply_polynomials(a: Polynomial, b: Polynomial, pairs: Pairs) -> Polynomial:
    """Return the product a b with squares of sines replaced."""
    out: Polynomial = {}
    for m, x in a.items():
        for n, y in b.items():
            product = multiply_monomials(m, n)
            number = x * y
            if any(power > 1 and name in pairs for name, power in product):
                for k, z in _replace_sine_squares(product, pairs).items():
                    _add_term(out, k, number * z)
            else:
                _add_term(out, product, number)
    return out


def _replace_sine_squares(monomial: Monomial, pairs: Pairs) -> Polynomial:
    """Return a monomial as a polynomial without squares of sines."""
    for name, power in monomial:
        if power >= 2 and name in pairs:
            rest = multiply_monomials(monomial, ((name, -2),))
            squared = multiply_monomials(rest, ((pairs[name], 2),))
            return add(
                _replace_sine_squares(rest, pairs), _replace_sine_squares(squared, pairs), -1
            )
    return {monomial: Fraction(1)}


def replace_square(a: Polynomial, name: int, other: int) -> Polynomial:
    """Return the polynomial a with name^2 replaced by 1 - other^2."""
    out: Polynomial = {}
    for m, x in a.items():
        power = dict(m).get(name, 0)
        term: Polynomial = {
            multiply_monomials(m, ((name, -2 * (power // 2)),)) if power > 1 else m: x
        }
        if power > 1:
            square = {UNIT: Fraction(1), ((other, 2),): Fraction(-1)}
            for _ in range(power // 2):
                term = multiply_polynomials(term, square, {})
        out = add(out, term)
    return out


def split_content(polynomial: Polynomial) -> tuple[Fraction, Monomial]:
    """Return the common factor and the common monomial of all terms of a polynomial; decimal
    coefficients have the factor 1.

    >>> split_content({((1, 2),): Fraction(4), ((1, 1), (2, 1)): Fraction(-6)})
    (Fraction(2, 1), ((1, 1),))
    """
    numerator = 0
    denominator = 1
    for x in polynomial.values():
        numerator = gcd(numerator, abs(x.numerator))
        denominator = denominator * x.denominator // gcd(denominator, x.denominator)
    if denominator > MAX_DENOMINATOR:
        numerator = denominator = 1
    names = {name for m in polynomial for name, _ in m}
    powers = {name: min(dict(m).get(name, 0) for m in polynomial) for name in names}
    common = tuple(sorted((name, k) for name, k in powers.items() if k))
    return Fraction(numerator, denominator), common


def divide(a: Polynomial, number: Fraction, monomial: Monomial) -> Polynomial:
    """Return the polynomial a divided by number times monomial."""
    return {multiply_monomials(m, monomial, -1): x / number for m, x in a.items()}


def leading_monomial(a: Polynomial) -> Monomial:
    """Return the leading monomial in lexicographic order of the names."""
    return max(a, key=lambda m: _lexicographic_key(m))


def _lexicographic_key(monomial: Monomial) -> tuple[tuple[int, int], ...]:
    """Return the sort key of the lexicographic order of monomials."""
    return tuple((-name, power) for name, power in monomial)


def quotient(a: Polynomial, b: Polynomial) -> Polynomial | None:
    """Return a / b by long division if b divides a, else None; all powers must be positive.

    >>> x, y = ((1, 1),), ((2, 1),)
    >>> a = {((1, 2),): Fraction(1), ((2, 2),): Fraction(-1)}
    >>> quotient(a, {x: Fraction(1), y: Fraction(1)}) == {x: Fraction(1), y: Fraction(-1)}
    True
    """
    first = leading_monomial(b)
    out: Polynomial = {}
    remainder = dict(a)
    # Limit the number of steps: divisions whose remainder keeps growing have no short quotient.
    for _ in range(4 * len(a)):
        if not remainder:
            return out
        top = leading_monomial(remainder)
        step = multiply_monomials(top, first, -1)
        if any(power < 0 for _, power in step):
            return None
        factor = remainder[top] / b[first]
        out = add(out, {step: factor})
        remainder = add(remainder, multiply_polynomials({step: factor}, b, {}), -1)
    return None if remainder else out


def square_root(a: Polynomial) -> Polynomial | None:
    """Return the polynomial b with b b = a if it exists, else None; all powers must be positive.

    >>> x, y = ((1, 1),), ((2, 1),)
    >>> b = {x: Fraction(1), y: Fraction(-3)}
    >>> square_root(multiply_polynomials(b, b, {})) == b
    True
    """
    top = leading_monomial(a)
    x = a[top]
    square_numerator = x > 0 and isqrt(x.numerator) ** 2 == x.numerator
    square_denominator = isqrt(x.denominator) ** 2 == x.denominator
    if not square_numerator or not square_denominator or any(k % 2 for _, k in top):
        return None
    first = tuple((name, k // 2) for name, k in top)
    out: Polynomial = {first: Fraction(isqrt(x.numerator), isqrt(x.denominator))}
    remainder = add(a, multiply_polynomials(out, out, {}), -1)
    for _ in range(len(a)):
        if not remainder:
            return out
        m = leading_monomial(remainder)
        step = multiply_monomials(m, first, -1)
        if any(power < 0 for _, power in step):
            return None
        new = {step: remainder[m] / (2 * out[first])}
        remainder = add(remainder, multiply_polynomials(add(scale(out, 2), new), new, {}), -1)
        out = add(out, new)
    return None if remainder else out


def names_of(a: Polynomial) -> set[int]:
    """Return the indices of the names in a polynomial."""
    return {name for m in a for name, _ in m}


def split_factors(m: Monomial, names: Iterable[int]) -> tuple[Monomial, Monomial]:
    """Return the factors of a monomial that are among `names`, and the other factors."""
    chosen = set(names)
    return tuple(f for f in m if f[0] in chosen), tuple(f for f in m if f[0] not in chosen)
