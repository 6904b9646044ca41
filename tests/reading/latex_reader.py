"""Reader of the LaTeX of printers and of the thesis: each line is evaluated from its text, over any
numbers.
"""

import math
import re
from collections.abc import Callable, Iterator

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+\.?\d*|[A-Za-z]|[-+(){}\[\]_^'&,<|]|\S")
SPACES = {r"\,", r"\quad", r"\left", r"\right", r"\;"}
Values = dict[str, float]


class LatexReader:
    """Recursive-descent reader of one expression, with values from a table of symbols."""

    def __init__(self, text: str, value: Callable[[str], float]) -> None:
        self.tokens = [t for t in TOKEN.findall(text) if t not in SPACES]
        self.at = 0
        self.value = value

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str | None = None) -> str:
        token = self.peek()
        if wanted is not None and token != wanted:
            raise ValueError(f"expected {wanted!r}, found {token!r} in {' '.join(self.tokens)}")
        self.at += 1
        return token

    def whole(self) -> float:
        found = self.sum()
        if self.peek():
            raise ValueError(f"left over: {self.tokens[self.at :]}")
        return found

    def sum(self) -> float:
        sign = 1.0
        if self.peek() in ("-", "+"):
            sign = -1.0 if self.take() == "-" else 1.0
        total = sign * self.product()
        while self.peek() in ("+", "-"):
            sign = -1.0 if self.take() == "-" else 1.0
            total = total + sign * self.product()
        return total

    def product(self) -> float:
        total = self.power()
        while self.peek() and self.peek() not in ("+", "-", ")", "}", "]", ",", "<", "&"):
            if self.peek() in (r"\text", r"\\", r"\end"):
                break
            if self.peek() == "/":
                self.take()
                total = total / self.power()
                continue
            if self.peek() == r"\cdot":
                self.take()
            total = total * self.power()
        return total

    def power(self) -> float:
        base = self.atom()
        if self.peek() == "^":
            self.take()
            exponent = self.group() if self.peek() == "{" else float(self.take())
            if exponent != int(exponent) or exponent < 1:
                return base**exponent
            total = base
            for _ in range(int(exponent) - 1):
                total = total * base
            return total
        return base

    def group(self, opened: str = "{", closed: str = "}") -> float:
        self.take(opened)
        found = self.sum()
        self.take(closed)
        return found

    def atom(self) -> float:
        token = self.peek()
        if token[0].isdigit():
            return float(self.take())
        if token == "(":
            return self.group("(", ")")
        if token == "[":
            self.take()
            left = self.sum()
            self.take("<")
            right = self.sum()
            self.take("]")
            return float(left < right)
        if token == r"\frac":
            self.take()
            above = self.group()
            return above / self.group()
        if token == r"\sqrt":
            self.take()
            return math.sqrt(self.group())
        if token in (r"\sin", r"\cos", r"\exp"):
            function = getattr(math, self.take()[1:])
            return function(self.group("(", ")"))
        if token == r"\operatorname":
            self.skip(r"\operatorname", "{", *"atan", "2", "}", "(")
            y = self.sum()
            self.take(",")
            x = self.sum()
            self.take(")")
            return math.atan2(y, x)
        if token == r"\begin":
            return self.cases()
        return self.value(self.symbol())

    def cases(self) -> float:
        for wanted in (r"\begin", "{", *"cases", "}"):
            self.take(wanted)
        yes = self.sum()
        self.skip("&", r"\text", "{", *"if", "}")
        test = self.sum()
        self.take(r"\\")
        no = self.sum()
        self.skip("&", r"\text", "{", *"otherwise", "}", r"\end", "{", *"cases", "}")
        return yes if test else no

    def skip(self, *tokens: str) -> None:
        for token in tokens:
            self.take(token)

    def symbol(self) -> str:
        text = self.take()
        if text in (r"\dot", r"\ddot", r"\bar", r"\mathit"):
            text += self.braces()
        if self.peek() == "_":
            self.take()
            text += "_" + (self.braces() if self.peek() == "{" else f"{{{self.take()}}}")
        while self.peek() == "'":
            text += self.take()
        return text

    def braces(self) -> str:
        text = ""
        depth = 0
        while True:
            token = self.take()
            depth += {"{": 1, "}": -1}.get(token, 0)
            text += token
            if depth == 0:
                return text


def key(text: str) -> str:
    """Return a symbol's text without spaces."""
    return re.sub(r"\\,|\s", "", text)


def displays(text: str) -> Iterator[str]:
    """Yield the bodies of all displayed equations, in order."""
    for found in re.finditer(r"\\begin\{align(?:\*|ed)\}(.*?)\\end\{align(?:\*|ed)\}", text, re.S):
        yield re.sub(r"\\tag\{[\d, ]+\}", "", found[1])


def lines(body: str) -> Iterator[tuple[str, str]]:
    """Yield (left, right) of each equation of a display; broken lines are joined."""
    protected = re.sub(r"\\begin\{cases\}.*?\\end\{cases\}", _hidden, body, flags=re.S)
    pending: list[str] = []
    for row in re.split(r"\\\\\*?\n", protected):
        cells = [cell.strip() for cell in row.split("&")]
        if not cells[0]:
            pending[-1] += " " + cells[1]
            continue
        pending += [f"{cells[k]} {cells[k + 1]}" for k in range(0, len(cells), 2)]
    for line in pending:
        left, _, right = line.partition("=")
        yield left.strip(), right.replace("\x00", "&").replace("\x01", "\\\\").strip()


def _hidden(found: "re.Match[str]") -> str:
    return found[0].replace("&", "\x00").replace("\\\\", "\x01")


MATRIX = r"([^&=]+)&= (\\left\(\\begin\{array\}.*?\\end\{array\}\\right\))"
"""A matrix and its name; several may be on one line."""


class Document:
    """Values of the symbols and matrices of a LaTeX page at one point, read from its text."""

    def __init__(self, text: str, given: Values) -> None:
        self.values = {r"\pi": math.pi, **given}
        self.matrices = dict[str, list[list[float]]]()
        for body in displays(text):
            if r"\begin{array}" in body:
                for left, right in re.findall(MATRIX, body, re.S):
                    self.matrices[left.strip()] = self.matrix(right)
                continue
            for left, right in lines(body):
                self.line(left, right)

    def line(self, left: str, right: str) -> None:
        name = LatexReader(left, lambda _: 0.0).symbol() if left[:1] != "(" else left
        if relation(left, right):
            return
        assert name not in self.values, f"{name} is defined twice"
        self.values[name] = LatexReader(right, self.value).whole()

    def matrix(self, text: str) -> list[list[float]]:
        body = re.search(r"\\begin\{array\}\{[c|]*\}(.*)\\end\{array\}", text, re.S)
        assert body is not None
        rows = [
            [cell.strip() for cell in row.split("&")] for row in body[1].strip().split("\\\\\n")
        ]
        found = [[0.0] * len(row) for row in rows]
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if cell == r"\cdot":
                    found[i][j] = found[j][i]
                else:
                    found[i][j] = LatexReader(cell, self.value).whole()
        return found

    def value(self, name: str) -> float:
        if name in self.values:
            return self.values[name]
        turn = re.fullmatch(r"([cst])_\{(.*)\}", name)
        assert turn is not None and turn[2] in self.values, f"{name} is used, but not defined"
        function = {"c": math.cos, "s": math.sin, "t": math.tan}[turn[1]]
        return function(self.values[turn[2]])


VECTORS = {r"\phi", "v", "u", "C", "M", "H", "Q", "F", r"\kappa", r"\nu", r"\rho", "b"}
VECTORS |= {rf"\bar{{{x}}}" for x in VECTORS}
VECTORS |= {r"\dot{v}", r"\dot{u}", "M_{r}", "F_{r}", r"\lambda"}


def relation(left: str, right: str) -> bool:
    """Return whether an equation relates matrices and defines no number."""
    words = {LatexReader(left, lambda _: 0.0).symbol()}
    return words <= VECTORS
