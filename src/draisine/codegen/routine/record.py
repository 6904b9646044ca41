"""Records of routines and their memory layout: `Record`, whose fields routines may assign, and named
tuples, which are read-only.

A record occupies slots of eight bytes, in the order of its fields. A number has one slot, a fixed-size vector
one slot per entry. An array is stored as a pointer, a matrix as a pointer and its row stride (in entries), a
record inside another record as a pointer, a tuple of records as a pointer to an array of pointers.
"""

import ctypes
import struct
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from inspect import get_annotations
from typing import Any, NamedTuple, dataclass_transform

import numpy as np

from draisine.codegen.routine.kinds import (
    ADDRESS,
    BOOL,
    DTYPES,
    FLOAT,
    INT,
    ArrayKind,
    Kind,
    MutableFields,
    fields,
    is_enum,
    is_fixed,
    is_flat,
    is_matrix,
    is_record,
    is_sequence,
    name_of,
)

_addressof = ctypes.addressof
_from_buffer = ctypes.c_char.from_buffer


class Slot(NamedTuple):
    """Location of a field in the memory of a record."""

    first: int  # index of the first slot
    size: int  # number of slots
    kind: Kind  # type of the field


@cache
def layout(record: type) -> dict[str, Slot]:
    """Return the memory location of each field of a record, by name."""
    slots: dict[str, Slot] = {}
    first = 0
    for name, kind in fields(record).items():
        slots[name] = Slot(first, slot_count(kind), kind)
        first += slot_count(kind)
    return slots


def slot_count(kind: Kind) -> int:
    """Return the number of slots that a value of the given type occupies in a record."""
    if is_fixed(kind):
        return kind.size
    return 2 if is_matrix(kind) else 1


def _struct_format(kind: Kind) -> str:
    """Return the `struct` format of a type."""
    return ("d" if kind == FLOAT or is_fixed(kind) else "q") * slot_count(kind)


@cache
def _record_structure(record: type) -> struct.Struct:
    """Return the `struct` format of a record."""
    return struct.Struct(
        "=" + "".join(_struct_format(slot.kind) for slot in layout(record).values())
    )


# --- values in slots


def address_of_array(array: Any, dtype: Any) -> int:
    """Return the memory address of the elements of a contiguous array with the given data type."""
    if array.dtype != dtype or not array.flags.c_contiguous:
        raise TypeError(f"A routine needs a contiguous array of {dtype}.")
    # A ctypes view is five times as fast as `ndarray.ctypes`, but does not exist for empty and for
    # read-only arrays.
    try:
        return _addressof(_from_buffer(array))
    except (TypeError, ValueError):
        return int(array.ctypes.data)


def address_of_vector(array: Any, dtype: Any) -> int:
    """Return the memory address of the elements of an array with one axis."""
    if array.ndim != 1:
        raise TypeError(f"A field of a record needs an array of {dtype} with one axis.")
    return address_of_array(array, dtype)


def address_of_matrix(array: Any, kind: ArrayKind) -> tuple[int, int]:
    """Return the memory address of a matrix and its row stride in entries."""
    size = DTYPES[kind.element].itemsize
    if array.dtype != DTYPES[kind.element] or array.ndim != 2:
        raise TypeError(f"A routine needs a matrix of {DTYPES[kind.element]} for {name_of(kind)}.")
    rows, entries = array.strides
    if not array.size:  # strides of a view without entries have no meaning
        return array.ctypes.data, array.shape[1]
    if (array.shape[1] > 1 and entries != size) or rows % size:
        raise TypeError("A routine needs a matrix whose rows are contiguous.")
    return int(array.ctypes.data), rows // size


ValueEncoder = Callable[[Any, list[Any]], tuple[Any, ...]]
"""Type of a function (value, references) that returns the contents of the slots of a value. It appends the
objects to which the slots point to the list `references`, so that the caller can keep them alive.
"""


@cache
def encoder_for(kind: Kind) -> ValueEncoder:
    """Return the function that encodes values of a type for a record."""
    if is_enum(kind):
        return lambda value, _: (int(kind(value)),)
    if is_fixed(kind):
        return lambda value, _: tuple(value)
    if is_matrix(kind):
        return lambda value, _: address_of_matrix(value, kind)
    if is_record(kind):
        return _encode_record
    if is_sequence(kind):
        return _encode_records
    if is_flat(kind):
        dtype = DTYPES[kind.element]
        return lambda value, _: (address_of_vector(value, dtype),)
    return (lambda value, _: (bool(value),)) if kind == BOOL else (lambda value, _: (value,))


def _encode_record(value: Any, references: list[Any]) -> tuple[Any, ...]:
    """Return the address of a record, and add the record to the objects that must stay alive."""
    references.append(pack(value))
    return (references[-1].address,)


def _encode_records(values: Any, references: list[Any]) -> tuple[Any, ...]:
    """Return address and number of a sequence of records, and add them to the objects that must
    stay alive.
    """
    inner = [pack(value) for value in values]
    pointers = np.array([packed.address for packed in inner], dtype=np.int64)
    references += [inner, pointers]
    return (int(pointers.ctypes.data),)


def pack(value: Any) -> Any:
    """Return a record in the form that machine code reads, with its memory `address`: a named tuple is
    copied to a `Packed`, other records are returned as they are.
    """
    return value if isinstance(value, (Packed, Record)) else Packed(value)


# --- read-only records


class Packed:
    """A named tuple copied to memory in the layout of records, for machine code.

    It keeps the arrays of the tuple alive. Records inside the tuple may be packed already. Its fields can
    be read like those of the tuple. `others` is a cache for its users: variants of this record by any key.
    """

    def __init__(self, record: Any) -> None:
        owner: type = type(record)
        self.others: dict[Any, Packed] = {}
        # The memory must never move, because enclosing records store its address.
        self._bytes = bytearray(_record_structure(owner).size)
        self._first = _from_buffer(self._bytes)
        self.address: int = _addressof(self._first)
        self._as_parameter_ = self.address
        self._fill_memory(record)

    def _fill_memory(self, record: Any) -> None:
        """Write the fields of a named tuple to the memory."""
        owner: type = type(record)
        self.record = record
        kept = list[Any]()
        self._kept = {
            "": kept
        }  # objects to which slots point, by name of the field that was replaced
        slots: list[Any] = list(record)
        arrays, others = _encoded_fields(owner)
        for k, dtype in arrays:
            slots[k] = address_of_vector(slots[k], dtype)
        for k, encode in others:
            slots[k : k + 1] = encode(slots[k], kept)
        _record_structure(owner).pack_into(self._bytes, 0, *slots)

    def replace(self, **changes: Any) -> None:
        """Change fields of the packed tuple; its address stays the same, so that enclosing records remain
        valid.
        """
        owner: type = type(self.record)
        self.record = self.record._replace(**changes)
        accesses = _field_accesses(owner)
        for name, value in changes.items():
            access = accesses[name]
            if access.encode is None:
                access.pack_into(self._bytes, access.at, value)
                continue
            references: list[Any] = []
            access.pack_into(self._bytes, access.at, *access.encode(value, references))
            self._kept[name] = references

    def __getattr__(self, name: str) -> Any:
        """Return a field of the record: routines that run as plain Python read packed records, too."""
        if name == "record":  # the record is not set yet
            raise AttributeError(name)
        return getattr(self.record, name)


@cache
def _encoded_fields(record: type) -> tuple[list[tuple[int, Any]], list[tuple[int, ValueEncoder]]]:
    """Return the indices of the fields that `struct` cannot pack directly: array fields with their data
    types, then matrices, vectors, records, bools and enumerations with their encoders.

    Arrays are frequent and have a faster path. The other fields come in reverse order, because encoding a
    field of several slots shifts the indices of the fields after it.
    """
    arrays: list[tuple[int, Any]] = []
    others: list[tuple[int, ValueEncoder]] = []
    for k, kind in enumerate(fields(record).values()):
        if is_flat(kind):
            arrays.append((k, DTYPES[kind.element]))
        elif kind not in (INT, FLOAT, ADDRESS):
            others.append((k, encoder_for(kind)))
    return arrays, others[::-1]


# --- records with fields that routines may assign


@dataclass_transform(kw_only_default=True)
class Record(MutableFields):
    """A record in which routines may assign numbers, flags, enumerations and fixed-size vectors.

    The fields are the annotations of a subclass, one line per field; they may have defaults. Python and
    machine code share its memory, so that an assignment by one is visible to the other at once.

    Examples
    --------
    >>> class Clock(Record):
    ...     time: float = 0.0  # s
    ...     steps: int = 0
    ...     starts: bool
    >>> clock = Clock(starts=True)
    >>> clock.time += 0.5
    >>> clock
    Clock(time=0.5, steps=0, starts=True)
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in get_annotations(cls):
            if name.startswith("_") or hasattr(Record, name):
                raise TypeError(f"Record {cls.__name__} cannot have a field {name!r}: rename it.")
            setattr(cls, name, _Field(name, cls.__dict__.get(name, _MISSING)))

    def __init__(self, **values: Any) -> None:
        owner: type = type(self)
        content, other_defaults = _initial_memory(owner)
        self._bytes = bytearray(content)
        self._first = _from_buffer(self._bytes)
        self._kept: dict[str, list[Any]] = {}
        self._objects: dict[str, Any] = {}
        self.address: int = _addressof(self._first)
        self._as_parameter_ = self.address
        for name in values.keys() - _field_accesses(owner).keys():
            raise TypeError(_describe_missing_field(owner, name))
        for name, default in other_defaults.items():
            if name not in values:
                if default is _MISSING:
                    raise TypeError(
                        f"Record {owner.__name__} needs a value for the field {name!r}."
                    )
                setattr(self, name, default)
        self.assign(**values)

    def __setattr__(self, name: str, value: Any) -> None:
        owner: type = type(self)
        if not isinstance(getattr(owner, name, None), _Field) and name not in _RECORD_ATTRIBUTES:
            raise AttributeError(_describe_missing_field(owner, name))
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        owner: type = type(self)
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in layout(owner))
        return f"{owner.__name__}({values})"

    def assign(self, **values: Any) -> None:
        """Assign several fields."""
        owner: type = type(self)
        accesses = _field_accesses(owner)
        for name, value in values.items():
            access = accesses.get(name)
            if access is None:
                raise AttributeError(_describe_missing_field(owner, name))
            access.write(self, name, value)

    def values(self) -> dict[str, Any]:
        """Return the present values of all fields by name."""
        owner: type = type(self)
        return {name: getattr(self, name) for name in layout(owner)}


_MISSING = object()
"""Default of a field without default."""

_RECORD_ATTRIBUTES = ("_bytes", "_first", "_kept", "_objects", "address", "_as_parameter_")
"""Attributes of a record object that are not fields."""


@cache
def _field_accesses(record: type) -> "dict[str, _Access]":
    """Return the storage of each field of a record, by name."""
    return {name: _Access(slot) for name, slot in layout(record).items()}


@cache
def _initial_memory(record: type) -> tuple[bytes, dict[str, Any]]:
    """Return the initial memory of a record, which contains the defaults of its numbers and vectors, and the
    defaults of all other fields by name (`_MISSING` if a field has none).
    """
    content = bytearray(max(1, _record_structure(record).size))
    others: dict[str, Any] = {}
    for name, access in _field_accesses(record).items():
        default = next(x.__dict__[name] for x in record.__mro__ if name in x.__dict__).default
        if default is _MISSING or access.read is None:
            others[name] = default
        elif access.encode is None:
            access.pack_into(content, access.at, default)
        else:
            access.pack_into(content, access.at, *access.encode(default, []))
    return bytes(content), others


def _describe_missing_field(record: type, name: str) -> str:
    """Return the error message for a field that does not exist."""
    matches = get_close_matches(name, layout(record), n=1)
    guess = f" Did you mean {matches[0]!r}?" if matches else ""
    return f"Record {record.__name__} has no field {name!r}.{guess}"


class _Field:
    """Descriptor of a field of a `Record`, which reads and writes its slots."""

    def __init__(self, name: str, default: Any) -> None:
        self.name = name
        self.default = default
        self._accesses: dict[type, _Access] = {}  # storage of the field, by class of the record

    def _access_for(self, record_class: type) -> "_Access":
        """Return the storage of this field in a class of records."""
        if record_class not in self._accesses:
            self._accesses[record_class] = _field_accesses(record_class)[self.name]
        return self._accesses[record_class]

    def __get__(self, record: Any, owner: type) -> Any:
        if record is None:
            return self
        access = self._access_for(owner)
        if access.read is None:
            return record._objects[self.name]
        return access.read(record._bytes)

    def __set__(self, record: Any, value: Any) -> None:
        self._access_for(type(record)).write(record, self.name, value)


class _Access:
    """Storage of a field: its offset `at` in memory (bytes), and functions that read and encode its value.

    `read` is None for arrays and records, because a pointer cannot be turned back into a Python object;
    `encode` is None for numbers, which `struct` packs directly.
    """

    def __init__(self, slot: Slot) -> None:
        kind = slot.kind
        form = struct.Struct("=" + _struct_format(slot.kind))
        self.at = 8 * slot.first
        self.pack_into = form.pack_into
        self.encode = None if kind in (INT, FLOAT, ADDRESS) else encoder_for(kind)
        self.read: Callable[[bytearray], Any] | None = None
        if isinstance(kind, ArrayKind) or is_record(kind):
            return
        offset = self.at
        unpack_from = form.unpack_from
        if self.encode is None:
            self.read = lambda memory: unpack_from(memory, offset)[0]
        else:
            convert: Any = bool if kind == BOOL else kind
            self.read = lambda memory: convert(*unpack_from(memory, offset))

    def write(self, record: Any, name: str, value: Any) -> None:
        """Write the value of this field, which has the given name, to a record."""
        if self.encode is None:
            self.pack_into(record._bytes, self.at, value)
            return
        references: list[Any] = []
        self.pack_into(record._bytes, self.at, *self.encode(value, references))
        if self.read is None:
            record._objects[name] = value
            record._kept[name] = references


def make_record(record: type, **values: Any) -> Any:
    """Create a record, with arrays of zeros for fields that are given as sizes.

    Parameters
    ----------
    record
        The class of the record.
    **values
        Values of the fields. An array with one axis may be given by its size, a matrix by its shape;
        records inside the record may be packed already.

    Returns
    -------
    Record or named tuple
        Instance of the class.
    """
    for name, dtype in _array_types(record).items():
        size = values.get(name)
        if isinstance(size, (int, tuple)):
            values[name] = np.zeros(size, dtype)
    return record(**values)


@cache
def _array_types(record: type) -> dict[str, Any]:
    """Return the NumPy data types of all array and matrix fields of a record, by name."""
    return {
        name: DTYPES[kind.element]
        for name, kind in fields(record).items()
        if is_flat(kind) or is_matrix(kind)
    }
