"""The class `Routine`: a function in the typed subset of Python, with its syntax tree, its types and the
routines that it calls.
"""

import ast
import hashlib
import inspect
import linecache
import math
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from symtable import Function, symtable
from typing import Any, TypeVar, get_type_hints

from draisine.algebra.scalar import Floats
from draisine.codegen.program import native_signature
from draisine.codegen.routine.fixed import cross, dot
from draisine.codegen.routine.kinds import (
    Address,
    Kind,
    describe_kinds,
    is_enum,
    is_fixed,
    kind_of,
)
from draisine.codegen.routine.syntax import find_functions
from draisine.errors import RoutineError

T = TypeVar("T")


def call(address: Any, x: Floats, table: Floats, out: Floats, count: int) -> None:
    """Evaluate a compiled program.

    Parameters
    ----------
    address
        Address of the program's machine code, or a Python function with the same arguments.
    x
        Concatenated inputs, without parameters.
    table
        Results of the prologue.
    out
        Array to which the concatenated outputs are written.
    count
        Number of states of a SIMD program, whose arrays then have the shape (entries, count).
    """
    if callable(address):
        address(x, table, out, count)
        return
    _program_at(int(address))(x.ctypes.data, table.ctypes.data, out.ctypes.data, int(count))


@cache
def _program_at(address: int) -> Any:
    """Return the compiled program at a memory address as a Python function."""
    return native_signature()(address)


ROUTINE_FUNCTIONS: dict[Any, str] = {
    abs: "abs", min: "min", max: "max", float: "float", int: "int", call: "call",
    math.sqrt: "sqrt", math.isfinite: "isfinite", Address: "address", dot: "dot", cross: "cross",
}  # fmt: skip
"""Functions that a routine may call besides routines, with their names inside the compiler."""


class Routine:
    """A function in the typed subset of Python; calling it runs it in Python."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *arguments: Any) -> Any:
        """Run the function in Python."""
        return self.function(*arguments)

    def __repr__(self) -> str:
        return f"routine {self.function.__module__}.{self.function.__qualname__}"

    @cached_property
    def _source_text(self) -> str:
        """The source text of the file that defines the routine."""
        code = self.function.__code__
        return "".join(linecache.getlines(code.co_filename, self.function.__globals__))

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """The syntax tree of the function."""
        return self._entry_of_routine(_parse_functions(self._source_text))

    @cached_property
    def nonlocal_values(self) -> dict[str, Any]:
        """The values of the non-local names that the function uses: objects of its module and of the
        enclosing function, by name.
        """
        code = self.function.__code__
        cells = self.function.__closure__ or ()
        around = dict(zip(code.co_freevars, [c.cell_contents for c in cells], strict=True))
        scope = self.function.__globals__ | around
        names = [*self._entry_of_routine(_find_global_names(self._source_text)), *around]
        return {n: x for n in sorted(names) if (x := scope.get(n)) is not None}

    def _entry_of_routine(self, functions: Mapping[tuple[str, int], T]) -> T:
        """Return the entry of this routine in a mapping over all functions of its file.

        The keys of the mapping are the name and the line of the `def` of each function.
        """
        code = self.function.__code__
        # The first line of a function's code object is that of its decorator, the one in the syntax
        # tree that of its `def` below: take the next `def`.
        below = [
            key for key in functions if key[0] == code.co_name and key[1] >= code.co_firstlineno
        ]
        if not below:
            raise RoutineError(
                f"{self.place()}: the source text of routine {self.__name__!r} is not available. "
                "Define the routine in a file."
            )
        return functions[min(below)]

    @property
    def callees(self) -> list["Routine"]:
        """The routines that this routine calls."""
        return [x for x in self.nonlocal_values.values() if isinstance(x, Routine)]

    @cached_property
    def family(self) -> list["Routine"]:
        """The routine itself and all routines that it calls directly or indirectly, callees first."""
        callees: dict[Routine, None] = {}
        for callee in self.callees:
            callees |= dict.fromkeys(callee.family)
        return [*callees, self]

    @property
    def digest_text(self) -> list[Any]:
        """All inputs of the compiler, as plain data for a digest.

        These are, for the routine and its callees, the digest of the file, the line and the values of
        non-local names; and the memory layout of all records.
        """
        place = {member: f"callee {k}" for k, member in enumerate(self.family)}
        kinds = {kind for member in self.family for kind in member._declared_kinds}
        return [
            [
                (*member._file_digest_and_line, member._nonlocal_meanings(place))
                for member in self.family
            ],
            describe_kinds(kinds),
        ]

    @property
    def _file_digest_and_line(self) -> tuple[str, int]:
        """The digest of the routine's file, and its first line."""
        return _hash_text(self._source_text), self.function.__code__.co_firstlineno

    def _nonlocal_meanings(self, texts: dict[Any, str]) -> list[tuple[str, Any]]:
        """Return pairs (non-local name, constant, type or routine); a routine of the family is replaced by
        its text in `texts`.
        """
        names = self.nonlocal_values.items()
        return [
            (n, texts.get(x, x)) for n, x in names if isinstance(x, _CONSTANT_TYPES) or is_type(x)
        ]

    @property
    def _declared_kinds(self) -> list[Kind]:
        """The types of the routine's arguments and results, and the enumerations that it names."""
        named = [x for x in self.nonlocal_values.values() if is_enum(x)]
        return [*self.parameters.values(), self.returns, *named]

    @cached_property
    def parameters(self) -> dict[str, Kind]:
        """The types of the arguments by name."""
        hints = get_type_hints(self.function)
        missing = [n for n in inspect.signature(self.function).parameters if n not in hints]
        if missing:
            raise RoutineError(
                f"{self.place()}: argument {missing[0]!r} of routine {self.__name__!r} has no type. "
                f"Annotate it, as in `{missing[0]}: int`."
            )
        return {n: self._kind_of_hint(hint) for n, hint in hints.items() if n != "return"}

    @cached_property
    def returns(self) -> Kind:
        """The type of the result."""
        return self._kind_of_hint(get_type_hints(self.function).get("return", type(None)))

    def _kind_of_hint(self, hint: Any) -> Kind:
        """Return the type that an annotation denotes; raise RoutineError for other annotations."""
        try:
            return kind_of(hint)
        except TypeError:
            raise RoutineError(
                f"{self.place()}: routine {self.__name__!r} cannot take or return {hint}. Use int, "
                "float, bool, an IntEnum, Floats, Integers, Flags, Matrix, IntegerMatrix, Vec2 to Vec6, "
                "Address, a Record or a NamedTuple of these, tuple[<record>, ...], or as a result "
                "tuple[...] of several."
            ) from None

    def place(self, line: int = 1) -> str:
        """Return the location `file:line` of a line of the routine; line 1 is that of its decorator."""
        code = self.function.__code__
        return f"{code.co_filename}:{code.co_firstlineno + line - 1}"

    def source(self, node: ast.AST) -> str:
        """Return the source line of a syntax node, and a second line that marks the node."""
        lines = self._source_text.splitlines()
        number = getattr(node, "lineno", 0)
        if not 0 < number <= len(lines):
            return ""
        line = lines[number - 1]
        text = line.lstrip()
        first = len(line.encode()[: node.col_offset].decode()) - (len(line) - len(text))  # type: ignore[attr-defined]
        if getattr(node, "end_lineno", number) == number:
            end = len(line.encode()[: node.end_col_offset].decode())  # type: ignore[attr-defined]
        else:
            end = len(line)
        marks = "^" * (end - (len(line) - len(text)) - first)
        return f"\n    {text}\n    {' ' * first}{marks}"


_CONSTANT_TYPES = (bool, int, float, Routine)
"""Types of the non-local objects that a routine may use, besides IntEnums and fixed-size vectors."""


def is_type(x: Any) -> bool:
    """Return whether an object is a type that a routine may call: an IntEnum or a fixed-size vector."""
    return is_enum(x) or is_fixed(x)


@cache
def _hash_text(text: str) -> str:
    """Return the digest of a source text."""
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _parse_functions(text: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """Return the functions of a file by name and line."""
    return {(node.name, node.lineno): node for node in find_functions(ast.parse(text))}


@cache
def _find_global_names(text: str) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return the global names that the functions of a file use, by name and line of the functions.

    The symbol table is built faster than the syntax tree.
    """
    names_of = {}
    pending = [symtable(text, "", "exec")]
    while pending:
        scope = pending.pop()
        pending += scope.get_children()
        if isinstance(scope, Function):
            names_of[scope.get_name(), scope.get_lineno()] = scope.get_globals()
    return names_of


def routine(function: Callable[..., Any]) -> Routine:
    """Mark a function as a routine, which can be compiled.

    Parameters
    ----------
    function
        Function in the typed subset of Python, with annotated arguments and result.

    Returns
    -------
    Routine
        Callable that runs the function in Python; `compile_routines` returns machine code.

    Examples
    --------
    >>> import numpy as np
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
