"""The subset of Python that routines are written in: a routine's text read, the kind of every
expression found, what does not belong there told with file and line.
"""

import ast
from dataclasses import dataclass
from functools import cache
from typing import Any

from draisine.codegen.routine import (
    ADDRESS,
    BOOL,
    DOUBLES,
    ELEMENT,
    FLOAT,
    FUNCTIONS,
    INT,
    NONE,
    Kind,
    Routine,
    fields,
)
from draisine.codegen.vectors import write_out
from draisine.errors import RoutineError


@dataclass(frozen=True, eq=False)
class Definition:
    """A routine as its writers take it: the statements, the kind of every expression, the local
    names (arguments not counted), those of them that belong to single lanes, and what the names from
    outside mean: a number, a routine, or a word of FUNCTIONS.
    """

    routine: Routine
    body: list[ast.stmt]
    kinds: dict[ast.expr, Kind]
    names: dict[str, Kind]
    lanes: frozenset[str]
    meaning: dict[str, Any]


@cache
def read(routine: Routine) -> Definition:
    """Return a routine, read and checked."""
    return _SubsetReader(routine).read()


class _SubsetReader:
    """Reads one routine: finds the kind of every expression, and what does not belong here."""

    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self.kinds: dict[ast.expr, Kind] = {}
        self.names: dict[str, Kind] = {}
        self.lanes: set[str] = set()
        self.closed: set[str] = set()
        self.each: str | None = None
        self.indexing = False
        self.meaning: dict[str, Any] = {}

    def read(self) -> Definition:
        """Return the routine, read and checked."""
        function = self.routine.tree
        self.first = min([function.lineno, *[d.lineno for d in function.decorator_list]])
        arguments = function.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            self.refuse(function, "takes plain arguments only, without defaults")
        body = function.body
        if ast.get_docstring(function) is not None:
            body = body[1:]
        body = write_out(body, self.refuse)
        self.block(body)
        if self.routine.returns != NONE and not _ends(body):
            self.refuse(function, "must end every way with return")
        return Definition(
            self.routine, body, self.kinds, self.names, frozenset(self.lanes), self.meaning
        )

    def refuse(self, node: ast.AST, why: str) -> Any:
        line = getattr(node, "lineno", 1) - getattr(self, "first", 1) + 1
        raise RoutineError(f"{self.routine.place(line)}: routine {self.routine.__name__!r} {why}.")

    # --- statements

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                if len(targets) != len(values):
                    self.refuse(node, f"assigns {len(values)} values to {len(targets)} names")
                kinds = [self.expression(value) for value in values]
                for target, kind in zip(targets, kinds, strict=True):
                    self.assign(target, kind)
            case ast.Assign(targets=[target]):
                self.assign(target, self.expression(node.value))
            case ast.AugAssign(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                kind = self.arithmetic(node, node.op, self.expression(node.target), node.value)
                self.assign(node.target, kind)
            case ast.If():
                self.test(node.test)
                if self.each and self.varies(node.test):
                    self.refuse(node, "cannot branch lane by lane; write `a if c else b`")
                self.block(node.body)
                self.block(node.orelse)
            case ast.While(orelse=[]) if self.each is None:
                self.test(node.test)
                self.block(node.body)
            case ast.For(orelse=[], target=ast.Name(id=name)):
                self.loop(node, name)
            case ast.Return() if self.each is None:
                kind = NONE if node.value is None else self.expression(node.value)
                self.agree(node, kind, self.routine.returns, "returns")
            case ast.Break() | ast.Continue() if self.each is None:
                pass
            case ast.Pass():
                pass
            case ast.Expr(value=ast.Call()):
                self.expression(node.value)
            case _:
                self.refuse(node, f"cannot contain `{ast.unparse(node).splitlines()[0]}` here")

    def loop(self, node: ast.For, name: str) -> None:
        match node.iter:
            case ast.Call(func=ast.Name(id="each"), args=[size], keywords=[]):
                if self.each is not None:
                    self.refuse(node, "has one `each`, or a vector, inside another")
                self.whole(size)
                self.each = name
            case ast.Call(func=ast.Name(id="range"), args=[_, *more] as args, keywords=[]):
                for argument in args:
                    self.whole(argument)
                    if self.each is not None and self.varies(argument):
                        self.refuse(node, "has a loop of different length in each lane")
                if len(more) == 2 and step_of(node) == 0:
                    self.refuse(node, "needs a step that is a number, like 2 or -1")
            case _:
                self.refuse(node, "loops over range(...) and each(n) only")
        if name in self.routine.parameters or self.names.get(name, INT) != INT:
            self.refuse(node, f"uses {name!r} for a loop and for something else")
        self.names[name] = INT
        self.closed.discard(name)
        self.block(node.body)
        self.closed.add(name)
        if self.each == name:
            self.each = None

    def assign(self, target: ast.expr, kind: Kind) -> None:
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            self.agree(target, kind, self.expression(target), "writes")
            if self.each and not self.stride(target.slice):
                self.refuse(target, "writes the same element in every lane")
            return
        if not isinstance(target, ast.Name):
            self.refuse(target, "assigns to names and elements only")
            return
        name = target.id
        if name in self.routine.parameters or name in self.closed:
            self.refuse(target, f"cannot assign to {name!r}, an argument or the variable of a loop")
        known = self.names.setdefault(name, kind)
        self.kinds[target] = known
        self.agree(target, kind, known, f"takes {name!r} for {known} before and now")
        if known in (NONE, BOOL):
            self.refuse(target, f"cannot keep {known} in a name")
        if self.each and known == FLOAT:
            self.lanes.add(name)
        elif self.each and known != INT:
            self.refuse(target, "assigns numbers only inside `each`")
        elif name in self.lanes:
            self.refuse(target, f"uses {name!r} inside and outside of `each`")

    def agree(self, node: ast.AST, kind: Kind, wanted: Kind, how: str) -> None:
        if kind != wanted and (kind, wanted) != (INT, FLOAT):
            self.refuse(node, f"{how} {_word(kind)} where it wants {_word(wanted)}")

    # --- expressions

    def whole(self, node: ast.expr) -> None:
        if self.expression(node) != INT:
            self.refuse(node, f"needs a whole number for `{ast.unparse(node)}`")

    def test(self, node: ast.expr) -> None:
        if self.expression(node) != BOOL:
            self.refuse(node, f"needs a comparison instead of `{ast.unparse(node)}`")

    def expression(self, node: ast.expr) -> Kind:
        kind = self.kinds[node] = self._kind(node)
        return kind

    def _kind(self, node: ast.expr) -> Kind:
        match node:
            case ast.Constant(value=bool()):
                return BOOL
            case ast.Constant(value=int()):
                return INT
            case ast.Constant(value=float()):
                return FLOAT
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.Attribute(value=value, attr=field):
                record = self.expression(value)
                if isinstance(record, type) and field in fields(record):
                    return fields(record)[field]
                return self.refuse(node, f"finds no field {field!r} in {_word(record)}")
            case ast.Subscript(value=value, slice=ast.Slice(lower=low, upper=None, step=None)):
                return self.tail(node, value, low)
            case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
                return self.entry(value, index)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                kind = self.expression(operand)
                return kind if kind in (INT, FLOAT) else self.refuse(node, "negates no number")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.test(operand)
                return BOOL
            case ast.BoolOp(values=values):
                for value in values:
                    self.test(value)
                return BOOL
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.comparison(node, left, op, right)
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(node, op, self.expression(left), right)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.test(test)
                return self.common(node, self.expression(body), self.expression(orelse))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.call(node, name, args)
        return self.refuse(node, f"does not know `{ast.unparse(node)}`")

    def tail(self, node: ast.expr, value: ast.expr, low: ast.expr | None) -> Kind:
        if low is None or self.each:
            self.refuse(node, "takes a[i:] with a beginning, outside of `each`")
        self.whole(low)  # type: ignore[arg-type]
        return self.array(value)

    def entry(self, value: ast.expr, index: ast.expr) -> Kind:
        outer, self.indexing = self.indexing, True
        self.whole(index)
        self.indexing = outer
        if self.each:
            self.stride(index)
        return ELEMENT[self.array(value)]

    def name(self, node: ast.expr, name: str) -> Kind:
        if name in self.closed:
            self.refuse(node, f"reads {name!r} after its loop")
        if name in self.lanes and not self.each:
            self.refuse(node, f"reads {name!r}, which belongs to single lanes")
        if name == self.each and not self.indexing:
            self.refuse(node, f"uses {name!r} inside `each` as an index only: alone or in a sum")
        kind = self.routine.parameters.get(name) or self.names.get(name)
        if kind is not None:
            return kind
        value = self.outside(node, name)
        if isinstance(value, (bool, int, float)):
            self.meaning[name] = value
            return BOOL if isinstance(value, bool) else INT if isinstance(value, int) else FLOAT
        return self.refuse(node, f"finds in {name!r} neither a number nor a value of its own")

    def outside(self, node: ast.expr, name: str) -> Any:
        known = self.routine.outside
        if name in known:
            return known[name]
        builtin = {f.__name__: f for f in FUNCTIONS}.get(name)
        return builtin if builtin else self.refuse(node, f"does not know the name {name!r}")

    def array(self, node: ast.expr) -> Kind:
        kind = self.expression(node)
        return kind if kind in ELEMENT else self.refuse(node, f"indexes {_word(kind)}")

    def comparison(self, node: ast.expr, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Kind:
        if not isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)):
            self.refuse(node, f"does not know `{ast.unparse(node)}`")
        kinds = {self.expression(left), self.expression(right)}
        if not kinds <= {INT, FLOAT} and kinds != {ADDRESS, INT}:
            self.refuse(node, f"compares no numbers in `{ast.unparse(node)}`")
        return BOOL

    def arithmetic(self, node: ast.AST, op: ast.operator, left: Kind, right: ast.expr) -> Kind:
        kinds = {left, self.expression(right)}
        if not kinds <= {INT, FLOAT}:
            self.refuse(node, f"calculates with {_word(left)} and {_word(self.kinds[right])}")
        if isinstance(op, (ast.FloorDiv, ast.Mod)):
            return INT if kinds == {INT} else self.refuse(node, "takes // and % of whole numbers")
        if isinstance(op, (ast.Div, ast.Pow)):
            return FLOAT
        if not isinstance(op, (ast.Add, ast.Sub, ast.Mult)):
            self.refuse(node, f"does not know the operation {type(op).__name__}")
        return INT if kinds == {INT} else FLOAT

    def common(self, node: ast.expr, a: Kind, b: Kind) -> Kind:
        if {a, b} == {INT, FLOAT}:
            return FLOAT
        return a if a == b else self.refuse(node, f"chooses between {_word(a)} and {_word(b)}")

    def call(self, node: ast.expr, name: str, args: list[ast.expr]) -> Kind:
        target = self.outside(node, name)
        self.meaning[name] = target if isinstance(target, Routine) else FUNCTIONS.get(target)
        kinds = [self.expression(a) for a in args]
        if isinstance(target, Routine):
            wanted = list(target.parameters.values())
            if len(kinds) != len(wanted) or self.each:
                self.refuse(node, f"calls {name} with {len(kinds)} arguments, or inside `each`")
            for a, kind, one in zip(args, kinds, wanted, strict=True):
                self.agree(a, kind, one, f"gives {name}")
            return target.returns
        match self.meaning[name], kinds:
            case "call", [_, *_] if kinds == [ADDRESS, DOUBLES, DOUBLES, DOUBLES, INT]:
                return NONE
            case "address", [kind] if kind == INT:
                return ADDRESS
            case "abs" | "sqrt" | "float" | "int" | "isfinite", [kind] if kind in (INT, FLOAT):
                how = {"int": INT, "isfinite": BOOL, "abs": kind}
                return how.get(self.meaning[name], FLOAT)
            case "min" | "max", [first, second] if {first, second} <= {INT, FLOAT}:
                return self.common(node, first, second)
        return self.refuse(node, f"does not know `{ast.unparse(node)}`")

    # --- lanes

    def varies(self, node: ast.expr) -> bool:
        """Return whether an expression differs between the lanes of the present `each`."""
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return bool(names & (self.lanes | {self.each or ""}))

    def stride(self, index: ast.expr) -> bool:
        """Return whether an index runs with the lanes; refuse what does so in another way."""
        try:
            return runs_with(index, self.each or "")
        except ValueError:
            return bool(self.refuse(index, f"indexes `{ast.unparse(index)}`: {self.each} must stand "
                                           "alone or in a sum"))  # fmt: skip


def runs_with(index: ast.expr, name: str) -> bool:
    """Return whether an index is a sum with the lane's number in it; ValueError where that occurs
    in another way.
    """
    if isinstance(index, ast.Name):
        return index.id == name
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add):
        left, right = runs_with(index.left, name), runs_with(index.right, name)
        if left and right:
            raise ValueError
        return left or right
    if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(index)):
        raise ValueError
    return False


def step_of(loop: ast.For) -> int:
    """Return by how much the variable of a loop grows, 0 where that is not a number."""
    assert isinstance(loop.iter, ast.Call)
    match loop.iter.args:
        case [_, _, ast.Constant(value=int(step))]:
            return step
        case [_, _, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(step)))]:
            return -step
        case [_, _, _]:
            return 0
    return 1


def bounds(loop: ast.For) -> tuple[ast.expr | None, ast.expr]:
    """Return where the variable of a loop begins (None: at 0) and where it ends."""
    assert isinstance(loop.iter, ast.Call)
    args = loop.iter.args
    return (None, args[0]) if len(args) == 1 else (args[0], args[1])


def _ends(body: list[ast.stmt]) -> bool:
    """Return whether every way through statements returns."""
    match body[-1] if body else None:
        case ast.Return():
            return True
        case ast.If(body=first, orelse=second):
            return _ends(first) and _ends(second)
        case ast.While(test=ast.Constant(value=True), body=inner):
            return not any(isinstance(n, ast.Break) for s in inner for n in ast.walk(s))
    return False


def _word(kind: Kind) -> str:
    return f"a record {kind.__name__}" if isinstance(kind, type) else kind
