"""Digests of Python objects, used as cache keys: objects with equal digests behave equally.

Every value is digested with its type, every container with its length, every attribute with its name. An
object that occurs again is digested as a reference to its first occurrence. State outside of the memory of
the process (files, clocks, random numbers) and objects implemented in another language cannot be digested;
then the digest is None, and nothing is cached.
"""

import dataclasses
import dis
import hashlib
import struct
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cached_property, partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from draisine.algebra.trace import Expr, reachable

_DATACLASS_METHODS = frozenset(
    f"__{name}__" for name in ("init", "repr", "eq", "hash", "setattr", "delattr", "replace")
)
"""Names of the methods that `dataclass` generates from the fields of a class."""

_INERT_MEMBERS = frozenset(
    f"__{name}__"
    for name in ("dict", "weakref", "doc", "module", "annotations", "slots", "match_args")
) | {"__dataclass_fields__", "__dataclass_params__", "__getstate__", "__setstate__"}
"""Names of class members that do not affect the behaviour of objects."""

_VOLATILE_LIBRARIES = frozenset(
    ("random", "secrets", "time", "datetime", "uuid", "os", "io", "pathlib", "socket", "threading")
)
"""Names of libraries whose functions return different results from one call to the next."""

_STABLE_LIBRARIES = (
    frozenset({"draisine", "numpy", "scipy"}) | sys.stdlib_module_names
) - _VOLATILE_LIBRARIES
"""Names of libraries whose objects are identified by name, because their code does not change while a program
runs.
"""

_IMPURE_NAMES = _VOLATILE_LIBRARIES | frozenset(
    ("open", "input", "eval", "exec", "globals", "locals", "__import__")
)
"""Names whose use makes code depend on state outside of it, such as files, clocks or random numbers."""


class _Undigestible(Exception):
    """Error raised for an object that cannot be digested."""


def fingerprint(value: Any) -> str | None:
    """Return a digest of nested data, traced expressions and functions; None if a part cannot be digested.

    >>> fingerprint((1, "a")) == fingerprint((1, "a")), fingerprint((1, "a")) == fingerprint(["1a"])
    (True, False)
    >>> print(fingerprint(object()))
    None
    """
    try:
        return _Digest().digest_of(value)
    except _Undigestible:
        return None


class _Digest:
    """Digest under construction. It keeps all digested objects alive, because the `id` of a deleted object
    may be reused.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen: dict[Any, tuple[int, Any]] = {}

    def digest_of(self, value: Any) -> str:
        """Return the digest of one object."""
        self.add(value)
        return self._hash.hexdigest()

    def add_word(self, kind: str, content: bytes | str = b"") -> None:
        """Add type name, length and content of a value to the digest."""
        data = content.encode() if isinstance(content, str) else content
        self._hash.update(f"{kind} {len(data)}:".encode() + data)

    def add_sequence(self, kind: str, values: Any) -> None:
        """Add type name, length and entries of a sequence to the digest."""
        entries = list(values)
        self.add_word(kind, str(len(entries)))
        for entry in entries:
            self.add(entry)

    def add_named(self, kind: str, values: dict[str, Any]) -> None:
        """Add values with their names to the digest."""
        self.add_sequence(kind, (entry for item in values.items() for entry in item))

    def add(self, value: Any) -> None:
        """Add any object to the digest."""
        write = _ATOMS.get(type(value))
        if write is not None:
            self.add_word(type(value).__name__, write(value))
            return
        # Compare immutable containers by content, not by identity: equal tuples behave alike.
        if type(value) in (tuple, frozenset):
            _CONTAINERS[type(value)](self, value)
            return
        if self._add_back_reference(id(value), value):
            return
        if type(value) in _CONTAINERS:
            _CONTAINERS[type(value)](self, value)
            return
        for kind, add_to_digest in _DIGESTERS:
            if isinstance(value, kind):
                add_to_digest(self, value)
                return
        _digest_object(self, value)

    def _add_back_reference(self, key: Any, value: Any) -> bool:
        """Return whether an object was seen before; if so, add the index of its first occurrence."""
        if key in self._seen:
            self.add_word("again", str(self._seen[key][0]))
            return True
        self._seen[key] = (len(self._seen), value)
        return False

    def add_expression(self, x: Expr) -> None:
        """Add a traced expression: first all nodes on which it depends, unless they were added before, then
        the index of its own node.
        """
        if (id(x.graph), x.index) not in self._seen:
            for i in reachable(x.graph, [x.index]):
                if (id(x.graph), i) not in self._seen:
                    self._seen[id(x.graph), i] = (i, x.graph)
                    self.add_word("op", repr((i, x.graph.ops[i])))
        self.add_word("node", str(x.index))


_ATOMS: dict[type, Callable[[Any], bytes | str]] = {
    type(None): lambda x: "",
    type(...): lambda x: "",
    type(NotImplemented): lambda x: "",
    bool: str,
    int: str,
    float: lambda x: struct.pack("<d", x),
    complex: lambda x: struct.pack("<dd", x.real, x.imag),
    str: lambda x: x.encode("utf-8", "surrogatepass"),
    bytes: bytes,
    range: repr,
    slice: repr,
}
"""Functions from a plain value to its content as bytes or text, by the exact type of the value."""


def _digest_array(digest: _Digest, value: np.ndarray) -> None:
    """Add data type, shape and entries of an array to a digest."""
    digest.add_word("array", f"{value.dtype.str} {value.shape}")
    if value.dtype.hasobject:
        digest.add_sequence("entries", value.ravel().tolist())
    else:
        digest.add_word("bytes", np.ascontiguousarray(value).tobytes())


def _digest_set(digest: _Digest, value: set[Any] | frozenset[Any]) -> None:
    """Add a set to a digest by the sorted digests of its entries, because its order is not defined."""
    digest.add_word(type(value).__name__, str(len(value)))
    for entry in sorted(_Digest().digest_of(x) for x in value):
        digest.add_word("entry", entry)


def _digest_function(digest: _Digest, value: FunctionType) -> None:
    """Add a function to a digest: code, defaults, closure, attributes and the globals that it reads."""
    digest.add_word("function", f"{value.__module__} {value.__qualname__} {value.__name__}")
    _digest_code(digest, value.__code__)
    digest.add(value.__defaults__)
    digest.add(value.__kwdefaults__)
    digest.add_sequence("cells", (_cell_content(cell) for cell in value.__closure__ or ()))
    digest.add_named("attributes", value.__dict__)
    # Functions of this package need no digest of their globals, because the cache key contains a
    # digest of its source files.
    if _library_of(value.__module__) == "draisine":
        return
    names = _global_names(value.__code__)
    if names & _IMPURE_NAMES:
        raise _Undigestible
    read = sorted(names & value.__globals__.keys())
    digest.add_named("globals", {name: value.__globals__[name] for name in read})


def _cell_content(cell: Any) -> Any:
    """Return the content of a closure cell."""
    try:
        return cell.cell_contents
    except ValueError:  # the cell is still empty
        raise _Undigestible from None


def _digest_code(digest: _Digest, code: CodeType) -> None:
    """Add compiled code to a digest: bytecode, names and constants, but no line numbers."""
    digest.add_word("code", code.co_code)
    digest.add_word("handlers", code.co_exceptiontable)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    digest.add_word("names", repr((counts, names)))
    digest.add_sequence("constants", code.co_consts)


def _global_names(code: CodeType) -> set[str]:
    """Return the global names that code and nested code may use."""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME" and _library_of(str(step.argval)) not in _STABLE_LIBRARIES:
            raise _Undigestible
    inner = [_global_names(x) for x in code.co_consts if isinstance(x, CodeType)]
    return set(code.co_names).union(*inner)


def _digest_builtin(digest: _Digest, value: Any) -> None:
    """Add a function implemented in C to a digest: by its name; a bound method also with its object."""
    owner = value.__self__
    if isinstance(owner, ModuleType) or owner is None:
        if _library_of(value.__module__ or "builtins") not in _STABLE_LIBRARIES:
            raise _Undigestible
        digest.add_word("builtin", f"{value.__module__} {value.__qualname__}")
    else:
        digest.add_word("builtin", value.__qualname__)
        digest.add(owner)


def _digest_ufunc(digest: _Digest, value: np.ufunc) -> None:
    """Add a universal function of NumPy to a digest; others (np.frompyfunc) have no stable name."""
    if getattr(np, value.__name__, None) is not value:
        raise _Undigestible
    digest.add_word("ufunc", value.__name__)


def _digest_slot(digest: _Digest, value: Any) -> None:
    """Add a method that a class implements in C to a digest, such as `float.__add__`."""
    digest.add_word("slot", value.__qualname__)
    digest.add(value.__objclass__)


def _digest_module(digest: _Digest, value: ModuleType) -> None:
    """Add a module to a digest by its name."""
    if _library_of(value.__name__) not in _STABLE_LIBRARIES:
        raise _Undigestible
    digest.add_word("module", value.__name__)


def _digest_class(digest: _Digest, value: type) -> None:
    """Add a class to a digest: its name, its bases and the members that affect its objects."""
    digest.add_word("class", f"{value.__module__}.{value.__qualname__}")
    if _library_of(value.__module__) in _STABLE_LIBRARIES:
        return
    digest.add_sequence("bases", value.__bases__)
    digest.add_named("members", dict(_behaviour_members(value)))


def _behaviour_members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the members of a class that can affect the behaviour of its objects."""
    for name, member in vars(kind).items():
        is_generated = getattr(getattr(member, "__code__", None), "co_filename", "") == "<string>"
        generated_by_dataclass = (
            dataclasses.is_dataclass(kind)
            and name in _DATACLASS_METHODS
            and (is_generated or member is None)
        )
        slot = isinstance(member, (MemberDescriptorType, GetSetDescriptorType))
        if not (generated_by_dataclass or slot or name in _INERT_MEMBERS):
            yield name, member


def _digest_enum(digest: _Digest, value: Enum) -> None:
    """Add a member of an enumeration to a digest: its class and its value."""
    digest.add_word("member", value.name)
    digest.add(value.value)
    digest.add_word("class", f"{type(value).__module__}.{type(value).__qualname__}")


def _digest_partial(digest: _Digest, value: Any) -> None:
    """Add a partial function to a digest: function, arguments and keyword arguments."""
    digest.add_sequence("partial", (value.func, value.args, value.keywords, value.__dict__))


def _digest_object(digest: _Digest, value: Any) -> None:
    """Add an object of a Python class: class, attributes and slots by name, items of a container."""
    kind: Any = type(value)
    custom = [name for name in ("__reduce__", "__reduce_ex__") if _overrides_pickling(kind, name)]
    if (
        kind is object
        or custom
        or (_overrides_pickling(kind, "__getstate__") and not _has_dataclass_state(kind))
    ):
        raise _Undigestible
    # `object.__reduce_ex__` raises an error for objects that have state outside of Python, such as
    # open files.
    try:
        reduced: Any = object.__reduce_ex__(value, 2)
    except TypeError:
        raise _Undigestible from None
    _, (_, *constructor_arguments), _, *items = reduced
    digest.add_word("object")
    digest.add(kind)
    digest.add_sequence("given", constructor_arguments)
    digest.add_named("attributes", _attributes_of(value))
    digest.add_sequence("items", (list(entries) for entries in items if entries is not None))


def _overrides_pickling(kind: Any, name: str) -> bool:
    """Return whether a class overrides a method of the pickle protocol."""
    return getattr(kind, name, None) is not getattr(object, name, None)


def _has_dataclass_state(kind: Any) -> bool:
    """Return whether `dataclass(slots=True)` generated the state methods of a class."""
    return bool(kind.__getstate__.__module__ == "dataclasses")


def _attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes and slots of an object by name.

    Cached properties of stable classes are left out: they follow from the other attributes.
    """
    kind = type(value)
    attributes = dict(getattr(value, "__dict__", {}))
    if _library_of(kind.__module__) in _STABLE_LIBRARIES:
        attributes = {
            k: x
            for k, x in attributes.items()
            if not isinstance(vars(kind).get(k), cached_property)
        }
    for base in kind.__mro__:
        for name, slot in vars(base).items():
            if isinstance(slot, MemberDescriptorType) and hasattr(value, name):
                attributes[f"{base.__qualname__}.{name}"] = getattr(value, name)
    return attributes


def _library_of(module: str | None) -> str:
    """Return the top-level package of a module."""
    return (module or "").partition(".")[0]


_DIGESTERS: tuple[tuple[Any, Callable[[_Digest, Any], None]], ...] = (
    (Expr, _Digest.add_expression),
    (np.ndarray, _digest_array),
    (np.generic, lambda d, x: d.add_word(f"scalar {x.dtype.str}", x.tobytes())),
    (np.dtype, lambda d, x: d.add_word("dtype", x.str)),
    (Enum, _digest_enum),
    (FunctionType, _digest_function),
    (CodeType, _digest_code),
    (BuiltinFunctionType, _digest_builtin),
    (np.ufunc, _digest_ufunc),
    ((WrapperDescriptorType, MethodDescriptorType), _digest_slot),
    (ModuleType, _digest_module),
    (type, _digest_class),
    (partial, _digest_partial),
    (MethodType, lambda d, x: d.add_sequence("method", (x.__func__, x.__self__))),
    (property, lambda d, x: d.add_sequence("property", (x.fget, x.fset, x.fdel))),
    (cached_property, lambda d, x: d.add_sequence("cached_property", (x.func,))),
    (classmethod, lambda d, x: d.add_sequence("classmethod", (x.__func__, x.__dict__))),
    (staticmethod, lambda d, x: d.add_sequence("staticmethod", (x.__func__, x.__dict__))),
    (MappingProxyType, lambda d, x: d.add_sequence("mapping", x.items())),
)
"""Functions that add an object to a digest, by type; the first match is used, `_digest_object` for all other
types.
"""

_CONTAINERS: dict[type, Callable[[_Digest, Any], None]] = {
    tuple: lambda d, x: d.add_sequence("tuple", x),
    list: lambda d, x: d.add_sequence("list", x),
    dict: lambda d, x: d.add_sequence("dict", (entry for item in x.items() for entry in item)),
    set: _digest_set,
    frozenset: _digest_set,
}
"""Functions that add a container to a digest, by its exact type."""
