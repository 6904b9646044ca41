"""Decomposition of matrices by powers of the forward speed v and of gravity g, by Taylor expansion
about zero.

The canonical form of a bicycle, `M qdd + v C1 qd + (g K0 + v^2 K2) q = f`, has one matrix per power. The
terms of springs and dampers depend on neither v nor g, so they have separate matrices C0 and Ks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array, is_zero, substitute
from draisine.algebra.trace import Expr, Graph, evaluate, tangent

Powers = tuple[int, int | None]
"""Powers of v and g that multiply a matrix; None if its entries contain g themselves."""

HIGHEST_SPEED_POWER = 2
"""Highest power of v: centripetal accelerations and gyroscopic moments contain v^2."""

PROBES = ((0.7, 4.0), (3.1, 9.81), (11.0, 19.0))
"""Speeds (m/s) and gravities (m/s2) at which the expansion is compared with the matrix.

Three points away from the expansion point (0, 0) reject every function that is not such a
polynomial.
"""

EXPANSION_ERROR = 1e-9
"""Largest error of an entry relative to the magnitudes of its terms.

Rounding errors are about 1e-13; missing terms are far larger.
"""

STIFFNESS_NAMES = {(0, 0): "s", (0, 1): "0"}
"""Subscripts of stiffness matrices: K0 belongs to gravity in the canonical form, Ks to springs."""


@dataclass(frozen=True, eq=False)
class PolynomialMatrix:
    """Matrix whose entries are polynomials in v and g."""

    letter: str
    """Symbol of the matrix."""
    entries: Array
    """Traced entries, (rows, columns)."""
    graph: Graph
    """Traced graph of the entries."""
    v: Expr
    """Symbol of the forward speed."""
    g: Expr
    """Symbol of gravity."""
    point: Mapping[str, float]
    """Nominal values of all symbols, SI units."""

    @cached_property
    def terms(self) -> dict[Powers | None, Array]:
        """Nonzero coefficient matrices by powers of v and g.

        Entries that are not polynomial in g contain g. If they are not polynomial in v either, the
        key is None and they contain both.
        """
        for by_gravity in (True, False):
            expansion = self._expand_by_powers(by_gravity)
            if expansion is not None:
                return {powers: X for powers, X in expansion.items() if _is_nonzero(X)}
        return {None: self.entries} if _is_nonzero(self.entries) else {}

    def matrix_symbol(self, powers: Powers | None) -> str:
        """Return the symbol of the coefficient matrix with given powers, such as `C_1`."""
        if powers is None:
            return self.letter
        by_speed, by_gravity = powers
        if by_gravity is None:
            return f"{self.letter}_{{v{by_speed}}}"
        if self.letter == "K" and powers in STIFFNESS_NAMES:
            return f"K_{STIFFNESS_NAMES[powers]}"
        if by_gravity == 0:
            return f"{self.letter}_{by_speed}"
        return f"{self.letter}_{{g{by_speed}}}" if by_speed else f"{self.letter}_g"

    def _expand_by_powers(self, by_gravity: bool) -> dict[Powers | None, Array] | None:
        """Return the coefficient matrices by powers; None if they do not add up to the matrix."""
        flat = list(self.entries.ravel())
        out: dict[Powers | None, Array] = {}
        try:
            for a, by_speed in enumerate(
                self._taylor_coefficients(flat, self.v, HIGHEST_SPEED_POWER)
            ):
                if not by_gravity:
                    out[a, None] = self._reshape(by_speed)
                    continue
                for b, entries in enumerate(self._taylor_coefficients(by_speed, self.g, 1)):
                    out[a, b] = self._reshape(entries)
        except ZeroDivisionError:  # singular at v = 0 or g = 0, so not a polynomial
            return None
        return out if self._adds_up(out) else None

    def _reshape(self, flat: list[Scalar]) -> Array:
        """Return a flat list of entries in the shape of the matrix."""
        return array(flat).reshape(self.entries.shape)

    def _taylor_coefficients(
        self, expressions: list[Scalar], variable: Expr, degree: int
    ) -> Iterator[list[Scalar]]:
        """Yield the coefficients of the powers 0, 1, ... of a variable in the Taylor series about zero."""
        name = self.graph.ops[variable.index][1]
        factorial = 1.0
        for k in range(degree + 1):
            factorial *= max(k, 1)
            yield [y / factorial for y in substitute(self.graph, expressions, {name: 0.0})]
            expressions = tangent(expressions, {name: 1.0})

    def _adds_up(self, terms: Mapping[Powers | None, Array]) -> bool:
        """Return whether the terms add up to the matrix at the probe points, at nominal parameters."""
        v_name, g_name = (self.graph.ops[x.index][1] for x in (self.v, self.g))
        for speed, gravity in PROBES:
            point = {**self.point, v_name: speed, g_name: gravity}
            values = evaluate(list(self.entries.ravel()), point)
            residual = values.copy()
            scale = np.abs(values)
            for powers, entries in terms.items():
                a, b = powers or (0, 0)
                term = speed**a * gravity ** (b or 0) * evaluate(list(entries.ravel()), point)
                residual -= term
                scale += np.abs(term)
            if (np.abs(residual) > EXPANSION_ERROR * scale).any():
                return False
        return True


def _is_nonzero(entries: Array) -> bool:
    """Return whether a matrix is not identically zero."""
    return not all(is_zero(x) for x in entries.ravel())
