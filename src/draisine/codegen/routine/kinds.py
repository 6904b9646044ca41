"""Types of the values in routines: the annotations that users write, and the compiler's representation
("kind").

A kind is a word (INT, FLOAT, ...), an `ArrayKind`, the class of a record, of an IntEnum or of a fixed-size
vector, or a tuple of kinds for several return values.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, NewType, TypeGuard, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.codegen.routine.fixed import FixedVector

Integers = NDArray[np.int64]
"""Annotation of an array of integers with one axis."""

Flags = NDArray[np.bool_]
"""Annotation of an array of bools with one axis."""

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
"""Annotation of an array of doubles with two axes; the entries of a row are contiguous."""

IntegerMatrix = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""Annotation of an array of integers with two axes; the entries of a row are contiguous."""

Address = NewType("Address", int)
"""Annotation of the address of a compiled program, which a routine calls by `call(address, x, table, out,
count)`.
"""

each = range
"""Range of a loop whose iterations are independent of each other. Machine code executes several iterations
at once, each in one SIMD lane.
"""

# Kinds of numbers; VOID is the kind of a call without result, and ADDRESS that of the address of a
# compiled program.
INT = "int"
FLOAT = "float"
BOOL = "bool"
VOID = "none"
ADDRESS = "address"


@dataclass(frozen=True)
class ArrayKind:
    """Type of an array: the type of its elements (a number, or a record) and its number of axes."""

    element: Any  # type of the elements
    axes: int = 1  # number of axes


DOUBLES = ArrayKind(FLOAT)
INTEGERS = ArrayKind(INT)
FLAGS = ArrayKind(BOOL)
MATRIX = ArrayKind(FLOAT, 2)
INTEGER_MATRIX = ArrayKind(INT, 2)

Kind = str | type | ArrayKind | tuple[Any, ...]
"""Annotation of a kind, which is how the compiler represents the type of a value."""

DTYPES: dict[Kind, Any] = {
    FLOAT: np.dtype(np.float64), INT: np.dtype(np.int64), BOOL: np.dtype(np.bool_),
}  # fmt: skip
"""NumPy data types of array elements, by the compiler's type."""

_ANNOTATIONS: list[tuple[Any, Kind, str]] = [
    (int, INT, "int"), (float, FLOAT, "float"), (bool, BOOL, "bool"), (type(None), VOID, "None"),
    (Floats, DOUBLES, "Floats"), (Integers, INTEGERS, "Integers"), (Flags, FLAGS, "Flags"),
    (Matrix, MATRIX, "Matrix"), (IntegerMatrix, INTEGER_MATRIX, "IntegerMatrix"),
    (Address, ADDRESS, "Address"),
]  # fmt: skip
"""Annotations of arguments and results, each with its kind and its text in error messages."""


class MutableFields:
    """Base class that marks records whose fields routines may assign; see `record.Record`."""


def is_record(kind: Any) -> TypeGuard[type]:
    """Return whether a kind is the class of a record: a NamedTuple, or a `Record`."""
    if not isinstance(kind, type):
        return False
    return is_mutable(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def is_mutable(kind: Any) -> bool:
    """Return whether a kind is the class of a record whose fields routines may assign."""
    return isinstance(kind, type) and issubclass(kind, MutableFields)


def is_enum(kind: Any) -> TypeGuard[type[IntEnum]]:
    """Return whether a kind is an IntEnum."""
    return isinstance(kind, type) and issubclass(kind, IntEnum)


def is_fixed(kind: Any) -> TypeGuard[type[FixedVector]]:
    """Return whether a kind is a vector of fixed size."""
    return isinstance(kind, type) and issubclass(kind, FixedVector)


def is_matrix(kind: Any) -> TypeGuard[ArrayKind]:
    """Return whether a kind is an array with two axes."""
    return isinstance(kind, ArrayKind) and kind.axes == 2


def is_flat(kind: Any) -> TypeGuard[ArrayKind]:
    """Return whether a kind is an array of numbers or bools with one axis."""
    return isinstance(kind, ArrayKind) and kind.axes == 1 and not is_record(kind.element)


def is_sequence(kind: Any) -> TypeGuard[ArrayKind]:
    """Return whether a kind is a sequence of records."""
    return isinstance(kind, ArrayKind) and is_record(kind.element)


@cache
def fields(record: type) -> dict[str, Kind]:
    """Return the fields of a record and their kinds."""
    return {name: kind_of(hint) for name, hint in get_type_hints(record).items()}


def kind_of(hint: Any) -> Kind:
    """Return the kind of an annotation, or raise TypeError."""
    for annotation, kind, _ in _ANNOTATIONS:
        if hint is annotation or hint == annotation:
            return kind
    if is_record(hint) or is_enum(hint) or (is_fixed(hint) and hint is not FixedVector):
        return hint
    if get_origin(hint) is tuple and get_args(hint):
        first, *others = get_args(hint)
        if others == [...] and is_record(first):
            return ArrayKind(first)
        kinds = tuple(kind_of(entry) for entry in (first, *others))
        if len(kinds) > 1 and all(map(is_value, kinds)):
            return kinds
    raise TypeError


def is_value(kind: Any) -> bool:
    """Return whether a kind is a number, a bool, a member of an IntEnum or a fixed-size vector."""
    return kind in (INT, FLOAT, BOOL) or is_enum(kind) or is_fixed(kind)


def name_of(kind: Kind) -> str:
    """Return the annotation text of a type, as users write it."""
    if isinstance(kind, tuple):
        return f"tuple[{', '.join(map(name_of, kind))}]"
    if is_sequence(kind):
        return f"tuple[{name_of(kind.element)}, ...]"
    if isinstance(kind, type):
        return kind.__name__
    return next(name for _, known_kind, name in _ANNOTATIONS if known_kind == kind)


def describe_kinds(kinds: Iterable[Kind]) -> list[Any]:
    """Return the definitions of all records and enumerations among the given types as plain data.

    They are part of the cache key of machine code: the fields of a record determine its memory layout, the
    members of an enumeration are compiled as constants.
    """
    descriptions: dict[Kind, Any] = {}
    remaining = list(kinds)
    while remaining:
        kind = remaining.pop()
        if kind in descriptions:
            continue
        if isinstance(kind, ArrayKind):
            remaining.append(kind.element)
        elif isinstance(kind, tuple):
            remaining += kind
        elif is_enum(kind):
            descriptions[kind] = [(member.name, int(member)) for member in kind]
        elif is_record(kind):
            remaining += fields(kind).values()
            names = [(name, name_of(field_kind)) for name, field_kind in fields(kind).items()]
            descriptions[kind] = (is_mutable(kind), names)
    owners = ((f"{kind.__module__}.{kind.__qualname__}", x) for kind, x in descriptions.items())  # type: ignore[union-attr]
    return sorted(owners, key=lambda field_kind: field_kind[0])
