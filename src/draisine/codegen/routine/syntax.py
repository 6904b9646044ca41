"""Traversal of Python syntax trees, faster than by the functions of the module `ast`, which would take half
of the time to read a routine.
"""

import ast
from collections.abc import Iterator
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)


def walk_tree(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, in no particular order."""
    pending = [node]
    while pending:
        child = pending.pop()
        yield child
        for value in child.__dict__.values():
            if isinstance(value, ast.AST):
                pending.append(value)
            elif isinstance(value, list):
                pending += [x for x in value if isinstance(x, ast.AST)]


def find_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield all functions of a module, also those in classes, functions and conditions."""
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef):
            yield node
        for name in ("body", "orelse", "handlers", "finalbody"):
            pending += getattr(node, name, ())


def copy_location(old: Any, new: Node) -> Node:
    """Return a new syntax node, and all new nodes below it, with the source location of an old node."""
    pending: list[Any] = [new]
    while pending:
        child = pending.pop()
        if "lineno" in child._attributes:
            if child is not new and hasattr(child, "lineno"):
                continue  # nodes from the source have their own location
            child.lineno = old.lineno
            child.col_offset = old.col_offset
            child.end_lineno = old.end_lineno
            child.end_col_offset = old.end_col_offset
        pending += ast.iter_child_nodes(child)
    return new
