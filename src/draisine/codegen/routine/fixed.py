"""Vectors of fixed size, as values: `Vec2`, `Vec3`, `Vec4`, `Vec6`.

A vector never changes in place; routines assign whole vectors. If a name, a field of a record and an
argument contain the same vector, assigning one of them does not change the others, in Python as in compiled
code.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np


class FixedVector:
    """A vector with a fixed number of entries, all doubles.

    Parameters
    ----------
    entries
        The numbers; their count is the size of the class.

    Examples
    --------
    >>> a, b = Vec3(1.0, 2.0, 3.0), Vec3(0.0, 1.0, 0.0)
    >>> a + 2.0 * b
    Vec3(1.0, 4.0, 3.0)
    >>> float(dot(a, b)), float(a[2])
    (2.0, 3.0)
    >>> cross(a, b)
    Vec3(-3.0, 0.0, 1.0)
    >>> x, y, z = a
    """

    __slots__ = ("_entries",)
    __array_ufunc__ = None  # a NumPy number times a vector is a vector, not an array
    size: ClassVar[int] = 0

    def __init__(self, *entries: float) -> None:
        if len(entries) != self.size:
            raise TypeError(f"{type(self).__name__} has {self.size} entries, not {len(entries)}.")
        # Doubles of NumPy divide by zero without an exception, as compiled code does.
        self._entries = tuple(map(np.float64, entries))

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __getitem__(self, index: int) -> Any:
        return self._entries[index]

    def __add__(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Self) -> Self:
        return type(self)(*(a - b for a, b in zip(self, other, strict=True)))

    def __neg__(self) -> Self:
        return type(self)(*(-a for a in self))

    def __mul__(self, factor: float) -> Self:
        return type(self)(*(a * factor for a in self))

    def __rmul__(self, factor: float) -> Self:
        return self * factor

    def __truediv__(self, divisor: float) -> Self:
        return type(self)(*(a / divisor for a in self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FixedVector) or type(self) is not type(other):
            return False
        return self._entries == other._entries

    def __hash__(self) -> int:
        return hash(self._entries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(str(float(a)) for a in self)})"


class Vec2(FixedVector):
    """A vector of two entries."""

    __slots__ = ()
    size = 2


class Vec3(FixedVector):
    """A vector of three entries, like a point, a direction or a force."""

    __slots__ = ()
    size = 3


class Vec4(FixedVector):
    """A vector of four entries, like a quaternion (scalar first)."""

    __slots__ = ()
    size = 4


class Vec6(FixedVector):
    """A vector of six entries, like a twist (linear part first)."""

    __slots__ = ()
    size = 6


def dot(a: FixedVector, b: FixedVector) -> Any:
    """Return the scalar product of two vectors of the same size, summed from the first entry on.

    Parameters
    ----------
    a, b
        Vectors of n entries each.

    Returns
    -------
    float
        The sum of the products of their entries.
    """
    first, *others = (x * y for x, y in zip(a, b, strict=True))
    total = first
    for term in others:
        total = total + term
    return total


def cross(a: Vec3, b: Vec3) -> Vec3:
    """Return the vector product of two vectors.

    Parameters
    ----------
    a, b
        Vectors of three entries each.

    Returns
    -------
    Vec3
        The vector product a x b.
    """
    return Vec3(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
