"""Force elements that read the loads of contacts, solved together with these.

The loads N are multipliers, so they answer linearly to the elements' forces Q: N = N0 + a Q(N), eq.
[loads], a being one row per load from the same factorisation. One step of Newton solves that where Q is
affine in N; elsewhere some steps do nearly, and what is left is watched.
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
    load_answers,
)
from draisine.model import Model

CLOSE = 1e-6
"""Which part of a load (of one newton, of small ones) may be missing after Newton's steps."""

STEPS = 6
FACTOR = 1.7
"""How many steps Newton's method takes where forces are not affine in loads, from equal shares of the
weight, and by which factor a load changes in one at most.
"""


class Asked(Mapping[str, Any]):
    """Loads by name that remember which of them were read."""

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
    """What elements do under the loads that they cause, the dynamics under both, the loads that they
    read, and what to watch: the pivots of their coupling, one where loads do not answer to themselves,
    and the parts of the loads that Newton's steps have left.
    """

    acting: ElementForces
    reduced: Reduced
    loads: Mapping[str, Scalar]
    pivots: Sequence[Scalar] = ()


def solve_loads(
    act: Callable[[Mapping[str, Scalar]], ElementForces],
    move: Callable[[Array], Reduced],
    lack: Callable[[Array], Array],
    moving: Reconstruction,
    graph: Graph,
) -> LoadSolution:
    """Return what the elements do, `act` telling it for given loads, `move` the dynamics under a
    generalised force and `lack` what that leaves unbalanced; the graph makes symbols to differentiate
    by.
    """
    names = [a.contact.name for a in moving.rows.active if "normal" in a.names]
    nothing: dict[str, Scalar] = dict.fromkeys(names, 0.0)
    asked = Asked(nothing)
    free = act(asked)
    if not asked.read:
        return LoadSolution(free, move(free.Q), {})
    read = [name for name in names if name in asked.read]
    symbols = {name: f"load of {name}" for name in read}
    Q = list(act(nothing | {name: graph.symbol(symbol) for name, symbol in symbols.items()}).Q)
    rows = load_answers(moving, read)
    start = [row @ lack(free.Q) for row in rows]

    def missing(N: Sequence[Scalar], now: Array) -> list[Scalar]:
        """Return what loads have beyond their answer to the forces that they cause."""
        due = [row @ (now - free.Q) for row in rows]
        return [n - first - x for n, first, x in zip(N, start, due, strict=True)]

    law = _Law(graph, tuple(symbols.values()), Q)
    share = weight(moving.rows.tree.model) / len(read)
    N = [0.0 if law.affine else share] * len(read)
    pivots = list[Scalar]()
    for _ in range(1 if law.affine else STEPS):
        now, slopes = law.at(N)
        A = np.eye(len(read)) - array([[row @ slope for slope in slopes] for row in rows])
        step, pivots = _solve(A.tolist(), missing(N, now))
        new = [n - dn for n, dn in zip(N, step, strict=True)]
        N = new if law.affine else limit_loads(new, N)
    found = dict(zip(read, N, strict=True))
    acting = act(nothing | found)
    if not law.affine:
        left = missing(N, acting.Q)
        pivots = [*pivots, *(accuracy(n, dn) for n, dn in zip(N, left, strict=True))]
    return LoadSolution(acting, move(acting.Q), found, pivots)


class _Law:
    """Generalised forces Q over symbols of loads, to be taken at others."""

    def __init__(self, graph: Graph, symbols: Sequence[str], Q: list[Scalar]) -> None:
        self.graph = graph
        self.symbols = symbols
        slopes = [tangent(Q, {symbol: 1.0}) for symbol in symbols]
        self.parts = [Q, *slopes]
        bends = (x for s in slopes for symbol in symbols for x in tangent(s, {symbol: 1.0}))
        self.affine = all(is_zero(x) for x in bends)

    def at(self, N: Sequence[Scalar]) -> tuple[Array, list[Array]]:
        """Return Q and its derivatives by each load."""
        there = dict(zip(self.symbols, N, strict=True))
        flat = substitute(self.graph, [x for part in self.parts for x in part], there)
        now, *slopes = np.split(array(flat), len(self.parts))
        return now, slopes


def weight(model: Model) -> Scalar:
    """Return what a machine weighs."""
    return sum((body.mass for body in model.bodies), 0.0) * norm(model.gravity)


def limit_loads(new: Sequence[Scalar], old: Sequence[Scalar]) -> list[Scalar]:
    """Return new loads that differ from the old ones by the factor at most."""
    return [clip(x, n / FACTOR, FACTOR * n) for x, n in zip(new, old, strict=True)]


def accuracy(load: Scalar, missing: Scalar) -> Scalar:
    """Return a number near one where little of a load is missing, and near zero where Newton's steps
    have not found it.
    """
    part = missing * missing / (CLOSE * CLOSE * (1.0 + load * load))
    return 1.0 / (1.0 + part)


def _solve(A: list[list[Scalar]], b: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """Return the solution of a small system whose diagonal is near one, and what must not vanish: the
    determinant of two equations, the pivots, without exchanges, of more.
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
