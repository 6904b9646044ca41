"""Functions in scenario files, written as arithmetic expressions such as "0.02*sin(2*pi*x/1.5)".

A scenario is data: only numbers, the coordinates, arithmetic and the functions of `FUNCTIONS` are allowed,
and nothing else of Python is evaluated.
"""

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import did_you_mean

OPERATORS: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
"""Arithmetic operations of expressions."""

FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
}
"""Functions of one argument in expressions; angles are in radians."""

CONSTANTS = {"pi": math.pi}
"""Constants in expressions."""

MAX_LENGTH = 1000
"""Largest number of characters of an expression; longer ones could exceed the recursion limit."""


def parse_expression(text: str, variables: Collection[str]) -> Callable[..., Floats]:
    """Return the function that an expression describes.

    Parameters
    ----------
    text
        Arithmetic expression: numbers, variables, `pi`, + - * / ** and functions; ^ is also a power.
    variables
        Names of the variables, in the order of the arguments of the function.

    Raises
    ------
    ValueError
        If the expression contains anything else.

    Examples
    --------
    >>> parse_expression("2*x + cos(pi*y)", ["x", "y"])(1.5, 1.0)
    np.float64(2.0)
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the expression has {len(text)} characters; the maximum is {MAX_LENGTH}")
    try:
        tree = ast.parse(text.replace("^", "**").strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise ValueError(
            f"{text!r} is not an expression; write for example '0.02*sin(2*pi*x)'"
        ) from None
    _check_syntax(tree, variables, text)

    def evaluate_function(*arguments: Any) -> Floats:
        """Return the value of the expression for values of its variables."""
        values = dict(zip(variables, arguments, strict=True)) | CONSTANTS
        # Suppress floating-point warnings. The ground reports values that are not finite, with the
        # name of their key.
        with np.errstate(all="ignore"):
            return np.asarray(_evaluate_node(tree, values), float)[()]

    return evaluate_function


def _check_syntax(node: ast.AST, variables: Collection[str], expression_text: str) -> None:
    """Raise `ValueError` if an expression contains anything but arithmetic of the variables."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return
    if isinstance(node, ast.Name):
        allowed_names = [*variables, *CONSTANTS]
        if node.id in allowed_names:
            return
        if node.id in FUNCTIONS:
            raise ValueError(f"the function {node.id!r} needs an argument: {node.id}(x)")
        hint = did_you_mean(node.id, allowed_names)
        if node.id == "y":
            hint = "Give the range `y` of the ground, as [first, last]."
        raise ValueError(f"{expression_text!r} contains the unknown name {node.id!r}. {hint}")
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        _check_syntax(node.left, variables, expression_text)
        _check_syntax(node.right, variables, expression_text)
        return
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        _check_syntax(node.operand, variables, expression_text)
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id not in FUNCTIONS:
            hint = did_you_mean(node.func.id, FUNCTIONS)
            raise ValueError(
                f"{expression_text!r} contains the unknown function {node.func.id!r}. {hint}"
            )
        if len(node.args) != 1 or node.keywords:
            raise ValueError(f"the function {node.func.id!r} takes one argument")
        _check_syntax(node.args[0], variables, expression_text)
        return
    raise ValueError(
        f"{expression_text!r} is not supported: an expression consists of numbers, "
        f"{', '.join(variables)}, pi, + - * / ** and the functions {', '.join(FUNCTIONS)}"
    )


def _evaluate_node(node: ast.AST, values: Mapping[str, Any]) -> Any:
    """Return the value of a checked expression for numbers or arrays."""
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int | float)
        # Use floating-point numbers: a power of large integers, such as 9**9**9, would take
        # forever.
        return np.float64(node.value)
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.BinOp):
        left = _evaluate_node(node.left, values)
        return OPERATORS[type(node.op)](left, _evaluate_node(node.right, values))
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](_evaluate_node(node.operand, values))
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return FUNCTIONS[node.func.id](_evaluate_node(node.args[0], values))
