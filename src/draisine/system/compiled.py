"""Programs as machine code, bound to one set of parameters.

A program consists of a prologue, which depends on the parameters only and is run once per set of parameters,
and of the code for one state, which reads the results of the prologue from a table.
"""

import ctypes
import threading
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.program import native_signature
from draisine.codegen.routine.record import address_of_array
from draisine.codegen.targets.native import Native
from draisine.system.layout import input_layout, output_layout


class _Buffers(threading.local):
    """Input and output arrays of one thread, and the arguments of a native call that uses them."""

    def __init__(self, size_in: int, table: Floats, size_out: int) -> None:
        self.x: Floats = np.zeros(size_in)
        self.out: Floats = np.zeros(size_out)
        arrays = (self.x, table, self.out)
        self.arguments = (*(ctypes.c_void_p(a.ctypes.data) for a in arrays), ctypes.c_int64(1))


class Compiled:
    """One program as machine code, bound to one set of parameters. A call maps inputs by name to outputs by
    name.
    """

    def __init__(self, native: Native, parameters: Floats) -> None:
        self.native = native
        self.program = native.program
        self.inputs = input_layout(self.program)
        self.outputs = output_layout(self.program)
        self._parameters = parameters

    def rebind(self, parameters: Floats) -> "Compiled":
        """Return the same machine code bound to other parameters, without loading it again."""
        other = object.__new__(Compiled)
        other.__dict__.update(self.__dict__, _parameters=parameters)
        for cached in ("table", "_thread_buffers"):
            other.__dict__.pop(cached, None)
        return other

    @cached_property
    def table(self) -> Floats:
        """The prologue results for the bound parameters: intermediate results of the program that
        depend on parameters only.
        """
        table: Floats = np.zeros(self.native.size_table)
        parameters = address_of_array(self._parameters, np.float64)
        address = address_of_array(table, np.float64)
        native_signature()(self.native.prologue)(parameters, address, address, 1)
        return table

    @cached_property
    def _thread_buffers(self) -> _Buffers:
        """Input and output arrays of each thread."""
        return _Buffers(self.native.size_in, self.table, self.native.size_out)

    def flat(self, inputs: Floats) -> Floats:
        """Return all outputs as one flat array for all inputs as one flat array: the fastest call from
        Python.
        """
        buffers = self._thread_buffers
        buffers.x[:] = inputs
        self._native_call(*buffers.arguments)
        return buffers.out.copy()

    def __call__(self, **inputs: Any) -> dict[str, Floats]:
        """Return the outputs by name for inputs by name; inputs that are not given are zero."""
        return self.outputs.split(self.flat(self.inputs.pack(**inputs)))

    @cached_property
    def _native_call(self) -> Any:
        """The C function of the program, which takes addresses of arrays."""
        return native_signature()(self.native.call)

    @property
    def address(self) -> int:
        """The memory address of the code for one state, `void f(x, table, out, 1)`."""
        return self.native.call

    @property
    def wide_address(self) -> int:
        """The memory address of the code that evaluates many states in SIMD lanes, `void f(x, table, out,
        count)`; count is a multiple of `lanes`.
        """
        return self.native.batch

    @property
    def single_address(self) -> int:
        """The memory address of the code that evaluates many states in single precision, `void f(x, table,
        out, count)`; count is a multiple of `2 * lanes`.
        """
        return self.native.single_batch

    @property
    def lanes(self) -> int:
        """The number of states that SIMD code evaluates at once."""
        return self.native.lanes

    def tables(self, parameters: Floats) -> Floats:
        """Return the prologue results (entries, sets), which depend on parameters only, for sets of
        parameters (parameters, sets).
        """
        self.native.batch  # noqa: B018 - loads the SIMD code, which contains the prologue
        out: Floats = np.empty((parameters.shape[1], self.native.size_table))
        rows = np.ascontiguousarray(parameters.T, dtype=float)
        # Neighbouring sets of parameters are often equal. Evaluate the prologue only for sets that
        # differ from the previous one.
        fresh = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
        call = native_signature()(self.native.prologue)
        for k in (0, *fresh.tolist()):
            source = rows.ctypes.data + k * rows.strides[0]
            target = out.ctypes.data + k * out.strides[0]
            call(source, target, target, 1)
        if len(fresh) + 1 < len(rows):
            starts = np.zeros(len(rows), dtype=int)
            starts[fresh] = fresh
            out = out[np.maximum.accumulate(starts)]
        return out.T

    def batch(self, inputs: Floats, prologue_results: Floats | None = None) -> dict[str, Floats]:
        """Return the outputs by name, (entries, states), for inputs (entries, states).

        SIMD lanes evaluate several states at once. `table` may contain one column of the prologue's results
        per state; by default all states have the parameters of this object.
        """
        count = inputs.shape[1]
        call = native_signature()(self.native.batch)
        padded = -(-count // self.native.lanes) * self.native.lanes
        wide = pad_columns(inputs, padded)
        prologue_results = pad_columns(
            self.table[:, None] if prologue_results is None else prologue_results, padded
        )
        out: Floats = np.empty((self.native.size_out, padded))
        call(wide.ctypes.data, prologue_results.ctypes.data, out.ctypes.data, padded)
        return self.outputs.split(out[:, :count])

    def batches(self, inputs: Floats, prologue_results: Floats) -> Floats:
        """Return outputs (times, outputs, N) for inputs (times, inputs, N) of N vehicles and their prologue
        results `table` (entries, N); N is a multiple of `lanes`.
        """
        inputs = np.ascontiguousarray(inputs)
        prologue_results = np.ascontiguousarray(prologue_results)
        out: Floats = np.empty((len(inputs), self.native.size_out, inputs.shape[2]))
        call = native_signature()(self.native.batch)
        for k in range(len(inputs)):
            source = inputs.ctypes.data + k * inputs.strides[0]
            target = out.ctypes.data + k * out.strides[0]
            call(source, prologue_results.ctypes.data, target, inputs.shape[2])
        return out


def pad_columns(columns: Floats, count: int) -> Floats:
    """Return an array with `count` columns, in which the last column of `columns` is repeated."""
    out: Floats = np.empty((len(columns), count))
    out[:, : columns.shape[1]] = columns
    out[:, columns.shape[1] :] = columns[:, -1:]
    return out
