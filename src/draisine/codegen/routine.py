"""Routines: loops over arrays of doubles, written as plain Python functions in a small subset.

A routine runs as it stands, which is its reference and its debugger; its text, read by `ast`, is
printed as LLVM, C99 and JavaScript by the writers in `targets`. It knows
    numbers      int, float; names keep the kind of their first value
    arrays       `Floats` of doubles, `Integers`: an element a[i], the rest a[i:] (a view, no copy)
    records      named tuples of all these, read only; programs by their `Address`
    statements   = += -= *= /=, if, while, for in range or each, break, continue, return, calls
    vectors      x[:n] = u[:n] + f * v[i:][:n], and += -= *= /=: entry by entry, see `vectors`
    expressions  + - * / // % ** < <= > >= == != and or not, `a if c else b`, routines, and
                 abs min max sqrt isfinite float int; // and % take no negative numbers
Names from outside are constants or other routines, by the module or by the function around it: a
routine inside a function is a template. `for k in each(n)` says that the passes are independent: one
SIMD lane each in machine code, a plain loop elsewhere.
"""

import ast
import hashlib
import inspect
import linecache
import math
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from symtable import Function, symtable
from typing import Any, NewType, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.codegen.program import prototype
from draisine.errors import RoutineError

Integers = NDArray[np.int64]
"""An array of whole numbers."""

Address = NewType("Address", int)
"""Where a program is: machine code, called as (x, table, out, count)."""

each = range
"""A loop whose passes are independent of each other: one SIMD lane each in machine code."""

T = TypeVar("T")

INT, FLOAT, BOOL, NONE = "int", "float", "bool", "none"
DOUBLES, INTEGERS, ADDRESS = "doubles", "integers", "address"

Kind = str | type
"""What a value is: one of the words above, or the class of a record."""

ELEMENT: dict[Kind, Kind] = {DOUBLES: FLOAT, INTEGERS: INT}
_KINDS: list[tuple[Any, Kind]] = [
    (int, INT), (float, FLOAT), (bool, BOOL), (type(None), NONE),
    (Floats, DOUBLES), (Integers, INTEGERS), (Address, ADDRESS),
]  # fmt: skip


def call(address: Any, x: Floats, table: Floats, out: Floats, count: int) -> None:
    """Call a program: machine code by its address, or a function of the same arguments."""
    if callable(address):
        address(x, table, out, count)
        return
    prototype()(address)(x.ctypes.data, table.ctypes.data, out.ctypes.data, count)


FUNCTIONS: dict[Any, str] = {
    abs: "abs", min: "min", max: "max", float: "float", int: "int", call: "call",
    math.sqrt: "sqrt", math.isfinite: "isfinite", Address: "address",
}  # fmt: skip
"""What a routine may call besides routines."""


class Routine:
    """A function in the subset; calling it runs it in Python."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__wrapped__ = function

    def __call__(self, *arguments: Any) -> Any:
        """Return what the function returns in Python."""
        return self.function(*arguments)

    def __repr__(self) -> str:
        return f"routine {self.function.__module__}.{self.function.__qualname__}"

    @cached_property
    def _file(self) -> str:
        """The text of the file that it stands in."""
        code = self.function.__code__
        return "".join(linecache.getlines(code.co_filename, self.function.__globals__))

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """The text, read."""
        return self._own(_read(self._file))

    @cached_property
    def outside(self) -> dict[str, Any]:
        """The names from outside: the module's, and those of the function around it."""
        code, cells = self.function.__code__, self.function.__closure__ or ()
        around = dict(zip(code.co_freevars, [c.cell_contents for c in cells], strict=True))
        known = self.function.__globals__ | around
        names = [*self._own(_scopes(self._file)), *around]
        return {n: x for n in sorted(names) if (x := known.get(n)) is not None}

    def _own(self, told: Mapping[tuple[str, int], T]) -> T:
        """Return what is told of this function among those of its file, by name and line."""
        code = self.function.__code__
        below = [at for at in told if at[0] == code.co_name and at[1] >= code.co_firstlineno]
        if not below:
            raise RoutineError(
                f"{self.place()}: the text of routine {self.__name__!r} is not at hand; write it into "
                "a file."
            )
        return told[min(below)]

    @property
    def callees(self) -> list["Routine"]:
        """The routines that it calls."""
        return [x for x in self.outside.values() if isinstance(x, Routine)]

    @cached_property
    def family(self) -> list["Routine"]:
        """The routine itself and all that it needs, callees first."""
        found: dict[Routine, None] = {}
        for callee in self.callees:
            found |= dict.fromkeys(callee.family)
        return [*found, self]

    @property
    def text(self) -> list[tuple[Any, ...]]:
        """All that decides what it does: the place in its file and the text of that, constants and
        records of itself and of its callees, and which of these its names mean.
        """
        place = {one: f"callee {k}" for k, one in enumerate(self.family)}
        return [(*one._beginning, one._meanings(place), one._fields) for one in self.family]

    @property
    def _beginning(self) -> tuple[str, int]:
        """A digest of its file, and where in it it begins."""
        return _digest(self._file), self.function.__code__.co_firstlineno

    def _meanings(self, place: dict[Any, str]) -> list[tuple[str, Any]]:
        """Return the constants and routines that names from outside mean."""
        return [(n, place.get(x, x)) for n, x in self.outside.items() if isinstance(x, _MEANT)]

    @property
    def _fields(self) -> list[tuple[str, dict[str, Kind]]]:
        """The records among the arguments, spelled out."""
        kinds = [kind for kind in self.parameters.values() if isinstance(kind, type)]
        return [(kind.__name__, fields(kind)) for kind in kinds]

    @cached_property
    def parameters(self) -> dict[str, Kind]:
        """The arguments and their kinds."""
        hints = get_type_hints(self.function)
        missing = [n for n in inspect.signature(self.function).parameters if n not in hints]
        if missing:
            raise RoutineError(
                f"{self.place()}: say what {missing[0]!r} is, as in {missing[0]}: int."
            )
        return {n: self._kind(hint) for n, hint in hints.items() if n != "return"}

    @cached_property
    def returns(self) -> Kind:
        """The kind of what comes back."""
        return self._kind(get_type_hints(self.function).get("return", type(None)))

    def _kind(self, hint: Any) -> Kind:
        try:
            return kind_of(hint)
        except TypeError:
            raise RoutineError(
                f"{self.place()}: {hint} is not something that a routine takes or returns; "
                "take int, float, Floats, Integers, Address or a record (a NamedTuple of these)."
            ) from None

    def place(self, line: int = 1) -> str:
        """Return file and line, counted from its first one."""
        code = self.function.__code__
        return f"{code.co_filename}:{code.co_firstlineno + line - 1}"


_MEANT = (bool, int, float, Routine)
"""What decides what a routine does by its value."""


@cache
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _read(text: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """Return the functions of a file by name and line."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return {(node.name, node.lineno): node for node in found}


@cache
def _scopes(text: str) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return the names of the module that functions of a file use, by the functions' names and lines:
    sooner known than the functions are read.
    """
    found, left = {}, [symtable(text, "", "exec")]
    while left:
        scope = left.pop()
        left += scope.get_children()
        if isinstance(scope, Function):
            found[scope.get_name(), scope.get_lineno()] = scope.get_globals()
    return found


def routine(function: Callable[..., Any]) -> Routine:
    """Return a function as a routine.

    >>> @routine
    ... def total(a: Floats, n: int) -> float:
    ...     s = 0.0
    ...     for i in range(n):
    ...         s += a[i]
    ...     return s
    >>> float(total(np.array([1.0, 2.0, 4.0]), 3))
    7.0
    """
    return Routine(function)


@cache
def fields(record: type) -> dict[str, Kind]:
    """Return the fields of a record and their kinds."""
    return {name: kind_of(hint) for name, hint in get_type_hints(record).items()}


def kind_of(hint: Any) -> Kind:
    """Return the kind of an annotation, or raise TypeError."""
    for known, kind in _KINDS:
        if hint is known or hint == known:
            return kind
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        return hint
    raise TypeError
