"""Force elements that depend on the normal forces (loads) of contacts, solved together with the
loads.

Loads N are multipliers, so they depend linearly on the elements' forces Q: N = N0 + a Q(N), eq. [loads], with
one row of a per load from the factorisation of the constraints. If Q is affine in N, one Newton step solves
this equation exactly. Otherwise a fixed number of damped Newton steps solves it approximately, and the
integrator monitors the residual.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array, clip, is_zero, norm, substitute
from draisine.algebra.trace import Graph, tangent
from draisine.mechanics.applied import ElementForces
from draisine.mechanics.formulations.projected import (
    Reconstruction,
    Reduced,
    load_sensitivities,
)
from draisine.model import Model

LOAD_TOLERANCE = 1e-6
"""Residual of a load, relative to the load (to 1 N for smaller loads), at which the convergence measure
`load_convergence` has fallen to one half. The integrator monitors this measure like a pivot.
"""

LOAD_NEWTON_STEPS = 6
"""Number of Newton steps if forces are not affine in loads.

The start is an equal share of the weight per contact, and MAX_LOAD_RATIO**LOAD_NEWTON_STEPS = 24
bounds the ratio of a load to its start.
"""

MAX_LOAD_RATIO = 1.7
"""Largest ratio by which one Newton step changes a load: undamped steps overshoot at saturated
tyres.
"""


class LoadRecorder(Mapping[str, Any]):
    """Mapping of loads by contact name that records which loads were read."""

    def __init__(self, values: Mapping[str, Scalar]) -> None:
        self.numbers = dict(values)
        self.read = set[str]()

    def __getitem__(self, name: str) -> Scalar:
        self.read.add(name)
        return self.numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class LoadSolution:
    """Forces of the force elements and loads of the contacts that are consistent with each other."""

    acting: ElementForces  # forces of all force elements
    reduced: Reduced  # reduced dynamics under these forces
    loads: Mapping[str, Scalar]  # normal forces of the contacts whose load an element reads, N
    # Quantities that must not vanish: pivots of the Newton matrix (1 without coupling), and the
    # convergence measures of the loads.
    pivots: Sequence[Scalar] = ()


def solve_loads(
    act: Callable[[Mapping[str, Scalar]], ElementForces],
    move: Callable[[Array], Reduced],
    unbalanced: Callable[[Array], Array],
    moving: Reconstruction,
    graph: Graph,
) -> LoadSolution:
    """Solve for the loads of contacts together with the forces of the force elements that read these loads.

    Parameters
    ----------
    act
        Function from the loads (N) by contact to the forces of all force elements.
    move
        Function from a generalised force Q (6 + n,) to the reduced dynamics.
    unbalanced
        Function from Q to Q minus the force that admissible accelerations require, see
        `projected.imbalance`.
    moving
        Velocities at the state.
    graph
        Expression graph, which provides symbols of the loads: forces are differentiated by them.

    Returns
    -------
    LoadSolution
        Forces, loads, and the quantities that the integrator monitors.
    """
    names = [a.contact.name for a in moving.rows.active if "normal" in a.names]
    zero_loads: dict[str, Scalar] = dict.fromkeys(names, 0.0)
    recorder = LoadRecorder(zero_loads)
    # Evaluate once and record the loads that are read: most elements read none and need no
    # iteration.
    unloaded = act(recorder)
    if not recorder.read:
        return LoadSolution(unloaded, move(unloaded.Q), {})
    read = [name for name in names if name in recorder.read]
    symbols = {name: f"load of {name}" for name in read}
    Q = list(act(zero_loads | {name: graph.symbol(symbol) for name, symbol in symbols.items()}).Q)
    rows = load_sensitivities(moving, read)
    unloaded_response = [row @ unbalanced(unloaded.Q) for row in rows]

    def residual(N: Sequence[Scalar], Q_now: Array) -> list[Scalar]:
        """Return the residual N - N0 - a Q(N) of the loads (N)."""
        response = [row @ (Q_now - unloaded.Q) for row in rows]
        return [n - first - x for n, first, x in zip(N, unloaded_response, response, strict=True)]

    law = _LoadLaw(graph, tuple(symbols.values()), Q)
    equal_share = weight(moving.rows.tree.model) / len(read)
    N = [0.0 if law.affine else equal_share] * len(read)
    pivots = list[Scalar]()
    for _ in range(1 if law.affine else LOAD_NEWTON_STEPS):
        Q_now, slopes = law.at(N)
        A = np.eye(len(read)) - array([[row @ slope for slope in slopes] for row in rows])
        step, pivots = _solve(A.tolist(), residual(N, Q_now))
        new = [n - dn for n, dn in zip(N, step, strict=True)]
        N = new if law.affine else limit_loads(new, N)
    solution = dict(zip(read, N, strict=True))
    acting = act(zero_loads | solution)
    if not law.affine:
        residuals = residual(N, acting.Q)
        pivots = [*pivots, *(load_convergence(n, dn) for n, dn in zip(N, residuals, strict=True))]
    return LoadSolution(acting, move(acting.Q), solution, pivots)


class _LoadLaw:
    """Generalised forces Q as traced functions of the loads N, with derivatives."""

    def __init__(self, graph: Graph, symbols: Sequence[str], Q: list[Scalar]) -> None:
        self.graph = graph
        self.symbols = symbols
        slopes = [tangent(Q, {symbol: 1.0}) for symbol in symbols]
        self.parts = [Q, *slopes]
        second_derivatives = (
            x for s in slopes for symbol in symbols for x in tangent(s, {symbol: 1.0})
        )
        self.affine = all(is_zero(x) for x in second_derivatives)

    def at(self, N: Sequence[Scalar]) -> tuple[Array, list[Array]]:
        """Return Q and its derivatives with respect to each load at loads N."""
        values = dict(zip(self.symbols, N, strict=True))
        flat = substitute(self.graph, [x for derivative in self.parts for x in derivative], values)
        Q, *slopes = np.split(array(flat), len(self.parts))
        return Q, slopes


def weight(model: Model) -> Scalar:
    """Return the weight of a multibody system, N."""
    return sum((body.mass for body in model.bodies), 0.0) * norm(model.gravity)


def limit_loads(new: Sequence[Scalar], old: Sequence[Scalar]) -> list[Scalar]:
    """Return new loads, limited to the factor `MAX_LOAD_RATIO` relative to the old ones."""
    return [clip(x, n / MAX_LOAD_RATIO, MAX_LOAD_RATIO * n) for x, n in zip(new, old, strict=True)]


def load_convergence(load: Scalar, residual: Scalar) -> Scalar:
    """Return a smooth convergence measure: 1 for a zero residual, near 0 for a diverged load."""
    relative_square = residual * residual / (LOAD_TOLERANCE * LOAD_TOLERANCE * (1.0 + load * load))
    return 1.0 / (1.0 + relative_square)


def _solve(A: list[list[Scalar]], b: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """Return the solution of a small linear system, and its determinant or pivots.

    The diagonal is close to one, so no pivoting is needed; two equations are solved by Cramer's
    rule, which has the shortest expression.
    """
    n = len(b)
    A = [list(row) for row in A]
    b = list(b)
    if n == 2:
        det = A[0][0] * A[1][1] - A[0][1] * A[1][0]
        x = [(A[1][1] * b[0] - A[0][1] * b[1]) / det, (A[0][0] * b[1] - A[1][0] * b[0]) / det]
        return x, [det]
    for k in range(n):
        for i in range(k + 1, n):
            factor = A[i][k] / A[k][k]
            A[i] = [x - factor * y for x, y in zip(A[i], A[k], strict=True)]
            b[i] = b[i] - factor * b[k]
    for k in reversed(range(n)):
        for j in range(k + 1, n):
            b[k] = b[k] - A[k][j] * b[j]
        b[k] = b[k] / A[k][k]
    return b, [A[k][k] for k in range(n)]
