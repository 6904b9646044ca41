"""Matrices by powers of the forward speed v and of gravity g.

The canonical form of a bicycle, `M qdd + v C1 qd + (g K0 + v^2 K2) q = f`, sorts the terms of each
matrix by what they are multiplied with. Springs and dampers depend on neither v nor g: they need
matrices of their own, C0 and Ks. Otherwise they end up in one of the others, where a factor
v or g multiplies them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array, is_zero, substitute
from draisine.algebra.trace import Expr, Graph, evaluate, tangent

Powers = tuple[int, int | None]
"""The powers of v and g that multiply a matrix; None if its entries contain g themselves."""

HIGHEST_SPEED_POWER = 2
"""Highest power of v: centripetal accelerations and gyroscopic moments of a steady speed have v^2."""

PROBES = ((0.7, 4.0), (3.1, 9.81), (11.0, 19.0))
"""Speeds (m/s) and gravities (m/s2) at which a sum of powers is compared with the whole matrix. Three
points off the expansion point (0, 0) are enough to reject a function that is no such polynomial.
"""

EXPANSION_ERROR = 1e-9
"""Allowed difference of an entry, relative to the sizes of its terms. Round-off is some 1e-13, missing
terms are not small.
"""

STIFFNESS_NAMES = {(0, 0): "s", (0, 1): "0"}
"""Subscripts of stiffness matrices: K0 belongs to gravity in the canonical form, springs get Ks."""


@dataclass(frozen=True, eq=False)
class PolynomialMatrix:
    """A matrix whose entries depend on v and g, as symbols of a graph; `point` has nominal values of
    all symbols.
    """

    letter: str
    entries: Array
    graph: Graph
    v: Expr
    g: Expr
    point: Mapping[str, float]

    @cached_property
    def terms(self) -> dict[Powers | None, Array]:
        """The matrices that are not zero by powers of v and g. If the entries are no polynomials in g,
        they keep g; if they are none in v either, the key is None and the entries keep both.
        """
        for by_gravity in (True, False):
            found = self._expanded(by_gravity)
            if found is not None:
                return {powers: part for powers, part in found.items() if _is_present(part)}
        return {None: self.entries} if _is_present(self.entries) else {}

    def name(self, powers: Powers | None) -> str:
        """Return the symbol of the matrix with these powers, `C_1`."""
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

    def _expanded(self, by_gravity: bool) -> dict[Powers | None, Array] | None:
        """Return the coefficients of the powers, None if they do not add up to the matrix."""
        flat = list(self.entries.ravel())
        out: dict[Powers | None, Array] = {}
        try:
            for a, part in enumerate(self._coefficients(flat, self.v, HIGHEST_SPEED_POWER)):
                if not by_gravity:
                    out[a, None] = self._shaped(part)
                    continue
                for b, entries in enumerate(self._coefficients(part, self.g, 1)):
                    out[a, b] = self._shaped(entries)
        except ZeroDivisionError:  # singular at v = 0 or g = 0, so no polynomial
            return None
        return out if self._adds_up(out) else None

    def _shaped(self, flat: list[Scalar]) -> Array:
        return array(flat).reshape(self.entries.shape)

    def _coefficients(self, xs: list[Scalar], x: Expr, degree: int) -> Iterator[list[Scalar]]:
        """Give the coefficients of x^0, x^1, ... of a Taylor series about zero."""
        name = self.graph.ops[x.index][1]
        factorial = 1.0
        for k in range(degree + 1):
            factorial *= max(k, 1)
            yield [y / factorial for y in substitute(self.graph, xs, {name: 0.0})]
            xs = tangent(xs, {name: 1.0})

    def _adds_up(self, terms: Mapping[Powers | None, Array]) -> bool:
        """Return whether the terms add up to the matrix, at nominal parameters."""
        v_name, g_name = (self.graph.ops[x.index][1] for x in (self.v, self.g))
        for speed, gravity in PROBES:
            point = {**self.point, v_name: speed, g_name: gravity}
            whole = evaluate(list(self.entries.ravel()), point)
            rest, scale = whole.copy(), np.abs(whole)
            for powers, part in terms.items():
                a, b = powers or (0, 0)
                term = speed**a * gravity ** (b or 0) * evaluate(list(part.ravel()), point)
                rest -= term
                scale += np.abs(term)
            if (np.abs(rest) > EXPANSION_ERROR * scale).any():
                return False
        return True


def _is_present(part: Array) -> bool:
    return not all(is_zero(x) for x in part.ravel())
