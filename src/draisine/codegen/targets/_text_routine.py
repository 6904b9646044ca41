"""Writers of routines as C99 and JavaScript source text: the same statements in two dialects. Loops over
`each` are plain loops.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence

from draisine.codegen.routine import (
    BOOL,
    FLAGS,
    INT,
    ArrayKind,
    Routine,
    is_enum,
    is_fixed,
    is_matrix,
    name_of,
)
from draisine.codegen.routine.subset import Definition, loop_bounds, loop_step, read_routine
from draisine.codegen.statements import ATOM_LEVEL, PRODUCT_LEVEL, SUM_LEVEL
from draisine.codegen.targets._dialects import Dialect

CHOICE_LEVEL = -3
OR_LEVEL = -2
AND_LEVEL = -1
TEST_LEVEL = 0
"""Precedence levels of conditional expressions, `||`, `&&` and comparisons, in ascending order; all are below
the levels of sums and products in `statements`.
"""

_ARITHMETIC: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", SUM_LEVEL), ast.Sub: ("-", SUM_LEVEL),
    ast.Mult: ("*", PRODUCT_LEVEL), ast.Div: ("/", PRODUCT_LEVEL),
    ast.FloorDiv: ("/", PRODUCT_LEVEL), ast.Mod: ("%", PRODUCT_LEVEL),
}  # fmt: skip
"""Sign and precedence level of each arithmetic operation."""

_TESTS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_WORDS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div",
}  # fmt: skip
"""Names of the operations on fixed-size vectors."""


def write_text_routine(routine: Routine, dialect: Dialect, name: str) -> str:
    """Return the source text of a routine as a function called `name`, preceded by all routines that it
    calls.
    """
    return write_text_routines({routine: name}, dialect, name)


def write_text_routines(entries: Mapping[Routine, str], dialect: Dialect, prefix: str) -> str:
    """Return the source text of several routines, preceded by all routines that they call.

    `entries` contains the name of each routine in the text. The names of their callees get the prefix.
    """
    family = list(dict.fromkeys(member for routine in entries for member in routine.family))
    names = {member: f"{prefix}_{member.__name__}" for member in family}
    all_names = list(names.values())
    for k, member in enumerate(family):
        if all_names.count(names[member]) > 1:
            names[member] += f"_{k}"
    names |= entries
    return "\n".join(
        _TextWriter(read_routine(member), dialect, names).write_function() for member in family
    )


BoundText = tuple[str, int]
"""Type of an expression text with its precedence level."""


class _TextWriter:
    """Writer of one routine as a C or JavaScript function."""

    def __init__(self, definition: Definition, dialect: Dialect, names: dict[Routine, str]) -> None:
        self.definition = definition
        self.dialect = dialect
        self.names = names
        self.lines: list[str] = []
        self.depth = 1
        self.indexing = False

    def write_function(self) -> str:
        """Return the source text of the function."""
        routine = self.definition.routine
        self.write_statements(self.definition.body)
        nodes = [n for s in self.definition.body for n in ast.walk(s)]
        used = {n.id for n in nodes if isinstance(n, ast.Name)}
        loops = {n.target for n in nodes if isinstance(n, ast.For)}
        # Loop variables are declared in their loops. A name that is also assigned outside of its
        # loops needs a declaration of its own.
        assigned = {
            n.id
            for n in nodes
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in loops
        }
        local = [(n, kind) for n, kind in self.definition.names.items() if n in assigned]
        head = [
            f"    {self.dialect.declare(kind, self.dialect.valid_name(n))}" for n, kind in local
        ]
        if self.is_c:
            unused = [n for n in routine.parameters if n not in used]
            head += [f"    (void){self.dialect.valid_name(n)};" for n in unused]
        first = f"{self.dialect.head(self.dialect, routine, self.names[routine])}"
        return "\n".join([f"{first}\n{{", *head, *self.lines, "}", ""])

    def write_line(self, text: str) -> None:
        """Write a line with the current indentation."""
        self.lines.append(f"{'    ' * self.depth}{text}")

    # --- statements

    def write_statements(self, body: Iterable[ast.stmt]) -> None:
        """Write statements in order."""
        for statement in body:
            self.write_statement(statement)

    def write_block(self, head: str, body: Iterable[ast.stmt]) -> None:
        """Write statements in braces after a head such as `if (...)`."""
        self.write_line(f"{head} {{")
        self.depth += 1
        self.write_statements(body)
        self.depth -= 1
        self.write_line("}")

    def write_statement(self, node: ast.stmt) -> None:
        """Write one statement."""
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                self.write_parallel_assignments(targets, values)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self.write_unpacking(targets, value)
            case ast.Assign(targets=[target], value=value):
                self.write_line(f"{self.write_target(target)} = {self.write_expression(value)};")
            case ast.AugAssign(target=target, op=op, value=value):
                self.write_augmented_assignment(target, op, value)
            case ast.If():
                self.write_block(f"if ({self.write_expression(node.test)})", node.body)
                if node.orelse:
                    self.lines[-1] += " else {"
                    self.depth += 1
                    self.write_statements(node.orelse)
                    self.depth -= 1
                    self.write_line("}")
            case ast.While():
                self.write_block(f"while ({self.write_expression(node.test)})", node.body)
            case ast.For():
                self.write_loop(node)
            case ast.Return(value=value):
                self.write_return(value)
            case ast.Break():
                self.write_line("break;")
            case ast.Continue():
                self.write_line("continue;")
            case ast.Expr(value=value):
                self.write_line(f"{self.write_expression(value)};")

    def write_augmented_assignment(
        self, target: ast.expr, op: ast.operator, value: ast.expr
    ) -> None:
        """Write an augmented assignment such as +=; for fixed-size vectors, a function call is written
        instead.
        """
        if not is_fixed(self.definition.kinds[target]):
            self.write_line(
                f"{self.write_target(target)} {_ARITHMETIC[type(op)][0]}= {self.write_expression(value)};"
            )
            return
        arguments = (target, target, value)
        text = self.write_vector_function(_WORDS[type(op)], *arguments)
        self.write_line(f"{self.write_target(target)} = {text};")

    def write_return(self, value: ast.expr | None) -> None:
        """Write a return statement; several results are returned together."""
        match value:
            case None:
                self.write_line("return;")
            case ast.Tuple(elts=values):
                self.write_line(
                    f"return {self.combine_results(map(self.write_expression, values))};"
                )
            case ast.Call() if isinstance(self.definition.kinds[value], tuple):
                self.write_returned_call(value)
            case _:
                self.write_line(f"return {self.write_expression(value)};")

    def write_parallel_assignments(
        self, targets: Sequence[ast.expr], values: Sequence[ast.expr]
    ) -> None:
        """Write several assignments, in sequence if none reads a target of another."""
        written = {ast.unparse(t) for t in targets}
        read_texts = {ast.unparse(n) for v in values for n in ast.walk(v)}
        if not written & read_texts and all(isinstance(t, ast.Name) for t in targets):
            for target, value in zip(targets, values, strict=True):
                self.write_line(f"{self.write_target(target)} = {self.write_expression(value)};")
            return
        self.write_line("{")
        self.depth += 1
        for k, value in enumerate(values):
            kind = self.dialect.declare(self.definition.kinds[value], f"value_{k}").partition(
                " = "
            )[0]
            self.write_line(f"{kind.rstrip(';')} = {self.write_expression(value)};")
        for k, target in enumerate(targets):
            self.write_line(f"{self.write_target(target)} = value_{k};")
        self.depth -= 1
        self.write_line("}")

    # --- several values

    @property
    def is_c(self) -> bool:
        """Whether the language is C."""
        return self.dialect.field == "->"

    def combine_results(self, values: Iterable[str]) -> str:
        """Return several results as one expression."""
        name = self.names[self.definition.routine]
        return self.dialect.results.format(name=name, values=", ".join(values))

    def write_unpacking(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        """Assign several results, or the entries of a vector, to one target each."""
        if not self.is_c:
            self.write_line(
                f"[{', '.join(map(self.write_target, targets))}] = {self.write_expression(value)};"
            )
            return
        kind = self.results_type(value)
        text = self.write_expression(value)
        entry = "results.at[{}]" if is_fixed(self.definition.kinds[value]) else "results.value_{}"
        self.write_line("{")
        self.depth += 1
        self.write_line(f"const {kind} results = {text};")
        for k, target in enumerate(targets):
            self.write_line(f"{self.write_target(target)} = {entry.format(k)};")
        self.depth -= 1
        self.write_line("}")

    def results_type(self, value: ast.expr) -> str:
        """Return the C type of several values."""
        kind = self.definition.kinds[value]
        if is_fixed(kind):
            return name_of(kind)
        assert isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
        return f"{self.names[self.definition.meaning[value.func.id]]}_results"

    def write_returned_call(self, value: ast.Call) -> None:
        """Write the return of the results of a call; in C the results of each function have their own type,
        so they are converted.
        """
        kind = self.definition.kinds[value]
        assert isinstance(kind, tuple)
        if not self.is_c:
            self.write_line(f"return {self.write_expression(value)};")
            return
        self.write_line("{")
        self.depth += 1
        self.write_line(
            f"const {self.results_type(value)} results = {self.write_expression(value)};"
        )
        self.write_line(
            f"return {self.combine_results(f'results.value_{k}' for k in range(len(kind)))};"
        )
        self.depth -= 1
        self.write_line("}")

    def write_loop(self, node: ast.For) -> None:
        """Write a loop over `range` or `each` as a for loop."""
        low, high = loop_bounds(node)
        assert isinstance(node.target, ast.Name)
        name = self.dialect.valid_name(node.target.id)
        step = loop_step(node)
        start = "0" if low is None else self.write_index(low)
        test = f"{name} {'<' if step > 0 else '>'} {self.write_index(high, SUM_LEVEL)}"
        grow = {1: f"++{name}", -1: f"--{name}"}.get(step, f"{name} += {step}")
        self.write_block(f"for ({self.dialect.loop} {name} = {start}; {test}; {grow})", node.body)

    # --- expressions

    def write_expression(self, node: ast.expr, level: int = CHOICE_LEVEL) -> str:
        """Return an expression, in parentheses if its precedence is below `level`."""
        text, precedence = self.evaluate_expression(node)
        return text if precedence >= level else f"({text})"

    def write_target(self, node: ast.expr) -> str:
        """Return the text of an assignment target."""
        return (
            self.write_element(node)
            if isinstance(node, ast.Subscript)
            else self.write_expression(node)
        )

    def evaluate_expression(self, node: ast.expr) -> BoundText:
        """Return an expression as text, with its precedence level."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return self.write_number(value)
            case ast.Name(id=name):
                is_local = (
                    name in self.definition.routine.parameters or name in self.definition.names
                )
                if is_local:
                    return self.dialect.valid_name(name), ATOM_LEVEL
                return self.write_number(self.definition.meaning[name])
            case ast.Attribute() if node in self.definition.constants:
                member = self.definition.constants[node]
                return f"{self.write_number(int(member))[0]} /* {ast.unparse(node)} */", SUM_LEVEL
            case ast.Attribute(value=value, attr=field):
                return (
                    f"{self.write_expression(value, ATOM_LEVEL)}{self.dialect.field}{field}",
                    ATOM_LEVEL,
                )
            case ast.Subscript():
                return self.write_subscript(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand) if is_fixed(
                self.definition.kinds[node]
            ):
                return self.write_vector_function("neg", operand, operand), ATOM_LEVEL
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                is_integer = self.definition.kinds[node] == INT and not isinstance(
                    operand, ast.Constant
                )
                return (self.dialect.negative if is_integer else "-{}").format(
                    self.write_expression(operand, ATOM_LEVEL)
                ), SUM_LEVEL
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"!{self.write_expression(operand, ATOM_LEVEL)}", PRODUCT_LEVEL
            case ast.BoolOp(op=op, values=values):
                level, word = (AND_LEVEL, " && ") if isinstance(op, ast.And) else (OR_LEVEL, " || ")
                return word.join(f"({self.write_expression(v)})" for v in values), level
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                same = self.dialect.equal[isinstance(op, (ast.NotEq, ast.IsNot))]
                word = _TESTS.get(type(op), same)
                return (
                    f"{self.write_expression(left, SUM_LEVEL)} {word} "
                    f"{self.write_expression(right, SUM_LEVEL)}",
                    TEST_LEVEL,
                )
            case ast.IfExp(test=test, body=body, orelse=orelse):
                parts = [self.write_expression(x, OR_LEVEL) for x in (test, body, orelse)]
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", CHOICE_LEVEL
            case ast.BinOp():
                return self.write_binary(node)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.write_call(name, args)
            case ast.Call(func=ast.Attribute(value=value), args=[_, columns]):
                return self.write_reshape(node, value, columns), ATOM_LEVEL
        raise AssertionError(ast.unparse(node))

    # --- elements and views

    def write_subscript(self, node: ast.Subscript) -> BoundText:
        """Return an element, a matrix row or a view as text, with its precedence level."""
        kind = self.definition.kinds[node.value]
        result = self.definition.kinds[node]
        base = self.write_expression(node.value, ATOM_LEVEL)
        match node.slice:
            case ast.Slice(lower=ast.expr() as low) if not is_matrix(kind):
                return self.dialect.rest.format(base, self.write_index(low, SUM_LEVEL)), ATOM_LEVEL
            case ast.Slice(lower=low):
                return self.write_view(node, base, low, None), ATOM_LEVEL
            case ast.Tuple(elts=[ast.Slice(lower=row), ast.Slice(lower=column)]):
                return self.write_view(node, base, row, column), ATOM_LEVEL
        if is_matrix(kind) and isinstance(result, ArrayKind):
            return self.dialect.rest.format(
                f"{base}.at", self.matrix_offset(base, node.slice, None)
            ), ATOM_LEVEL
        text = self.write_element(node)
        return (
            (self.dialect.flag.format(text), PRODUCT_LEVEL) if kind == FLAGS else (text, ATOM_LEVEL)
        )

    def write_element(self, node: ast.Subscript) -> str:
        """Return an element of an array, of a matrix or of a fixed-size vector."""
        base = node.value
        place = node.slice
        if isinstance(base, ast.Subscript) and is_matrix(self.definition.kinds[base.value]):
            # Write an entry of a row A[i][j] as an entry of the matrix: a view of the row would
            # cost JavaScript an object.
            matrix = self.write_expression(base.value, ATOM_LEVEL)
            row = base.slice
            column = place
            return f"{matrix}.at[{self.matrix_offset(matrix, row, column)}]"
        if isinstance(place, ast.Tuple):
            row, column = place.elts
            matrix = self.write_expression(base, ATOM_LEVEL)
            return f"{matrix}.at[{self.matrix_offset(matrix, row, column)}]"
        array = self.write_expression(base, ATOM_LEVEL)
        if is_fixed(self.definition.kinds[base]):
            return self.dialect.entry.format(array, self.write_index(place))
        return f"{array}[{self.write_index(place)}]"

    def matrix_offset(self, base: str, row: ast.expr | None, column: ast.expr | None) -> str:
        """Return the index of a matrix entry among the elements of the matrix."""
        parts = (
            [f"{self.write_index(row, PRODUCT_LEVEL)} * {base}.stride"] if row is not None else []
        )
        parts += [self.write_index(column, SUM_LEVEL)] if column is not None else []
        return " + ".join(parts) or "0"

    def write_view(
        self, node: ast.expr, base: str, row: ast.expr | None, column: ast.expr | None
    ) -> str:
        """Return the view of a matrix that begins at a row and a column."""
        first = self.dialect.rest.format(f"{base}.at", self.matrix_offset(base, row, column))
        kind = name_of(self.definition.kinds[node])
        return self.dialect.matrix.format(kind=kind, at=first, stride=f"{base}.stride")

    def write_reshape(self, node: ast.expr, array_slice: ast.expr, columns: ast.expr) -> str:
        """Return a matrix view of the elements of an array."""
        assert isinstance(array_slice, ast.Subscript) and isinstance(array_slice.slice, ast.Slice)
        first = self.write_expression(array_slice.value, ATOM_LEVEL)
        low = array_slice.slice.lower
        if low is not None:
            first = self.dialect.rest.format(first, self.write_index(low, SUM_LEVEL))
        kind = name_of(self.definition.kinds[node])
        return self.dialect.matrix.format(kind=kind, at=first, stride=self.write_index(columns))

    def write_vector_function(self, function_name: str, first: ast.expr, *args: ast.expr) -> str:
        """Return a call of a function of fixed-size vectors; `first` determines their size."""
        kind = name_of(self.definition.kinds[first])
        arguments = ", ".join(map(self.write_expression, args))
        return self.dialect.vector_function.format(
            kind=kind, word=function_name, arguments=arguments
        )

    def write_index(self, index: ast.expr, level: int = CHOICE_LEVEL) -> str:
        """Return the text of an index or a bound; there, negative zero is harmless in JavaScript."""
        outer = self.indexing
        self.indexing = True
        text = self.write_expression(index, level)
        self.indexing = outer
        return text

    def write_number(self, x: bool | int | float) -> BoundText:
        """Return a constant as text, with its precedence level."""
        if isinstance(x, bool):
            return self.dialect.bools[x], ATOM_LEVEL
        text = str(x) if isinstance(x, int) else self.dialect.number(float(x))
        return text, SUM_LEVEL if text.startswith("-") else ATOM_LEVEL

    def write_binary(self, node: ast.BinOp) -> BoundText:
        """Return an arithmetic operation as text, with its precedence level."""
        if is_fixed(self.definition.kinds[node]):
            vector = node.left
            operand = node.right
            if not is_fixed(self.definition.kinds[vector]):
                vector, operand = operand, vector
            return self.write_vector_function(
                _WORDS[type(node.op)], vector, vector, operand
            ), ATOM_LEVEL
        if isinstance(node.op, ast.Pow):
            parts = (self.write_expression(node.left), self.write_expression(node.right))
            return self.dialect.functions["pow"].format(*parts), ATOM_LEVEL
        sign, level = _ARITHMETIC[type(node.op)]
        a = self.write_expression(node.left, level)
        b = self.write_expression(node.right, level + 1)
        are_integers = (
            self.definition.kinds[node.left] == INT and self.definition.kinds[node.right] == INT
        )
        if isinstance(node.op, ast.FloorDiv):
            return self.dialect.whole_quotient.format(a, b), PRODUCT_LEVEL
        if isinstance(node.op, ast.Div) and are_integers:
            return self.dialect.quotient.format(a, b), PRODUCT_LEVEL
        # In JavaScript, 0 * -1 is negative zero: harmless as an index, but wrong as the value of an
        # integer.
        if isinstance(node.op, ast.Mult) and are_integers and not self.indexing:
            return self.dialect.product.format(a, b), SUM_LEVEL
        return f"{a} {sign} {b}", level

    def write_call(self, name: str, args: list[ast.expr]) -> BoundText:
        """Return a call as text, with its precedence level."""
        target = self.definition.meaning[name]
        texts = [self.write_expression(a) for a in args]
        if isinstance(target, Routine):
            return f"{self.names[target]}({', '.join(texts)})", ATOM_LEVEL
        if is_fixed(target):
            entries = ", ".join(texts)
            return self.dialect.vector.format(kind=target.__name__, entries=entries), ATOM_LEVEL
        if is_enum(target):
            return texts[0], CHOICE_LEVEL
        if target in ("dot", "cross"):
            return self.write_vector_function(target, args[0], *args), ATOM_LEVEL
        kinds = {self.definition.kinds[a] for a in args}
        word = f"{target} of int" if kinds == {INT} and target in ("abs", "min", "max") else target
        word = f"{target} of bool" if kinds == {BOOL} else word
        return self.dialect.functions[word].format(*texts), ATOM_LEVEL
