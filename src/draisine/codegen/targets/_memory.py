"""Records of routines and their arrays as data in C and JavaScript: the initial memory of an exported
routine.

`Memory` visits a record and everything that it refers to. Numbers become entries of an object of the target
language, arrays become parts of one array per element type, the address of a program becomes its index in the
array `programs`. Arrays that share memory do so in the target as well.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draisine.codegen.routine import (
    ADDRESS,
    BOOL,
    FLOAT,
    INT,
    ArrayKind,
    Kind,
    fields,
    is_enum,
    is_fixed,
    is_matrix,
    is_record,
    name_of,
)
from draisine.codegen.routine.record import Packed
from draisine.codegen.targets import c, javascript

ELEMENTS = {FLOAT: "doubles", INT: "integers", BOOL: "flags"}
"""Names of the exported arrays, by element type; each array contains all elements of its type."""

C_ELEMENTS = {FLOAT: "double", INT: "int64_t", BOOL: "_Bool"}
JS_ELEMENTS = {FLOAT: "Float64Array", INT: "Int32Array", BOOL: "Uint8Array"}
"""Types of the arrays in ELEMENTS, in C and in JavaScript, by element type."""

MAX_JS_INTEGER = 2**31
"""Exclusive upper bound of the integers in JavaScript's Int32Array."""

NUMBERS_PER_LINE = 8
"""Numbers in one line of the exported text."""


@dataclass(eq=False)
class _Block:
    """A range of addresses that contains one array, or several that share memory, and its contents."""

    element: str  # type of the elements, a key of ELEMENTS
    low: int  # address of the first byte
    high: int  # address after the last byte
    values: Any  # copy of the elements
    is_shared: bool  # whether all vehicles use the same constant copy
    number: int  # index of its first array; blocks are written in this order, not by address
    # Index of the first element in the exported array of its type; for an array that shares memory,
    # the number of its block
    offset: int = 0


@dataclass
class Memory:
    """All records and arrays to which a record refers, directly or indirectly. A record comes after the
    records to which it refers, so that exported code can create them in this order.

    Parameters
    ----------
    programs
        Index of each program by its address.
    program_fields
        Names of array fields that contain addresses of programs. An address is replaced by the program's
        index; other integers in these arrays are kept, because they are smaller than any address.
    shared
        Classes of records whose arrays never change. They are exported once, as constants that all
        vehicles share.
    """

    programs: Mapping[int, int]
    program_fields: frozenset[str]
    shared: tuple[type, ...] = ()
    records: list[tuple[type, dict[str, Any]]] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)  # indices of records, by identity
    _kept: list[Any] = field(default_factory=list)  # keeps identities unique
    _arrays: list[tuple[Any, str, bool, bool]] = field(default_factory=list)
    _blocks: list[_Block] = field(default_factory=list)

    def add(self, value: Any) -> int:
        """Add a record and everything that it refers to; return its index."""
        record = value.record if isinstance(value, Packed) else value
        if id(record) not in self._numbers:
            self._kept.append(record)
            kind: type = type(record)
            entries = {
                name: self._export_field(kind, name, field_kind, getattr(record, name))
                for name, field_kind in fields(kind).items()
            }
            self._numbers[id(record)] = len(self.records)
            self.records.append((kind, entries))
        return self._numbers[id(record)]

    def _export_field(self, owner: type, name: str, kind: Kind, value: Any) -> Any:
        """Return the exported value of a field: a number, a vector as a tuple, or a reference by index to a
        record, an array or a program.
        """
        if is_record(kind):
            return _Reference(self.add(value))
        if isinstance(kind, ArrayKind):
            if kind.element not in ELEMENTS:
                raise TypeError(f"{owner.__name__}.{name}: {name_of(kind)} cannot be exported.")
            array = np.asarray(value)
            if not array.flags.c_contiguous:
                raise TypeError(f"{owner.__name__}.{name}: the array is not contiguous.")
            is_program = name in self.program_fields
            self._arrays.append((array, kind.element, is_program, owner in self.shared))
            stride = array.shape[1] if is_matrix(kind) else None
            return _View(len(self._arrays) - 1, array.size, stride)
        if kind == ADDRESS:
            return _ProgramIndex(self.programs[int(value)])
        if is_fixed(kind):
            return tuple(map(float, value))
        if is_enum(kind) or kind == INT:
            return int(value)
        return bool(value) if kind == BOOL else float(value)

    # --- arrays

    def place(self) -> None:
        """Merge arrays that share memory into blocks, copy their elements, and assign each block its offset
        in the exported array of its type.
        """
        order = sorted(range(len(self._arrays)), key=lambda k: self._address_range(k)[0])
        for k in order:
            low, high = self._address_range(k)
            _, element, _, is_shared = self._arrays[k]
            last = self._blocks[-1] if self._blocks else None
            if last is not None and last.element == element and low < last.high:
                last.high = max(last.high, high)
                last.is_shared = last.is_shared and is_shared
                last.number = min(last.number, k)
            elif high > low:
                self._blocks.append(_Block(element, low, high, None, is_shared, k))
        for k in order:
            self._copy_elements(k)
        sizes = dict.fromkeys(ELEMENTS, 0)
        shared = 0
        for block in self.blocks:
            if block.is_shared:
                block.offset = shared
                shared += 1
            else:
                block.offset = sizes[block.element]
                sizes[block.element] += len(block.values)
        self.sizes = sizes

    def _address_range(self, array_index: int) -> tuple[int, int]:
        """Return the addresses of the first byte of an array and after its last byte."""
        array = self._arrays[array_index][0]
        return array.ctypes.data, array.ctypes.data + array.nbytes

    def _block_of_array(self, array_index: int) -> _Block | None:
        """Return the block that contains the array with this index, or None for an empty array."""
        low, high = self._address_range(array_index)
        if low == high:
            return None
        places = [block.low for block in self._blocks]
        return self._blocks[int(np.searchsorted(places, low, side="right")) - 1]

    def _copy_elements(self, array_index: int) -> None:
        """Copy the elements of an array into its block; addresses of programs become indices."""
        block = self._block_of_array(array_index)
        if block is None:
            return
        array, _, is_program, _ = self._arrays[array_index]
        if block.values is None:
            block.values = np.zeros((block.high - block.low) // array.itemsize, array.dtype)
        first = (self._address_range(array_index)[0] - block.low) // array.itemsize
        values = array.ravel()
        if is_program:
            values = np.array([self.programs.get(x, x) for x in values.tolist()], array.dtype)
        block.values[first : first + len(values)] = values

    def _locate_view(self, view: "_View") -> tuple[_Block | None, int]:
        """Return the block of a view, and the index of its first element in that block."""
        block = self._block_of_array(view.array)
        if block is None:
            return None, 0
        array = self._arrays[view.array][0]
        return block, (self._address_range(view.array)[0] - block.low) // array.itemsize

    @property
    def blocks(self) -> list[_Block]:
        """The blocks in the order of their first arrays."""
        return sorted(self._blocks, key=lambda block: block.number)


@dataclass(frozen=True)
class _Reference:
    """A reference to another record, by index."""

    number: int


@dataclass(frozen=True)
class _ProgramIndex:
    """A reference to a program, by index."""

    number: int


@dataclass(frozen=True)
class _View:
    """A view of an array: index of the array, size, and row stride of a matrix."""

    array: int
    size: int
    stride: int | None


# --- C


def write_c_memory(memory: Memory, name: str) -> str:
    """Return the memory as C text: the type `<name>_memory`, the shared arrays, and the function
    `<name>_reset`, which writes the initial values to a memory. The types of the records and the array
    `programs` must precede this text in the C file.
    """
    lines = ["typedef struct {"]
    for element, word in ELEMENTS.items():
        lines.append(f"    {C_ELEMENTS[element]} {word}[{max(1, memory.sizes[element])}];")
    lines += [f"    {kind.__name__} record_{k};" for k, (kind, _) in enumerate(memory.records)]
    lines += [f"}} {name}_memory;", ""]
    copies = []
    for k, block in enumerate(memory.blocks):
        element = C_ELEMENTS[block.element]
        if block.is_shared:
            lines.append(_write_c_values(f"static {element} {name}_shared_{block.offset}", block))
        elif _is_filled(block):
            lines.append(_write_c_values(f"static const {element} {name}_values_{k}", block))
            target = f"m->{ELEMENTS[block.element]} + {block.offset}"
            copies.append(f"    memcpy({target}, {name}_values_{k}, sizeof {name}_values_{k});")
    lines += [f"static void {name}_reset({name}_memory *m)", "{"]
    lines += ["    memset(m, 0, sizeof *m);", *copies]
    for k, (kind, entries) in enumerate(memory.records):
        lines.append(f"    m->record_{k} = ({kind.__name__}){{")
        lines += [
            f"        .{field} = {_write_c_entry(memory, name, x)}," for field, x in entries.items()
        ]
        lines.append("    };")
    return "\n".join([*lines, "}", ""])


def _c_number(x: float) -> str:
    """Return a number in decimal notation, which compilers round to the same number; it is shorter than the
    hexadecimal one.
    """
    return repr(x) if math.isfinite(x) else c.c_number(x)


def _write_c_values(head: str, block: _Block) -> str:
    """Return the declaration of an array in C with the contents of a block."""
    numbers = _number_texts(block, _c_number)
    return f"{head}[{len(numbers)}] = {{\n{_wrap_numbers(numbers)}\n}};\n"


def _write_c_entry(memory: Memory, name: str, entry: Any) -> str:
    """Return the exported value of a field as C text."""
    match entry:
        case _Reference(number):
            return f"&m->record_{number}"
        case _ProgramIndex(number):
            return f"programs[{number}]"
        case _View():
            block, first = memory._locate_view(entry)
            if block is None:
                base = "0"
            elif block.is_shared:
                base = f"{name}_shared_{block.offset} + {first}"
            else:
                base = f"m->{ELEMENTS[block.element]} + {block.offset + first}"
            return base if entry.stride is None else f"{{{base}, {entry.stride}}}"
        case tuple():
            return f"{{{{{', '.join(map(_c_number, entry))}}}}}"
    return str(int(entry)) if isinstance(entry, int) else _c_number(entry)


# --- JavaScript


def write_js_memory(memory: Memory, name: str) -> str:
    """Return the memory as JavaScript text: the function `<name>`, which creates all records and arrays with
    their initial values and returns the last record, which refers to all others. The constant `programs`
    must precede this text.
    """
    lines: list[str] = []
    copies = []
    for k, block in enumerate(memory.blocks):
        if block.is_shared or _is_filled(block):
            word = f"shared_{block.offset}" if block.is_shared else f"values_{k}"
            numbers = _number_texts(block, javascript.js_number)
            if not block.is_shared:
                numbers = numbers[: _filled_size(block)]  # the rest of the memory is zero
            array = JS_ELEMENTS[block.element]
            lines.append(f"const {word} = {array}.from([\n{_wrap_numbers(numbers)}\n]);\n")
            if not block.is_shared:
                copies.append(f"  {ELEMENTS[block.element]}.set({word}, {block.offset});")
    lines.append(f"function {name}() {{")
    for element, word in ELEMENTS.items():
        size = max(1, memory.sizes[element])
        lines.append(f"  const {word} = new {JS_ELEMENTS[element]}({size});")
        lines.append(
            f"  const {word}_view = (first, end) => withViews({word}.subarray(first, end));"
        )
    lines += copies
    for k, (_, entries) in enumerate(memory.records):
        lines.append(f"  const record_{k} = {{")
        lines += [f"    {field}: {_write_js_entry(memory, x)}," for field, x in entries.items()]
        lines.append("  };")
    return "\n".join([*lines, f"  return record_{len(memory.records) - 1};", "}", ""])


def _write_js_entry(memory: Memory, entry: Any) -> str:
    """Return the exported value of a field as JavaScript text."""
    match entry:
        case _Reference(number):
            return f"record_{number}"
        case _ProgramIndex(number):
            return f"programs[{number}]"
        case _View():
            block, first = memory._locate_view(entry)
            if block is None:
                view = "doubles_view(0, 0)"
            elif block.is_shared:
                view = f"shared_{block.offset}.subarray({first}, {first + entry.size})"
            else:
                begin = block.offset + first
                view = f"{ELEMENTS[block.element]}_view({begin}, {begin + entry.size})"
            return view if entry.stride is None else f"{{ at: {view}, stride: {entry.stride} }}"
        case tuple():
            return f"[{', '.join(map(javascript.js_number, entry))}]"
        case bool():
            return "true" if entry else "false"
    return str(entry) if isinstance(entry, int) else javascript.js_number(entry)


def _is_filled(block: _Block) -> bool:
    """Return whether a block contains anything but positive zeros, with which new memory begins."""
    return bool(block.values.view(np.uint8).any())


def _filled_size(block: _Block) -> int:
    """Return the number of elements up to the last one that is not a positive zero."""
    filled = block.values.view(np.uint8).reshape(len(block.values), -1).any(axis=1)
    return int(np.flatnonzero(filled)[-1]) + 1


def _number_texts(block: _Block, number: Callable[[float], str]) -> list[str]:
    """Return the contents of a block as numbers in a language."""
    if block.element == FLOAT:
        return [number(float(x)) for x in block.values]
    values = [int(x) for x in block.values]
    if any(abs(x) >= MAX_JS_INTEGER for x in values):
        raise TypeError("An integer is too large for JavaScript (beyond 2^53).")
    return [str(x) for x in values]


def _wrap_numbers(numbers: list[str]) -> str:
    """Return numbers as lines of limited width, separated by commas."""
    count = NUMBERS_PER_LINE
    lines = [", ".join(numbers[k : k + count]) for k in range(0, len(numbers), count)]
    return ",\n".join(f"    {line}" for line in lines)
