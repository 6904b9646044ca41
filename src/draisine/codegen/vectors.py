"""Statements about whole vectors in routines, written out as loops before any writer sees them.

`x[a : a + n] = u[:n] + f * v[b:][:n]` is what it is to NumPy, entry by entry: slices of one stated
length, + - * / and abs of them, and numbers, each of which is computed once, before. `A[j::m][:n]` are
n entries of a column of a matrix whose rows have m. What is written may be read at its own place, a
known number of entries ahead of it, or a whole number of lengths away; slices may not overlap in other
ways. Where arrays of different names do, that cannot be seen.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Refusal = Callable[[ast.AST, str], Any]
"""What tells that a statement does not belong here, and why."""

WholePolynomial = dict[tuple[str, ...], int]
"""A whole number: the coefficients of products of what is not taken apart."""

Node = TypeVar("Node", bound=ast.AST)

_OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def write_out(body: list[ast.stmt], refuse: Refusal) -> list[ast.stmt]:
    """Return statements with those about vectors as loops: over `each`, or over `range` where there are
    columns, or a few entries whose number is written out.
    """
    taken = {node.id for one in body for node in ast.walk(one) if isinstance(node, ast.Name)}
    return _VectorWriter(refuse, taken).block(body)


def is_vector(node: ast.AST) -> bool:
    """Return whether an expression is a slice with an end."""
    match node:
        case ast.Subscript(slice=ast.Slice(upper=ast.expr())):
            return True
    return False


class _VectorWriter:
    """Writes the statements of one routine, with names that it does not use."""

    def __init__(self, refuse: Refusal, taken: set[str]) -> None:
        self.refuse, self.taken = refuse, taken
        self.entry = self.name("entry")
        self.before: list[ast.stmt] = []

    def name(self, word: str) -> str:
        """Return a new name."""
        number = next(k for k in range(len(self.taken) + 1) if f"{word}_{k}" not in self.taken)
        self.taken.add(f"{word}_{number}")
        return f"{word}_{number}"

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [new for one in body for new in self.statement(one)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                return [_at(node, ast.If(test, self.block(body), self.block(orelse)))]
            case ast.While(test=test, body=body, orelse=[]):
                return [_at(node, ast.While(test, self.block(body), []))]
            case ast.For(target=target, iter=iterator, body=body, orelse=[]):
                return [_at(node, ast.For(target, iterator, self.block(body), []))]
            case ast.Assign(targets=[ast.Subscript() as target]) if is_vector(target):
                return self.loop(node, target, node.value)
            case ast.AugAssign(target=ast.Subscript() as target) if is_vector(target):
                return self.loop(node, target, node.value)
        return [node]

    def loop(
        self, node: ast.Assign | ast.AugAssign, target: ast.Subscript, value: ast.expr
    ) -> list[ast.stmt]:
        """Return a statement as a loop, behind the numbers that it needs."""
        self.before = []
        length, vectors = _length(target), list(_vectors(value))
        for one in (target, *vectors):
            self.check_ends(one)
            self.check(one, target, length)
        value, place = self.element(value), self.element(target)
        assert isinstance(place, ast.Subscript)
        place.ctx = ast.Store()
        if isinstance(node, ast.Assign):
            inside: ast.stmt = ast.Assign([place], value)
        else:
            inside = ast.AugAssign(place, node.op, value)
        end = _at(node, ast.parse(_text(length), mode="eval").body)
        wide = length.keys() != {()} and not any(map(_steps, (target, *vectors)))
        passes = ast.Call(ast.Name("each" if wide else "range", ast.Load()), [end], [])
        counter = ast.Name(self.entry, ast.Store())
        return [*self.before, _at(node, ast.For(counter, passes, [_at(node, inside)], []))]

    def check(self, one: ast.Subscript, target: ast.Subscript, length: WholePolynomial) -> None:
        """Refuse a slice of another length than the target's, or one that may overlap with it."""
        if _length(one) != length:
            self.refuse(one, f"has {_text(_length(one))} entries in `{ast.unparse(one)}` and "
                             f"{_text(length)} in `{ast.unparse(target)}`")  # fmt: skip
        if ast.unparse(_array(one)) == ast.unparse(_array(target)):
            (start, step), (place, pace) = _place(one), _place(target)
            apart, plain = _sum(start, place, -1), step == pace == {(): 1}
            ahead = apart.keys() == {()} and apart[()] > 0
            if (apart or step != pace) and not (plain and (ahead or _is_multiple(apart, length))):
                self.refuse(one, f"may write `{ast.unparse(one)}` while it reads it; write a loop")

    def check_ends(self, one: ast.Subscript) -> None:
        """Refuse slices whose lengths are not those that they state."""
        last, *others = _slices(one)
        if last.step is not None or any(own.upper is not None for own in others):
            self.refuse(
                one, f"takes `{ast.unparse(one)}` only with its steps first and its end last"
            )

    def element(self, node: ast.expr) -> ast.expr:
        """Return an entry of an expression; numbers get names."""
        match node:
            case ast.Subscript(slice=ast.Slice(upper=ast.expr())):
                index: ast.expr = ast.Name(self.entry, ast.Load())
                for one in _slices(node):
                    if one.step is not None:
                        index = ast.BinOp(self.number(one.step), ast.Mult(), index)
                    if one.lower is not None:
                        index = ast.BinOp(self.number(one.lower), ast.Add(), index)
                return _at(node, ast.Subscript(_array(node), index, ast.Load()))
            case ast.BinOp(left=left, op=op, right=right) if _is_elementwise(node):
                return _at(node, ast.BinOp(self.element(left), op, self.element(right)))
            case ast.UnaryOp(op=ast.USub(), operand=operand) if _is_elementwise(node):
                return _at(node, ast.UnaryOp(ast.USub(), self.element(operand)))
            case ast.Call(func=ast.Name(id="abs") as word, args=[one]) if _is_elementwise(node):
                return _at(node, ast.Call(word, [self.element(one)], []))
        if any(_vectors(node)):
            self.refuse(node, f"takes + - * / and abs of vectors, not `{ast.unparse(node)}`")
        return self.number(node)

    def number(self, node: ast.expr) -> ast.expr:
        """Return a number, by a name if it has to be computed."""
        if isinstance(node, (ast.Constant, ast.Name, ast.Attribute)):
            return node
        name = self.name("number")
        self.before.append(_at(node, ast.Assign([ast.Name(name, ast.Store())], node)))
        return _at(node, ast.Name(name, ast.Load()))


def _is_elementwise(node: ast.expr) -> bool:
    """Return whether an operation that is known is about vectors."""
    known = not isinstance(node, ast.BinOp) or isinstance(node.op, _OPERATIONS)
    return known and any(_vectors(node))


def _vectors(node: ast.expr) -> Iterator[ast.Subscript]:
    """Yield the slices with an end in an expression."""
    for one in ast.walk(node):
        if isinstance(one, ast.Subscript) and is_vector(one):
            yield one


def _at(old: ast.AST, new: Node) -> Node:
    """Return a new node, and all that is new in it, with the place of an old one."""
    return ast.fix_missing_locations(ast.copy_location(new, old))


# --- lengths


def _array(one: ast.expr) -> ast.expr:
    """Return what slices are taken of, one after the other."""
    match one:
        case ast.Subscript(value=array, slice=ast.Slice()):
            return _array(array)
    return one


def _slices(one: ast.expr) -> list[ast.Slice]:
    """Return these slices, the last first."""
    match one:
        case ast.Subscript(value=array, slice=ast.Slice() as own):
            return [own, *_slices(array)]
    return []


def _steps(one: ast.expr) -> list[str]:
    return [ast.unparse(own.step) for own in _slices(one) if own.step is not None]


def _place(one: ast.expr) -> tuple[WholePolynomial, WholePolynomial]:
    """Return where the entries of a slice begin, and by how much they are apart."""
    start: WholePolynomial = {}
    step: WholePolynomial = {(): 1}
    for own in _slices(one):
        if own.step is not None:
            start, step = (_product(x, _polynomial(own.step)) for x in (start, step))
        if own.lower is not None:
            start = _sum(start, _polynomial(own.lower), 1)
    return start, step


def _length(one: ast.Subscript) -> WholePolynomial:
    assert isinstance(one.slice, ast.Slice) and one.slice.upper is not None
    low = one.slice.lower
    return _sum(_polynomial(one.slice.upper), {} if low is None else _polynomial(low), -1)


def _polynomial(node: ast.expr) -> WholePolynomial:
    """Return a whole number as a polynomial, so that `2 * n - n` is n."""
    match node:
        case ast.Constant(value=int(number)):
            return {(): number} if number else {}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sum(_polynomial(left), _polynomial(right), 1)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _sum(_polynomial(left), _polynomial(right), -1)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _product(_polynomial(left), _polynomial(right))
    plain = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return {(ast.unparse(node) if plain else f"({ast.unparse(node)})",): 1}


def _sum(one: WholePolynomial, two: WholePolynomial, sign: int) -> WholePolynomial:
    found = {key: one.get(key, 0) + sign * two.get(key, 0) for key in (*one, *two)}
    return {key: number for key, number in found.items() if number}


def _product(one: WholePolynomial, two: WholePolynomial) -> WholePolynomial:
    found: WholePolynomial = {}
    for a, x in one.items():
        for b, y in two.items():
            found = _sum(found, {tuple(sorted((*a, *b))): x * y}, 1)
    return found


def _is_multiple(apart: WholePolynomial, length: WholePolynomial) -> bool:
    """Return whether a distance is a whole number of lengths."""
    numbers = {apart.get(key, 0) / length[key] for key in length}
    return apart.keys() == length.keys() and len(numbers) == 1 and numbers.pop().is_integer()


def _text(length: WholePolynomial) -> str:
    """Return a polynomial as Python writes it, what is added first."""
    terms = sorted(length.items(), key=lambda one: (one[1] < 0, not one[0], one))
    parts = [(x < 0, " * ".join([*[str(abs(x))] * (abs(x) != 1 or not a), *a])) for a, x in terms]
    text = "".join(f" {'-' if minus else '+'} {part}" for minus, part in parts)
    return f"0{text}" if terms[:1] and terms[0][1] < 0 else text.removeprefix(" + ") or "0"
