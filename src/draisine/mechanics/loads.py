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
`measure_load_convergence` has fallen to one half. The integrator monitors this measure like a pivot.
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
    # Quantities that must stay nonzero: pivots of the Newton matrix (1 without coupling), and the
    # convergence measures of the loads
    pivots: Sequence[Scalar] = ()


def solve_loads(
    evaluate_elements: Callable[[Mapping[str, Scalar]], ElementForces],
    solve_dynamics: Callable[[Array], Reduced],
    find_imbalance: Callable[[Array], Array],
    reconstruction: Reconstruction,
    graph: Graph,
) -> LoadSolution:
    """Solve for the loads of contacts together with the forces of the force elements that read these loads.

    Parameters
    ----------
    evaluate_elements
        Function from the loads (N) by contact to the forces of all force elements.
    solve_dynamics
        Function from a generalised force Q (6 + n,) to the reduced dynamics.
    find_imbalance
        Function from Q to Q minus the force that admissible accelerations require, see
        `projected.imbalance`.
    reconstruction
        Velocities at the state.
    graph
        Expression graph, which provides symbols of the loads: forces are differentiated by them.

    Returns
    -------
    LoadSolution
        Forces, loads, and the quantities that the integrator monitors.
    """
    names = [a.contact.name for a in reconstruction.rows.active if "normal" in a.names]
    zero_loads: dict[str, Scalar] = dict.fromkeys(names, 0.0)
    recorder = LoadRecorder(zero_loads)
    # Evaluate the force elements once and record which loads they read: most read none and need no
    # iteration.
    unloaded = evaluate_elements(recorder)
    if not recorder.read:
        return LoadSolution(unloaded, solve_dynamics(unloaded.Q), {})
    read = [name for name in names if name in recorder.read]
    symbols = {name: f"load of {name}" for name in read}
    Q = list(
        evaluate_elements(
            zero_loads | {name: graph.symbol(symbol) for name, symbol in symbols.items()}
        ).Q
    )
    rows = load_sensitivities(reconstruction, read)
    unloaded_response = [row @ find_imbalance(unloaded.Q) for row in rows]

    def residual(loads: Sequence[Scalar], forces: Array) -> list[Scalar]:
        """Return the residual `N - N0 - a Q(N)` of the loads N (N), with the generalised forces
        Q(N).
        """
        response = [row @ (forces - unloaded.Q) for row in rows]
        return [
            n - first - x for n, first, x in zip(loads, unloaded_response, response, strict=True)
        ]

    law = _LoadLaw(graph, tuple(symbols.values()), Q)
    equal_share = weight(reconstruction.rows.tree.model) / len(read)
    N = [0.0 if law.affine else equal_share] * len(read)
    pivots = list[Scalar]()
    for _ in range(1 if law.affine else LOAD_NEWTON_STEPS):
        Q_now, slopes = law.linearise(N)
        A = np.eye(len(read)) - array([[row @ slope for slope in slopes] for row in rows])
        step, pivots = _solve_small_system(A.tolist(), residual(N, Q_now))
        new = [n - dn for n, dn in zip(N, step, strict=True)]
        N = new if law.affine else limit_loads(new, N)
    solution = dict(zip(read, N, strict=True))
    acting = evaluate_elements(zero_loads | solution)
    if not law.affine:
        residuals = residual(N, acting.Q)
        pivots = [
            *pivots,
            *(measure_load_convergence(n, dn) for n, dn in zip(N, residuals, strict=True)),
        ]
    return LoadSolution(acting, solve_dynamics(acting.Q), solution, pivots)


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

    def linearise(self, loads: Sequence[Scalar]) -> tuple[Array, list[Array]]:
        """Return Q and its derivatives with respect to each of the loads."""
        values = dict(zip(self.symbols, loads, strict=True))
        flat = substitute(self.graph, [x for derivative in self.parts for x in derivative], values)
        Q, *slopes = np.split(array(flat), len(self.parts))
        return Q, slopes


def weight(model: Model) -> Scalar:
    """Return the weight of a multibody system, N."""
    return sum((body.mass for body in model.bodies), 0.0) * norm(model.gravity)


def limit_loads(new_loads: Sequence[Scalar], old_loads: Sequence[Scalar]) -> list[Scalar]:
    """Return new loads, limited to the factor `MAX_LOAD_RATIO` relative to the old ones."""
    return [
        clip(x, n / MAX_LOAD_RATIO, MAX_LOAD_RATIO * n)
        for x, n in zip(new_loads, old_loads, strict=True)
    ]


def measure_load_convergence(load: Scalar, residual: Scalar) -> Scalar:
    """Return a smooth convergence measure: 1 for a zero residual, near 0 for a diverged load."""
    relative_square = residual * residual / (LOAD_TOLERANCE * LOAD_TOLERANCE * (1.0 + load * load))
    return 1.0 / (1.0 + relative_square)


def _solve_small_system(
    matrix: list[list[Scalar]], right_side: list[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the solution of a small linear system, and its determinant or pivots.

    The diagonal is close to one, so no pivoting is needed; two equations are solved by Cramer's
    rule, which has the shortest expression.
    """
    n = len(right_side)
    matrix = [list(row) for row in matrix]
    right_side = list(right_side)
    if n == 2:
        det = matrix[0][0] * matrix[1][1] - matrix[0][1] * matrix[1][0]
        x = [
            (matrix[1][1] * right_side[0] - matrix[0][1] * right_side[1]) / det,
            (matrix[0][0] * right_side[1] - matrix[1][0] * right_side[0]) / det,
        ]
        return x, [det]
    for k in range(n):
        for i in range(k + 1, n):
            factor = matrix[i][k] / matrix[k][k]
            matrix[i] = [x - factor * y for x, y in zip(matrix[i], matrix[k], strict=True)]
            right_side[i] = right_side[i] - factor * right_side[k]
    for k in reversed(range(n)):
        for j in range(k + 1, n):
            right_side[k] = right_side[k] - matrix[k][j] * right_side[j]
        right_side[k] = right_side[k] / matrix[k][k]
    return right_side, [matrix[k][k] for k in range(n)]
