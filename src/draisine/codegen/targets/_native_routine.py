"""Compiled routines as Python callables, which run machine code or the Python functions themselves.

If the environment variable DRAISINE_INTERPRET is 1, every routine runs as plain Python on the same records,
so that debuggers, coverage and mutation testing work. Programs stay machine code.
"""

import ctypes
import os
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from draisine.codegen import routine as front
from draisine.codegen.cache import Store
from draisine.codegen.routine import (
    BOOL,
    FLOAT,
    INT,
    Kind,
    Packed,
    Routine,
    fixed,
    function,
    is_enum,
    is_fixed,
    is_flat,
    is_matrix,
    is_record,
    is_sequence,
    kinds,
    make_record,
    record,
    subset,
    syntax,
    vectors,
)
from draisine.codegen.routine.kinds import DTYPES
from draisine.codegen.routine.record import ValueEncoder, address_of_array, encoder_for, pack
from draisine.codegen.targets import _llvm_routine
from draisine.codegen.targets._llvm import MachineCode, digest_sources, load_machine_code
from draisine.codegen.targets._llvm_routine import (
    KnownFields,
    has_results,
    llvm_symbol,
    llvm_type,
    result_kinds,
    write_llvm,
)

__all__ = [
    "NativeRoutine",
    "Packed",
    "compile_routines",
    "is_interpreted",
    "make_record",
    "workspace",
]

_C_TYPES: dict[str, Any] = {
    "i64": ctypes.c_int64, "double": ctypes.c_double, "ptr": ctypes.c_void_p, "void": None,
    "i1": ctypes.c_bool,
}  # fmt: skip
_COMPILER_MODULES = (front, fixed, function, kinds, record, subset, syntax, vectors, _llvm_routine)
"""Modules of the compiler of routines; their digest is part of the cache key."""


def is_interpreted() -> bool:
    """Return whether routines run as plain Python."""
    return os.environ.get("DRAISINE_INTERPRET") == "1"


class _Workspaces(threading.local):
    """Scratch records of the current thread: `kept`, by constructor and sizes."""

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}


_workspaces = _Workspaces()

MAX_WORKSPACES = 16
"""Largest number of scratch records that a thread keeps; the oldest one is dropped."""


def workspace(make: Callable[..., Any], *sizes: int) -> Any:
    """Return the scratch record `make(*sizes)` of this thread, packed if it is a named tuple.

    The record is created at the first call. Later calls return the same record, with the values that its
    last user left in it.
    """
    records = _workspaces.kept
    key = (make, *sizes)
    if key not in records:
        if len(records) >= MAX_WORKSPACES:
            del records[next(iter(records))]
        records[key] = pack(make(*sizes))
    return records[key]


def entry_symbol(routine: Routine) -> str:
    """Return the LLVM symbol of the function that Python calls: the routine itself, or, if it has several
    results, the function that stores these in memory.
    """
    return llvm_symbol(routine) + (".results" if has_results(routine.returns) else "")


class NativeRoutine:
    """A compiled routine, called like the routine itself; named tuples are passed as `Packed`."""

    def __init__(self, routine: Routine, code: MachineCode) -> None:
        self.routine = routine
        self._code = code  # keeps the machine code in memory
        kinds = list(routine.parameters.values())
        self._several = has_results(routine.returns)
        self.address: int = code.addresses[entry_symbol(routine)]
        types = [c_type for kind in kinds for c_type in _argument_c_types(kind)]
        returns = None if self._several else _C_TYPES[llvm_type(routine.returns)]
        if self._several:
            self._results = _Results(routine.returns)
            types.append(ctypes.c_void_p)
        self._call = ctypes.CFUNCTYPE(returns, *types)(self.address)
        self._enum = routine.returns if is_enum(routine.returns) else None
        # Routines that are called often have plain numbers and arrays as arguments. Their calls
        # skip the encoders.
        wide = any(is_matrix(kind) or is_fixed(kind) or is_sequence(kind) for kind in kinds)
        self._is_plain = not wide and not self._several and self._enum is None
        self._encoders = [_argument_encoder(kind) for kind in kinds]
        self._dtypes = [DTYPES[kind.element] if is_flat(kind) else None for kind in kinds]

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code and return its result."""
        if not self._is_plain:
            return self._call_encoded(arguments)
        pairs = zip(arguments, self._dtypes, strict=True)
        return self._call(
            *[x if dtype is None else address_of_array(x, dtype) for x, dtype in pairs]
        )

    def _call_encoded(self, arguments: tuple[Any, ...]) -> Any:
        """Return the result of a call whose arguments or results occupy several C arguments."""
        encoded: list[Any] = []
        references: list[Any] = []  # objects that must stay alive during the call
        for x, encode in zip(arguments, self._encoders, strict=True):
            encoded += encode(x, references)
        if self._several:
            return self._results.read_results(lambda address: self._call(*encoded, address))
        result = self._call(*encoded)
        return result if self._enum is None else self._enum(result)


def _argument_c_types(kind: Kind) -> list[Any]:
    """Return the C types of an argument."""
    if is_matrix(kind):
        return [ctypes.c_void_p, ctypes.c_int64]
    return [ctypes.c_double] * kind.size if is_fixed(kind) else [_C_TYPES[llvm_type(kind)]]


def _argument_encoder(kind: Kind) -> ValueEncoder:
    """Return the encoder of an argument: a matrix becomes two C arguments, a vector one per entry."""
    if is_record(kind):
        return lambda value, _: (value,)
    if is_flat(kind):
        dtype = DTYPES[kind.element]
        return lambda value, _: (address_of_array(value, dtype),)
    return encoder_for(kind)


class _Results:
    """Layout of the memory to which machine code writes the several results of a routine."""

    def __init__(self, kind: Kind) -> None:
        self._kinds = result_kinds(kind)
        self._several = isinstance(kind, tuple)
        slots = [kind.size if is_fixed(kind) else 1 for kind in self._kinds]
        letters = ("d" if k == FLOAT or is_fixed(k) else "q" for k in self._kinds)
        form = "".join(letter * n for letter, n in zip(letters, slots, strict=True))
        self._form = struct.Struct("=" + form)
        self._slots = slots

    def read_results(self, call_with_address: Callable[[int], None]) -> Any:
        """Allocate the memory, pass its address to `call_with_address`, and return the results that it
        then contains.
        """
        memory = bytearray(self._form.size)
        call_with_address(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
        entries = iter(self._form.unpack(memory))
        results = []
        for kind, slots in zip(self._kinds, self._slots, strict=True):
            results.append(_as_python_value(kind, *(next(entries) for _ in range(slots))))
        return tuple(results) if self._several else results[0]


def _as_python_value(kind: Kind, *slots: Any) -> Any:
    """Return a result as a Python value, from the contents of its slots."""
    if is_enum(kind) or is_fixed(kind):
        return kind(*slots)
    return bool(slots[0]) if kind == BOOL else slots[0]


class InterpretedRoutine(NativeRoutine):
    """A routine that runs as plain Python, with the interface of machine code."""

    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self._kinds = list(routine.parameters.values())

    def __call__(self, *arguments: Any) -> Any:
        """Run the Python function and return its result."""
        converted = map(_as_argument, arguments, self._kinds)
        with np.errstate(
            all="ignore"
        ):  # like machine code, which knows inf and nan without warnings
            result = self.routine.function(*converted)
        kind = self.routine.returns
        if not isinstance(kind, tuple):
            return _as_result(result, kind)
        return tuple(map(_as_result, result, kind))


def _as_argument(value: Any, kind: Kind) -> Any:
    """Return an argument converted to the type that the routine declares."""
    if kind == FLOAT:  # NumPy's doubles divide by zero as machine code does
        return np.float64(value)
    if is_flat(kind):
        return value.reshape(-1)  # machine code has no shape of an array either
    return kind(value) if is_enum(kind) else bool(value) if kind == BOOL else value


def _as_result(value: Any, kind: Kind) -> Any:
    """Return a result converted to the type that the routine declares."""
    types: dict[Any, Any] = {FLOAT: float, INT: int, BOOL: bool}
    return types[kind](value) if isinstance(kind, str) and kind in types else value


def compile_routines(
    *routines: Routine,
    width: int = 1,
    passes: str = "all",
    known: KnownFields = (),
    store: Store | None = None,
) -> list[NativeRoutine]:
    """Compile routines to functions that Python calls.

    Parameters
    ----------
    routines
        Routines to compile together into one piece of machine code.
    width
        Number of SIMD lanes of `each` loops.
    passes
        LLVM's optimisations: a key of PASSES, or "all".
    known
        Fields of records that are compiled as integer constants: (record, field, integer).
    store
        Store that caches machine code; None: no cache.

    Returns
    -------
    list of NativeRoutine
        The compiled routines, in the order of `routines`.
    """
    if is_interpreted():
        return [InterpretedRoutine(routine) for routine in routines]
    task = (
        digest_sources([str(module.__file__) for module in _COMPILER_MODULES]),
        width,
        [(record.__qualname__, field, number) for record, field, number in known],
        tuple(routine.digest_text for routine in routines),
    )
    names = [entry_symbol(routine) for routine in routines]
    code = load_machine_code(task, lambda: write_llvm(routines, width, known), names, store, passes)
    return [NativeRoutine(routine, code) for routine in routines]
