"""C with a comment for every section: the page as statements that compile."""

import math
from fractions import Fraction

from draisine.codegen.formula import Assignment, Page
from draisine.codegen.paper._infix import Infix, entries, steps

SUFFIX = ".c"


def _number(x: Fraction) -> str:
    if x.denominator == 1:
        return f"{x.numerator}.0"
    return f"{x.numerator}.0/{x.denominator}.0" if x.denominator <= 99 else repr(float(x))


_C = Infix(
    number=_number,
    power="pow({0}, {1})",
    pi=repr(math.pi),
    functions={"lt": "(double)({0} < {1})", "where": "(({0}) != 0.0 ? ({1}) : ({2}))"},
)


def write(page: Page) -> str:
    """Return the page as a C function: the given symbols are its arguments, the matrices (row by
    row) what it fills.
    """
    filled = [entries(step) for step in steps(page) if isinstance(step, Assignment)]
    arguments = [f"double {s.plain}" for _, s in page.given]
    arguments += [f"double *{s.plain}" for s, _ in filled]
    lines = [f"/* {page.title}. */", "#include <math.h>", "", "void equations("]
    lines += [",\n".join(f"    {a}" for a in arguments) + ")", "{"]
    for step in steps(page):
        if isinstance(step, str):
            lines += ["", f"    /* {step} */"]
        elif isinstance(step, Assignment):
            symbol, rows = entries(step)
            flat = [x for row in rows for x in row]
            lines += [f"    {symbol.plain}[{k}] = {_C.formula(x)};" for k, x in enumerate(flat)]
        else:
            lines.append(f"    const double {step[0].plain} = {_C.formula(step[1])};")
    return "\n".join([*lines, "}", ""])
