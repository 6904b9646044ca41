"""Programs: straight-line code in static single assignment form, with named input and output arrays.

Parameters are one of the input arrays. The steps that depend on parameters only form the prologue, which
runs once per parameter set and writes its results to a table that the body reads.
"""

import ctypes
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.algebra.trace import NUMPY_FUNCTIONS, Expr, reachable

Instruction = tuple[Any, ...]
"""Type of one step of a program: a tuple (operation, arguments...)."""

COUNTED_OPERATIONS = (
    "add",
    "sub",
    "mul",
    "inv",
    "sqrt",
    "sin",
    "cos",
    "exp",
    "atan2",
    "where",
    "lt",
)
"""Operations that `Program.operations` counts; negations are not counted, because they merge into sums and
products.
"""


@dataclass(frozen=True, slots=True)
class Program:
    """Straight-line code with named input and output arrays.

    A step is `(op, arguments...)`, where the arguments are indices of earlier steps. Leaves are `("input",
    array, k)` and `("const", x)`.
    """

    name: str
    inputs: dict[str, int]  # size of each input array by name; `parameters` is one of them
    steps: list[Instruction]
    outputs: dict[str, list[int]]  # per output array: indices of the steps that are its entries
    fixed: list[bool] = field(repr=False)  # per step: whether it depends on parameters only

    @property
    def operations(self) -> int:
        """The number of arithmetic operations in one call of the body, without the prologue."""
        counts = Counter(s[0] for s, fixed in zip(self.steps, self.fixed, strict=True) if not fixed)
        return sum(counts[op] for op in COUNTED_OPERATIONS)

    @property
    def table(self) -> list[int]:
        """The indices of the parameters and prologue steps that the body or an output reads."""
        needed: set[int] = set()
        for step, fixed in zip(self.steps, self.fixed, strict=True):
            if not fixed:
                needed.update(k for k in step_arguments(step) if self.fixed[k])
        for entries in self.outputs.values():
            needed.update(k for k in entries if self.fixed[k])
        return sorted(k for k in needed if self.steps[k][0] != "const")

    def dumps(self) -> bytes:
        """Return the program as bytes, which `loads` reads."""
        return json.dumps([self.name, self.inputs, self.steps, self.outputs, self.fixed]).encode()

    @staticmethod
    def loads(stored: bytes) -> "Program":
        """Return the program from the bytes of `dumps`.

        >>> half = Program("half", {"x": 1}, [("input", "x", 0), ("const", 0.5), ("mul", 0, 1)],
        ...     {"y": [2]}, [False, True, False])
        >>> Program.loads(half.dumps()) == half
        True
        """
        name, inputs, steps, outputs, fixed = json.loads(stored)
        return Program(name, inputs, [tuple(step) for step in steps], outputs, fixed)


def step_arguments(step: Instruction) -> tuple[int, ...]:
    """Return the indices of the steps that a step reads."""
    return () if step[0] in ("const", "input") else step[1:]


def find_dependencies(program: Program, output: str, source: str) -> NDArray[np.bool_]:
    """Return which entries of an output array depend on which entries of an input array, (outputs, inputs).

    >>> steps = [("input", "x", 0), ("input", "x", 1), ("mul", 0, 0)]
    >>> squares = Program("f", {"x": 2}, steps, {"y": [2, 1]}, [False] * 3)
    >>> find_dependencies(squares, "y", "x").tolist()
    [[True, False], [False, True]]
    """
    size = program.inputs[source]
    needed: list[int] = []  # per step: bit k is set if the step depends on entry k
    for step in program.steps:
        if step[0] == "input":
            needed.append(1 << step[2] if step[1] == source else 0)
        else:
            needed.append(reduce(or_, (needed[k] for k in step_arguments(step)), 0))
    entries = program.outputs[output]
    found = [[bool(needed[k] >> i & 1) for i in range(size)] for k in entries]
    return np.array(found, dtype=np.bool_).reshape(len(entries), size)


def trace_program(
    name: str, inputs: Mapping[str, Sequence[Expr]], outputs: Mapping[str, Sequence[Any]]
) -> Program:
    """Return the program that computes traced expressions from symbols.

    `inputs` contains the symbols of each input array, `outputs` the expressions of each output array, all by
    array name. Each symbol in the expressions must be an entry of an input array.
    """
    leaves: dict[int, Instruction] = {}
    for array, symbols in inputs.items():
        for k, symbol in enumerate(symbols):
            leaves[symbol.index] = ("input", array, k)
    graph = next(s.graph for symbols in inputs.values() for s in symbols)
    flat = {
        key: [x.index if isinstance(x, Expr) else graph.constant(float(x)) for x in values]
        for key, values in outputs.items()
    }
    # Leave out dead code: take only the steps that an output needs.
    order = reachable(graph, [i for entries in flat.values() for i in entries])
    position = {i: k for k, i in enumerate(order)}
    steps: list[Instruction] = []
    fixed: list[bool] = []
    for i in order:
        op = graph.ops[i]
        if op[0] == "symbol":
            if i not in leaves:
                raise ValueError(f"program {name!r}: symbol {op[1]!r} is not among the inputs.")
            steps.append(leaves[i])
            fixed.append(leaves[i][1] == "parameters")
        else:
            steps.append(op if op[0] == "const" else (op[0], *(position[k] for k in op[1:])))
            # Constants have no arguments. As they do not depend on the state, they belong to the
            # prologue.
            fixed.append(all(fixed[k] for k in step_arguments(steps[-1])))
    sizes = {array: len(symbols) for array, symbols in inputs.items()}
    output_steps = {key: [position[i] for i in values] for key, values in flat.items()}
    return Program(name, sizes, steps, output_steps, fixed)


def select_outputs(program: Program, selected: Mapping[str, Sequence[int]]) -> Program:
    """Return the subset of a program that computes only the selected entries of its outputs.

    >>> both = Program("both", {"x": 1}, [("input", "x", 0), ("neg", 0), ("sin", 0)],
    ...     {"y": [1, 2]}, [False, False, False])
    >>> select_outputs(both, {"y": [1]}).steps
    [('input', 'x', 0), ('sin', 0)]
    """
    outputs = {
        name: [program.outputs[name][k] for k in entries] for name, entries in selected.items()
    }
    needed = {k for entries in outputs.values() for k in entries}
    for k in range(len(program.steps) - 1, -1, -1):
        if k in needed:
            needed.update(step_arguments(program.steps[k]))
    position = {k: i for i, k in enumerate(sorted(needed))}
    steps = [
        step if step[0] in ("const", "input") else (step[0], *(position[k] for k in step[1:]))
        for step in (program.steps[k] for k in position)
    ]
    fixed = [program.fixed[k] for k in position]
    output_steps = {name: [position[k] for k in entries] for name, entries in outputs.items()}
    return Program(program.name, program.inputs, steps, output_steps, fixed)


def flatten_arrays(program: Program) -> Program:
    """Return a program with the array convention of machine code: all inputs but the parameters are
    concatenated to one array `x`, all outputs to one array `out`.
    """
    start = 0
    starts = dict[str, int]()
    for array, size in program.inputs.items():
        if array != "parameters":
            starts[array] = start
            start += size
    steps = [
        ("input", "x", starts[s[1]] + s[2]) if s[0] == "input" and s[1] in starts else s
        for s in program.steps
    ]
    inputs = {"x": start} | {k: n for k, n in program.inputs.items() if k == "parameters"}
    outputs = {"out": [k for entries in program.outputs.values() for k in entries]}
    return Program(program.name, inputs, steps, outputs, program.fixed)


def run_program(program: Program, **inputs: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Evaluate a program step by step with NumPy; this is the reference for all targets.

    Parameters
    ----------
    program
        Program to evaluate.
    inputs
        Input arrays by name, with `parameters` among them. They may have further axes after the first.

    Returns
    -------
    dict of arrays
        Output arrays by name.
    """
    values: list[Any] = []
    for step in program.steps:
        if step[0] == "const":
            values.append(np.float64(step[1]))
        elif step[0] == "input":
            values.append(np.asarray(inputs[step[1]], dtype=float)[step[2]])
        else:
            values.append(NUMPY_FUNCTIONS[step[0]](*[values[k] for k in step[1:]]))
    return {
        key: np.array(np.broadcast_arrays(*[values[k] for k in entries]))
        if entries
        else np.zeros(0)
        for key, entries in program.outputs.items()
    }


class Callback:
    """A Python function with the interface of a program: it maps concatenated inputs to concatenated
    outputs.

    An exception must not pass through machine code. The first one is kept in `error`, and the outputs
    become NaN, so that the integrator rejects the step or stops the run.
    """

    def __init__(self, function: Callable[[Floats], Floats], size_in: int, size_out: int) -> None:
        self.error: BaseException | None = None

        def call_python(x: int, _table: int, out: int, _count: int) -> None:
            """Evaluate the Python function on the arrays at the addresses `x` and `out`."""
            result = _view_doubles(out, size_out)
            try:
                result[:] = function(_view_doubles(x, size_in).copy())
            except BaseException as error:
                result[:] = np.nan
                self.error = self.error or error

        self._code = native_signature()(call_python)
        self.address = int(ctypes.cast(self._code, ctypes.c_void_p).value or 0)


def _view_doubles(address: int, size: int) -> Floats:
    """Return the `size` doubles at a memory address as an array."""
    return np.ctypeslib.as_array((ctypes.c_double * size).from_address(address))


@cache
def native_signature() -> Any:
    """Return the C function type of a compiled program, with the arguments (x, table, out, count): three
    addresses of doubles, and a number of states.
    """
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
