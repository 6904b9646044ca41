"""Reader of the printer's MathML: each equation is evaluated from its elements."""

import math
from xml.etree import ElementTree

OPERATORS = {"\u2212": "-", "+": "+", "(": "(", ")": ")", ",": ",", "\u2062": "*", "\u2061": ""}
FUNCTIONS = {"sin", "cos", "exp", "atan2", "lt", "where"}
ENVIRONMENT = {
    "sin": math.sin,
    "cos": math.cos,
    "exp": math.exp,
    "atan2": math.atan2,
    "sqrt": math.sqrt,
    "lt": lambda a, b: float(a < b),
    "where": lambda test, yes, no: yes if test else no,
}


def key(element):
    """Return a symbol's structure as text."""
    if element.tag in ("mi", "mo", "mtext"):
        return element.text
    return f"{element.tag}({' '.join(key(child) for child in element)})"


class MathmlDocument:
    """Values of the symbols and matrices of an HTML page at one point, read from its elements."""

    def __init__(self, text, given):
        self.values = {"\u03c0": math.pi, **given}
        self.matrices = {}
        root = ElementTree.fromstring(text.partition("\n")[2])
        for block in root.iter("div"):
            if block.get("class") == "equation":
                for equation in block.iter("math"):
                    self.equation(list(equation))

    def equation(self, elements):
        if elements[0].tag == "mtable":
            rows = [cell for row in elements[0] for cell in row]
            elements = [x for cell in rows for x in cell[0] if x.tag != "mspace"]
        at = next(k for k, x in enumerate(elements) if x.tag == "mo" and x.text == "=")
        left = elements[:at]
        right = elements[at + 1 :]
        if any(x.tag == "mtable" for part in right for x in part.iter()):
            self.matrices[key(left[0])] = self.matrix(right[0])
        elif len(left) == 1 and self.defines(left[0], right):
            name = key(left[0])
            assert name not in self.values, f"{name} is defined twice"
            self.values[name] = self.evaluate(right)

    def defines(self, left, right):
        """Return whether an equation defines a number: its left side has a subscript of its own."""
        return left.tag in ("msub", "msup", "mi", "mover") and key(left) not in MATRICES

    def matrix(self, bracket):
        table = next(x for x in bracket.iter() if x.tag == "mtable")
        rows = [list(row) for row in table]
        found = [[0.0] * len(row) for row in rows]
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                dot = len(cell) == 1 and cell[0].tag == "mo"
                found[i][j] = found[j][i] if dot else self.evaluate(list(cell))
        return found

    def evaluate(self, elements):
        return float(eval("".join(map(self.python, elements)), ENVIRONMENT))

    def python(self, x):
        """Return an element as Python; symbols are looked up by their structure."""
        if x.tag in ("mi", "msub", "mover") and x.text not in FUNCTIONS:
            return f"({float(self.value(x))!r})"
        if x.tag == "msup" and x[1].tag == "mo":
            return f"({float(self.value(x))!r})"
        inside = [self.python(child) for child in x]
        match x.tag:
            case "mn":
                return f"{float(x.text)!r}"
            case "mo":
                return OPERATORS[x.text]
            case "mi":
                return x.text
            case "mrow":
                return f"({''.join(inside)})"
            case "mfrac":
                return f"(({inside[0]})/({inside[1]}))"
            case "msqrt":
                return f"sqrt({''.join(inside)})"
            case "msup":
                return f"(({inside[0]})**{inside[1]})"
        raise ValueError(f"what is {x.tag}?")

    def value(self, x):
        name = key(x)
        if name in self.values:
            return self.values[name]
        assert x.tag == "msub" and x[0].text in "cst", f"{name} is used, but not defined"
        angle = self.values[key(x[1][0])]
        return {"c": math.cos, "s": math.sin, "t": math.tan}[x[0].text](angle)


MATRICES = {
    "\u03d5",
    "v",
    "u",
    "C",
    "M",
    "H",
    "Q",
    "F",
    "\u03ba",
    "\u03bd",
    "\u03c1",
    "b",
    "\u03bb",
}
MATRICES |= {f"mover({x} \u00af)" for x in MATRICES}
MATRICES |= {"mover(v \u02d9)", "mover(u \u02d9)", "msub(M mrow(r))", "msub(F mrow(r))"}
