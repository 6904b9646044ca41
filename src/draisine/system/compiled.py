"""Programs as machine code, bound to one set of parameters."""

import ctypes
import threading
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.program import prototype
from draisine.codegen.targets.native import Native
from draisine.system.layout import inputs_of, outputs_of


class _Buffers(threading.local):
    """Arrays that a thread lends to machine code, and where they are."""

    def __init__(self, size_in: int, table: Floats, size_out: int) -> None:
        self.x: Floats = np.zeros(size_in)
        self.out: Floats = np.zeros(size_out)
        arrays = (self.x, table, self.out)
        self.where = (*(ctypes.c_void_p(a.ctypes.data) for a in arrays), ctypes.c_int64(1))


class Compiled:
    """One program as machine code, bound to one set of parameters; call it with its inputs, get its
    outputs by name.
    """

    def __init__(self, native: Native, parameters: Floats) -> None:
        self.native, self.program = native, native.program
        self.inputs, self.outputs = inputs_of(self.program), outputs_of(self.program)
        self._parameters = parameters

    def rebind(self, parameters: Floats) -> "Compiled":
        """Return the same code bound to other parameters: nothing is loaded."""
        other = object.__new__(Compiled)
        other.__dict__.update(self.__dict__, _parameters=parameters)
        for own in ("table", "_own"):
            other.__dict__.pop(own, None)
        return other

    @cached_property
    def table(self) -> Floats:
        """What the prologue leaves for the parameters."""
        found: Floats = np.zeros(self.native.size_table)
        where = found.ctypes.data
        prototype()(self.native.prologue)(self._parameters.ctypes.data, where, where, 1)
        return found

    @cached_property
    def _own(self) -> _Buffers:
        return _Buffers(self.native.size_in, self.table, self.native.size_out)

    def flat(self, x: Floats) -> Floats:
        """Return all outputs one after the other, for all inputs one after the other: the fast way
        from Python.
        """
        own = self._own
        own.x[:] = x
        self._call(*own.where)
        return own.out.copy()

    def __call__(self, **inputs: Any) -> dict[str, Floats]:
        """Return the outputs by name."""
        return self.outputs.split(self.flat(self.inputs.pack(**inputs)))

    @cached_property
    def _call(self) -> Any:
        return prototype()(self.native.call)

    @property
    def address(self) -> int:
        """Where the code for one state is: `void f(x, table, out, 1)`."""
        return self.native.call

    @property
    def wide_address(self) -> int:
        """Where the code for many states side by side is; their count is a multiple of `lanes`."""
        return self.native.batch

    @property
    def single_address(self) -> int:
        """Where the code in single precision is; the count is a multiple of twice the lanes."""
        return self.native.single_batch

    @property
    def lanes(self) -> int:
        """How many states one register holds."""
        return self.native.lanes

    def tables(self, parameters: Floats) -> Floats:
        """Return what the prologue leaves for many sets of parameters, one per column."""
        self.native.batch  # noqa: B018 - many sets are for lanes, whose piece has the prologue, too
        out: Floats = np.empty((parameters.shape[1], self.native.size_table))
        rows = np.ascontiguousarray(parameters.T, dtype=float)
        fresh = (
            np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
        )  # neighbours are often alike
        source, target, call = rows.ctypes.data, out.ctypes.data, prototype()(self.native.prologue)
        wide, long = rows.strides[0], out.strides[0]
        for k in (0, *fresh.tolist()):
            call(source + k * wide, target + k * long, target + k * long, 1)
        if len(fresh) + 1 < len(rows):
            starts = np.zeros(len(rows), dtype=int)
            starts[fresh] = fresh
            out = out[np.maximum.accumulate(starts)]
        return out.T

    def batch(self, x: Floats, table: Floats | None = None) -> dict[str, Floats]:
        """Return the outputs for many inputs: x has one column per state, SIMD lanes take several
        at once; `table` may hold one column of the prologue's results per state.
        """
        count, call = x.shape[1], prototype()(self.native.batch)
        padded = -(-count // self.native.lanes) * self.native.lanes
        wide = pad_columns(x, padded)
        table = pad_columns(self.table[:, None] if table is None else table, padded)
        out: Floats = np.empty((self.native.size_out, padded))
        call(wide.ctypes.data, table.ctypes.data, out.ctypes.data, padded)
        return self.outputs.split(out[:, :count])

    def batches(self, x: Floats, table: Floats) -> Floats:
        """Return the outputs (time, outputs, columns) for inputs (time, inputs, columns) of machines
        whose tables stand in as many columns, a multiple of `lanes`.
        """
        x, table = np.ascontiguousarray(x), np.ascontiguousarray(table)
        out: Floats = np.empty((len(x), self.native.size_out, x.shape[2]))
        call, source, target = prototype()(self.native.batch), x.ctypes.data, out.ctypes.data
        columns, where = x.shape[2], table.ctypes.data
        for k in range(len(x)):
            call(source + k * x.strides[0], where, target + k * out.strides[0], columns)
        return out


def pad_columns(columns: Floats, count: int) -> Floats:
    """Return an array with so many columns, the last one repeated."""
    out: Floats = np.empty((len(columns), count))
    out[:, : columns.shape[1]] = columns
    out[:, columns.shape[1] :] = columns[:, -1:]
    return out
