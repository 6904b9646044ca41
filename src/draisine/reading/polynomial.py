"""Sparse polynomials between names, with negative powers for quotients.

`{((name, power), ...): coefficient}`, names by number. The square of a sine is kept as one minus
that of its cosine, so equal polynomials in sines and cosines are equal as they stand.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import gcd, isqrt

Monomial = tuple[tuple[int, int], ...]
Polynomial = dict[Monomial, Fraction]
Pairs = Mapping[int, int]
"""From each sine to its cosine."""

UNIT: Monomial = ()
SIMPLE = 99
"""The largest denominator of a fraction; other numbers are decimals."""


def constant(value: Fraction) -> Polynomial:
    """Return a number as a polynomial."""
    return {UNIT: value} if value else {}


def variable(name: int, power: int = 1) -> Polynomial:
    """Return a power of one name."""
    return {((name, power),): Fraction(1)}


def add(a: Polynomial, b: Polynomial, factor: Fraction | int = 1) -> Polynomial:
    """Return a + factor b."""
    out = dict(a)
    for m, x in b.items():
        _put(out, m, x if factor == 1 else x * factor)
    return out


def _put(a: Polynomial, m: Monomial, x: Fraction) -> None:
    """Add a term to a polynomial."""
    total = a[m] + x if m in a else x
    if total:
        a[m] = total
    else:
        del a[m]


def scale(a: Polynomial, factor: Fraction | int) -> Polynomial:
    """Return factor a."""
    return {m: x * factor for m, x in a.items()} if factor else {}


def times(a: Monomial, b: Monomial, power: int = 1) -> Monomial:
    """Return a b^power.

    >>> times(((1, 2), (3, 1)), ((1, -2), (2, 1)))
    ((2, 1), (3, 1))
    """
    exponents = dict(a)
    for name, k in b:
        exponents[name] = exponents.get(name, 0) + power * k
    return tuple(sorted((name, k) for name, k in exponents.items() if k))


def multiply(a: Polynomial, b: Polynomial, pairs: Pairs) -> Polynomial:
    """Return a b, squares of sines replaced."""
    out: Polynomial = {}
    for m, x in a.items():
        for n, y in b.items():
            product, number = times(m, n), x * y
            if any(power > 1 and name in pairs for name, power in product):
                for k, z in _without_squares(product, pairs).items():
                    _put(out, k, number * z)
            else:
                _put(out, product, number)
    return out


def _without_squares(m: Monomial, pairs: Pairs) -> Polynomial:
    """Return a monomial as a polynomial in which no sine stands squared."""
    for name, power in m:
        if power >= 2 and name in pairs:
            rest = times(m, ((name, -2),))
            squared = times(rest, ((pairs[name], 2),))
            return add(_without_squares(rest, pairs), _without_squares(squared, pairs), -1)
    return {m: Fraction(1)}


def replace_square(a: Polynomial, name: int, other: int) -> Polynomial:
    """Return a with name^2 written as 1 - other^2, wherever it stands squared."""
    out: Polynomial = {}
    for m, x in a.items():
        power = dict(m).get(name, 0)
        term: Polynomial = {times(m, ((name, -2 * (power // 2)),)) if power > 1 else m: x}
        if power > 1:
            square = {UNIT: Fraction(1), ((other, 2),): Fraction(-1)}
            for _ in range(power // 2):
                term = multiply(term, square, {})
        out = add(out, term)
    return out


def content(a: Polynomial) -> tuple[Fraction, Monomial]:
    """Return the number and the monomial that all terms have in common; decimals have no number in
    common.

    >>> content({((1, 2),): Fraction(4), ((1, 1), (2, 1)): Fraction(-6)})
    (Fraction(2, 1), ((1, 1),))
    """
    above, below = 0, 1
    for x in a.values():
        above = gcd(above, abs(x.numerator))
        below = below * x.denominator // gcd(below, x.denominator)
    if below > SIMPLE:
        above = below = 1
    names = {name for m in a for name, _ in m}
    powers = {name: min(dict(m).get(name, 0) for m in a) for name in names}
    common = tuple(sorted((name, k) for name, k in powers.items() if k))
    return Fraction(above, below), common


def divide(a: Polynomial, number: Fraction, monomial: Monomial) -> Polynomial:
    """Return a / (number monomial)."""
    return {times(m, monomial, -1): x / number for m, x in a.items()}


def leading_monomial(a: Polynomial) -> Monomial:
    """Return the monomial that comes first in the order of names."""
    return max(a, key=lambda m: _order(m))


def _order(m: Monomial) -> tuple[tuple[int, int], ...]:
    return tuple((-name, power) for name, power in m)


def quotient(a: Polynomial, b: Polynomial) -> Polynomial | None:
    """Return a / b where b divides a, else None; all powers positive.

    >>> x, y = ((1, 1),), ((2, 1),)
    >>> a = {((1, 2),): Fraction(1), ((2, 2),): Fraction(-1)}
    >>> quotient(a, {x: Fraction(1), y: Fraction(1)}) == {x: Fraction(1), y: Fraction(-1)}
    True
    """
    first = leading_monomial(b)
    out: Polynomial = {}
    left = dict(a)
    for _ in range(4 * len(a)):
        if not left:
            return out
        top = leading_monomial(left)
        step = times(top, first, -1)
        if any(power < 0 for _, power in step):
            return None
        factor = left[top] / b[first]
        out = add(out, {step: factor})
        left = add(left, multiply({step: factor}, b, {}), -1)
    return None if left else out


def square_root(a: Polynomial) -> Polynomial | None:
    """Return b with b b = a where there is one, else None; all powers positive.

    >>> x, y = ((1, 1),), ((2, 1),)
    >>> b = {x: Fraction(1), y: Fraction(-3)}
    >>> square_root(multiply(b, b, {})) == b
    True
    """
    top = leading_monomial(a)
    x = a[top]
    whole = x > 0 and isqrt(x.numerator) ** 2 == x.numerator
    if not whole or isqrt(x.denominator) ** 2 != x.denominator or any(k % 2 for _, k in top):
        return None
    first = tuple((name, k // 2) for name, k in top)
    out: Polynomial = {first: Fraction(isqrt(x.numerator), isqrt(x.denominator))}
    left = add(a, multiply(out, out, {}), -1)
    for _ in range(len(a)):
        if not left:
            return out
        m = leading_monomial(left)
        step = times(m, first, -1)
        if any(power < 0 for _, power in step):
            return None
        new = {step: left[m] / (2 * out[first])}
        left = add(left, multiply(add(scale(out, 2), new), new, {}), -1)
        out = add(out, new)
    return None if left else out


def names_of(a: Polynomial) -> set[int]:
    """Return the names that occur."""
    return {name for m in a for name, _ in m}


def part(m: Monomial, names: Iterable[int]) -> tuple[Monomial, Monomial]:
    """Return the factors of a monomial among the names, and the others."""
    chosen = set(names)
    return tuple(f for f in m if f[0] in chosen), tuple(f for f in m if f[0] not in chosen)
