"""Routines as C99 and JavaScript: the same statements in two notations.

Loops over `each` are plain loops here. Arrays of doubles are `double *` and Float64Array, records
structures and objects, programs functions of (x, table, out, count).
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

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
from draisine.codegen.statements import ATOM, PRODUCT, SUM
from draisine.codegen.subset import Definition, bounds, read, step_of
from draisine.errors import RoutineError

CHOICE, OR, AND, TEST = -3, -2, -1, 0
"""How loosely conditions bind, below sums and products."""

_ARITHMETIC: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", SUM), ast.Sub: ("-", SUM), ast.Mult: ("*", PRODUCT), ast.Div: ("/", PRODUCT),
    ast.FloorDiv: ("/", PRODUCT), ast.Mod: ("%", PRODUCT),
}  # fmt: skip
_TESTS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """How a language writes numbers, functions by word, the rest of an array, a whole quotient, a
    quotient, a product and the negative of whole numbers, and declarations of a kind; `equal` are its
    words for == and !=.
    """

    number: Callable[[float], str]
    functions: dict[str, str]
    rest: str
    whole_quotient: str
    quotient: str
    product: str
    negative: str
    equal: tuple[str, str]
    field: str
    declare: Callable[[Kind, str], str]
    head: Callable[[Routine, str], str]
    loop: str


def _c_type(kind: Kind, name: str) -> str:
    """Return how C declares a name of a kind."""
    if isinstance(kind, type):
        return f"const {kind.__name__} *{name}"
    types = {
        INT: "int64_t {}", FLOAT: "double {}", BOOL: "int {}", NONE: "void {}",
        DOUBLES: "double *{}", INTEGERS: "int64_t *{}", ADDRESS: "Program *{}",
    }  # fmt: skip
    return types[kind].format(name)


def _c_head(routine: Routine, name: str) -> str:
    arguments = ", ".join(_c_type(kind, n) for n, kind in routine.parameters.items())
    return f"static {_c_type(routine.returns, name)}({arguments or 'void'})"


def _js_head(routine: Routine, name: str) -> str:
    return f"function {name}({', '.join(routine.parameters)})"


def c_dialect(number: Callable[[float], str]) -> Dialect:
    """Return how C writes routines."""
    words = {
        "abs": "fabs({})", "min": "smaller({}, {})", "max": "larger({}, {})", "sqrt": "sqrt({})",
        "pow": "pow({}, {})", "isfinite": "isfinite({})", "float": "(double)({})",
        "int": "(int64_t)({})", "abs of int": "llabs({})",
        "min of int": "smaller_int({}, {})", "max of int": "larger_int({}, {})",
        "call": "{}({}, {}, {}, {})",
    }  # fmt: skip
    return Dialect(
        number, words, "({} + {})", "{} / {}", "(double)({}) / {}", "{} * {}", "-{}", ("==", "!="), "->",
        lambda kind, name: f"{_c_type(kind, name)} = 0;", _c_head, "int64_t",
    )  # fmt: skip


def js_dialect(number: Callable[[float], str]) -> Dialect:
    """Return how JavaScript writes routines; a whole number has no zero with a sign."""
    words = {
        "abs": "Math.abs({})", "min": "smaller({}, {})", "max": "larger({}, {})",
        "sqrt": "Math.sqrt({})", "pow": "Math.pow({}, {})", "isfinite": "Number.isFinite({})",
        "float": "({})", "int": "(Math.trunc({}) + 0)", "abs of int": "Math.abs({})",
        "min of int": "smaller({}, {})", "max of int": "larger({}, {})",
        "call": "{}({}, {}, {}, {})",
    }  # fmt: skip
    return Dialect(
        number, words, "{}.subarray({})", "Math.trunc({} / {})", "{} / {}", "{} * {} + 0", "0 - {}",
        ("===", "!=="), ".",
        lambda kind, name: f"let {name};", _js_head, "let",
    )  # fmt: skip


C_HELPERS = """\
static inline double smaller(double a, double b) { return b < a ? b : a; }
static inline double larger(double a, double b) { return b > a ? b : a; }
static inline int64_t smaller_int(int64_t a, int64_t b) { return b < a ? b : a; }
static inline int64_t larger_int(int64_t a, int64_t b) { return b > a ? b : a; }
"""

JS_HELPERS = """\
const smaller = (a, b) => (b < a ? b : a);
const larger = (a, b) => (b > a ? b : a);
"""


def c_record(record: type) -> str:
    """Return a record as a structure of C."""
    lines = [f"    {_c_type(kind, name)};" for name, kind in fields(record).items()]
    return "\n".join(["typedef struct {", *lines, f"}} {record.__name__};", ""])


def write(routine: Routine, dialect: Dialect, name: str) -> str:
    """Return a routine of that name, behind all that it calls."""
    family = routine.family
    names = {one: f"{name}_{one.__name__}" for one in family}
    taken = list(names.values())
    for k, one in enumerate(family):
        if taken.count(names[one]) > 1:
            names[one] += f"_{k}"
    names[routine] = name
    return "\n".join(_TextWriter(read(one), dialect, names).function() for one in family)


BoundText = tuple[str, int]
"""An expression, and how tightly it binds."""


class _TextWriter:
    """Writes one function."""

    def __init__(self, definition: Definition, dialect: Dialect, names: dict[Routine, str]) -> None:
        self.it, self.say, self.names = definition, dialect, names
        self.lines: list[str] = []
        self.depth = 1
        self.indexing = False

    def function(self) -> str:
        """Return the text of the function."""
        routine = self.it.routine
        self.block(self.it.body)
        nodes = [n for s in self.it.body for n in ast.walk(s)]
        used = {n.id for n in nodes if isinstance(n, ast.Name)}
        loops = {
            n.target.id for n in nodes if isinstance(n, ast.For) and isinstance(n.target, ast.Name)
        }
        local = [(n, kind) for n, kind in self.it.names.items() if n not in loops]
        head = [f"    {self.say.declare(kind, n)}" for n, kind in local]
        if self.say.field == "->":
            head += [f"    (void){n};" for n in routine.parameters if n not in used]
        first = f"{self.say.head(routine, self.names[routine])}"
        return "\n".join([f"{first}\n{{", *head, *self.lines, "}", ""])

    def line(self, text: str) -> None:
        self.lines.append(f"{'    ' * self.depth}{text}")

    # --- statements

    def block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def inside(self, head: str, body: Iterable[ast.stmt]) -> None:
        self.line(f"{head} {{")
        self.depth += 1
        self.block(body)
        self.depth -= 1
        self.line("}")

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                self.together(targets, values)
            case ast.Assign(targets=[target], value=value):
                self.line(f"{self.text(target)} = {self.text(value)};")
            case ast.AugAssign(target=target, op=op, value=value):
                sign = _ARITHMETIC[type(op)][0]
                self.line(f"{self.text(target)} {sign}= {self.text(value)};")
            case ast.If():
                self.inside(f"if ({self.text(node.test)})", node.body)
                if node.orelse:
                    self.lines[-1] += " else {"
                    self.depth += 1
                    self.block(node.orelse)
                    self.depth -= 1
                    self.line("}")
            case ast.While():
                self.inside(f"while ({self.text(node.test)})", node.body)
            case ast.For():
                self.loop(node)
            case ast.Return(value=None):
                self.line("return;")
            case ast.Return(value=ast.expr() as value):
                self.line(f"return {self.text(value)};")
            case ast.Break():
                self.line("break;")
            case ast.Continue():
                self.line("continue;")
            case ast.Expr(value=value):
                self.line(f"{self.text(value)};")

    def together(self, targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> None:
        """Write several assignments: one after the other where none reads what another writes."""
        written = {ast.unparse(t) for t in targets}
        read = {ast.unparse(n) for v in values for n in ast.walk(v)}
        if not written & read and all(isinstance(t, ast.Name) for t in targets):
            for target, value in zip(targets, values, strict=True):
                self.line(f"{self.text(target)} = {self.text(value)};")
            return
        self.line("{")
        self.depth += 1
        for k, value in enumerate(values):
            kind = self.say.declare(self.it.kinds[value], f"value_{k}").partition(" = ")[0]
            self.line(f"{kind.rstrip(';')} = {self.text(value)};")
        for k, target in enumerate(targets):
            self.line(f"{self.text(target)} = value_{k};")
        self.depth -= 1
        self.line("}")

    def loop(self, node: ast.For) -> None:
        low, high = bounds(node)
        assert isinstance(node.target, ast.Name)
        name, step = node.target.id, step_of(node)
        start = "0" if low is None else self.place(low)
        test = f"{name} {'<' if step > 0 else '>'} {self.place(high, SUM)}"
        grow = {1: f"++{name}", -1: f"--{name}"}.get(step, f"{name} += {step}")
        self.inside(f"for ({self.say.loop} {name} = {start}; {test}; {grow})", node.body)

    # --- expressions

    def text(self, node: ast.expr, level: int = CHOICE) -> str:
        """Return an expression, in parentheses where it binds less tightly than asked for."""
        text, own = self.expression(node)
        return text if own >= level else f"({text})"

    def expression(self, node: ast.expr) -> BoundText:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return self.number(value)
            case ast.Name(id=name):
                known = name in self.it.routine.parameters or name in self.it.names
                return (name, ATOM) if known else self.number(self.it.meaning[name])
            case ast.Attribute(value=value, attr=field):
                return f"{self.text(value, ATOM)}{self.say.field}{field}", ATOM
            case ast.Subscript(value=value, slice=ast.Slice(lower=ast.expr() as low)):
                return self.say.rest.format(self.text(value, ATOM), self.place(low, SUM)), ATOM
            case ast.Subscript(value=value, slice=index):
                return f"{self.text(value, ATOM)}[{self.place(index)}]", ATOM
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                whole = self.it.kinds[node] == INT and not isinstance(operand, ast.Constant)
                return (self.say.negative if whole else "-{}").format(self.text(operand, ATOM)), SUM
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"!{self.text(operand, ATOM)}", PRODUCT
            case ast.BoolOp(op=op, values=values):
                level, word = (AND, " && ") if isinstance(op, ast.And) else (OR, " || ")
                return word.join(f"({self.text(v)})" for v in values), level
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                word = _TESTS[type(op)]
                if isinstance(op, (ast.Eq, ast.NotEq)):
                    word = self.say.equal[isinstance(op, ast.NotEq)]
                return f"{self.text(left, SUM)} {word} {self.text(right, SUM)}", TEST
            case ast.IfExp(test=test, body=body, orelse=orelse):
                parts = [self.text(x, OR) for x in (test, body, orelse)]
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", CHOICE
            case ast.BinOp():
                return self.binary(node)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.call(name, args)
        raise AssertionError(ast.unparse(node))

    def place(self, index: ast.expr, level: int = CHOICE) -> str:
        """Return an index or a bound, where a zero with a sign is as good as one without."""
        outer, self.indexing = self.indexing, True
        text = self.text(index, level)
        self.indexing = outer
        return text

    def number(self, x: bool | int | float) -> BoundText:
        if isinstance(x, bool):
            return ("1" if x else "0"), ATOM
        text = str(x) if isinstance(x, int) else self.say.number(float(x))
        return text, SUM if text.startswith("-") else ATOM

    def binary(self, node: ast.BinOp) -> BoundText:
        if isinstance(node.op, ast.Pow):
            parts = (self.text(node.left), self.text(node.right))
            return self.say.functions["pow"].format(*parts), ATOM
        sign, level = _ARITHMETIC[type(node.op)]
        left, right = self.text(node.left, level), self.text(node.right, level + 1)
        whole = self.it.kinds[node.left] == INT and self.it.kinds[node.right] == INT
        if isinstance(node.op, ast.FloorDiv):
            return self.say.whole_quotient.format(left, right), PRODUCT
        if isinstance(node.op, ast.Div) and whole:
            return self.say.quotient.format(left, right), PRODUCT
        if isinstance(node.op, ast.Mult) and whole and not self.indexing:
            return self.say.product.format(left, right), SUM
        return f"{left} {sign} {right}", level

    def call(self, name: str, args: list[ast.expr]) -> BoundText:
        target, texts = self.it.meaning[name], [self.text(a) for a in args]
        if isinstance(target, Routine):
            return f"{self.names[target]}({', '.join(texts)})", ATOM
        if target == "address":
            raise RoutineError(f"{self.it.routine!r}: addresses as numbers are for machine code.")
        whole = all(self.it.kinds[a] == INT for a in args)
        word = f"{target} of int" if whole and target in ("abs", "min", "max") else target
        return self.say.functions[word].format(*texts), ATOM
