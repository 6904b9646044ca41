"""Speeds at which the nature of straight running changes, as roots of polynomials in the speed.

With `det(M s^2 + C s + K) = a4 s^4 + ... + a0`, every a_i a polynomial in v, a real eigenvalue is zero
at a root of a0, a pair imaginary at one of the Hurwitz determinant `a1 a2 a3 - a4 a1^2 - a0 a3^2`, and
two eigenvalues meet at one of the discriminant. Floats are fractions of powers of two: times one such
power they are integers, and so are all coefficients, so no digit is lost on the way from the matrices to
the speeds. A critical speed has the name of the eigenmode that changes there, eq. [critical-speeds].
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.eigenvalues import eigenmodes_of, is_plain, is_two_wheeler
from draisine.analysis.bicycle.followed import SETTLED, TwoWheeler
from draisine.analysis.bicycle.straight import Canonical, canonical_matrices, sweep_parameters
from draisine.analysis.eigenmodes import Eigenmodes
from draisine.system.artifacts import check_system
from draisine.system.system import System

Coefficients = list[int]
"""Coefficients, lowest power first, up to a common factor."""

HIGHEST = 1e3
"""Roots beyond this speed, m/s, come from round-off in vanishing coefficients."""

LOOKED = (0.1, SETTLED)
"""Between these speeds, m/s, the changes of machines without canonical matrices are looked for: at rest tyres
swing undamped.
"""


@dataclass(frozen=True, eq=False)
class Critical:
    """The critical speeds of straight running in m/s, arrays over a sweep; nan where there is none.

    At `weave` and `capsize` the eigenvalue of the mode that `eigenvalues` calls so has no real part: at
    an end of the stable range, or else for the first time. The weave swings there with
    `weave_frequency` in rad/s, zero where its eigenvalue is real. At `double_root` two real eigenvalues
    of the value `double_value` become the weave pair. `stable_from` and `stable_to` bound the (first)
    range in which all eigenvalues are damped.
    """

    weave: Floats
    weave_frequency: Floats
    capsize: Floats
    double_root: Floats
    double_value: Floats
    stable_from: Floats
    stable_to: Floats

    def __repr__(self) -> str:
        if np.ndim(self.weave):
            return f"Critical speeds of {np.size(self.weave)} bicycles"
        return (
            f"Critical speeds in m/s: weave {self.weave:.9g}, capsize {self.capsize:.9g}, double root "
            f"{self.double_root:.9g}; stable from {self.stable_from:.9g} to {self.stable_to:.9g}"
        )


def critical_speeds(system: System, **sweep: Any) -> Critical:
    """Return the critical speeds of a bicycle; parameters given as arrays are swept together. On tyres,
    with parts that give or with a rider who moves they are looked for up to 30 m/s, without a double root.

    >>> from draisine import compile
    >>> speeds = critical_speeds(compile("whipple"))
    >>> print(f"{speeds.weave:.12f} {speeds.capsize:.12f} {speeds.double_root:.12f}")
    4.292382536341 6.024262015388 0.684283078892
    """
    check_system("critical_speeds", system)
    if is_two_wheeler(system) and not is_plain(system):
        parameters, shape = sweep_parameters(system, sweep)
        named = (dict(zip(system.parameters, row, strict=True)) for row in parameters.tolist())
        return _table((_followed(TwoWheeler(system.with_parameters(**p))) for p in named), shape)
    return critical_of(canonical_matrices(system, **sweep))


def critical_of(matrices: Canonical) -> Critical:
    """Return the critical speeds that the canonical matrices have."""
    shape = matrices.M.shape[:-2]
    return _table((_critical(matrices[where]) for where in np.ndindex(shape)), shape)


def _table(rows: Iterable[tuple[float, ...]], shape: tuple[int, ...]) -> Critical:
    """Return the critical speeds of bicycles, one to a row."""
    return Critical(*(np.array(column).reshape(shape)[()] for column in zip(*rows, strict=True)))


def branching_speed(matrices: Canonical) -> float:
    """Return the speed at which circles branch off from straight running, since a real eigenvalue is zero:
    at the end of the stable range, or else the first; nan where there is none.
    """
    a = characteristic(matrices)
    return _first(positive_roots(a[0]), reversed(_stable_range(a)))


def characteristic(matrices: Canonical) -> list[Coefficients]:
    """Return a0 ... a4 of det(M s^2 + C s + K), each a polynomial in v."""
    zero = np.zeros((2, 2))
    powers = [
        [matrices.Ks + matrices.Kg, zero, matrices.K2],
        [matrices.C0, matrices.C1, zero],
        [matrices.M, zero, zero],
    ]

    whole = max(float(x).as_integer_ratio()[1] for x in np.ravel(powers))

    def entry(i: int, j: int) -> list[Coefficients]:
        return [[int(Fraction(float(part[i, j])) * whole) for part in by_v] for by_v in powers]

    def product(x: list[Coefficients], y: list[Coefficients]) -> list[Coefficients]:
        out: list[Coefficients] = [[0] for _ in range(5)]
        for i, a in enumerate(x):
            for j, b in enumerate(y):
                out[i + j] = _add(out[i + j], _multiply(a, b))
        return out

    first = product(entry(0, 0), entry(1, 1))
    second = product(entry(0, 1), entry(1, 0))
    return [_add(a, _scale(b, -1)) for a, b in zip(first, second, strict=True)]


def hurwitz(a: Sequence[Coefficients]) -> Coefficients:
    """Return a1 a2 a3 - a4 a1^2 - a0 a3^2: zero where two eigenvalues are opposite."""
    return _sum((1, a[1], a[2], a[3]), (-1, a[4], a[1], a[1]), (-1, a[0], a[3], a[3]))


def discriminant(a: Sequence[Coefficients]) -> Coefficients:
    """Return the discriminant of the quartic in s: zero where two eigenvalues are equal."""
    e, d, c, b, a4 = a
    return _sum(
        (256, *[a4] * 3, *[e] * 3), (-192, a4, a4, b, d, e, e), (-128, a4, a4, c, c, e, e),
        (144, a4, a4, c, d, d, e), (-27, a4, a4, *[d] * 4), (144, a4, b, b, c, e, e),
        (-6, a4, b, b, d, d, e), (-80, a4, b, c, c, d, e), (18, a4, b, c, *[d] * 3),
        (16, a4, *[c] * 4, e), (-4, a4, *[c] * 3, d, d), (-27, *[b] * 4, e, e),
        (18, *[b] * 3, c, d, e), (-4, *[b] * 3, *[d] * 3), (-4, b, b, *[c] * 3, e),
        (1, b, b, c, c, d, d),
    )  # fmt: skip


def positive_roots(p: Coefficients) -> list[float]:
    """Return the positive real roots in rising order, each to the last digit: Newton's method with
    exact values.
    """
    largest = max(map(abs, p))
    slope = [k * c for k, c in enumerate(p)][1:]
    found: list[float] = []
    for root in np.roots([c / largest for c in reversed(p)] if largest else []):
        if abs(root.imag) > 1e-5 * abs(root) or not 1e-9 < root.real < HIGHEST:
            continue
        v = float(root.real)
        for _ in range(8):
            below = _value(slope, v)
            step = float(_value(p, v) / below) if below else 0.0
            v -= step
            if abs(step) < 1e-16 * abs(v):
                break
        if abs(v - root.real) < 1e-3 * root.real and not any(abs(v - x) < 1e-9 for x in found):
            found.append(v)
    return sorted(found)


def _critical(matrices: Canonical) -> tuple[float, ...]:
    """Return the entries of `Critical` for one bicycle."""
    a = characteristic(matrices)
    low, high = _stable_range(a)
    changes = dict.fromkeys(positive_roots(a[0]), 0.0) | _swinging(a)
    meetings = positive_roots(discriminant(a))
    modes = eigenmodes_of(matrices, [*changes, *meetings])
    names = _names(modes, list(changes.values()))
    weave, capsize = (
        _first(sorted(v for v, own in zip(changes, names, strict=True) if own == name), ends)
        for name, ends in (("weave", (low, high)), ("capsize", (high, low)))
    )
    meet = _meets(modes)[len(changes) :]
    double = _first([v for v, yes in zip(meetings, meet, strict=True) if yes])
    value = _double_value(a, double) if double == double else double
    return weave, changes.get(weave, weave), capsize, double, value, low, high


def _followed(running: TwoWheeler) -> tuple[float, ...]:
    """Return the entries of `Critical` for one machine that is more than the ideal bicycle."""
    found = running.crossings(*LOOKED)
    edges = [LOOKED[0], *(one.speed for one in found), LOOKED[1]]
    middles = np.array([(low + high) / 2 for low, high in pairwise(edges)])
    damped = np.linalg.eigvals(running.matrices(np.append(middles, 1.0))[0]).real.max(axis=1) < 0.0
    ends = [(low, high) for (low, high), yes in zip(pairwise(edges), damped, strict=False) if yes]
    nan = float("nan")
    low, high = ends[0] if ends else (nan, nan)
    weave, capsize = (
        _first([one.speed for one in found if one.name == name], wished)
        for name, wished in (("weave", (low, high)), ("capsize", (high, low)))
    )
    frequency = next((one.frequency for one in found if one.speed == weave), nan)
    low, high = 0.0 if low == LOOKED[0] else low, float("inf") if high == LOOKED[1] else high
    return weave, frequency, capsize, nan, nan, low, high


def _names(modes: Eigenmodes, frequencies: Sequence[float]) -> list[str]:
    """Return the eigenmodes that have no real part and these frequencies, one at each of the first speeds."""
    values = modes.values[: len(frequencies)]
    off = np.abs(values.real + 1j * (np.abs(values.imag) - np.array(frequencies)[:, None]))
    return [modes.names[k] for k in off.argmin(axis=1)]


def _meets(modes: Eigenmodes) -> list[bool]:
    """Return at which speeds the two eigenvalues of the weave are one."""
    weave, other = modes.values[:, 0], modes.values[:, 1]
    return (np.abs(weave - other) < 1e-4 * np.abs(modes.values).max(axis=1, initial=0.0)).tolist()


def _first(speeds: Sequence[float], preferred: Iterable[float] = ()) -> float:
    """Return the first of some speeds that is preferred, or else the first of all; nan of none."""
    return next((v for v in (*preferred, *speeds) if v in speeds), float("nan"))


def _stable_range(a: list[Coefficients]) -> tuple[float, float]:
    """Return the ends of the first range of speeds in which all eigenvalues are damped, nan without one."""
    edges = sorted([0.0, *positive_roots(a[0]), *_swinging(a), HIGHEST])
    ranges = [(low, high) for low, high in pairwise(edges) if _is_stable(a, (low + high) / 2)]
    low, high = ranges[0] if ranges else (float("nan"), float("nan"))
    return low, float("inf") if high == HIGHEST else high


def _swinging(a: list[Coefficients]) -> dict[float, float]:
    """Return the speeds at which a pair of eigenvalues is imaginary, and its frequency, s^2 = -a1/a3."""
    roots = [v for v in positive_roots(hurwitz(a)) if _value(a[3], v)]
    squares = {v: float(_value(a[1], v) / _value(a[3], v)) for v in roots}
    return {v: float(np.sqrt(square)) for v, square in squares.items() if square > 0}


def _is_stable(a: list[Coefficients], v: float) -> bool:
    """Return whether all eigenvalues are damped at a speed, by Routh and Hurwitz."""
    at = [_value(p, v) for p in a]
    return all(x * at[4] > 0 for x in at) and _value(hurwitz(a), v) * at[4] > 0


def _double_value(a: list[Coefficients], v: float) -> float:
    """Return the value of the two eigenvalues that are equal at a speed."""
    exact = [_value(p, v) for p in reversed(a)]
    quartic = [float(x / max(map(abs, exact))) for x in exact]
    roots = np.roots(quartic)
    i, j = min(
        ((i, j) for i in range(4) for j in range(i)),
        key=lambda ij: abs(roots[ij[0]] - roots[ij[1]]),
    )
    slopes = np.roots(np.polyder(quartic))
    return float(np.real(slopes[np.argmin(np.abs(slopes - (roots[i] + roots[j]) / 2))]))


def _value(p: Coefficients, v: float) -> Fraction:
    """Return the exact value of a polynomial."""
    above, below = float(v).as_integer_ratio()
    total, power = 0, 1
    for c in reversed(p):
        total = total * above + c * power
        power *= below
    return Fraction(total * below, power)


def _add(p: Coefficients, q: Coefficients) -> Coefficients:
    size = max(len(p), len(q))
    padded = [x + [0] * (size - len(x)) for x in (p, q)]
    return [x + y for x, y in zip(*padded, strict=True)]


def _scale(p: Coefficients, factor: int) -> Coefficients:
    return [factor * c for c in p]


def _multiply(p: Coefficients, q: Coefficients) -> Coefficients:
    out = [0] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        if x:
            for j, y in enumerate(q):
                out[i + j] += x * y
    return out


def _sum(*terms: Any) -> Coefficients:
    """Return the sum of terms (factor, polynomial, polynomial ...)."""
    total: Coefficients = [0]
    for factor, *polynomials in terms:
        term: Coefficients = [factor]
        for p in polynomials:
            term = _multiply(term, p)
        total = _add(total, term)
    return total
