"""Routines as LLVM text.

Local names live in slots that LLVM turns into registers. A loop over `each` becomes two: one that
takes `width` passes at a time in a vector, and one for the rest. No operation is fused or reordered,
so every width gives the same bits. Only a program's address, `pow`, and what LLVM itself may call
(memcpy, memset) lead out of the code.
"""

import ast
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from draisine.codegen.routine import (
    ADDRESS,
    BOOL,
    DOUBLES,
    FLOAT,
    INT,
    INTEGERS,
    NONE,
    Kind,
    Routine,
    fields,
)
from draisine.codegen.subset import Definition, bounds, read, runs_with, step_of
from draisine.codegen.targets._llvm import constant, number, suffix

_TYPES: dict[Kind, str] = {
    INT: "i64", FLOAT: "double", BOOL: "i1", NONE: "void",
    DOUBLES: "ptr", INTEGERS: "ptr", ADDRESS: "i64",
}  # fmt: skip
_FLOAT_OPS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_INT_OPS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv", ast.Mod: "srem",
}  # fmt: skip
_FLOAT_TESTS = {
    ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge", ast.Eq: "oeq", ast.NotEq: "une",
}  # fmt: skip
_INT_TESTS = {
    ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


KnownFields = tuple[tuple[type, str, int], ...]
"""Fields of records whose whole numbers are known before: the record, the field, the number."""


def write(routines: Sequence[Routine], width: int = 1, known: KnownFields = ()) -> str:
    """Return routines and their callees as LLVM text, loops over `each` in vectors of a width, for
    records in which some fields are `known`.
    """
    parts = [
        "declare double @pow(double, double)",
        "!0 = !{}",
    ]
    for kind in dict.fromkeys(["double", _vector(width)]):
        s = suffix(kind)
        parts += [f"declare {kind} @llvm.{f}.{s}({kind})" for f in ("fabs", "sqrt")]
    family = list(dict.fromkeys(one for routine in routines for one in routine.family))
    names = {one: f"{symbol(one)}.{k}" for k, one in enumerate(family)}
    names |= {one: symbol(one) for one in routines}
    parts += [_LlvmWriter(read(one), width, names, known).function() for one in family]
    return "\n".join(parts)


def symbol(routine: Routine) -> str:
    """Return a name that no function of C has."""
    f = routine.function
    return "draisine." + re.sub(r"[^\w.]", "_", f"{f.__module__}.{f.__qualname__}", flags=re.ASCII)


def type_of(kind: Kind) -> str:
    """Return the type of a kind in LLVM's text."""
    return "ptr" if isinstance(kind, type) else _TYPES[kind]


def _vector(width: int, of: str = "double") -> str:
    return of if width == 1 else f"<{width} x {of}>"


class Value(NamedTuple):
    """A value in the text, and its type there."""

    type: str
    text: str


class _LlvmWriter:
    """Writes one function."""

    def __init__(
        self, definition: Definition, width: int, symbols: dict[Routine, str], known: KnownFields
    ) -> None:
        self.it, self.full, self.symbols = definition, width, symbols
        self.known = {(record, field): number for record, field, number in known}
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.count = 0
        self.width = 1
        self.each = ""
        self.exits: list[tuple[str, str]] = []

    def function(self) -> str:
        """Return the text of the function."""
        routine = self.it.routine
        arguments = []
        for name, kind in routine.parameters.items():
            arguments.append(f"{type_of(kind)} %{name}")
        for name, kind in self.it.names.items():
            self.slots.append(f"  %{name}.a = alloca {type_of(kind)}")
            if name in self.it.lanes:
                self.slots.append(f"  %{name}.v = alloca {_vector(self.full)}, align 64")
        self.block(self.it.body)
        returns = type_of(routine.returns)
        self.lines.append("  ret void" if returns == "void" else "  unreachable")
        linkage = "" if self.symbols[routine] == symbol(routine) else "internal "
        head = f"define {linkage}{returns} @{self.symbols[routine]}({', '.join(arguments)})"
        return "\n".join([f"{head} {{", "entry:", *self.slots, *self.lines, "}", ""])

    # --- text

    def new(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def emit(self, type_: str, text: str) -> Value:
        name = f"%{self.new()}"
        self.lines.append(f"  {name} = {text}")
        return Value(type_, name)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def jump(self, name: str) -> None:
        self.lines.append(f"  br label %{name}")

    # --- statements

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                made = [self.value(v) for v in values]
                for target, value in zip(targets, made, strict=True):
                    self.assign(target, value)
            case ast.Assign(targets=[target], value=value):
                self.assign(target, self.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                self.assign(target, self.binary(op, self.value(target), self.value(value)))
            case ast.If():
                self.branching(node)
            case ast.While():
                self.repetition(node)
            case ast.For():
                self.loop(node)
            case ast.Return(value=value):
                self.give_back(value)
            case ast.Break():
                self.leave(self.exits[-1][1])
            case ast.Continue():
                self.leave(self.exits[-1][0])
            case ast.Expr(value=value):
                self.value(value)

    def leave(self, where: str) -> None:
        """Jump away; what follows in the text is never reached, and needs a label of its own."""
        self.jump(where)
        self.label(self.new())

    def give_back(self, node: ast.expr | None) -> None:
        if node is None:
            self.lines.append("  ret void")
        else:
            value = self.convert(self.value(node), type_of(self.it.routine.returns))
            self.lines.append(f"  ret {value.type} {value.text}")
        self.label(self.new())

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            kind = type_of(self.it.names[target.id])
            slot = f"%{target.id}.a"
            if self.width > 1 and target.id in self.it.lanes:
                kind, slot = _vector(self.width), f"%{target.id}.v"
            value = self.convert(value, kind)
            self.lines.append(f"  store {kind} {value.text}, ptr {slot}")
            return
        assert isinstance(target, ast.Subscript)
        address, kind = self.element(target)
        value = self.convert(value, kind)
        self.lines.append(f"  store {kind} {value.text}, ptr {address}, align 8")

    def branching(self, node: ast.If) -> None:
        yes, no, end = self.new(), self.new(), self.new()
        self.test(node.test, yes, no)
        self.label(yes)
        self.block(node.body)
        self.jump(end)
        self.label(no)
        self.block(node.orelse)
        self.jump(end)
        self.label(end)

    def repetition(self, node: ast.While) -> None:
        again, inside, end = self.new(), self.new(), self.new()
        self.jump(again)
        self.label(again)
        self.test(node.test, inside, end)
        self.label(inside)
        self.exits.append((again, end))
        self.block(node.body)
        self.exits.pop()
        self.jump(again)
        self.label(end)

    def loop(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)
        assert isinstance(node.iter.func, ast.Name)
        low, high = bounds(node)
        first = Value("i64", "0") if low is None else self.value(low)
        end = self.value(high)
        if node.iter.func.id == "range":
            self.counted(node, first, end, step_of(node))
            return
        self.each = node.target.id
        counter = f"%{self.new()}"
        self.slots.append(f"  {counter} = alloca i64")
        self.lines.append(f"  store i64 0, ptr {counter}")
        if self.full > 1:
            self.width = self.full
            last = self.emit("i64", f"sub i64 {end.text}, {self.full - 1}")
            self.counted(node, first, last, self.full, counter)
            first = self.emit("i64", f"load i64, ptr {counter}")
            self.width = 1
        self.counted(node, first, end, 1, counter)
        self.each = ""

    def counted(
        self, node: ast.For, first: Value, end: Value, step: int, counter: str | None = None
    ) -> None:
        """Write a loop that counts from first to end; the counter is left where it stopped."""
        assert isinstance(node.target, ast.Name)
        again, inside, onward, done = (self.new() for _ in range(4))
        if counter is None:
            counter = f"%{self.new()}"
            self.slots.append(f"  {counter} = alloca i64")
        self.lines.append(f"  store i64 {first.text}, ptr {counter}")
        self.jump(again)
        self.label(again)
        at = self.emit("i64", f"load i64, ptr {counter}")
        more = self.emit("i1", f"icmp {'slt' if step > 0 else 'sgt'} i64 {at.text}, {end.text}")
        self.lines.append(f"  br i1 {more.text}, label %{inside}, label %{done}")
        self.label(inside)
        self.lines.append(f"  store i64 {at.text}, ptr %{node.target.id}.a")
        self.exits.append((onward, done))
        self.block(node.body)
        self.exits.pop()
        self.jump(onward)
        self.label(onward)
        following = self.emit("i64", f"add i64 {at.text}, {step}")
        self.lines.append(f"  store i64 {following.text}, ptr {counter}")
        self.jump(again)
        self.label(done)

    # --- conditions

    def test(self, node: ast.expr, yes: str, no: str) -> None:
        """Write jumps to `yes` or `no`; what need not be known is not computed."""
        match node:
            case ast.BoolOp(op=op, values=[*firsts, final]):
                for value in firsts:
                    onward = self.new()
                    if isinstance(op, ast.And):
                        self.test(value, onward, no)
                    else:
                        self.test(value, yes, onward)
                    self.label(onward)
                self.test(final, yes, no)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.test(operand, no, yes)
            case _:
                found = self.value(node)
                self.lines.append(f"  br i1 {found.text}, label %{yes}, label %{no}")

    # --- expressions

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=value):
                return self.number(value)
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=value, attr=field):
                return self.field(value, field)
            case ast.Subscript(value=value, slice=ast.Slice(lower=low)):
                assert low is not None
                return self.place(self.value(value), self.value(low))
            case ast.Subscript():
                address, kind = self.element(node)
                return self.emit(kind, f"load {kind}, ptr {address}, align 8")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.negative(self.value(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.value(left), self.value(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.comparison(op, self.value(left), self.value(right))
            case ast.IfExp():
                return self.choice(node)
            case ast.BoolOp() | ast.UnaryOp():
                return self.truth(node)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.call(self.it.meaning[name], [self.value(a) for a in args])
        raise AssertionError(ast.unparse(node))

    def negative(self, x: Value) -> Value:
        if "i64" in x.type:
            zero = "0" if x.type == "i64" else "zeroinitializer"
            return self.emit(x.type, f"sub {x.type} {zero}, {x.text}")
        return self.emit(x.type, f"fneg {x.type} {x.text}")

    def number(self, x: Any) -> Value:
        if isinstance(x, bool):
            return Value("i1", "true" if x else "false")
        return Value("i64", str(x)) if isinstance(x, int) else Value("double", number(x))

    def name(self, name: str) -> Value:
        if name in self.it.routine.parameters:
            return Value(type_of(self.it.routine.parameters[name]), f"%{name}")
        if name not in self.it.names:
            return self.number(self.it.meaning[name])
        kind = type_of(self.it.names[name])
        if self.width > 1 and name in self.it.lanes:
            kind = _vector(self.width)
            return self.emit(kind, f"load {kind}, ptr %{name}.v")
        return self.emit(kind, f"load {kind}, ptr %{name}.a")

    def field(self, record: ast.expr, field: str) -> Value:
        owner = self.it.kinds[record]
        assert isinstance(owner, type)
        if (owner, field) in self.known:
            return self.number(self.known[owner, field])
        kinds = fields(owner)
        base, place = self.value(record), list(kinds).index(field)
        kind = type_of(kinds[field])
        where = self.place(base, Value("i64", str(place)))
        return self.emit(kind, f"load {kind}, ptr {where.text}, align 8, !invariant.load !0")

    def element(self, node: ast.Subscript) -> tuple[str, str]:
        """Return the address of an element and its type: a vector's where it runs with the lanes."""
        array, index = self.value(node.value), self.value(node.slice)
        kind = "double" if self.it.kinds[node.value] == DOUBLES else "i64"
        if self.width > 1 and runs_with(node.slice, self.each):
            kind = _vector(self.width, kind)
        return self.place(array, index).text, kind

    def place(self, array: Value, index: Value) -> Value:
        return self.emit("ptr", f"getelementptr i64, ptr {array.text}, i64 {index.text}")

    def convert(self, value: Value, kind: str) -> Value:
        """Return a value as another type: an int as a double, one number in every lane."""
        if value.type == kind:
            return value
        if value.type == "i64" and "i64" not in kind:
            value = self.emit("double", f"sitofp i64 {value.text} to double")
        if not value.type.startswith("<") and kind.startswith("<"):
            text = f"insertelement {kind} undef, {value.type} {value.text}, i32 0"
            one = self.emit(kind, text)
            zeros = f"<{kind[1:].split()[0]} x i32> zeroinitializer"
            return self.emit(kind, f"shufflevector {kind} {one.text}, {kind} undef, {zeros}")
        if value.type.startswith("<") and "i64" in value.type:
            return self.emit(kind, f"sitofp {value.type} {value.text} to {kind}")
        return value

    def alike(self, *values: Value) -> list[Value]:
        """Return numbers as one type: the widest among them."""
        types = {v.type for v in values}
        if len(types) == 1:
            return list(values)
        entry = "i64" if all("i64" in t for t in types) else "double"
        kind = _vector(self.width, entry) if any(t.startswith("<") for t in types) else entry
        return [self.convert(v, kind) for v in values]

    def binary(self, op: ast.operator, a: Value, b: Value) -> Value:
        if isinstance(op, ast.Pow):
            a, b = self.convert(a, "double"), self.convert(b, "double")
            return self.emit(
                "double", f"call double @pow(double {a.text}, double {b.text}) nobuiltin"
            )
        if isinstance(op, ast.Div):
            a, b = (self.convert(x, x.type.replace("i64", "double")) for x in (a, b))
        a, b = self.alike(a, b)
        table: Any = _INT_OPS if "i64" in a.type else _FLOAT_OPS
        return self.emit(a.type, f"{table[type(op)]} {a.type} {a.text}, {b.text}")

    def comparison(self, op: ast.cmpop, a: Value, b: Value) -> Value:
        a, b = self.alike(a, b)
        flags = a.type.replace("double", "i1").replace("i64", "i1")
        if "i64" in a.type:
            test: Any = f"icmp {_INT_TESTS[type(op)]}"
        else:
            test = f"fcmp {_FLOAT_TESTS[type(op)]}"
        return self.emit(flags, f"{test} {a.type} {a.text}, {b.text}")

    def truth(self, node: ast.expr) -> Value:
        """Return a condition as a value: in lanes, where all parts are computed."""
        if isinstance(node, ast.UnaryOp):
            x = self.value(node.operand)
            ones = "true" if x.type == "i1" else "<" + ", ".join(["i1 true"] * self.width) + ">"
            return self.emit(x.type, f"xor {x.type} {x.text}, {ones}")
        assert isinstance(node, ast.BoolOp)
        word = "and" if isinstance(node.op, ast.And) else "or"
        found = self.value(node.values[0])
        for other in node.values[1:]:
            x = self.value(other)
            found = self.emit(x.type, f"{word} {x.type} {found.text}, {x.text}")
        return found

    def choice(self, node: ast.IfExp) -> Value:
        if self.each:
            test = self.value(node.test)
            a, b = self.alike(self.value(node.body), self.value(node.orelse))
            if test.type == "i1" or a.type.startswith("<"):
                return self.select(test, a, b)
            kind = _vector(self.width)
            return self.select(test, self.convert(a, kind), self.convert(b, kind))
        kind = type_of(self.it.kinds[node])
        yes, no, end, slot = self.new(), self.new(), self.new(), f"%{self.new()}"
        self.slots.append(f"  {slot} = alloca {kind}")
        self.test(node.test, yes, no)
        for label, part in ((yes, node.body), (no, node.orelse)):
            self.label(label)
            x = self.convert(self.value(part), kind)
            self.lines.append(f"  store {kind} {x.text}, ptr {slot}")
            self.jump(end)
        self.label(end)
        return self.emit(kind, f"load {kind}, ptr {slot}")

    def select(self, test: Value, a: Value, b: Value) -> Value:
        text = f"select {test.type} {test.text}, {a.type} {a.text}, {a.type} {b.text}"
        return self.emit(a.type, text)

    def call(self, target: Any, args: list[Value]) -> Value:
        if isinstance(target, Routine):
            kinds = [type_of(kind) for kind in target.parameters.values()]
            given = [self.convert(a, k) for a, k in zip(args, kinds, strict=True)]
            text = ", ".join(f"{a.type} {a.text}" for a in given)
            returns = type_of(target.returns)
            line = f"call {returns} @{self.symbols[target]}({text})"
            if returns != "void":
                return self.emit(returns, line)
            self.lines.append(f"  {line}")
            return Value("void", "")
        if target == "call":
            where = self.emit("ptr", f"inttoptr i64 {args[0].text} to ptr")
            text = ", ".join(f"{a.type} {a.text}" for a in args[1:])
            self.lines.append(f"  call void {where.text}({text})")
            return Value("void", "")
        return self.function_of(target, args)

    def function_of(self, word: str, args: list[Value]) -> Value:
        """Return a function of numbers: Python's min and max keep their first argument unless the
        second is less, or more.
        """
        if word in ("min", "max"):
            a, b = self.alike(*args)
            op = ast.Lt() if word == "min" else ast.Gt()
            return self.select(self.comparison(op, b, a), b, a)
        (x,) = args
        if word == "address":
            return x
        if word == "int":
            return x if x.type == "i64" else self.emit("i64", f"fptosi double {x.text} to i64")
        if word == "abs" and "i64" in x.type:
            below = self.comparison(ast.Lt(), x, Value("i64", "0"))
            return self.select(below, self.negative(x), x)
        if x.type == "i64":
            x = self.convert(x, "double")
        if word == "float":
            return x
        if word == "isfinite":
            size = self.function_of("abs", [x])
            return self.comparison(ast.Lt(), size, Value(x.type, constant(x.type, np.inf)))
        name = "fabs" if word == "abs" else word
        return self.emit(x.type, f"call {x.type} @llvm.{name}.{suffix(x.type)}({x.type} {x.text})")
