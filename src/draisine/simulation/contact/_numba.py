"""Numba, for the kernels of contact modes: calls by address, and Dormand and Prince's sums."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from scipy.integrate import DOP853

from draisine.algebra.scalar import Floats

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Return the function compiled, kept on disk where there is a place to keep it.

    Numba takes up what it kept as long as the function's own file is the same; the functions that
    were compiled into it live in files beside it, so those must be the same too.
    """
    try:
        compiled = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # nowhere to write
        return cast(F, njit(nogil=True)(function))
    kept: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(kept, "_source_stamp"):
        kept._source_stamp = (kept._source_stamp, _sources())
    return cast(F, compiled)


@cache
def _sources() -> str:
    """Return a digest of all that may be compiled into one another."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _call(typing_context, address, x, table, out, count):  # type: ignore[no-untyped-def]
    """Call `void f(x, table, out, count)` by its address; the arrays are given by theirs."""
    signature = types.void(types.int64, types.int64, types.int64, types.int64, types.int64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word, word, word, word])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        builder.call(function, list(arguments[1:]))
        return context.get_dummy_value()

    return signature, generate


call: Any = intrinsic(_call)


STAGES = 12


class Tableau(NamedTuple):
    """The method's coefficients, as compiled functions take them."""

    A: Floats
    C: Floats
    E3: Floats
    E5: Floats
    D: Floats
    A_extra: Floats
    C_extra: Floats


TABLEAU = Tableau(
    np.ascontiguousarray(np.vstack([DOP853.A, DOP853.B[None, :]])[:, :STAGES]),
    np.append(DOP853.C, 1.0),
    *(np.ascontiguousarray(x) for x in (DOP853.E3, DOP853.E5, DOP853.D)),
    *(np.ascontiguousarray(x) for x in (DOP853.A_EXTRA, DOP853.C_EXTRA)),
)


@jit
def error_norm(
    y: Floats, new: Floats, K: Floats, h: float, rtol: float, atol: float, method: Tableau
) -> float:
    """Return the error of a step against what the tolerances allow."""
    n = len(y)
    error5, error3 = 0.0, 0.0
    for k in range(n):
        scale = atol + rtol * max(abs(y[k]), abs(new[k]))
        e5, e3 = 0.0, 0.0
        for j in range(13):
            e5 += method.E5[j] * K[j, k]
            e3 += method.E3[j] * K[j, k]
        error5 += (e5 / scale) * (e5 / scale)
        error3 += (e3 / scale) * (e3 / scale)
    both = error5 + 0.01 * error3
    return 0.0 if both == 0.0 else h * error5 / np.sqrt(both * n)


@jit
def polynomial(y: Floats, new: Floats, K: Floats, h: float, method: Tableau, F: Floats) -> None:
    """Write the polynomial of the dense output of a step into F."""
    for k in range(len(y)):
        delta = new[k] - y[k]
        F[0, k] = delta
        F[1, k] = h * K[0, k] - delta
        F[2, k] = 2.0 * delta - h * (K[12, k] + K[0, k])
        for i in range(4):
            step = 0.0
            for j in range(16):
                step += method.D[i, j] * K[j, k]
            F[3 + i, k] = h * step


@jit
def dense(F: Floats, y: Floats, z: float, into: Floats) -> None:
    """Write the state at the part z of a step that began with y."""
    for k in range(len(y)):
        value = 0.0
        for i in range(7):
            value += F[6 - i, k]
            value *= z if i % 2 == 0 else 1.0 - z
        into[k] = y[k] + value
