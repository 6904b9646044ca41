"""Critical speeds of straight running: weave speed, capsize speed, double root, stable range.

With `det(M s^2 + C s + K) = a4 s^4 + ... + a0`, every a_i a polynomial in v, a real eigenvalue is zero
at a root of a0, a pair is imaginary at a root of the Hurwitz determinant `a1 a2 a3 - a4 a1^2 - a0 a3^2`, and
two eigenvalues are equal at a root of the discriminant. Polynomials have exact integer coefficients, since
floats are fractions of powers of two: no digit is lost between the matrices and the speeds. A critical
speed has the name of the eigenmode that changes its stability there, eq. [critical-speeds].
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.eigenvalues import eigenmodes_of, is_plain, is_two_wheeler
from draisine.analysis.bicycle.followed import NAMING_SPEED, TwoWheeler
from draisine.analysis.bicycle.straight import Canonical, canonical_matrices, sweep_parameters
from draisine.analysis.eigenmodes import Eigenmodes
from draisine.system.artifacts import require_system
from draisine.system.system import System

Coefficients = list[int]
"""Coefficients of a polynomial in v, lowest power first, up to a common factor."""

MAX_CRITICAL_SPEED = 1e3
"""Largest critical speed, m/s; faster roots are caused by rounding errors in coefficients that should be
zero."""

SEARCHED_SPEEDS = (0.1, NAMING_SPEED)
"""Range of forward speeds in which critical speeds of two-wheelers without canonical matrices are searched,
m/s; it excludes rest, at which tyre deflections oscillate undamped."""


@dataclass(frozen=True, eq=False)
class Critical:
    """The critical speeds of straight running (m/s), arrays over a sweep; nan if one does not exist.

    At the weave and capsize speed the eigenvalue of that mode has no real part. If there are several such
    speeds, it is the one at an end of the stable range, or else the lowest.
    """

    weave: Floats  # weave speed, m/s
    # Imaginary part (rad/s) of the weave eigenvalue at the weave speed; zero if the eigenvalue is
    # real
    weave_frequency: Floats
    capsize: Floats  # capsize speed, m/s
    double_root: Floats  # speed at which two real eigenvalues become the weave pair, m/s
    double_value: Floats  # the double eigenvalue at that speed, 1/s
    stable_from: Floats  # lower end of the lowest speed range with all eigenvalues damped, m/s
    stable_to: Floats  # upper end of that range, m/s

    def __repr__(self) -> str:
        if np.ndim(self.weave):
            return f"Critical speeds of {np.size(self.weave)} bicycles"
        return (
            f"Critical speeds in m/s: weave {self.weave:.9g}, capsize {self.capsize:.9g}, double root "
            f"{self.double_root:.9g}; stable from {self.stable_from:.9g} to {self.stable_to:.9g}"
        )


def critical_speeds(system: System, **sweep: Any) -> Critical:
    """Return the critical speeds of a bicycle.

    They are exact for the ideal bicycle. With tyres, compliant parts or a moving rider they are searched up
    to 30 m/s, without a double root.

    Parameters
    ----------
    system
        The compiled two-wheeler.
    sweep
        Parameters by name; arrays are swept together by the rules of broadcasting.

    Returns
    -------
    Critical
        Speeds (m/s) with the shape of the sweep.

    Examples
    --------
    >>> from draisine import compile
    >>> speeds = critical_speeds(compile("whipple"))
    >>> print(f"{speeds.weave:.12f} {speeds.capsize:.12f} {speeds.double_root:.12f}")
    4.292382536341 6.024262015388 0.684283078892
    """
    require_system("critical_speeds", system)
    if is_two_wheeler(system) and not is_plain(system):
        parameters, shape = sweep_parameters(system, sweep)
        named = (dict(zip(system.parameters, row, strict=True)) for row in parameters.tolist())
        return _make_critical(
            (_searched_critical_speeds(TwoWheeler(system.with_parameters(**p))) for p in named),
            shape,
        )
    return critical_speeds_of(canonical_matrices(system, **sweep))


def critical_speeds_of(matrices: Canonical) -> Critical:
    """Return the critical speeds of canonical matrices."""
    shape = matrices.M.shape[:-2]
    return _make_critical(
        (_exact_critical_speeds(matrices[where]) for where in np.ndindex(shape)), shape
    )


def _make_critical(rows: Iterable[tuple[float, ...]], shape: tuple[int, ...]) -> Critical:
    """Return a `Critical` with the shape of a sweep from the critical speeds of each of its bicycles."""
    return Critical(*(np.array(column).reshape(shape)[()] for column in zip(*rows, strict=True)))


def branching_speed(matrices: Canonical) -> float:
    """Return the speed (m/s) at which circular motions branch off from straight running; nan if
    none exists.

    A real eigenvalue is zero there. The end of the stable range is preferred, else the lowest speed is
    returned.
    """
    a = characteristic_polynomial(matrices)
    return _take_preferred(positive_roots(a[0]), reversed(_find_stable_range(a)))


def characteristic_polynomial(canonical_matrices: Canonical) -> list[Coefficients]:
    """Return the coefficients a0 ... a4 of the characteristic polynomial det(M s^2 + C s + K), each
    a polynomial in the speed v.
    """
    zero = np.zeros((2, 2))
    powers = [
        [canonical_matrices.Ks + canonical_matrices.Kg, zero, canonical_matrices.K2],
        [canonical_matrices.C0, canonical_matrices.C1, zero],
        [canonical_matrices.M, zero, zero],
    ]

    denominator = max(float(x).as_integer_ratio()[1] for x in np.ravel(powers))

    def matrix_entry(row: int, column: int) -> list[Coefficients]:
        """Return the polynomial in s and v of one matrix entry."""
        return [
            [int(Fraction(float(matrix[row, column])) * denominator) for matrix in by_v]
            for by_v in powers
        ]

    def multiply_entries(
        first: list[Coefficients], second: list[Coefficients]
    ) -> list[Coefficients]:
        """Return the product of two polynomials in s with coefficients in v."""
        out: list[Coefficients] = [[0] for _ in range(5)]
        for i, a in enumerate(first):
            for j, b in enumerate(second):
                out[i + j] = _add_polynomials(out[i + j], _multiply_polynomials(a, b))
        return out

    first = multiply_entries(matrix_entry(0, 0), matrix_entry(1, 1))
    second = multiply_entries(matrix_entry(0, 1), matrix_entry(1, 0))
    return [
        _add_polynomials(a, _scale_polynomial(b, -1)) for a, b in zip(first, second, strict=True)
    ]


def hurwitz_determinant(coefficients: Sequence[Coefficients]) -> Coefficients:
    """Return the Hurwitz determinant a1 a2 a3 - a4 a1^2 - a0 a3^2; zero if two eigenvalues are
    opposite.
    """
    return _sum_of_products(
        (1, coefficients[1], coefficients[2], coefficients[3]),
        (-1, coefficients[4], coefficients[1], coefficients[1]),
        (-1, coefficients[0], coefficients[3], coefficients[3]),
    )


def characteristic_discriminant(coefficients: Sequence[Coefficients]) -> Coefficients:
    """Return the discriminant of the characteristic quartic in s; zero if two eigenvalues are
    equal.
    """
    e, d, c, b, a4 = coefficients
    return _sum_of_products(
        (256, *[a4] * 3, *[e] * 3), (-192, a4, a4, b, d, e, e), (-128, a4, a4, c, c, e, e),
        (144, a4, a4, c, d, d, e), (-27, a4, a4, *[d] * 4), (144, a4, b, b, c, e, e),
        (-6, a4, b, b, d, d, e), (-80, a4, b, c, c, d, e), (18, a4, b, c, *[d] * 3),
        (16, a4, *[c] * 4, e), (-4, a4, *[c] * 3, d, d), (-27, *[b] * 4, e, e),
        (18, *[b] * 3, c, d, e), (-4, *[b] * 3, *[d] * 3), (-4, b, b, *[c] * 3, e),
        (1, b, b, c, c, d, d),
    )  # fmt: skip


def positive_roots(polynomial: Coefficients) -> list[float]:
    """Return the positive real roots of a polynomial in increasing order, exact to the last digit.

    Approximate roots are refined by Newton's method with exact values.
    """
    largest = max(map(abs, polynomial))
    slope = [k * c for k, c in enumerate(polynomial)][1:]
    roots: list[float] = []
    for root in np.roots([c / largest for c in reversed(polynomial)] if largest else []):
        # Rounding errors split a double real root into two roots with small imaginary parts: accept
        # such roots.
        if abs(root.imag) > 1e-5 * abs(root) or not 1e-9 < root.real < MAX_CRITICAL_SPEED:
            continue
        v = float(root.real)
        for _ in range(8):
            gradient = _evaluate_polynomial(slope, v)
            step = float(_evaluate_polynomial(polynomial, v) / gradient) if gradient else 0.0
            v -= step
            if abs(step) < 1e-16 * abs(v):
                break
        if abs(v - root.real) < 1e-3 * root.real and not any(abs(v - x) < 1e-9 for x in roots):
            roots.append(v)
    return sorted(roots)


def _exact_critical_speeds(matrices: Canonical) -> tuple[float, ...]:
    """Return the fields of `Critical` for one bicycle with canonical matrices."""
    a = characteristic_polynomial(matrices)
    low, high = _find_stable_range(a)
    changes = dict.fromkeys(positive_roots(a[0]), 0.0) | _find_imaginary_pairs(a)
    double_roots = positive_roots(characteristic_discriminant(a))
    modes = eigenmodes_of(matrices, [*changes, *double_roots])
    names = _undamped_mode_names(modes, list(changes.values()))
    weave, capsize = (
        _take_preferred(
            sorted(v for v, mode in zip(changes, names, strict=True) if mode == name), ends
        )
        for name, ends in (("weave", (low, high)), ("capsize", (high, low)))
    )
    is_weave = _has_double_weave(modes)[len(changes) :]
    double = _take_preferred([v for v, yes in zip(double_roots, is_weave, strict=True) if yes])
    value = _double_eigenvalue(a, double) if double == double else double
    return weave, changes.get(weave, weave), capsize, double, value, low, high


def _searched_critical_speeds(running: TwoWheeler) -> tuple[float, ...]:
    """Return the fields of `Critical` for a two-wheeler without canonical matrices, by numerical search."""
    lowest, highest = SEARCHED_SPEEDS
    crossings = running.crossings(lowest, highest)
    edges = [lowest, *(crossing.speed for crossing in crossings), highest]
    middles = np.array([(low + high) / 2 for low, high in pairwise(edges)])
    damped = np.linalg.eigvals(running.matrices(np.append(middles, 1.0))[0]).real.max(axis=1) < 0.0
    ends = [(low, high) for (low, high), yes in zip(pairwise(edges), damped, strict=False) if yes]
    nan = float("nan")
    low, high = ends[0] if ends else (nan, nan)
    weave, capsize = (
        _take_preferred(
            [crossing.speed for crossing in crossings if crossing.name == name], preferred
        )
        for name, preferred in (("weave", (low, high)), ("capsize", (high, low)))
    )
    frequency = next((x.frequency for x in crossings if x.speed == weave), nan)
    # If the stable range ends at the limit of the search, its true end is unknown: report the range
    # as unlimited.
    stable_from = 0.0 if low == lowest else low
    stable_to = float("inf") if high == highest else high
    return weave, frequency, capsize, nan, nan, stable_from, stable_to


def _undamped_mode_names(modes: Eigenmodes, frequencies: Sequence[float]) -> list[str]:
    """Return the names of the eigenmodes that are undamped at these frequencies (rad/s), one per
    speed.
    """
    values = modes.values[: len(frequencies)]
    off = np.abs(values.real + 1j * (np.abs(values.imag) - np.array(frequencies)[:, None]))
    return [modes.names[k] for k in off.argmin(axis=1)]


def _has_double_weave(modes: Eigenmodes) -> list[bool]:
    """Return whether the two weave eigenvalues are equal, at each speed."""
    difference = np.abs(modes.values[:, 0] - modes.values[:, 1])
    # Near a double root, eigenvalues deviate by the square root of the rounding errors. Hence the
    # tolerance 1e-4.
    return (difference < 1e-4 * np.abs(modes.values).max(axis=1, initial=0.0)).tolist()


def _take_preferred(speeds: Sequence[float], preferred: Iterable[float] = ()) -> float:
    """Return the first of the preferred speeds that is among `speeds`, else the first speed; nan if
    there is none.
    """
    return next((v for v in (*preferred, *speeds) if v in speeds), float("nan"))


def _find_stable_range(coefficients: list[Coefficients]) -> tuple[float, float]:
    """Return the ends (m/s) of the lowest speed range in which all eigenvalues are damped; nan if
    none exists.
    """
    edges = sorted(
        [
            0.0,
            *positive_roots(coefficients[0]),
            *_find_imaginary_pairs(coefficients),
            MAX_CRITICAL_SPEED,
        ]
    )
    ranges = [
        (low, high) for low, high in pairwise(edges) if _is_stable(coefficients, (low + high) / 2)
    ]
    low, high = ranges[0] if ranges else (float("nan"), float("nan"))
    return low, float("inf") if high == MAX_CRITICAL_SPEED else high


def _find_imaginary_pairs(coefficients: list[Coefficients]) -> dict[float, float]:
    """Return the speeds at which an eigenvalue pair is imaginary, and its frequency, s^2 = -a1/a3."""
    roots = [
        v
        for v in positive_roots(hurwitz_determinant(coefficients))
        if _evaluate_polynomial(coefficients[3], v)
    ]
    squares = {
        v: float(
            _evaluate_polynomial(coefficients[1], v) / _evaluate_polynomial(coefficients[3], v)
        )
        for v in roots
    }
    return {v: float(np.sqrt(square)) for v, square in squares.items() if square > 0}


def _is_stable(coefficients: list[Coefficients], speed: float) -> bool:
    """Return whether all eigenvalues are damped at a speed, by the Routh-Hurwitz criterion."""
    values = [_evaluate_polynomial(p, speed) for p in coefficients]
    return (
        all(x * values[4] > 0 for x in values)
        and _evaluate_polynomial(hurwitz_determinant(coefficients), speed) * values[4] > 0
    )


def _double_eigenvalue(coefficients: list[Coefficients], speed: float) -> float:
    """Return the double eigenvalue (1/s) at a root of the discriminant."""
    exact = [_evaluate_polynomial(p, speed) for p in reversed(coefficients)]
    quartic = [float(x / max(map(abs, exact))) for x in exact]
    roots = np.roots(quartic)
    i, j = min(
        ((i, j) for i in range(4) for j in range(i)),
        key=lambda ij: abs(roots[ij[0]] - roots[ij[1]]),
    )
    slopes = np.roots(np.polyder(quartic))
    return float(np.real(slopes[np.argmin(np.abs(slopes - (roots[i] + roots[j]) / 2))]))


def _evaluate_polynomial(polynomial: Coefficients, speed: float) -> Fraction:
    """Return the exact value of the polynomial at the speed."""
    above, below = float(speed).as_integer_ratio()
    total = 0
    power = 1
    for c in reversed(polynomial):
        total = total * above + c * power
        power *= below
    return Fraction(total * below, power)


def _add_polynomials(first: Coefficients, second: Coefficients) -> Coefficients:
    """Return the sum of two polynomials."""
    size = max(len(first), len(second))
    padded = [x + [0] * (size - len(x)) for x in (first, second)]
    return [x + y for x, y in zip(*padded, strict=True)]


def _scale_polynomial(polynomial: Coefficients, factor: int) -> Coefficients:
    """Return the polynomial times an integer factor."""
    return [factor * c for c in polynomial]


def _multiply_polynomials(first: Coefficients, second: Coefficients) -> Coefficients:
    """Return the product of two polynomials."""
    out = [0] * (len(first) + len(second) - 1)
    for i, x in enumerate(first):
        if x:
            for j, y in enumerate(second):
                out[i + j] += x * y
    return out


def _sum_of_products(*terms: Any) -> Coefficients:
    """Return the sum of products, each term being (factor, polynomial, polynomial, ...)."""
    total: Coefficients = [0]
    for factor, *polynomials in terms:
        term: Coefficients = [factor]
        for p in polynomials:
            term = _multiply_polynomials(term, p)
        total = _add_polynomials(total, term)
    return total
