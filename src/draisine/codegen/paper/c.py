"""Printer of a page of equations as a C function that compiles, with a comment for every line."""

import math
from fractions import Fraction

from draisine.codegen.formula import Assignment, Page, Paragraph, Relation
from draisine.codegen.paper._infix import Infix, matrix_entries, order_steps

SUFFIX = ".c"


def _write_number(x: Fraction) -> str:
    """Return a rational number as a C expression of doubles."""
    if x.denominator == 1:
        return f"{x.numerator}.0"
    return f"{x.numerator}.0/{x.denominator}.0" if x.denominator <= 99 else repr(float(x))


_C_FORMAT = Infix(
    number=_write_number,
    power="pow({0}, {1})",
    pi=repr(math.pi),
    functions={"lt": "(double)({0} < {1})", "where": "(({0}) != 0.0 ? ({1}) : ({2}))"},
)


def write(page: Page) -> str:
    """Return the page as a C function; inputs are its arguments, matrices (stored by rows) are its
    outputs.
    """
    filled = [matrix_entries(step) for step in order_steps(page) if isinstance(step, Assignment)]
    arguments = [(f"double {s.plain}", page.meanings.get(s, name)) for name, s in page.given]
    arguments += [(f"double *{s.plain}", f"{len(m)} by {len(m[0])}") for s, m in filled]
    lines = [f"/* {page.title}. */", "#include <math.h>", "", "void equations("]
    for k, (argument, meaning) in enumerate(arguments, start=1):
        lines.append(f"    {argument}{',' if k < len(arguments) else ')'} /* {meaning} */")
    lines.append("{")
    for step in order_steps(page):
        if isinstance(step, str):
            lines += ["", f"    /* {step} */"]
        elif isinstance(step, Paragraph | Relation):
            lines += [f"    /* {line} */" for line in _C_FORMAT.write_sentence(step)]
        elif isinstance(step, Assignment):
            lines += _write_matrix(step)
        else:
            meaning = page.meanings.get(step[0], "")
            lines.append(
                f"    const double {step[0].plain} = {_C_FORMAT.formula(step[1])}; /* {meaning} */"
            )
    return "\n".join([*lines, "}", ""])


def _write_matrix(assignment: Assignment) -> list[str]:
    """Return the assignments of the entries of a matrix, each with its row and column."""
    symbol, rows = matrix_entries(assignment)
    flat = [(i, j, x) for i, row in enumerate(rows, 1) for j, x in enumerate(row, 1)]
    return [
        f"    {symbol.plain}[{k}] = {_C_FORMAT.formula(x)}; /* {symbol.plain}, row {i}, column {j} */"
        for k, (i, j, x) in enumerate(flat)
    ]
