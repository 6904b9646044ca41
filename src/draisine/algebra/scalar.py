"""Scalar types of the mechanics: floats, traced expressions, CasADi SX, SymPy, mpmath.

Only this file distinguishes these algebras. Vectors and matrices are plain NumPy arrays of scalars: float64
if all entries are numbers, `object` otherwise. CasADi scalars are wrapped (`casadi_symbols`), because NumPy
arrays cannot contain them.
"""

import math
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra import trace

Scalar = Any
"""Type of a number or expression of any of these algebras."""

Array = NDArray[Any]
"""Type of an array of scalars."""

Floats = NDArray[Any]
"""Type of an array that contains only floats."""

Vector = Any
"""Type of an argument with three scalars in any sequence; it is stored as an array (3,)."""

_ALGEBRAS = ("draisine", "sympy", "mpmath")
"""Packages whose types are scalars; CasADi has its own wrapper."""

ZERO_TOLERANCE = 1e-12
"""Largest rounding error of floats, as a fraction of their scale, that `all_vanish` treats as zero."""


def _apply_casadi(operation: Callable[..., Any], *xs: Any) -> Any:
    """Return the result of an operation on CasADi scalars and numbers, NotImplemented for other operands."""
    if not all(isinstance(x, (Casadi, int, float, np.integer)) for x in xs):
        return NotImplemented
    return Casadi(operation(*[x.sx if isinstance(x, Casadi) else float(x) for x in xs]))


def _make_operators(operation: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the methods of CasADi scalars for an operation with the scalar as left and as right operand."""
    return (lambda x, y: _apply_casadi(operation, x, y)), (
        lambda x, y: _apply_casadi(operation, y, x)
    )


class Casadi:
    """A CasADi SX scalar as an entry of NumPy arrays; CasADi's own `SX * ndarray` would be an SX matrix."""

    __slots__ = ("sx",)

    def __init__(self, sx: Any) -> None:
        self.sx = sx

    __add__, __radd__ = _make_operators(operator.add)
    __sub__, __rsub__ = _make_operators(operator.sub)
    __mul__, __rmul__ = _make_operators(operator.mul)
    __truediv__, __rtruediv__ = _make_operators(operator.truediv)
    __pow__, __rpow__ = _make_operators(operator.pow)
    __lt__, __gt__ = _make_operators(operator.lt)

    def __neg__(self) -> Any:
        return _apply_casadi(operator.neg, self)

    def __float__(self) -> float:
        return float(self.sx)

    def __repr__(self) -> str:
        return f"Casadi({self.sx})"


def casadi_symbols(name: str, count: int) -> Array:
    """Return a vector of CasADi symbols `name_0`, `name_1`, ... that works like any other array.

    >>> x = casadi_symbols("x", 2)
    >>> print(np.array([3.0, 0.0]) @ x)
    Casadi((3*x_0))
    """
    import casadi

    return array([Casadi(casadi.SX.sym(f"{name}_{k}")) for k in range(count)])


def _algebra_of(*xs: Scalar) -> str:
    """Return the name of the algebra of the first scalar that is not a number; "float" if all are numbers."""
    for x in xs:
        if isinstance(x, float):
            continue
        root = type(x).__module__.partition(".")[0]
        if root == "casadi":
            raise TypeError("NumPy arrays cannot contain CasADi scalars. Use `casadi_symbols`.")
        if root in _ALGEBRAS:
            return "casadi" if type(x) is Casadi else root
    return "float"


def _apply(function: str, *xs: Scalar) -> Scalar:
    """Return the value of a named function of scalars, evaluated in their own algebra."""
    for x in xs:
        if hasattr(x, "apply"):  # a jet of any algebra
            return x.apply(function, *xs)
    match _algebra_of(*xs):
        case "float":
            return getattr(math, function)(*xs)
        case "draisine":
            return getattr(trace, function)(*xs)
        case "casadi":
            return _apply_casadi(getattr(sys.modules["casadi"], function), *xs)
        case algebra:
            return getattr(sys.modules[algebra], function)(*xs)


def sin(x: Scalar) -> Scalar:
    """Return the sine of x in its own algebra."""
    return _apply("sin", x)


def cos(x: Scalar) -> Scalar:
    """Return the cosine of x in its own algebra."""
    return _apply("cos", x)


def sqrt(x: Scalar) -> Scalar:
    """Return the square root of x in its own algebra."""
    return _apply("sqrt", x)


def exp(x: Scalar) -> Scalar:
    """Return the exponential of x in its own algebra."""
    return _apply("exp", x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Return the angle of the plane vector (x, y) in rad, in its own algebra."""
    return _apply("atan2", y, x)


def where(condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    """Return `yes` if the condition is true, otherwise `no`; both are evaluated."""
    if isinstance(condition, (bool, float)):
        return yes if condition else no
    for x in (yes, no):
        if hasattr(x, "choose_jet"):  # a jet of any algebra
            return x.choose_jet(condition, yes, no)
    match _algebra_of(condition, yes, no):
        case "draisine":
            return trace.where(condition, yes, no)
        case "casadi":
            return _apply_casadi(sys.modules["casadi"].if_else, condition, yes, no)
        case "sympy":
            return sys.modules["sympy"].Piecewise((yes, condition), (no, True))
        case _:
            return yes if condition else no


def clip(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """Return x limited to the interval from `low` to `high`."""
    return where(x < low, low, where(x > high, high, x))


_SCALAR_OPERATIONS: dict[str, Callable[..., Scalar]] = trace.ARITHMETIC | {
    "inv": lambda a: 1.0 / a,
    "sqrt": sqrt,
    "sin": sin,
    "cos": cos,
    "exp": exp,
    "atan2": atan2,
    "lt": operator.lt,
    "where": where,
}
"""Functions that evaluate a traced operation on scalars of any algebra, by name of the operation."""


def substitute(
    graph: trace.Graph, xs: Sequence[Scalar], values: Mapping[str, Scalar]
) -> list[Scalar]:
    """Return expressions in which symbols are replaced by values; the results are simplified by tracing.

    >>> g = trace.Graph()
    >>> x, y = g.symbol("x"), g.symbol("y")
    >>> substitute(g, [x * y + cos(x)], {"x": 0.0})
    [1.0]
    """
    return trace.evaluate_with_operations(
        xs, lambda i, name: values.get(name, trace.Expr(graph, i)), _SCALAR_OPERATIONS
    )


def _is_numeric(entries: Any) -> bool:
    """Return whether nested sequences contain plain numbers only."""
    if isinstance(entries, np.ndarray):
        return entries.dtype.kind in "fiu"
    if isinstance(entries, (list, tuple)):
        # Most entries are floats. The test here saves a call for each.
        return all(isinstance(entry, float) or _is_numeric(entry) for entry in entries)
    return isinstance(entries, (float, int))


def array(entries: Any) -> Array:
    """Return nested sequences of scalars as an array; float64 if every entry is a number."""
    if _is_numeric(entries):
        return np.array(entries, dtype=float)
    flat: list[Scalar] = []

    def shape_of(entries: Any) -> tuple[int, ...]:
        """Return the shape of nested sequences; raise an error if their rows differ."""
        if isinstance(entries, (list, tuple)) or (
            isinstance(entries, np.ndarray) and entries.ndim > 0
        ):
            shapes = [shape_of(y) for y in entries]
            if len(set(shapes)) > 1:
                raise ValueError(f"The rows have different shapes: {shapes}.")
            return (len(shapes), *(shapes[0] if shapes else ()))
        flat.append(entries.item() if isinstance(entries, np.ndarray) else entries)
        return ()

    shape = shape_of(entries)
    if _algebra_of(*flat) == "float":
        return np.array(flat, dtype=float).reshape(shape)
    out = np.empty(len(flat), dtype=object)
    for i, x in enumerate(flat):
        out[i] = x
    return out.reshape(shape)


def blocks(rows: Sequence[Sequence[Array]]) -> Array:
    """Return a matrix assembled from blocks, whose entries may be of any scalar type."""
    return np.vstack([np.hstack(list(row)) for row in rows])


def is_zero(x: Scalar) -> bool:
    """Return whether x is structurally zero: a zero number or a symbolic constant zero."""
    if isinstance(x, float):  # the usual case, without a search for the algebra
        return x == 0.0
    algebra = _algebra_of(x)
    if algebra == "casadi":
        return bool(x.sx.is_zero())
    return algebra != "draisine" and bool(x == 0)


def norm(x: Array) -> Scalar:
    """Return the Euclidean norm of a vector, computed without the entries that are structurally zero."""
    entries = [e for e in x if not is_zero(e)]
    if not entries:
        return 0.0
    total = entries[0] * entries[0]
    for e in entries[1:]:
        total = total + e * e
    return sqrt(total)


def all_vanish(values: Iterable[Scalar], scale: float = 1.0) -> bool:
    """Return whether all values are zero.

    Expressions must be identically zero, numbers must be zero up to rounding errors relative to `scale`.
    """
    values = [x for x in values if not is_zero(x)]
    match _algebra_of(*values):
        case "float":
            return all(abs(x) <= ZERO_TOLERANCE * scale for x in values)
        case "mpmath":
            return all(abs(x) <= 1e4 * sys.modules["mpmath"].mp.eps * scale for x in values)
        case "sympy":
            return all(sys.modules["sympy"].simplify(x) == 0 for x in values)
        case _:
            return not values
