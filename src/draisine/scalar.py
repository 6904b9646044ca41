"""The scalars that the mechanics runs on: floats, traced expressions, CasADi SX, SymPy, mpmath.

This is the only file that knows which algebra is at work. Vectors and matrices are plain NumPy
arrays of such scalars: float64 where all entries are numbers, `object` otherwise.
"""

import math
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine import trace

Scalar = Any
Array = NDArray[Any]
Vector = Any  # three scalars in any sequence; kept as an array

_ALGEBRAS = ("draisine", "casadi", "sympy", "mpmath")


def _algebra(*xs: Scalar) -> str:
    for x in xs:
        root = type(x).__module__.partition(".")[0]
        if root in _ALGEBRAS:
            return root
    return "float"


def _library(*xs: Scalar) -> ModuleType:
    algebra = _algebra(*xs)
    if algebra == "draisine":
        return trace
    return sys.modules.get(algebra, math)


def sin(x: Scalar) -> Scalar:
    """Return the sine of x in its own algebra."""
    return _library(x).sin(x)


def cos(x: Scalar) -> Scalar:
    """Return the cosine of x in its own algebra."""
    return _library(x).cos(x)


def sqrt(x: Scalar) -> Scalar:
    """Return the square root of x in its own algebra."""
    return _library(x).sqrt(x)


def exp(x: Scalar) -> Scalar:
    """Return the exponential of x in its own algebra."""
    return _library(x).exp(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Return the angle of (x, y) in its own algebra."""
    return _library(y, x).atan2(y, x)


def where(condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    """Return `yes` where the condition holds, else `no`; both are evaluated."""
    match _algebra(condition, yes, no):
        case "draisine":
            return trace.where(condition, yes, no)
        case "casadi":
            return sys.modules["casadi"].if_else(condition, yes, no)
        case "sympy" if not isinstance(condition, bool):
            return sys.modules["sympy"].Piecewise((yes, condition), (no, True))
        case _:
            return yes if condition else no


def clip(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """Return x, held between low and high."""
    return where(x < low, low, where(x > high, high, x))


def array(entries: Any) -> Array:
    """Return nested sequences of scalars as an array, float64 where every entry is a number."""
    flat: list[Scalar] = []

    def shape_of(x: Any) -> tuple[int, ...]:
        if isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.ndim > 0):
            shapes = [shape_of(y) for y in x]
            if len(set(shapes)) > 1:
                raise ValueError(f"rows of unequal length: {shapes}")
            return (len(shapes), *(shapes[0] if shapes else ()))
        flat.append(x.item() if isinstance(x, np.ndarray) else x)
        return ()

    shape = shape_of(entries)
    if _algebra(*flat) == "float":
        return np.array(flat, dtype=float).reshape(shape)
    out = np.empty(len(flat), dtype=object)
    for i, x in enumerate(flat):
        out[i] = x
    return out.reshape(shape)


def blocks(rows: Sequence[Sequence[Array]]) -> Array:
    """Return a matrix put together from blocks of any algebra."""
    return np.vstack([np.hstack(list(row)) for row in rows])


def is_zero(x: Scalar) -> bool:
    """Return whether x is structurally zero: a zero number or a symbolic constant zero."""
    algebra = _algebra(x)
    if algebra == "casadi":
        return bool(x.is_zero())
    return algebra != "draisine" and bool(x == 0)


def norm(x: Array) -> Scalar:
    """Return the Euclidean norm of a vector; exact where only one entry is not zero."""
    entries = [e for e in x if not is_zero(e)]
    if not entries:
        return 0.0
    total = entries[0] * entries[0]
    for e in entries[1:]:
        total = total + e * e
    return sqrt(total)


def vanishes(values: Iterable[Scalar]) -> bool:
    """Return whether all values are zero: identically, for symbols; up to round-off, for numbers."""
    values = [x for x in values if not is_zero(x)]
    match _algebra(*values):
        case "float" | "mpmath":
            return all(abs(x) <= 1e-12 for x in values)
        case "sympy":
            return all(sys.modules["sympy"].simplify(x) == 0 for x in values)
        case _:
            return not values
