"""Walks through syntax trees. Those of the module `ast` take half of the time to read all routines."""

import ast
from collections.abc import Iterator
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, in no particular order."""
    left = [node]
    while left:
        one = left.pop()
        yield one
        for value in one.__dict__.values():
            if isinstance(value, ast.AST):
                left.append(value)
            elif isinstance(value, list):
                left += [x for x in value if isinstance(x, ast.AST)]


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield all functions of a module, also those in classes, functions and conditions."""
    left: list[Any] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef):
            yield node
        for name in ("body", "orelse", "handlers", "finalbody"):
            left += getattr(node, name, ())


def place_at(old: Any, new: Node) -> Node:
    """Return a new node, and all new nodes below it, with the location of an old one."""
    left: list[Any] = [new]
    while left:
        one = left.pop()
        if "lineno" in one._attributes:
            if one is not new and hasattr(one, "lineno"):
                continue  # nodes from the source, which know where they are
            one.lineno = old.lineno
            one.col_offset = old.col_offset
            one.end_lineno = old.end_lineno
            one.end_col_offset = old.end_col_offset
        left += ast.iter_child_nodes(one)
    return new
