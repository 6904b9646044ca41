"""A digest of anything a derivation depends on, so that it can be kept; None where something cannot
be told apart.

Two things with one digest act alike: every value is written with its type, every container with its
length, every attribute with its name, and what is met a second time is told by when it was met
first. What lives outside the program's memory (files, clocks, random numbers) or inside an object of
another language cannot be told; then there is no digest.
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

_GENERATED = frozenset(
    f"__{name}__" for name in ("init", "repr", "eq", "hash", "setattr", "delattr", "replace")
)
"""Methods that a dataclass writes itself."""

_PLAIN = frozenset(
    f"__{name}__"
    for name in ("dict", "weakref", "doc", "module", "annotations", "slots", "match_args")
) | {"__dataclass_fields__", "__dataclass_params__", "__getstate__", "__setstate__"}
"""What a class has and what does not tell what its objects do."""

_CHANGING = frozenset(
    ("random", "secrets", "time", "datetime", "uuid", "os", "io", "pathlib", "socket", "threading")
)
"""Libraries whose answers change from one call to the next."""

_SETTLED = (frozenset({"draisine", "numpy", "scipy"}) | sys.stdlib_module_names) - _CHANGING
"""Libraries whose content stays as it is while a program runs."""

_OUTSIDE = _CHANGING | frozenset(
    ("open", "input", "eval", "exec", "globals", "locals", "__import__")
)
"""Names by which code reaches what its own content does not tell."""


class _Unknown(Exception):
    """Something whose content cannot be told."""


def fingerprint(thing: Any) -> str | None:
    """Return a digest of nested data, traced expressions and functions; None where something in it
    has no stable content.

    >>> fingerprint((1, "a")) == fingerprint((1, "a")), fingerprint((1, "a")) == fingerprint(["1a"])
    (True, False)
    >>> print(fingerprint(object()))
    None
    """
    try:
        return _Digest().of(thing)
    except _Unknown:
        return None


class _Digest:
    """A digest under way: what was met so far, in order, and kept alive."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._met: dict[Any, tuple[int, Any]] = {}

    def of(self, thing: Any) -> str:
        """Return the digest of one thing."""
        self.add(thing)
        return self._hash.hexdigest()

    def word(self, kind: str, content: bytes | str = b"") -> None:
        """Take in a word: its kind, its length and its content."""
        data = content.encode() if isinstance(content, str) else content
        self._hash.update(f"{kind} {len(data)}:".encode() + data)

    def many(self, kind: str, values: Any) -> None:
        """Take in a sequence: its kind, its length and its entries."""
        entries = list(values)
        self.word(kind, str(len(entries)))
        for entry in entries:
            self.add(entry)

    def named(self, kind: str, values: dict[str, Any]) -> None:
        """Take in things by name."""
        self.many(kind, (entry for item in values.items() for entry in item))

    def add(self, thing: Any) -> None:
        """Take in anything."""
        write = _ATOMS.get(type(thing))
        if write is not None:
            self.word(type(thing).__name__, write(thing))
            return
        if type(thing) in (tuple, frozenset):  # never changed, so only their content counts
            _CONTAINERS[type(thing)](self, thing)
            return
        if self._again(id(thing), thing):
            return
        if type(thing) in _CONTAINERS:
            _CONTAINERS[type(thing)](self, thing)
            return
        for kind, take in _TAKEN:
            if isinstance(thing, kind):
                take(self, thing)
                return
        _take_object(self, thing)

    def _again(self, key: Any, thing: Any) -> bool:
        """Return whether something was met before; then take in when."""
        if key in self._met:
            self.word("again", str(self._met[key][0]))
            return True
        self._met[key] = (len(self._met), thing)
        return False

    def node(self, x: Expr) -> None:
        """Take in a traced expression: the nodes below it that were not met yet, and its own."""
        if (id(x.graph), x.index) not in self._met:
            for i in reachable(x.graph, [x.index]):
                if (id(x.graph), i) not in self._met:
                    self._met[id(x.graph), i] = (i, x.graph)
                    self.word("op", repr((i, x.graph.ops[i])))
        self.word("node", str(x.index))


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
"""Plain values, by their exact type."""


def _take_array(digest: _Digest, thing: np.ndarray) -> None:
    digest.word("array", f"{thing.dtype.str} {thing.shape}")
    if thing.dtype.hasobject:
        digest.many("entries", thing.ravel().tolist())
    else:
        digest.word("bytes", np.ascontiguousarray(thing).tobytes())


def _take_set(digest: _Digest, thing: set[Any] | frozenset[Any]) -> None:
    """Take in a set by the sorted digests of its entries: it has no order."""
    digest.word(type(thing).__name__, str(len(thing)))
    for entry in sorted(_Digest().of(x) for x in thing):
        digest.word("entry", entry)


def _take_function(digest: _Digest, thing: FunctionType) -> None:
    """Take in a function: code, defaults, what it closes over and reads from its module, and its
    own attributes.
    """
    digest.word("function", f"{thing.__module__} {thing.__qualname__} {thing.__name__}")
    _take_code(digest, thing.__code__)
    digest.add(thing.__defaults__)
    digest.add(thing.__kwdefaults__)
    digest.many("cells", (_cell(cell) for cell in thing.__closure__ or ()))
    digest.named("attributes", thing.__dict__)
    if _home(thing.__module__) == "draisine":
        return
    names = _names(thing.__code__)
    if names & _OUTSIDE:
        raise _Unknown
    read = sorted(names & thing.__globals__.keys())
    digest.named("globals", {name: thing.__globals__[name] for name in read})


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        raise _Unknown from None


def _take_code(digest: _Digest, code: CodeType) -> None:
    digest.word("code", code.co_code)
    digest.word("handlers", code.co_exceptiontable)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    digest.word("names", repr((counts, names)))
    digest.many("constants", code.co_consts)


def _names(code: CodeType) -> set[str]:
    """Return the global names that code and the code inside it may use."""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME" and _home(str(step.argval)) not in _SETTLED:
            raise _Unknown
    inner = [_names(x) for x in code.co_consts if isinstance(x, CodeType)]
    return set(code.co_names).union(*inner)


def _take_builtin(digest: _Digest, thing: Any) -> None:
    owner = thing.__self__
    if isinstance(owner, ModuleType) or owner is None:
        if _home(thing.__module__ or "builtins") not in _SETTLED:
            raise _Unknown
        digest.word("builtin", f"{thing.__module__} {thing.__qualname__}")
    else:
        digest.word("builtin", thing.__qualname__)
        digest.add(owner)


def _take_ufunc(digest: _Digest, thing: np.ufunc) -> None:
    if getattr(np, thing.__name__, None) is not thing:
        raise _Unknown
    digest.word("ufunc", thing.__name__)


def _take_slot(digest: _Digest, thing: Any) -> None:
    digest.word("slot", thing.__qualname__)
    digest.add(thing.__objclass__)


def _take_module(digest: _Digest, thing: ModuleType) -> None:
    if _home(thing.__name__) not in _SETTLED:
        raise _Unknown
    digest.word("module", thing.__name__)


def _take_class(digest: _Digest, thing: type) -> None:
    """Take in what the objects of a class do: its own content and its bases'."""
    digest.word("class", f"{thing.__module__}.{thing.__qualname__}")
    if _home(thing.__module__) in _SETTLED:
        return
    digest.many("bases", thing.__bases__)
    digest.named("members", dict(_members(thing)))


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the members of a class that may decide what its objects do."""
    for name, member in vars(kind).items():
        is_generated = getattr(getattr(member, "__code__", None), "co_filename", "") == "<string>"
        generated_by_dataclass = (
            dataclasses.is_dataclass(kind)
            and name in _GENERATED
            and (is_generated or member is None)
        )
        slot = isinstance(member, (MemberDescriptorType, GetSetDescriptorType))
        if not (generated_by_dataclass or slot or name in _PLAIN):
            yield name, member


def _take_enum(digest: _Digest, thing: Enum) -> None:
    digest.word("member", thing.name)
    digest.add(thing.value)
    digest.word("class", f"{type(thing).__module__}.{type(thing).__qualname__}")


def _take_partial(digest: _Digest, thing: Any) -> None:
    digest.many("partial", (thing.func, thing.args, thing.keywords, thing.__dict__))


def _take_object(digest: _Digest, thing: Any) -> None:
    """Take in an object of a class written in Python: its class, its attributes and slots by name,
    and what it holds as a container.
    """
    kind: Any = type(thing)
    custom = [name for name in ("__reduce__", "__reduce_ex__") if _overrides(kind, name)]
    if kind is object or custom or (_overrides(kind, "__getstate__") and not _is_packed(kind)):
        raise _Unknown
    try:  # refuses objects with content of another language
        reduced: Any = object.__reduce_ex__(thing, 2)
    except TypeError:
        raise _Unknown from None
    _, (_, *constructor_arguments), _, *items = reduced
    digest.word("object")
    digest.add(kind)
    digest.many("given", constructor_arguments)
    digest.named("attributes", _attributes(thing))
    digest.many("items", (list(entries) for entries in items if entries is not None))


def _overrides(kind: Any, name: str) -> bool:
    """Return whether a class has its own way to be packed."""
    return getattr(kind, name, None) is not getattr(object, name, None)


def _is_packed(kind: Any) -> bool:
    """Return whether a class has the state that dataclasses with slots are given."""
    return bool(kind.__getstate__.__module__ == "dataclasses")


def _attributes(thing: Any) -> dict[str, Any]:
    """Return the attributes and slots of an object by name; what a settled class keeps of its own
    properties follows from the rest.
    """
    kind = type(thing)
    attributes = dict(getattr(thing, "__dict__", {}))
    if _home(kind.__module__) in _SETTLED:
        attributes = {
            k: x
            for k, x in attributes.items()
            if not isinstance(vars(kind).get(k), cached_property)
        }
    for base in kind.__mro__:
        for name, slot in vars(base).items():
            if isinstance(slot, MemberDescriptorType) and hasattr(thing, name):
                attributes[f"{base.__qualname__}.{name}"] = getattr(thing, name)
    return attributes


def _home(module: str | None) -> str:
    """Return the library that a module belongs to."""
    return (module or "").partition(".")[0]


_TAKEN: tuple[tuple[Any, Callable[[_Digest, Any], None]], ...] = (
    (Expr, _Digest.node),
    (np.ndarray, _take_array),
    (np.generic, lambda d, x: d.word(f"scalar {x.dtype.str}", x.tobytes())),
    (np.dtype, lambda d, x: d.word("dtype", x.str)),
    (Enum, _take_enum),
    (FunctionType, _take_function),
    (CodeType, _take_code),
    (BuiltinFunctionType, _take_builtin),
    (np.ufunc, _take_ufunc),
    ((WrapperDescriptorType, MethodDescriptorType), _take_slot),
    (ModuleType, _take_module),
    (type, _take_class),
    (partial, _take_partial),
    (MethodType, lambda d, x: d.many("method", (x.__func__, x.__self__))),
    (property, lambda d, x: d.many("property", (x.fget, x.fset, x.fdel))),
    (cached_property, lambda d, x: d.many("cached_property", (x.func,))),
    (classmethod, lambda d, x: d.many("classmethod", (x.__func__, x.__dict__))),
    (staticmethod, lambda d, x: d.many("staticmethod", (x.__func__, x.__dict__))),
    (MappingProxyType, lambda d, x: d.many("mapping", x.items())),
)
"""How things of a kind are taken in, the first that fits; `_take_object` takes the rest."""

_CONTAINERS: dict[type, Callable[[_Digest, Any], None]] = {
    tuple: lambda d, x: d.many("tuple", x),
    list: lambda d, x: d.many("list", x),
    dict: lambda d, x: d.many("dict", (part for item in x.items() for part in item)),
    set: _take_set,
    frozenset: _take_set,
}
"""How containers are taken in, by their exact type."""
