"""Type inference for routines: finds the type of every expression, and rejects code outside of the typed
subset of Python.

Errors contain file, line and source text.
"""

import ast
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from functools import cache
from typing import Any

from draisine.codegen.routine.function import ROUTINE_FUNCTIONS, Routine, is_type
from draisine.codegen.routine.kinds import (
    ADDRESS,
    BOOL,
    DOUBLES,
    FLOAT,
    INT,
    VOID,
    ArrayKind,
    Kind,
    fields,
    is_enum,
    is_fixed,
    is_matrix,
    is_mutable,
    is_record,
    is_sequence,
    name_of,
)
from draisine.codegen.routine.syntax import walk_tree
from draisine.codegen.routine.vectors import expand_slices, slice_length
from draisine.errors import RoutineError

_ORDERINGS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
"""Comparison operators of numbers in the subset."""


@dataclass(frozen=True, eq=False)
class Definition:
    """A checked routine with the types of its expressions; writers of code need no other input."""

    routine: Routine
    body: list[ast.stmt]  # statements without docstring and slice statements
    kinds: dict[ast.expr, Kind]  # types of all expressions
    names: dict[str, Kind]  # types of the local names, without arguments
    lanes: frozenset[str]  # local names with one value per SIMD lane
    # Number, routine or type to which each name from outside the routine refers; for a function,
    # its name in ROUTINE_FUNCTIONS
    meaning: dict[str, Any]
    constants: dict[ast.expr, IntEnum]  # members of enumerations in the source text


@cache
def read_routine(routine: Routine) -> Definition:
    """Return a routine with the types of all its expressions, or raise RoutineError."""
    return _SubsetReader(routine).read_definition()


class _SubsetReader:
    """Type inference of one routine: finds the type of every expression and rejects code outside of the
    subset.
    """

    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        # The attributes without comment become the fields of `Definition` with the same names.
        self.kinds: dict[ast.expr, Kind] = {}
        self.names: dict[str, Kind] = {}
        self.lanes: set[str] = set()
        self.closed: set[str] = set()  # variables of loops that have ended
        self.each: str | None = None  # variable of the current loop over `each`
        self.indexing = False  # whether the current expression is an index
        self.meaning: dict[str, Any] = {}
        self.constants: dict[ast.expr, IntEnum] = {}

    def read_definition(self) -> Definition:
        """Return the routine with the types of its expressions."""
        function = self.routine.tree
        self.first = min([function.lineno, *[d.lineno for d in function.decorator_list]])
        arguments = function.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            self.refuse(function, "has optional, keyword-only or variable arguments; use positional "
                                  "arguments without defaults")  # fmt: skip
        body = function.body
        if ast.get_docstring(function) is not None:
            body = body[1:]
        body = expand_slices(body, self.refuse)
        self.check_block(body)
        if self.routine.returns != VOID and not _always_returns(body):
            self.refuse(function, "does not return a value on every path")
        return Definition(
            self.routine,
            body,
            self.kinds,
            self.names,
            frozenset(self.lanes),
            self.meaning,
            self.constants,
        )

    def refuse(self, node: ast.AST, reason: str) -> Any:
        """Raise RoutineError for a syntax node, with file, line, reason and source text."""
        line = getattr(node, "lineno", self.first) - self.first + 1
        text = self.routine.source(node) if hasattr(node, "col_offset") else ""
        location = f"{self.routine.place(line)}: routine {self.routine.__name__!r}"
        raise RoutineError(f"{location} {reason}.{text}")

    # --- statements

    def check_block(self, body: list[ast.stmt]) -> None:
        """Check statements in order."""
        for statement in body:
            self.check_statement(statement)

    def check_statement(self, node: ast.stmt) -> None:
        """Check one statement, and find the types of its expressions."""
        match node:
            case ast.Assign(targets=[target], value=value):
                self.check_assignment(node, target, value)
            case ast.AugAssign(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                kind = self.kind_of_arithmetic(
                    node, node.op, self.kind_of_expression(node.target), node.value
                )
                self.check_target(node.target, kind, node.value)
            case ast.If():
                self.expect_bool(node.test)
                if self.each and self.differs_between_lanes(node.test):
                    self.refuse(node.test, "branches on a value that differs between SIMD lanes; "
                                           "write `a if c else b`")  # fmt: skip
                self.check_block(node.body)
                self.check_block(node.orelse)
            case ast.While(orelse=[]) if self.each is None:
                self.expect_bool(node.test)
                self.check_block(node.body)
            case ast.For(orelse=[], target=ast.Name(id=name)):
                self.check_loop(node, name)
            case ast.Return() if self.each is None:
                self.check_return(node)
            case ast.Break() | ast.Continue() if self.each is None:
                pass
            case ast.Pass():
                pass
            case ast.Expr(value=ast.Call()):
                self.kind_of_expression(node.value)
            case _:
                context = " inside `each`" if self.each else ""
                text = ast.unparse(node).splitlines()[0]
                self.refuse(node, f"cannot contain the statement `{text}`{context}")

    def check_assignment(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        """Check an assignment to one target, or to several targets in a tuple."""
        if not isinstance(target, ast.Tuple):
            self.check_target(target, self.kind_of_expression(value), value)
            return
        if isinstance(value, ast.Tuple):
            kinds = [self.kind_of_expression(element) for element in value.elts]
            values: list[ast.expr] = value.elts
        else:
            kinds = self.unpacked_kinds(value)
            values = [value] * len(kinds)
        if len(target.elts) != len(kinds):
            self.refuse(node, f"assigns {len(kinds)} values to {len(target.elts)} targets")
        for element, kind, source in zip(target.elts, kinds, values, strict=True):
            self.check_target(element, kind, source)

    def unpacked_kinds(self, value: ast.expr) -> list[Kind]:
        """Return the types of several values in one expression: results of a routine, or entries of a
        vector.
        """
        kind = self.kind_of_expression(value, allows_several=True)
        if isinstance(kind, tuple):
            return list(kind)
        if is_fixed(kind):
            return [FLOAT] * kind.size
        self.refuse(
            value, f"cannot assign `{ast.unparse(value)}` ({name_of(kind)}) to several targets"
        )
        raise AssertionError

    def check_return(self, node: ast.Return) -> None:
        """Check that a returned value has the declared type."""
        expected = self.routine.returns
        value = node.value
        if isinstance(value, ast.Tuple):
            kinds = [self.kind_of_expression(element) for element in value.elts]
            several = expected if isinstance(expected, tuple) else ()
            if len(kinds) != len(several):
                self.refuse(node, f"returns {len(kinds)} values instead of {name_of(expected)}")
            for element, kind, declared in zip(value.elts, kinds, several, strict=True):
                self.expect_kind(
                    element,
                    kind,
                    declared,
                    f"returns {name_of(kind)} instead of {name_of(declared)}",
                )
            return
        kind = VOID if value is None else self.kind_of_expression(value, allows_several=True)
        self.expect_kind(
            node, kind, expected, f"returns {name_of(kind)} instead of {name_of(expected)}"
        )

    def check_loop(self, node: ast.For, name: str) -> None:
        """Check a loop over `range` or `each` with the loop variable `name`."""
        match node.iter:
            case ast.Call(func=ast.Name(id="each"), args=[size], keywords=[]):
                if self.each is not None:
                    self.refuse(node, "has an `each` loop or a slice inside an `each` loop")
                self.expect_integer(size)
                self.each = name
            case ast.Call(func=ast.Name(id="range"), args=[_, *optional] as args, keywords=[]):
                for argument in args:
                    self.expect_integer(argument)
                    if self.each is not None and self.differs_between_lanes(argument):
                        self.refuse(node, "has a loop whose length differs between SIMD lanes")
                if len(optional) == 2 and loop_step(node) == 0:
                    self.refuse(node, "needs a step of range that is a number, like 2 or -1")
            case _:
                self.refuse(node, "can loop over range(...) and each(n) only")
        if name in self.routine.parameters or self.names.get(name, INT) != INT:
            self.refuse(node, f"uses {name!r} for a loop and for another value")
        self.names[name] = INT
        self.closed.discard(name)
        self.check_block(node.body)
        self.closed.add(name)
        if self.each == name:
            self.each = None

    # --- assignments

    def check_target(self, target: ast.expr, kind: Kind, value: ast.expr) -> None:
        """Check the assignment of a value of the given type to a target."""
        match target:
            case ast.Subscript() if not has_slice(target):
                self.check_element_target(target, kind)
            case ast.Attribute():
                self.check_field_target(target, kind)
            case ast.Name(id=name):
                self.check_name_target(target, name, kind, value)
            case _:
                self.refuse(target, f"cannot assign to `{ast.unparse(target)}`; assign to names, elements, "
                                    "slices with an end, or fields of a Record")  # fmt: skip

    def check_element_target(self, target: ast.Subscript, kind: Kind) -> None:
        """Check an assignment to an element of an array or matrix."""
        declared = self.kind_of_expression(target)
        base = self.kinds[target.value]
        if is_fixed(base):
            self.refuse(
                target, f"cannot assign to an entry of a {name_of(base)}; assign a whole vector"
            )
        if declared not in (FLOAT, INT, BOOL):
            self.refuse(target, f"cannot assign to `{ast.unparse(target)}` ({name_of(declared)}); assign "
                                "to its elements or to a slice with an end")  # fmt: skip
        if kind != declared:
            self.expect_kind(
                target, kind, declared, f"assigns {name_of(kind)} to an element of {name_of(base)}"
            )
        if self.each and not self.grows_with_lane(_last_index(target)):
            self.refuse(target, "assigns the same element in every SIMD lane")

    def check_field_target(self, target: ast.Attribute, kind: Kind) -> None:
        """Check an assignment to a field of a record; only fields of a `Record` can be assigned."""
        declared = self.kind_of_expression(target)
        owner = self.kinds.get(target.value)
        if not is_mutable(owner):
            owner_name = name_of(owner) if owner is not None else ast.unparse(target.value)
            self.refuse(target, f"cannot assign to field {target.attr!r} of {owner_name}, which is "
                                "read-only; derive the record from Record")  # fmt: skip
        if isinstance(declared, ArrayKind) or is_record(declared):
            self.refuse(target, f"cannot assign to field {target.attr!r} ({name_of(declared)}); arrays and "
                                "records inside a record are set in Python")  # fmt: skip
        field_text = f"field {target.attr!r}, which is {name_of(declared)}"
        self.expect_kind(target, kind, declared, f"assigns {name_of(kind)} to {field_text}")
        if self.each:
            self.refuse(target, "assigns the same field in every SIMD lane")

    def check_name_target(self, target: ast.Name, name: str, kind: Kind, value: ast.expr) -> None:
        """Check an assignment to a local name; the first one determines the type of the name."""
        if name in self.routine.parameters or name in self.closed:
            self.refuse(
                target, f"cannot assign to {name!r}, which is an argument or a loop variable"
            )
        if kind == VOID:
            self.refuse(target, f"assigns to {name!r} a call that returns nothing")
        declared = self.names.setdefault(name, kind)
        self.kinds[target] = declared
        self.expect_kind(
            target,
            kind,
            declared,
            f"assigns {name_of(kind)} to {name!r}, which is {name_of(declared)}",
        )
        if self.each and declared in (FLOAT, BOOL):
            self.lanes.add(name)
        elif self.each and (declared != INT or self.differs_between_lanes(value)):
            self.refuse(target, "assigns inside `each` to names of numbers and bools only, and no "
                                "integer that differs between SIMD lanes")  # fmt: skip
        elif name in self.lanes:
            self.refuse(target, f"uses {name!r} inside and outside of `each`")

    def expect_kind(self, node: ast.AST, kind: Kind, expected: Kind, problem: str) -> None:
        """Reject a value of another type than expected; integers are converted to floats, and enumeration
        members to integers.
        """
        if (
            kind == expected
            or (kind, expected) == (INT, FLOAT)
            or (is_enum(kind) and expected == INT)
        ):
            return
        advice = ""
        if expected in (INT, FLOAT) and kind in (INT, FLOAT, BOOL):
            advice = f"; write {expected}(...)"
        elif is_enum(expected) and kind == INT:
            advice = f"; write {name_of(expected)}(...)"
        self.refuse(node, f"{problem}{advice}")

    # --- expressions

    def expect_integer(self, node: ast.expr) -> None:
        """Reject an expression that is neither an integer nor a member of an enumeration."""
        kind = self.kind_of_expression(node)
        if kind != INT and not is_enum(kind):
            self.refuse(
                node, f"needs an integer instead of `{ast.unparse(node)}` ({name_of(kind)})"
            )

    def expect_bool(self, node: ast.expr) -> None:
        """Reject a condition that is not a bool."""
        kind = self.kind_of_expression(node)
        if kind != BOOL:
            self.refuse(node, f"needs a bool or a comparison instead of `{ast.unparse(node)}` "
                              f"({name_of(kind)})")  # fmt: skip

    def kind_of_expression(self, node: ast.expr, allows_several: bool = False) -> Kind:
        """Return the type of an expression; several results are allowed only if `allows_several` is
        set, because they are unpacked.
        """
        kind = self.kinds[node] = self._infer_kind(node)
        if isinstance(kind, tuple) and not allows_several:
            self.refuse(node, f"must unpack several results, as in `a, b = {ast.unparse(node)}`")
        return kind

    def _infer_kind(self, node: ast.expr) -> Kind:
        """Return the type of an expression, or reject the expression."""
        match node:
            case ast.Constant(value=bool()):
                return BOOL
            case ast.Constant(value=int()):
                return INT
            case ast.Constant(value=float()):
                return FLOAT
            case ast.Name(id=name):
                return self.kind_of_name(node, name)
            case ast.Attribute(value=value, attr=field):
                return self.kind_of_field(node, value, field)
            case ast.Subscript():
                return self.kind_of_subscript(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                kind = self.kind_of_expression(operand)
                if kind not in (INT, FLOAT) and not is_fixed(kind):
                    self.refuse(node, f"cannot negate {name_of(kind)}")
                return kind
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.expect_bool(operand)
                return BOOL
            case ast.BoolOp(values=values):
                for value in values:
                    self.expect_bool(value)
                return BOOL
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.kind_of_comparison(node, left, op, right)
            case ast.Compare():
                return self.refuse(node, "cannot chain comparisons; write `a < b and b < c`")
            case ast.BinOp(left=left, op=op, right=right):
                return self.kind_of_arithmetic(node, op, self.kind_of_expression(left), right)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.expect_bool(test)
                return self.common_kind(
                    node, self.kind_of_expression(body), self.kind_of_expression(orelse)
                )
            case ast.Call():
                return self.kind_of_call(node)
        return self.refuse(node, f"cannot contain the expression `{ast.unparse(node)}`")

    def kind_of_field(self, node: ast.expr, value: ast.expr, field: str) -> Kind:
        """Return the type of a field of a record, or of a member of an enumeration."""
        if isinstance(value, ast.Name) and self.is_nonlocal(value.id):
            owner = self.nonlocal_object(value, value.id)
            if is_enum(owner):
                if field not in owner.__members__:
                    self.refuse(
                        node,
                        f"finds no member {field!r} in {name_of(owner)}{_suggest_word(field, owner)}",
                    )
                self.constants[node] = owner[field]
                return owner
        record = self.kind_of_expression(value)
        if not is_record(record):
            return self.refuse(
                node, f"reads field {field!r} of {name_of(record)}, which has no fields"
            )
        if field not in fields(record):
            guess = _suggest_word(field, fields(record))
            self.refuse(node, f"finds no field {field!r} in record {name_of(record)}{guess}")
        return fields(record)[field]

    def kind_of_subscript(self, node: ast.Subscript) -> Kind:
        """Return the type of an element, of a matrix row, or of a view of an array."""
        value = node.value
        index = node.slice
        match index:
            case ast.Slice(lower=ast.expr() as low, upper=None, step=None) if not self.each:
                self.expect_integer(low)
                array = self.expect_array(value)
                if is_matrix(array):
                    self.expect_named_matrix(node, value)
                return array
            case ast.Slice():
                text = ast.unparse(node)
                return self.refuse(node, f"cannot use `{text}` as a value: write a[i:] for a view, and "
                                         "slices with an end in statements about slices")  # fmt: skip
            case ast.Tuple(elts=[row, column]):
                return self.kind_of_matrix_entry(node, value, row, column)
        kind = self.kind_of_expression(value)
        self.check_index(index)
        if is_fixed(kind):
            if self.each and self.differs_between_lanes(index):
                self.refuse(node, "has an index of a vector that differs between SIMD lanes")
            return FLOAT
        if not isinstance(kind, ArrayKind):
            return self.refuse(node, f"cannot index {name_of(kind)}")
        if is_matrix(kind):
            self.expect_named_matrix(node, value)
            if self.each and self.differs_between_lanes(index):
                self.refuse(node, "has rows that differ between SIMD lanes")
            return ArrayKind(kind.element)
        if self.each and is_record(kind.element) and self.differs_between_lanes(index):
            self.refuse(node, "reads records that differ between SIMD lanes")
        if self.each:
            self.grows_with_lane(index)
        return kind.element

    def kind_of_matrix_entry(
        self, node: ast.expr, value: ast.expr, row: ast.expr, column: ast.expr
    ) -> Kind:
        """Return the type of A[i, j], or of a block A[i:, j:]."""
        kind = self.kind_of_expression(value)
        if not is_matrix(kind):
            return self.refuse(node, f"needs a matrix instead of {name_of(kind)}")
        self.expect_named_matrix(node, value)
        if isinstance(row, ast.Slice) and isinstance(column, ast.Slice):
            for axis in (row, column):
                if axis.upper is not None or axis.step is not None or self.each:
                    self.refuse(
                        node, f"cannot use `{ast.unparse(node)}` as a value: write A[i:, j:]"
                    )
                if axis.lower is not None:
                    self.expect_integer(axis.lower)
            return kind
        if isinstance(row, ast.Slice):
            self.refuse(node, f"cannot use the column `{ast.unparse(node)}` as a value")
        self.check_index(row)
        self.check_index(column)
        if self.each:
            if self.differs_between_lanes(row):
                self.refuse(node, "has rows that differ between SIMD lanes")
            self.grows_with_lane(column)
        return kind.element

    def expect_named_matrix(self, node: ast.expr, matrix: ast.expr) -> None:
        """Reject an index into a matrix expression that has no name."""
        if not isinstance(matrix, (ast.Name, ast.Attribute)):
            text = ast.unparse(matrix)
            self.refuse(
                node, f"indexes the matrix `{text}` without a name; write `B = {text}` first"
            )

    def check_index(self, node: ast.expr) -> None:
        """Check an index, in which the variable of a loop over `each` may occur."""
        outer = self.indexing
        self.indexing = True
        self.expect_integer(node)
        self.indexing = outer

    def kind_of_name(self, node: ast.expr, name: str) -> Kind:
        """Return the type of a name: an argument, a local name, or a constant outside of the routine."""
        if name in self.closed:
            self.refuse(node, f"reads {name!r} after its loop")
        if name in self.lanes and not self.each:
            self.refuse(
                node, f"reads {name!r}, which has one value per SIMD lane, outside of `each`"
            )
        if name == self.each and not self.indexing:
            self.refuse(node, f"can use {name!r} inside `each` as an index only: alone or in a sum")
        if not self.is_nonlocal(name):
            return self.routine.parameters.get(name) or self.names[name]
        value = self.nonlocal_object(node, name)
        if isinstance(value, (bool, int, float)):
            self.meaning[name] = value
            if isinstance(value, IntEnum):
                return type(value)
            return BOOL if isinstance(value, bool) else INT if isinstance(value, int) else FLOAT
        return self.refuse(node, f"cannot use {name!r} as a value: it is no number, no member of an "
                                 "IntEnum and no local name")  # fmt: skip

    def is_nonlocal(self, name: str) -> bool:
        """Return whether a name is neither an argument nor a local name."""
        return name not in self.routine.parameters and name not in self.names

    def nonlocal_object(self, node: ast.expr, name: str) -> Any:
        """Return the object to which a non-local name refers."""
        names = self.routine.nonlocal_values
        if name in names:
            return names[name]
        builtin = {f.__name__: f for f in ROUTINE_FUNCTIONS}.get(name)
        return builtin if builtin else self.refuse(node, f"does not know the name {name!r}")

    def expect_array(self, node: ast.expr) -> ArrayKind:
        """Return the type of an expression that must be an array of numbers or bools, or a matrix."""
        kind = self.kind_of_expression(node)
        if isinstance(kind, ArrayKind) and not is_sequence(kind):
            return kind
        self.refuse(node, f"cannot take a slice of {name_of(kind)}")
        raise AssertionError

    def kind_of_comparison(
        self, node: ast.expr, left: ast.expr, op: ast.cmpop, right: ast.expr
    ) -> Kind:
        """Return the type of a comparison, a bool, after a check of its operands."""
        a = self.kind_of_expression(left)
        b = self.kind_of_expression(right)
        if isinstance(op, (ast.Is, ast.IsNot)):
            if not is_enum(a) or a != b:
                self.refuse(node, "can use `is` between members of one IntEnum only; use == or !=")
            return BOOL
        if not isinstance(op, _ORDERINGS):
            self.refuse(node, f"cannot contain the comparison `{ast.unparse(node)}`")
        numbers = all(kind in (INT, FLOAT) or is_enum(kind) for kind in (a, b))
        same = a == b == BOOL and isinstance(op, (ast.Eq, ast.NotEq))
        if is_enum(a) and is_enum(b) and a != b:
            self.refuse(node, f"compares members of {name_of(a)} and {name_of(b)}")
        if not numbers and not same and {a, b} != {ADDRESS, INT}:
            self.refuse(node, f"cannot compare {name_of(a)} with {name_of(b)}")
        return BOOL

    def kind_of_arithmetic(
        self, node: ast.AST, op: ast.operator, left: Kind, right: ast.expr
    ) -> Kind:
        """Return the type of `left op right`, where `left` is the type of the left operand."""
        other = self.kind_of_expression(right)
        if is_fixed(left) or is_fixed(other):
            return self.kind_of_vector_arithmetic(node, op, left, other)
        kinds = {left, other}
        if not kinds <= {INT, FLOAT}:
            self.refuse(node, f"cannot calculate with {name_of(left)} and {name_of(other)}")
        if isinstance(op, (ast.FloorDiv, ast.Mod)):
            return INT if kinds == {INT} else self.refuse(node, "can use // and % of integers only")
        if isinstance(op, (ast.Div, ast.Pow)):
            return FLOAT
        if not isinstance(op, (ast.Add, ast.Sub, ast.Mult)):
            self.refuse(node, f"cannot use the operator {type(op).__name__}")
        return INT if kinds == {INT} else FLOAT

    def kind_of_vector_arithmetic(
        self, node: ast.AST, op: ast.operator, left: Kind, right: Kind
    ) -> Kind:
        """Return the type of an operation with a fixed-size vector."""
        if self.each:
            self.refuse(node, "cannot use fixed-size vectors inside `each`")
        if isinstance(op, (ast.Add, ast.Sub)) and left == right:
            return left
        if isinstance(op, (ast.Mult, ast.Div)) and is_fixed(left) and right in (INT, FLOAT):
            return left
        if isinstance(op, ast.Mult) and left in (INT, FLOAT):
            return right
        names = f"{name_of(left)} and {name_of(right)}"
        return self.refuse(node, f"cannot calculate with {names} in this way; vectors have + - of one "
                                 "size, * and / by a number, dot and cross")  # fmt: skip

    def common_kind(self, node: ast.expr, a: Kind, b: Kind) -> Kind:
        """Return the type of a conditional expression from the types of its two branches."""
        if {a, b} == {INT, FLOAT}:
            return FLOAT
        if a != b:
            self.refuse(node, f"chooses between {name_of(a)} and {name_of(b)}")
        if self.each and a not in (INT, FLOAT, BOOL):
            self.refuse(node, f"cannot choose between values of {name_of(a)} inside `each`")
        return a

    # --- calls

    def kind_of_call(self, node: ast.Call) -> Kind:
        """Return the type of the result of a call."""
        if node.keywords:
            self.refuse(node, "cannot call with keywords; use positional arguments")
        match node.func:
            case ast.Name(id=name):
                return self.kind_of_named_call(node, name, node.args)
            case ast.Attribute(value=value, attr="reshape"):
                return self.kind_of_reshape(node, value, node.args)
        return self.refuse(node, f"cannot call `{ast.unparse(node.func)}`")

    def kind_of_named_call(self, node: ast.Call, name: str, args: list[ast.expr]) -> Kind:
        """Return the type of the result of a routine, a constructor or a function in ROUTINE_FUNCTIONS."""
        target = self.nonlocal_object(node.func, name)
        self.meaning[name] = target if isinstance(target, Routine) or is_type(target) else None
        if self.meaning[name] is None:
            try:
                self.meaning[name] = ROUTINE_FUNCTIONS.get(target)
            except TypeError:  # the object is not hashable
                self.refuse(node, f"cannot call {name!r}")
        kinds = [self.kind_of_expression(a) for a in args]
        if isinstance(target, Routine):
            return self.kind_of_routine_call(node, target, args, kinds)
        if is_fixed(target):
            if len(kinds) != target.size or not set(kinds) <= {INT, FLOAT} or self.each:
                self.refuse(node, f"makes a {name} of {target.size} numbers, outside of `each`")
            return target
        if is_enum(target):
            if kinds != [INT] and kinds != [target]:
                self.refuse(node, f"makes a member of {name} of one integer")
            return target
        if self.each and self.meaning[name] == "int" and any(map(self.differs_between_lanes, args)):
            self.refuse(node, "cannot use int(...) of a value that differs between SIMD lanes")
        kind = self.kind_of_function_call(self.meaning[name], kinds)
        if kind is None:
            return self.refuse(node, f"cannot call {name} with ({', '.join(map(name_of, kinds))})")
        return kind

    def kind_of_routine_call(
        self, node: ast.Call, target: Routine, args: list[ast.expr], kinds: list[Kind]
    ) -> Kind:
        """Return the type of the result of a routine, after a check of its arguments."""
        name = target.__name__
        expected = target.parameters
        if self.each:
            self.refuse(node, f"cannot call routine {name!r} inside `each`")
        if len(kinds) != len(expected):
            self.refuse(
                node, f"calls {name!r} with {len(kinds)} arguments instead of {len(expected)}"
            )
        for a, kind, (argument, declared) in zip(args, kinds, expected.items(), strict=True):
            if kind != declared:
                argument_text = f"argument {argument!r} of {name!r}, which is {name_of(declared)}"
                self.expect_kind(a, kind, declared, f"passes {name_of(kind)} to {argument_text}")
        return target.returns

    def kind_of_function_call(self, function_name: str | None, kinds: list[Kind]) -> Kind | None:
        """Return the type of a function's result, or None if the function does not accept arguments of
        these types.
        """
        match function_name, kinds:
            case "call", [_, *_] if kinds == [ADDRESS, DOUBLES, DOUBLES, DOUBLES, INT]:
                return VOID
            case "address", [kind] if kind == INT:
                return ADDRESS
            case "int", [kind] if kind in (INT, FLOAT, BOOL) or is_enum(kind):
                return INT
            case "float", [kind] if kind in (INT, FLOAT, BOOL):
                return FLOAT
            case "abs" | "sqrt" | "isfinite", [kind] if kind in (INT, FLOAT):
                return {"isfinite": BOOL, "abs": kind}.get(str(function_name), FLOAT)
            case "min" | "max", [first, second] if {first, second} <= {INT, FLOAT}:
                return FLOAT if FLOAT in kinds else INT
            case "dot", [first, second] if is_fixed(first) and first == second:
                return FLOAT
            case "cross", [first, second] if is_fixed(first) and first == second:
                return first if first.size == 3 else None
        return None

    def kind_of_reshape(self, node: ast.Call, value: ast.expr, args: list[ast.expr]) -> Kind:
        """Return the type of a[i : i + n * m].reshape(n, m): a matrix that shares the elements of
        an array.
        """
        match value:
            case ast.Subscript(value=base, slice=ast.Slice(lower=low, upper=ast.expr(), step=None)):
                kind = self.expect_array(base)
                if low is not None:
                    self.expect_integer(low)
            case _:
                return self.refuse(
                    node, "can reshape slices with an end only: a[:n * m].reshape(n, m)"
                )
        if len(args) != 2 or kind.axes != 1 or self.each:
            self.refuse(node, "can reshape an array to two axes only, outside of `each`")
        for size in args:
            self.expect_integer(size)
        product = ast.BinOp(args[0], ast.Mult(), args[1])
        if slice_length(value) != slice_length(product):
            self.refuse(node, f"reshapes `{ast.unparse(value)}` to `{ast.unparse(product)}` entries, which "
                              "is another number")  # fmt: skip
        return ArrayKind(kind.element, 2)

    # --- SIMD lanes

    def differs_between_lanes(self, node: ast.expr) -> bool:
        """Return whether an expression differs between the SIMD lanes of the current loop over `each`."""
        names = {n.id for n in walk_tree(node) if isinstance(n, ast.Name)}
        return bool(names & (self.lanes | {self.each or ""}))

    def grows_with_lane(self, index: ast.expr) -> bool:
        """Return whether an index grows by one from one SIMD lane to the next (False: it is the same in all
        lanes); reject an index that depends on the lane in another way.
        """
        try:
            return is_lane_index(index, self.each or "")
        except ValueError:
            text = ast.unparse(index)
            return bool(self.refuse(index, f"has the index `{text}`: {self.each} must be alone or in a "
                                           "sum"))  # fmt: skip


def has_slice(node: ast.Subscript) -> bool:
    """Return whether a subscript contains a slice."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(axis, ast.Slice) for axis in parts)


def _last_index(node: ast.Subscript) -> ast.expr:
    """Return the last index of a subscript; elements with consecutive last indices are contiguous."""
    return node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice


def _suggest_word(word: str, candidates: Any) -> str:
    """Return a suggestion for an unknown word."""
    names = candidates.__members__ if is_enum(candidates) else candidates
    matches = get_close_matches(word, names, n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def is_lane_index(index: ast.expr, name: str) -> bool:
    """Return whether an index is the loop variable `name`, or a sum with it as one term.

    Raise ValueError if the variable occurs in another way.
    """
    if isinstance(index, ast.Name):
        return index.id == name
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add):
        in_left = is_lane_index(index.left, name)
        in_right = is_lane_index(index.right, name)
        if in_left and in_right:
            raise ValueError
        return in_left or in_right
    if any(isinstance(n, ast.Name) and n.id == name for n in walk_tree(index)):
        raise ValueError
    return False


def loop_step(loop: ast.For) -> int:
    """Return the step of a `range` loop, or 0 if it is not a number."""
    assert isinstance(loop.iter, ast.Call)
    match loop.iter.args:
        case [_, _, ast.Constant(value=int(step))]:
            return step
        case [_, _, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(step)))]:
            return -step
        case [_, _, _]:
            return 0
    return 1


def loop_bounds(loop: ast.For) -> tuple[ast.expr | None, ast.expr]:
    """Return the first value of a loop variable (None for 0) and its end."""
    assert isinstance(loop.iter, ast.Call)
    args = loop.iter.args
    return (None, args[0]) if len(args) == 1 else (args[0], args[1])


def _always_returns(body: list[ast.stmt]) -> bool:
    """Return whether every path through the statements ends in a `return`."""
    match body[-1] if body else None:
        case ast.Return():
            return True
        case ast.If(body=first, orelse=second):
            return _always_returns(first) and _always_returns(second)
        case ast.While(test=ast.Constant(value=True), body=inner):
            return not any(isinstance(n, ast.Break) for s in inner for n in walk_tree(s))
    return False
