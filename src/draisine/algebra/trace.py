"""Tracing: scalars that record the operations on them as nodes of a graph, without duplicate values.

Every new node is evaluated at two random points with 50 digits (all symbols positive, then all negative).
Nodes with equal values are one node, opposite values become a negation, and a value that is the same plain
number at both points becomes that number. So symmetry, orthogonality of joint rotations, `c^2 + s^2 = 1` and
exact zeros of an elimination are simplified when they arise, whatever the form of the expression.

Two points of opposite sign are needed: at one positive point sqrt(x x) equals x. They do not suffice for
roots: sqrt(x^2 y^2) equals x y at both, and sqrt((x - y)^2) may equal x - y. An identity with roots must
therefore also hold at `_TRIALS` points of mixed signs, in floats.

A node whose value does not exist or is not known to enough digits gets a random value of its own: it equals
no node of another form.
"""

import math
import operator
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DIGITS = 50  # decimal digits of the values at the random points
_EXACT = Context(prec=_DIGITS)
# Values are computed to 50 digits. They are equal if they agree after rounding to 34 digits; the
# other 16 are left for rounding errors.
_ROUND = Context(prec=34)
_TINY = Decimal("1e-36")  # relative difference below which a value equals a double
_ABSORBED = 24
"""Decimal orders of magnitude between two terms of a sum, from which the smaller one counts as lost: the 34
digits that are compared would contain at most 10 of its digits, and none from 34 orders on. An iteration
written out as a graph can diverge at a random point and reach such values.
"""
_DECIMAL_ONE = Decimal(1)
_TRIALS = 48
"""Number of points of mixed signs at which identities that contain roots are checked."""

NUMPY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "inv": np.reciprocal,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "atan2": np.arctan2,
    "lt": lambda a, b: np.less(a, b) * 1.0,
    "where": np.where,
}
"""Functions that evaluate an operation on floats and arrays, by name of the operation."""


class Graph:
    """Graph of expressions: nodes (operation, arguments), each with its values at two random points.

    Nodes that depend on parameters only are marked as `fixed`, so that they can be computed once.
    """

    def __init__(self) -> None:
        self.ops: list[tuple[Any, ...]] = []
        self.values: list[tuple[Decimal, Decimal]] = []
        self.fixed: list[bool] = []
        self._rooted: list[bool] = []
        self._trials: dict[int, NDArray[np.float64]] = {}
        self._by_value: dict[tuple[Decimal, Decimal], int] = {}
        self._by_shape: dict[tuple[Any, ...], int] = {}

    def symbol(self, name: str, parameter: bool = False) -> "Expr":
        """Return the symbol called `name`; repeated calls return the same symbol."""
        shape = ("symbol", name)
        if shape not in self._by_shape:
            rng = random.Random(f"draisine {name}")
            digits = [Decimal(rng.getrandbits(160)) / Decimal(2**160) for _ in range(2)]
            values = (Decimal("0.5") + digits[0], -Decimal("0.5") - digits[1])
            self._by_shape[shape] = self._append_node(shape, values, parameter)
        return Expr(self, self._by_shape[shape])

    def constant(self, value: float) -> int:
        """Return the index of the node of a constant number."""
        shape = ("const", float(value))
        if shape not in self._by_shape:
            exact = Decimal(float(value))
            self._by_shape[shape] = self._append_node(shape, (exact, exact), True)
        return self._by_shape[shape]

    def _append_node(
        self, shape: tuple[Any, ...], values: tuple[Decimal, Decimal], fixed: bool
    ) -> int:
        """Add a node with its values at both points; return its index."""
        self.ops.append(shape)
        self.values.append(values)
        self.fixed.append(fixed)
        rooted = shape[0] == "sqrt"
        if shape[0] not in ("symbol", "const"):
            for k in shape[1:]:
                rooted = rooted or self._rooted[k]
        self._rooted.append(rooted)
        index = len(self.ops) - 1
        self._by_value.setdefault((_ROUND.plus(values[0]), _ROUND.plus(values[1])), index)
        return index

    def node(self, op: str, *args: int) -> "Expr | float":
        """Return the result of the operation `op` on nodes with indices `args`: an existing node, its
        negation, a number, or a new node.
        """
        shape = (op, *args)
        existing = self._by_shape.get(shape)
        if existing is not None:
            return self._as_expression(existing)
        samples = [self.values[i] for i in args]
        sampled = _SAMPLED.get(op)
        values: tuple[Decimal | None, ...] = (None, None)
        if sampled is not None and not (op in ("add", "sub") and _absorbs(*samples)):
            values = _evaluate_at_samples(sampled, samples)
        fixed = all(self.fixed[i] for i in args)
        if None in values:  # a node without reliable values at both points equals only itself
            first, second = self.values[self.symbol(f"opaque {shape}").index]
            index = self._append_node(shape, (first, second), fixed)
            self._by_value[_ROUND.plus(first), _ROUND.plus(second)] = index
        else:
            index = self._find_or_append(shape, values, samples, fixed)  # type: ignore[arg-type]
        self._by_shape[shape] = index
        return self._as_expression(index)

    def _find_or_append(
        self,
        operation: tuple[Any, ...],
        values: tuple[Decimal, Decimal],
        samples: Sequence[tuple[Decimal, Decimal]],
        fixed: bool,
    ) -> int:
        """Return the node index of an operation from its values at both random points: an existing node, a
        constant, or a new node.
        """
        # Terms that agree in 35 of 50 digits cancel: such agreement is not a coincidence.
        tiny = all(
            not x or x.adjusted() < first.adjusted() - 35
            for x, first in zip(values, samples[0], strict=True)
        )
        if operation[0] in ("add", "sub") and tiny and self._cancels_exactly(operation):
            return self.constant(0.0)
        key = (_ROUND.plus(values[0]), _ROUND.plus(values[1]))
        same = self._by_value.get(key)
        if same is not None and self._equals_node(operation, same):
            if self.fixed[same] or not fixed:
                return same
            index = self._append_node(
                operation, values, fixed
            )  # depends on parameters only: it is always regular
            self._by_value[key] = index
            return index
        if key[0] == key[1]:
            number = float(key[0])
            if abs(Decimal(number) - key[0]) <= _TINY * abs(key[0]):
                same = self.constant(number)
                if self._equals_node(operation, same):
                    return same
        opposite = self._by_value.get((key[0].copy_negate(), key[1].copy_negate()))
        if (
            opposite is not None
            and operation[0] != "neg"
            and self.fixed[opposite] >= fixed
            and self._equals_node(operation, opposite, -1.0)
        ):
            operation = ("neg", opposite)
            fixed = self.fixed[opposite]
        return self._append_node(operation, values, fixed)

    def _equals_node(self, operation: tuple[Any, ...], node_index: int, sign: float = 1.0) -> bool:
        """Return whether a new node equals `sign` times an existing node at further points, at
        which symbols have mixed signs.
        """
        rooted = operation[0] == "sqrt" or any(
            self._rooted[k] for k in (node_index, *operation[1:])
        )
        if not rooted:
            return True
        with np.errstate(all="ignore"):
            value = NUMPY_FUNCTIONS[operation[0]](*[self._trial_values(k) for k in operation[1:]])
            return _agree(value, sign * self._trial_values(node_index))

    def _cancels_exactly(self, operation: tuple[Any, ...]) -> bool:
        """Return whether the two terms of a sum cancel at further points, at which symbols have
        mixed signs.
        """
        op, a, b = operation
        if not self._rooted[a] and not self._rooted[b]:
            return True
        with np.errstate(all="ignore"):
            return _agree(
                self._trial_values(a), self._trial_values(b) * (1.0 if op == "sub" else -1.0)
            )

    def _trial_values(self, node_index: int) -> NDArray[np.float64]:
        """Return the values (_TRIALS,) of a node at the points of mixed signs."""
        trials = self._trials
        stack = [node_index]
        while stack:
            i = stack[-1]
            op, *args = self.ops[i]
            if op == "const":
                trials[i] = np.full(_TRIALS, args[0])
            elif op == "symbol":
                rng = random.Random(f"trial {args[0]}")
                trials[i] = np.array(
                    [rng.choice((-1, 1)) * rng.uniform(0.5, 1.5) for _ in range(_TRIALS)]
                )
            elif missing := [k for k in args if k not in trials]:
                stack += missing
                continue
            else:
                trials[i] = NUMPY_FUNCTIONS[op](*[trials[k] for k in args])
            stack.pop()
        return trials[node_index]

    def _as_expression(self, node_index: int) -> "Expr | float":
        """Return a node as an expression, or as a float if it is a constant."""
        op = self.ops[node_index]
        return op[1] if op[0] == "const" else Expr(self, node_index)


def _agree(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    """Return whether two arrays agree at all points at which both are finite, which must be at least a
    quarter of the points.
    """
    exist = np.isfinite(a) & np.isfinite(b)
    close = np.abs(a - b) <= 1e-6 * (np.abs(a) + np.abs(b))
    return bool(np.count_nonzero(exist) >= _TRIALS // 4 and np.all(close[exist]))


def _absorbs(a: tuple[Decimal, Decimal], b: tuple[Decimal, Decimal]) -> bool:
    """Return whether in a sum of two nodes one term is lost beside the other at a random point. The sum has
    the value of the larger term there, but it is not equal to it.
    """
    return any(
        bool(x) and bool(y) and abs(x.adjusted() - y.adjusted()) >= _ABSORBED
        for x, y in zip(a, b, strict=True)
    )


def _evaluate_at_samples(
    operation: Callable[..., Decimal | None], samples: Sequence[tuple[Decimal, Decimal]]
) -> tuple[Decimal | None, ...]:
    """Return the values of an operation at both random points; a value is None if it exceeds the range of
    doubles.
    """
    try:
        values = (operation(*[s[0] for s in samples]), operation(*[s[1] for s in samples]))
    except ArithmeticError:
        return (None, None)
    for value in values:
        if value and not (value.is_finite() and -300 < value.adjusted() < 300):
            return (None, None)
    return values


_WIDE_CONTEXT = Context(prec=100)  # for the reduction of large angles
_PI = Decimal(
    "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825"
    "3421170679821480865132823066470938446"
)


def _sine(x: Decimal, quarters: int) -> Decimal | None:
    """Return sin(x + quarters pi / 2) by its power series."""
    if x.adjusted() > 30:
        return None
    x = _WIDE_CONTEXT.add(x, _WIDE_CONTEXT.multiply(_PI, Decimal(quarters) / 2))
    turn = _WIDE_CONTEXT.add(_PI, _PI)
    r = _WIDE_CONTEXT.subtract(
        x, _WIDE_CONTEXT.multiply(turn, _WIDE_CONTEXT.divide(x, turn).to_integral_value())
    )
    minus = _WIDE_CONTEXT.minus(_WIDE_CONTEXT.multiply(r, r))
    term = r
    total = r
    n = 1
    while abs(term) > Decimal("1e-75"):
        n += 2
        term = _WIDE_CONTEXT.divide(_WIDE_CONTEXT.multiply(term, minus), Decimal(n * (n - 1)))
        total = _WIDE_CONTEXT.add(total, term)
    return _EXACT.plus(total)


_SAMPLED: dict[str, Callable[..., Decimal | None]] = {
    "add": _EXACT.add,
    "sub": _EXACT.subtract,
    "mul": _EXACT.multiply,
    "neg": _EXACT.minus,
    "inv": lambda x: _EXACT.divide(_DECIMAL_ONE, x) if x else None,
    "sqrt": lambda x: _EXACT.sqrt(x) if x >= 0 else None,
    "sin": lambda x: _sine(x, 0),
    "cos": lambda x: _sine(x, 1),
    "exp": lambda x: _EXACT.exp(x) if abs(x) < 700 else None,
}
"""Functions that evaluate an operation on decimal numbers, by name; they return None if the result does not
exist.
"""


class Expr:
    """A traced scalar: a node of an expression graph, with arithmetic for expressions and numbers."""

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def _operand_index(self, operand: Any) -> int | None:
        """Return the node index of an operand; None if it is neither an expression nor a number."""
        if type(operand) is Expr:
            return operand.index
        if isinstance(operand, (int, float, np.integer, np.floating)):
            return self.graph.constant(float(operand))
        return None

    def _strip_negation(self, node_index: int) -> tuple[int, bool]:
        """Return the node index without its negation, and whether there was a negation."""
        op = self.graph.ops[node_index]
        return (op[1], True) if op[0] == "neg" else (node_index, False)

    def _apply_sign(self, value: "Expr | float", is_negative: bool) -> "Expr | float":
        """Return a value, or its negation if `is_negative`."""
        return -value if is_negative else value

    def _add_nodes(self, a: int, b: int) -> "Expr | float":
        """Return a + b for two nodes: negations become subtractions, and parameters are added first."""
        g = self.graph
        x, minus_x = self._strip_negation(a)
        y, minus_y = self._strip_negation(b)
        if minus_x and minus_y:
            return -self._add_nodes(x, y)
        if minus_x:
            return g.node("sub", y, x)
        if minus_y:
            return g.node("sub", x, y)
        return g.node("add", min(x, y), max(x, y))

    def _multiply_nodes(self, a: int, b: int) -> "Expr | float":
        """Return a b for two nodes: negations are moved outside, and parameters are multiplied first."""
        g = self.graph
        x, minus_x = self._strip_negation(a)
        y, minus_y = self._strip_negation(b)
        if g.fixed[x] and not g.fixed[y]:
            x, y = y, x
        if g.fixed[y] and not g.fixed[x]:
            op = g.ops[x]
            if op[0] == "mul" and g.fixed[op[2]] and not g.fixed[op[1]]:
                merged = self._multiply_nodes(op[2], y)
                if not isinstance(merged, Expr):
                    inner: Expr | float = Expr(g, op[1]) * merged
                else:
                    inner = self._multiply_nodes(op[1], merged.index)
                return self._apply_sign(inner, minus_x != minus_y)
            return self._apply_sign(g.node("mul", x, y), minus_x != minus_y)
        return self._apply_sign(g.node("mul", min(x, y), max(x, y)), minus_x != minus_y)

    def __add__(self, other: Any) -> Any:
        if type(other) is float and other == 0.0:
            return self
        i = self._operand_index(other)
        return NotImplemented if i is None else self._add_nodes(self.index, i)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is float and other == 0.0:
            return self
        i = self._operand_index(other)
        if i is None:
            return NotImplemented
        x, minus_x = self._strip_negation(self.index)
        y, minus_y = self._strip_negation(i)
        if minus_x:
            return self.graph.node("sub", y, x) if minus_y else -self._add_nodes(x, y)
        return self._add_nodes(x, y) if minus_y else self.graph.node("sub", x, y)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if type(other) is float:
            if other == 0.0:
                return 0.0
            if other == 1.0:
                return self
            if other == -1.0:
                return -self
        i = self._operand_index(other)
        return NotImplemented if i is None else self._multiply_nodes(self.index, i)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Expr):
            return self * other.inverse()
        i = self._operand_index(other)
        return NotImplemented if i is None else self * (1.0 / float(other))

    def __rtruediv__(self, other: Any) -> Any:
        return other * self.inverse()

    def __pow__(self, other: Any) -> Any:
        if other == 2:
            return self * self
        return NotImplemented

    def __neg__(self) -> Any:
        x, minus = self._strip_negation(self.index)
        return Expr(self.graph, x) if minus else self.graph.node("neg", x)

    def __pos__(self) -> "Expr":
        return self

    def __lt__(self, other: Any) -> Any:
        i = self._operand_index(other)
        return NotImplemented if i is None else self.graph.node("lt", self.index, i)

    def __gt__(self, other: Any) -> Any:
        i = self._operand_index(other)
        return NotImplemented if i is None else self.graph.node("lt", i, self.index)

    def __bool__(self) -> bool:
        raise TypeError("A traced value has no truth value. Use scalar.where for conditions.")

    def inverse(self) -> Any:
        """Return the reciprocal 1 / x."""
        x, minus = self._strip_negation(self.index)
        return self._apply_sign(self.graph.node("inv", x), minus)

    def unary(self, op: str) -> Any:
        """Return sqrt, sin, cos or exp (the name `op`) of the expression."""
        x, minus = self._strip_negation(self.index)
        if minus and op == "sin":
            return self._apply_sign(self.graph.node("sin", x), True)
        if minus and op == "cos":
            return self.graph.node("cos", x)
        return self.graph.node(op, self.index)

    @property
    def fixed(self) -> bool:
        """Whether the expression depends on parameters only."""
        return self.graph.fixed[self.index]

    def __repr__(self) -> str:
        op = self.graph.ops[self.index]
        return f"Expr({op[1] if op[0] == 'symbol' else op[0]})"


def sin(x: Expr) -> Any:
    """Return the sine of a traced expression."""
    return x.unary("sin")


def cos(x: Expr) -> Any:
    """Return the cosine of a traced expression."""
    return x.unary("cos")


def sqrt(x: Expr) -> Any:
    """Return the square root of a traced expression."""
    return x.unary("sqrt")


def exp(x: Expr) -> Any:
    """Return the exponential of a traced expression."""
    return x.unary("exp")


def _graph_of(*operands: Any) -> Graph:
    """Return the graph of the first traced operand."""
    return next(x.graph for x in operands if isinstance(x, Expr))


def _node_index(graph: Graph, x: Any) -> int:
    """Return the node index of an expression or a number."""
    return x.index if isinstance(x, Expr) else graph.constant(float(x))


def atan2(y: Any, x: Any) -> Any:
    """Return the angle (rad) of the plane vector (x, y) of traced expressions."""
    g = _graph_of(y, x)
    return g.node("atan2", _node_index(g, y), _node_index(g, x))


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return the traced conditional: `yes` if the condition is true, otherwise `no`."""
    g = _graph_of(condition, yes, no)
    return g.node("where", _node_index(g, condition), _node_index(g, yes), _node_index(g, no))


def reachable(graph: Graph, roots: Iterable[int], leaves: Collection[int] = ()) -> list[int]:
    """Return the indices of the nodes on which the roots depend, in order of evaluation; operands of the
    nodes `leaves` are not followed.
    """
    needed: set[int] = set()
    stack = list(roots)
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            op = graph.ops[i]
            if op[0] not in ("symbol", "const") and i not in leaves:
                stack.extend(op[1:])
    return sorted(needed)


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
}
"""Arithmetic operators, which apply to all scalar types, by name of the operation."""

_FLOATS: dict[str, Callable[..., float]] = ARITHMETIC | {
    "inv": lambda a: 1.0 / a if a else math.inf,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
    "sin": math.sin,
    "cos": math.cos,
    "exp": math.exp,
    "atan2": math.atan2,
    "lt": lambda a, b: float(a < b),
    "where": lambda c, a, b: a if c else b,
}


def evaluate_with_operations(
    xs: Sequence[Any],
    symbol: Callable[[int, str], Any],
    operations: Mapping[str, Callable[..., Any]],
) -> list[Any]:
    """Return the values of expressions, evaluated with given implementations of the operations.

    Parameters
    ----------
    xs
        Expressions and numbers; numbers are returned unchanged.
    symbol
        Function from the node index and the name of a symbol to its value.
    operations
        Functions that implement the operations, by name of the operation.
    """
    graph = next((x.graph for x in xs if isinstance(x, Expr)), None)
    if graph is None:
        return list(xs)
    results: dict[int, Any] = {}
    for i in reachable(graph, [x.index for x in xs if isinstance(x, Expr)]):
        op, *args = graph.ops[i]
        if op == "symbol":
            results[i] = symbol(i, args[0])
        elif op == "const":
            results[i] = args[0]
        else:
            results[i] = operations[op](*[results[k] for k in args])
    return [results[x.index] if isinstance(x, Expr) else x for x in xs]


def evaluate(
    xs: Sequence[Any], point: Mapping[str, float]
) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return the values of expressions as floats; `point` contains the values of symbols by name."""
    return np.array(evaluate_with_operations(xs, lambda i, name: point[name], _FLOATS), float)


def _is_zero(x: Any) -> bool:
    """Return whether x is the number zero."""
    return not isinstance(x, Expr) and x == 0.0


_RATES: dict[str, Callable[..., Any]] = {
    "add": lambda y, a, b, da, db: da + db,
    "sub": lambda y, a, b, da, db: da - db,
    "mul": lambda y, a, b, da, db: da * b + a * db,
    "neg": lambda y, a, da: -da,
    "inv": lambda y, a, da: -(da * (y * y)),
    "sqrt": lambda y, a, da: 0.0 if _is_zero(da) else 0.5 * da / y,
    "sin": lambda y, a, da: da * cos(a),
    "cos": lambda y, a, da: -(da * sin(a)),
    "exp": lambda y, a, da: da * y,
    "atan2": lambda y, a, b, da, db: (da * b - a * db) / (a * a + b * b),
    "lt": lambda y, a, b, da, db: 0.0,
    "where": lambda y, c, a, b, dc, da, db: (
        0.0 if _is_zero(da) and _is_zero(db) else where(c, da, db)
    ),
}
"""Functions that return the derivative of an operation from its value y, its operands and their
derivatives, by name of the operation.
"""


def tangent(
    xs: Sequence[Any], seed: Mapping[str, Any], held_constant: Sequence[Any] = ()
) -> list[Any]:
    """Return the exact derivatives of expressions along one direction of differentiation.

    Parameters
    ----------
    xs
        Expressions.
    seed
        Direction of differentiation: derivatives of the symbols by name, zero for all others.
    held_constant
        Expressions that are treated as constants.

    Returns
    -------
    list
        The derivative of each expression.
    """
    graph = next((x.graph for x in xs if isinstance(x, Expr)), None)
    if graph is None:
        return [0.0] * len(xs)
    constants = {x.index for x in held_constant if isinstance(x, Expr)}
    rate: dict[int, Any] = {}
    for i in reachable(graph, [x.index for x in xs if isinstance(x, Expr)], constants):
        op, *args = graph.ops[i]
        if i in constants or op == "const":
            rate[i] = 0.0
        elif op == "symbol":
            rate[i] = seed.get(args[0], 0.0)
        else:
            y, *operands = (Expr(graph, k) for k in (i, *args))
            rate[i] = _RATES[op](y, *operands, *(rate[k] for k in args))
    return [rate[x.index] if isinstance(x, Expr) else 0.0 for x in xs]
