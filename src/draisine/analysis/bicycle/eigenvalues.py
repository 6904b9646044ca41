"""Eigenvalues against speed, sorted by continuation into weave, capsize and castering."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.straight import Canonical, canonical_matrices
from draisine.errors import UnknownNameError, did_you_mean
from draisine.system.system import System

NAMES = ("weave", "weave", "capsize", "castering")
STATES = ("lean", "steer", "lean_rate", "steer_rate")

_STEP = 0.05
"""Speeds no farther apart than this, m/s, are followed from one to the next."""

_SETTLED = 10.0
"""Names are given at this speed, m/s, or at the highest asked for."""


@dataclass(frozen=True, eq=False)
class Eigenmodes:
    """Eigenvalues (..., speeds, 4) and vectors (..., speeds, states, 4) of straight running, in the
    order of `names`; leading axes are those of a sweep.

    The two weave values are a conjugate pair, the one with positive imaginary part first, or two
    real numbers, the larger first. Vectors follow the benchmark's signs (lean and steer to the
    right); the larger of lean and steer is 1.
    """

    speed: Floats
    values: Floats
    vectors: Floats
    names: tuple[str, ...] = NAMES
    states: tuple[str, ...] = STATES

    def mode(self, name: str) -> Floats:
        """Return the eigenvalues of one name; of weave those with imaginary part not negative."""
        if name not in self.names:
            raise UnknownNameError(f"no eigenmode {name!r}. {did_you_mean(name, self.names)}")
        return self.values[..., self.names.index(name)]

    @property
    def stable(self) -> Floats:
        """Whether all eigenvalues are damped, (..., speeds)."""
        return np.all(self.values.real < 0, axis=-1)


def eigenvalues(
    system: System, speed: Any, *, about: Mapping[str, float] | None = None, **sweep: Any
) -> Eigenmodes:
    """Return the eigenmodes of a bicycle at speeds in m/s, from its nonlinear model; parameters
    given as arrays are swept together.

    >>> from draisine import compile
    >>> modes = eigenvalues(compile("whipple"), [4.0, 5.0])
    >>> print(modes.mode("weave").round(6))
    [ 0.413253+3.079108j -0.775342+4.464868j]
    """
    return eigenmodes_of(canonical_matrices(system, about=about, **sweep), speed)


def eigenmodes_of(matrices: Canonical, speed: Any) -> Eigenmodes:
    """Return the eigenmodes that the canonical matrices have at speeds in m/s."""
    v = np.atleast_1d(np.asarray(speed, float))
    shape = matrices.M.shape[:-2]
    values = np.empty((*shape, len(v), 4), complex)
    vectors = np.empty((*shape, len(v), 4, 4), complex)
    for where in np.ndindex(shape):
        values[where], vectors[where] = _named(matrices[where], v)
    return Eigenmodes(v, values, vectors)


def _named(matrices: Canonical, v: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues and vectors at speeds v, sorted by name."""
    grid = _filled(np.unique(np.concatenate([v, [0.0, _SETTLED]])))
    values, vectors = np.linalg.eig(matrices.A(grid))
    order = track(values)
    followed = np.take_along_axis(values, order, axis=1)
    order = np.take_along_axis(order, _names_order(followed), axis=1)
    at = np.searchsorted(grid, v)
    sorted_values = np.take_along_axis(values[at], order[at], axis=1)
    sorted_vectors = np.take_along_axis(vectors[at], order[at][:, None, :], axis=2)
    lead = np.argmax(np.abs(sorted_vectors[:, :2]), axis=1)[:, None, :]
    return sorted_values, sorted_vectors / np.take_along_axis(sorted_vectors, lead, axis=1)


def _filled(v: Floats) -> Floats:
    """Return rising speeds with others put in between, so that no step is too wide to follow."""
    gaps = np.diff(v)
    steps = np.maximum(1, np.ceil(gaps / _STEP)).astype(int)
    within = np.arange(steps.sum()) - np.repeat(np.cumsum(steps) - steps, steps)
    return np.append(np.repeat(v[:-1], steps) + within * np.repeat(gaps / steps, steps), v[-1])


def track(values: Floats) -> Floats:
    """Return orders (steps, n) that make eigenvalues (steps, n) continuous: from step to step the
    arrangement in which they move least, all together.
    """
    steps, n = values.shape
    cost = np.abs(values[:-1, :, None] - values[1:, None, :])
    if n <= 4:
        arrangements = np.array(list(permutations(range(n))))
        totals = cost[:, np.arange(n), arrangements].sum(axis=2)
        moves = arrangements[np.argmin(totals, axis=1)]
    else:
        from scipy.optimize import linear_sum_assignment

        moves = np.array([linear_sum_assignment(each)[1] for each in cost]).reshape(-1, n)
    order = np.tile(np.arange(n), (steps, 1))
    for k, move in enumerate(moves, start=1):
        order[k] = move[order[k - 1]]
    return order


def _names_order(values: Floats) -> Floats:
    """Return the order of followed eigenvalues (speeds, 4) that puts weave first, then capsize,
    then castering.

    At the highest speed with one conjugate pair that pair is the weave, and of the real eigenvalues
    the farther from zero is castering. Within the weave the larger comes first.
    """
    scale = np.abs(values).max(axis=1, keepdims=True)
    swings = np.abs(values.imag) > 1e-9 * scale
    ones = np.flatnonzero(swings.sum(axis=1) == 2)
    at = ones[-1] if len(ones) else len(values) - 1
    rank = np.lexsort((np.abs(values[at]), -np.abs(values[at].imag)))
    order = np.tile(rank, (len(values), 1))
    for first, second in ((0, 1), (2, 3)):
        a = np.take_along_axis(values, order[:, [first]], axis=1)[:, 0]
        b = np.take_along_axis(values, order[:, [second]], axis=1)[:, 0]
        paired = np.abs(a - np.conj(b)) < 1e-9 * scale[:, 0]
        wrong = paired & (a.imag < b.imag)
        if first == 0:
            wrong |= ~paired & (a.real < b.real)
        order[wrong, first], order[wrong, second] = order[wrong, second], order[wrong, first]
    return order


def phasors(vector: Any) -> tuple[Floats, Floats]:
    """Return sizes and phases, in rad, of an eigenvector's entries."""
    x = np.asarray(vector, complex)
    return np.abs(x), np.angle(x)
