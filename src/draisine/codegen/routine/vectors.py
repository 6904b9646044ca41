"""Slice statements in routines, which are rewritten as loops before the compiler checks types.

`x[a : a + n] = u[:n] + f * v[b:][:n]` has the same meaning as in NumPy, entry by entry. Its operands are
slices with the same length in the source text, + - * / and abs of slices, and numbers. Each number is
computed once, before the loop. `A[j::m][:n]` are n entries with the stride m. In a matrix, `A[i, :n]` is a
part of a row, `A[:n, j]` a part of a column and `A[:n, :m] = ...` a block.

A statement may read and write slices of one array only if no entry is read after it has been overwritten:
the slices must have the same indices, or the slice that is read must begin a constant number of entries
later, or their distance must be an integer multiple of their length. Other overlaps are rejected. Overlaps
of arrays with different names cannot be detected.

`f(*a[i : i + 3])` passes three entries of an array.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from draisine.codegen.routine.syntax import Node, copy_location, walk_tree

Refusal = Callable[[ast.AST, str], Any]
"""Type of a function that raises the error for a statement outside of the subset, with the reason."""

WholePolynomial = dict[tuple[str, ...], int]
"""Type of an integer expression in normal form: a polynomial, as the coefficient of each product of
indivisible subexpressions.
"""

_ENTRYWISE_OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
"""Operators that slices may have as operands."""

_COLUMN_STRIDE: WholePolynomial = {("a column",): 1}
"""Symbol of the stride between entries of a matrix column; in the source text this stride has no name."""


def expand_slices(body: list[ast.stmt], refuse: Refusal) -> list[ast.stmt]:
    """Return the statements of a routine with slice statements replaced by loops.

    The loops are over `each`, or over `range` if entries are not contiguous or if their number is a
    constant, which is usually small.
    """
    nodes = [node for statement in body for node in walk_tree(statement)]
    used_names = {node.id for node in nodes if isinstance(node, ast.Name)}
    if any(map(_is_abbreviated, nodes)):
        body = [_Normaliser(refuse).visit(statement) for statement in body]
    return _VectorWriter(refuse, used_names).rewrite_block(body)


def is_vector(node: ast.AST) -> bool:
    """Return whether an expression is a slice with an end (a[i:j]), or a part of a matrix column."""
    match node:
        case ast.Subscript(slice=ast.Slice(upper=ast.expr())):
            return True
    return _is_column(node)


def _is_column(node: ast.AST) -> bool:
    """Return whether an expression is a part of a column of a matrix: A[a:b, j]."""
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice(upper=ast.expr()), index])):
            return not isinstance(index, ast.Slice)
    return False


def _is_block(node: ast.AST) -> bool:
    """Return whether an expression is a block of a matrix: A[a:b, c:d]."""
    match node:
        case ast.Subscript(
            slice=ast.Tuple(elts=[ast.Slice(upper=ast.expr()), ast.Slice() as last])
        ):
            return last.upper is not None
    return False


def _is_abbreviated(node: ast.AST) -> bool:
    """Return whether a syntax node is a notation that `_Normaliser` replaces: A[i, a:b] or *a[i : i + 3]."""
    match node:
        case ast.Starred() | ast.Subscript(slice=ast.Tuple(elts=[_, ast.Slice()])):
            return True
    return False


class _Normaliser(ast.NodeTransformer):
    """Rewrites a part of a matrix row as a slice of the row, and `*a[i : i + 3]` as three arguments.

    It modifies syntax trees in place; a second application changes nothing.
    """

    def __init__(self, refuse: Refusal) -> None:
        self.refuse = refuse

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replace A[i, a:b] by A[i][a:b]."""
        self.generic_visit(node)
        match node.slice:
            case ast.Tuple(elts=[index, ast.Slice() as entries]) if not isinstance(
                index, ast.Slice
            ):
                row = copy_location(node, ast.Subscript(node.value, index, ast.Load()))
                return copy_location(node, ast.Subscript(row, entries, node.ctx))
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace f(*a[i : i + 3]) by f(a[i], a[i + 1], a[i + 2])."""
        self.generic_visit(node)
        arguments: list[ast.expr] = []
        for argument in node.args:
            arguments += (
                self.starred_entries(argument) if isinstance(argument, ast.Starred) else [argument]
            )
        node.args = arguments
        return node

    def starred_entries(self, node: ast.Starred) -> list[ast.expr]:
        """Return the expressions a[i], a[i + 1], ... for `*a[i : i + n]`, where n must be a number."""
        array_slice = node.value
        length = (
            _slice_entry_count(array_slice)
            if isinstance(array_slice, ast.Subscript) and is_vector(array_slice)
            else {}
        )
        if (
            not length.keys() <= {()}
            or not length
            or _stride_texts(array_slice)
            or _is_column(array_slice)
        ):
            self.refuse(
                node, f"needs a slice of a known number of entries in `{ast.unparse(node)}`"
            )
        place, _ = _start_and_stride(array_slice)
        elements: list[ast.expr] = []
        for k in range(length[()]):
            text = (
                f"{ast.unparse(_sliced_array(array_slice))}"
                f"[{_polynomial_text(_add_polynomials(place, {(): k}, 1))}]"
            )
            elements.append(_locate(node, ast.parse(text, mode="eval").body))
        return elements


class _VectorWriter:
    """Rewrites the slice statements of one routine as loops, with new names that the routine does not use."""

    def __init__(self, refuse: Refusal, taken: set[str]) -> None:
        self.refuse = refuse
        self.taken = taken  # names in use
        self.entry = self.new_name("entry")  # loop variable of all loops over entries
        self.before: list[ast.stmt] = []  # assignments of scalar operands, before the current loop

    def new_name(self, word: str) -> str:
        """Return a new name that begins with `word`."""
        number = next(k for k in range(len(self.taken) + 1) if f"{word}_{k}" not in self.taken)
        self.taken.add(f"{word}_{number}")
        return f"{word}_{number}"

    def rewrite_block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return statements without slice statements."""
        return [new for statement in body for new in self.rewrite_statement(statement)]

    def rewrite_statement(self, node: ast.stmt) -> list[ast.stmt]:
        """Return one statement, rewritten as a loop if it assigns a slice or a block."""
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                return [
                    copy_location(
                        node, ast.If(test, self.rewrite_block(body), self.rewrite_block(orelse))
                    )
                ]
            case ast.While(test=test, body=body, orelse=[]):
                return [copy_location(node, ast.While(test, self.rewrite_block(body), []))]
            case ast.For(target=target, iter=iterator, body=body, orelse=[]):
                return [
                    copy_location(node, ast.For(target, iterator, self.rewrite_block(body), []))
                ]
            case ast.Assign(targets=[ast.Subscript() as target]) if is_vector(target):
                return self.make_entry_loop(node, target, node.value)
            case ast.AugAssign(target=ast.Subscript() as target) if is_vector(target):
                return self.make_entry_loop(node, target, node.value)
            case ast.Assign(targets=[ast.Subscript() as target]) if _is_block(target):
                return self.make_block_loop(node, target, node.value)
            case ast.AugAssign(target=ast.Subscript() as target) if _is_block(target):
                return self.make_block_loop(node, target, node.value)
        return [node]

    def make_block_loop(
        self, node: ast.Assign | ast.AugAssign, target: ast.Subscript, value: ast.expr
    ) -> list[ast.stmt]:
        """Return an assignment to a matrix block as a loop over its rows."""
        self.before = []
        counter = self.new_name("row")
        length = _slice_entry_count(_block_rows(target))
        place = self.block_row(target, target, length, counter)
        value = self.restrict_to_row(value, target, length, counter)
        assert isinstance(place, ast.Subscript)
        place.ctx = ast.Store()
        if isinstance(node, ast.Assign):
            inside: ast.Assign | ast.AugAssign = copy_location(node, ast.Assign([place], value))
        else:
            inside = copy_location(node, ast.AugAssign(place, node.op, value))
        before = self.before
        passes = ast.Call(ast.Name("range", ast.Load()), [_length_expression(node, length)], [])
        body = self.make_entry_loop(inside, place, value)
        return [
            *before,
            copy_location(node, ast.For(ast.Name(counter, ast.Store()), passes, body, [])),
        ]

    def restrict_to_row(
        self, node: ast.expr, target: ast.Subscript, length: WholePolynomial, counter: str
    ) -> ast.expr:
        """Return an expression of matrix blocks, restricted to the row with the index `counter`. Scalar
        operands are assigned to new names before the loop.
        """
        if isinstance(node, ast.Subscript) and _is_block(node):
            return self.block_row(node, target, length, counter)
        match node:
            case ast.BinOp(left=lhs, op=op, right=rhs) if isinstance(op, _ENTRYWISE_OPERATIONS):
                lhs, rhs = (self.restrict_to_row(x, target, length, counter) for x in (lhs, rhs))
                return copy_location(node, ast.BinOp(lhs, op, rhs))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.restrict_to_row(operand, target, length, counter)
                return copy_location(node, ast.UnaryOp(ast.USub(), inner))
            case ast.Call(func=ast.Name(id="abs") as word, args=[argument]):
                return copy_location(
                    node,
                    ast.Call(word, [self.restrict_to_row(argument, target, length, counter)], []),
                )
        if any(is_vector(argument) or _is_block(argument) for argument in walk_tree(node)):
            self.refuse(node, f"cannot use `{ast.unparse(node)}` in a statement about a block")
        return self.assign_scalar_operand(node)

    def block_row(
        self, block: ast.Subscript, target: ast.Subscript, length: WholePolynomial, counter: str
    ) -> ast.expr:
        """Return the row slice of a matrix block with the index `counter` in the block, after a check that
        block and target have the same number of rows and do not overlap.
        """
        rows = _block_rows(block)
        target_rows = _block_rows(target)
        if _slice_entry_count(rows) != length:
            self.refuse(block, f"has {_polynomial_text(_slice_entry_count(rows))} rows "
                               f"in `{ast.unparse(block)}` and "
                               f"{_polynomial_text(length)} in `{ast.unparse(target)}`")  # fmt: skip
        distance = _add_polynomials(
            _start_and_stride(rows)[0], _start_and_stride(target_rows)[0], -1
        )
        same = ast.unparse(block.value) == ast.unparse(target.value)
        if same and distance and not _is_multiple(distance, length):
            self.refuse(block, f"may write `{ast.unparse(block)}` while it reads it; write a loop")
        assert isinstance(rows.slice, ast.Slice) and isinstance(block.slice, ast.Tuple)
        index: ast.expr = ast.Name(counter, ast.Load())
        if rows.slice.lower is not None:
            index = ast.BinOp(self.assign_scalar_operand(rows.slice.lower), ast.Add(), index)
        row = ast.Subscript(block.value, index, ast.Load())
        return copy_location(block, ast.Subscript(row, block.slice.elts[1], ast.Load()))

    def make_entry_loop(
        self, node: ast.Assign | ast.AugAssign, target: ast.Subscript, value: ast.expr
    ) -> list[ast.stmt]:
        """Return a slice statement as a loop, preceded by the assignments of its scalars."""
        self.before = []
        length = _slice_entry_count(target)
        vectors = list(_find_slices(value))
        for vector in (target, *vectors):
            self.check_length_is_stated(vector)
            self.check_overlap(vector, target, length)
        value = self.entry_expression(value)
        place = self.entry_expression(target)
        assert isinstance(place, ast.Subscript)
        place.ctx = ast.Store()
        if isinstance(node, ast.Assign):
            inside: ast.stmt = ast.Assign([place], value)
        else:
            inside = ast.AugAssign(place, node.op, value)
        end = _length_expression(node, length)
        # SIMD lanes need contiguous entries. Slices of constant length are short, so two loops
        # (vectors and remainder) do not pay.
        wide = length.keys() != {()} and not any(map(_stride_texts, (target, *vectors)))
        passes = ast.Call(ast.Name("each" if wide else "range", ast.Load()), [end], [])
        counter = ast.Name(self.entry, ast.Store())
        return [
            *self.before,
            copy_location(node, ast.For(counter, passes, [copy_location(node, inside)], [])),
        ]

    def check_overlap(
        self, vector: ast.Subscript, target: ast.Subscript, length: WholePolynomial
    ) -> None:
        """Reject a slice whose length differs from the target's, or which may overlap with the target."""
        if _slice_entry_count(vector) != length:
            self.refuse(vector, f"has {_polynomial_text(_slice_entry_count(vector))} entries "
                             f"in `{ast.unparse(vector)}` and "
                             f"{_polynomial_text(length)} in `{ast.unparse(target)}`")  # fmt: skip
        if ast.unparse(_sliced_array(vector)) == ast.unparse(_sliced_array(target)):
            (start, stride) = _start_and_stride(vector)
            (target_start, target_stride) = _start_and_stride(target)
            distance = _add_polynomials(start, target_start, -1)
            contiguous = stride == target_stride == {(): 1}
            # A slice ahead of the target is safe, because its entries are read before they are
            # overwritten. Slices whose distance is a multiple of their length do not overlap.
            ahead = distance.keys() == {()} and distance[()] > 0
            if (distance or stride != target_stride) and not (
                contiguous and (ahead or _is_multiple(distance, length))
            ):
                self.refuse(
                    vector, f"may write `{ast.unparse(vector)}` while it reads it; write a loop"
                )

    def check_length_is_stated(self, vector: ast.Subscript) -> None:
        """Reject slices whose length may differ from the difference of their bounds, such as a[:n][i:]."""
        last, *others = _nested_slices(vector)
        if last.step is not None or any(inner.upper is not None for inner in others):
            self.refuse(vector, f"cannot use the slice `{ast.unparse(vector)}`: write its step first and its "
                             "end last, as in `a[j::m][:n]`")  # fmt: skip

    def entry_expression(self, node: ast.expr) -> ast.expr:
        """Return a slice expression for the single entry with the index `self.entry`. Scalar operands are
        assigned to new names before the loop.
        """
        match node:
            case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice() as rows, column])) if _is_column(
                node
            ):
                row: ast.expr = ast.Name(self.entry, ast.Load())
                if rows.lower is not None:
                    row = ast.BinOp(self.assign_scalar_operand(rows.lower), ast.Add(), row)
                place = ast.Tuple([row, self.assign_scalar_operand(column)], ast.Load())
                return copy_location(node, ast.Subscript(node.value, place, ast.Load()))
            case ast.Subscript(slice=ast.Slice(upper=ast.expr())):
                index: ast.expr = ast.Name(self.entry, ast.Load())
                for entry_slice in _nested_slices(node):
                    if entry_slice.step is not None:
                        index = ast.BinOp(
                            self.assign_scalar_operand(entry_slice.step), ast.Mult(), index
                        )
                    if entry_slice.lower is not None:
                        index = ast.BinOp(
                            self.assign_scalar_operand(entry_slice.lower), ast.Add(), index
                        )
                return copy_location(node, ast.Subscript(_sliced_array(node), index, ast.Load()))
            case ast.BinOp(left=left, op=op, right=right) if _is_elementwise(node):
                return copy_location(
                    node, ast.BinOp(self.entry_expression(left), op, self.entry_expression(right))
                )
            case ast.UnaryOp(op=ast.USub(), operand=operand) if _is_elementwise(node):
                return copy_location(node, ast.UnaryOp(ast.USub(), self.entry_expression(operand)))
            case ast.Call(func=ast.Name(id="abs") as word, args=[entry_slice]) if _is_elementwise(
                node
            ):
                return copy_location(node, ast.Call(word, [self.entry_expression(entry_slice)], []))
        if any(_find_slices(node)):
            self.refuse(
                node, f"cannot use `{ast.unparse(node)}` entry by entry: use + - * / and abs"
            )
        return self.assign_scalar_operand(node)

    def assign_scalar_operand(self, node: ast.expr) -> ast.expr:
        """Return a scalar operand; it is assigned to a new name if it has to be computed."""
        if isinstance(node, (ast.Constant, ast.Name, ast.Attribute)):
            return node
        name = self.new_name("number")
        self.before.append(copy_location(node, ast.Assign([ast.Name(name, ast.Store())], node)))
        return copy_location(node, ast.Name(name, ast.Load()))


def _is_elementwise(node: ast.expr) -> bool:
    """Return whether an operation has slices as operands and is defined for them."""
    is_supported = not isinstance(node, ast.BinOp) or isinstance(node.op, _ENTRYWISE_OPERATIONS)
    return is_supported and any(_find_slices(node))


def _find_slices(node: ast.expr) -> Iterator[ast.Subscript]:
    """Yield the slices with an end, and the parts of columns, in an expression."""
    for child in walk_tree(node):
        if isinstance(child, ast.Subscript) and is_vector(child):
            yield child


def _locate(old: ast.AST, new: Node) -> Node:
    """Return a separately parsed node, with the location of an old one in all its parts."""
    for child in walk_tree(new):
        ast.copy_location(child, old)
    return new


def _length_expression(node: ast.AST, length: WholePolynomial) -> ast.expr:
    """Return a length as an expression with the source location of a node."""
    return _locate(node, ast.parse(_polynomial_text(length), mode="eval").body)


# --- lengths


def slice_length(node: ast.expr) -> WholePolynomial:
    """Return the number of entries of a slice with an end, or the value of an integer expression, as a
    polynomial. Equal polynomials show that two lengths are equal.
    """
    if isinstance(node, ast.Subscript) and is_vector(node):
        return _slice_entry_count(node)
    return _as_polynomial(node)


def _block_rows(block: ast.Subscript) -> ast.Subscript:
    """Return the rows of a block: A[a:b] for A[a:b, c:d]."""
    assert isinstance(block.slice, ast.Tuple)
    return copy_location(block, ast.Subscript(block.value, block.slice.elts[0], ast.Load()))


def _sliced_array(node: ast.expr) -> ast.expr:
    """Return the array of a slice, of nested slices or of a column: `a` for a[i:][:n], `A` for A[:n, j]."""
    match node:
        case ast.Subscript(value=array, slice=ast.Slice()):
            return _sliced_array(array)
        case ast.Subscript(value=matrix) if _is_column(node):
            return matrix
    return node


def _nested_slices(node: ast.expr) -> list[ast.Slice]:
    """Return the nested slices of an expression such as a[i:][:n], the last one first."""
    match node:
        case ast.Subscript(value=array, slice=ast.Slice() as last):
            return [last, *_nested_slices(array)]
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice() as last, _])):
            return [last]
    return []


def _stride_texts(node: ast.expr) -> list[str]:
    """Return the strides of an expression of slices as text; an empty list if its entries are contiguous."""
    if _is_column(node):
        return ["column"]
    return [
        ast.unparse(entry_slice.step)
        for entry_slice in _nested_slices(node)
        if entry_slice.step is not None
    ]


def _start_and_stride(node: ast.expr) -> tuple[WholePolynomial, WholePolynomial]:
    """Return the first index of a slice and the stride of its entries."""
    start: WholePolynomial = {}
    step: WholePolynomial = _COLUMN_STRIDE if _is_column(node) else {(): 1}
    for entry_slice in _nested_slices(node):
        if entry_slice.step is not None:
            start, step = (
                _multiply_polynomials(x, _as_polynomial(entry_slice.step)) for x in (start, step)
            )
        if entry_slice.lower is not None:
            start = _add_polynomials(start, _as_polynomial(entry_slice.lower), 1)
    return start, step


def _slice_entry_count(node: ast.Subscript) -> WholePolynomial:
    """Return the number of entries of a slice with an end."""
    last = _nested_slices(node)[0]
    assert last.upper is not None
    low = {} if last.lower is None else _as_polynomial(last.lower)
    return _add_polynomials(_as_polynomial(last.upper), low, -1)


def _as_polynomial(node: ast.expr) -> WholePolynomial:
    """Return an integer expression as a polynomial, so that `2 * n - n` is n."""
    match node:
        case ast.Constant(value=int(number)):
            return {(): number} if number else {}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _add_polynomials(_as_polynomial(left), _as_polynomial(right), 1)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _add_polynomials(_as_polynomial(left), _as_polynomial(right), -1)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _multiply_polynomials(_as_polynomial(left), _as_polynomial(right))
    plain = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return {(ast.unparse(node) if plain else f"({ast.unparse(node)})",): 1}


def _add_polynomials(first: WholePolynomial, second: WholePolynomial, sign: int) -> WholePolynomial:
    """Return first + sign * second, without zero coefficients."""
    coefficients = {key: first.get(key, 0) + sign * second.get(key, 0) for key in (*first, *second)}
    return {key: number for key, number in coefficients.items() if number}


def _multiply_polynomials(first: WholePolynomial, second: WholePolynomial) -> WholePolynomial:
    """Return the product of two polynomials."""
    total: WholePolynomial = {}
    for a, x in first.items():
        for b, y in second.items():
            total = _add_polynomials(total, {tuple(sorted((*a, *b))): x * y}, 1)
    return total


def _is_multiple(distance: WholePolynomial, length: WholePolynomial) -> bool:
    """Return whether a distance is an integer multiple of a length."""
    ratios = {distance.get(key, 0) / length[key] for key in length}
    return distance.keys() == length.keys() and len(ratios) == 1 and ratios.pop().is_integer()


def _polynomial_text(length: WholePolynomial) -> str:
    """Return a polynomial of lengths as Python code, positive terms first."""
    terms = sorted(length.items(), key=lambda term: (term[1] < 0, not term[0], term))
    parts = [(x < 0, " * ".join([*[str(abs(x))] * (abs(x) != 1 or not a), *a])) for a, x in terms]
    text = "".join(f" {'-' if minus else '+'} {product}" for minus, product in parts)
    return f"0{text}" if terms[:1] and terms[0][1] < 0 else text.removeprefix(" + ") or "0"
