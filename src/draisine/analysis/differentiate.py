"""Programs run together with their derivatives, step by step in NumPy.

The analysis takes the derivatives it needs often from programs that were differentiated when they
were traced; this serves the others, above all derivatives by parameters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.algebra.trace import FUNCTIONS
from draisine.codegen.program import Program

Rule = Callable[..., Any]

_RULES: dict[str, Rule] = {
    "add": lambda y, a, b, da, db: da + db,
    "sub": lambda y, a, b, da, db: da - db,
    "mul": lambda y, a, b, da, db: da * b + a * db,
    "neg": lambda y, a, da: -da,
    "inv": lambda y, a, da: -da * y * y,
    "sqrt": lambda y, a, da: 0.5 * da / y,
    "sin": lambda y, a, da: da * np.cos(a),
    "cos": lambda y, a, da: -da * np.sin(a),
    "exp": lambda y, a, da: da * y,
    "atan2": lambda y, a, b, da, db: (da * b - a * db) / (a * a + b * b),
    "lt": lambda y, a, b, da, db: 0.0,
    "where": lambda y, c, a, b, dc, da, db: np.where(c, da, db),
}
"""How the derivative of an operation follows from its value, its arguments and their derivatives."""


def run_tangent(
    program: Program, inputs: Mapping[str, Floats], rates: Mapping[str, Floats]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return the outputs (entries, lanes) of a program and their derivatives along rates of its
    inputs, exactly.

    Inputs and rates are (entries, lanes); inputs left out of the rates do not move. A step that
    nothing moves costs nothing.
    """
    lanes = max(np.shape(x)[1] for x in [*inputs.values(), *rates.values()])
    values: list[Any] = []
    moves: list[Any] = []
    for op, *args in program.steps:
        move: Any = None
        if op == "const":
            value: Any = args[0]
        elif op == "input":
            value = inputs[args[0]][args[1]]
            move = rates[args[0]][args[1]] if args[0] in rates else None
        else:
            given = [values[k] for k in args]
            value = FUNCTIONS[op](*given)
            if any(moves[k] is not None for k in args):
                along = [0.0 if moves[k] is None else moves[k] for k in args]
                move = _RULES[op](value, *given, *along)
        values.append(value)
        moves.append(move)

    def collect(what: list[Any]) -> dict[str, Floats]:
        out = {}
        for name, entries in program.outputs.items():
            rows = [0.0 if what[k] is None else what[k] for k in entries]
            out[name] = np.array([np.broadcast_to(row, lanes) for row in rows]).reshape(-1, lanes)
        return out

    return collect(values), collect(moves)


@dataclass(frozen=True, eq=False)
class MatrixJet:
    """Stacks of matrices with their derivatives, which products, sums and inverses carry along."""

    value: Floats
    rate: Floats

    def __matmul__(self, other: "MatrixJet") -> "MatrixJet":
        return MatrixJet(
            self.value @ other.value, self.rate @ other.value + self.value @ other.rate
        )

    def __add__(self, other: "MatrixJet") -> "MatrixJet":
        return MatrixJet(self.value + other.value, self.rate + other.rate)

    def __sub__(self, other: "MatrixJet") -> "MatrixJet":
        return MatrixJet(self.value - other.value, self.rate - other.rate)

    def __neg__(self) -> "MatrixJet":
        return MatrixJet(-self.value, -self.rate)

    def __getitem__(self, where: Any) -> "MatrixJet":
        return MatrixJet(self.value[where], self.rate[where])

    @property
    def stack(self) -> Floats:
        """Values, and behind them the derivatives."""
        return np.concatenate([self.value, self.rate], axis=-3)


def jet(stack: Floats) -> MatrixJet:
    """Return the first matrix of stacks (..., 1 + directions, rows, columns), with the others as its
    derivatives along directions.
    """
    return MatrixJet(stack[..., :1, :, :], stack[..., 1:, :, :])


Matrices = Any
"""Stacks of matrices (N, rows, columns): an array, or a `MatrixJet`."""


def inverse(x: Matrices) -> Matrices:
    """Return the inverse of each matrix."""
    if isinstance(x, MatrixJet):
        y = np.linalg.inv(x.value)
        return MatrixJet(y, -(y @ x.rate @ y))
    return np.linalg.inv(x)


def transpose(x: Matrices) -> Matrices:
    """Return the transpose of each matrix."""
    if isinstance(x, MatrixJet):
        return MatrixJet(np.swapaxes(x.value, -1, -2), np.swapaxes(x.rate, -1, -2))
    return np.swapaxes(x, -1, -2)


def solve(A: MatrixJet, b: MatrixJet, firm: float = 1e12) -> MatrixJet:
    """Return x of `A x = b`, that of least squares where A is not square or of a condition beyond
    `firm`, which counts as singular.
    """
    square = A.value.shape[-2] == A.value.shape[-1]
    if square and bool((np.linalg.cond(A.value) < firm).all()):
        back = np.linalg.inv(A.value)
    else:
        back = np.linalg.pinv(A.value, rcond=max(1.0 / firm, 1e-15))
    x = back @ b.value
    return MatrixJet(x, back @ (b.rate - A.rate @ x))


EIGHTH = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
"""Weights of a central difference of eighth order."""


def difference(f: Callable[[float], Floats], h: float) -> Floats:
    """Return the derivative of f at zero by differences of eighth order.

    >>> print(f"{difference(np.exp, 0.01):.12f}")
    1.000000000000
    """
    parts = [weight * (f(k * h) - f(-k * h)) for k, weight in EIGHTH]
    return np.sum(parts, axis=0) / h
