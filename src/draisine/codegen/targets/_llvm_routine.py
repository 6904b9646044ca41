"""Compiler of routines to LLVM text.

Local names are stack slots that LLVM turns into registers. A loop over `each` becomes two loops: one that
executes `width` iterations at a time in a SIMD vector, and one for the rest. No operation is fused or
reordered, so that the results do not depend on the width. The code calls only programs by their addresses,
`pow`, and functions that LLVM itself may insert (memcpy, memset).

A matrix is a pair of pointer and row stride, a fixed-size vector an array of doubles, several results are a
structure; all are values, like numbers. A bool has eight bytes in a record and one in an array.
"""

import ast
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from draisine.codegen.routine import (
    ADDRESS,
    BOOL,
    FLOAT,
    INT,
    VOID,
    ArrayKind,
    FixedVector,
    Kind,
    Routine,
    is_enum,
    is_fixed,
    is_matrix,
    is_mutable,
    is_record,
    layout,
)
from draisine.codegen.routine.subset import (
    Definition,
    is_lane_index,
    loop_bounds,
    loop_step,
    read_routine,
)
from draisine.codegen.targets._llvm import hex_number, intrinsic_suffix, llvm_constant

_TYPES: dict[Kind, str] = {INT: "i64", FLOAT: "double", BOOL: "i1", VOID: "void", ADDRESS: "i64"}
_MATRIX = "{ ptr, i64 }"  # address of the first element, row stride in elements
_FLOAT_OPS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_INT_OPS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv", ast.Mod: "srem",
}  # fmt: skip
_FLOAT_TESTS = {
    ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge", ast.Eq: "oeq", ast.NotEq: "une",
}  # fmt: skip
_INT_TESTS = {
    ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne",
    ast.Is: "eq", ast.IsNot: "ne",
}  # fmt: skip


MAX_INLINED_LINES = 40
"""Largest number of lines (of LLVM text) of a function that is inlined; a call of such a short function
would cost as much as the function itself.
"""

KnownFields = tuple[tuple[type, str, int], ...]
"""Type of the record fields whose values are known and compiled as constants: triples (class of the record,
name of the field, integer).
"""


def write_llvm(routines: Sequence[Routine], width: int = 1, known: KnownFields = ()) -> str:
    """Return routines and their callees as LLVM text.

    `width` is the number of SIMD lanes of loops over `each`, `known` lists fields of records that are
    compiled as constants.
    """
    parts = [
        "declare double @pow(double, double)",
        "!0 = !{}",
    ]
    for kind in dict.fromkeys(["double", _simd_type(width)]):
        s = intrinsic_suffix(kind)
        parts += [f"declare {kind} @llvm.{f}.{s}({kind})" for f in ("fabs", "sqrt")]
    family = list(dict.fromkeys(member for routine in routines for member in routine.family))
    names = {member: f"{llvm_symbol(member)}.{k}" for k, member in enumerate(family)}
    names |= {member: llvm_symbol(member) for member in routines}
    parts += [
        _LlvmWriter(read_routine(member), width, names, known).write_function() for member in family
    ]
    parts += [_write_results_function(member) for member in routines if has_results(member.returns)]
    return "\n".join(parts)


def llvm_symbol(routine: Routine) -> str:
    """Return the LLVM symbol of a routine, which differs from all C functions."""
    f = routine.function
    return "draisine." + re.sub(r"[^\w.]", "_", f"{f.__module__}.{f.__qualname__}", flags=re.ASCII)


def has_results(kind: Kind) -> bool:
    """Return whether a routine has several results, which are passed to Python through memory."""
    return isinstance(kind, tuple) or is_fixed(kind)


def result_kinds(kind: Kind) -> list[Kind]:
    """Return the types of several results as a list."""
    return list(kind) if isinstance(kind, tuple) else [kind]


def _vector_llvm_type(kind: type[FixedVector]) -> str:
    """Return the type of a fixed-size vector in LLVM's text."""
    return f"[{kind.size} x double]"


@cache
def llvm_type(kind: Kind) -> str:
    """Return the LLVM type of a routine's type."""
    if isinstance(kind, tuple):
        return f"{{ {', '.join(map(llvm_type, kind))} }}"
    if is_fixed(kind):
        return _vector_llvm_type(kind)
    if is_matrix(kind):
        return _MATRIX
    if isinstance(kind, ArrayKind) or is_record(kind):
        return "ptr"
    return "i64" if is_enum(kind) else _TYPES[kind]


def _memory_type(kind: Kind) -> str:
    """Return the LLVM type of array elements in memory."""
    return "i8" if kind == BOOL else llvm_type(kind)


def _result_type(type_: str) -> str:
    """Return the LLVM type of a result; the C calling convention requires zero-extended bools."""
    return "zeroext i1" if type_ == "i1" else type_


def _argument_type(type_: str) -> str:
    """Return the LLVM type of an argument; the C calling convention requires zero-extended bools."""
    return "i1 zeroext" if type_ == "i1" else type_


def _write_results_function(routine: Routine) -> str:
    """Return the LLVM function that Python calls for a routine with several results: it calls the routine
    and writes the results to consecutive slots of eight bytes at the pointer `%results`.
    """
    kinds = result_kinds(routine.returns)
    type_all = llvm_type(routine.returns)
    arguments = [
        f"{_argument_type(llvm_type(kind))} %{name}" for name, kind in routine.parameters.items()
    ]
    lines = [f"  %all = call {type_all} @{llvm_symbol(routine)}({', '.join(arguments)})"]
    slot = 0
    for k, kind in enumerate(kinds):
        index = f", {k}" if isinstance(routine.returns, tuple) else ""
        entries = [f", {j}" for j in range(kind.size)] if is_fixed(kind) else [""]
        type_ = "double" if is_fixed(kind) else llvm_type(kind)
        for entry in entries:
            lines.append(f"  %v{slot} = extractvalue {type_all} %all{index}{entry}")
            lines.append(f"  %p{slot} = getelementptr i64, ptr %results, i64 {slot}")
            value = f"{type_} %v{slot}"
            if type_ == "i1":
                lines.append(f"  %w{slot} = zext i1 %v{slot} to i64")
                value = f"i64 %w{slot}"
            lines.append(f"  store {value}, ptr %p{slot}, align 8")
            slot += 1
    head = (
        f"define void @{llvm_symbol(routine)}.results({', '.join([*arguments, 'ptr %results'])}) {{"
    )
    return "\n".join([head, *lines, "  ret void", "}", ""])


class Value(NamedTuple):
    """A value in the LLVM text, with its LLVM type."""

    type: str
    text: str


def _simd_type(width: int, entry: str = "double") -> str:
    """Return the LLVM type of a SIMD vector."""
    return entry if width == 1 else f"<{width} x {entry}>"


def _is_bool(type_: str) -> bool:
    """Return whether a type is a bool or a SIMD vector of bools."""
    return type_.rstrip(">").endswith("i1")


def _vector_size(value: Value) -> int:
    """Return the number of entries of a fixed-size vector, 0 for other values."""
    return int(value.type[1:].split()[0]) if value.type.startswith("[") else 0


class _LlvmWriter:
    """Writer of one routine as an LLVM function."""

    def __init__(
        self, definition: Definition, width: int, symbols: dict[Routine, str], known: KnownFields
    ) -> None:
        self.definition = definition
        self.lane_count = width
        self.symbols = symbols
        self.known = {(record, field): integer for record, field, integer in known}
        self.lines: list[str] = []
        self.slots: list[str] = []  # declarations of stack slots, at the top of the function
        self.count = 0  # number of new names so far
        self.width = 1  # SIMD lanes of the statements that are being written
        self.each = ""  # variable of the current loop over `each`
        self.exits: list[tuple[str, str]] = []  # labels for `continue`, `break` of the open loops

    def write_function(self) -> str:
        """Return the LLVM text of the function."""
        routine = self.definition.routine
        arguments = []
        for name, kind in routine.parameters.items():
            arguments.append(f"{_argument_type(llvm_type(kind))} %{name}")
        for name, kind in self.definition.names.items():
            self.slots.append(f"  %{name}.a = alloca {llvm_type(kind)}")
            if name in self.definition.lanes:
                wide = _simd_type(self.lane_count, llvm_type(kind))
                self.slots.append(f"  %{name}.v = alloca {wide}, align 64")
        self.write_block(self.definition.body)
        returns = llvm_type(routine.returns)
        # In a routine with a result every path returns (checked in `subset`). Only void routines
        # reach the end of the text.
        self.lines.append("  ret void" if returns == "void" else "  unreachable")
        linkage = "" if self.symbols[routine] == llvm_symbol(routine) else "internal "
        head = f"define {linkage}{_result_type(returns)} @{self.symbols[routine]}({', '.join(arguments)})"
        # LLVM's own inliner does not run with the passes `few`. Therefore short callees are marked
        # for inlining.
        if linkage and len(self.lines) <= MAX_INLINED_LINES:
            head += " alwaysinline"
        return "\n".join([f"{head} {{", "entry:", *self.slots, *self.lines, "}", ""])

    # --- text

    def new_name(self) -> str:
        """Return a name that is not used yet."""
        self.count += 1
        return f"t{self.count}"

    def emit_instruction(self, type_: str, text: str) -> Value:
        """Write an instruction, and return its result, a value of the given LLVM type."""
        name = f"%{self.new_name()}"
        self.lines.append(f"  {name} = {text}")
        return Value(type_, name)

    def write_label(self, name: str) -> None:
        """Write a label, the target of jumps."""
        self.lines.append(f"{name}:")

    def write_jump(self, name: str) -> None:
        """Write an unconditional jump to a label."""
        self.lines.append(f"  br label %{name}")

    # --- statements

    def write_block(self, body: list[ast.stmt]) -> None:
        """Write statements in order."""
        for statement in body:
            self.write_statement(statement)

    def write_statement(self, node: ast.stmt) -> None:
        """Write one statement."""
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                results = [self.evaluate(v) for v in values]
                for target, result in zip(targets, results, strict=True):
                    self.assign_value(target, result)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                for target, result in zip(
                    targets, self.extract_entries(self.evaluate(value), value), strict=True
                ):
                    self.assign_value(target, result)
            case ast.Assign(targets=[target], value=value):
                self.assign_value(target, self.evaluate(value))
            case ast.AugAssign(target=target, op=op, value=value):
                self.assign_value(
                    target, self.evaluate_binary(op, self.evaluate(target), self.evaluate(value))
                )
            case ast.If():
                self.write_if(node)
            case ast.While():
                self.write_while(node)
            case ast.For():
                self.write_loop(node)
            case ast.Return(value=value):
                self.write_return(value)
            case ast.Break():
                self.write_jump_out(self.exits[-1][1])
            case ast.Continue():
                self.write_jump_out(self.exits[-1][0])
            case ast.Expr(value=value):
                self.evaluate(value)

    def write_jump_out(self, label: str) -> None:
        """Write a jump to a label, and a new label after it, because LLVM requires one after each jump."""
        self.write_jump(label)
        self.write_label(self.new_name())

    def write_return(self, node: ast.expr | None) -> None:
        """Write a return statement; several results are combined to one structure."""
        kind = self.definition.routine.returns
        if node is None:
            self.lines.append("  ret void")
        else:
            if isinstance(node, ast.Tuple):
                assert isinstance(kind, tuple)
                parts = [self.evaluate(element) for element in node.elts]
                types = map(llvm_type, kind)
                value = self.combine_values(
                    llvm_type(kind), list(map(self.convert_value, parts, types))
                )
            else:
                value = self.convert_value(self.evaluate(node), llvm_type(kind))
            self.lines.append(f"  ret {value.type} {value.text}")
        self.write_label(self.new_name())

    def combine_values(self, type_: str, parts: Sequence[Value]) -> Value:
        """Return several values as one structure or vector."""
        combined = Value(type_, "undef")
        for k, value in enumerate(parts):
            text = f"insertvalue {type_} {combined.text}, {value.type} {value.text}, {k}"
            combined = self.emit_instruction(type_, text)
        return combined

    def extract_entry(self, combined: Value, k: int, type_: str) -> Value:
        """Return entry k of a structure or vector."""
        return self.emit_instruction(type_, f"extractvalue {combined.type} {combined.text}, {k}")

    def extract_entries(self, combined: Value, node: ast.expr) -> list[Value]:
        """Return all entries of a structure or vector, the value of the expression `node`."""
        kind = self.definition.kinds[node]
        types = (
            [llvm_type(entry) for entry in kind]
            if isinstance(kind, tuple)
            else ["double"] * _vector_size(combined)
        )
        return [self.extract_entry(combined, k, type_) for k, type_ in enumerate(types)]

    def vector_entries(self, vector: Value) -> list[Value]:
        """Return the entries of a fixed-size vector."""
        return [self.extract_entry(vector, k, "double") for k in range(_vector_size(vector))]

    # --- assignments

    def assign_value(self, target: ast.expr, value: Value) -> None:
        """Write a value to a name, a field of a record, or an element of an array."""
        match target:
            case ast.Name(id=name):
                kind = llvm_type(self.definition.names[name])
                slot = f"%{name}.a"
                if self.width > 1 and name in self.definition.lanes:
                    kind = _simd_type(self.width, kind)
                    slot = f"%{name}.v"
                value = self.convert_value(value, kind)
                self.lines.append(f"  store {kind} {value.text}, ptr {slot}")
            case ast.Attribute(value=record, attr=field):
                address, kind = self.field_address(record, field)
                self.store_value(
                    self.convert_value(value, kind), address, "i64" if kind == "i1" else kind, 8
                )
            case ast.Subscript():
                address, kind, stored = self.locate_element(target)
                self.store_value(
                    self.convert_value(value, kind), address, stored, 1 if "i8" in stored else 8
                )

    def store_value(self, value: Value, address: str, stored: str, align: int) -> None:
        """Write a value to memory; a bool is stored as an integer."""
        if _is_bool(value.type):
            value = self.emit_instruction(stored, f"zext {value.type} {value.text} to {stored}")
        self.lines.append(f"  store {stored} {value.text}, ptr {address}, align {align}")

    def load_bool(self, value: Value) -> Value:
        """Return an integer that was read from memory as a bool."""
        zero = "zeroinitializer" if value.type.startswith("<") else "0"
        flags = re.sub(r"i\d+", "i1", value.type)
        return self.emit_instruction(flags, f"icmp ne {value.type} {value.text}, {zero}")

    def write_if(self, node: ast.If) -> None:
        """Write a conditional statement."""
        yes = self.new_name()
        no = self.new_name()
        end = self.new_name()
        self.write_condition(node.test, yes, no)
        self.write_label(yes)
        self.write_block(node.body)
        self.write_jump(end)
        self.write_label(no)
        self.write_block(node.orelse)
        self.write_jump(end)
        self.write_label(end)

    def write_while(self, node: ast.While) -> None:
        """Write a while loop."""
        again = self.new_name()
        inside = self.new_name()
        end = self.new_name()
        self.write_jump(again)
        self.write_label(again)
        self.write_condition(node.test, inside, end)
        self.write_label(inside)
        self.exits.append((again, end))
        self.write_block(node.body)
        self.exits.pop()
        self.write_jump(again)
        self.write_label(end)

    def write_loop(self, node: ast.For) -> None:
        """Write a loop over `range`, or over `each` with SIMD lanes."""
        assert isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)
        assert isinstance(node.iter.func, ast.Name)
        low, high = loop_bounds(node)
        first = Value("i64", "0") if low is None else self.evaluate(low)
        end = self.evaluate(high)
        if node.iter.func.id == "range":
            self.write_counting_loop(node, first, end, loop_step(node))
            return
        self.each = node.target.id
        counter = f"%{self.new_name()}"
        self.slots.append(f"  {counter} = alloca i64")
        self.lines.append(f"  store i64 0, ptr {counter}")
        # Write a loop over full SIMD vectors, then a loop over the remaining iterations.
        if self.lane_count > 1:
            self.width = self.lane_count
            last = self.emit_instruction("i64", f"sub i64 {end.text}, {self.lane_count - 1}")
            self.write_counting_loop(node, first, last, self.lane_count, counter)
            first = self.emit_instruction("i64", f"load i64, ptr {counter}")
            self.width = 1
        self.write_counting_loop(node, first, end, 1, counter)
        self.each = ""

    def write_counting_loop(
        self, node: ast.For, first: Value, end: Value, step: int, counter: str | None = None
    ) -> None:
        """Write a loop from `first` to `end` (exclusive).

        `counter` is the stack slot of the loop variable, by default a new one. It keeps its last value, with
        which the loop over the remaining iterations begins.
        """
        assert isinstance(node.target, ast.Name)
        again, inside, onward, done = (self.new_name() for _ in range(4))
        if counter is None:
            counter = f"%{self.new_name()}"
            self.slots.append(f"  {counter} = alloca i64")
        self.lines.append(f"  store i64 {first.text}, ptr {counter}")
        self.write_jump(again)
        self.write_label(again)
        current = self.emit_instruction("i64", f"load i64, ptr {counter}")
        continues = self.emit_instruction(
            "i1", f"icmp {'slt' if step > 0 else 'sgt'} i64 {current.text}, {end.text}"
        )
        self.lines.append(f"  br i1 {continues.text}, label %{inside}, label %{done}")
        self.write_label(inside)
        self.lines.append(f"  store i64 {current.text}, ptr %{node.target.id}.a")
        self.exits.append((onward, done))
        self.write_block(node.body)
        self.exits.pop()
        self.write_jump(onward)
        self.write_label(onward)
        following = self.emit_instruction("i64", f"add i64 {current.text}, {step}")
        self.lines.append(f"  store i64 {following.text}, ptr {counter}")
        self.write_jump(again)
        self.write_label(done)

    # --- conditions

    def write_condition(self, node: ast.expr, yes: str, no: str) -> None:
        """Write jumps to the label `yes` if a condition is true, otherwise to `no`, with short-circuit
        evaluation.
        """
        match node:
            case ast.BoolOp(op=op, values=[*firsts, final]):
                for value in firsts:
                    onward = self.new_name()
                    if isinstance(op, ast.And):
                        self.write_condition(value, onward, no)
                    else:
                        self.write_condition(value, yes, onward)
                    self.write_label(onward)
                self.write_condition(final, yes, no)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.write_condition(operand, no, yes)
            case _:
                condition = self.evaluate(node)
                self.lines.append(f"  br i1 {condition.text}, label %{yes}, label %{no}")

    # --- expressions

    def evaluate(self, node: ast.expr) -> Value:
        """Write the evaluation of an expression, and return its value."""
        match node:
            case ast.Constant(value=value):
                return self.constant(value)
            case ast.Name(id=name):
                return self.evaluate_name(name)
            case ast.Attribute() if node in self.definition.constants:
                return self.constant(self.definition.constants[node])
            case ast.Attribute(value=value, attr=field):
                return self.evaluate_field(value, field)
            case ast.Subscript():
                return self.evaluate_subscript(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.negate(self.evaluate(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.evaluate_binary(op, self.evaluate(left), self.evaluate(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.evaluate_comparison(op, self.evaluate(left), self.evaluate(right))
            case ast.IfExp():
                return self.evaluate_conditional(node)
            case ast.BoolOp() | ast.UnaryOp():
                return self.evaluate_condition(node)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.evaluate_call(
                    self.definition.meaning[name], [self.evaluate(a) for a in args]
                )
            case ast.Call(func=ast.Attribute(value=value), args=[_, columns]):
                return self.evaluate_reshape(value, columns)
        raise AssertionError(ast.unparse(node))

    def negate(self, x: Value) -> Value:
        """Return -x for a number or a vector."""
        if _vector_size(x):
            return self.combine_values(
                x.type, [self.negate(entry) for entry in self.vector_entries(x)]
            )
        if "i64" in x.type:
            zero = "0" if x.type == "i64" else "zeroinitializer"
            return self.emit_instruction(x.type, f"sub {x.type} {zero}, {x.text}")
        return self.emit_instruction(x.type, f"fneg {x.type} {x.text}")

    def constant(self, x: Any) -> Value:
        """Return a constant as a value."""
        if isinstance(x, bool):
            return Value("i1", "true" if x else "false")
        return Value("i64", str(int(x))) if isinstance(x, int) else Value("double", hex_number(x))

    def evaluate_name(self, name: str) -> Value:
        """Return the value of an argument, a local name, or a constant outside of the routine."""
        if name in self.definition.routine.parameters:
            return Value(llvm_type(self.definition.routine.parameters[name]), f"%{name}")
        if name not in self.definition.names:
            return self.constant(self.definition.meaning[name])
        kind = llvm_type(self.definition.names[name])
        if self.width > 1 and name in self.definition.lanes:
            kind = _simd_type(self.width, kind)
            return self.emit_instruction(kind, f"load {kind}, ptr %{name}.v")
        return self.emit_instruction(kind, f"load {kind}, ptr %{name}.a")

    def evaluate_field(self, record: ast.expr, field: str) -> Value:
        """Return the value of a field of a record."""
        owner = self.definition.kinds[record]
        assert isinstance(owner, type)
        if (owner, field) in self.known:
            return self.constant(self.known[owner, field])
        address, kind = self.field_address(record, field)
        stored = "i64" if kind == "i1" else kind
        # LLVM may move loads of fields that no routine assigns. These are the fields of named
        # tuples, and the arrays and records in any record.
        pointer = kind in ("ptr", _MATRIX)
        fixed = "" if is_mutable(owner) and not pointer else ", !invariant.load !0"
        value = self.emit_instruction(stored, f"load {stored}, ptr {address}, align 8{fixed}")
        return self.load_bool(value) if kind == "i1" else value

    def field_address(self, record: ast.expr, field: str) -> tuple[str, str]:
        """Return the address of a field and its type."""
        owner = self.definition.kinds[record]
        assert isinstance(owner, type)
        base = self.evaluate(record)
        slot = layout(owner)[field]
        return self.element_address(base, Value("i64", str(slot.first))).text, llvm_type(slot.kind)

    # --- elements and views

    def evaluate_subscript(self, node: ast.Subscript) -> Value:
        """Return the value of an element or vector entry, or the address of a view."""
        kind = self.definition.kinds[node.value]
        result = self.definition.kinds[node]
        match node.slice:
            case ast.Slice(lower=ast.expr() as low) if not is_matrix(kind):
                return self.element_address(self.evaluate(node.value), self.evaluate(low), kind)
            case ast.Slice(lower=low):
                return self.block_view(self.evaluate(node.value), low, None)
            case ast.Tuple(elts=[ast.Slice(lower=row), ast.Slice(lower=column)]):
                return self.block_view(self.evaluate(node.value), row, column)
        if is_fixed(kind):
            return self.extract_vector_entry(self.evaluate(node.value), node.slice)
        if is_matrix(kind) and isinstance(result, ArrayKind):
            return self.entry_address(self.evaluate(node.value), node.slice, None)
        address, type_, stored = self.locate_element(node)
        value = self.emit_instruction(
            stored, f"load {stored}, ptr {address}, align {1 if 'i8' in stored else 8}"
        )
        return self.load_bool(value) if _is_bool(type_) else value

    def locate_element(self, node: ast.Subscript) -> tuple[str, str, str]:
        """Return the address of an array element, its LLVM type, and its LLVM type in memory.

        The types are SIMD vectors if the index varies between SIMD lanes.
        """
        array = self.evaluate(node.value)
        kind = self.definition.kinds[node.value]
        assert isinstance(kind, ArrayKind)
        if isinstance(node.slice, ast.Tuple):
            row, last = node.slice.elts
            address = self.entry_address(array, row, last).text
        else:
            last = node.slice
            address = self.element_address(array, self.evaluate(last), kind).text
        type_ = llvm_type(kind.element)
        stored = _memory_type(kind.element)
        if self.width > 1 and is_lane_index(last, self.each):
            type_ = _simd_type(self.width, type_)
            stored = _simd_type(self.width, stored)
        return address, type_, stored

    def entry_address(self, matrix: Value, row: ast.expr, column: ast.expr | None) -> Value:
        """Return the address of an entry of a matrix, or of a row if no column is given."""
        offset = self.evaluate_binary(
            ast.Mult(), self.evaluate(row), self.extract_entry(matrix, 1, "i64")
        )
        if column is not None:
            offset = self.evaluate_binary(ast.Add(), offset, self.evaluate(column))
        return self.element_address(self.extract_entry(matrix, 0, "ptr"), offset)

    def block_view(self, matrix: Value, row: ast.expr | None, column: ast.expr | None) -> Value:
        """Return the view of a matrix that begins at a row and a column."""
        zero = ast.Constant(0)
        address = self.entry_address(matrix, row if row is not None else zero, column)
        return self.combine_values(_MATRIX, [address, self.extract_entry(matrix, 1, "i64")])

    def evaluate_reshape(self, array_slice: ast.expr, columns: ast.expr) -> Value:
        """Return a matrix view of the elements of an array."""
        assert isinstance(array_slice, ast.Subscript) and isinstance(array_slice.slice, ast.Slice)
        address = self.evaluate(array_slice.value)
        if array_slice.slice.lower is not None:
            address = self.element_address(address, self.evaluate(array_slice.slice.lower))
        return self.combine_values(_MATRIX, [address, self.evaluate(columns)])

    def extract_vector_entry(self, vector: Value, index: ast.expr) -> Value:
        """Return an entry of a fixed-size vector."""
        # LLVM extracts entries at constant indices only. For other indices the vector is written to
        # memory.
        if isinstance(index, ast.Constant):
            return self.extract_entry(vector, index.value, "double")  # type: ignore[arg-type]
        slot = f"%{self.new_name()}"
        self.slots.append(f"  {slot} = alloca {vector.type}")
        self.lines.append(f"  store {vector.type} {vector.text}, ptr {slot}")
        address = self.element_address(Value("ptr", slot), self.evaluate(index))
        return self.emit_instruction("double", f"load double, ptr {address.text}, align 8")

    def element_address(self, array: Value, index: Value, kind: Kind = VOID) -> Value:
        """Return the address of an element; elements have eight bytes, bools one."""
        small = isinstance(kind, ArrayKind) and kind.element == BOOL
        size = "i8" if small else "i64"
        return self.emit_instruction(
            "ptr", f"getelementptr {size}, ptr {array.text}, i64 {index.text}"
        )

    # --- arithmetic

    def convert_value(self, value: Value, kind: str) -> Value:
        """Return a value converted to another type: an int to a double, a number to a SIMD vector of equal
        numbers.
        """
        if value.type == kind:
            return value
        if value.type == "i64" and "i64" not in kind:
            value = self.emit_instruction("double", f"sitofp i64 {value.text} to double")
        if not value.type.startswith("<") and kind.startswith("<"):
            text = f"insertelement {kind} undef, {value.type} {value.text}, i32 0"
            first_lane = self.emit_instruction(kind, text)
            zeros = f"<{kind[1:].split()[0]} x i32> zeroinitializer"
            return self.emit_instruction(
                kind, f"shufflevector {kind} {first_lane.text}, {kind} undef, {zeros}"
            )
        if value.type.startswith("<") and "i64" in value.type:
            return self.emit_instruction(kind, f"sitofp {value.type} {value.text} to {kind}")
        return value

    def common_type(self, *values: Value) -> list[Value]:
        """Return numbers converted to one type, the widest among them."""
        types = {v.type for v in values}
        if len(types) == 1:
            return list(values)
        entry = "i64" if all("i64" in t for t in types) else "double"
        entry = "i1" if all(map(_is_bool, types)) else entry
        kind = _simd_type(self.width, entry) if any(t.startswith("<") for t in types) else entry
        return [self.convert_value(v, kind) for v in values]

    def evaluate_binary(self, op: ast.operator, a: Value, b: Value) -> Value:
        """Return the value of an arithmetic operation, entry by entry for vectors."""
        if _vector_size(a) or _vector_size(b):
            size = max(_vector_size(a), _vector_size(b))
            lhs, rhs = (self.vector_entries(x) if _vector_size(x) else [x] * size for x in (a, b))
            results = [self.evaluate_binary(op, x, y) for x, y in zip(lhs, rhs, strict=True)]
            return self.combine_values(f"[{size} x double]", results)
        if isinstance(op, ast.Pow):
            a = self.convert_value(a, "double")
            b = self.convert_value(b, "double")
            # With `nobuiltin`, LLVM does not replace powers by operations that may round
            # differently.
            return self.emit_instruction(
                "double", f"call double @pow(double {a.text}, double {b.text}) nobuiltin"
            )
        if isinstance(op, ast.Div):
            a, b = (self.convert_value(x, x.type.replace("i64", "double")) for x in (a, b))
        a, b = self.common_type(a, b)
        table: Any = _INT_OPS if "i64" in a.type else _FLOAT_OPS
        return self.emit_instruction(a.type, f"{table[type(op)]} {a.type} {a.text}, {b.text}")

    def evaluate_comparison(self, op: ast.cmpop, a: Value, b: Value) -> Value:
        """Return the value of a comparison, a bool in each SIMD lane."""
        a, b = self.common_type(a, b)
        flags = a.type.replace("double", "i1").replace("i64", "i1")
        if "i64" in a.type or _is_bool(a.type):
            test: Any = f"icmp {_INT_TESTS[type(op)]}"
        else:
            test = f"fcmp {_FLOAT_TESTS[type(op)]}"
        return self.emit_instruction(flags, f"{test} {a.type} {a.text}, {b.text}")

    def evaluate_condition(self, node: ast.expr) -> Value:
        """Return a condition as a value. Without SIMD lanes, `and` and `or` skip operands as in Python; with
        them, all operands are evaluated.
        """
        if not self.each and isinstance(node, ast.BoolOp):
            return self.evaluate_conditional(
                ast.IfExp(node, ast.Constant(True), ast.Constant(False)), "i1"
            )
        if isinstance(node, ast.UnaryOp):
            x = self.evaluate(node.operand)
            ones = "true" if x.type == "i1" else "<" + ", ".join(["i1 true"] * self.width) + ">"
            return self.emit_instruction(x.type, f"xor {x.type} {x.text}, {ones}")
        assert isinstance(node, ast.BoolOp)
        word = "and" if isinstance(node.op, ast.And) else "or"
        combined = self.evaluate(node.values[0])
        for other in node.values[1:]:
            combined, x = self.common_type(combined, self.evaluate(other))
            combined = self.emit_instruction(x.type, f"{word} {x.type} {combined.text}, {x.text}")
        return combined

    def evaluate_conditional(self, node: ast.IfExp, kind: str = "") -> Value:
        """Return the value of a conditional expression: a select of two values in SIMD lanes, otherwise
        jumps, so that only one branch is evaluated.
        """
        if self.each:
            test = self.evaluate(node.test)
            a, b = self.common_type(self.evaluate(node.body), self.evaluate(node.orelse))
            if test.type == "i1" or a.type.startswith("<"):
                return self.select_value(test, a, b)
            kind = _simd_type(self.width, a.type)
            return self.select_value(test, self.convert_value(a, kind), self.convert_value(b, kind))
        kind = kind or llvm_type(self.definition.kinds[node])
        yes = self.new_name()
        no = self.new_name()
        end = self.new_name()
        slot = f"%{self.new_name()}"
        self.slots.append(f"  {slot} = alloca {kind}")
        self.write_condition(node.test, yes, no)
        for label, branch in ((yes, node.body), (no, node.orelse)):
            self.write_label(label)
            x = self.convert_value(self.evaluate(branch), kind)
            self.lines.append(f"  store {kind} {x.text}, ptr {slot}")
            self.write_jump(end)
        self.write_label(end)
        return self.emit_instruction(kind, f"load {kind}, ptr {slot}")

    def select_value(self, test: Value, a: Value, b: Value) -> Value:
        """Return a if a bool is true, otherwise b, in each SIMD lane."""
        text = f"select {test.type} {test.text}, {a.type} {a.text}, {a.type} {b.text}"
        return self.emit_instruction(a.type, text)

    def evaluate_call(self, target: Any, args: list[Value]) -> Value:
        """Return the value of a call of a routine, a program, a constructor or a function."""
        if isinstance(target, Routine):
            kinds = [llvm_type(kind) for kind in target.parameters.values()]
            converted = [self.convert_value(a, k) for a, k in zip(args, kinds, strict=True)]
            text = ", ".join(f"{_argument_type(a.type)} {a.text}" for a in converted)
            returns = llvm_type(target.returns)
            line = f"call {_result_type(returns)} @{self.symbols[target]}({text})"
            if returns != "void":
                return self.emit_instruction(returns, line)
            self.lines.append(f"  {line}")
            return Value("void", "")
        if target == "call":
            address = self.emit_instruction("ptr", f"inttoptr i64 {args[0].text} to ptr")
            text = ", ".join(f"{a.type} {a.text}" for a in args[1:])
            self.lines.append(f"  call void {address.text}({text})")
            return Value("void", "")
        if is_fixed(target):
            return self.combine_values(
                _vector_llvm_type(target), [self.convert_value(a, "double") for a in args]
            )
        if is_enum(target):
            return args[0]
        return self.evaluate_function(target, args)

    def evaluate_vector_product(self, function_name: str, a: Value, b: Value) -> Value:
        """Return the scalar or the vector product of two fixed-size vectors."""
        x = self.vector_entries(a)
        y = self.vector_entries(b)
        if function_name == "dot":
            total, *others = (
                self.evaluate_binary(ast.Mult(), p, q) for p, q in zip(x, y, strict=True)
            )
            for term in others:
                total = self.evaluate_binary(ast.Add(), total, term)
            return total
        pairs = [(1, 2), (2, 0), (0, 1)]
        entries = []
        for i, j in pairs:
            first = self.evaluate_binary(ast.Mult(), x[i], y[j])
            second = self.evaluate_binary(ast.Mult(), x[j], y[i])
            entries.append(self.evaluate_binary(ast.Sub(), first, second))
        return self.combine_values(a.type, entries)

    def evaluate_function(self, function_name: str, args: list[Value]) -> Value:
        """Return the value of a function of numbers.

        As in Python, min and max return their first argument unless the second is less, or greater.
        """
        if function_name in ("dot", "cross"):
            return self.evaluate_vector_product(function_name, *args)
        if function_name in ("min", "max"):
            a, b = self.common_type(*args)
            op = ast.Lt() if function_name == "min" else ast.Gt()
            return self.select_value(self.evaluate_comparison(op, b, a), b, a)
        (x,) = args
        if function_name == "address":
            return x
        if _is_bool(x.type):
            kind = x.type.replace("i1", "i64" if function_name == "int" else "double")
            return self.emit_instruction(
                kind,
                f"{'zext' if function_name == 'int' else 'uitofp'} {x.type} {x.text} to {kind}",
            )
        if function_name == "int":
            return (
                x
                if x.type == "i64"
                else self.emit_instruction("i64", f"fptosi double {x.text} to i64")
            )
        if function_name == "abs" and "i64" in x.type:
            below = self.evaluate_comparison(ast.Lt(), x, Value("i64", "0"))
            return self.select_value(below, self.negate(x), x)
        if x.type == "i64":
            x = self.convert_value(x, "double")
        if function_name == "float":
            return x
        if function_name == "isfinite":
            # The comparison |x| < inf is false for inf and for nan: x is finite if it is true.
            size = self.evaluate_function("abs", [x])
            return self.evaluate_comparison(
                ast.Lt(), size, Value(x.type, llvm_constant(x.type, np.inf))
            )
        name = "fabs" if function_name == "abs" else function_name
        return self.emit_instruction(
            x.type, f"call {x.type} @llvm.{name}.{intrinsic_suffix(x.type)}({x.type} {x.text})"
        )
