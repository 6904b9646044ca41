"""Exact derivatives of programs and of matrix expressions, by forward differentiation in NumPy.

`run_tangent` evaluates a program step by step together with its directional derivatives. It is used
where no differentiated program was traced, above all for derivatives by parameters. `MatrixJet` applies
the product rule and the derivative of the inverse to stacks of matrices. `difference` is the fallback
for functions that cannot be differentiated, such as impact models: a central difference of eighth order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.algebra.trace import NUMPY_FUNCTIONS
from draisine.codegen.program import Program

Rule = Callable[..., Any]
"""Derivative of an operation from its value, its arguments and the derivatives of its arguments."""

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
"""Differentiation rule of each operation of a traced program, by the name of the operation."""


def run_tangent(
    program: Program, inputs: Mapping[str, Floats], rates: Mapping[str, Floats]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Evaluate a program and its derivatives along rates of its inputs.

    Parameters
    ----------
    program
        Traced program.
    inputs
        Values of its inputs by name, (entries, lanes).
    rates
        Derivatives of the inputs by name, (entries, lanes). Inputs without an entry are constant.

    Returns
    -------
    Outputs by name and their derivatives by name, both (entries, lanes).
    """
    lanes = max(np.shape(x)[1] for x in [*inputs.values(), *rates.values()])
    values: list[Any] = []
    tangents: list[Any] = []  # None marks a value that does not depend on the varied inputs
    for op, *args in program.steps:
        tangent: Any = None
        if op == "const":
            value: Any = args[0]
        elif op == "input":
            value = inputs[args[0]][args[1]]
            tangent = rates[args[0]][args[1]] if args[0] in rates else None
        else:
            operands = [values[k] for k in args]
            value = NUMPY_FUNCTIONS[op](*operands)
            # Most steps of the program do not depend on the varied inputs: skip their derivatives.
            if any(tangents[k] is not None for k in args):
                directions = [0.0 if tangents[k] is None else tangents[k] for k in args]
                tangent = _RULES[op](value, *operands, *directions)
        values.append(value)
        tangents.append(tangent)

    def collect_outputs(results: list[Any]) -> dict[str, Floats]:
        """Return the outputs of the program from the results of all its steps, (entries, lanes) by
        name.
        """
        out = {}
        for name, entries in program.outputs.items():
            rows = [0.0 if results[k] is None else results[k] for k in entries]
            out[name] = np.array([np.broadcast_to(row, lanes) for row in rows]).reshape(-1, lanes)
        return out

    return collect_outputs(values), collect_outputs(tangents)


@dataclass(frozen=True, eq=False)
class MatrixJet:
    """Stack of matrices together with its derivatives; products, sums and inverses propagate both."""

    value: Floats  # matrices, (..., 1, rows, columns)
    rate: Floats  # derivatives of the matrices, (..., directions, rows, columns)

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
        """Matrices followed by their derivatives, (..., 1 + directions, rows, columns)."""
        return np.concatenate([self.value, self.rate], axis=-3)


def split_stack(stack: Floats) -> MatrixJet:
    """Split a stack (..., 1 + directions, rows, columns) into matrices and their derivatives.

    The first matrix of each stack is the value, the others are its derivatives.
    """
    return MatrixJet(stack[..., :1, :, :], stack[..., 1:, :, :])


Matrices = Any
"""Stacks of matrices (N, rows, columns): an array, or a `MatrixJet`."""


def invert_matrices(x: Matrices) -> Matrices:
    """Return the inverse of each matrix of a stack, with its derivatives if x is a `MatrixJet`."""
    if isinstance(x, MatrixJet):
        y = np.linalg.inv(x.value)
        return MatrixJet(y, -(y @ x.rate @ y))
    return np.linalg.inv(x)


def transpose(x: Matrices) -> Matrices:
    """Return the transpose of each matrix of a stack, with its derivatives if x is a `MatrixJet`."""
    if isinstance(x, MatrixJet):
        return MatrixJet(np.swapaxes(x.value, -1, -2), np.swapaxes(x.rate, -1, -2))
    return np.swapaxes(x, -1, -2)


def solve_jets(A: MatrixJet, b: MatrixJet, max_condition: float = 1e12) -> MatrixJet:
    """Return the solution x of `A x = b` and its derivatives, for stacks of matrices A and vectors
    b.

    If A is not square, or its condition number exceeds `max_condition`, x is the minimum-norm solution
    of least squares.
    """
    is_square = A.value.shape[-2] == A.value.shape[-1]
    if is_square and bool((np.linalg.cond(A.value) < max_condition).all()):
        back = np.linalg.inv(A.value)
    else:
        # Singular values below 1e-15 of the largest one are rounding errors, even if
        # `max_condition` admits them.
        back = np.linalg.pinv(A.value, rcond=max(1.0 / max_condition, 1e-15))
    x = back @ b.value
    return MatrixJet(x, back @ (b.rate - A.rate @ x))


def multiply_jets(A: Floats, x: Floats) -> Floats:
    """Return the product A x of a matrix and a vector with its derivatives, (..., 1 + directions,
    rows).

    A is a stack (..., 1 + directions, rows, columns), x one of vectors (..., 1 + directions, columns).
    """
    return (split_stack(A) @ split_stack(x[..., None])).stack[..., 0]


DIFFERENCE_NODES = (-4, -3, -2, -1, 1, 2, 3, 4)
"""Multiples of the step at which a central difference of eighth order evaluates a function."""

_DIFFERENCE_WEIGHTS = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))


def difference_of(samples: Sequence[Floats] | Floats, step: float) -> Floats:
    """Return the derivative of a function at zero from its samples at the points `h * DIFFERENCE_NODES`."""
    f = dict(zip(DIFFERENCE_NODES, samples, strict=True))
    terms = [weight * (f[k] - f[-k]) for k, weight in _DIFFERENCE_WEIGHTS]
    return np.sum(terms, axis=0) / step


def difference(function: Callable[[float], Floats], step: float) -> Floats:
    """Return the derivative of a function at zero by a central difference of eighth order.

    >>> print(f"{difference(np.exp, 0.01):.12f}")
    1.000000000000
    """
    return difference_of([function(k * step) for k in DIFFERENCE_NODES], step)
