"""Routines as machine code: functions to call from Python, and records as they are given."""

import ctypes
import struct
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from draisine.codegen import routine as front
from draisine.codegen import subset, vectors
from draisine.codegen.cache import Store
from draisine.codegen.routine import ADDRESS, DOUBLES, FLOAT, INT, INTEGERS, Kind, Routine, fields
from draisine.codegen.targets import _llvm_routine
from draisine.codegen.targets._llvm import MachineCode, load, source
from draisine.codegen.targets._llvm_routine import KnownFields, symbol, type_of, write

_C: dict[str, Any] = {
    "i64": ctypes.c_int64, "double": ctypes.c_double, "ptr": ctypes.c_void_p, "void": None,
}  # fmt: skip
_addressof, _from_buffer = ctypes.addressof, ctypes.c_char.from_buffer
_ENTRIES: dict[Kind, Any] = {DOUBLES: np.dtype(np.float64), INTEGERS: np.dtype(np.int64)}


class Packed:
    """A record as machine code reads it: one slot of eight bytes per field; it keeps its arrays
    alive. Records inside it may be packed already; `others` are kept as long as it is.
    """

    def __init__(self, record: Any) -> None:
        owner: type = type(record)
        self.others: dict[Any, Packed] = {}
        self._bytes = bytearray(_slots(owner)[1].size)
        self._first = _from_buffer(self._bytes)
        self.address: int = _addressof(self._first)
        self._as_parameter_ = self.address
        self._fill(record)

    def _fill(self, record: Any) -> None:
        owner: type = type(record)
        self.record, (places, slots) = record, _slots(owner)
        self._inner: list[Packed] = []
        values = list(record)
        for k, kind in places:
            if kind in _ENTRIES:
                values[k] = _where(values[k], kind)
            else:
                self._inner.append(
                    values[k] if isinstance(values[k], Packed) else Packed(values[k])
                )
                values[k] = self._inner[-1].address
        slots.pack_into(self._bytes, 0, *values)

    def replace(self, **changes: Any) -> None:
        """Put other things into fields of the record; it stays where it is for records around it."""
        self._fill(self.record._replace(**changes))


def make_record(record: type, **given: Any) -> Any:
    """Return a record with arrays of zeros where sizes are given in the place of arrays; records inside
    it may be packed already.
    """
    made = {}
    for name, kind in fields(record).items():
        is_size = kind in _ENTRIES and isinstance(given[name], int)
        made[name] = np.zeros(given[name], _ENTRIES[kind]) if is_size else given[name]
    return record(**made)


class _Rooms(threading.local):
    """What a thread keeps to work in."""

    def __init__(self) -> None:
        self.kept: dict[Any, Packed] = {}


_rooms = _Rooms()

ROOMS = 16
"""How much of it is kept: the latest that was made."""


def room(make: Callable[..., Any], *sizes: int) -> Packed:
    """Return a record of a kind and of sizes, packed, that is this thread's own: made once, and left as
    its last user left it.
    """
    kept, wanted = _rooms.kept, (make, *sizes)
    if wanted not in kept:
        if len(kept) >= ROOMS:
            del kept[next(iter(kept))]
        kept[wanted] = Packed(make(*sizes))
    return kept[wanted]


@cache
def _slots(record: type) -> tuple[list[tuple[int, Kind]], struct.Struct]:
    """Return which fields of a record are no plain numbers, their kinds, and how all stand in memory."""
    kinds = fields(record).values()
    form = "".join("d" if kind == FLOAT else "q" for kind in kinds)
    plain = (INT, FLOAT, ADDRESS)
    places = [(k, kind) for k, kind in enumerate(kinds) if kind not in plain]
    return places, struct.Struct("=" + form)


def _where(array: Any, kind: Kind) -> int:
    """Return where the numbers of an array are; a view as ctypes is five times as quick as NumPy's
    own word, but there is none of arrays that are empty or must not be written.
    """
    if array.dtype != _ENTRIES[kind] or not array.flags.c_contiguous:
        raise TypeError(f"machine code reads contiguous arrays of {kind}.")
    try:
        return _addressof(_from_buffer(array))
    except (TypeError, ValueError):
        return int(array.ctypes.data)


class NativeRoutine:
    """A routine as machine code, called like the routine itself; records are given `Packed`."""

    def __init__(self, routine: Routine, code: MachineCode) -> None:
        self.routine = routine
        self._code = code  # it stays in memory as long as the routine
        self.address = code.addresses[symbol(routine)]
        self._kinds = list(routine.parameters.values())
        types = [_C[type_of(kind)] for kind in self._kinds]
        self._call = ctypes.CFUNCTYPE(_C[type_of(routine.returns)], *types)(self.address)

    def __call__(self, *arguments: Any) -> Any:
        """Return what the routine returns."""
        given = zip(arguments, self._kinds, strict=True)
        return self._call(*[_where(x, kind) if kind in _ENTRIES else x for x, kind in given])


def compile_routines(
    *routines: Routine,
    width: int = 1,
    passes: str = "all",
    known: KnownFields = (),
    store: Store | None = None,
) -> list[NativeRoutine]:
    """Return routines as machine code, together in one piece, after some of LLVM's PASSES or all, for
    records in which some fields are `known`; from the store where it has it.
    """
    task = (
        source([front.__file__, subset.__file__, vectors.__file__, _llvm_routine.__file__]),
        width,
        [(record.__qualname__, field, number) for record, field, number in known],
        tuple(one.text for one in routines),
    )
    names = [symbol(one) for one in routines]
    code = load(task, lambda: write(routines, width, known), names, store, passes)
    return [NativeRoutine(one, code) for one in routines]
