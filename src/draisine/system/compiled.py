"""Programs as machine code: derived when first asked for, bound to one set of parameters."""

import ctypes
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.cache import Store
from draisine.codegen.program import Program, prototype
from draisine.codegen.targets.native import Native, compile_native
from draisine.system.derivation import Derivation, Pivoting
from draisine.system.layout import inputs_of, outputs_of
from draisine.system.mode_programs import PROGRAMS


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

    def __init__(self, program: Program, parameters: Floats, store: Store | None) -> None:
        self.program = program
        self.native: Native = compile_native(program, store)
        self.table: Floats = np.zeros(self.native.size_table)
        self.inputs, self.outputs = inputs_of(program), outputs_of(program)
        table = self.table.ctypes.data
        prototype()(self.native.prologue)(parameters.ctypes.data, table, table, 1)
        self._call = prototype()(self.native.call)
        self._own = _Buffers(self.native.size_in, self.table, self.native.size_out)

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

    @property
    def address(self) -> int:
        """Where the code for one state is: `void f(x, table, out, 1)`."""
        return self.native.call

    @property
    def wide_address(self) -> int:
        """Where the code for many states side by side is; their count is a multiple of `lanes`."""
        return self.native.batch

    @property
    def lanes(self) -> int:
        """How many states one register holds."""
        return self.native.lanes

    def tables(self, parameters: Floats) -> Floats:
        """Return what the prologue leaves for many sets of parameters, one per column."""
        out: Floats = np.empty((parameters.shape[1], self.native.size_table))
        rows = np.ascontiguousarray(parameters.T, dtype=float)
        prologue = prototype()(self.native.prologue)
        for row, table in zip(rows, out, strict=True):
            prologue(row.ctypes.data, table.ctypes.data, table.ctypes.data, 1)
        return out.T

    def batch(self, x: Floats, table: Floats | None = None) -> dict[str, Floats]:
        """Return the outputs for many inputs: x has one column per state, SIMD lanes take several
        at once; `table` may hold one column of the prologue's results per state.
        """
        count = x.shape[1]
        padded = -(-count // self.native.lanes) * self.native.lanes
        wide = np.ascontiguousarray(np.pad(x, ((0, 0), (0, padded - count)), mode="edge"))
        if table is None:
            table = np.repeat(self.table[:, None], padded, axis=1)
        table = np.ascontiguousarray(
            np.pad(table, ((0, 0), (0, padded - table.shape[1])), mode="edge")
        )
        out: Floats = np.empty((self.native.size_out, padded))
        prototype()(self.native.batch)(wide.ctypes.data, table.ctypes.data, out.ctypes.data, padded)
        return self.outputs.split(out[:, :count])


class ModePrograms(Mapping[str, Program]):
    """The programs of one mode by name, each derived when it is first asked for, by itself, so that
    it is the same to the last bit whatever was asked for before, and kept in the store; `choice`
    tells independent speeds and pivots.
    """

    def __init__(
        self,
        derivation: Callable[[], Derivation],
        nominal: Mapping[str, float],
        store: Store | None,
        key: str,
    ) -> None:
        self._make, self._store, self._key = derivation, store, key
        self.nominal = nominal
        self._programs: dict[str, Program] = {}

    @cached_property
    def choice(self) -> Pivoting:
        """Independent speeds and pivots."""
        stored = None if self._store is None else self._store.get(f"{self._key}-choice")
        if stored is not None:
            independent, pivots, sizes, names, spare = json.loads(stored)
            return Pivoting(independent, [(i, j) for i, j in pivots], sizes, names, spare)
        choice = self._make().choice
        if self._store is not None:
            packed = astuple(choice)
            self._store.put(f"{self._key}-choice", json.dumps(packed).encode())
        return choice

    def __getitem__(self, name: str) -> Program:
        if name not in self._programs:
            stored = None if self._store is None else self._store.get(f"{self._key}-{name}")
            if stored is not None:
                p = json.loads(stored)
                steps = [tuple(step) for step in p[2]]
                self._programs[name] = Program(p[0], p[1], steps, p[3], p[4])
            else:
                p = PROGRAMS[name](self._make())
                self._programs[name] = p
                if self._store is not None:
                    packed = json.dumps([p.name, p.inputs, p.steps, p.outputs, p.fixed])
                    self._store.put(f"{self._key}-{name}", packed.encode())
        return self._programs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PROGRAMS)

    def __len__(self) -> int:
        return len(PROGRAMS)
