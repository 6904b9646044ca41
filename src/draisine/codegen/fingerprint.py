"""A digest of anything a derivation depends on, so that it can be kept; None where something cannot
be told apart.
"""

import dataclasses
import hashlib
import sys
from functools import partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
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

_SETTLED = frozenset({"draisine", "numpy", "scipy"}) | sys.stdlib_module_names
"""Libraries whose content stays as it is while a program runs."""


class _Unknown(Exception):
    """Something whose content cannot be told."""


def fingerprint(thing: Any) -> str | None:
    """Return a digest of nested data, traced expressions and functions; None where something in it
    has no stable content.

    >>> fingerprint((1, "a")) == fingerprint((1, "a")), fingerprint(object())
    (True, None)
    """
    digest = hashlib.sha256()
    try:
        for part in _parts(thing, set()):
            digest.update(part)
            digest.update(b"\0")
    except _Unknown:
        return None
    return digest.hexdigest()


def _parts(thing: Any, seen: set[Any]) -> Any:
    """Yield bytes that tell the content of a thing."""
    if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes)):
        yield repr(thing).encode()
    elif isinstance(thing, Expr):
        if thing.index not in seen:
            for i in reachable(thing.graph, [thing.index]):
                if i not in seen:
                    seen.add(i)
                    yield repr((i, thing.graph.ops[i])).encode()
        yield f"node {thing.index}".encode()
    elif isinstance(thing, np.ndarray):
        yield repr(thing.shape).encode()
        for x in thing.ravel().tolist():
            yield from _parts(x, seen)
    elif isinstance(thing, (tuple, list, frozenset)):
        yield f"{type(thing).__name__} {len(thing)}".encode()
        for x in thing:
            yield from _parts(x, seen)
    elif isinstance(thing, dict):
        for key, x in thing.items():
            yield from _parts(key, seen)
            yield from _parts(x, seen)
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        for f in dataclasses.fields(thing):
            yield from _parts(getattr(thing, f.name), seen)
        if callable(thing):  # a law is a dataclass that is called
            yield from _kind(type(thing), seen)
        else:
            yield f"{type(thing).__module__}.{type(thing).__qualname__}".encode()
    elif isinstance(thing, FunctionType):
        if ("function", id(thing)) in seen:
            return
        seen.add(("function", id(thing)))
        yield from _code(thing.__code__, seen)
        yield from _parts(thing.__defaults__, seen)
        yield from _parts(thing.__kwdefaults__, seen)
        for cell in thing.__closure__ or ():
            yield from _parts(cell.cell_contents, seen)
        if thing.__module__.partition(".")[0] == "draisine":
            yield f"{thing.__module__} {thing.__qualname__}".encode()
            return
        for name in sorted(_names(thing.__code__) & thing.__globals__.keys()):
            yield name.encode()
            yield from _parts(thing.__globals__[name], seen)
    elif isinstance(thing, (BuiltinFunctionType, np.ufunc)):
        yield getattr(thing, "__qualname__", thing.__name__).encode()
    elif isinstance(thing, (ModuleType, type)):
        home = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__
        if home.partition(".")[0] not in _SETTLED:
            raise _Unknown
        yield f"{home} {thing.__name__}".encode()
    elif isinstance(thing, partial):
        yield from _parts((thing.func, thing.args, thing.keywords), seen)
    elif isinstance(thing, MethodType):
        yield from _parts(thing.__func__, seen)
        yield from _parts(thing.__self__, seen)
    elif isinstance(thing, property):
        yield from _parts(thing.fget, seen)
    elif callable(thing) and hasattr(thing, "__dict__"):
        yield from _parts(dict(vars(thing)), seen)
        yield from _kind(type(thing), seen)
    else:
        raise _Unknown


def _kind(kind: type, seen: set[Any]) -> Any:
    """Yield bytes that tell what the objects of a class do: its own content and its bases'."""
    for base in kind.__mro__[:-1]:
        yield f"{base.__module__}.{base.__qualname__}".encode()
        for name, own in vars(base).items():
            if name not in _GENERATED and name not in _PLAIN and not _is_slot(own):
                yield name.encode()
                yield from _parts(own, seen)


def _is_slot(thing: Any) -> bool:
    return isinstance(thing, (MemberDescriptorType, GetSetDescriptorType))


def _names(code: CodeType) -> set[str]:
    """Return the global names that code and the code inside it may use."""
    inner = [_names(x) for x in code.co_consts if isinstance(x, CodeType)]
    return set(code.co_names).union(*inner)


def _code(code: CodeType, seen: set[Any]) -> Any:
    yield code.co_code
    yield repr(code.co_names).encode()
    for x in code.co_consts:
        yield from _code(x, seen) if isinstance(x, CodeType) else _parts(x, seen)
