"""Force elements that read the loads of contacts, solved together with these.

The loads N are multipliers, so they answer linearly to the elements' forces. Where those are affine
in N, N = N0 + Lambda N holds, eq. [loads]: one more right-hand side of the same factorisation per
load, and a small linear system at the end.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from draisine.algebra.scalar import Array, Scalar, array, is_zero
from draisine.algebra.trace import Expr, tangent
from draisine.errors import ModelError
from draisine.mechanics.applied import ElementForces
from draisine.mechanics.formulations.projected import Reconstruction, Reduced, Rows, response


class Asked(Mapping[str, Any]):
    """Loads by name that remember which of them were read."""

    def __init__(self, values: Mapping[str, Scalar]) -> None:
        self.numbers, self.read = dict(values), set[str]()

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
    read, and the pivots of their coupling, one where loads do not answer to themselves.
    """

    acting: ElementForces
    reduced: Reduced
    loads: Mapping[str, Scalar]
    pivots: Sequence[Scalar] = ()


def solve_loads(
    act: Callable[[Mapping[str, Scalar]], ElementForces],
    move: Callable[[Array], Reduced],
    moving: Reconstruction,
    symbol: Callable[[str], Expr],
) -> LoadSolution:
    """Return what the elements do, `act` telling it for given loads and `move` the dynamics under a
    generalised force; `symbol` makes symbols to differentiate by.
    """
    rows = moving.rows
    names = [a.contact.name for a in rows.active if "normal" in a.names]
    nothing = dict.fromkeys(names, 0.0)
    asked = Asked(nothing)
    free = act(asked)
    if not asked.read:
        return LoadSolution(free, move(free.Q), {})
    read = [name for name in names if name in asked.read]
    columns = [array(column) for column in _slopes(act, symbol, nothing, read)]
    base = move(free.Q)
    answers = [response(moving, column) for column in columns]
    start, slopes = _loads(rows, base), [_loads(rows, answer) for answer in answers]
    A = [[float(i == j) - slopes[j][name] for j in range(len(read))] for i, name in enumerate(read)]
    N, pivots = _solve(A, [start[name] for name in read])
    for load, answer in zip(N, answers, strict=True):
        base = Reduced(*(x + load * dx for x, dx in zip(_parts(base), _parts(answer), strict=True)))
    loads = dict(zip(read, N, strict=True))
    return LoadSolution(act(nothing | loads), base, loads, pivots)


def _parts(reduced: Reduced) -> tuple[Array, Array, Array, Array]:
    return reduced.udot, reduced.vdot, reduced.multipliers, reduced.guiding


def _slopes(
    act: Callable[[Mapping[str, Scalar]], ElementForces],
    symbol: Callable[[str], Expr],
    nothing: Mapping[str, Scalar],
    read: list[str],
) -> list[list[Scalar]]:
    """Return how the elements' generalised forces change with each load, or say that they do not do
    so evenly.
    """
    by_name = {name: f"load of {name}" for name in read}
    Q = list(act({**nothing, **{name: symbol(by_name[name]) for name in read}}).Q)
    slopes = [tangent(Q, {by_name[name]: 1.0}) for name in read]
    for name, slope in zip(read, slopes, strict=True):
        changes = [x for other in read for x in tangent(slope, {by_name[other]: 1.0})]
        if not all(is_zero(x) for x in changes):
            raise ModelError(
                f"the forces of elements do not grow evenly with the load of {name!r}; loads can be "
                "solved for where they do. Let such a tyre carry its wheel by a vertical spring "
                "(`sprung = True`, as `magic_formula` does), and take the load from that."
            )
    return slopes


def _loads(rows: Rows, reduced: Reduced) -> dict[str, Scalar]:
    """Return the normal forces of the contacts among the multipliers of the rows."""
    multipliers = reduced.multipliers
    out: dict[str, Scalar] = {}
    first = 0
    for a in rows.active:
        part = multipliers[first : first + len(a.names)]
        first += len(a.names)
        if "normal" in a.names:
            out[a.contact.name] = (
                rows.world.up[0] @ array(list(part))
                if a.holds_all
                else part[a.names.index("normal")]
            )
    return out


def _solve(A: list[list[Scalar]], b: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """Return the solution of a small system whose diagonal is near one, and what must not vanish: the
    determinant of two equations, the pivots, without exchanges, of more.
    """
    n, A, b = len(b), [list(row) for row in A], list(b)
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
