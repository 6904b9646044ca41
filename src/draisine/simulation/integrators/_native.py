"""What all integrators share: calling machine code by its address, and the state of a run."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from draisine.algebra.scalar import Floats

F = TypeVar("F", bound=Callable[..., Any])

DONE, NOT_FINITE, DEGENERATE, TOO_SMALL, FLAT = 0, 1, 2, 3, 4
"""How a stretch ended: whole; a value that is no number; a pivot near zero; no step is small
enough; a wheel fell flat.
"""


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


class Code(NamedTuple):
    """A right-hand side and a projection by address, with their tables and the sizes of what they
    return; `tail` is what follows y in their input.

    `project` is 0 where there is none. The pose and shape are the first `pose_size` entries of y.
    `floors` are the least sizes that the right-hand side's pivots may have. Compiled functions pass
    on what they need of it, not the whole: that would count references to four arrays at each call.
    """

    rate: int
    rate_table: Floats
    rate_size: int
    project: int
    project_table: Floats
    project_size: int
    pose_size: int
    wheels: int
    tail: Floats
    floors: Floats


@dataclass(frozen=True)
class Problem:
    """What an integrator solves: the code, as compiled functions take it, and the objects that it
    belongs to, which keep it alive.
    """

    code: Code
    keep: Any = field(default=None, repr=False)


@jit
def evaluate(rate: int, table: Floats, x: Floats, out: Floats) -> None:
    """Write the rate of y into `out` for the input x = (t, y, tail)."""
    call(rate, x.ctypes.data, table.ctypes.data, out.ctypes.data, 1)


@jit
def settle(
    project: int, table: Floats, x: Floats, out: Floats, pose_size: int, headings: Floats
) -> int:
    """Replace the pose and shape in x by their projection: one Newton step, and more (four at most)
    where it began with a gap above 1e-8, whose square could be seen. Return FLAT where a wheel's
    heading turned round against `headings`, which are then those of x: it fell flat on the way.
    """
    status = 0
    if project != 0:
        for _ in range(4):
            call(project, x.ctypes.data, table.ctypes.data, out.ctypes.data, 1)
            for k in range(pose_size):
                x[1 + k] = out[k]
            worst = 0.0
            for k in range(pose_size, len(out) - len(headings)):
                worst = max(worst, abs(out[k]))
            if not worst > 1e-8:
                break
        first = len(out) - len(headings)
        for k in range(0, len(headings), 2):
            if headings[k] * out[first + k] + headings[k + 1] * out[first + k + 1] < 0.0:
                status = 4
        for k in range(len(headings)):
            headings[k] = out[first + k]
    return status


@jit
def trouble(out: Floats, n: int, floors: Floats) -> int:
    """Return what is wrong with a right-hand side, if anything."""
    total = 0.0
    for k in range(n):
        total += out[k] * 0.0
    if total != 0.0:
        return 1
    for k in range(len(floors)):
        if abs(out[n + k]) < floors[k]:
            return 2
    return 0
